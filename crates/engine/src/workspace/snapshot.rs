//! The working tree as a commit, for a study that starts from uncommitted edits.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use gix::ObjectId;
use gix::objs::Kind;

use super::checkout::{Checkout, Look, SubmoduleHead, TrackedKind, submodule_head};
use super::error::GitError;
use super::fresh::NewFile;
use super::object::Object;
use super::plan::commit_object;
use super::tree::{self, FileKind, Found};
use super::user::UserRepo;

impl UserRepo {
    /// Commits the tracked files as they lie in the checkout, on top of HEAD, and syncs the commit.
    ///
    /// Nothing points to it until [`UserRepo::set_baseline_ref`] does. A checkout without changes gives
    /// HEAD itself. Untracked files are left out; an edited file goes in with its raw bytes, an edited
    /// LFS file too.
    pub fn snapshot(&self, message: &str, at: i64) -> Result<ObjectId, GitError> {
        let (commit, objects) = self.snapshot_objects(message, &[], at)?;
        self.write_durably(&objects)?;
        Ok(commit)
    }

    /// The same commit with new files in it, and the objects of it that HEAD does not hold; nothing is written.
    pub(super) fn snapshot_objects(
        &self,
        message: &str,
        new: &[NewFile],
        at: i64,
    ) -> Result<(ObjectId, Vec<Object>), GitError> {
        let repo = self.local();
        let head = self.head()?;
        let checkout = Checkout::read(self, &repo)?;
        let mut root = Folder::default();
        let mut objects = Vec::new();
        for tracked in checkout.tracked() {
            let path = &tracked.path;
            let found = match &tracked.entry {
                TrackedKind::Sparse(tree) => Some(("40000", *tree)),
                TrackedKind::Unmerged => self.as_it_lies(&checkout, path, FileKind::File, &mut objects)?,
                TrackedKind::Entry(entry) => match checkout.look(path, entry)? {
                    Look::Same => Some((entry.kind.mode(), entry.id)),
                    Look::Gone => None,
                    Look::Differs => self.as_it_lies(&checkout, path, entry.kind, &mut objects)?,
                },
            };
            if let Some((mode, id)) = found {
                root.put(path, mode, id);
            }
        }
        for NewFile { path, bytes, runs } in new {
            let blob = Object::new(Kind::Blob, bytes.clone())?;
            let kind = if *runs { FileKind::Executable } else { FileKind::File };
            root.put(Path::new(path), kind.mode(), blob.id);
            objects.push(blob);
        }
        let tree = root.write(&mut objects)?;
        if tree == tree::of_commit(&repo, head)? {
            return Ok((head, Vec::new()));
        }
        // What HEAD holds is the user's and stays where it is.
        let mut known = HashSet::new();
        tree::walk(&repo, head, &mut |found| {
            known.insert(match found {
                Found::Tree(id) | Found::File { id, .. } => id,
            });
            Ok(())
        })?;
        let commit = commit_object(tree, &[head], message, at)?;
        let id = commit.id;
        objects.push(commit);
        objects.retain(|object| known.insert(object.id));
        Ok((id, objects))
    }

    /// A path's mode and id from what is on disk; `None` where nothing git can hold is there.
    fn as_it_lies(
        &self,
        checkout: &Checkout<'_>,
        path: &Path,
        was: FileKind,
        objects: &mut Vec<Object>,
    ) -> Result<Option<(&'static str, ObjectId)>, GitError> {
        let full = self.workdir().join(path);
        let Some(metadata) = checkout.metadata(path)? else {
            return Ok(None);
        };
        let kind = metadata.file_type();
        let (file_kind, contents) = if kind.is_symlink() {
            (FileKind::Symlink, std::fs::read_link(&full).map(|target| target.into_os_string().into_vec()))
        } else if kind.is_file() {
            let executable = match checkout.executable_bits {
                true => metadata.mode() & 0o100 != 0,
                false => was == FileKind::Executable,
            };
            (if executable { FileKind::Executable } else { FileKind::File }, std::fs::read(&full))
        } else if let (true, SubmoduleHead::At(id)) = (kind.is_dir(), submodule_head(&full)) {
            return Ok(Some((FileKind::Submodule.mode(), id)));
        } else {
            return Ok(None);
        };
        let blob = Object::new(Kind::Blob, contents.map_err(GitError::io("read", &full))?)?;
        let id = blob.id;
        objects.push(blob);
        Ok(Some((file_kind.mode(), id)))
    }
}

/// A tree in the making.
#[derive(Default)]
struct Folder {
    files: BTreeMap<OsString, (&'static str, ObjectId)>,
    folders: BTreeMap<OsString, Folder>,
}

impl Folder {
    fn put(&mut self, path: &Path, mode: &'static str, id: ObjectId) {
        let mut folder = self;
        let mut names = path.iter().peekable();
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                folder.files.insert(name.to_owned(), (mode, id));
                return;
            }
            folder = folder.folders.entry(name.to_owned()).or_default();
        }
    }

    fn write(&self, objects: &mut Vec<Object>) -> Result<ObjectId, GitError> {
        let mut entries: Vec<(Vec<u8>, &str, &OsString, ObjectId)> = Vec::new();
        for (name, folder) in &self.folders {
            entries.push((sort_key(name, true), "40000", name, folder.write(objects)?));
        }
        for (name, (mode, id)) in &self.files {
            entries.push((sort_key(name, *mode == "40000"), mode, name, *id));
        }
        entries.sort();
        let mut data = Vec::new();
        for (_, mode, name, id) in entries {
            data.extend_from_slice(mode.as_bytes());
            data.push(b' ');
            data.extend_from_slice(name.as_bytes());
            data.push(0);
            data.extend_from_slice(id.as_bytes());
        }
        let tree = Object::new(Kind::Tree, data)?;
        let id = tree.id;
        objects.push(tree);
        Ok(id)
    }
}

/// Git sorts a folder as if its name ended with a slash.
fn sort_key(name: &OsString, folder: bool) -> Vec<u8> {
    let mut key = name.as_bytes().to_vec();
    if folder {
        key.push(b'/');
    }
    key
}
