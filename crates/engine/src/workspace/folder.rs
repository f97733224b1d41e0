//! Folders of the engine's own: emptied and made, whatever a command left in them.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::Errno;

use super::error::GitError;
use super::remove;

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

/// Makes a folder and the ones above it.
pub fn make_folder(path: &Path) -> Result<(), GitError> {
    std::fs::create_dir_all(path).map_err(GitError::io("make the folder", path))
}
