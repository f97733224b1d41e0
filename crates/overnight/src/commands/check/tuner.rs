//! `overnight check --tuner`: what the tuner finds to change, within which ranges, and what it leaves alone.

use std::collections::BTreeMap;

use overnight_engine::load::locate;
use overnight_engine::rehearse::Subject;
use overnight_model::tuner::found::{Left, LeftOut, Literal, Site};
use overnight_model::tuner::space::{Domain, Grain, Scale};
use serde_json::{Value, json};

use super::report::{Finding, Level};
use super::screen::{self, WIDTH, wrapped};
use super::tunable::{self, File};
use crate::args::{Check, Place};
use crate::error::{Exit, Outcome};
use crate::ui::{self, printable};

/// Fewer are soon done with.
const LITTLE: usize = 2;

/// As many as a line has room for.
const NAMES: usize = 4;

/// A longer name or text moves the rest of its own line only.
const COLUMN: usize = 36;

pub(super) fn check(place: &Place, args: &Check) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    let subject = Subject::worktree(&site)?;
    let files = tunable::files(&subject);
    if args.json {
        ui::data(&json!({ "study": subject.spec.study, "tuner": as_json(&files) }).to_string());
        return Ok(Exit::Done);
    }
    ui::data(&format!("overnight check --tuner · study {} · the working tree as it is · nothing is run", site.study));
    for file in &files {
        lines(file).iter().for_each(|line| {
            ui::data(line);
        });
    }
    let read: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    for path in subject.spec.surface.paths().filter(|path| !read.contains(path)) {
        ui::data(&format!("{} · no text that could be read", printable(path)));
    }
    for finding in complaints(&files).into_iter().chain(little(&files)) {
        screen::lines(&finding).iter().for_each(|line| {
            ui::data(line);
        });
    }
    Ok(Exit::Done)
}

/// What to say of hints that cannot be followed, each by itself.
pub(super) fn complaints(files: &[File]) -> Vec<Finding> {
    let of_file = |file: &File| {
        let finding = |left: &Left| {
            let name = if left.name.is_empty() { String::new() } else { format!(" {}", left.name) };
            Finding::new("tuner", Level::Warn, format!("{}:{}{name}: {}", file.path, file.line_left(left), left.why))
        };
        file.complaints().map(finding).collect::<Vec<_>>()
    };
    let mut all: Vec<Finding> = files.iter().flat_map(of_file).collect();
    if let Some(last) = all.pop() {
        let next = "a hint is `1..8`, `1e-4..1e-1 log`, `8..64 pow2`, `one of \"a\", \"b\"` or `fixed`, on the line of its value";
        all.push(last.next(next));
    }
    all
}

/// Says when there is not enough for a night.
fn little(files: &[File]) -> Option<Finding> {
    let count = files.iter().map(|file| file.found.literals.len()).sum::<usize>();
    let much = match count {
        0 => "nothing to tune here",
        count if count < LITTLE => "little to tune here: one value is soon done with",
        _ => return None,
    };
    let what = format!("{much}; the tuner changes values, and everything else needs somebody who writes code");
    let next = "name an agent that does: [agent] use = \"command\"; or `overnight try` with ideas of your own";
    Some(Finding::new("tuner", Level::Note, what).next(next))
}

fn lines(file: &File) -> Vec<String> {
    let (found, left) = (&file.found.literals, &file.found.left_out);
    let mut lines = vec![format!("{} · {} to tune · {} left out", printable(&file.path), found.len(), left.len())];
    let widest = |shown: &dyn Fn(&Literal) -> &str| {
        let fits = |width: &usize| *width <= COLUMN;
        found.iter().map(|literal| printable(shown(literal)).chars().count()).filter(fits).max().unwrap_or(0)
    };
    let (wide, side) = (widest(&|literal| &literal.name), widest(&|literal| &literal.text));
    for literal in found {
        let from = if literal.hinted { "hint" } else { "inferred" };
        let (name, text, range) = (printable(&literal.name), printable(&literal.text), range(literal));
        lines.push(format!("  {name:<wide$}  {text:<side$}  {range} ({from})"));
    }
    let mut groups: BTreeMap<&LeftOut, Vec<&Left>> = BTreeMap::new();
    for left in left.iter().filter(|left| !matches!(left.why, LeftOut::Hint(_))) {
        groups.entry(&left.why).or_default().push(left);
    }
    for (why, group) in groups {
        let text = format!("{}: {why}", names(file, why, &group));
        let parts = wrapped(&printable(&text), WIDTH - 12);
        let starts = std::iter::once("  left out  ").chain(std::iter::repeat("            "));
        lines.extend(starts.zip(parts).map(|(start, part)| format!("{start}{part}")));
    }
    lines
}

