//! The refs the user's repository receives, moved by compare-and-swap and synced.
//!
//! The order of [`UserRepo::advance`]: the new value is written and synced under a hidden name, takes
//! the name of git's lock, the old value is compared under that lock, and the lock becomes the ref. So a
//! lock of ours always holds the whole new value, and a run that was killed finds its own lock again by
//! that value; any other lock is left alone.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::objs::{CommitRefIter, Kind};

use super::disk::{self, Durability};
use super::error::GitError;
use super::lock::Lock;
use super::object;
use super::plan::{CommitPlan, IDENTITY};
use super::refs::{Loose, Refs};
use super::user::UserRepo;

impl UserRepo {
    /// The head of `overnight/<study>`, loose or packed.
    pub fn branch_head(&self, study: &str) -> Result<Option<ObjectId>, GitError> {
        self.refs().find(&branch_name(study)?)
    }

    /// The commit the study started from.
    pub fn baseline_ref(&self, study: &str) -> Result<Option<ObjectId>, GitError> {
        self.refs().find(&baseline_name(study)?)
    }

    /// Makes `refs/overnight/<study>/baseline` hold the commit, so that no `git gc` can take it away.
    pub fn set_baseline_ref(&self, study: &str, commit: ObjectId) -> Result<(), GitError> {
        self.swap(&baseline_name(study)?, Expected::Anything, commit, None)
    }

    /// Writes a kept commit with its blobs and trees into the user's object database, syncs it, and
    /// reads every object back.
    pub fn write_kept(&self, commit: &CommitPlan) -> Result<ObjectId, GitError> {
        let objects = commit.objects(&self.local())?;
        self.write_durably(&objects)?;
        Ok(objects.last().expect("a plan ends with its commit").id)
    }

    /// Writes a commit that puts the plan's tree on top of the branch as it was: the plan's parent comes second. Synced
    /// and read back; nothing points to it yet.
    pub fn write_rebased(&self, before: ObjectId, plan: &CommitPlan) -> Result<ObjectId, GitError> {
        let objects = plan.objects_after(&self.local(), before)?;
        self.write_durably(&objects)?;
        Ok(objects.last().expect("a plan ends with its commit").id)
    }

    /// When a commit was made, in Unix seconds.
    pub fn committed_at(&self, commit: ObjectId) -> Result<i64, GitError> {
        committed_at(&object::read(&self.local(), commit, Kind::Commit)?, commit)
    }

    /// Moves `overnight/<study>` from one commit to another, or makes it where `from` is `None`.
    ///
    /// A branch that stands at `to` already was moved by a run that was killed before it could say so:
    /// it is synced again. Any other value is [`GitError::BranchMoved`], and nothing is written.
    pub fn advance(&self, study: &str, from: Option<ObjectId>, to: ObjectId, why: &str) -> Result<(), GitError> {
        self.swap(&branch_name(study)?, Expected::Exactly(from), to, Some(why))
    }

    /// Makes a ref that must not be there.
    pub(super) fn create(&self, name: &str, to: ObjectId, why: &str) -> Result<(), GitError> {
        self.swap(name, Expected::Exactly(None), to, Some(why))
    }

    pub(super) fn write_durably(&self, list: &[object::Object]) -> Result<(), GitError> {
        let objects = self.objects_dir();
        object::write_loose(&objects, list, Durability::Synced)?;
        for written in list {
            object::read_loose(&object::loose_path(&objects, &written.id), &written.id)?;
        }
        Ok(())
    }

