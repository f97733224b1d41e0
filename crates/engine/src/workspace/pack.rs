//! Packing the store: loose objects into one pack with deltas.
//!
//! A proposal is a small change to a tree of many names, and 20 bytes of each name's entry do not
//! compress: without deltas a pack would be as large as the loose files. gix writes packs without
//! making deltas, so they are made here, in the simplest form that fits: what two objects share at
//! their start and at their end is copied.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use gix::ObjectId;
use gix::objs::Kind;
use gix::odb::pack::data::{self, entry::Header};

use super::delta::delta;
use super::disk;
use super::error::GitError;
use super::object::{self, Object};

/// How many objects of a kind are tried as a delta's base: enough for a surface in several folders.
const WINDOW: usize = 10;
/// How many deltas must be undone at most to read an object.
const MOST_DEPTH: usize = 20;
/// Larger objects go in whole, and are not held in memory for others.
const LARGEST_FOR_DELTA: usize = 8 << 20;

/// A finished pack that nobody reads yet, and the loose objects in it.
pub(super) struct Staged {
    index: PathBuf,
    loose: Vec<(ObjectId, PathBuf)>,
}

/// Writes all loose objects into a pack in a folder of its own, indexed by reading it back, and synced.
/// `None` where there is nothing to pack. Damaged objects stay where they are.
pub(super) fn stage(store: &Path) -> Result<Option<Staged>, GitError> {
    clear_staging(store)?;
    let staging = staging(store);
    std::fs::create_dir_all(&staging).map_err(GitError::io("make the folder", &staging))?;
    let plain = staging.join("plain");
    let loose = write_pack(&plain, in_order_of_age(&store.join("objects"))?)?;
    if loose.is_empty() {
        return Ok(None);
    }
    let mut stream = BufReader::new(File::open(&plain).map_err(GitError::io("read", &plain))?);
    let outcome = gix::odb::pack::Bundle::write_to_directory(
        &mut stream,
        Some(&staging),
        &mut gix::progress::Discard,
        &AtomicBool::new(false),
        None::<gix::objs::find::Never>,
        gix::hash::Kind::Sha1,
        gix::odb::pack::bundle::write::Options { thread_limit: Some(1), ..Default::default() },
    )
    .map_err(GitError::git("index the pack", &plain))?;
    let (Some(index), Some(data)) = (outcome.index_path, outcome.data_path) else {
        return Ok(None);
    };
    for path in [&data, &index] {
        File::open(path).and_then(|file| file.sync_all()).map_err(GitError::io("sync", path))?;
    }
    Ok(Some(Staged { index, loose }))
}

/// Gives the pack its place. Its index comes last: with it, the pack exists for readers.
pub(super) fn publish(store: &Path, staged: &Staged) -> Result<(), GitError> {
    let folder = store.join("objects/pack");
    for from in [staged.index.with_extension("pack"), staged.index.clone()] {
        let to = folder.join(from.file_name().expect("a pack has a name"));
        std::fs::rename(&from, &to).map_err(GitError::io("move the pack to", &to))?;
    }
    disk::sync_folder(&folder).map_err(GitError::io("sync", &folder))
}

/// Removes the loose objects that are in the published pack; returns how many.
pub(super) fn remove_packed(store: &Path, staged: &Staged) -> Result<usize, GitError> {
    let index = store.join("objects/pack").join(staged.index.file_name().expect("an index has a name"));
    let read = gix::odb::pack::index::File::at(&index, gix::hash::Kind::Sha1).map_err(GitError::git("read", &index))?;
    for (id, _) in &staged.loose {
        // The index was made from what the pack gave back: an id in it is an object that was read.
        if read.lookup(id).is_none() {
            return Err(GitError::Missing { id: *id });
        }
    }
    for (_, path) in &staged.loose {
        std::fs::remove_file(path).map_err(GitError::io("remove", path))?;
    }
    clear_staging(store)?;
    Ok(staged.loose.len())
}

/// Removes what an unfinished packing left.
pub(super) fn clear_staging(store: &Path) -> Result<(), GitError> {
    let staging = staging(store);
    match std::fs::remove_dir_all(&staging) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(GitError::io("remove", &staging)(error)),
        _ => Ok(()),
    }
}

fn staging(store: &Path) -> PathBuf {
    store.join("packing")
}

