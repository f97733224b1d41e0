//! What an evaluation needs and git does not bring: environments, and data that the sources name.

use super::look::{Look, extension_of, name_of};
use super::made;
use super::proposal::{Key, Proposal};

/// What programs write; a new run brings its own.
#[rustfmt::skip]
const WRITTEN: &[&str] = &[
    "out", "output", "outputs", "result", "results", "log", "logs", "tmp", "temp", "build", "dist", "target", "runs",
    "wandb", "__pycache__", "checkpoints", ".pytest_cache", ".benchmarks", ".overnight", ".git", "coverage",
];
const WRITTEN_ENDS: [&str; 5] = ["log", "tsv", "tmp", "pyc", "lock"];
/// As many as fit on a line that people still read.
const MOST: usize = 6;

const NOT_BROUGHT: &str = "git does not bring ";

/// Adds the inputs that can be seen.
pub(super) fn see(look: &Look, proposal: &mut Proposal) {
    let mut found: Vec<(String, String)> = Vec::new();
    for folder in [".venv", "venv"] {
        let run = format!("{} {}", proposal.run, proposal.guard.as_deref().unwrap_or_default());
        let used = run.contains(&format!("{folder}/")) || (folder == ".venv" && run.contains("uv run"));
        if used && look.is_untracked(folder) {
            found.push((folder.to_owned(), "the environment it runs in".to_owned()));
        }
    }
    let commands = format!("{} {}", proposal.run, proposal.guard.as_deref().unwrap_or_default());
    let is_node = commands.split_whitespace().any(|word| ["npm", "npx", "node"].contains(&word));
    if is_node && look.is_untracked("node_modules") {
        found.push(("node_modules".to_owned(), "the packages it uses".to_owned()));
    }
    if commands.split_whitespace().any(|word| word == "cargo") && look.is_untracked("Cargo.lock") {
        found.push(("Cargo.lock".to_owned(), "the versions it was built with".to_owned()));
    }
    if proposal.run.contains("uv run") && !look.is_untracked(".venv") && proposal.missing.is_empty() {
        proposal.missing.push((".venv".to_owned(), "uv sync".to_owned()));
        proposal.because(Key::Inputs, "not there yet: first `uv sync`");
    }
    let sources: Vec<String> = proposal.sources.iter().chain(&proposal.surface).cloned().collect();
    for source in sources {
        let text = look.text(&source).unwrap_or_default();
        found.extend(named(look, &text).into_iter().map(|path| (path, format!("{source} names it"))));
    }
    let near: Vec<&String> = proposal.sources.iter().chain(&proposal.surface).collect();
    found.extend(made::beside_sources(look, &near, proposal.guard.is_some()));
    for (path, reason) in found {
        if !proposal.inputs.contains(&path) && proposal.inputs.len() < MOST {
            let said = match proposal.reason(Key::Inputs) {
                None => Some(format!("{NOT_BROUGHT}{path}: {reason}")),
                Some(said) if said.starts_with(NOT_BROUGHT) && !said.contains(';') => {
                    Some(format!("{said}; {path}: {reason}"))
                }
                Some(_) => None,
            };
            proposal.inputs.push(path);
            if let Some(said) = said {
                proposal.because(Key::Inputs, said);
            }
        }
    }
}

/// The paths in quotes, or after a `<`, that are there and not tracked.
fn named(look: &Look, text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let cuts = |c: char| c.is_whitespace() || "\"'`;=(){}|<>,&".contains(c);
    let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    for word in code.flat_map(|line| line.split(cuts)) {
        let path = match word.strip_prefix("~/") {
            Some(inside) if is_data(inside) && inside.contains('/') && look.is_at_home(inside) => word.to_owned(),
            Some(_) => continue,
            None => match inside(look, word) {
                Some(path) => path,
                None => continue,
            },
        };
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// The widest part of a path that git knows nothing of.
fn inside(look: &Look, word: &str) -> Option<String> {
    let word = word.strip_prefix("./").unwrap_or(word).trim_end_matches('/');
    // A bare word such as `data` is a name of anything, so it has to be a folder of that name.
    let is_bare = !word.contains(['/', '.']);
    if word.is_empty()
        || word.starts_with(['/', '-', '$'])
        || !is_data(word)
        || word.split('/').any(|part| ["", ".", ".."].contains(&part))
    {
        return None;
    }
    if is_bare && !look.dir.join(word).is_dir() {
        return None;
    }
    let ends = word.match_indices('/').map(|(at, _)| at).chain([word.len()]);
    ends.map(|end| &word[..end]).find(|path| look.is_untracked(path)).map(str::to_owned)
}

fn is_data(path: &str) -> bool {
    let written = |part: &str| WRITTEN.contains(&part.to_lowercase().as_str());
    let secret = |part: &str| part.starts_with(".env") || [".ssh", ".aws", ".netrc", ".npmrc"].contains(&part);
    let ended = WRITTEN_ENDS.contains(&extension_of(path)) || name_of(path).is_empty();
    !path.split('/').any(|part| written(part) || secret(part)) && !ended && !path.contains(['*', '?', '\\', '%', '$'])
}
