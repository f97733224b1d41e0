//! The files of a commit.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::objs::{CommitRefIter, Kind, TreeRefIter, tree::EntryKind};

use super::error::GitError;
use super::object;

/// One file of a commit's tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeFile {
    /// From the top of the repository.
    pub path: PathBuf,
    pub kind: FileKind,
    /// The blob, or for a submodule its commit.
    pub id: ObjectId,
}

/// What a tree entry is in a working copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    File,
    Executable,
    Symlink,
    Submodule,
}

impl FileKind {
    pub(super) fn mode(self) -> &'static str {
        match self {
            FileKind::File => "100644",
            FileKind::Executable => "100755",
            FileKind::Symlink => "120000",
            FileKind::Submodule => "160000",
        }
    }
}

/// What [`walk`] comes across.
pub(super) enum Found<'a> {
    Tree(ObjectId),
    File { path: &'a Path, kind: FileKind, id: ObjectId },
}

/// The root tree of a commit.
pub(super) fn of_commit(repo: &gix::Repository, commit: ObjectId) -> Result<ObjectId, GitError> {
    let data = object::read(repo, commit, Kind::Commit)?;
    CommitRefIter::from_bytes(&data, commit.kind())
        .tree_id()
        .map_err(|error| GitError::Damaged { id: commit, what: error.to_string() })
}

/// Every file of a commit, sorted by path.
pub(super) fn files(repo: &gix::Repository, commit: ObjectId) -> Result<Vec<TreeFile>, GitError> {
    let mut files = Vec::new();
    walk(repo, commit, &mut |found| {
        if let Found::File { path, kind, id } = found {
            files.push(TreeFile { path: path.to_owned(), kind, id });
        }
        Ok(())
    })?;
    files.sort();
    Ok(files)
}

/// Visits every tree and file of a commit, folders before what is in them.
pub(super) fn walk(
    repo: &gix::Repository,
    commit: ObjectId,
    visit: &mut dyn FnMut(Found<'_>) -> Result<(), GitError>,
) -> Result<(), GitError> {
    let root = of_commit(repo, commit)?;
    below(repo, commit, root, &mut PathBuf::new(), visit)
}

/// The blob at a path, which must be a regular file.
pub(super) fn blob_at(repo: &gix::Repository, commit: ObjectId, path: &str) -> Result<ObjectId, GitError> {
    let refused = || GitError::NotARegularFile { path: path.into(), commit };
    let mut id = of_commit(repo, commit)?;
    let mut names = path.split('/').peekable();
    while let Some(name) = names.next() {
        let data = object::read(repo, id, Kind::Tree)?;
        let entry = TreeRefIter::from_bytes(&data, id.kind())
            .filter_map(Result::ok)
            .find(|entry| entry.filename == name)
            .ok_or_else(refused)?;
        match (entry.mode.kind(), names.peek()) {
            (EntryKind::Tree, Some(_)) => {}
            (EntryKind::Blob | EntryKind::BlobExecutable, None) => {}
            _ => return Err(refused()),
        }
        id = entry.oid.to_owned();
    }
    Ok(id)
}

/// A commit, the trees that lead to a file, and the file: those that are there.
pub(super) fn along(repo: &gix::Repository, commit: ObjectId, path: &str) -> Vec<ObjectId> {
    let Ok(mut id) = of_commit(repo, commit) else { return vec![commit] };
    let mut found = vec![commit, id];
    for name in path.split('/') {
        let Ok(data) = object::read(repo, id, Kind::Tree) else { break };
        let mut entries = TreeRefIter::from_bytes(&data, id.kind()).filter_map(Result::ok);
        let Some(entry) = entries.find(|entry| entry.filename == name) else { break };
        id = entry.oid.to_owned();
        found.push(id);
    }
    found
}

/// A path as git stores it, for the file system.
pub(super) fn native(path: &BStr) -> &Path {
    Path::new(OsStr::from_bytes(path.as_bytes()))
}

fn below(
    repo: &gix::Repository,
    commit: ObjectId,
    tree: ObjectId,
    path: &mut PathBuf,
    visit: &mut dyn FnMut(Found<'_>) -> Result<(), GitError>,
) -> Result<(), GitError> {
    visit(Found::Tree(tree))?;
    let data = object::read(repo, tree, Kind::Tree)?;
    for entry in TreeRefIter::from_bytes(&data, tree.kind()) {
        let entry = entry.map_err(|error| GitError::Damaged { id: tree, what: error.to_string() })?;
        let name = entry.filename;
        // A crafted tree must not reach outside the working copy, nor plant a repository in it.
        if name.is_empty() || name == "." || name == ".." || name.contains(&b'/') || name.eq_ignore_ascii_case(b".git")
        {
            return Err(GitError::UnsafeName { commit, name: name.to_string() });
        }
        path.push(native(name));
        let kind = match entry.mode.kind() {
            EntryKind::Tree => None,
            EntryKind::Blob => Some(FileKind::File),
            EntryKind::BlobExecutable => Some(FileKind::Executable),
            EntryKind::Link => Some(FileKind::Symlink),
            EntryKind::Commit => Some(FileKind::Submodule),
        };
        let id = entry.oid.to_owned();
        match kind {
            None => below(repo, commit, id, path, visit)?,
            Some(kind) => visit(Found::File { path, kind, id })?,
        }
        path.pop();
    }
    Ok(())
}