/// Neighbours in time are versions of the same thing, so each finds a good base just before it.
fn in_order_of_age(objects: &Path) -> Result<Vec<(ObjectId, PathBuf)>, GitError> {
    let mut aged = Vec::new();
    for (id, path) in object::list_loose(objects)? {
        let written =
            path.metadata().and_then(|metadata| metadata.modified()).map_err(GitError::io("look at", &path))?;
        aged.push((written, id, path));
    }
    aged.sort();
    Ok(aged.into_iter().map(|(_, id, path)| (id, path)).collect())
}

/// An object that later ones may be made from.
struct Base {
    offset: u64,
    depth: usize,
    data: Vec<u8>,
}

fn write_pack(path: &Path, loose: Vec<(ObjectId, PathBuf)>) -> Result<Vec<(ObjectId, PathBuf)>, GitError> {
    let failed = |error| GitError::io("write the pack", path)(error);
    let file = File::options().read(true).write(true).create_new(true).open(path).map_err(failed)?;
    let mut out = BufWriter::new(file);
    let mut packed = Vec::new();
    let mut windows: HashMap<Kind, VecDeque<Base>> = HashMap::new();
    let mut offset = data::header::SIZE as u64;
    out.write_all(&data::header::encode(data::Version::V2, 0)).map_err(failed)?;
    for (id, path) in loose {
        let object = match object::read_loose(&path, &id) {
            Ok(object) => object,
            Err(GitError::Damaged { .. }) => continue,
            Err(error) => return Err(error),
        };
        let window = windows.entry(object.kind).or_default();
        let entry = entry(&object, offset, window).map_err(failed)?;
        out.write_all(&entry).map_err(failed)?;
        offset += entry.len() as u64;
        packed.push((id, path));
    }
    finish(out, packed.len()).map_err(failed)?;
    Ok(packed)
}

/// One entry of the pack; the object joins its window.
fn entry(object: &Object, offset: u64, window: &mut VecDeque<Base>) -> io::Result<Vec<u8>> {
    let may_be_delta = object.kind != Kind::Commit && object.data.len() <= LARGEST_FOR_DELTA;
    let best = window
        .iter()
        .filter(|base| may_be_delta && base.depth < MOST_DEPTH)
        .map(|base| (delta(&base.data, &object.data), base))
        .min_by_key(|(delta, _)| delta.len())
        .filter(|(delta, _)| delta.len() < object.data.len() / 2);
    let (header, plain, depth) = match &best {
        Some((delta, base)) => {
            (Header::OfsDelta { base_distance: offset - base.offset }, delta.as_slice(), base.depth + 1)
        }
        None => (whole(object.kind), object.data.as_slice(), 0),
    };
    let mut entry = Vec::new();
    header.write_to(plain.len() as u64, &mut entry)?;
    entry.extend(object::compress(&[plain])?);
    if may_be_delta {
        window.push_back(Base { offset, depth, data: object.data.clone() });
        if window.len() > WINDOW {
            window.pop_front();
        }
    }
    Ok(entry)
}

fn whole(kind: Kind) -> Header {
    match kind {
        Kind::Tree => Header::Tree,
        Kind::Blob => Header::Blob,
        Kind::Commit => Header::Commit,
        Kind::Tag => Header::Tag,
    }
}

