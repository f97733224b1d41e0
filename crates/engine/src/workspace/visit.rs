//! One pass over a working copy: finding what does not belong there, and restoring it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::copy::Changes;
use super::error::GitError;
use super::make::{self, Making, Seen};
use super::pristine::{Folder, Node, Sources, TrackedFile};
use super::remove::{names, open_folder, open_folder_by_force, remove};

/// One pass over a copy.
pub(super) struct Visit<'a> {
    pub root: &'a Path,
    pub surface: &'a BTreeMap<&'a Path, &'a [u8]>,
    /// See [`super::Copy`]: what changed before this cannot change again unseen.
    pub settled: (i64, u64),
    /// Whether surface files are left as they are: the next contents replace them anyway.
    pub leaves_surface: bool,
}

/// What became of a tracked file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Same,
    /// It looks the same, but was made so recently that a change might not show.
    Doubtful,
    Different,
}

impl Visit<'_> {
    /// Restores one folder and all below it. The folder is open already, and may be anything but gone.
    pub fn tidy(
        &self,
        fd: BorrowedFd<'_>,
        folder: &mut Folder,
        path: &Path,
        sources: &Sources,
        making: Making,
        changes: &mut Changes,
    ) -> Result<(), GitError> {
        let failed = |what, path: &Path, error: Errno| GitError::io(what, self.root.join(path))(error.into());
        let stat = rustix::fs::fstat(fd).map_err(|error| failed("look at", path, error))?;
        let mut touched = folder.seen.is_none_or(|seen| seen != Seen::of(&stat) || seen.changed >= self.settled);
        if touched {
            // Removing and making need these rights.
            rustix::fs::fchmod(fd, Mode::from_raw_mode(0o755)).map_err(|error| failed("open", path, error))?;
        }
        for name in names(fd).map_err(|error| failed("list", path, error))? {
            if !folder.nodes.contains_key(&name) {
                let extra = path.join(&name);
                let count = remove(fd, &name).map_err(|error| failed("remove", &extra, error))?;
                changes.found_extra(extra, count);
                touched = true;
            }
        }
        for (name, node) in &mut folder.nodes {
            let path = path.join(name);
            let clear = || match remove(fd, name) {
                Ok(_) | Err(Errno::NOENT) => Ok(()),
                Err(error) => Err(failed("remove", &path, error)),
            };
            match node {
                Node::Folder(inner) => {
                    let opened = match open_folder_by_force(fd, name) {
                        Ok(opened) => opened,
                        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                            clear()?;
                            touched = true;
                            rustix::fs::mkdirat(fd, name, Mode::RWXU)
                                .and_then(|()| open_folder(fd, name))
                                .map_err(|error| failed("make", &path, error))?
                        }
                        Err(error) => return Err(failed("open", &path, error)),
                    };
                    self.tidy(opened.as_fd(), inner, &path, sources, making, changes)?;
                }
                Node::File(file) => {
                    if let Some(contents) = self.surface.get(path.as_path()) {
                        if self.leaves_surface {
                            continue;
                        }
                        clear()?;
                        file.make_surface(fd, name, contents, making)
                            .map_err(GitError::io("write", self.root.join(&path)))?;
                        touched = true;
                        continue;
                    }
                    let verdict = self.verdict(fd, name, file)?;
                    if verdict == Verdict::Same && !file.is_surface {
                        continue;
                    }
                    let full = self.root.join(&path);
                    let by_others = match verdict {
                        // Before the first layout, and where our own surface stood, nothing was expected.
                        _ if file.seen.is_none() || file.is_surface => false,
                        Verdict::Doubtful => !file.has_its_contents(fd, name, &full)?,
                        _ => true,
                    };
                    if by_others {
                        changes.changed.push(path.clone());
                    }
                    clear()?;
                    file.make(fd, name, &full, sources, making)?;
                    touched = true;
                }
            }
        }
        if touched {
            let seen = make::finish_folder(fd, making).map_err(|error| failed("finish", path, error))?;
            folder.seen = Some(seen);
        }
        Ok(())
    }

    pub fn look(
        &self,
        fd: BorrowedFd<'_>,
        folder: &Folder,
        path: &Path,
        changes: &mut Changes,
    ) -> Result<(), GitError> {
        let failed = |what, path: &Path, error: Errno| GitError::io(what, self.root.join(path))(error.into());
        let list = match names(fd) {
            Ok(list) => list,
            // Out of reach is as good as gone for a trial.
            Err(Errno::ACCESS) => {
                self.all_gone(folder, path, changes);
                return Ok(());
            }
            Err(error) => return Err(failed("list", path, error)),
        };
        for name in list {
            if !folder.nodes.contains_key(&name) {
                let count = count(fd, &name).map_err(|error| failed("count", &path.join(&name), error))?;
                changes.found_extra(path.join(&name), count);
            }
        }
        for (name, node) in &folder.nodes {
            let path = path.join(name);
            match node {
                Node::Folder(inner) => match open_folder(fd, name) {
                    Ok(opened) => self.look(opened.as_fd(), inner, &path, changes)?,
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => {
                        self.all_gone(inner, &path, changes)
                    }
                    Err(error) => return Err(failed("open", &path, error)),
                },
                Node::File(_) if self.surface.contains_key(path.as_path()) => {}
                Node::File(file) => {
                    let changed = match self.verdict(fd, name, file)? {
                        Verdict::Same => false,
                        Verdict::Doubtful => {
                            !file.is_surface && !file.has_its_contents(fd, name, &self.root.join(&path))?
                        }
                        Verdict::Different => true,
                    };
                    if changed {
                        changes.changed.push(path);
                    }
                }
            }
        }
        Ok(())
    }

    fn all_gone(&self, folder: &Folder, path: &Path, changes: &mut Changes) {
        for (name, node) in &folder.nodes {
            let path = path.join(name);
            match node {
                Node::Folder(inner) => self.all_gone(inner, &path, changes),
                Node::File(_) if self.surface.contains_key(path.as_path()) => {}
                Node::File(_) => changes.changed.push(path),
            }
        }
    }

    fn verdict(&self, fd: BorrowedFd<'_>, name: &OsStr, file: &TrackedFile) -> Result<Verdict, GitError> {
        let Some(seen) = file.seen else {
            return Ok(Verdict::Different);
        };
        Ok(match rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if Seen::of(&stat) != seen => Verdict::Different,
            Ok(_) if seen.changed >= self.settled => Verdict::Doubtful,
            Ok(_) => Verdict::Same,
            Err(Errno::NOENT | Errno::ACCESS) => Verdict::Different,
            Err(error) => {
                return Err(GitError::io("look at", self.root.join(name))(error.into()));
            }
        })
    }
}

/// How many entries there are at and below a name. A folder that cannot be listed counts as one, and so
/// does a nest deeper than anyone builds in earnest.
fn count(fd: BorrowedFd<'_>, name: &OsStr) -> Result<usize, Errno> {
    fn below(fd: BorrowedFd<'_>, name: &OsStr, depth: usize) -> Result<usize, Errno> {
        const DEEPEST: usize = 64;
        let opened = match open_folder(fd, name) {
            Ok(opened) if depth < DEEPEST => opened,
            _ => return Ok(1),
        };
        let inner = match names(opened.as_fd()) {
            Err(Errno::ACCESS) => return Ok(1),
            other => other?,
        };
        inner.iter().try_fold(1, |sum, name| Ok(sum + below(opened.as_fd(), name, depth + 1)?))
    }
    below(fd, name, 0)
}
