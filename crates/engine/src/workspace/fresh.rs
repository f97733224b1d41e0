//! Files that were not there before, read back from a tree that nobody can be trusted in.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::error::GitError;
use super::remove::{names, open_folder};
use super::surface::{SurfaceRead, is_executable, read_surface};

/// More files than a benchmark with its cases needs.
const MOST_FILES: usize = 64;
/// A case that is larger is data, and belongs into `inputs`.
const LONGEST: u64 = 1024 * 1024;
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// Deeper than any folder that a person would look into.
const DEEPEST: usize = 16;
/// What tools leave behind where they run; whatever begins with a dot, `.git` too, is passed over as well.
const LITTER: [&str; 4] = ["__pycache__", "node_modules", "target", "venv"];

/// A file to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// From the top of the repository, with `/` between folders.
    pub path: String,
    pub bytes: Vec<u8>,
    pub runs: bool,
}

/// Every plain file below `root` but those that are known, or why they cannot be taken.
pub fn read_new(
    root: BorrowedFd<'_>,
    is_known: &dyn Fn(&str) -> bool,
) -> Result<Result<Vec<NewFile>, String>, GitError> {
    let mut walk = Walk { root, is_known, found: Vec::new(), bytes: 0 };
    match walk.folder(root, Path::new(""), 0) {
        Ok(()) => Ok(Ok(walk.found)),
        Err(Stop::Refused(why)) => Ok(Err(why)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

enum Stop {
    Refused(String),
    Failed(GitError),
}

struct Walk<'a> {
    root: BorrowedFd<'a>,
    is_known: &'a dyn Fn(&str) -> bool,
    found: Vec<NewFile>,
    bytes: u64,
}

impl Walk<'_> {
    fn folder(&mut self, folder: BorrowedFd<'_>, path: &Path, depth: usize) -> Result<(), Stop> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |errno: Errno| Stop::Failed(GitError::io("look at", path)(errno.into()))
        };
        let mut there = names(folder).map_err(failed(path))?;
        there.sort();
        for name in there {
            let inner: PathBuf = path.join(&name);
            let Some(text) = inner.to_str() else {
                return Err(Stop::Refused(format!("the name of `{}` is no text", inner.display())));
            };
            if (self.is_known)(text) || is_litter(&name.to_string_lossy()) {
                continue;
            }
            let stat = match rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(failed(&inner)(errno)),
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if depth == DEEPEST => {
                    return Err(Stop::Refused(format!("`{text}` is more than {DEEPEST} folders deep")));
                }
                FileType::Directory => {
                    let inside = open_folder(folder, &name).map_err(failed(&inner))?;
                    self.folder(inside.as_fd(), &inner, depth + 1)?;
                }
                // The mark by which a layer remembers that something was there.
                FileType::CharacterDevice if stat.st_rdev == 0 => {}
                _ => self.file(text)?,
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &str) -> Result<(), Stop> {
        let refused = |why: String| Err(Stop::Refused(why));
        let bytes = match read_surface(self.root, path, LONGEST).map_err(Stop::Failed)? {
            SurfaceRead::Contents(bytes) => bytes,
            SurfaceRead::Missing => return Ok(()),
            SurfaceRead::NotAFile(what) => return refused(format!("`{path}` is {what}")),
            SurfaceRead::TooLarge(bytes) => {
                return refused(format!("`{path}` is {bytes} bytes long, the limit is {LONGEST}"));
            }
        };
        self.bytes += bytes.len() as u64;
        if self.found.len() == MOST_FILES {
            return refused(format!("there are more than {MOST_FILES} new files"));
        }
        if self.bytes > MOST_BYTES {
            return refused(format!("the new files are more than {MOST_BYTES} bytes"));
        }
        let runs = is_executable(self.root, path);
        self.found.push(NewFile { path: path.to_owned(), bytes, runs });
        Ok(())
    }
}

fn is_litter(name: &str) -> bool {
    name.starts_with('.') || name.ends_with(".pyc") || LITTER.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn read(dir: &Path) -> Result<Vec<String>, String> {
        let root = File::open(dir).unwrap();
        let found = read_new(root.as_fd(), &|path| path == "known.py" || path == "link").unwrap();
        found.map(|files| {
            let shown = |file: NewFile| format!("{}{}", file.path, if file.runs { "*" } else { "" });
            files.into_iter().map(shown).collect()
        })
    }

    #[test]
    fn new_files_are_read_and_litter_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["bench/cases", "__pycache__", ".git/objects"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        for path in
            ["known.py", "bench/run.sh", "bench/cases/a", "__pycache__/a.pyc", ".git/HEAD", ".aider.md", "b.pyc"]
        {
            fs::write(dir.path().join(path), "text").unwrap();
        }
        fs::set_permissions(dir.path().join("bench/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        // One that was there before.
        symlink("/etc/passwd", dir.path().join("link")).unwrap();
        assert_eq!(read(dir.path()).unwrap(), ["bench/cases/a", "bench/run.sh*"]);
    }

    #[test]
    fn what_is_no_plain_file_or_too_much_is_refused_by_name() {
        let with = |make: &dyn Fn(&Path)| {
            let dir = tempfile::tempdir().unwrap();
            make(dir.path());
            read(dir.path()).unwrap_err()
        };
        assert_eq!(with(&|dir| symlink("/etc/passwd", dir.join("cases")).unwrap()), "`cases` is a symbolic link");
        let twice = with(&|dir| {
            fs::write(dir.join("a"), "").unwrap();
            fs::hard_link(dir.join("a"), dir.join("b")).unwrap();
        });
        assert_eq!(twice, "`a` is a file with a second name");
        let large = with(&|dir| fs::write(dir.join("a"), vec![0; LONGEST as usize + 1]).unwrap());
        assert_eq!(large, "`a` is 1048577 bytes long, the limit is 1048576");
        let many = with(&|dir| (0..=MOST_FILES).for_each(|n| fs::write(dir.join(format!("{n}")), "").unwrap()));
        assert_eq!(many, "there are more than 64 new files");
        let much = with(&|dir| (0..5).for_each(|n| fs::write(dir.join(format!("{n}")), vec![0; 1 << 20]).unwrap()));
        assert_eq!(much, "the new files are more than 4194304 bytes");
        let deep = with(&|dir| fs::create_dir_all(dir.join("a/".repeat(DEEPEST + 2))).unwrap());
        assert!(deep.ends_with("is more than 16 folders deep"), "{deep}");
    }
}
