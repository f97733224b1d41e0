//! A working copy that many trials use one after another.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::objs::{CommitRefIter, Kind};
use rustix::fs::Mode;
use rustix::io::Errno;

use super::error::GitError;
use super::make::Making;
use super::object;
use super::pristine::{self, Folder, Node, Sources, TrackedFile};
use super::remove::{open_folder, open_folder_by_force, remove};
use super::user::UserRepo;
use super::visit::Visit;

/// A commit's tree in a folder of the engine's own.
///
/// Between trials nothing may be alive that writes here. A second engine that opens the folder lays it
/// out again: what is remembered about the files is only in this value.
pub struct Copy {
    pub(super) root: PathBuf,
    tree: Folder,
    sources: Vec<gix::ThreadSafeRepository>,
    making: Making,
    /// The kernel's clock at the end of the last reset. A file whose ctime is not older may be changed
    /// once more within the same tick, and is looked into.
    settled: (i64, u64),
}

/// What was found in a copy that does not belong there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Tracked files outside the surface that were changed, replaced or removed; sorted.
    pub changed: Vec<PathBuf>,
    /// How many files and folders are not in the tree.
    pub extra: usize,
    /// The outermost of these, the first [`Changes::NAMED`] of them.
    pub extra_named: Vec<PathBuf>,
}

impl Changes {
    /// Enough to tell an agent what it left behind.
    pub const NAMED: usize = 20;

    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.extra == 0
    }

    pub(super) fn found_extra(&mut self, path: PathBuf, count: usize) {
        self.extra += count;
        if self.extra_named.len() < Changes::NAMED {
            self.extra_named.push(path);
        }
    }
}

impl Copy {
    /// Empties `dir`, whatever it holds, and lays the tree of a commit out in it.
    ///
    /// LFS files come from the checkout where they match their pointer, submodules from their own object
    /// databases where they are initialised; the others stay what they are in such a checkout, a pointer
    /// and an empty folder.
    pub fn lay_out(dir: &Path, user: &UserRepo, commit: ObjectId) -> Result<Copy, GitError> {
        Copy::lay_out_without(dir, user, commit, &[])
    }

    /// The same, without some of its files: for whoever runs here they do not exist, and one that is made in such a
    /// place is taken away like any other litter. Their folders stay.
    pub fn lay_out_without(
        dir: &Path,
        user: &UserRepo,
        commit: ObjectId,
        left_out: &[String],
    ) -> Result<Copy, GitError> {
        let data = object::read(&user.local(), commit, Kind::Commit)?;
        let committed = CommitRefIter::from_bytes(&data, commit.kind()).committer().and_then(|who| who.time());
        let mtime = committed.map_err(|error| GitError::Damaged { id: commit, what: error.to_string() })?.seconds;
        let (mut tree, sources) = pristine::expected(user.shared(), user.workdir(), commit)?;
        for path in left_out {
            tree.leave_out(Path::new(path));
        }

        let (above, name) = match (dir.parent(), dir.file_name()) {
            (Some(above), Some(name)) => (above, name),
            _ => {
                return Err(GitError::io("lay out a tree in", dir)(io::ErrorKind::InvalidInput.into()));
            }
        };
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        std::fs::create_dir_all(above).map_err(GitError::io("make the folder", above))?;
        let above = above.canonicalize().map_err(GitError::io("find the folder", above))?;
        let root = above.join(name);
        let above = open_root(&above)?;
        match remove(above.as_fd(), name) {
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => return Err(GitError::io("empty", &root)(error.into())),
        }
        rustix::fs::mkdirat(&above, name, Mode::RWXU).map_err(|error| GitError::io("make", &root)(error.into()))?;
        let making = Making { mtime, owner: None };
        let mut copy = Copy { root, tree, sources, making, settled: (0, 0) };
        copy.tidy(&BTreeMap::new(), false)?;
        Ok(copy)
    }

    /// Gives all files to the user that trials run as, now and whenever they are made again.
    pub fn give_to(&mut self, user: u32, group: u32) -> Result<(), GitError> {
        self.making.owner = Some((user, group));
        self.tree = forget(std::mem::take(&mut self.tree));
        self.tidy(&BTreeMap::new(), false).map(drop)
    }

    /// Makes the copy pristine and puts the surface in. Returns what had been changed.
    pub fn reset(&mut self, surface: &[(String, Vec<u8>)]) -> Result<Changes, GitError> {
        let surface: BTreeMap<&Path, &[u8]> =
            surface.iter().map(|(path, contents)| (Path::new(path), contents.as_slice())).collect();
        for path in surface.keys() {
            if !self.tree.find(path).is_some_and(TrackedFile::is_regular) {
                return Err(GitError::NotInTheTree { path: path.display().to_string() });
            }
        }
        self.tidy(&surface, false)
    }

    /// Makes all but these surface files pristine, so that [`Copy::put`] is all that the next trial needs.
    pub fn restore(&mut self, surface: &[String]) -> Result<Changes, GitError> {
        self.tidy(&surface.iter().map(|path| (Path::new(path), &[][..])).collect(), true)
    }

    /// Puts the surface into a copy that nothing has touched since it was restored: no walk through the whole tree.
    pub fn put(&mut self, surface: &[(String, Vec<u8>)]) -> Result<(), GitError> {
        let root = open_root(&self.root)?;
        for (path, contents) in surface {
            let failed = |error: io::Error| GitError::io("write", self.root.join(path))(error);
            let missing = || GitError::NotInTheTree { path: path.clone() };
            self.tree
                .put_surface(root.as_fd(), Path::new(path), contents, self.making)
                .map_err(failed)?
                .ok_or_else(missing)?;
        }
        Ok(())
    }

    /// What was changed since the last reset, apart from these surface files. Nothing is restored.
    pub fn changes(&self, surface: &[String]) -> Result<Changes, GitError> {
        let surface = surface.iter().map(|path| (Path::new(path), &[][..])).collect();
        let mut changes = Changes::default();
        let visit = Visit { root: &self.root, surface: &surface, settled: self.settled, leaves_surface: true };
        let root = open_root(&self.root)?;
        visit.look(root.as_fd(), &self.tree, Path::new(""), &mut changes)?;
        changes.changed.sort();
        Ok(changes)
    }

    /// The folder itself, not what its name may lead to later.
    pub fn open(&self) -> Result<OwnedFd, Errno> {
        open_folder(rustix::fs::CWD, self.root.as_os_str())
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    fn tidy(&mut self, surface: &BTreeMap<&Path, &[u8]>, leaves_surface: bool) -> Result<Changes, GitError> {
        let mut changes = Changes::default();
        let root = open_root(&self.root)?;
        let visit = Visit { root: &self.root, surface, settled: self.settled, leaves_surface };
        let sources = Sources::open(&self.sources);
        visit.tidy(root.as_fd(), &mut self.tree, Path::new(""), &sources, self.making, &mut changes)?;
        let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        self.settled = (now.tv_sec, now.tv_nsec as u64);
        changes.changed.sort();
        Ok(changes)
    }
}

fn open_root(root: &Path) -> Result<OwnedFd, GitError> {
    let above = rustix::fs::CWD;
    open_folder_by_force(above, root.as_os_str()).map_err(|error| GitError::io("open", root)(error.into()))
}

/// The same tree with nothing remembered, so that everything is made again.
fn forget(mut folder: Folder) -> Folder {
    folder.seen = None;
    for node in folder.nodes.values_mut() {
        match node {
            Node::Folder(inner) => *inner = forget(std::mem::take(inner)),
            Node::File(file) => file.seen = None,
        }
    }
    folder
}
