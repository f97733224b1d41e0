//! Inputs: what an evaluation needs beyond tracked files.

use std::ops::Range;
use std::path::{Path, PathBuf};

use overnight_model::spec::{Input, Surface};
use toml::de::DeValue;

use super::document::Section;
use super::keys::nearest;
use super::problem::Collector;
use super::surface::list;
use super::{Tree, Triplet, glob};
use crate::sandbox::plain;

/// Where people keep what opens other doors. A candidate that reads one could carry it off in an artifact.
const SECRETS: [&str; 11] =
    [".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".netrc", ".env", ".git-credentials", ".pypirc", ".npmrc"];

const HINT: &str = "write `inputs = [\".venv\", { path = \"~/data/corpus\", content = true }]`";

/// How a path is called where something is wrong with it.
pub(super) struct Called {
    pub(super) what: &'static str,
    pub(super) one: &'static str,
    pub(super) example: &'static str,
}

const INPUT: Called = Called { what: "input", one: "an input", example: HINT };

/// Whether a file or folder of this name may not be part of an input's path.
pub(crate) fn is_secret_name(name: &str) -> bool {
    SECRETS.contains(&name) || name.starts_with(".env.")
}

/// Reads `evaluate.inputs`; `hidden` and the surface are relative to the triplet's folder.
pub(super) fn read(
    problems: &mut Collector<'_>,
    evaluate: &Section<'_>,
    (triplet, tree): (&Triplet<'_>, &Tree<'_>),
    surface: Option<&Surface>,
    hidden: &[String],
) -> Vec<Input> {
    let Some(item) = evaluate.get("inputs") else {
        return Vec::new();
    };
    let mut inputs: Vec<Input> = Vec::new();
    for item in list(item) {
        let (path, span, content) = match item.get_ref() {
            DeValue::String(path) => (path.to_string(), item.span(), false),
            DeValue::Table(_) => match table(problems, evaluate, item) {
                Some(read) => read,
                None => continue,
            },
            _ => {
                problems.wrong_type("evaluate.inputs", item, "a path, a list of paths or a table", HINT);
                continue;
            }
        };
        let refused = check(&path, triplet, tree, surface, hidden).err().or_else(|| {
            let twice = inputs.iter().any(|input| input.path == path);
            twice.then(|| (format!("input `{path}` is named twice"), "remove one of the two".to_owned()))
        });
        match refused {
            Some((message, hint)) => problems.add(span, message, hint),
            None => inputs.push(Input { path, content }),
        }
    }
    inputs
}

/// Reads `{ path, content }`.
fn table<'a>(
    problems: &mut Collector<'_>,
    evaluate: &Section<'a>,
    item: super::document::Item<'a>,
) -> Option<(String, Range<usize>, bool)> {
    let section = problems.table(evaluate, "inputs", item, "evaluate.inputs")?;
    let content = problems.boolean(&section, "content").unwrap_or(false);
    if section.get("path").is_none() {
        problems.missing(&section, "path", "path = \"~/data\"");
    }
    let path = problems.string(&section, "path")?;
    Some((path, section.get("path")?.span(), content))
}

/// What is wrong with an input, if anything is.
fn check(
    written: &str,
    triplet: &Triplet<'_>,
    tree: &Tree<'_>,
    surface: Option<&Surface>,
    hidden: &[String],
) -> Result<(), (String, String)> {
    let refuse = |message: String, hint: &str| Err((message, hint.to_owned()));
    let path = find(&INPUT, written, triplet, tree)?;
    let Some(inside) = path.strip_prefix(tree.dir).ok().and_then(Path::to_str) else {
        return Ok(());
    };
    if tree.tracked.iter().any(|tracked| tracked == inside) {
        let hint = "take it out: tracked files are there anyway";
        return refuse(format!("input `{written}` is tracked by git"), hint);
    }
    let holds = |file: &str| Path::new(file).starts_with(inside);
    if let Some(file) = surface.and_then(|surface| surface.paths().find(|file| holds(file))) {
        return refuse(format!("input `{written}` holds `{file}` of the surface"), "name the other files in it");
    }
    if let Some(file) = hidden.iter().find(|file| holds(file)) {
        return refuse(format!("input `{written}` holds `{file}`, which is hidden"), "name the other files in it");
    }
    Ok(())
}

/// Where something of the person's lies that may be shown to a command.
pub(super) fn find(
    called: &Called,
    written: &str,
    triplet: &Triplet<'_>,
    tree: &Tree<'_>,
) -> Result<PathBuf, (String, String)> {
    let Called { what, one, example } = *called;
    let refuse = |message: String, hint: &str| Err((message, hint.to_owned()));
    if written.trim().is_empty() {
        return refuse(format!("{one} is empty"), example);
    }
    let Some(path) = resolve(written, tree) else {
        return refuse(format!("{what} `{written}`: there is no home folder"), "write the path in full");
    };
    let parts: Vec<&str> = path.components().filter_map(|part| part.as_os_str().to_str()).collect();
    if parts.iter().any(|part| matches!(*part, ".git" | ".overnight")) {
        return refuse(format!("{what} `{written}` lies in what overnight itself keeps"), "name another path");
    }
    if let Some(secret) = parts.iter().find(|part| is_secret_name(part)) {
        let hint = "a candidate could carry it off: name only the data that the evaluation reads";
        return refuse(format!("{what} `{written}`: `{secret}` is where secrets are kept"), hint);
    }
    if path == Path::new("/") {
        return refuse(format!("{what} `{written}` is the whole machine"), "name the folders that are needed");
    }
    if tree.home.is_some_and(|home| home.starts_with(&path)) {
        let message = format!("{what} `{written}` holds your whole home folder");
        return refuse(message, "name the folders in it that are needed");
    }
    if root(triplet, tree).starts_with(&path) || tree.dir.starts_with(&path) {
        return refuse(format!("{what} `{written}` holds the study itself"), "name the folders in it that are needed");
    }
    if !(tree.exists)(&path.to_string_lossy()) {
        return Err((format!("{what} `{written}` does not exist"), missing_hint(called, written, &path, tree)));
    }
    Ok(path)
}

/// The top of the repository.
pub(super) fn root<'a>(triplet: &Triplet<'_>, tree: &Tree<'a>) -> &'a Path {
    let levels = Path::new(triplet.folder).components().count();
    tree.dir.ancestors().nth(levels).unwrap_or(tree.dir)
}

/// The absolute path, without `.` and `..`; `None` where there is no home to begin from.
pub(super) fn resolve(written: &str, tree: &Tree<'_>) -> Option<PathBuf> {
    let path = match written.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => tree.home?.join(rest.trim_start_matches('/')),
        _ => tree.dir.join(written),
    };
    Some(plain(&path))
}

fn missing_hint(called: &Called, written: &str, path: &Path, tree: &Tree<'_>) -> String {
    if glob::is_pattern(written) {
        return format!("{} is a path and not a pattern: name the folder", called.one);
    }
    let (Some(above), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return called.example.to_owned();
    };
    let names = (tree.names)(&above.to_string_lossy());
    match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{}`?", written.replacen(name, near, 1)),
        None => "make it before the study begins, or take it out".to_owned(),
    }
}
