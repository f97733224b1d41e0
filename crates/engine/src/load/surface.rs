//! The surface: which files agents may edit, checked against what is tracked and what is locked.

use std::ops::Range;

use overnight_model::spec::{Part, Surface, SurfaceFile};
use toml::de::DeValue;

use super::document::{Item, Section};
use super::keys::nearest;
use super::problem::Collector;
use super::{Tree, glob};

/// Folders that are never anyone's surface.
const STATE_FOLDERS: [&str; 2] = [".overnight", ".git"];

/// More than any edit a person would read.
const MOST_LINES: u64 = 1_000_000;

/// One path or pattern as it was written.
struct Entry {
    path: String,
    span: Range<usize>,
    part: Part,
}

/// Reads `surface`. `reserved` are the triplet and the program.
pub(super) fn read(
    problems: &mut Collector<'_>,
    top: &Section<'_>,
    tree: &Tree<'_>,
    reserved: &[&str],
) -> Option<Surface> {
    let Some(item) = top.get("surface") else {
        problems.missing(top, "surface", "surface = \"train.py\"");
        return None;
    };
    let mut entries = Vec::new();
    let mut most_lines: Vec<(Range<usize>, u32)> = Vec::new();
    for item in list(item) {
        match item.get_ref() {
            DeValue::String(path) => {
                entries.push(Entry { path: path.to_string(), span: item.span(), part: Part::Whole });
            }
            DeValue::Table(_) => {
                let Some(section) = problems.table(top, "surface", item, "surface") else {
                    continue;
                };
                most_lines.extend(table(problems, &section, &mut entries));
            }
            _ => problems.wrong_type(
                "surface",
                item,
                "a path, a list of paths or a table",
                "write `surface = \"train.py\"`",
            ),
        }
    }
    let max_lines_changed = most_lines.first().map(|(_, most)| *most);
    if let Some((span, _)) = most_lines.iter().find(|(_, most)| Some(*most) != max_lines_changed) {
        let hint = "it counts for the whole surface: say it once";
        problems.add(span.clone(), "`max_lines_changed` has two values", hint);
    }
    if entries.is_empty() && list(item).is_empty() {
        problems.add(item.span(), "the surface names no file", "write `surface = \"train.py\"`");
    }
    let mut files: Vec<SurfaceFile> = Vec::new();
    for entry in entries {
        for path in expand(problems, &entry, tree, reserved) {
            match files.iter().any(|file| file.path == path) {
                true => problems.add(
                    entry.span.clone(),
                    format!("`{path}` is in the surface twice"),
                    "remove one of the two",
                ),
                false => files.push(SurfaceFile { path, part: entry.part.clone() }),
            }
        }
    }
    Some(Surface { files, max_lines_changed })
}

/// A list's items, or the one item that stands for itself.
pub(super) fn list<'a>(item: Item<'a>) -> Vec<Item<'a>> {
    match item.get_ref() {
        DeValue::Array(items) => items.iter().collect(),
        _ => vec![item],
    }
}

/// Reads `{ path, above, below, max_lines_changed }`.
fn table(problems: &mut Collector<'_>, section: &Section<'_>, entries: &mut Vec<Entry>) -> Option<(Range<usize>, u32)> {
    let above = problems.string(section, "above");
    let below = problems.string(section, "below");
    let part = match (above, below) {
        (Some(_), Some(_)) => {
            let span = section.key_span("below");
            problems.add(span, "`above` and `below` exclude each other", "keep the one that says where edits may be");
            return None;
        }
        (Some(marker), None) => Part::Above(marker),
        (None, Some(marker)) => Part::Below(marker),
        (None, None) => Part::Whole,
    };
    match section.get("path") {
        None => problems.missing(section, "path", "path = \"train.py\""),
        Some(item) => {
            for item in list(item) {
                match item.get_ref().as_str() {
                    Some(path) => entries.push(Entry { path: path.to_owned(), span: item.span(), part: part.clone() }),
                    None => problems.wrong_type("surface.path", item, "a path or a list of paths", ""),
                }
            }
        }
    }
    let most = problems.count(section, "max_lines_changed", 1..=MOST_LINES)?;
    Some((section.get("max_lines_changed")?.span(), most as u32))
}

/// The files of one entry; none where something is wrong with it.
fn expand(problems: &mut Collector<'_>, entry: &Entry, tree: &Tree<'_>, reserved: &[&str]) -> Vec<String> {
    let written = &entry.path;
    let is_pattern = glob::is_pattern(written);
    let path = match relative("surface", written) {
        Ok(path) => path,
        Err((message, hint)) => {
            problems.add(entry.span.clone(), message, hint);
            return Vec::new();
        }
    };
    let paths: Vec<String> = match is_pattern {
        true => tree.tracked.iter().filter(|tracked| glob::matches(&path, tracked)).cloned().collect(),
        false => vec![path.clone()],
    };
    if paths.is_empty() {
        let message = format!("surface `{written}` matches no file tracked by git");
        problems.add(entry.span.clone(), message, "`git ls-files` shows what is tracked");
        return Vec::new();
    }
    let is_reserved = |path: &str| {
        let folder = path.split('/').next().unwrap_or_default();
        reserved.contains(&path) || STATE_FOLDERS.contains(&folder)
    };
    if let Some(overlap) = paths.iter().find(|path| is_reserved(path)) {
        let hint = match is_pattern {
            true => "narrow the pattern so that it leaves this file out",
            false => "agents may not edit it: name another file",
        };
        problems.add(entry.span.clone(), format!("`{overlap}` is both surface and locked"), hint);
        return Vec::new();
    }
    if !is_pattern && !tree.tracked.contains(&path) {
        problems.add(
            entry.span.clone(),
            format!("surface `{written}` is not a file tracked by git"),
            untracked_hint(&path, tree),
        );
        return Vec::new();
    }
    paths
}

/// A path within the triplet's folder without `./`, or what is wrong with it.
pub(super) fn relative(what: &str, written: &str) -> Result<String, (String, String)> {
    let refuse = |message: String, hint: &str| Err((message, hint.to_owned()));
    if written.trim().is_empty() {
        return refuse(format!("a {what} path is empty"), &format!("write `{what} = \"train.py\"`"));
    }
    if written.starts_with(['/', '~']) {
        return refuse(format!("{what} `{written}` is absolute"), "write it relative to the folder of this file");
    }
    let parts: Vec<_> = written.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") {
        let hint = format!("a {what} file lies beside or below this one; move this one up instead");
        return refuse(format!("{what} `{written}` leaves the folder of this file"), &hint);
    }
    match parts.is_empty() {
        true => refuse(format!("{what} `{written}` is a folder"), "write \"**\" for all files below it"),
        false => Ok(parts.join("/")),
    }
}

pub(super) fn untracked_hint(path: &str, tree: &Tree<'_>) -> String {
    let below = format!("{path}/");
    if tree.tracked.iter().any(|tracked| tracked.starts_with(&below)) {
        return format!("it is a folder: write \"{path}/**\" for all files below it");
    }
    if (tree.exists)(path) {
        return format!("run `git add {path}` and commit it");
    }
    match nearest(path, tree.tracked.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`git ls-files` shows what is tracked".to_owned(),
    }
}
