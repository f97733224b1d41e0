//! Folders of the engine's own: emptied and made, whatever a command left in them.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::Errno;

use super::error::GitError;
use super::{make, remove};

/// Removes a folder of the engine's own with everything in it.
pub fn wipe(path: &Path) -> Result<(), GitError> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let failed = |error: Errno| GitError::io("remove", path)(error.into());
    let above = remove::open_folder(rustix::fs::CWD, above.as_os_str()).map_err(failed)?;
    remove::remove(above.as_fd(), name).map_err(failed)?;
    Ok(())
}

/// Makes a folder of the engine's own as if it were new. One that a command left empty is kept: making and removing
/// are the dearest things that happen to a folder.
pub fn empty(path: &Path) -> Result<(), GitError> {
    if is_made_empty(path).unwrap_or(false) {
        return Ok(());
    }
    wipe(path)?;
    make_folder(path)
}

/// Makes a folder and the ones above it.
fn make_folder(path: &Path) -> Result<(), GitError> {
    std::fs::create_dir_all(path).map_err(GitError::io("make the folder", path))
}

fn is_made_empty(path: &Path) -> Result<bool, Errno> {
    let folder = remove::open_folder(rustix::fs::CWD, path.as_os_str())?;
    if !remove::names(folder.as_fd())?.is_empty() {
        return Ok(false);
    }
    make::renew_folder(folder.as_fd()).map(|()| true)
}
