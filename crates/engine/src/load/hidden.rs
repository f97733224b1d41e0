//! Hidden files: tracked, and seen by the scorer alone.

use overnight_model::spec::Surface;

use super::document::Section;
use super::problem::Collector;
use super::surface::{list, relative, untracked_hint};
use super::{Tree, glob};

/// Reads `evaluate.hidden` into paths relative to the triplet's folder.
pub(super) fn read(
    problems: &mut Collector<'_>,
    evaluate: &Section<'_>,
    tree: &Tree<'_>,
    surface: Option<&Surface>,
) -> Vec<String> {
    let Some(item) = evaluate.get("hidden") else {
        return Vec::new();
    };
    if evaluate.get("score").is_none() {
        let hint = "add `score = \"python3 score.py\"`, or commit nothing that `run` may not see";
        let message = "`evaluate.hidden` needs `evaluate.score`: without a scorer nobody could see these files";
        problems.add(evaluate.key_span("hidden"), message, hint);
    }
    let mut files = Vec::new();
    for item in list(item) {
        let Some(written) = item.get_ref().as_str() else {
            let hint = "write `hidden = [\"labels.csv\", \"secret/**\"]`";
            problems.wrong_type("evaluate.hidden", item, "a path or a list of paths", hint);
            continue;
        };
        match expand(written, tree, surface) {
            Ok(found) => files.extend(found),
            Err((message, hint)) => problems.add(item.span(), message, hint),
        }
    }
    files.sort();
    files.dedup();
    files
}

fn expand(written: &str, tree: &Tree<'_>, surface: Option<&Surface>) -> Result<Vec<String>, (String, String)> {
    let path = relative("hidden", written)?;
    let found: Vec<String> = match glob::is_pattern(&path) {
        true => tree.tracked.iter().filter(|tracked| glob::matches(&path, tracked)).cloned().collect(),
        false => tree.tracked.iter().filter(|tracked| **tracked == path).cloned().collect(),
    };
    if found.is_empty() {
        return Err(match glob::is_pattern(&path) {
            true => (
                format!("hidden `{written}` matches no file tracked by git"),
                "`git ls-files` shows what is tracked".to_owned(),
            ),
            false => (format!("hidden `{written}` is not a file tracked by git"), untracked_hint(&path, tree)),
        });
    }
    let is_surface = |path: &&String| surface.is_some_and(|surface| surface.paths().any(|file| file == **path));
    match found.iter().find(is_surface) {
        Some(file) => Err((
            format!("`{file}` is both surface and hidden"),
            "an agent has to see what it edits: take it out of one of the two".to_owned(),
        )),
        None => Ok(found),
    }
}
