//! Making files and folders last through a power loss.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Whether a write must survive a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// Synced before it is given its name.
    Synced,
    /// Left to the kernel: the ledger can make it again.
    Cached,
}

/// Writes a new file in one go, and syncs it on request. What stood there is replaced.
pub(super) fn write_file(path: &Path, contents: &[u8], mode: u32, durability: Durability) -> io::Result<()> {
    let open = || OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let mut file = match open() {
        // The name belongs to this engine alone: what is there is what a killed run left behind.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            std::fs::remove_file(path)?;
            open()?
        }
        other => other?,
    };
    file.write_all(contents)?;
    match durability {
        Durability::Synced => file.sync_data(),
        Durability::Cached => Ok(()),
    }
}

/// Replaces a file by way of `temporary`, which is in the same folder, so that readers see all or nothing.
pub(super) fn replace_file(
    path: &Path,
    temporary: &Path,
    contents: &[u8],
    mode: u32,
    durability: Durability,
) -> io::Result<()> {
    write_file(temporary, contents, mode, durability)?;
    std::fs::rename(temporary, path)
}

/// Syncs a folder, so that the names in it last.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// A file's contents, or `None` where there is none.
pub(super) fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(contents) => Ok(Some(contents)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}
