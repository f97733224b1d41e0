//! How the user's checkout differs from HEAD, found without running a filter.

use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::BString;
use gix::index::entry::{Flags, Mode, Stage};
use gix::objs::Kind;

use super::error::GitError;
use super::lfs::{LONGEST_POINTER, Pointer};
use super::object;
use super::tree::{self, FileKind};
use super::user::{self, UserRepo};

/// A tracked file of the checkout that is not as HEAD has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dirty {
    /// From the top of the repository.
    pub path: PathBuf,
    pub how: How,
}

/// How a file differs from HEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Its contents, its kind or its executable bit.
    Modified,
    /// Gone from the checkout or from the index.
    Deleted,
    /// In the index and not in HEAD.
    Added,
    /// The index differs from HEAD, the file does not differ from the index.
    Staged,
    /// In the middle of a merge.
    Unmerged,
    /// A submodule that stands at another commit.
    Submodule,
}

impl UserRepo {
    /// The tracked files whose checkout differs from HEAD, sorted.
    ///
    /// A file with CRLF line ends where the blob has LF, and an LFS file that matches its pointer, are
    /// clean. A file changed by any other filter counts as clean only while the index vouches for it.
    pub fn dirty(&self) -> Result<Vec<Dirty>, GitError> {
        let repo = self.local();
        let checkout = Checkout::read(self, &repo)?;
        let mut unseen: BTreeMap<PathBuf, (FileKind, ObjectId)> =
            tree::files(&repo, self.head()?)?.into_iter().map(|file| (file.path, (file.kind, file.id))).collect();
        let mut dirty = Vec::new();
        for tracked in checkout.tracked() {
            let path = tracked.path.clone();
            let how = match tracked.entry {
                TrackedKind::Sparse(_) => {
                    unseen.retain(|file, _| !file.starts_with(&path));
                    continue;
                }
                TrackedKind::Unmerged => {
                    unseen.remove(&path);
                    Some(How::Unmerged)
                }
                TrackedKind::Entry(entry) => {
                    let staged = match unseen.remove(&path) {
                        None => Some(How::Added),
                        Some((kind, id)) if id != entry.id || kind != entry.kind => Some(How::Staged),
                        Some(_) => None,
                    };
                    match checkout.look(&path, &entry)? {
                        _ if staged == Some(How::Added) => staged,
                        Look::Same => staged,
                        Look::Gone => Some(How::Deleted),
                        Look::Differs if entry.kind == FileKind::Submodule => Some(How::Submodule),
                        Look::Differs => Some(How::Modified),
                    }
                }
            };
            dirty.extend(how.map(|how| Dirty { path, how }));
        }
        dirty.extend(unseen.into_keys().map(|path| Dirty { path, how: How::Deleted }));
        dirty.sort();
        Ok(dirty)
    }
}

/// The checkout with the index that describes it.
pub(super) struct Checkout<'a> {
    repo: &'a gix::Repository,
    root: &'a Path,
    index: Option<gix::index::File>,
    /// False where the file system has none and git was told so.
    pub executable_bits: bool,
    real_folders: std::cell::RefCell<HashMap<PathBuf, bool>>,
}

pub(super) struct Tracked {
    pub path: PathBuf,
    pub entry: TrackedKind,
}

pub(super) enum TrackedKind {
    Entry(Entry),
    /// Several versions of one file.
    Unmerged,
    /// A whole folder left out by a sparse checkout.
    Sparse(ObjectId),
}

pub(super) struct Entry {
    pub kind: FileKind,
    pub id: ObjectId,
    stat: gix::index::entry::Stat,
    left_out: bool,
}

/// A file compared with its index entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Same,
    Gone,
    Differs,
}