/// Puts in the count, known only now, and the hash of it all.
fn finish(out: BufWriter<File>, count: usize) -> io::Result<()> {
    let mut file = out.into_inner().map_err(|error| error.into_error())?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&data::header::encode(data::Version::V2, count as u32))?;
    file.seek(SeekFrom::Start(0))?;
    let mut hash = gix::hash::hasher(gix::hash::Kind::Sha1);
    let mut buffer = vec![0; 1 << 17];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
    }
    let hash = hash.try_finalize().map_err(io::Error::other)?;
    file.write_all(hash.as_bytes())
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;
    use std::process::Command;

    use super::super::{CommitPlan, Store, UserRepo};
    use super::*;

    pub(in super::super) fn git(dir: &Path, arguments: &[&str]) {
        let status = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
            .args(arguments)
            .current_dir(dir)
            .envs([("HOME", "/nonexistent"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
            .output()
            .unwrap();
        assert!(status.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&status.stderr));
    }

    /// A store with this many proposals, each with its ref.
    pub(in super::super) fn store_with_proposals(count: u64) -> (tempfile::TempDir, Store, BTreeMap<u64, ObjectId>) {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("user");
        std::fs::create_dir_all(dir.join("deep/er")).unwrap();
        git(&dir, &["init", "-q"]);
        for name in 0..40 {
            std::fs::write(dir.join(format!("file{name}")), format!("{name}\n")).unwrap();
        }
        std::fs::write(dir.join("deep/er/train.py"), "x = 0\n".repeat(100)).unwrap();
        git(&dir, &["add", "."]);
        git(&dir, &["commit", "-qm", "first"]);
        let user = UserRepo::discover(&dir).unwrap();
        let store = Store::open_or_init(&temp.path().join("store.git"), &user).unwrap();
        let mut ids = BTreeMap::new();
        for experiment in 1..=count {
            let plan = CommitPlan {
                parent: user.head().unwrap(),
                files: vec![("deep/er/train.py".into(), contents(experiment))],
                message: format!("experiment {experiment}"),
                at: 1_700_000_000 + experiment as i64,
            };
            let id = store.write(&plan).unwrap();
            store.set_ref(experiment, id).unwrap();
            ids.insert(experiment, id);
        }
        (temp, store, ids)
    }

    fn contents(experiment: u64) -> Vec<u8> {
        "x = 0\n"
            .repeat(50)
            .into_bytes()
            .into_iter()
            .chain(format!("y = {experiment}\n").into_bytes())
            .chain("x = 0\n".repeat(50).into_bytes())
            .collect()
    }

    pub(in super::super) fn all_readable(store: &Store, ids: &BTreeMap<u64, ObjectId>) {
        assert_eq!(&store.refs().unwrap(), ids);
        for (experiment, id) in ids {
            assert!(store.whole(*id, &["deep/er/train.py".into()]), "experiment {experiment}");
            assert_eq!(store.read(*id, "deep/er/train.py").unwrap(), contents(*experiment));
        }
    }

    #[test]
    fn packing_survives_a_kill_after_each_stage() {
        let (temp, store, ids) = store_with_proposals(60);
        let dir = temp.path().join("store.git");
        let user = UserRepo::discover(&temp.path().join("user")).unwrap();
        let again = || Store::open_or_init(&dir, &user).unwrap();

        stage(&dir).unwrap().unwrap();
        all_readable(&again(), &ids);
        assert!(!staging(&dir).exists(), "an unfinished packing is cleared when the store is opened");

        let staged = stage(&dir).unwrap().unwrap();
        let index = staged.index.file_name().unwrap().to_owned();
        let data = staged.index.with_extension("pack");
        std::fs::rename(&data, dir.join("objects/pack").join(data.file_name().unwrap())).unwrap();
        all_readable(&again(), &ids);

        // The same loose objects give the same pack, so its name may be taken already.
        let staged = stage(&dir).unwrap().unwrap();
        assert_eq!(staged.index.file_name().unwrap(), index);
        publish(&dir, &staged).unwrap();
        all_readable(&again(), &ids);

        let staged = stage(&dir).unwrap().unwrap();
        publish(&dir, &staged).unwrap();
        for (_, path) in staged.loose.iter().take(40) {
            std::fs::remove_file(path).unwrap();
        }
        all_readable(&again(), &ids);
        all_readable(&store, &ids);

        let store = again();
        store.pack().unwrap();
        assert_eq!(store.loose(), 0);
        all_readable(&store, &ids);
        git(&dir, &["fsck", "--strict", "--full"]);
        all_readable(&again(), &ids);
    }

    #[test]
    fn a_pack_of_proposals_is_far_smaller_than_the_loose_files() {
        let (temp, store, ids) = store_with_proposals(200);
        let dir = temp.path().join("store.git");
        let loose: u64 = object::list_loose(&dir.join("objects"))
            .unwrap()
            .iter()
            .map(|(_, path)| path.metadata().unwrap().len())
            .sum();
        store.pack().unwrap();
        let packed: u64 = std::fs::read_dir(dir.join("objects/pack"))
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert!(packed * 2 < loose, "{packed} of {loose} bytes");
        all_readable(&store, &ids);
    }

    #[test]
    fn a_damaged_object_is_not_packed_and_not_removed() {
        let (temp, store, _) = store_with_proposals(3);
        let dir = temp.path().join("store.git");
        let (_, path) = object::list_loose(&dir.join("objects")).unwrap().pop().unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, b"").unwrap();
        store.pack().unwrap();
        assert!(path.exists());
        assert_eq!(store.sweep().unwrap(), 1);
    }
}
