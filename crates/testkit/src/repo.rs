//! Git repositories that know nothing of the machine they are made on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Every commit has this time, so that the same files always give the same commit.
const DATE: &str = "2026-01-01T00:00:00Z";

/// A repository in a folder of its own, removed with it.
#[derive(Debug)]
pub struct Repo {
    dir: TempDir,
}

impl Repo {
    /// An empty repository with the branch `main`, in memory where the machine has room for it.
    #[allow(clippy::new_without_default, reason = "it makes a folder and runs git")]
    pub fn new() -> Repo {
        let repo = Repo { dir: fast_folder() };
        repo.git(&["init", "--quiet", "--initial-branch=main", "--object-format=sha1", "--template=", "."]);
        repo
    }

    /// Writes a file; folders on the way are made.
    pub fn file(self, path: &str, contents: impl AsRef<[u8]>) -> Repo {
        self.write(path, contents);
        self
    }

    /// Writes `overnight.toml`.
    pub fn triplet(self, text: &str) -> Repo {
        self.file("overnight.toml", text)
    }

    /// Commits everything there is.
    pub fn commit(self) -> Repo {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=commit"]);
        self
    }

    /// The top of the checkout.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn write(&self, path: &str, contents: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("make the folder");
        fs::write(&path, contents).expect("write the file");
    }

    /// A copy with nothing shared: far cheaper than making the same repository again.
    pub fn copy(&self) -> Repo {
        let copy = Repo { dir: fast_folder() };
        copy_folder(self.path(), copy.path());
        copy
    }

    /// Runs git here, and returns what it printed. It must succeed.
    pub fn git(&self, arguments: &[&str]) -> String {
        git_in(self.path(), arguments).unwrap_or_else(|said| panic!("git {}: {said}", arguments.join(" ")))
    }

    /// Where a branch or another name points to.
    pub fn rev(&self, name: &str) -> String {
        self.git(&["rev-parse", "--verify", name]).trim().to_owned()
    }
}

/// Runs git in a folder without a home, a configuration or a clock; an error is what it said.
pub fn git_in(dir: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command.current_dir(dir).args(arguments).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.envs([
        ("HOME", "/nonexistent"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "Ann"),
        ("GIT_AUTHOR_EMAIL", "ann@example.org"),
        ("GIT_AUTHOR_DATE", DATE),
        ("GIT_COMMITTER_NAME", "Ann"),
        ("GIT_COMMITTER_EMAIL", "ann@example.org"),
        ("GIT_COMMITTER_DATE", DATE),
        ("LC_ALL", "C"),
        ("TZ", "UTC"),
    ]);
    let output = command.output().map_err(|error| error.to_string())?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(said(&output.stdout)),
        false => Err(said(&output.stderr) + &said(&output.stdout)),
    }
}

/// A new folder in memory where there is such a place: nothing in a test has to outlive the machine.
pub fn fast_folder() -> TempDir {
    let memory = PathBuf::from("/dev/shm");
    let place = if memory.is_dir() { memory } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("overnight-").tempdir_in(place).expect("make a folder")
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("list the folder") {
        let entry = entry.expect("list the folder");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("look at the file").is_dir() {
            fs::create_dir_all(&target).expect("make the folder");
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("copy the file");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_give_the_same_commit_anywhere() {
        let make = || Repo::new().file("a/b.txt", "b").triplet("surface = \"a/b.txt\"\n").commit();
        assert_eq!(make().rev("HEAD"), make().rev("HEAD"));
    }

    #[test]
    fn a_copy_is_a_repository_of_its_own() {
        let repo = Repo::new().file("a", "1").commit();
        let copy = repo.copy().file("a", "2").commit();
        assert_ne!(repo.rev("HEAD"), copy.rev("HEAD"));
        assert_eq!(repo.git(&["status", "--porcelain"]), "");
    }
}
