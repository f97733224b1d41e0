//! A working copy that many trials use one after another.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::objs::{CommitRefIter, Kind};
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::error::GitError;
use super::object;
use super::pristine::{self, Folder, Making, Node, Seen, Sources, TrackedFile};
use super::remove::{names, open_folder, open_folder_by_force, remove};
use super::user::UserRepo;

/// A commit's tree in a folder of the engine's own.
///
/// Between trials nothing may be alive that writes here. A second engine that opens the folder lays it
/// out again: what is remembered about the files is only in this value.
pub struct Copy {
    pub(super) root: PathBuf,
    tree: Folder,
    sources: Vec<gix::ThreadSafeRepository>,
    making: Making,
    /// The kernel's clock at the end of the last reset. A file whose ctime is not older may be changed
    /// once more within the same tick, and is looked into.
    settled: (i64, u64),
}

/// What was found in a copy that does not belong there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Tracked files outside the surface that were changed, replaced or removed; sorted.
    pub changed: Vec<PathBuf>,
    /// How many files and folders are not in the tree.
    pub extra: usize,
    /// The outermost of these, the first [`Changes::NAMED`] of them.
    pub extra_named: Vec<PathBuf>,
}

impl Changes {
    /// Enough to tell an agent what it left behind.
    pub const NAMED: usize = 20;

    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.extra == 0
    }

    fn found_extra(&mut self, path: PathBuf, count: usize) {
        self.extra += count;
        if self.extra_named.len() < Changes::NAMED {
            self.extra_named.push(path);
        }
    }
}

impl Copy {
    /// Empties `dir`, whatever it holds, and lays the tree of a commit out in it.
    ///
    /// LFS files come from the checkout where they match their pointer, submodules from their own object
    /// databases where they are initialised; the others stay what they are in such a checkout, a pointer
    /// and an empty folder.
    pub fn lay_out(dir: &Path, user: &UserRepo, commit: ObjectId) -> Result<Copy, GitError> {
        let data = object::read(&user.local(), commit, Kind::Commit)?;
        let committed = CommitRefIter::from_bytes(&data, commit.kind()).committer().and_then(|who| who.time());
        let mtime = committed.map_err(|error| GitError::Damaged { id: commit, what: error.to_string() })?.seconds;
        let (tree, sources) = pristine::expected(user.shared(), user.workdir(), commit)?;

        let (above, name) = match (dir.parent(), dir.file_name()) {
            (Some(above), Some(name)) => (above, name),
            _ => return Err(GitError::io("lay out a tree in", dir)(io::ErrorKind::InvalidInput.into())),
        };
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        std::fs::create_dir_all(above).map_err(GitError::io("make the folder", above))?;
        let above = above.canonicalize().map_err(GitError::io("find the folder", above))?;
        let root = above.join(name);
        let above = open_root(&above)?;
        match remove(above.as_fd(), name) {
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => return Err(GitError::io("empty", &root)(error.into())),
        }
        rustix::fs::mkdirat(&above, name, Mode::RWXU).map_err(|error| GitError::io("make", &root)(error.into()))?;
        let making = Making { mtime, owner: None };
        let mut copy = Copy { root, tree, sources, making, settled: (0, 0) };
        copy.tidy(&BTreeMap::new())?;
        Ok(copy)
    }

    /// Gives all files to the user that trials run as, now and whenever they are made again.
    pub fn give_to(&mut self, user: u32, group: u32) -> Result<(), GitError> {
        self.making.owner = Some((user, group));
        self.tree = forget(std::mem::take(&mut self.tree));
        self.tidy(&BTreeMap::new()).map(drop)
    }

    /// Makes the copy pristine and puts the surface in. Returns what had been changed.
    pub fn reset(&mut self, surface: &[(String, Vec<u8>)]) -> Result<Changes, GitError> {
        let surface: BTreeMap<&Path, &[u8]> =
            surface.iter().map(|(path, contents)| (Path::new(path), contents.as_slice())).collect();
        for path in surface.keys() {
            if !self.tree.find(path).is_some_and(TrackedFile::is_regular) {
                return Err(GitError::NotInTheTree { path: path.display().to_string() });
            }
        }
        self.tidy(&surface)
    }

    /// What was changed since the last reset, apart from these surface files. Nothing is restored.
    pub fn changes(&self, surface: &[String]) -> Result<Changes, GitError> {
        let surface = surface.iter().map(|path| (Path::new(path), &[][..])).collect();
        let mut changes = Changes::default();
        let visit = Visit { root: &self.root, surface: &surface, settled: self.settled };
        let root = open_root(&self.root)?;
        visit.look(root.as_fd(), &self.tree, Path::new(""), &mut changes)?;
        changes.changed.sort();
        Ok(changes)
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    fn tidy(&mut self, surface: &BTreeMap<&Path, &[u8]>) -> Result<Changes, GitError> {
        let mut changes = Changes::default();
        let root = open_root(&self.root)?;
        let visit = Visit { root: &self.root, surface, settled: self.settled };
        let sources = Sources::open(&self.sources);
        visit.tidy(root.as_fd(), &mut self.tree, Path::new(""), &sources, self.making, &mut changes)?;
        let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        self.settled = (now.tv_sec, now.tv_nsec as u64);
        changes.changed.sort();
        Ok(changes)
    }
}

/// One pass over a copy.
struct Visit<'a> {
    root: &'a Path,
    surface: &'a BTreeMap<&'a Path, &'a [u8]>,
    settled: (i64, u64),
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
    fn tidy(
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
            let seen = pristine::finish_folder(fd, making).map_err(|error| failed("finish", path, error))?;
            folder.seen = Some(seen);
        }
        Ok(())
    }

    fn look(&self, fd: BorrowedFd<'_>, folder: &Folder, path: &Path, changes: &mut Changes) -> Result<(), GitError> {
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
        let Some(seen) = file.seen else { return Ok(Verdict::Different) };
        Ok(match rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if Seen::of(&stat) != seen => Verdict::Different,
            Ok(_) if seen.changed >= self.settled => Verdict::Doubtful,
            Ok(_) => Verdict::Same,
            Err(Errno::NOENT | Errno::ACCESS) => Verdict::Different,
            Err(error) => return Err(GitError::io("look at", self.root.join(name))(error.into())),
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

fn open_root(root: &Path) -> Result<OwnedFd, GitError> {
    let above = rustix::fs::CWD;
    open_folder_by_force(above, root.as_os_str()).map_err(|error| GitError::io("open", root)(error.into()))
}

/// The same tree with nothing remembered, so that everything is made again.
fn forget(mut folder: Folder) -> Folder {
    folder.seen = None;
    for node in folder.nodes.values_mut() {
        match node {
            Node::Folder(inner) => *inner = forget(std::mem::take(inner)),
            Node::File(file) => file.seen = None,
        }
    }
    folder
}
