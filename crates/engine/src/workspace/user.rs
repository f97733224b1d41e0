//! The user's repository.

use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::sec::Trust;

use super::disk::{self, Durability};
use super::error::GitError;
use super::tree::{self, TreeFile};

/// The user's repository: read freely, and written only where a study must leave something in it.
///
/// Written are the objects and refs of [`UserRepo::write_kept`], [`UserRepo::advance`],
/// [`UserRepo::set_baseline_ref`], [`UserRepo::make_branch`] and [`UserRepo::snapshot`], and one line of [`UserRepo::exclude`].
/// Index, HEAD, working files, stash and hooks never are.
#[derive(Clone)]
pub struct UserRepo {
    repo: gix::ThreadSafeRepository,
    workdir: PathBuf,
    common_dir: PathBuf,
    git_dir: PathBuf,
}

impl UserRepo {
    /// Finds the repository that holds `dir`, upwards, and refuses those that cannot hold a study.
    pub fn discover(dir: &Path) -> Result<UserRepo, GitError> {
        let dir = dir.canonicalize().map_err(GitError::io("find the folder", dir))?;
        let (found, _) = gix::discover::upwards(&dir)
            .map_err(|source| GitError::NotARepository { dir: dir.clone(), source: Box::new(source) })?;
        let (git_dir, workdir) = found.into_repository_and_work_tree_directories();
        let git_dir = git_dir.canonicalize().map_err(GitError::io("find the folder", &git_dir))?;
        let common_dir = common_dir_of(&git_dir)?;
        refuse_formats(&common_dir)?;

        let repo = open(&git_dir)?;
        let Some(workdir) = workdir.or_else(|| repo.work_dir().map(Path::to_owned)) else {
            return Err(GitError::Bare { path: git_dir });
        };
        let workdir = match repo.work_dir() {
            Some(configured) => configured.to_owned(),
            None => workdir,
        };
        let workdir = workdir.canonicalize().map_err(GitError::io("find the folder", &workdir))?;
        let user = UserRepo { repo, workdir, common_dir, git_dir };
        let bare = user.config_bool("core.bare") == Some(true);
        if bare && user.git_dir == user.common_dir {
            return Err(GitError::Bare { path: user.git_dir });
        }
        if user.local().head().is_ok_and(|head| head.is_unborn()) {
            return Err(GitError::NoCommits { path: user.workdir });
        }
        Ok(user)
    }

    /// The top of the checkout.
    pub fn workdir(&self) -> &Path {
        &self.workdir
    }

    /// The git directory that linked worktrees share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// A folder's path from the top of the checkout; empty for the top, or for a folder outside.
    pub fn prefix(&self, dir: &Path) -> PathBuf {
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        dir.strip_prefix(&self.workdir).map(Path::to_owned).unwrap_or_default()
    }

    /// The commit that is checked out.
    pub fn head(&self) -> Result<ObjectId, GitError> {
        let repo = self.local();
        let head = repo.head_id().map_err(GitError::git("read HEAD of", &self.git_dir))?;
        Ok(head.detach())
    }

    /// The commit that a person means: a branch, a tag, a hash, `HEAD~2` and the like.
    pub fn resolve(&self, name: &str) -> Result<ObjectId, GitError> {
        let repo = self.local();
        let found = repo.rev_parse_single(format!("{name}^{{commit}}").as_str());
        let found =
            found.map_err(|source| GitError::NoSuchCommit { name: name.to_owned(), source: Box::new(source) })?;
        Ok(found.detach())
    }

    /// Every file of a commit, sorted by path.
    pub fn files(&self, commit: ObjectId) -> Result<Vec<TreeFile>, GitError> {
        tree::files(&self.local(), commit)
    }

    /// Adds a pattern to the repository's private ignore file, once, keeping what is there.
    pub fn exclude(&self, pattern: &str) -> Result<(), GitError> {
        let path = self.common_dir.join("info/exclude");
        // People link this file to one of their own; the link stays.
        let path = path.canonicalize().unwrap_or(path);
        let add = || -> std::io::Result<()> {
            let folder = path.parent().expect("the file lies in a folder");
            std::fs::create_dir_all(folder)?;
            let folder = std::fs::File::open(folder)?;
            // Two that begin at once would take each other's temporary file away. Where a folder cannot be locked, as on
            // some network disks, they have to be lucky.
            let _ = rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive);
            let mut text = disk::read_if_there(&path)?.unwrap_or_default();
            if text.split(|byte| *byte == b'\n').any(|line| line == pattern.as_bytes()) {
                return Ok(());
            }
            if !text.is_empty() && !text.ends_with(b"\n") {
                text.push(b'\n');
            }
            text.extend_from_slice(pattern.as_bytes());
            text.push(b'\n');
            let temporary = path.with_file_name(".exclude.overnight");
            disk::replace_file(&path, &temporary, &text, 0o644, Durability::Cached)
        };
        add().map_err(GitError::io("add a line to", &path))
    }

    /// A handle for this thread. It never swaps objects by `refs/replace`: a commit is what it was.
    pub(super) fn local(&self) -> gix::Repository {
        local(&self.repo)
    }

    pub(super) fn shared(&self) -> &gix::ThreadSafeRepository {
        &self.repo
    }

    /// The same checkout, with objects read through another repository that borrows this one's.
    pub(super) fn reading(&self, repo: gix::ThreadSafeRepository) -> UserRepo {
        UserRepo { repo, ..self.clone() }
    }

    pub(super) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    pub(super) fn objects_dir(&self) -> PathBuf {
        self.common_dir.join("objects")
    }

    pub(super) fn config_bool(&self, key: &str) -> Option<bool> {
        self.local().config_snapshot().boolean(key)
    }
}

pub(super) fn local(repo: &gix::ThreadSafeRepository) -> gix::Repository {
    let mut repo = repo.to_thread_local();
    repo.objects.ignore_replacements = true;
    repo
}

/// Opens a git directory or a checkout with its own configuration and nothing else.
///
/// Trust is given whoever owns it: it only decides which configuration gix reads, and none of what is
/// read is ever run.
pub(super) fn open(path: &Path) -> Result<gix::ThreadSafeRepository, GitError> {
    gix::open::Options::isolated().with(Trust::Full).open(path).map_err(GitError::git("open the repository", path))
}

fn common_dir_of(git_dir: &Path) -> Result<PathBuf, GitError> {
    let path = git_dir.join("commondir");
    let Some(text) = disk::read_if_there(&path).map_err(GitError::io("read", &path))? else {
        return Ok(git_dir.to_owned());
    };
    use std::os::unix::ffi::OsStrExt;
    let common = git_dir.join(std::ffi::OsStr::from_bytes(text.trim_ascii_end()));
    common.canonicalize().map_err(GitError::io("find the folder", &common))
}

/// Looked for before gix opens the repository, which would only say that it cannot.
fn refuse_formats(common_dir: &Path) -> Result<(), GitError> {
    let path = common_dir.join("config");
    if !path.exists() {
        return Ok(());
    }
    let config = gix::config::File::from_path_no_includes(path.clone(), gix::config::Source::Local)
        .map_err(GitError::git("read", &path))?;
    let is =
        |key: &str, value: &str| config.string(key).is_some_and(|found| found.eq_ignore_ascii_case(value.as_bytes()));
    if is("extensions.objectFormat", "sha256") {
        return Err(GitError::Sha256 { path: common_dir.to_owned() });
    }
    if config.string("extensions.refStorage").is_some() && !is("extensions.refStorage", "files") {
        return Err(GitError::Reftable { path: common_dir.to_owned() });
    }
    Ok(())
}
