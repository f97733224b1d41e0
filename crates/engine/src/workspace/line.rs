//! A single line of commits, from one to another.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gix::ObjectId;
use gix::bstr::BString;
use gix::objs::{CommitRef, Kind, TreeRefIter, tree::EntryKind};
use overnight_model::proposal::Contents;
use overnight_model::spec::Surface;

use super::error::GitError;
use super::object;
use super::tree;
use super::user::UserRepo;

/// One commit of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineCommit {
    pub id: ObjectId,
    pub parent: ObjectId,
    /// The first line of its message.
    pub subject: String,
}

/// Why two commits are not the ends of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLine {
    /// They are one and the same.
    Empty,
    /// Following first parents from the end one does not come to the beginning.
    NotBefore,
    /// The merge that is nearest to the end.
    Merge(ObjectId),
}

impl UserRepo {
    /// The commits after `from` up to `to` along first parents, the oldest first.
    pub fn line(&self, from: ObjectId, to: ObjectId) -> Result<Result<Vec<LineCommit>, NoLine>, GitError> {
        let repo = self.local();
        let (mut line, mut merge, mut at) = (Vec::new(), None, to);
        while at != from {
            let data = object::read(&repo, at, Kind::Commit)?;
            let commit = CommitRef::from_bytes(&data, at.kind())
                .map_err(|error| GitError::Damaged { id: at, what: error.to_string() })?;
            let mut parents = commit.parents();
            let Some(parent) = parents.next() else { return Ok(Err(NoLine::NotBefore)) };
            if parents.next().is_some() {
                merge.get_or_insert(at);
            }
            let subject = commit.message_summary().to_string();
            line.push(LineCommit { id: at, parent, subject });
            at = parent;
        }
        line.reverse();
        Ok(match merge {
            Some(merge) => Err(NoLine::Merge(merge)),
            None if line.is_empty() => Err(NoLine::Empty),
            None => Ok(line),
        })
    }

    /// The files that differ between two commits; what is the same in both is not looked into, however large it is.
    pub fn touched(&self, old: ObjectId, new: ObjectId) -> Result<Vec<PathBuf>, GitError> {
        let repo = self.local();
        let mut touched = Vec::new();
        let (old, new) = (tree::of_commit(&repo, old)?, tree::of_commit(&repo, new)?);
        differing(&repo, Some(old), Some(new), &mut PathBuf::new(), &mut touched)?;
        touched.sort();
        Ok(touched)
    }

    /// The surface as it is in a commit; `None` where one of its files is not there.
    pub fn surface_at(&self, commit: ObjectId, surface: &Surface) -> Result<Option<Contents>, GitError> {
        let file = |path: &str| match self.read(commit, path) {
            Ok(bytes) => Ok(Some((path.to_owned(), bytes))),
            Err(GitError::NotARegularFile { .. }) => Ok(None),
            Err(error) => Err(error),
        };
        let files = surface.paths().map(file).collect::<Result<Option<_>, _>>()?;
        Ok(files.map(Contents))
    }
}

/// Files below two trees that are not the same in both; a tree that is not there has none.
fn differing(
    repo: &gix::Repository,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    at: &mut PathBuf,
    found: &mut Vec<PathBuf>,
) -> Result<(), GitError> {
    let (old, new) = (entries(repo, old)?, entries(repo, new)?);
    for name in old.keys().chain(new.keys().filter(|name| !old.contains_key(*name))) {
        let (before, after) = (old.get(name), new.get(name));
        if before == after {
            continue;
        }
        at.push(tree::native(name.as_ref()));
        let folder = |entry: Option<&(EntryKind, ObjectId)>| {
            entry.filter(|entry| entry.0 == EntryKind::Tree).map(|entry| entry.1)
        };
        let is_file = |entry: Option<&(EntryKind, ObjectId)>| entry.is_some_and(|entry| entry.0 != EntryKind::Tree);
        if is_file(before) || is_file(after) {
            found.push(at.clone());
        }
        differing(repo, folder(before), folder(after), at, found)?;
        at.pop();
    }
    Ok(())
}

fn entries(repo: &gix::Repository, id: Option<ObjectId>) -> Result<BTreeMap<BString, (EntryKind, ObjectId)>, GitError> {
    let Some(id) = id else { return Ok(BTreeMap::new()) };
    let data = object::read(repo, id, Kind::Tree)?;
    let entry =
        |entry: gix::objs::tree::EntryRef<'_>| (entry.filename.to_owned(), (entry.mode.kind(), entry.oid.to_owned()));
    let entries = TreeRefIter::from_bytes(&data, id.kind()).map(|found| found.map(entry));
    entries.collect::<Result<_, _>>().map_err(|error| GitError::Damaged { id, what: error.to_string() })
}
