//! How a trial is run: the command, its time and its environment.

use std::collections::BTreeMap;
use std::ops::Range;

use overnight_model::spec::Evaluate;

use super::document::{Item, Section};
use super::problem::Collector;

pub(super) fn read(problems: &mut Collector<'_>, top: &Section<'_>) -> Option<Evaluate> {
    if top.get("evaluate").is_none() {
        problems.missing(top, "evaluate.run", "[evaluate]` with `run = \"python3 train.py\"");
        problems.missing(top, "evaluate.budget", "budget = \"5m\"` to `[evaluate]");
        return None;
    }
    let section = problems.section(top, "evaluate", "evaluate")?;
    if section.get("run").is_none() {
        problems.missing(&section, "run", "run = \"python3 train.py\"");
    }
    if section.get("budget").is_none() {
        problems.missing(&section, "budget", "budget = \"5m\"");
    }
    let run = problems.string(&section, "run");
    let budget = problems.duration(&section, "budget", "a budget");
    let kill = problems.duration(&section, "kill", "a hard wall");
    if let (Some(budget), Some(kill)) = (budget, kill)
        && kill < budget
    {
        let span = section.get("kill")?.span();
        let hint = format!("leave it out for {}", Evaluate::default_kill(budget));
        let message = "`evaluate.kill` must not be less than `evaluate.budget`";
        problems.add(span, message, hint);
    }
    let env = env(problems, &section);
    let (run, budget) = (run?, budget?);
    let kill = kill.unwrap_or_else(|| Evaluate::default_kill(budget));
    Some(Evaluate { run, budget, kill, env, folder: String::new() })
}

/// Whether a variable of this name would hold a secret.
pub(super) fn names_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    ["_KEY", "_TOKEN", "_SECRET", "PASSWORD"].iter().any(|end| name.ends_with(end))
}

fn env(problems: &mut Collector<'_>, evaluate: &Section<'_>) -> BTreeMap<String, String> {
    let Some(item) = evaluate.get("env") else {
        return BTreeMap::new();
    };
    let Some(table) = item.get_ref().as_table() else {
        problems.wrong_type("evaluate.env", item, "a table", "write `env = { NAME = \"value\" }`");
        return BTreeMap::new();
    };
    let mut env = BTreeMap::new();
    for (key, item) in table.iter() {
        let name: &str = key.get_ref();
        if let Some(value) = env_value(problems, name, key.span(), item) {
            env.insert(name.to_owned(), value);
        }
    }
    env
}

fn env_value(problems: &mut Collector<'_>, name: &str, span: Range<usize>, item: Item<'_>) -> Option<String> {
    let value = item.get_ref().as_str();
    if names_secret(name) || value.is_some_and(holds_secret) {
        problems.conceal(item.span());
        let hint = "take it out: this file is in git, for everyone to read";
        problems.add(
            span,
            format!("`{}` looks like a secret: env holds values, never secrets", name.escape_debug()),
            hint,
        );
        return None;
    }
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.chars().all(inner) || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        let hint = "names are letters, digits and `_`, and do not start with a digit";
        problems.add(span, format!("`{}` is not a name for an environment variable", name.escape_debug()), hint);
        return None;
    }
    if name.starts_with("OVERNIGHT_") {
        problems.add(
            span,
            format!("`{name}` is set by overnight itself"),
            "choose a name that does not start with OVERNIGHT_",
        );
        return None;
    }
    match value {
        None => {
            problems.wrong_type(&format!("evaluate.env.{name}"), item, "a string", "put the value in quotes");
            None
        }
        Some(value) if value.contains('\0') => {
            problems.add(item.span(), format!("`evaluate.env.{name}` holds a zero byte"), "");
            None
        }
        Some(value) => Some(value.to_owned()),
    }
}

/// The beginnings that providers give their keys so that they are noticed in the wrong place.
fn holds_secret(value: &str) -> bool {
    let starts = ["sk-", "ghp_", "gho_", "github_pat_", "hf_", "xoxb-", "xoxp-", "AKIA", "AIza", "glpat-"];
    value.len() >= 16 && starts.iter().any(|start| value.starts_with(start))
}
