//! The engine's own repository, where every proposal lives.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use gix::ObjectId;
use gix::objs::Kind;
use gix::sec::Trust;

use super::disk::{self, Durability};
use super::error::GitError;
use super::fresh::NewFile;
use super::object;
use super::pack;
use super::plan::CommitPlan;
use super::refs::{Loose, Refs, parse_loose};
use super::tree;
use super::user::{self, UserRepo};

/// A bare repository that borrows the user's objects, holding one ref for each experiment.
///
/// What is written here is not synced: the ledger can make every proposal again, bit for bit. Packing
/// is the exception, since it removes what it packed.
pub struct Store {
    dir: PathBuf,
    /// Opened again after packing: gix has room for a limited number of new packs.
    repo: RwLock<gix::ThreadSafeRepository>,
    loose: AtomicUsize,
    /// A ref set while refs are packed would be removed with the older loose one.
    refs: Mutex<()>,
}

const CONFIG: &[u8] =
    b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";
const HEAD: &[u8] = b"ref: refs/heads/none\n";
const EXPERIMENTS: &str = "refs/overnight";

impl Store {
    /// Opens the store, or makes it. One that was left half made is finished, and one whose user's
    /// repository has moved is pointed to it again.
    pub fn open_or_init(dir: &Path, user: &UserRepo) -> Result<Store, GitError> {
        let make = || -> std::io::Result<()> {
            std::fs::create_dir_all(dir.join("objects/info"))?;
            std::fs::create_dir_all(dir.join("objects/pack"))?;
            std::fs::create_dir_all(dir.join("refs/heads"))?;
            std::fs::create_dir_all(dir.join(EXPERIMENTS))?;
            keep_as(&dir.join("objects/info/alternates"), &alternates(&user.objects_dir()))?;
            keep_as(&dir.join("config"), CONFIG)?;
            keep_as(&dir.join("HEAD"), HEAD)
        };
        make().map_err(GitError::io("make the store", dir))?;
        let store = Store::open(dir)?;
        pack::clear_staging(&store.dir)?;
        Ok(store)
    }

    /// Opens the store for looking at it: nothing is made, mended or cleared, so an engine may be at work in it.
    pub fn open(dir: &Path) -> Result<Store, GitError> {
        let dir = dir.canonicalize().map_err(GitError::io("find the folder", dir))?;
        let loose = object::list_loose(&dir.join("objects"))?.len();
        Ok(Store { repo: RwLock::new(open(&dir)?), dir, loose: loose.into(), refs: Mutex::new(()) })
    }

    /// Writes a proposal's objects. They are written even where they exist, so that a short one left by
    /// a crash is made whole, and one that the user's repository may drop is our own.
    pub fn write(&self, plan: &CommitPlan) -> Result<ObjectId, GitError> {
        let objects = plan.objects(&self.local())?;
        object::write_loose(&self.objects_dir(), &objects, Durability::Cached)?;
        self.loose.fetch_add(objects.len(), Ordering::Relaxed);
        Ok(objects.last().expect("a plan ends with its commit").id)
    }

    /// The user's working tree as a commit of the store's own; the user's repository gets nothing of it.
    pub fn take_worktree(&self, user: &UserRepo, at: i64) -> Result<ObjectId, GitError> {
        self.take_worktree_with(user, &[], at)
    }

    /// The same with files in it that the working tree does not have.
    pub fn take_worktree_with(&self, user: &UserRepo, new: &[NewFile], at: i64) -> Result<ObjectId, GitError> {
        let (commit, objects) = user.snapshot_objects("overnight: the working tree", new, at)?;
        object::write_loose(&self.objects_dir(), &objects, Durability::Cached)?;
        Ok(commit)
    }

