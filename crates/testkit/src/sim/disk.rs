//! What a crash leaves on the disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::random::Random;

/// Below this, a write reaches the disk whole or not at all.
const SECTOR: usize = 512;

/// The ledger's files at one moment.
#[derive(Debug, Clone)]
pub struct Image {
    db: Vec<u8>,
    log: Vec<u8>,
    blobs: BTreeMap<PathBuf, u64>,
    /// Letters are removed after the append that takes them up: where that is undone, they are there.
    letters: BTreeMap<PathBuf, Vec<u8>>,
}

impl Image {
    pub fn take(state: &Path) -> Image {
        let read = |name: &str| fs::read(state.join(name)).unwrap_or_default();
        Image { db: read("ledger.db"), log: read("ledger.db-wal"), blobs: blob_files(state), letters: letters(state) }
    }

    /// Puts the files back as they were, whatever closing the database made of them.
    pub fn restore(&self, state: &Path) {
        let put = |name: &str, bytes: &[u8]| fs::write(state.join(name), bytes).expect("write the image");
        for (path, letter) in &self.letters {
            fs::write(path, letter).expect("put a letter back");
        }
        let _ = fs::remove_file(state.join("ledger.db-shm"));
        let _ = fs::remove_file(state.join("ledger.db-wal"));
        if self.db.is_empty() && !state.join("ledger.db").exists() {
            return;
        }
        put("ledger.db", &self.db);
        if !self.log.is_empty() {
            put("ledger.db-wal", &self.log);
        }
    }

    /// What a power loss in the middle of the append between `before` and `self` may leave.
    ///
    /// The log is written first, in any order of sectors, and synced; only then may a checkpoint touch the database.
    pub fn torn(&self, before: &Image, random: &mut Random) -> Image {
        if self.db != before.db && random.one_in(2) {
            // In the middle of a checkpoint: the log is whole, the database half old, half new.
            let db = mixed(&before.db, &self.db, random, false);
            return Image { db, log: self.log.clone(), blobs: before.blobs.clone(), letters: before.letters.clone() };
        }
        let in_order = random.one_in(2);
        let log = mixed(&before.log, &self.log, random, in_order);
        Image { db: before.db.clone(), log, blobs: before.blobs.clone(), letters: before.letters.clone() }
    }

    /// Tears what the unfinished append wrote beside the database.
    pub fn tear_new_blobs(&self, state: &Path, random: &mut Random) {
        for (path, length) in blob_files(state) {
            if self.blobs.contains_key(&path) {
                continue;
            }
            match random.below(4) {
                0 => fs::remove_file(&path).expect("remove the blob"),
                1 => truncate(&path, random.below(length.max(1))),
                2 => fs::write(path.with_extension("new"), b"half").expect("write beside the blob"),
                _ => {}
            }
        }
    }
}

/// Some sectors of `new` over `old`: the first ones, or any.
fn mixed(old: &[u8], new: &[u8], random: &mut Random, in_order: bool) -> Vec<u8> {
    let first = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let cut = first + random.below((new.len() - first.min(new.len())) as u64 + 1) as usize;
    let share = random.below(5);
    let mut mixed = old.to_vec();
    for start in (0..new.len()).step_by(SECTOR) {
        let end = (start + SECTOR).min(new.len());
        let end = if in_order { end.min(cut) } else { end };
        if end <= start || (!in_order && random.below(5) >= share) {
            continue;
        }
        if mixed.len() < end {
            mixed.resize(end, 0);
        }
        mixed[start..end].copy_from_slice(&new[start..end]);
    }
    mixed
}

/// Takes from the store what no sync has promised: objects and refs come back short, empty, wrong or not at all.
pub fn tear_store(store: &Path, random: &mut Random) {
    let one_in = *random.pick(&[2, 6, 40]);
    for path in files_below(&store.join("objects")) {
        let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
        if folder.len() == 2 && random.one_in(one_in) {
            tear(&path, random);
        }
    }
    for path in files_below(&store.join("refs/overnight")) {
        if random.one_in(one_in) {
            tear_ref(&path, random);
        }
    }
    for name in ["config", "HEAD", "objects/info/alternates"] {
        let path = store.join(name);
        if random.one_in(30) && path.exists() {
            truncate(&path, 0);
        }
    }
}

/// Takes some objects and refs from the store altogether.
pub fn vanish(store: &Path, random: &mut Random) {
    for path in files_below(&store.join("objects")).into_iter().chain(files_below(&store.join("refs/overnight"))) {
        let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
        if (folder.len() == 2 || folder == "overnight") && random.one_in(8) {
            fs::remove_file(&path).expect("remove the file");
        }
    }
}

/// Tears some of the objects that appeared in a folder since `before`.
pub fn tear_new_objects(objects: &Path, before: &[PathBuf], random: &mut Random) {
    for path in files_below(objects) {
        if !before.contains(&path) && random.one_in(2) {
            tear(&path, random);
        }
    }
}

/// Every file below a folder, in order.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                _ => found.push(entry.path()),
            }
        }
    }
    found.sort();
    found
}

fn tear(path: &Path, random: &mut Random) {
    let length = fs::metadata(path).map_or(0, |meta| meta.len());
    match random.below(4) {
        0 => truncate(path, 0),
        1 => truncate(path, random.below(length.max(1))),
        2 => replace(path, &vec![0; length as usize]),
        _ => fs::remove_file(path).expect("remove the object"),
    }
}

fn tear_ref(path: &Path, random: &mut Random) {
    match random.below(3) {
        0 => truncate(path, 0),
        1 => replace(path, &[0; 41]),
        _ => fs::remove_file(path).expect("remove the ref"),
    }
}

fn truncate(path: &Path, length: u64) {
    let bytes = fs::read(path).expect("read the file");
    replace(path, &bytes[..(length as usize).min(bytes.len())]);
}

/// Objects are read-only files, so they are made anew.
fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).expect("remove the file");
    fs::write(path, bytes).expect("write the file");
}

fn letters(state: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(state.join("inbox")).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.path(), fs::read(entry.path()).ok()?))).collect()
}

fn blob_files(state: &Path) -> BTreeMap<PathBuf, u64> {
    let files = files_below(&state.join("blobs")).into_iter();
    files.map(|path| (path.clone(), fs::metadata(&path).map_or(0, |meta| meta.len()))).collect()
}
