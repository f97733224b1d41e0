//! Git objects: reading them with their hash checked, and writing them loose.
//!
//! gix never syncs what it writes and takes a zero-length object file for present, so loose objects are
//! written here: always afresh, whatever stands there, and synced before they get their name. A power
//! loss can then leave a missing object, never a short one under a good name.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use gix::ObjectId;
use gix::objs::{Find, Kind};

use super::disk::{self, Durability};
use super::error::GitError;

/// One object, with the name its contents give it.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub id: ObjectId,
    pub kind: Kind,
    pub data: Vec<u8>,
}

impl Object {
    pub fn new(kind: Kind, data: Vec<u8>) -> Result<Object, GitError> {
        Ok(Object { id: name_of(kind, &data)?, kind, data })
    }
}

/// The name git gives to these contents.
pub(super) fn name_of(kind: Kind, data: &[u8]) -> Result<ObjectId, GitError> {
    gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, data)
        .map_err(GitError::git("hash an object of", kind.to_string()))
}

/// Reads an object through a repository and its alternates, and checks it against its name.
pub(super) fn read(repo: &gix::Repository, id: ObjectId, kind: Kind) -> Result<Vec<u8>, GitError> {
    let damaged = |what: String| GitError::Damaged { id, what };
    if id.is_empty_tree() && kind == Kind::Tree {
        return Ok(Vec::new());
    }
    let mut data = Vec::new();
    let found = match repo.objects.try_find(&id, &mut data) {
        Ok(Some(found)) => found.kind,
        Ok(None) => return Err(GitError::Missing { id }),
        Err(error) => return Err(damaged(error.to_string())),
    };
    if found != kind {
        return Err(damaged(format!("it is a {found}, not a {kind}")));
    }
    match name_of(kind, &data)? {
        actual if actual == id => Ok(data),
        actual => Err(damaged(format!("its contents hash to {actual}"))),
    }
}

/// What kind of object it is, where it is there.
pub(super) fn read_any(repo: &gix::Repository, id: ObjectId) -> Option<Kind> {
    let mut data = Vec::new();
    repo.objects.try_find(&id, &mut data).ok().flatten().map(|found| found.kind)
}

/// An object of any kind, checked against its name.
pub(super) fn read_whole(repo: &gix::Repository, id: ObjectId) -> Result<Object, GitError> {
    let kind = read_any(repo, id).ok_or(GitError::Missing { id })?;
    Ok(Object { id, kind, data: read(repo, id, kind)? })
}

/// Where a loose object lies.
pub(super) fn loose_path(objects: &Path, id: &ObjectId) -> PathBuf {
    let hex = id.to_hex().to_string();
    objects.join(&hex[..2]).join(&hex[2..])
}

/// Writes objects as loose files. When synced, each is on disk before it has its name, and each folder
/// is synced once, after all files.
pub(super) fn write_loose(objects: &Path, list: &[Object], durability: Durability) -> Result<(), GitError> {
    let mut folders = BTreeSet::new();
    let mut made_a_folder = false;
    for object in list {
        let path = loose_path(objects, &object.id);
        let folder = path.parent().expect("a loose object lies in a folder").to_owned();
        match std::fs::create_dir(&folder) {
            Ok(()) => made_a_folder = true,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(GitError::io("make the folder", &folder)(error)),
        }
        let packed = deflate(object).map_err(GitError::io("compress", &path))?;
        disk::replace_file(&path, &folder.join(temporary_name()), &packed, 0o444, durability)
            .map_err(GitError::io("write the object", &path))?;
        folders.insert(folder);
    }
    if durability == Durability::Synced {
        for folder in &folders {
            disk::sync_folder(folder).map_err(GitError::io("sync", folder))?;
        }
        if made_a_folder {
            disk::sync_folder(objects).map_err(GitError::io("sync", objects))?;
        }
    }
    Ok(())
}