    /// The user's repository, with this store's objects beside its own: for reading commits of either.
    pub fn beside(&self, user: &UserRepo) -> UserRepo {
        user.reading(self.repo.read().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// The commit that a plan makes, without making it.
    pub fn id_of(&self, plan: &CommitPlan) -> Result<ObjectId, GitError> {
        let objects = plan.objects(&self.local())?;
        Ok(objects.last().expect("a plan ends with its commit").id)
    }

    /// Points `refs/overnight/<experiment>` to a proposal, whatever it pointed to.
    pub fn set_ref(&self, experiment: u64, commit: ObjectId) -> Result<(), GitError> {
        let _guard = self.refs.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.experiments().join(experiment.to_string());
        let temporary = path.with_extension("lock");
        disk::replace_file(&path, &temporary, format!("{commit}\n").as_bytes(), 0o644, Durability::Cached)
            .map_err(GitError::io("write the ref", &path))
    }

    /// Every experiment's proposal. A ref that a power loss tore is left out: the ledger knows it.
    pub fn refs(&self) -> Result<BTreeMap<u64, ObjectId>, GitError> {
        let _guard = self.refs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut refs = self.packed_refs()?;
        for (experiment, _, loose) in self.loose_refs()? {
            if let Loose::Id(id) = loose {
                refs.insert(experiment, id);
            }
        }
        Ok(refs)
    }

    /// Whether a commit, the trees along these paths and their blobs can be read and hash to their names.
    pub fn whole(&self, commit: ObjectId, paths: &[String]) -> bool {
        let repo = self.local();
        tree::of_commit(&repo, commit).and_then(|root| object::read(&repo, root, Kind::Tree)).is_ok()
            && paths.iter().all(|path| read_at(&repo, commit, path).is_ok())
    }

    /// A file of a proposal.
    pub fn read(&self, commit: ObjectId, path: &str) -> Result<Vec<u8>, GitError> {
        read_at(&self.local(), commit, path)
    }

    /// Removes what a crash left: loose objects that are not what their name says, torn refs, and
    /// temporary files. Returns how many objects were removed.
    pub fn sweep(&self) -> Result<usize, GitError> {
        let _guard = self.refs.lock().unwrap_or_else(PoisonError::into_inner);
        let remove = |path: &Path| std::fs::remove_file(path).map_err(GitError::io("remove", path));
        let mut removed = 0;
        object::for_each_loose_file(&self.objects_dir(), |id, path| match id {
            None => remove(&path),
            Some(id) => match object::read_loose(&path, &id) {
                Ok(_) => Ok(()),
                Err(GitError::Damaged { .. }) => {
                    removed += 1;
                    remove(&path)
                }
                Err(error) => Err(error),
            },
        })?;
        for (_, path, loose) in self.loose_refs()? {
            if loose == Loose::Torn {
                remove(&path)?;
            }
        }
        pack::clear_staging(&self.dir)?;
        self.loose.fetch_sub(removed.min(self.loose()), Ordering::Relaxed);
        Ok(removed)
    }

    /// How many loose objects there are; one that was written twice counts twice.
    pub fn loose(&self) -> usize {
        self.loose.load(Ordering::Relaxed)
    }

    /// Moves all loose objects into a pack and all loose refs into `packed-refs`. The packed form is
    /// synced and read back before anything is removed, so a kill at any point loses nothing.
    pub fn pack(&self) -> Result<(), GitError> {
        let staged = pack::stage(&self.dir)?;
        if let Some(staged) = staged {
            let count = pack::publish(&self.dir, &staged).and_then(|()| pack::remove_packed(&self.dir, &staged))?;
            self.loose.fetch_sub(count.min(self.loose()), Ordering::Relaxed);
        }
        let packed = self.write_packed_refs()?;
        self.remove_loose_refs(packed)?;
        self.reopen()
    }

    /// Writes all refs into `packed-refs`, synced; the loose ones are still there.
    fn write_packed_refs(&self) -> Result<Vec<(PathBuf, ObjectId)>, GitError> {
        let _guard = self.refs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.packed_refs()?;
        let mut loose_refs = Vec::new();
        for (experiment, path, loose) in self.loose_refs()? {
            if let Loose::Id(id) = loose {
                all.insert(experiment, id);
                loose_refs.push((path, id));
            }
        }
        self.write_refs(all)?;
        Ok(loose_refs)
    }

    /// `packed-refs` with these refs and no others.
    fn write_refs(&self, all: BTreeMap<u64, ObjectId>) -> Result<(), GitError> {
        // git searches this file by name, as text.
        let by_name: BTreeMap<String, ObjectId> =
            all.into_iter().map(|(experiment, id)| (format!("{EXPERIMENTS}/{experiment}"), id)).collect();
        let mut text = String::from("# pack-refs with: peeled fully-peeled sorted \n");
        for (name, id) in by_name {
            text += &format!("{id} {name}\n");
        }
        let path = self.dir.join("packed-refs");
        disk::replace_file(&path, &self.dir.join("packed-refs.lock"), text.as_bytes(), 0o644, Durability::Synced)
            .and_then(|()| disk::sync_folder(&self.dir))
            .map_err(GitError::io("write", &path))
    }

    /// Removes the refs of experiments, packed or not.
    pub(super) fn remove_refs(&self, experiments: &[u64]) -> Result<(), GitError> {
        // Packed first, so that one that is left in the old file is not found again behind the loose one.
        let packed = self.packed_refs()?;
        if experiments.iter().any(|experiment| packed.contains_key(experiment)) {
            self.write_refs(packed.into_iter().filter(|(experiment, _)| !experiments.contains(experiment)).collect())?;
        }
        let _guard = self.refs.lock().unwrap_or_else(PoisonError::into_inner);
        for path in experiments.iter().map(|experiment| self.experiments().join(experiment.to_string())) {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(GitError::io("remove", &path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads the packs that are there now.
    pub(super) fn reopen(&self) -> Result<(), GitError> {
        *self.repo.write().unwrap_or_else(PoisonError::into_inner) = open(&self.dir)?;
        Ok(())
    }

    fn remove_loose_refs(&self, packed: Vec<(PathBuf, ObjectId)>) -> Result<(), GitError> {
        let _guard = self.refs.lock().unwrap_or_else(PoisonError::into_inner);
        for (path, id) in packed {
            let text = std::fs::read(&path).map_err(GitError::io("read", &path))?;
            if parse_loose(&text) == Some(Loose::Id(id)) {
                std::fs::remove_file(&path).map_err(GitError::io("remove", &path))?;
            }
        }
        Ok(())
    }

    fn packed_refs(&self) -> Result<BTreeMap<u64, ObjectId>, GitError> {
        let packed = Refs { dir: &self.dir }.packed()?;
        let prefix = format!("{EXPERIMENTS}/");
        let experiment = |name: &[u8]| std::str::from_utf8(name).ok()?.strip_prefix(&prefix)?.parse().ok();
        Ok(packed.iter().filter_map(|(name, id)| Some((experiment(name)?, id))).collect())
    }

    fn loose_refs(&self) -> Result<Vec<(u64, PathBuf, Loose)>, GitError> {
        let folder = self.experiments();
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(GitError::io("list", &folder))? {
            let entry = entry.map_err(GitError::io("list", &folder))?;
            let Some(experiment) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let text = std::fs::read(entry.path()).map_err(GitError::io("read", entry.path()))?;
            // Half a line is as lost as none.
            found.push((experiment, entry.path(), parse_loose(&text).unwrap_or(Loose::Torn)));
        }
        Ok(found)
    }

    fn experiments(&self) -> PathBuf {
        self.dir.join(EXPERIMENTS)
    }

    pub(super) fn objects_dir(&self) -> PathBuf {
        self.dir.join("objects")
    }

    pub(super) fn local(&self) -> gix::Repository {
        user::local(&self.repo.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn read_at(repo: &gix::Repository, commit: ObjectId, path: &str) -> Result<Vec<u8>, GitError> {
    object::read(repo, tree::blob_at(repo, commit, path)?, Kind::Blob)
}

fn open(dir: &Path) -> Result<gix::ThreadSafeRepository, GitError> {
    let options = gix::open::Options::isolated().with(Trust::Full).open_path_as_is(true);
    options.open(dir).map_err(GitError::git("open the store", dir))
}

/// Writes a file that is missing, torn or out of date.
fn keep_as(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    if disk::read_if_there(path)?.as_deref() == Some(contents) {
        return Ok(());
    }
    disk::replace_file(path, &path.with_extension("new"), contents, 0o644, Durability::Cached)
}

/// A line of git's alternates file, quoted where git would take the path for something else.
fn alternates(objects: &Path) -> Vec<u8> {
    let path = objects.as_os_str().as_bytes();
    let mut line = Vec::new();
    if path.contains(&b'\n') || path.contains(&b'"') {
        line.push(b'"');
        for byte in path {
            match byte {
                b'\n' => line.extend_from_slice(b"\\n"),
                b'"' | b'\\' => line.extend_from_slice(&[b'\\', *byte]),
                _ => line.push(*byte),
            }
        }
        line.push(b'"');
    } else {
        line.extend_from_slice(path);
    }
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_refs_survives_a_kill_after_each_stage() {
        let (_temp, store, ids) = pack::tests::store_with_proposals(30);
        let packed = store.write_packed_refs().unwrap();
        assert_eq!(store.refs().unwrap().len(), ids.len(), "killed before the loose refs are removed");
        // Moved while it was being packed: the loose one must stay.
        store.set_ref(3, ids[&7]).unwrap();
        store.remove_loose_refs(packed).unwrap();
        let mut expected = ids.clone();
        expected.insert(3, ids[&7]);
        assert_eq!(store.refs().unwrap(), expected);
        assert_eq!(store.loose_refs().unwrap().len(), 1);
        store.pack().unwrap();
        assert_eq!(store.loose_refs().unwrap().len(), 0);
        assert_eq!(store.refs().unwrap(), expected);
    }

    #[test]
    fn a_torn_ref_is_left_out_and_swept() {
        let (_temp, store, ids) = pack::tests::store_with_proposals(3);
        std::fs::write(store.experiments().join("2"), b"").unwrap();
        std::fs::write(store.experiments().join("9"), [0; 41]).unwrap();
        let mut expected = ids.clone();
        expected.remove(&2);
        assert_eq!(store.refs().unwrap(), expected);
        store.sweep().unwrap();
        assert!(!store.experiments().join("2").exists());
        assert_eq!(store.refs().unwrap(), expected);
    }
}
