//! A commit as pure data, turned into the objects that make it.

use std::collections::BTreeMap;

use gix::ObjectId;
use gix::objs::{CommitRefIter, Kind, TreeRefIter, tree::EntryKind};

use super::error::GitError;
use super::object::{self, Object};
use super::tree;

/// A commit to make: the parent's tree with some files' contents replaced.
///
/// The same plan always gives the same id, in any repository that holds the parent: the identity is
/// `overnight <overnight@localhost>`, the time zone is UTC, and file modes stay what they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPlan {
    pub parent: ObjectId,
    /// Paths from the top of the repository, with `/` between folders, and their new contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// A missing final newline is added; NUL, which git cannot hold in a message, becomes `U+FFFD`.
    pub message: String,
    /// Unix seconds, of author and committer.
    pub at: i64,
}

impl CommitPlan {
    /// The blobs, the changed trees from the deepest up, and last the commit.
    pub(super) fn objects(&self, repo: &gix::Repository) -> Result<Vec<Object>, GitError> {
        let CommitPlan { parent, files, message, at } = self;
        let mut objects = Vec::new();
        let root = tree_with(repo, *parent, files, &mut objects)?;
        objects.push(commit_object(root, &[*parent], message, *at)?);
        Ok(objects)
    }

    /// The same on top of another commit as well, which becomes the first parent: a line of history that goes on
    /// with a new tree.
    pub(super) fn objects_after(&self, repo: &gix::Repository, before: ObjectId) -> Result<Vec<Object>, GitError> {
        let mut objects = self.objects(repo)?;
        let alone = objects.pop().expect("a plan ends with its commit");
        let root = CommitRefIter::from_bytes(&alone.data, alone.id.kind()).tree_id();
        let root = root.map_err(|error| GitError::Damaged { id: alone.id, what: error.to_string() })?;
        objects.push(commit_object(root, &[before, self.parent], &self.message, self.at)?);
        Ok(objects)
    }
}

/// A commit's tree with some files' contents replaced: the blobs, then the changed trees from the deepest up.
pub(super) fn tree_with(
    repo: &gix::Repository,
    commit: ObjectId,
    files: &[(String, Vec<u8>)],
    objects: &mut Vec<Object>,
) -> Result<ObjectId, GitError> {
    let mut edits = BTreeMap::new();
    for (path, contents) in files {
        let blob = Object::new(Kind::Blob, contents.clone())?;
        edits.insert(path.as_str(), blob.id);
        objects.push(blob);
    }
    let edits: Vec<Edit<'_>> = edits.into_iter().map(|(path, blob)| Edit { rest: path, path, blob }).collect();
    replace(repo, commit, tree::of_commit(repo, commit)?, &edits, objects)
}

/// The commit object itself.
pub(super) fn commit_object(tree: ObjectId, parents: &[ObjectId], message: &str, at: i64) -> Result<Object, GitError> {
    let message = message.replace('\0', "\u{fffd}");
    let end = if message.ends_with('\n') { "" } else { "\n" };
    let who = format!("{IDENTITY} {at} +0000");
    let parents: String = parents.iter().map(|parent| format!("parent {parent}\n")).collect();
    let text = format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n\n{message}{end}");
    Object::new(Kind::Commit, text.into_bytes())
}

pub(super) const IDENTITY: &str = "overnight <overnight@localhost>";

/// One blob to put at `path`; `rest` is the part of the path below the tree at hand.
#[derive(Clone, Copy)]
struct Edit<'a> {
    rest: &'a str,
    path: &'a str,
    blob: ObjectId,
}

/// Rewrites the ids inside a tree's bytes. Names, modes and order are not touched, so odd trees of old
/// git versions keep their form.
fn replace(
    repo: &gix::Repository,
    commit: ObjectId,
    tree: ObjectId,
    edits: &[Edit<'_>],
    objects: &mut Vec<Object>,
) -> Result<ObjectId, GitError> {
    let old = object::read(repo, tree, Kind::Tree)?;
    let mut new = old.clone();
    let mut below: BTreeMap<&str, Vec<Edit<'_>>> = BTreeMap::new();
    for edit in edits {
        let (name, rest) = edit.rest.split_once('/').unwrap_or((edit.rest, ""));
        below.entry(name).or_default().push(Edit { rest, ..*edit });
    }
    for (name, edits) in below {
        let refused = || GitError::NotARegularFile { path: edits[0].path.into(), commit };
        let entry = TreeRefIter::from_bytes(&old, tree.kind())
            .filter_map(Result::ok)
            .find(|entry| entry.filename == name)
            .ok_or_else(refused)?;
        let id = match (entry.mode.kind(), edits.as_slice()) {
            (EntryKind::Blob | EntryKind::BlobExecutable, [Edit { rest: "", blob, path }]) if !path.ends_with('/') => {
                *blob
            }
            (EntryKind::Tree, edits) if edits.iter().all(|edit| !edit.rest.is_empty()) => {
                replace(repo, commit, entry.oid.to_owned(), edits, objects)?
            }
            _ => return Err(refused()),
        };
        let at = entry.oid.as_bytes().as_ptr() as usize - old.as_ptr() as usize;
        new[at..at + id.as_bytes().len()].copy_from_slice(id.as_bytes());
    }
    let tree = Object::new(Kind::Tree, new)?;
    let id = tree.id;
    objects.push(tree);
    Ok(id)
}
