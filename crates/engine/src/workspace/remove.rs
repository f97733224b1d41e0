//! Removing whatever is there, however deep and however locked.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

/// Removes one entry of a folder with all that is below it; returns how many entries that were.
///
/// A nest of folders is taken apart from the outside: each inner folder is first moved up into
/// `folder`, so neither the stack, nor open files, nor the length of paths grow with its depth.
pub(super) fn remove(folder: BorrowedFd<'_>, name: &OsStr) -> Result<usize, Errno> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) => return Ok(1),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error),
    }
    let mut removed = 0;
    let mut spare = 0u64;
    let mut waiting = vec![name.to_owned()];
    while let Some(name) = waiting.pop() {
        let inner = open_folder_by_force(folder, &name)?;
        for child in names(inner.as_fd())? {
            match rustix::fs::unlinkat(&inner, &child, AtFlags::empty()) {
                Ok(()) => removed += 1,
                Err(Errno::ISDIR | Errno::PERM) => waiting.push(move_up(folder, inner.as_fd(), &child, &mut spare)?),
                Err(error) => return Err(error),
            }
        }
        rustix::fs::unlinkat(folder, &name, AtFlags::REMOVEDIR)?;
        removed += 1;
    }
    Ok(removed)
}

/// Opens a real folder, giving its owner all rights first where they are missing.
pub(super) fn open_folder_by_force(above: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    match open_folder(above, name) {
        Err(Errno::ACCESS) => {}
        Ok(opened) => {
            let mode = Mode::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
            if !mode.contains(Mode::RWXU) {
                rustix::fs::fchmod(&opened, Mode::RWXU)?;
            }
            return Ok(opened);
        }
        Err(error) => return Err(error),
    }
    // chmod follows links, so be sure that it is a folder; no trial is alive to swap it now.
    let stat = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Err(Errno::NOTDIR);
    }
    rustix::fs::chmodat(above, name, Mode::RWXU, AtFlags::empty())?;
    open_folder(above, name)
}

/// Opens a folder that is not a link.
pub(super) fn open_folder(above: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(above, name, flags, Mode::empty())
}

/// The names in a folder.
pub(super) fn names(folder: BorrowedFd<'_>) -> Result<Vec<OsString>, Errno> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(folder)? {
        let name: CString = entry?.file_name().to_owned();
        if !matches!(name.as_bytes(), b"." | b"..") {
            names.push(OsString::from_vec(name.into_bytes()));
        }
    }
    Ok(names)
}

fn move_up(top: BorrowedFd<'_>, from: BorrowedFd<'_>, name: &OsStr, spare: &mut u64) -> Result<OsString, Errno> {
    // Moving a folder writes its `..`, which takes the right to write in it.
    drop(open_folder_by_force(from, name)?);
    loop {
        let target = OsString::from(format!(".overnight-removing-{spare}"));
        *spare += 1;
        match rustix::fs::renameat_with(from, name, top, &target, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(target),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
}
