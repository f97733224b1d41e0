//! Taking proposals out of the store for good.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::objs::Kind;

use super::disk::{self, Durability};
use super::error::GitError;
use super::object;
use super::store::Store;
use super::tree;

impl Store {
    /// Erases the refs of experiments, and of each commit itself, the files named and the folders above them.
    ///
    /// Nobody else may have these files: then nothing that is left needs any of these objects. Whatever it is killed in,
    /// the same call again goes on from there.
    pub fn erase(&self, experiments: &[u64], commits: &[(ObjectId, Vec<String>)]) -> Result<(), GitError> {
        let mut doomed = BTreeSet::new();
        for (commit, paths) in commits {
            for path in paths {
                doomed.extend(tree::along(&self.local(), *commit, path));
            }
        }
        let objects = self.objects_dir();
        // A file first and what leads to it last, so that it is found again after a kill.
        let mut in_order: Vec<ObjectId> = doomed.iter().copied().collect();
        in_order.sort_by_key(|id| match object::read_any(&self.local(), *id) {
            Some(Kind::Blob) => 0,
            Some(Kind::Tree) => 1,
            _ => 2,
        });
        self.unpack(&doomed)?;
        for id in in_order {
            let path = object::loose_path(&objects, &id);
            if path.exists() {
                overwrite(&path).map_err(GitError::io("erase", &path))?;
            }
        }
        self.remove_refs(experiments)?;
        self.reopen()
    }

    /// Takes packs apart that hold one of these: everything else in them goes into a new one, which is synced before the old
    /// one is erased.
    fn unpack(&self, doomed: &BTreeSet<ObjectId>) -> Result<(), GitError> {
        let folder = self.objects_dir().join("pack");
        clear_orphans(&folder)?;
        let mut old = Vec::new();
        for index in of_kind(&folder, "idx")? {
            let read = gix::odb::pack::index::File::at(&index, gix::hash::Kind::Sha1)
                .map_err(GitError::git("read", &index))?;
            if !doomed.iter().any(|id| read.lookup(id).is_some()) {
                continue;
            }
            let others: Vec<ObjectId> = read.iter().map(|entry| entry.oid).filter(|id| !doomed.contains(id)).collect();
            for id in others {
                let found = object::read_whole(&self.local(), id)?;
                object::write_loose(&self.objects_dir(), &[found], Durability::Cached)?;
            }
            old.push(index);
        }
        if old.is_empty() {
            return Ok(());
        }
        for id in doomed {
            let path = object::loose_path(&self.objects_dir(), id);
            if path.exists() {
                overwrite(&path).map_err(GitError::io("erase", &path))?;
            }
        }
        self.pack()?;
        for index in old {
            // Without its index a pack is nobody's: see `clear_orphans`.
            for path in ["idx", "pack", "rev"].map(|end| index.with_extension(end)) {
                match overwrite(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(GitError::io("erase", &path)(error));
                    }
                    _ => {}
                }
            }
        }
        disk::sync_folder(&folder).map_err(GitError::io("sync", &folder))?;
        self.reopen()
    }
}

/// Overwrites a file with zeros, and removes it.
pub fn overwrite(path: &Path) -> io::Result<()> {
    let length = fs::symlink_metadata(path)?.len();
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    let mut file = OpenOptions::new().write(true).open(path)?;
    let zeros = vec![0; 1 << 16];
    let mut left = length;
    while left > 0 {
        let now = left.min(zeros.len() as u64);
        file.write_all(&zeros[..now as usize])?;
        left -= now;
    }
    file.sync_all()?;
    fs::remove_file(path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Erases packs that no index leads to: nobody reads them, and one may have been left by whoever erased it.
fn clear_orphans(folder: &Path) -> Result<(), GitError> {
    for path in of_kind(folder, "pack")? {
        if !path.with_extension("idx").exists() {
            overwrite(&path).map_err(GitError::io("erase", &path))?;
        }
    }
    Ok(())
}

fn of_kind(folder: &Path, kind: &str) -> Result<Vec<PathBuf>, GitError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(GitError::io("list", folder))? {
        let path = entry.map_err(GitError::io("list", folder))?.path();
        found.extend(path.extension().is_some_and(|end| end == kind).then_some(path));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::pack;
    use super::*;

    const FILE: &str = "deep/er/train.py";

    #[test]
    fn what_is_erased_is_in_no_object_and_the_others_are_whole() {
        for is_packed in [false, true] {
            let (temp, store, mut ids) = pack::tests::store_with_proposals(40);
            if is_packed {
                store.pack().unwrap();
            }
            let blob = tree::blob_at(&store.local(), ids[&7], FILE).unwrap();
            store.erase(&[7], &[(ids[&7], vec![FILE.to_owned()])]).unwrap();
            assert!(object::read_any(&store.local(), blob).is_none() && !store.whole(ids[&7], &[FILE.to_owned()]));
            ids.remove(&7);
            pack::tests::all_readable(&store, &ids);
            pack::tests::git(&temp.path().join("store.git"), &["fsck", "--strict", "--full"]);
        }
    }

    /// Killed after the new pack was made, and before the old one was removed; and killed between two objects.
    #[test]
    fn erasing_goes_on_where_it_was_killed() {
        let (temp, store, mut ids) = pack::tests::store_with_proposals(20);
        store.pack().unwrap();
        let folder = temp.path().join("store.git/objects/pack");
        let old: Vec<(PathBuf, Vec<u8>)> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect();
        let doomed = [(ids[&3], vec![FILE.to_owned()])];
        let along = tree::along(&store.local(), ids[&3], FILE);
        store.erase(&[3], &doomed).unwrap();
        for (path, bytes) in old {
            fs::write(path, bytes).unwrap();
        }
        let again = Store::open(&temp.path().join("store.git")).unwrap();
        again.erase(&[3], &doomed).unwrap();
        assert!(along.iter().all(|id| object::read_any(&again.local(), *id).is_none()));
        ids.remove(&3);
        pack::tests::all_readable(&again, &ids);
        // The file is gone, and what leads to it is not.
        let orphan = folder.join("pack-0123456789012345678901234567890123456789.pack");
        fs::write(&orphan, "killed before this one was erased").unwrap();
        let blob = tree::blob_at(&again.local(), ids[&5], FILE).unwrap();
        again.unpack(&BTreeSet::from([blob])).unwrap();
        again.erase(&[5], &[(ids[&5], vec![FILE.to_owned()])]).unwrap();
        ids.remove(&5);
        assert!(!orphan.exists());
        pack::tests::all_readable(&again, &ids);
        pack::tests::git(&temp.path().join("store.git"), &["fsck", "--strict", "--full"]);
    }
}
