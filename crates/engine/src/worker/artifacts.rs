//! Taking over what a candidate left, as plain files and nothing else.
//!
//! A scorer reads artifacts as data. A link would show it a file of its own, a pipe would hold it up, a second name
//! would let somebody change what it reads: only folders and regular files with one name are taken over.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// What may be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Files and folders.
    pub(crate) entries: usize,
    /// By apparent size: a hole is as long to read as what fills it.
    pub(crate) bytes: u64,
    pub(crate) depth: usize,
}

impl Limits {
    /// More than models and predictions need, and little enough to copy between two trials.
    pub(crate) const DEFAULT: Limits = Limits { entries: 10_000, bytes: 1 << 30, depth: 32 };
    /// For what was taken over before.
    pub(crate) const NONE: Limits = Limits { entries: usize::MAX, bytes: u64::MAX, depth: usize::MAX };
}

/// The longest name a common file system takes.
const NAME_LIMIT: usize = 255;
/// A path in a message; the rest of a longer one says nothing more.
const SHOWN: usize = 120;

/// Why artifacts were not taken over.
#[derive(Debug)]
pub(crate) enum NotTaken {
    /// What the candidate left is not plain files; a sentence that names it.
    Refused(String),
    /// We could not.
    Failed(io::Error),
}

impl From<Errno> for NotTaken {
    fn from(error: Errno) -> NotTaken {
        NotTaken::Failed(error.into())
    }
}

impl From<io::Error> for NotTaken {
    fn from(error: io::Error) -> NotTaken {
        NotTaken::Failed(error)
    }
}

/// Copies everything in a folder into an empty one. Nobody may be alive who could write in the first.
pub(crate) fn collect(from: BorrowedFd<'_>, into: &Path, limits: Limits) -> Result<(), NotTaken> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let into = rustix::fs::openat(CWD, into, flags, Mode::empty())?;
    let mut taken = Taken { limits, entries: 0, bytes: 0 };
    taken.folder(from, into.as_fd(), "", 0)
}

/// What has been taken over so far.
struct Taken {
    limits: Limits,
    entries: usize,
    bytes: u64,
}

impl Taken {
    fn folder(&mut self, from: BorrowedFd<'_>, into: BorrowedFd<'_>, path: &str, depth: usize) -> Result<(), NotTaken> {
        for name in self.names(from, path)? {
            let path = join(path, &name);
            let stat = rustix::fs::statat(from, &name, AtFlags::SYMLINK_NOFOLLOW);
            let stat = stat.map_err(|error| unreadable(&path, error))?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if depth >= self.limits.depth => {
                    return refuse(&path, &format!("is more than {} folders deep", self.limits.depth));
                }
                FileType::Directory => {
                    let inner = open(from, &name, OFlags::DIRECTORY).map_err(|error| unreadable(&path, error))?;
                    rustix::fs::mkdirat(into, &name, Mode::RWXU)?;
                    let made = open(into, &name, OFlags::DIRECTORY)?;
                    self.folder(inner.as_fd(), made.as_fd(), &path, depth + 1)?;
                    // Not read-only, or a person's `rm -rf` would stop at it.
                    rustix::fs::fchmod(&made, Mode::from_raw_mode(0o755))?;
                }
                FileType::RegularFile => self.file(from, into, &name, &path)?,
                other => return refuse(&path, what_it_is(other)),
            }
        }
        Ok(())
    }

    fn file(&mut self, from: BorrowedFd<'_>, into: BorrowedFd<'_>, name: &str, path: &str) -> Result<(), NotTaken> {
        let file = open(from, name, OFlags::NONBLOCK).map_err(|error| unreadable(path, error))?;
        // Of what was opened, not of the name.
        let stat = rustix::fs::fstat(&file)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::RegularFile {
            return refuse(path, what_it_is(kind));
        }
        if stat.st_nlink != 1 {
            return refuse(path, "is a hard link to another file");
        }
        let size = stat.st_size as u64;
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > self.limits.bytes {
            let most = self.limits.bytes;
            return Err(NotTaken::Refused(format!(
                "artifacts are too large: with `{}` more than {most} bytes",
                shown(path)
            )));
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut copy = File::from(rustix::fs::openat(into, name, flags, Mode::from_raw_mode(0o600))?);
        // The kernel copies where it can, and shares blocks where the file system does.
        io::copy(&mut File::from(file).take(size), &mut copy)?;
        rustix::fs::fchmod(&copy, Mode::from_raw_mode(0o444))?;
        Ok(())
    }

    /// The names in a folder, in order, so that the same artifacts are refused for the same reason.
    fn names(&mut self, folder: BorrowedFd<'_>, path: &str) -> Result<Vec<String>, NotTaken> {
        let mut names = Vec::new();
        // A folder can be opened and yet not be looked into.
        for entry in rustix::fs::Dir::read_from(folder).map_err(|error| unreadable(path, error))? {
            let name: CString = entry?.file_name().to_owned();
            if matches!(name.as_bytes(), b"." | b"..") {
                continue;
            }
            self.entries += 1;
            if self.entries > self.limits.entries {
                let most = self.limits.entries;
                return Err(NotTaken::Refused(format!("there are more than {most} artifacts")));
            }
            match name.into_string() {
                Ok(name) if name.len() <= NAME_LIMIT => names.push(name),
                Ok(name) => return refuse(&join(path, &name), "has too long a name"),
                Err(error) => {
                    let name = error.into_cstring().to_string_lossy().into_owned();
                    return refuse(&join(path, &name), "has a name that is not UTF-8");
                }
            }
        }
        names.sort();
        Ok(names)
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}

/// Opens one entry of a folder, and nothing that lies elsewhere.
fn open(folder: BorrowedFd<'_>, name: &str, more: OFlags) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | more;
    let inside =
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    match rustix::fs::openat2(folder, OsStr::new(name), flags, Mode::empty(), inside) {
        // Where a sandbox around us does not know the call. A name without a slash that is no link stays inside.
        Err(Errno::NOSYS | Errno::PERM) => rustix::fs::openat(folder, OsStr::new(name), flags, Mode::empty()),
        opened => opened,
    }
}

/// What a candidate can bring about by itself is held against it.
fn unreadable(path: &str, error: Errno) -> NotTaken {
    match error {
        Errno::ACCESS if path.is_empty() => NotTaken::Refused("the artifact folder may not be read".to_owned()),
        Errno::ACCESS => NotTaken::Refused(format!("artifact `{}` may not be read", shown(path))),
        Errno::XDEV => NotTaken::Refused(format!("artifact `{}` is on another file system", shown(path))),
        error => error.into(),
    }
}

fn refuse<T>(path: &str, what: &str) -> Result<T, NotTaken> {
    Err(NotTaken::Refused(format!("artifact `{}` {what}", shown(path))))
}

fn shown(path: &str) -> String {
    match path.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", path[..end].escape_debug()),
        None => path.escape_debug().to_string(),
    }
}

/// The sentence of what cannot be an artifact.
pub(crate) fn what_it_is(kind: FileType) -> &'static str {
    match kind {
        FileType::Symlink => "is a symbolic link",
        FileType::Fifo => "is a named pipe",
        FileType::Socket => "is a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "is a device",
        FileType::Directory => "is a folder",
        FileType::RegularFile => "is a file",
        FileType::Unknown => "is neither a file nor a folder",
    }
}

#[cfg(test)]
mod tests;
