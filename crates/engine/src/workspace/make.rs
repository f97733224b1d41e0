//! Making files, links and folders of a working copy, and remembering how they looked.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_NOW, Uid};
use rustix::io::Errno;

use super::tree::FileKind;

/// What a file or folder looked like when it was made. Any change shows: a process cannot set ctime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    device: u64,
    inode: u64,
    size: i64,
    mode: u32,
    owner: (u32, u32),
    modified: (i64, u64),
    pub changed: (i64, u64),
}

impl Seen {
    pub fn of(stat: &Stat) -> Seen {
        Seen {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size,
            mode: stat.st_mode,
            owner: (stat.st_uid, stat.st_gid),
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

/// How files of a copy are made.
#[derive(Clone, Copy)]
pub(super) struct Making {
    /// The mtime of everything that is not surface: the commit's time, in every copy the same.
    pub mtime: i64,
    pub owner: Option<(u32, u32)>,
}

/// Gives a folder its rights, owner and time, and takes attributes off it; returns how it looks then.
pub(super) fn finish_folder(folder: BorrowedFd<'_>, making: Making) -> Result<Seen, Errno> {
    let Making { mtime, owner } = making;
    strip_attributes(folder)?;
    own(folder, owner)?;
    rustix::fs::fchmod(folder, Mode::from_raw_mode(0o755))?;
    rustix::fs::futimens(folder, &times(Some(mtime)))?;
    Ok(Seen::of(&rustix::fs::fstat(folder)?))
}

/// Takes rights, attributes and times that a command may have set off a folder.
pub(super) fn renew_folder(folder: BorrowedFd<'_>) -> Result<(), Errno> {
    strip_attributes(folder)?;
    rustix::fs::fchmod(folder, Mode::from_raw_mode(0o755))?;
    rustix::fs::futimens(folder, &times(None))
}

pub(super) fn create(folder: BorrowedFd<'_>, name: &OsStr) -> Result<File, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o600))?))
}

pub(super) fn finish(file: File, kind: FileKind, mtime: Option<i64>, owner: Option<(u32, u32)>) -> io::Result<Seen> {
    // Not through the umask: a copy is the same whoever runs the engine.
    let mode = if kind == FileKind::Executable { 0o755 } else { 0o644 };
    own(file.as_fd(), owner)?;
    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
    rustix::fs::futimens(&file, &times(mtime))?;
    Ok(Seen::of(&rustix::fs::fstat(&file)?))
}

pub(super) fn make_link(folder: BorrowedFd<'_>, name: &OsStr, target: &[u8], making: Making) -> Result<Seen, Errno> {
    rustix::fs::symlinkat(target, folder, name)?;
    if let Some((user, group)) = making.owner {
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        rustix::fs::chownat(folder, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    rustix::fs::utimensat(folder, name, &times(Some(making.mtime)), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(Seen::of(&rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?))
}

fn own(file: BorrowedFd<'_>, owner: Option<(u32, u32)>) -> Result<(), Errno> {
    let Some((user, group)) = owner else {
        return Ok(());
    };
    rustix::fs::fchown(file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))
}

/// A trial could leave a note for the next one in a folder's extended attributes.
fn strip_attributes(folder: BorrowedFd<'_>) -> Result<(), Errno> {
    let mut list = vec![0u8; 1 << 16];
    let length = match rustix::fs::flistxattr(folder, &mut list[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP) => return Ok(()),
        Err(error) => return Err(error),
    };
    for name in list[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        match rustix::fs::fremovexattr(folder, name) {
            // Labels of the system are not ours to take off, and not the trial's to set.
            Ok(()) | Err(Errno::NODATA | Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn times(mtime: Option<i64>) -> Timestamps {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let at = mtime.map_or(now, |seconds| Timespec { tv_sec: seconds, tv_nsec: 0 });
    Timestamps { last_access: at, last_modification: at }
}
