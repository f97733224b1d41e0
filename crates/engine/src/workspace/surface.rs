//! Reading back what an agent made of the surface, without trusting any of it.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::copy::Copy;
use super::error::GitError;
use super::remove::open_folder;

/// A surface file as an agent left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SurfaceRead {
    Contents(Vec<u8>),
    Missing,
    NotAFile(NotAFile),
    /// Its length in bytes.
    TooLarge(u64),
}

/// What stands where a regular file should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAFile {
    Symlink,
    /// One of the folders above it is a link.
    BelowASymlink,
    Folder,
    Fifo,
    Socket,
    Device,
    /// The same file has another name, somewhere.
    Linked,
    Unreadable,
}

impl std::fmt::Display for NotAFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NotAFile::Symlink => "a symbolic link",
            NotAFile::BelowASymlink => "a symbolic link above it",
            NotAFile::Folder => "a folder",
            NotAFile::Fifo => "a FIFO",
            NotAFile::Socket => "a socket",
            NotAFile::Device => "a device",
            NotAFile::Linked => "a file with a second name",
            NotAFile::Unreadable => "an unreadable file",
        })
    }
}

impl Copy {
    /// Reads a surface file of at most `max` bytes. No link is followed, and what is not a plain file
    /// with one name is said, not read.
    pub fn read_surface(&self, path: &str, max: u64) -> Result<SurfaceRead, GitError> {
        let failed = |error: Errno| GitError::io("open", self.path())(error.into());
        let root = open_folder(rustix::fs::CWD, self.path().as_os_str()).map_err(failed)?;
        read_surface(root.as_fd(), path, max)
    }
}

/// Reads a surface file of at most `max` bytes below `root`. No link is followed, and what is not a plain file with
/// one name is said, not read.
pub fn read_surface(root: BorrowedFd<'_>, path: &str, max: u64) -> Result<SurfaceRead, GitError> {
    let full = path;
    let failed = |error: Errno| GitError::io("read", full)(error.into());
    let mut folder = rustix::io::dup(root).map_err(failed)?;
    let relative = Path::new(path);
    let Some(name) = relative.file_name() else {
        return Ok(SurfaceRead::Missing);
    };
    for part in relative.parent().into_iter().flatten() {
        folder = match open_folder(folder.as_fd(), part) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Ok(SurfaceRead::Missing),
            Err(Errno::ACCESS) => return Ok(SurfaceRead::NotAFile(NotAFile::Unreadable)),
            // A link, which NOFOLLOW with DIRECTORY calls no folder, or a file.
            Err(Errno::NOTDIR | Errno::LOOP) => {
                let stat = rustix::fs::statat(&folder, part, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
                return Ok(match FileType::from_raw_mode(stat.st_mode) {
                    FileType::Symlink => SurfaceRead::NotAFile(NotAFile::BelowASymlink),
                    _ => SurfaceRead::Missing,
                });
            }
            Err(error) => return Err(failed(error)),
        };
    }
    // Looked at before it is opened, since opening a device can do something.
    let stat = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(SurfaceRead::Missing),
        Err(Errno::ACCESS) => return Ok(SurfaceRead::NotAFile(NotAFile::Unreadable)),
        Err(error) => return Err(failed(error)),
    };
    if let Some(problem) = problem(&stat) {
        return Ok(SurfaceRead::NotAFile(problem));
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(&folder, name, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::ACCESS) => return Ok(SurfaceRead::NotAFile(NotAFile::Unreadable)),
        Err(Errno::LOOP) => return Ok(SurfaceRead::NotAFile(NotAFile::Symlink)),
        Err(Errno::NOENT) => return Ok(SurfaceRead::Missing),
        Err(error) => return Err(failed(error)),
    };
    let stat = rustix::fs::fstat(&file).map_err(failed)?;
    if let Some(problem) = problem(&stat) {
        return Ok(SurfaceRead::NotAFile(problem));
    }
    if stat.st_size as u64 > max {
        return Ok(SurfaceRead::TooLarge(stat.st_size as u64));
    }
    let mut contents = Vec::with_capacity(stat.st_size as usize);
    // One byte more than allowed shows a file that grew after it was measured.
    file.take(max.saturating_add(1)).read_to_end(&mut contents).map_err(GitError::io("read", full))?;
    match contents.len() as u64 {
        length if length > max => Ok(SurfaceRead::TooLarge(length)),
        _ => Ok(SurfaceRead::Contents(contents)),
    }
}

/// Whether a file below `root` may be run, or would run as somebody else.
pub fn is_executable(root: BorrowedFd<'_>, path: &str) -> bool {
    const RUNS: u32 = 0o6111;
    rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| stat.st_mode & RUNS != 0)
}

/// Whether nothing is at a path below `root`, or only the mark by which a layer remembers that something was.
pub fn is_gone(root: BorrowedFd<'_>, path: &Path) -> bool {
    match rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0,
        Err(_) => true,
    }
}

fn problem(stat: &Stat) -> Option<NotAFile> {
    Some(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_nlink == 1 => return None,
        FileType::RegularFile => NotAFile::Linked,
        FileType::Symlink => NotAFile::Symlink,
        FileType::Directory => NotAFile::Folder,
        FileType::Fifo => NotAFile::Fifo,
        FileType::Socket => NotAFile::Socket,
        _ => NotAFile::Device,
    })
}