/// Who is meant: by name, or by line where a name says less.
fn names(file: &File, why: &LeftOut, group: &[&Left]) -> String {
    let (mut named, mut lines): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut count = 0;
    for left in group {
        let is_part = matches!(why, LeftOut::Expression | LeftOut::Table) || !left.is_whole;
        count += usize::from(is_part);
        let (into, one) = match is_part {
            true => (&mut lines, file.line_left(left).to_string()),
            false => (&mut named, left.name.clone()),
        };
        if !into.contains(&one) && into.len() <= NAMES {
            into.push(one);
        }
    }
    let listed = |all: &[String]| {
        let more = if all.len() > NAMES { ", …" } else { "" };
        format!("{}{more}", all[..all.len().min(NAMES)].join(", "))
    };
    let plural = if lines.len() == 1 { "line" } else { "lines" };
    match (named.is_empty(), lines.is_empty()) {
        (_, true) => listed(&named),
        (true, false) => format!("{count} on {plural} {}", listed(&lines)),
        (false, false) => format!("{}, and {count} on {plural} {}", listed(&named), listed(&lines)),
    }
}

/// `0.004 to 0.4, log`
fn range(literal: &Literal) -> String {
    match literal.domain {
        Domain::Choice { .. } => printable(&format!("one of {}", literal.options.join(", "))),
        Domain::Number { low, high, scale, grain } => {
            let steps = match (grain, scale) {
                (Grain::PowerOfTwo, _) => ", powers of two",
                (_, Scale::Log) => ", log",
                (_, Scale::Linear) => "",
            };
            let whole = if grain == Grain::Whole { ", whole" } else { "" };
            format!("{} to {}{whole}{steps}", number(low), number(high))
        }
    }
}

/// As people write it: `3e-6`, not `0.000003`.
fn number(value: f64) -> String {
    let size = value.abs();
    match size != 0.0 && !(1e-3..1e9).contains(&size) {
        true => format!("{value:e}"),
        false => format!("{value}"),
    }
}

fn as_json(files: &[File]) -> Value {
    let literal = |file: &File, literal: &Literal| {
        let Literal { name, text, value, domain, options, site, hinted, .. } = literal;
        let (low, high, scale, grain) = match domain {
            Domain::Number { low, high, scale, grain } => (Some(low), Some(high), Some(*scale), Some(*grain)),
            Domain::Choice { .. } => (None, None, None, None),
        };
        json!({
            "name": name, "line": file.line(literal), "text": text, "value": low.map(|_| value), "low": low, "high": high,
            "scale": scale.map(|scale| match scale {
                Scale::Linear => "linear",
                Scale::Log => "log",
            }),
            "grain": grain.map(|grain| match grain {
                Grain::Any => "any",
                Grain::Whole => "whole",
                Grain::PowerOfTwo => "power_of_two",
            }),
            "options": low.is_none().then_some(options),
            "site": match site {
                Site::Constant => "constant",
                Site::Default => "default",
                Site::Local => "local",
                Site::Argument => "argument",
                Site::Line => "line",
            },
            "from": if *hinted { "hint" } else { "inferred" },
        })
    };
    let left_out = |file: &File, left: &Left| {
        let Left { name, text, why, .. } = left;
        let line = file.line_left(left);
        json!({ "name": name, "line": line, "text": text, "reason": why.name(), "what": why.to_string() })
    };
    let count = files.iter().map(|file| file.found.literals.len()).sum::<usize>();
    let files = files.iter().map(|file| {
        let literals: Vec<Value> = file.found.literals.iter().map(|one| literal(file, one)).collect();
        let left: Vec<Value> = file.found.left_out.iter().map(|one| left_out(file, one)).collect();
        json!({ "path": file.path, "literals": literals, "left_out": left })
    });
    json!({ "literals": count, "little": count < LITTLE, "files": files.collect::<Vec<_>>() })
}
