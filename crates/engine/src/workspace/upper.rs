//! What was changed through an overlay, read off its upper layer.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::copy::Changes;
use super::error::GitError;
use super::remove::{names, open_folder};

/// How deep folders are looked into. No project is deeper, and a nest that is says nothing of locked files.
const DEEPEST: usize = 256;

/// Files of `lower` that are changed, replaced or removed in `upper`, and what is new there, apart from `surface`.
pub fn changes_in_upper(upper: BorrowedFd<'_>, lower: &Path, surface: &[String]) -> Result<Changes, GitError> {
    let mut changes = Changes::default();
    let failed = |errno: Errno| GitError::io("compare with", lower)(errno.into());
    let below = open_folder(rustix::fs::CWD, lower.as_os_str()).map_err(failed)?;
    let look = Look { surface };
    look.folder(upper, below.as_fd(), Path::new(""), 0, &mut changes).map_err(failed)?;
    changes.changed.sort();
    Ok(changes)
}

struct Look<'a> {
    surface: &'a [String],
}

impl Look<'_> {
    fn folder(
        &self,
        upper: BorrowedFd<'_>,
        lower: BorrowedFd<'_>,
        path: &Path,
        depth: usize,
        changes: &mut Changes,
    ) -> Result<(), Errno> {
        let there = names(upper)?;
        if is_opaque(upper) {
            // It took the place of the lower one: what it does not hold was removed.
            let gone = names(lower)?.into_iter().filter(|name| !there.contains(name));
            changes.changed.extend(gone.map(|name| path.join(name)));
        }
        for name in there {
            let inner = path.join(&name);
            if self.surface.iter().any(|surface| Path::new(surface) == inner) {
                continue;
            }
            let Some(old) = look_at(lower, &name)? else {
                // The folder of a surface file is new where the lower tree has nothing else in it.
                if !self.surface.iter().any(|surface| Path::new(surface).starts_with(&inner)) {
                    changes.found_extra(inner, 1);
                }
                continue;
            };
            let Some(new) = look_at(upper, &name)? else { continue };
            match (FileType::from_raw_mode(old.st_mode), FileType::from_raw_mode(new.st_mode)) {
                (FileType::Directory, FileType::Directory) if depth < DEEPEST => {
                    let (Ok(new), Ok(old)) = (open_folder(upper, &name), open_folder(lower, &name)) else {
                        changes.changed.push(inner);
                        continue;
                    };
                    self.folder(new.as_fd(), old.as_fd(), &inner, depth + 1, changes)?;
                }
                (FileType::RegularFile, FileType::RegularFile) => {
                    let is_same = (old.st_mode ^ new.st_mode) & 0o111 == 0
                        && old.st_size == new.st_size
                        && matches!((read(upper, &name), read(lower, &name)), (Ok(new), Ok(old)) if new == old);
                    if !is_same {
                        changes.changed.push(inner);
                    }
                }
                (FileType::Symlink, FileType::Symlink) => {
                    let target = |folder| rustix::fs::readlinkat(folder, &name, Vec::new());
                    if target(upper)? != target(lower)? {
                        changes.changed.push(inner);
                    }
                }
                _ => changes.changed.push(inner),
            }
        }
        Ok(())
    }
}

fn look_at(folder: BorrowedFd<'_>, name: &OsStr) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn is_opaque(folder: BorrowedFd<'_>) -> bool {
    let mut value = [0; 1];
    ["trusted.overlay.opaque", "user.overlay.opaque"]
        .iter()
        .any(|name| rustix::fs::fgetxattr(folder, *name, &mut value[..]) == Ok(1) && value == *b"y")
}

fn read(folder: BorrowedFd<'_>, name: &OsStr) -> std::io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file: OwnedFd = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    let mut bytes = Vec::new();
    File::from(file).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    #[test]
    fn only_what_is_really_different_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let (lower, upper) = (dir.path().join("lower"), dir.path().join("upper"));
        for side in [&lower, &upper] {
            fs::create_dir_all(side.join("a")).unwrap();
            for name in ["same", "edited", "mode", "train.py", "a/b", "kind"] {
                fs::write(side.join(name), "text").unwrap();
            }
        }
        fs::write(upper.join("edited"), "test").unwrap();
        fs::write(upper.join("train.py"), "new").unwrap();
        fs::write(upper.join("a/b"), "other").unwrap();
        fs::write(upper.join("extra"), "").unwrap();
        fs::set_permissions(upper.join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(upper.join("kind")).unwrap();
        symlink("same", upper.join("kind")).unwrap();
        let upper = File::open(&upper).unwrap();
        let found = changes_in_upper(upper.as_fd(), &lower, &["train.py".to_owned()]).unwrap();
        assert_eq!(found.changed, ["a/b", "edited", "kind", "mode"].map(PathBuf::from));
        assert_eq!(found.extra_named, [PathBuf::from("extra")]);
    }
}
