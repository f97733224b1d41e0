//! What stands in a study's way in the user's repository.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::branch::{branch_name, refuse_in_the_way, short};
use super::disk;
use super::error::GitError;
use super::lock::left_by_us;
use super::refs::Refs;
use super::user::UserRepo;

impl UserRepo {
    /// Refuses a study whose branch cannot be made or must not be moved.
    pub fn refuse_for(&self, study: &str) -> Result<(), GitError> {
        let branch = branch_name(study)?;
        self.refuse_branches_in_the_way(&branch)?;
        self.refuse_checked_out(study)?;
        self.refuse_locks(&branch)
    }

    fn refuse_branches_in_the_way(&self, branch: &str) -> Result<(), GitError> {
        let refs = Refs { dir: self.common_dir() };
        refuse_in_the_way(&refs, branch)?;
        let packed = refs.packed()?;
        let in_the_way =
            |taken: &str| GitError::BranchInTheWay { taken: short(taken).into(), wanted: short(branch).into() };
        let below = format!("{branch}/");
        if let Some((taken, _)) = packed.iter().find(|(name, _)| name.starts_with(below.as_bytes())) {
            return Err(in_the_way(&String::from_utf8_lossy(taken)));
        }
        if let Some(file) = first_file_below(&refs.path(branch)) {
            let name = file.strip_prefix(self.common_dir()).unwrap_or(&file).to_string_lossy().into_owned();
            return Err(in_the_way(&name));
        }
        Ok(())
    }

    /// Moving a branch under a checkout would make its files look edited.
    pub fn refuse_checked_out(&self, study: &str) -> Result<(), GitError> {
        let branch = &branch_name(study)?;
        let common = self.common_dir();
        let mut places = Vec::new();
        if self.git_dir() == common {
            places.push((common.to_owned(), self.workdir().to_owned()));
        } else if self.config_bool("core.bare") != Some(true) {
            places.push((common.to_owned(), common.parent().unwrap_or(common).to_owned()));
        }
        let linked = common.join("worktrees");
        for entry in std::fs::read_dir(&linked).into_iter().flatten().flatten() {
            let git_dir = entry.path();
            let dot_git = disk::read_if_there(&git_dir.join("gitdir")).map_err(GitError::io("read", &git_dir))?;
            let worktree = dot_git.map_or_else(
                || git_dir.clone(),
                |text| {
                    let dot_git = git_dir.join(OsStr::from_bytes(text.trim_ascii_end()));
                    dot_git.parent().unwrap_or(&dot_git).to_owned()
                },
            );
            places.push((git_dir, worktree));
        }
        for (git_dir, worktree) in places {
            // A rebase detaches HEAD and moves the branch at its end.
            for file in ["HEAD", "rebase-merge/head-name", "rebase-apply/head-name"] {
                let path = git_dir.join(file);
                let text = disk::read_if_there(&path).map_err(GitError::io("read", &path))?.unwrap_or_default();
                let name = text.strip_prefix(b"ref:").unwrap_or(&text).trim_ascii();
                if name == branch.as_bytes() {
                    return Err(GitError::CheckedOut { branch: short(branch).into(), worktree });
                }
            }
        }
        Ok(())
    }

    fn refuse_locks(&self, branch: &str) -> Result<(), GitError> {
        for name in [format!("{branch}.lock"), "packed-refs.lock".into()] {
            let path = self.common_dir().join(name);
            if path.symlink_metadata().is_ok() && !left_by_us(&self.local(), &path) {
                return Err(GitError::Locked { path });
            }
        }
        Ok(())
    }
}

/// Empty folders are what git leaves of removed branches, and are in nobody's way.
fn first_file_below(folder: &Path) -> Option<PathBuf> {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                _ => return Some(entry.path()),
            }
        }
    }
    None
}
