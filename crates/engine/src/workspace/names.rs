//! The names of a commit's files, and which other names could be taken for them.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use unicode_normalization::UnicodeNormalization;

use super::tree::{FileKind, TreeFile};

/// What is tracked, by the name that some other file system or reader would see.
#[derive(Debug, Default)]
pub struct Names {
    /// Files and the folders above them.
    folded: HashMap<String, String>,
    executables: HashSet<String>,
}

impl Names {
    pub fn of(files: &[TreeFile]) -> Names {
        let mut names = Names::default();
        for file in files {
            // What is not text has no letters to be mistaken for.
            let Some(path) = file.path.to_str() else { continue };
            if file.kind == FileKind::Executable {
                names.executables.insert(path.to_owned());
            }
            for known in Path::new(path).ancestors().filter_map(Path::to_str).filter(|known| !known.is_empty()) {
                names.folded.insert(fold(known), known.to_owned());
            }
        }
        names
    }

    /// The tracked name that differs from this one only in case or in how its letters are composed.
    pub fn twin_of(&self, path: &Path) -> Option<&str> {
        let path = path.to_str()?;
        self.folded.get(&fold(path)).map(String::as_str).filter(|known| *known != path)
    }

    pub fn is_executable(&self, path: &str) -> bool {
        self.executables.contains(path)
    }

    pub fn executables(&self) -> Vec<String> {
        self.executables.iter().cloned().collect()
    }
}

fn fold(path: &str) -> String {
    path.nfkc().flat_map(char::to_lowercase).nfkc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_differ_in_case_or_composition_and_a_file_is_not_its_own() {
        let file =
            |path: &str, kind| TreeFile { path: path.into(), kind, id: gix::ObjectId::null(gix::hash::Kind::Sha1) };
        let names = Names::of(&[file("src/café.py", FileKind::File), file("run", FileKind::Executable)]);
        assert_eq!(names.twin_of(Path::new("src/cafe\u{301}.py")), Some("src/café.py"));
        assert_eq!(names.twin_of(Path::new("SRC")), Some("src"));
        assert_eq!(names.twin_of(Path::new("Run")), Some("run"));
        assert_eq!(names.twin_of(Path::new("ｒun")), Some("run"), "a wide letter");
        for other in ["src/café.py", "src", "run", "running", "src/cafe.py"] {
            assert_eq!(names.twin_of(Path::new(other)), None, "{other}");
        }
        assert!(names.is_executable("run") && !names.is_executable("src/café.py"));
    }
}
