//! What a working copy should hold, and where each file of it comes from.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::objs::Kind;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::checkout::{SubmoduleHead, submodule_head};
use super::error::GitError;
use super::lfs::Pointer;
use super::make::{Making, Seen, create, finish, finish_folder, make_link};
use super::object;
use super::remove::{open_folder, remove};
use super::tree::{self, FileKind, Found};
use super::user;

/// A folder of the copy, with all that belongs in it.
#[derive(Default)]
pub(super) struct Folder {
    pub nodes: BTreeMap<OsString, Node>,
    pub seen: Option<Seen>,
}

pub(super) enum Node {
    Folder(Folder),
    File(TrackedFile),
}

/// A file of the copy, and where its contents come from.
pub(super) struct TrackedFile {
    kind: FileKind,
    id: ObjectId,
    /// Which of the [`Sources`] has the blob.
    source: usize,
    /// The checkout's file, where the blob is an LFS pointer that it matches.
    lfs: Option<(Pointer, PathBuf)>,
    pub seen: Option<Seen>,
    /// Whether it was ever laid out: from then on it must stay what it was then.
    made: bool,
    /// Whether the last reset put surface contents here.
    pub is_surface: bool,
}

/// Object databases that blobs are read from: the user's first, then those of submodules.
pub(super) struct Sources(Vec<(gix::ThreadSafeRepository, gix::Repository)>);

/// The tree of a commit with its submodules, as a copy should hold it.
pub(super) fn expected(
    shared: &gix::ThreadSafeRepository,
    checkout: &Path,
    commit: ObjectId,
) -> Result<(Folder, Vec<gix::ThreadSafeRepository>), GitError> {
    let mut sources = vec![shared.clone()];
    let mut root = Folder::default();
    add(&mut root, Path::new(""), &mut sources, checkout, commit)?;
    Ok((root, sources))
}

fn add(
    root: &mut Folder,
    prefix: &Path,
    sources: &mut Vec<gix::ThreadSafeRepository>,
    checkout: &Path,
    commit: ObjectId,
) -> Result<(), GitError> {
    let source = sources.len() - 1;
    let repo = user::local(&sources[source]);
    let mut submodules = Vec::new();
    tree::walk(&repo, commit, &mut |found| {
        let Found::File { path, kind, id } = found else {
            return Ok(());
        };
        let node = match kind {
            FileKind::Submodule => {
                submodules.push((path.to_owned(), id));
                Node::Folder(Folder::default())
            }
            _ => {
                let lfs = lfs_of(&repo, kind, id)?.map(|pointer| (pointer, checkout.join(path)));
                Node::File(TrackedFile { kind, id, source, lfs, seen: None, made: false, is_surface: false })
            }
        };
        root.put(&prefix.join(path), node);
        Ok(())
    })?;
    for (path, commit) in submodules {
        let folder = checkout.join(&path);
        if matches!(submodule_head(&folder), SubmoduleHead::NotThere) {
            continue;
        }
        let shared = user::open(&folder)?;
        if tree::of_commit(&user::local(&shared), commit).is_err() {
            return Err(GitError::SubmoduleWithoutCommit { path: prefix.join(path), commit });
        }
        sources.push(shared);
        add(root, &prefix.join(path), sources, &folder, commit)?;
    }
    Ok(())
}

fn lfs_of(repo: &gix::Repository, kind: FileKind, id: ObjectId) -> Result<Option<Pointer>, GitError> {
    let small = repo.find_header(id).is_ok_and(|header| header.size() <= super::lfs::LONGEST_POINTER as u64);
    if kind == FileKind::Symlink || !small {
        return Ok(None);
    }
    Ok(Pointer::parse(&object::read(repo, id, Kind::Blob)?))
}

impl Folder {
    fn put(&mut self, path: &Path, node: Node) {
        let (Some(name), above) = (path.file_name(), path.parent().unwrap_or(Path::new(""))) else {
            return;
        };
        let mut folder = self;
        for part in above {
            let inner = folder.nodes.entry(part.to_owned()).or_insert_with(|| Node::Folder(Folder::default()));
            let Node::Folder(inner) = inner else { unreachable!("git trees hold each name once") };
            folder = inner;
        }
        folder.nodes.insert(name.to_owned(), node);
    }

    /// Takes a file out of what should be there.
    pub fn leave_out(&mut self, path: &Path) {
        let (Some(name), above) = (path.file_name(), path.parent().unwrap_or(Path::new(""))) else {
            return;
        };
        let mut folder = self;
        for part in above {
            let Some(Node::Folder(inner)) = folder.nodes.get_mut(part) else {
                return;
            };
            folder = inner;
        }
        if matches!(folder.nodes.get(name), Some(Node::File(_))) {
            folder.nodes.remove(name);
        }
    }

