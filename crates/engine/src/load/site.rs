//! Finding the study: where the triplet is, what it is called, and where its state lives.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::keys;

/// The triplet of a repository that holds one study, which is then called `main`.
const TRIPLET: &str = "overnight.toml";
/// The folder of triplets of a repository that holds several, each called as its file.
const TRIPLETS: &str = "overnight";
/// Where state lives, beside the triplet.
pub const STATE: &str = ".overnight";
/// More of a file than this is not read to see whether it is a triplet.
const LONGEST: u64 = 64 * 1024;

/// One study on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The folder that paths of the triplet are relative to.
    pub dir: PathBuf,
    pub study: String,
    /// The triplet's file; it may be gone while the state is still there.
    pub triplet: PathBuf,
}

impl Site {
    /// The study's own folder: ledger, store, slots.
    pub fn state(&self) -> PathBuf {
        self.dir.join(STATE).join(&self.study)
    }

    /// The triplet's name as messages show it.
    pub fn triplet_name(&self) -> String {
        self.triplet.strip_prefix(&self.dir).unwrap_or(&self.triplet).to_string_lossy().into_owned()
    }
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum SiteError {
    #[error("no overnight.toml in {dir} or in a folder above it")]
    None { dir: PathBuf },
    #[error("there are several studies here: {}", names.join(", "))]
    Several { names: Vec<String> },
    #[error("there is no study `{name}` here, only {}", names.join(", "))]
    NoSuch { name: String, names: Vec<String> },
    #[error("`{name}` cannot be the name of a study")]
    BadName { name: String },
    #[error("the folder {dir} does not exist")]
    NoFolder { dir: PathBuf },
}

impl SiteError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            SiteError::None { .. } => {
                "begin with `overnight init`: it looks at the repository and writes the triplet; or work in another \
                 folder with -C DIR"
                    .to_owned()
            }
            SiteError::Several { names } => format!("pick one: --study {}", names.first()?),
            SiteError::NoSuch { name, names } => match keys::nearest(name, names.iter().map(String::as_str)) {
                Some(near) => format!("did you mean --study {near}?"),
                None => format!("pick one: --study {}", names.first()?),
            },
            SiteError::BadName { .. } => "use letters, digits, `-`, `_` and `.`: it becomes a branch name".to_owned(),
            SiteError::NoFolder { .. } => return None,
        })
    }
}

/// Finds the study that a command means, from `dir` upwards.
pub fn locate(dir: &Path, study: Option<&str>) -> Result<Site, SiteError> {
    let start = dir.canonicalize().map_err(|_| SiteError::NoFolder { dir: dir.to_owned() })?;
    let none = SiteError::None { dir: start.clone() };
    // Not beyond the repository: what lies beside it is somebody else's.
    let inside = start.ancestors().position(|folder| folder.join(".git").exists()).map_or(usize::MAX, |top| top + 1);
    if let Some(name) = study.filter(|name| !is_study_name(name)) {
        return Err(SiteError::BadName { name: name.to_owned() });
    }
    let (dir, names) = start
        .ancestors()
        .take(inside)
        .map(|folder| (folder.to_owned(), studies_in(folder, study)))
        .find(|(_, names)| !names.is_empty())
        .ok_or(none)?;
    let names: Vec<String> = names.into_iter().collect();
    let name = match study {
        Some(name) if names.iter().any(|known| known == name) => name.to_owned(),
        Some(name) => return Err(SiteError::NoSuch { name: name.to_owned(), names }),
        None if names.len() == 1 => names[0].clone(),
        None => return Err(SiteError::Several { names }),
    };
    if !is_study_name(&name) {
        return Err(SiteError::BadName { name });
    }
    let triplet = triplet_of(&dir, &name);
    Ok(Site { dir, study: name, triplet })
}

/// The names of the studies whose triplet is in a folder.
pub fn triplets_in(folder: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if folder.join(TRIPLET).is_file() {
        names.insert("main".to_owned());
    }
    for entry in fs::read_dir(folder.join(TRIPLETS)).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "toml") && looks_like_a_triplet(&path) {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names
}

