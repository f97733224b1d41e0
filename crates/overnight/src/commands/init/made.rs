//! Sources that a build made inside a tracked folder: git ignores them, and what is tracked imports them.

use std::collections::BTreeSet;
use std::fs;

use super::look::{Look, extension_of, folder_of, name_of};
use super::reach;

/// More folders than this are not looked into: each costs a call, and packages that matter lie near the top.
const MOST_FOLDERS: usize = 2000;
/// Whoever has more of them has a folder of them, and that is named as a whole.
const MOST_MADE: usize = 200;
/// More files beside one than this are not read for its name.
const MOST_READ: usize = 20;
/// What a compiler makes of a module.
const BUILT: [&str; 2] = ["so", "node"];

/// The files, each with the reason that it is needed.
pub(super) fn beside_sources(look: &Look, near: &[&String], with_tests: bool) -> Vec<(String, String)> {
    let mut packages: Vec<&str> = near.iter().map(|path| package_of(path)).chain([""]).collect();
    packages.extend(["test", "tests"].iter().filter(|_| with_tests));
    let is_used = |path: &&String| reach::is_program(path) && packages.contains(&package_of(path));
    let sources = look.tracked().iter().filter(is_used);
    let mut folders: Vec<&str> = sources.map(|path| folder_of(path)).collect::<BTreeSet<_>>().into_iter().collect();
    folders.sort_by_key(|folder| folder.matches('/').count());
    folders.truncate(MOST_FOLDERS);
    let made = folders.into_iter().flat_map(|folder| untracked_sources(look, folder)).take(MOST_MADE);
    made.filter_map(|path| imported_by(look, &path).map(|by| (path, format!("{by} imports it")))).collect()
}

/// The folder at the top that a file belongs to, or one below where packages lie side by side.
fn package_of(path: &str) -> &str {
    const SHELVES: [&str; 5] = ["src", "lib", "python", "packages", "crates"];
    let mut ends = folder_of(path).match_indices('/').map(|(at, _)| at).chain([folder_of(path).len()]);
    let top = &path[..ends.next().unwrap_or(0)];
    if SHELVES.contains(&top) { &path[..ends.next().unwrap_or(top.len())] } else { top }
}

/// The files of a folder that look like sources and that git does not have. Folders are left alone: environments and
/// caches are folders.
fn untracked_sources(look: &Look, folder: &str) -> Vec<String> {
    let there = Some(look.dir.join(folder)).filter(|there| look.is_inside(&there.join("any")));
    let entries = there.into_iter().flat_map(fs::read_dir).flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let paths = files.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some(if folder.is_empty() { name } else { format!("{folder}/{name}") })
    });
    let is_source = |path: &String| reach::is_program(path) || BUILT.contains(&extension_of(path));
    let mut paths: Vec<String> =
        paths.filter(|path| is_source(path) && reach::is_plain(path) && !look.has(path)).collect();
    paths.sort();
    paths
}

/// The tracked file, beside it or one folder up, that imports a file by its name.
fn imported_by<'a>(look: &'a Look, path: &str) -> Option<&'a str> {
    let stem = name_of(path).split('.').next().filter(|stem| !stem.is_empty())?;
    let folder = folder_of(path);
    let near = |by: &&String| folder_of(by) == folder || (!folder.is_empty() && folder_of(by) == folder_of(folder));
    let language = |by: &&String| match extension_of(path) {
        "so" => extension_of(by) == "py",
        "py" | "rs" => extension_of(by) == extension_of(path),
        _ => reach::is_program(by),
    };
    let beside = look.below(folder_of(folder)).filter(near).filter(language).take(MOST_READ);
    beside.map(String::as_str).find(|by| look.text(by).is_some_and(|text| text.lines().any(|line| imports(line, stem))))
}

/// Whether a line takes something from a file of this name.
fn imports(line: &str, stem: &str) -> bool {
    const WORDS: [&str; 5] = ["import", "from", "require", "mod", "include"];
    let words: Vec<&str> = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    words.contains(&stem) && words.iter().any(|word| WORDS.contains(word) && *word != stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_package_at_the_top() {
        for (path, package) in [
            ("bench.py", ""),
            ("kit/a/b.py", "kit"),
            ("src/lib.rs", "src"),
            ("src/kit/a/b.py", "src/kit"),
            ("packages/kit/x.js", "packages/kit"),
        ] {
            assert_eq!(package_of(path), package, "{path}");
        }
    }

    #[test]
    fn a_line_imports_a_file_by_its_whole_name() {
        for line in [
            "from ._version import version",
            "from kit import _version",
            "import kit._version as v",
            "const v = require('./_version')",
            "mod _version;",
            "#include \"_version.h\"",
        ] {
            assert!(imports(line, "_version"), "{line}");
        }
        for line in ["from .my_version import x", "_version = 3", "import version"] {
            assert!(!imports(line, "_version"), "{line}");
        }
    }
}
