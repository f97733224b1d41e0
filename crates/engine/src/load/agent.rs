//! Who makes proposals, and by which instructions.

use std::ops::{Range, RangeInclusive};

use overnight_model::spec::{AgentKind, AgentSpec, Member, Network};
use toml::de::DeValue;

use super::document::{Item, Section};
use super::keys::{self, nearest};
use super::member::{self, Settings};
use super::problem::Collector;
use super::surface::list;
use super::{DEFAULT_PROGRAM, Tree};

/// A proposal is ready when a trial ends.
const DEFAULT_AHEAD: u64 = 1;
/// A slip is mended at the first try, or it is none.
const DEFAULT_REPAIRS: u64 = 1;
const MOST_REPAIRS: u64 = 3;
/// More would be answers to questions of long ago.
const MOST_AHEAD: u64 = 64;
/// Less would hardly hold the rules; more than any model reads.
const BRIEF_TOKENS: RangeInclusive<u64> = 2_000..=2_000_000;

pub(super) fn read(problems: &mut Collector<'_>, top: &Section<'_>) -> Option<AgentSpec> {
    if top.get("agent").is_none() {
        let tuner = AgentSpec::one(AgentKind::Tuner, member::DEFAULT_TIMEOUT, Network::Full);
        return Some(AgentSpec { ahead: DEFAULT_AHEAD as u32, repairs: DEFAULT_REPAIRS as u32, ..tuner });
    }
    let section = problems.section(top, "agent", "agent")?;
    let ahead = problems.count(&section, "ahead", 0..=MOST_AHEAD).unwrap_or(DEFAULT_AHEAD) as u32;
    let brief_tokens = problems.count(&section, "brief_tokens", BRIEF_TOKENS).unwrap_or(AgentSpec::BRIEF_TOKENS);
    let repairs = problems.count(&section, "repairs", 0..=MOST_REPAIRS).unwrap_or(DEFAULT_REPAIRS) as u32;
    let context = context(problems, &section);
    let common = Settings::read(problems, &section);
    let named = named(problems, &section)?;
    refuse_tables_of_nobody(problems, &section, &named);
    let mut members: Vec<Member> = Vec::new();
    let mut is_whole = true;
    for (name, place) in &named {
        let read = member::read(problems, &section, &common, name, place.clone());
        is_whole &= read.is_some();
        members.extend(read);
    }
    if !is_whole {
        return None;
    }
    member::refuse_misplaced(problems, &section, &members);
    weigh(problems, &section, &mut members);
    Some(AgentSpec { members, ahead, brief_tokens, repairs, context })
}

/// Files to read, as patterns within the folder of the triplet.
fn context(problems: &mut Collector<'_>, section: &Section<'_>) -> Vec<String> {
    const EXAMPLE: &str = "write `context = [\"papers/*.md\"]`";
    let Some(item) = section.get("context") else { return Vec::new() };
    let mut patterns = Vec::new();
    for item in list(item) {
        let Some(pattern) = item.get_ref().as_str() else {
            problems.wrong_type("agent.context", item, "a path or a list of paths", EXAMPLE);
            continue;
        };
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        match refusal(pattern) {
            Some(why) => {
                problems.add(
                    item.span(),
                    format!("`agent.context` names `{}`: {why}", pattern.escape_debug()),
                    EXAMPLE,
                );
            }
            None => patterns.push(pattern.to_owned()),
        }
    }
    patterns
}

/// Why a pattern may not be shown to an agent, by its letters alone.
fn refusal(pattern: &str) -> Option<&'static str> {
    let mut parts = pattern.split('/');
    if pattern.is_empty() || pattern.contains('\0') {
        Some("it names no file")
    } else if pattern.starts_with(['/', '~']) || parts.clone().any(|part| part == "..") {
        Some("only files below the triplet's folder can be shown")
    } else if parts.any(|part| part == ".git" || part == ".overnight" || super::inputs::is_secret_name(part)) {
        Some("that is where keys and records are kept")
    } else {
        None
    }
}