/// Where the triplet of a study is, or would be.
pub fn triplet_of(dir: &Path, name: &str) -> PathBuf {
    let own = dir.join(TRIPLETS).join(format!("{name}.toml"));
    let is_own = || looks_like_a_triplet(&own) || (own.exists() && !dir.join(TRIPLET).exists());
    if name == "main" && !is_own() { dir.join(TRIPLET) } else { own }
}

/// The names of the studies whose triplet or state is in a folder.
fn studies_in(folder: &Path, named: Option<&str>) -> BTreeSet<String> {
    let mut names = triplets_in(folder);
    // What a person calls a study is one, whatever its file says.
    let is_there = |name: &&str| folder.join(TRIPLETS).join(format!("{name}.toml")).is_file();
    names.extend(named.filter(is_there).map(ToOwned::to_owned));
    for entry in fs::read_dir(folder.join(STATE)).into_iter().flatten().flatten() {
        if entry.path().join("ledger.db").is_file() {
            names.insert(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names
}

/// Whether a file is a triplet, or was meant to be one: other things live in folders called `overnight` as well.
fn looks_like_a_triplet(path: &Path) -> bool {
    let mut bytes = Vec::new();
    // A pipe would keep us waiting.
    let read = path.is_file() && File::open(path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes)).is_ok();
    read && bytes.split(|byte| *byte == b'\n').any(|line| line.trim_ascii_start().starts_with(b"surface"))
}

/// Whether a name can be a branch, a folder and a file name on every file system.
pub fn is_study_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain = !name.is_empty() && name.len() <= 64 && name.chars().all(allowed);
    plain && !name.starts_with(['.', '-']) && !name.ends_with('.') && !name.ends_with(".lock") && !name.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "surface = 1\n").unwrap();
        }
        dir
    }

    #[test]
    fn one_triplet_is_found_from_a_folder_below_it() {
        let dir = folder(&["overnight.toml", "a/b/c"]);
        let site = locate(&dir.path().join("a/b"), None).unwrap();
        assert_eq!((site.study.as_str(), site.triplet_name().as_str()), ("main", "overnight.toml"));
    }

    #[test]
    fn several_studies_have_to_be_told_apart() {
        let dir = folder(&["overnight/fast.toml", "overnight/small.toml"]);
        let names = vec!["fast".to_owned(), "small".to_owned()];
        assert_eq!(locate(dir.path(), None), Err(SiteError::Several { names: names.clone() }));
        assert_eq!(locate(dir.path(), Some("small")).unwrap().triplet_name(), "overnight/small.toml");
        let hint = |name: &str| locate(dir.path(), Some(name)).unwrap_err().hint();
        assert_eq!(hint("smal").as_deref(), Some("did you mean --study small?"));
        assert_eq!(hint("x").as_deref(), Some("pick one: --study fast"));
        assert_eq!(locate(dir.path(), Some("x")), Err(SiteError::NoSuch { name: "x".into(), names }));
    }

    #[test]
    fn other_files_in_a_folder_of_that_name_are_no_studies_unless_they_are_named() {
        let dir = folder(&["below/x"]);
        for (name, text) in [("Cargo", "[workspace]\n"), ("settings", "# the surface = 1\n"), ("main", "")] {
            fs::create_dir_all(dir.path().join("overnight")).unwrap();
            fs::write(dir.path().join(format!("overnight/{name}.toml")), text).unwrap();
        }
        let below = dir.path().join("below");
        assert!(matches!(locate(&below, None), Err(SiteError::None { .. })));
        assert_eq!(locate(&below, Some("settings")).unwrap().triplet_name(), "overnight/settings.toml");
        fs::write(dir.path().join("overnight/night.toml"), "metric = {\n surface =").unwrap();
        assert_eq!(locate(&below, None).unwrap().study, "night");
        fs::write(dir.path().join("overnight.toml"), "").unwrap();
        assert_eq!(locate(&below, Some("main")).unwrap().triplet_name(), "overnight.toml");
        // Nor is anything that lies beside the checkout.
        fs::create_dir(below.join(".git")).unwrap();
        assert!(matches!(locate(&below, None), Err(SiteError::None { .. })));
    }

    #[test]
    fn a_name_that_is_no_branch_is_refused() {
        for name in ["a b", "..", "x.lock", "-x", ""] {
            assert!(!is_study_name(name), "{name}");
        }
        assert!(is_study_name("lr-sweep_2.1"));
    }
}
