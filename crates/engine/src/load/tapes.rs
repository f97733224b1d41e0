//! What is kept of calls to models, and whether recorded ones are served instead.

use overnight_model::spec::{Retention, Surface, TapeSpec};
use toml::de::DeValue;

use super::document::Section;
use super::problem::Collector;
use crate::gateway::traces::is_rule;

const KEEP_HINT: &str = "write it as \"30d\", or \"none\" to store no traces";

pub(super) fn read(problems: &mut Collector<'_>, section: &Section<'_>, surface: Option<&Surface>) -> TapeSpec {
    let mut folder = |key| folder(problems, section, surface, key);
    let (record, replay) = (folder("record"), folder("replay"));
    if record.is_some() && replay.is_some() {
        let what = "`gateway.record` and `gateway.replay` cannot both be set: what is replayed is recorded already";
        problems.add(section.key_span("replay"), what, "remove one of them");
    }
    TapeSpec { record, replay, redact: rules(problems, section), keep: keep(problems, section) }
}

/// A folder below the triplet's: recordings belong to the project, and nothing outside of it is written.
fn folder(problems: &mut Collector<'_>, section: &Section<'_>, surface: Option<&Surface>, key: &str) -> Option<String> {
    let path = problems.string(section, key)?;
    let is_plain = !path.starts_with(['/', '~'])
        && path.split('/').all(|part| !matches!(part, "" | "." | ".." | ".git" | ".overnight"));
    if !is_plain {
        let what = format!("`{}` must be a folder of the project, such as \"recordings\"", section.path(key));
        problems.add(section.get(key)?.span(), what, "");
        return None;
    }
    let is_below = |file: &&str| file.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'));
    if let Some(file) = surface.and_then(|surface| surface.paths().find(is_below)) {
        let what = format!("`{}` is a folder that agents may write to: `{file}` in it is surface", section.path(key));
        problems.add(section.get(key)?.span(), what, "name another folder: an answer must not be an agent's to choose");
        return None;
    }
    Some(path)
}

fn rules(problems: &mut Collector<'_>, section: &Section<'_>) -> Vec<String> {
    let Some(item) = section.get("redact") else { return Vec::new() };
    let hint = "write a list of regular expressions: [\"ghp_[A-Za-z0-9]+\"]";
    let DeValue::Array(items) = item.get_ref() else {
        problems.wrong_type("gateway.redact", item, "a list", hint);
        return Vec::new();
    };
    let mut rules = Vec::new();
    for item in items.iter() {
        match item.get_ref().as_str() {
            None => problems.wrong_type("gateway.redact", item, "a list of strings", hint),
            Some(rule) => match is_rule(rule) {
                Ok(()) => rules.push(rule.to_owned()),
                Err(why) => {
                    let what = format!("`{}` is no regular expression: {why}", rule.escape_debug());
                    problems.add(
                        item.span(),
                        what,
                        "in a \"…\" string of TOML a backslash is written twice; in '…' once",
                    );
                }
            },
        }
    }
    rules
}

fn keep(problems: &mut Collector<'_>, section: &Section<'_>) -> Retention {
    let Some(item) = section.get("keep_traces") else { return Retention::default() };
    match item.get_ref().as_str() {
        Some("none") => Retention::Not,
        Some(_) => problems
            .duration(section, "keep_traces", "`gateway.keep_traces`")
            .map_or(Retention::default(), Retention::For),
        None => {
            problems.wrong_type("gateway.keep_traces", item, "a span of time", KEEP_HINT);
            Retention::default()
        }
    }
}
