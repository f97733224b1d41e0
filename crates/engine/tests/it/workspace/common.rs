#![allow(dead_code)]
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use overnight_engine::workspace::*;

pub struct Repo {
    pub temp: tempfile::TempDir,
    pub dir: PathBuf,
}

impl Repo {
    pub fn empty() -> Repo {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap().join("user");
        std::fs::create_dir(&dir).unwrap();
        let repo = Repo { temp, dir };
        repo.git(&["init", "-q"]);
        repo
    }

    /// A few files of every ordinary kind, in one commit.
    pub fn new() -> Repo {
        let repo = Repo::empty();
        repo.write("train.py", "lr = 1\n");
        repo.write("eval.py", "print(0)\n");
        repo.write("data/deep/values.txt", "1 2 3\n");
        repo.write("run.sh", "#!/bin/sh\n");
        std::fs::set_permissions(repo.dir.join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("data/deep", repo.dir.join("link")).unwrap();
        repo.commit("first");
        repo
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        git(&self.dir, arguments)
    }

    pub fn try_git(&self, arguments: &[&str]) -> bool {
        command(&self.dir, arguments).output().unwrap().status.success()
    }

    pub fn write(&self, path: &str, contents: impl AsRef<[u8]>) {
        let path = self.dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }

    pub fn commit(&self, message: &str) -> ObjectId {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", message]);
        self.rev("HEAD")
    }

    pub fn rev(&self, name: &str) -> ObjectId {
        ObjectId::from_hex(self.git(&["rev-parse", name]).trim().as_bytes()).unwrap()
    }

    pub fn open(&self) -> UserRepo {
        UserRepo::discover(&self.dir).unwrap()
    }

    pub fn store(&self, user: &UserRepo) -> Store {
        Store::open_or_init(&self.store_dir(), user).unwrap()
    }

    pub fn store_dir(&self) -> PathBuf {
        self.temp.path().join("state/store.git")
    }

    pub fn copy_dir(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join("copies/1")
    }
}

pub fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .args(["-c", "user.name=A User", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"])
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    command
}

pub fn git(dir: &Path, arguments: &[&str]) -> String {
    let output = command(dir, arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn edit(parent: ObjectId, contents: &str) -> CommitPlan {
    CommitPlan {
        parent,
        files: vec![("train.py".into(), contents.into())],
        message: format!("try {contents}\n\nOvernight-Experiment: 7\n"),
        at: 1_760_000_000,
    }
}

/// Every file below a folder with its kind, rights and contents.
pub fn picture(dir: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let contents = if metadata.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else if metadata.is_symlink() {
                std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if metadata.is_file() {
                std::fs::read(&path).unwrap()
            } else {
                b"special".to_vec()
            };
            found.insert(path.strip_prefix(dir).unwrap().to_owned(), (metadata.mode(), contents));
        }
    }
    found
}

/// What `git archive` makes of a commit.
pub fn archive(repo: &Repo, commit: ObjectId) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let out = tempfile::tempdir().unwrap();
    let tar = out.path().join("a.tar");
    repo.git(&["-c", "tar.umask=0022", "archive", "-o", tar.to_str().unwrap(), &commit.to_string()]);
    let target = out.path().join("x");
    std::fs::create_dir(&target).unwrap();
    assert!(Command::new("tar").arg("-xpf").arg(&tar).arg("-C").arg(&target).status().unwrap().success());
    picture(&target)
}
