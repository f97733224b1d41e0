//! Git's lock on a ref, taken so that a run that was killed can tell its own.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gix::ObjectId;
use gix::objs::Kind;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::disk::{self, Durability};
use super::error::GitError;
use super::object;
use super::plan::IDENTITY;
use super::refs::{Loose, parse_loose};
use crate::clock::Stopwatch;

/// Long enough for `git gc` to pack a ref; a lock that stays longer was left behind or is held by a person.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);

/// Git's lock on one ref, holding the new value; given back when it is dropped.
pub(super) struct Lock {
    path: PathBuf,
    target: PathBuf,
    held: bool,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Once it has become the ref, a lock of that name is someone else's.
        if self.held {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Lock {
    pub fn take(target: &Path, to: ObjectId) -> Result<Lock, GitError> {
        let name = target.file_name().expect("a ref has a name").to_string_lossy();
        let path = target.with_file_name(format!("{name}.lock"));
        // git passes over names that start with a dot when it lists refs.
        let temporary = target.with_file_name(format!(".{name}.overnight"));
        let value = format!("{to}\n");
        disk::write_file(&temporary, value.as_bytes(), 0o644, Durability::Synced)
            .map_err(GitError::io("write", &temporary))?;
        let start = Stopwatch::start();
        loop {
            match rename_to_new_name(&temporary, &path) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(GitError::io("lock", &path)(error)),
            }
            // A killed run of ours left it, on the way to this same value: this is that way again.
            if std::fs::read(&path).is_ok_and(|held| held == value.as_bytes()) {
                break;
            }
            if start.elapsed() > LOCK_PATIENCE {
                let _ = std::fs::remove_file(&temporary);
                return Err(GitError::Locked { path });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // Still there where a link was made, or a lock of ours was found.
        let _ = std::fs::remove_file(&temporary);
        Ok(Lock { path, target: target.to_owned(), held: true })
    }

    pub fn become_ref(mut self) -> Result<(), GitError> {
        let (path, target) = (&self.path, &self.target);
        std::fs::rename(path, target)
            .or_else(|error| match error.kind() {
                io::ErrorKind::IsADirectory => {
                    remove_empty_folders(target).and_then(|()| std::fs::rename(path, target))
                }
                _ => Err(error),
            })
            .map_err(GitError::io("move the ref", target))?;
        self.held = false;
        Ok(())
    }
}

/// Gives a file a name that must be free; by a link where the file system cannot rename so.
fn rename_to_new_name(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => std::fs::hard_link(from, to),
        other => Ok(other?),
    }
}

/// What git leaves of branches that were removed. A folder with anything in it stays, and is an error.
fn remove_empty_folders(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_empty_folders(&entry.path())?;
        }
    }
    std::fs::remove_dir(folder)
}

/// Whether a lock holds one of our own commits: a killed run left it, and [`super::UserRepo::advance`] will find it.
pub(super) fn left_by_us(repo: &gix::Repository, lock: &Path) -> bool {
    let held = std::fs::read(lock).ok().and_then(|text| parse_loose(&text));
    let Some(Loose::Id(id)) = held else {
        return false;
    };
    let Ok(data) = object::read(repo, id, Kind::Commit) else {
        return false;
    };
    let committer = format!("\ncommitter {IDENTITY} ");
    data.windows(committer.len()).any(|part| part == committer.as_bytes())
}
