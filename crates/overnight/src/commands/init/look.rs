//! What `init` may see: the names of tracked files, and a bounded number of small ones.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use overnight_engine::load;
use overnight_engine::workspace::{FileKind, GitError, UserRepo};

use crate::error::{CliError, Exit, Outcome};

/// Longer than any benchmark that a person wrote; of a longer one the beginning is read.
const LONGEST: u64 = 256 * 1024;
/// Enough to find the one benchmark among many tests, and soon done whatever the repository holds.
const MOST_FILES: usize = 300;

/// A repository as a recogniser sees it. Paths are relative to the folder of the triplet, with `/` between names.
pub(super) struct Look {
    /// The folder of the triplet.
    pub(super) dir: PathBuf,
    /// The same, within the repository; empty at the top.
    pub(super) folder: String,
    pub(super) home: Option<PathBuf>,
    /// The real path of the checkout.
    top: PathBuf,
    tracked: Vec<String>,
    texts: RefCell<HashMap<String, Option<Rc<str>>>>,
}

impl Look {
    pub(super) fn new(dir: &Path) -> Outcome<Look> {
        let user = UserRepo::discover(dir).map_err(|error| match error {
            // Here it is not that a study is refused: there is nothing to look at yet.
            GitError::NotARepository { .. } | GitError::NoCommits { .. } => {
                let hint = error.hint().unwrap_or_default();
                CliError::usage(error.to_string()).hint(hint + "; then run `overnight init` again")
            }
            error => error.into(),
        })?;
        let files = user.files(user.head()?)?;
        let folder = user.prefix(dir);
        let regular = files.iter().filter(|file| matches!(file.kind, FileKind::File | FileKind::Executable));
        // A name that is not text cannot be written in a triplet.
        let inside = |path: &Path| Some(path.strip_prefix(&folder).ok()?.to_str()?.to_owned());
        let mut tracked: Vec<String> = regular.filter_map(|file| inside(&file.path)).collect();
        tracked.sort_unstable();
        let folder = folder.to_string_lossy().into_owned();
        let dir = dir.to_owned();
        let top = user.workdir().canonicalize().unwrap_or_else(|_| user.workdir().to_owned());
        Ok(Look { top, dir, folder, home: load::home(), tracked, texts: RefCell::default() })
    }

    pub(super) fn tracked(&self) -> &[String] {
        &self.tracked
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.tracked.binary_search_by(|tracked| tracked.as_str().cmp(path)).is_ok()
    }

    /// The tracked files below a folder.
    pub(super) fn below(&self, folder: &str) -> impl Iterator<Item = &String> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let start = self.tracked.partition_point(|path| *path < prefix);
        self.tracked[start..].iter().take_while(move |path| path.starts_with(&prefix))
    }

    /// The first of several names that is tracked.
    pub(super) fn first<'a>(&self, paths: &[&'a str]) -> Option<&'a str> {
        paths.iter().copied().find(|path| self.has(path))
    }

    /// What a file of the checkout says; nothing of what is binary, no file, or one too many.
    pub(super) fn text(&self, path: &str) -> Option<Rc<str>> {
        if let Some(known) = self.texts.borrow().get(path) {
            return known.clone();
        }
        if self.texts.borrow().len() >= MOST_FILES {
            return None;
        }
        let text = Some(self.dir.join(path)).filter(|path| self.is_inside(path)).and_then(|path| read(&path));
        let text = text.map(Rc::from);
        self.texts.borrow_mut().insert(path.to_owned(), text.clone());
        text
    }

    /// Whether the folder of a path is a folder of the checkout, and not one elsewhere that a link leads to. Of
    /// folders that are not there yet, the one that they would be made in.
    pub(super) fn is_inside(&self, path: &Path) -> bool {
        let there = path.ancestors().skip(1).find(|folder| fs::symlink_metadata(folder).is_ok());
        there.and_then(|folder| folder.canonicalize().ok()).is_some_and(|folder| folder.starts_with(&self.top))
    }

    /// Nothing is written out of the checkout.
    pub(super) fn refuse_outside(&self, path: &Path) -> Outcome<()> {
        if self.is_inside(path) {
            return Ok(());
        }
        let message = format!("{} would not be in {}: a link leads out of it", path.display(), self.top.display());
        Err(CliError::new(Exit::Refused, message).hint("put a folder in the place of the link"))
    }

    /// A path in the folder of the triplet, from the top of the repository.
    pub(super) fn top_path(&self, path: &str) -> String {
        if self.folder.is_empty() { path.to_owned() } else { format!("{}/{path}", self.folder) }
    }

    /// Where a path from the top of the repository lies.
    pub(super) fn at_top(&self, path: &str) -> PathBuf {
        self.top.join(path)
    }

    /// A path as a person in the folder of the triplet writes it.
    pub(super) fn shown(&self, path: &Path) -> String {
        let here = self.dir.canonicalize().unwrap_or_else(|_| self.dir.clone());
        path.strip_prefix(here).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// Whether something lies in the checkout that git does not bring along.
    pub(super) fn is_untracked(&self, path: &str) -> bool {
        let there = fs::metadata(self.dir.join(path)).is_ok();
        there && !self.has(path) && self.below(path).next().is_none()
    }

    /// Whether something lies at home.
    pub(super) fn is_at_home(&self, path: &str) -> bool {
        self.home.as_ref().is_some_and(|home| home.join(path).exists())
    }
}

/// A link is not followed: it may lead out of the repository, and a pipe would keep us waiting.
fn read(path: &Path) -> Option<String> {
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    (!bytes.contains(&0)).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The folder of a path; empty at the top.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

pub(super) fn extension_of(path: &str) -> &str {
    name_of(path).rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// A path or a name as a word of a shell.
pub(super) fn word(path: &str) -> String {
    overnight_engine::workspace::shell_word(Path::new(path))
}

/// A path below a folder, without `.` and `..`; nothing where it leaves the top.
pub(super) fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
