//! A folder of a rehearsal's own, gone with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::load::Site;
use crate::workspace::{self, GitError};

/// Beside the study's own folders, so that a run that goes on meanwhile and several rehearsals do not meet.
pub(super) struct Folder {
    path: PathBuf,
    /// How many folders above it go with it, where nothing else is in them.
    above: usize,
}

impl Folder {
    /// Makes a folder of this process in a study's own, and takes away those of processes that were killed.
    pub(super) fn make(site: &Site) -> Result<Folder, GitError> {
        let mut folder = Folder::among(&site.state().join("check"))?;
        folder.above = 3;
        Ok(folder)
    }

    /// The same anywhere else.
    pub(super) fn among(all: &Path) -> Result<Folder, GitError> {
        for entry in fs::read_dir(all).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let owner = name.split('-').next().unwrap_or_default();
            if !Path::new("/proc").join(owner).exists() {
                // What cannot be removed, root's perhaps, is in nobody's way.
                let _ = workspace::wipe(&entry.path());
            }
        }
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let folder = Folder { path: all.join(name), above: 0 };
        workspace::empty(&folder.path)?;
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = workspace::wipe(&self.path);
        // The folders above stay as soon as anything else is in them.
        for above in self.path.ancestors().skip(1).take(self.above) {
            let _ = fs::remove_dir(above);
        }
    }
}