/// Reads a loose object file; an error says why it is not the object its name promises.
pub(super) fn read_loose(path: &Path, id: &ObjectId) -> Result<Object, GitError> {
    let damaged = |what: &str| GitError::Damaged { id: *id, what: what.into() };
    let packed = std::fs::read(path).map_err(GitError::io("read", path))?;
    let plain = inflate(&packed).ok_or_else(|| damaged("it is short or not compressed as it should be"))?;
    let end = plain.iter().position(|byte| *byte == 0).ok_or_else(|| damaged("it has no header"))?;
    let header = std::str::from_utf8(&plain[..end]).map_err(|_| damaged("its header is not text"))?;
    let (kind, size) = header.split_once(' ').ok_or_else(|| damaged("its header has no size"))?;
    let kind = Kind::from_bytes(kind.as_bytes()).map_err(|_| damaged("its header names no kind"))?;
    let data = plain[end + 1..].to_vec();
    if size.parse() != Ok(data.len()) {
        return Err(damaged("its size is not what its header says"));
    }
    let object = Object::new(kind, data)?;
    if object.id != *id { Err(damaged("its contents have another hash")) } else { Ok(object) }
}

/// The loose object files below an `objects` folder, in no order.
pub(super) fn list_loose(objects: &Path) -> Result<Vec<(ObjectId, PathBuf)>, GitError> {
    let mut found = Vec::new();
    for_each_loose_file(objects, |id, path| {
        if let Some(id) = id {
            found.push((id, path));
        }
        Ok(())
    })?;
    Ok(found)
}

/// Calls `with` for every file in the fan-out folders; files that are no object have no id.
pub(super) fn for_each_loose_file(
    objects: &Path,
    mut with: impl FnMut(Option<ObjectId>, PathBuf) -> Result<(), GitError>,
) -> Result<(), GitError> {
    for first in 0..=255u8 {
        let prefix = format!("{first:02x}");
        let folder = objects.join(&prefix);
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(GitError::io("list", &folder)(error)),
        };
        for entry in entries {
            let entry = entry.map_err(GitError::io("list", &folder))?;
            let id = entry
                .file_name()
                .to_str()
                .and_then(|rest| ObjectId::from_hex(format!("{prefix}{rest}").as_bytes()).ok());
            with(id, entry.path())?;
        }
    }
    Ok(())
}

/// Names as git's own temporary objects have, so that `git gc` clears what a killed engine left.
fn temporary_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("tmp_obj_overnight_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

fn deflate(object: &Object) -> std::io::Result<Vec<u8>> {
    compress(&[&gix::objs::encode::loose_header(object.kind, object.data.len() as u64), &object.data])
}

/// A zlib stream of these parts, at the level git uses for loose objects.
pub(super) fn compress(parts: &[&[u8]]) -> std::io::Result<Vec<u8>> {
    let mut stream = gix::zlib::stream::deflate::Write::new(Vec::new(), gix::zlib::Compression::BEST_SPEED);
    for part in parts {
        stream.write_all(part)?;
    }
    stream.flush()?;
    Ok(stream.into_inner())
}

/// The whole plain text of a zlib stream that fills `packed` exactly, or `None`.
///
/// It grows with what is really there: a damaged size in a header must not become an allocation.
fn inflate(packed: &[u8]) -> Option<Vec<u8>> {
    use gix::zlib::{Decompress, FlushDecompress, Status};
    let mut state = Decompress::new();
    let mut plain = vec![0; packed.len() * 4 + 64];
    loop {
        let (consumed, written) = (state.total_in() as usize, state.total_out() as usize);
        if written == plain.len() {
            plain.resize(written * 2, 0);
        }
        let status = state.decompress(&packed[consumed..], &mut plain[written..], FlushDecompress::None).ok()?;
        let progress = state.total_in() as usize > consumed || state.total_out() as usize > written;
        match status {
            Status::StreamEnd if state.total_in() as usize == packed.len() => {
                plain.truncate(state.total_out() as usize);
                return Some(plain);
            }
            Status::StreamEnd => return None,
            Status::Ok | Status::BufError if progress => {}
            Status::Ok | Status::BufError => return None,
        }
    }
}
