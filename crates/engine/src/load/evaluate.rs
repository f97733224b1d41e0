//! How a trial is run: the command, its time and its environment.

use std::collections::BTreeMap;
use std::ops::Range;

use overnight_model::spec::{Evaluate, Network, Prepare, Scorer, Smoke, Surface};
use overnight_model::units::Millis;
use toml::de::DeValue;

use super::document::{Item, Section};
use super::problem::Collector;
use super::{Tree, Triplet, hidden, inputs};

/// Reads `[evaluate]`; hidden files are still relative to the triplet's folder.
pub(super) fn read(
    problems: &mut Collector<'_>,
    top: &Section<'_>,
    (triplet, tree): (&Triplet<'_>, &Tree<'_>),
    surface: Option<&Surface>,
) -> Option<Evaluate> {
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
    let score = score(problems, &section, budget, surface);
    let prepare = prepare(problems, &section);
    let smoke = smoke(problems, &section);
    let network = problems.network(&section, "network").unwrap_or_default();
    let warm = problems.boolean(&section, "warm").unwrap_or(false);
    let hidden = hidden::read(problems, &section, tree, surface);
    let inputs = inputs::read(problems, &section, (triplet, tree), surface, &hidden);
    let (run, budget) = (run?, budget?);
    let kill = kill.unwrap_or_else(|| Evaluate::default_kill(budget));
    let folder = triplet.folder.trim_end_matches('/').to_owned();
    Some(Evaluate { run, budget, kill, env, folder, score, hidden, inputs, prepare, smoke, network, warm })
}

/// Reads `score`: a command, or one with a wall of its own.
fn score(
    problems: &mut Collector<'_>,
    evaluate: &Section<'_>,
    budget: Option<Millis>,
    surface: Option<&Surface>,
) -> Option<Scorer> {
    let (run, section) = command(problems, evaluate, "score", "evaluate.score", "python3 score.py")?;
    refuse_surface(problems, evaluate, &run, surface);
    let kill = section.and_then(|section| problems.duration(&section, "kill", "a scorer's wall"));
    let kill = kill.unwrap_or_else(|| Scorer::default_kill(budget.unwrap_or_default()));
    Some(Scorer { run, kill })
}

/// Refuses a scorer that is candidate code.
pub(super) fn refuse_surface(
    problems: &mut Collector<'_>,
    section: &Section<'_>,
    run: &str,
    surface: Option<&Surface>,
) {
    let is_surface = |word: &&str| surface.is_some_and(|surface| surface.paths().any(|path| path == *word));
    if let (Some(file), Some(item)) = (words(run).find(is_surface), section.get("score")) {
        let hint = "let a locked file make the numbers, from what `run` left in $OVERNIGHT_OUT";
        problems.add(item.span(), format!("`{file}` is surface, and not there for the scorer"), hint);
    }
}

/// The words of a command, as paths are written in a triplet.
pub(super) fn words(command: &str) -> impl Iterator<Item = &str> {
    command.split_whitespace().map(|word| word.trim_start_matches("./"))
}

fn prepare(problems: &mut Collector<'_>, evaluate: &Section<'_>) -> Option<Prepare> {
    let (run, section) = command(problems, evaluate, "prepare", "evaluate.prepare", "python3 prepare.py")?;
    let network = section.and_then(|section| {
        let network = problems.network(&section, "network")?;
        if network == Network::Models {
            // It runs before anything is counted, and what it leaves is kept for good.
            let what = "`evaluate.prepare.network` must be \"none\" or \"full\"";
            problems.add(section.key_span("network"), what, "a model can be asked in `run` alone");
        }
        Some(network)
    });
    Some(Prepare { run, network: network.unwrap_or(Network::None) })
}

/// Reads `smoke`: a command, or one with a wall of its own.
fn smoke(problems: &mut Collector<'_>, evaluate: &Section<'_>) -> Option<Smoke> {
    let example = "python3 -m py_compile train.py";
    let (run, section) = command(problems, evaluate, "smoke", "evaluate.smoke", example)?;
    let kill = section.and_then(|section| problems.duration(&section, "kill", "a quick command's wall"));
    Some(Smoke { run, kill: kill.unwrap_or(Smoke::KILL) })
}

/// A command that is written as text, or as a table with `run` and more.
pub(super) fn command<'a>(
    problems: &mut Collector<'_>,
    evaluate: &Section<'a>,
    key: &'static str,
    name: &'static str,
    example: &str,
) -> Option<(String, Option<Section<'a>>)> {
    let item = evaluate.get(key)?;
    match item.get_ref() {
        DeValue::String(_) => Some((problems.string(evaluate, key)?, None)),
        DeValue::Table(_) => {
            let section = problems.section(evaluate, key, name)?;
            if section.get("run").is_none() {
                problems.missing(&section, "run", &format!("run = \"{example}\""));
            }
            Some((problems.string(&section, "run")?, Some(section)))
        }
        _ => {
            problems.wrong_type(name, item, "a command or a table", &format!("write `{key} = \"{example}\"`"));
            None
        }
    }
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
pub(super) fn holds_secret(value: &str) -> bool {
    let starts = ["sk-", "ghp_", "gho_", "github_pat_", "hf_", "xoxb-", "xoxp-", "AKIA", "AIza", "glpat-"];
    value.len() >= 16 && starts.iter().any(|start| value.starts_with(start))
}