/// Where the instructions are; a path that is written down must exist.
pub(super) fn program(problems: &mut Collector<'_>, top: &Section<'_>, tree: &Tree<'_>) -> Option<String> {
    let Some(item) = top.get("program") else {
        return Some(DEFAULT_PROGRAM.to_owned());
    };
    let path = problems.string(top, "program")?;
    let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
    if !tree.tracked.contains(&path) && !(tree.exists)(&path) {
        let near = nearest(&path, tree.tracked.iter().map(String::as_str));
        let hint = near.map_or("write it, or leave the key out".to_owned(), |near| format!("did you mean `{near}`?"));
        problems.add(item.span(), format!("program `{path}` does not exist"), hint);
    }
    Some(path)
}

/// The agents that are named, each once, with the place; `tuner` where none is.
fn named(problems: &mut Collector<'_>, section: &Section<'_>) -> Option<Vec<(String, Range<usize>)>> {
    let Some(item) = section.get("use") else {
        return Some(vec![("tuner".to_owned(), section.span())]);
    };
    let items: Vec<Item<'_>> = match item.get_ref() {
        DeValue::Array(items) if items.is_empty() => {
            problems.add(item.span(), "`agent.use` names no agent", "write `use = \"tuner\"`");
            return None;
        }
        DeValue::Array(items) => items.iter().collect(),
        _ => vec![item],
    };
    let mut named: Vec<(String, Range<usize>)> = Vec::new();
    for item in items {
        let Some(name) = item.get_ref().as_str() else {
            problems.wrong_type("agent.use", item, "a string", "write `use = \"tuner\"`");
            return None;
        };
        let name = member::full_name(name);
        if named.iter().any(|(known, _)| known == name) {
            let hint = match name {
                "tuner" => "one is enough".to_owned(),
                _ => format!("a second one has a name of its own: `[agent.NAME]` with `use = \"{name}\"`"),
            };
            problems.add(item.span(), format!("`agent.use` names `{}` twice", name.escape_debug()), hint);
            return None;
        }
        named.push((name.to_owned(), item.span()));
    }
    Some(named)
}

/// Settings for one that is not asked would do nothing.
fn refuse_tables_of_nobody(problems: &mut Collector<'_>, section: &Section<'_>, named: &[(String, Range<usize>)]) {
    for (key, item) in section.entries() {
        let name: &str = key.get_ref();
        let is_known = keys::of("agent").iter().any(|(known, _)| *known == name);
        if is_known || !item.get_ref().is_table() || named.iter().any(|(known, _)| known == name) {
            continue;
        }
        let name = name.escape_debug().to_string();
        let hint = match nearest(&name, named.iter().map(|(known, _)| known.as_str())) {
            Some(near) => format!("did you mean `[agent.{near}]`?"),
            None => format!("add \"{name}\" to `use`, or remove the table"),
        };
        problems.add(key.span(), format!("[agent.{name}] is about an agent that `agent.use` does not name"), hint);
    }
}

/// Gives everyone their share, where shares are written down.
fn weigh(problems: &mut Collector<'_>, section: &Section<'_>, members: &mut [Member]) {
    let Some(item) = section.get("weights") else { return };
    let example = members.iter().map(|member| format!("{} = 1", member.name)).collect::<Vec<_>>().join(", ");
    let Some(table) = item.get_ref().as_table() else {
        let hint = format!("write `weights = {{ {example} }}`");
        return problems.wrong_type("agent.weights", item, "a table", &hint);
    };
    for (key, item) in table {
        let name: &str = member::full_name(key.get_ref());
        let Some(member) = members.iter_mut().find(|member| member.name == name) else {
            let name = name.escape_debug();
            let what = format!("`agent.weights` has one for `{name}`, which `agent.use` does not name");
            problems.add(key.span(), what, format!("write `weights = {{ {example} }}`"));
            continue;
        };
        let path = format!("agent.weights.{name}");
        let Some(weight) = problems.number_of(&path, item) else { continue };
        if weight.get() <= 0.0 {
            problems.add(
                item.span(),
                format!("`{path}` must be more than zero"),
                "to ask it never, leave it out of `use`",
            );
            continue;
        }
        member.weight = Some(weight.get());
    }
    if let Some(left_out) =
        members.iter().find(|member| !table.keys().any(|key| member::full_name(key.get_ref()) == member.name))
    {
        let hint =
            format!("write `weights = {{ {example} }}`, or remove the key: turns then go to those who find most");
        problems.add(item.span(), format!("`agent.weights` has none for `{}`", left_out.name), hint);
    }
}
