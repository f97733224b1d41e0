//! Two trees side by side: which ones are meant, and what differs between them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use overnight_model::proposal::{self, Contents};

use super::Subject;
use crate::load::Site;
use crate::open::{OpenError, random_seed, unlocked};
use crate::workspace::{GitError, ObjectId, TreeFile, UserRepo};

/// A tree that a person named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revision {
    /// The tracked files as they lie in the checkout.
    Worktree,
    Commit(ObjectId),
}

impl Revision {
    /// `.` and `worktree` are the working tree, `champion` and `baseline` those of the study; all else is for git.
    pub fn find(site: &Site, name: &str) -> Result<Revision, GitError> {
        let user = UserRepo::discover(&site.dir)?;
        let own = match name {
            "." | "worktree" => return Ok(Revision::Worktree),
            "champion" => user.branch_head(&site.study)?,
            "baseline" => user.baseline_ref(&site.study)?,
            _ => None,
        };
        // A study that has not begun has neither; a branch may be called so.
        own.map_or_else(|| user.resolve(name), Ok).map(Revision::Commit)
    }

    pub fn subject(self, site: &Site) -> Result<Subject, OpenError> {
        match self {
            Revision::Worktree => Subject::worktree(site),
            Revision::Commit(commit) => Subject::at(site, commit),
        }
    }
}

impl Subject {
    /// Files outside the surface that differ from another tree's, but for the triplet and the program.
    pub fn locked_differences(&self, other: &Subject) -> Result<Vec<PathBuf>, GitError> {
        let unlocked = unlocked(&self.user, &self.site, &self.spec);
        let is_surface = |path: &Path| {
            let all = self.spec.surface.paths().chain(other.spec.surface.paths());
            all.into_iter().any(|surface| path == Path::new(surface))
        };
        let listed = |subject: &Subject| -> Result<BTreeSet<TreeFile>, GitError> {
            let files = subject.source.files(subject.commit)?.into_iter();
            Ok(files.filter(|file| !unlocked.contains(&file.path) && !is_surface(&file.path)).collect())
        };
        let (own, others) = (listed(self)?, listed(other)?);
        let mut paths: BTreeSet<PathBuf> = own.symmetric_difference(&others).map(|file| file.path.clone()).collect();
        // A file of the surface may have a locked part.
        if let Some(carried) = self.with_surface_of(other) {
            let changed = carried.0.iter().filter(|file| !other.surface.0.contains(file));
            paths.extend(changed.map(|(path, _)| PathBuf::from(path)));
        }
        Ok(paths.into_iter().collect())
    }

    /// What may change, from another tree, with what is locked from this one. `None` where a marker is missing.
    pub fn with_surface_of(&self, other: &Subject) -> Option<Contents> {
        proposal::carry_over((&other.spec.surface, &other.surface), (&self.spec.surface, &self.surface))
    }
}

/// A number that nobody could have known before, small enough for every reader of JSON.
pub fn fresh_seed() -> Result<u64, OpenError> {
    Ok(random_seed()? >> 32)
}
