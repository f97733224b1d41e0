//! What a draft may say: how something is measured, and nothing about who may reach what.

use std::path::{Component, Path};

use overnight_engine::load::within;
use overnight_engine::rehearse::NewFile;
use overnight_model::spec::{Network, Spec};

/// The rest is for a person to add: who proposes, how long, in which walls, and what is held out.
pub(super) const KEYS: [&str; 4] = ["surface", "metric", "evaluate", "guard"];
pub(super) const EVALUATE: [&str; 10] =
    ["run", "budget", "kill", "env", "prepare", "score", "inputs", "hidden", "warm", "smoke"];
pub(super) const METRIC: [&str; 5] = ["name", "goal", "min_gain", "plausible", "pick"];
/// More files than a night has ideas for.
const MOST_SURFACE: usize = 12;

/// What a drafted triplet says that it may not.
pub(super) fn broken(text: &str, spec: &Spec, files: &[NewFile]) -> Vec<String> {
    let mut broken = Vec::new();
    // Whoever reads it for a study reads the same bytes by stricter rules.
    if let Ok(document) = text.parse::<toml::Table>() {
        let sections = [("", Some(&document), &KEYS[..])]
            .into_iter()
            .chain([("evaluate.", section(&document, "evaluate"), &EVALUATE[..])])
            .chain([("metric.", section(&document, "metric"), &METRIC[..])]);
        for (name, table, allowed) in sections {
            let keys = table.into_iter().flat_map(|table| table.keys());
            let strange = keys.filter(|key| !allowed.contains(&key.as_str()));
            broken.extend(strange.map(|key| format!("`{name}{key}` is not for a draft to set: take it out")));
        }
    }
    if spec.evaluate.prepare.as_ref().is_some_and(|prepare| prepare.network != Network::None) {
        broken.push("`prepare` may not reach a network: take `network` out".to_owned());
    }
    for input in &spec.evaluate.inputs {
        let is_inside = Path::new(&input.path).components().all(|part| matches!(part, Component::Normal(_)))
            && !input.path.starts_with('~');
        if !is_inside {
            broken.push(format!("the input `{}` is not in this repository", input.path));
        }
    }
    let count = spec.surface.files.len();
    if count > MOST_SURFACE {
        broken.push(format!("the surface has {count} files: name the {MOST_SURFACE} or fewer that matter"));
    }
    let own = spec.surface.paths().find(|path| files.iter().any(|file| file.path == *path));
    if let Some(path) = own {
        let path = within(&spec.evaluate.folder, path);
        broken
            .push(format!("the surface has `{path}`, which the draft itself wrote: agents edit what was there before"));
    }
    broken
}

fn section<'a>(document: &'a toml::Table, name: &str) -> Option<&'a toml::Table> {
    document.get(name)?.as_table()
}