impl<'a> Checkout<'a> {
    pub fn read(user: &'a UserRepo, repo: &'a gix::Repository) -> Result<Checkout<'a>, GitError> {
        let path = repo.index_path();
        let index = match path.exists() {
            true => Some(repo.open_index().map_err(GitError::git("read the index", &path))?),
            false => None,
        };
        let executable_bits = user.config_bool("core.fileMode") != Some(false);
        Ok(Checkout { repo, root: user.workdir(), index, executable_bits, real_folders: Default::default() })
    }

    /// What the index tracks, each path once.
    pub fn tracked(&self) -> impl Iterator<Item = Tracked> + '_ {
        let mut last_unmerged = BString::default();
        self.index.iter().flat_map(|index| index.entries().iter().map(move |entry| (index, entry))).filter_map(
            move |(index, entry)| {
                let name = entry.path(index);
                let path = PathBuf::from(std::ffi::OsString::from_vec(name.to_vec()));
                if entry.stage() != Stage::Unconflicted {
                    let seen = std::mem::replace(&mut last_unmerged, name.to_owned()) == name;
                    return (!seen).then_some(Tracked { path, entry: TrackedKind::Unmerged });
                }
                let kind = match entry.mode {
                    Mode::DIR => {
                        return Some(Tracked { path, entry: TrackedKind::Sparse(entry.id) });
                    }
                    Mode::FILE_EXECUTABLE => FileKind::Executable,
                    Mode::SYMLINK => FileKind::Symlink,
                    Mode::COMMIT => FileKind::Submodule,
                    _ => FileKind::File,
                };
                let left_out = entry.flags.contains(Flags::SKIP_WORKTREE);
                let entry = Entry { kind, id: entry.id, stat: entry.stat, left_out };
                Some(Tracked { path, entry: TrackedKind::Entry(entry) })
            },
        )
    }

    /// Compares a file with its entry: by the index's stat data where that is enough, else by contents.
    pub fn look(&self, path: &Path, entry: &Entry) -> Result<Look, GitError> {
        if entry.left_out {
            return Ok(Look::Same);
        }
        let Some(metadata) = self.metadata(path)? else {
            return Ok(Look::Gone);
        };
        let full = self.root.join(path);
        let kind = metadata.file_type();
        match entry.kind {
            FileKind::Submodule => Ok(match submodule_head(&full) {
                _ if !kind.is_dir() => Look::Differs,
                SubmoduleHead::NotThere => Look::Same,
                SubmoduleHead::At(id) if id == entry.id => Look::Same,
                SubmoduleHead::At(_) | SubmoduleHead::Unreadable => Look::Differs,
            }),
            FileKind::Symlink if !kind.is_symlink() => Ok(Look::Differs),
            FileKind::File | FileKind::Executable if !kind.is_file() => Ok(Look::Differs),
            FileKind::File | FileKind::Executable
                if self.executable_bits && (metadata.mode() & 0o100 != 0) != (entry.kind == FileKind::Executable) =>
            {
                Ok(Look::Differs)
            }
            _ if self.vouched_for(&metadata, &entry.stat) => Ok(Look::Same),
            _ => self.look_inside(&full, entry),
        }
    }

    /// A tracked path's own metadata; `None` where it is not there, or only through a symlinked folder.
    pub fn metadata(&self, path: &Path) -> Result<Option<Metadata>, GitError> {
        let full = self.root.join(path);
        if !path.parent().is_none_or(|parent| self.is_real_folder(parent)) {
            return Ok(None);
        }
        match full.symlink_metadata() {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(GitError::io("look at", &full)(error)),
        }
    }

    fn is_real_folder(&self, folder: &Path) -> bool {
        if folder.as_os_str().is_empty() {
            return true;
        }
        if let Some(known) = self.real_folders.borrow().get(folder) {
            return *known;
        }
        let real = folder.parent().is_none_or(|parent| self.is_real_folder(parent))
            && self.root.join(folder).symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        self.real_folders.borrow_mut().insert(folder.to_owned(), real);
        real
    }

    /// Whether stat data shows that the file is as it was when the index was written. A file as young
    /// as the index may have changed after it within one tick of the clock.
    fn vouched_for(&self, file: &Metadata, stat: &gix::index::entry::Stat) -> bool {
        let Some(index) = &self.index else {
            return false;
        };
        let written = index.timestamp();
        let mtime = (file.mtime(), file.mtime_nsec());
        mtime < (written.unix_seconds(), i64::from(written.nanoseconds()))
            && (mtime.0 as u32, mtime.1 as u32) == (stat.mtime.secs, stat.mtime.nsecs)
            && (file.ctime() as u32, file.ctime_nsec() as u32) == (stat.ctime.secs, stat.ctime.nsecs)
            && (file.ino() as u32, file.size() as u32) == (stat.ino, stat.size)
    }

    fn look_inside(&self, full: &Path, entry: &Entry) -> Result<Look, GitError> {
        let read = |error| GitError::io("read", full)(error);
        if entry.kind == FileKind::Symlink {
            let target = std::fs::read_link(full).map_err(read)?.into_os_string().into_vec();
            return same(object::name_of(Kind::Blob, &target)? == entry.id);
        }
        let may_be_pointer =
            self.repo.find_header(entry.id).is_ok_and(|header| header.size() <= LONGEST_POINTER as u64);
        if may_be_pointer
            && let Some(pointer) = Pointer::parse(&object::read(self.repo, entry.id, Kind::Blob)?)
            && pointer.matches(full).map_err(read)?
        {
            return same(true);
        }
        let contents = std::fs::read(full).map_err(read)?;
        if object::name_of(Kind::Blob, &contents)? == entry.id {
            return same(true);
        }
        let unix = without_carriage_returns(&contents);
        same(unix.len() < contents.len() && object::name_of(Kind::Blob, &unix)? == entry.id)
    }
}

fn same(same: bool) -> Result<Look, GitError> {
    Ok(if same { Look::Same } else { Look::Differs })
}

/// Where a submodule of the checkout stands.
pub(super) enum SubmoduleHead {
    /// Not initialised.
    NotThere,
    At(ObjectId),
    Unreadable,
}

pub(super) fn submodule_head(folder: &Path) -> SubmoduleHead {
    if folder.join(".git").symlink_metadata().is_err() {
        return SubmoduleHead::NotThere;
    }
    let head = user::open(folder).ok().and_then(|repo| Some(repo.to_thread_local().head_id().ok()?.detach()));
    head.map_or(SubmoduleHead::Unreadable, SubmoduleHead::At)
}

fn without_carriage_returns(text: &[u8]) -> Vec<u8> {
    let mut unix = Vec::with_capacity(text.len());
    for (at, byte) in text.iter().enumerate() {
        if *byte != b'\r' || text.get(at + 1) != Some(&b'\n') {
            unix.push(*byte);
        }
    }
    unix
}