    pub(super) fn refs(&self) -> Refs<'_> {
        Refs { dir: self.common_dir() }
    }

    fn swap(&self, name: &str, expected: Expected, to: ObjectId, why: Option<&str>) -> Result<(), GitError> {
        let refs = self.refs();
        let path = refs.path(name);
        let made_at = committed_at(&object::read(&self.local(), to, Kind::Commit)?, to)?;
        refuse_in_the_way(&refs, name)?;
        let folders = self.make_folders(&path)?;
        let lock = Lock::take(&path, to)?;

        let current = match refs.loose(name)? {
            Loose::Id(id) => Current::At(Some(id)),
            Loose::Absent => Current::At(refs.packed()?.find(name)),
            Loose::Torn => Current::Lost,
            Loose::Symbolic(_) => Current::Elsewhere(refs.find(name)?),
        };
        match (current, expected) {
            (Current::At(Some(id)), _) if id == to => {
                drop(lock);
                sync_file(&path, &refs)?;
                return sync_all(&folders);
            }
            // There is no value to overwrite: the ledger knows it.
            (Current::Lost, _) | (Current::At(_), Expected::Anything) => {}
            (Current::At(found), Expected::Exactly(from)) if found == from => {}
            (Current::At(found) | Current::Elsewhere(found), expected) => {
                let expected = match expected {
                    Expected::Exactly(from) => from,
                    Expected::Anything => None,
                };
                return Err(GitError::BranchMoved { name: name.into(), expected, found });
            }
        }
        if let (Some(why), Expected::Exactly(from)) = (why, expected) {
            self.append_reflog(name, from, to, made_at, why)?;
        }
        lock.become_ref()?;
        sync_all(&folders)
    }

    /// Makes the folders of a ref; returns those to sync, the nearest first.
    fn make_folders(&self, path: &Path) -> Result<Vec<PathBuf>, GitError> {
        let folder = path.parent().expect("a ref lies in a folder");
        let mut to_sync = vec![folder.to_owned()];
        let mut above = folder;
        while !above.is_dir() && above != self.common_dir() {
            above = above.parent().expect("refs lie below the git directory");
            to_sync.push(above.to_owned());
        }
        std::fs::create_dir_all(folder).map_err(GitError::io("make the folder", folder))?;
        Ok(to_sync)
    }

    /// One line, as git writes for every branch. Not synced: the ledger is the record.
    fn append_reflog(
        &self,
        name: &str,
        from: Option<ObjectId>,
        to: ObjectId,
        at: i64,
        why: &str,
    ) -> Result<(), GitError> {
        let path = self.common_dir().join("logs").join(name);
        if self.config_bool("core.logAllRefUpdates") == Some(false) && !path.exists() {
            return Ok(());
        }
        let from = from.unwrap_or_else(|| ObjectId::null(to.kind()));
        let why = why.replace(['\n', '\r', '\0'], " ");
        let line = format!("{from} {to} {IDENTITY} {at} +0000\t{why}\n");
        let append = || -> io::Result<()> {
            std::fs::create_dir_all(path.parent().expect("a reflog lies in a folder"))?;
            OpenOptions::new().append(true).create(true).open(&path)?.write_all(line.as_bytes())
        };
        append().map_err(GitError::io("append to the reflog", &path))
    }
}

pub(super) fn branch_name(study: &str) -> Result<String, GitError> {
    valid(format!("refs/heads/overnight/{study}"))
}

fn baseline_name(study: &str) -> Result<String, GitError> {
    valid(format!("refs/overnight/{study}/baseline"))
}

/// A ref's name as people write it.
pub(super) fn short(name: &str) -> &str {
    name.strip_prefix("refs/heads/").unwrap_or(name)
}

pub(super) fn valid(name: String) -> Result<String, GitError> {
    match gix::refs::FullName::try_from(name.as_str()) {
        Ok(_) => Ok(name),
        Err(source) => Err(GitError::BadName { name, source: Box::new(source) }),
    }
}

/// Git keeps refs as files: a name cannot be both a file and a folder of others.
pub(super) fn refuse_in_the_way(refs: &Refs<'_>, name: &str) -> Result<(), GitError> {
    let packed = refs.packed()?;
    let mut above = name;
    while let Some((parent, _)) = above.rsplit_once('/') {
        if refs.path(parent).is_file() || packed.find(parent).is_some() {
            return Err(GitError::BranchInTheWay { taken: short(parent).into(), wanted: short(name).into() });
        }
        above = parent;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Expected {
    Anything,
    Exactly(Option<ObjectId>),
}

enum Current {
    At(Option<ObjectId>),
    Elsewhere(Option<ObjectId>),
    Lost,
}

fn sync_file(path: &Path, refs: &Refs<'_>) -> Result<(), GitError> {
    let file = if path.is_file() { path.to_owned() } else { refs.packed_path() };
    std::fs::File::open(&file).and_then(|file| file.sync_data()).map_err(GitError::io("sync", &file))
}

fn sync_all(folders: &[PathBuf]) -> Result<(), GitError> {
    folders.iter().try_for_each(|folder| disk::sync_folder(folder).map_err(GitError::io("sync", folder)))
}

fn committed_at(data: &[u8], commit: ObjectId) -> Result<i64, GitError> {
    let time = CommitRefIter::from_bytes(data, commit.kind()).committer().and_then(|who| who.time());
    Ok(time.map_err(|error| GitError::Damaged { id: commit, what: error.to_string() })?.seconds)
}
