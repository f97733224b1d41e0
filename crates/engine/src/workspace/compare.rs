//! What differs between two commits.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gix::ObjectId;
use overnight_model::spec::Surface;

use super::error::GitError;
use super::tree::{self, TreeFile};
use super::user::UserRepo;

impl UserRepo {
    /// The contents of a regular file in a commit.
    pub fn read(&self, commit: ObjectId, path: &str) -> Result<Vec<u8>, GitError> {
        let repo = self.local();
        super::object::read(&repo, tree::blob_at(&repo, commit, path)?, gix::objs::Kind::Blob)
    }

    /// The locked files that differ between two commits, or are in one of them only; sorted.
    pub fn changed(&self, old: ObjectId, new: ObjectId, surface: &Surface) -> Result<Vec<PathBuf>, GitError> {
        let listed = |commit| -> Result<BTreeMap<PathBuf, TreeFile>, GitError> {
            let files = self.files(commit)?.into_iter();
            let locked = files.filter(|file| surface.paths().all(|path| file.path.as_os_str() != path));
            Ok(locked.map(|file| (file.path.clone(), file)).collect())
        };
        let (old, mut new) = (listed(old)?, listed(new)?);
        let mut changed: Vec<PathBuf> = old
            .into_iter()
            .filter(|(path, file)| new.remove(path).as_ref() != Some(file))
            .map(|(path, _)| path)
            .collect();
        changed.extend(new.into_keys());
        changed.sort();
        Ok(changed)
    }
}