    /// Replaces one file by surface contents, and finishes its folder; `None` when the tree has no such file.
    pub fn put_surface(
        &mut self,
        fd: BorrowedFd<'_>,
        path: &Path,
        contents: &[u8],
        making: Making,
    ) -> io::Result<Option<()>> {
        let mut parts = path.iter();
        let Some(name) = parts.next() else { return Ok(None) };
        match self.nodes.get_mut(name) {
            Some(Node::Folder(inner)) => {
                let opened = open_folder(fd, name)?;
                inner.put_surface(opened.as_fd(), parts.as_path(), contents, making)
            }
            Some(Node::File(file)) if parts.as_path().as_os_str().is_empty() && file.is_regular() => {
                match remove(fd, name) {
                    Ok(_) | Err(Errno::NOENT) => {}
                    Err(error) => return Err(error.into()),
                }
                file.make_surface(fd, name, contents, making)?;
                self.seen = Some(finish_folder(fd, making)?);
                Ok(Some(()))
            }
            _ => Ok(None),
        }
    }

    /// The file at a path.
    pub fn find(&self, path: &Path) -> Option<&TrackedFile> {
        let (name, above) = (path.file_name()?, path.parent()?);
        let mut folder = self;
        for part in above {
            let Node::Folder(inner) = folder.nodes.get(part)? else {
                return None;
            };
            folder = inner;
        }
        match folder.nodes.get(name)? {
            Node::File(file) => Some(file),
            Node::Folder(_) => None,
        }
    }
}

impl Sources {
    pub fn open(shared: &[gix::ThreadSafeRepository]) -> Sources {
        Sources(shared.iter().map(|shared| (shared.clone(), user::local(shared))).collect())
    }

    fn blob(&self, file: &TrackedFile) -> Result<Vec<u8>, GitError> {
        object::read(&self.0[file.source].1, file.id, Kind::Blob)
    }
}

impl TrackedFile {
    pub fn is_regular(&self) -> bool {
        self.kind != FileKind::Symlink
    }

    /// Whether the contents on disk are the right ones, read without following a link.
    pub fn has_its_contents(&self, folder: BorrowedFd<'_>, name: &OsStr, full: &Path) -> Result<bool, GitError> {
        let failed = |error: io::Error| GitError::io("read", full)(error);
        if self.kind == FileKind::Symlink {
            let target = match rustix::fs::readlinkat(folder, name, Vec::new()) {
                Ok(target) => target,
                Err(Errno::INVAL | Errno::NOENT) => return Ok(false),
                Err(error) => return Err(failed(error.into())),
            };
            return Ok(object::name_of(Kind::Blob, target.as_bytes())? == self.id);
        }
        if let Some((pointer, _)) = &self.lfs {
            return pointer.matches(full).map_err(failed);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(fd) = rustix::fs::openat(folder, name, flags, Mode::empty()) else {
            return Ok(false);
        };
        let mut contents = Vec::new();
        io::Read::read_to_end(&mut File::from(fd), &mut contents).map_err(failed)?;
        Ok(object::name_of(Kind::Blob, &contents)? == self.id)
    }

    /// Makes the file anew; nothing of that name is there.
    pub fn make(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &OsStr,
        full: &Path,
        sources: &Sources,
        making: Making,
    ) -> Result<(), GitError> {
        self.is_surface = false;
        self.seen = None;
        let first = !std::mem::replace(&mut self.made, true);
        let failed = |error: io::Error| GitError::io("write", full)(error);
        if self.kind == FileKind::Symlink {
            let target = sources.blob(self)?;
            self.seen = Some(make_link(folder, name, &target, making).map_err(|error| failed(error.into()))?);
            return Ok(());
        }
        if let Some((pointer, from)) = &self.lfs {
            let mut file = create(folder, name).map_err(|error| failed(error.into()))?;
            if pointer.copy(from, &mut file).map_err(failed)? {
                self.seen = Some(finish(file, self.kind, Some(making.mtime), making.owner).map_err(failed)?);
                return Ok(());
            }
            if !first {
                return Err(GitError::LfsChanged { path: from.clone() });
            }
            // As in a checkout without git-lfs: the pointer itself.
            self.lfs = None;
            rustix::fs::unlinkat(folder, name, AtFlags::empty()).map_err(|error| failed(error.into()))?;
        }
        let contents = sources.blob(self)?;
        let mut file = create(folder, name).map_err(|error| failed(error.into()))?;
        file.write_all(&contents).map_err(failed)?;
        self.seen = Some(finish(file, self.kind, Some(making.mtime), making.owner).map_err(failed)?);
        Ok(())
    }

    /// Makes the file with surface contents, dated now; nothing of that name is there.
    pub fn make_surface(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &OsStr,
        contents: &[u8],
        making: Making,
    ) -> io::Result<()> {
        let mut file = create(folder, name)?;
        file.write_all(contents)?;
        self.seen = Some(finish(file, self.kind, None, making.owner)?);
        self.is_surface = true;
        Ok(())
    }
}
