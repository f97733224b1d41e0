//! What can go wrong with git, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use gix::ObjectId;

/// A git operation that could not be done.
///
/// A refusal ([`GitError::is_refusal`]) is about the user's repository and comes with a hint; anything
/// else is a fault of the disk or of the engine.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("{} is not inside a git repository", dir.display())]
    NotARepository {
        dir: PathBuf,
        #[source]
        source: Box<gix::Error>,
    },
    #[error("the repository {} is bare", path.display())]
    Bare { path: PathBuf },
    #[error("the repository {} keeps its refs in a reftable", path.display())]
    Reftable { path: PathBuf },
    #[error("the repository {} uses sha256 object names", path.display())]
    Sha256 { path: PathBuf },
    #[error("the repository {} has no commits yet", path.display())]
    NoCommits { path: PathBuf },
    #[error("the branch {taken} makes {wanted} impossible")]
    BranchInTheWay { taken: String, wanted: String },
    #[error("there is a branch {name} already")]
    BranchExists { name: String },
    #[error("the branch {branch} is checked out in {}", worktree.display())]
    CheckedOut { branch: String, worktree: PathBuf },
    #[error("{} is locked by another program", path.display())]
    Locked { path: PathBuf },
    #[error("{name} cannot be the name of a ref")]
    BadName {
        name: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("`{name}` is no commit of this repository")]
    NoSuchCommit {
        name: String,
        #[source]
        source: Box<gix::Error>,
    },
    #[error("{name} was moved by someone else: expected {}, found {}", shown(expected), shown(found))]
    BranchMoved { name: String, expected: Option<ObjectId>, found: Option<ObjectId> },
    #[error("the ref {name} at {} holds no commit", path.display())]
    BrokenRef { name: String, path: PathBuf },
    #[error("{path} is not a regular file in commit {commit}")]
    NotARegularFile { path: String, commit: ObjectId },
    #[error("{path} is not in the working copy's tree")]
    NotInTheTree { path: String },
    #[error("the tree of {commit} has an entry called {name:?}")]
    UnsafeName { commit: ObjectId, name: String },
    #[error("the submodule {} has no commit {commit}", path.display())]
    SubmoduleWithoutCommit { path: PathBuf, commit: ObjectId },
    #[error("the LFS file {} changed in the checkout", path.display())]
    LfsChanged { path: PathBuf },
    #[error("object {id} is missing")]
    Missing { id: ObjectId },
    #[error("object {id} is damaged: {what}")]
    Damaged { id: ObjectId, what: String },
    #[error("could not {what} {}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("could not {what} {}", path.display())]
    Git {
        what: &'static str,
        path: PathBuf,
        #[source]
        source: Box<gix::Error>,
    },
}

impl GitError {
    /// What the user can do about it, where there is something.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            GitError::NotARepository { .. } => {
                "run `git init`, add the files and commit them; kept edits become commits".into()
            }
            GitError::Bare { .. } => "run overnight in a clone with a working tree".into(),
            GitError::Reftable { path } => {
                format!("work in a clone: `git clone --ref-format=files {} NEW`", shell_word(path))
            }
            GitError::Sha256 { .. } => {
                "only sha1 repositories are supported; run overnight in one made with `git init --object-format=sha1`"
                    .into()
            }
            GitError::NoCommits { .. } => "commit the files first; the first commit is the baseline".into(),
            GitError::BranchInTheWay { taken, .. } => {
                format!("rename it with `git branch -m {taken} <another name>`")
            }
            GitError::BranchExists { name } => format!("choose another name, or delete it with `git branch -D {name}`"),
            GitError::CheckedOut { worktree, .. } => {
                format!("switch to another branch with `git -C {} switch <branch>`", shell_word(worktree))
            }
            GitError::Locked { path } => format!(
                "wait for the other git command; if none is running, a crashed one left it: remove {}",
                path.display()
            ),
            GitError::BranchMoved { name, expected, found } => match (expected, found) {
                (Some(expected), _) => format!(
                    "nothing was overwritten; put it back with `git update-ref {name} {expected}`, or start a new study"
                ),
                (None, _) => format!("nothing was overwritten; rename {name}, or give the study another name"),
            },
            GitError::BrokenRef { name, .. } => {
                format!("look for its last value with `git reflog {name}` and set it with `git update-ref`")
            }
            GitError::SubmoduleWithoutCommit { path, .. } => {
                format!("run `git submodule update --init {}`", shell_word(path))
            }
            GitError::LfsChanged { path } => format!("run `git lfs checkout {}`", shell_word(path)),
            GitError::Missing { .. } => {
                "in a partial or shallow clone, fetch it with `git fetch --refetch`; else run `git fsck`".into()
            }
            GitError::Damaged { .. } => "run `git fsck`, and fetch the object from another clone".into(),
            GitError::NoSuchCommit { .. } => {
                "a commit is a branch, a tag, a hash or the like: `git log --oneline --all` lists them".into()
            }
            GitError::BadName { .. }
            | GitError::NotARegularFile { .. }
            | GitError::NotInTheTree { .. }
            | GitError::UnsafeName { .. }
            | GitError::Io { .. }
            | GitError::Git { .. } => return None,
        })
    }

    /// Whether the user's repository, rather than the machine or the engine, is why this cannot be done.
    pub fn is_refusal(&self) -> bool {
        !matches!(
            self,
            GitError::Io { .. }
                | GitError::Git { .. }
                | GitError::Missing { .. }
                | GitError::Damaged { .. }
                | GitError::NotInTheTree { .. }
        )
    }

    pub(crate) fn io(what: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> GitError {
        move |source| GitError::Io { what, path: path.as_ref().to_owned(), source }
    }

    pub(super) fn git(what: &'static str, path: impl AsRef<Path>) -> impl FnOnce(gix::Error) -> GitError {
        move |source| GitError::Git { what, path: path.as_ref().to_owned(), source: Box::new(source) }
    }
}

/// A path as it can be pasted into a shell.
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@=".contains(c);
    match text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

fn shown(id: &Option<ObjectId>) -> String {
    id.map_or_else(|| "no branch".into(), |id| id.to_string())
}
