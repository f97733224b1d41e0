//! Lists of experiments: what was kept, what was not, what failed and why, and what waits for a person.

use overnight_model::ExperimentId;
use overnight_model::study::Row;
use overnight_model::units::short_number;
use overnight_model::verdict::{Group, rough};

use super::doc::{Block, Item, Line, Span, Tone};
use super::health;
use super::words::{Depth, Diffs, ours};
use crate::views::board::{Board, Cause, Faded};
use crate::views::{night, term};

/// Enough of a description to know it by, and enough to understand it.
const NAME: usize = 60;
const SENTENCE: usize = 400;

pub(super) fn kept(board: &Board, diffs: &Diffs, depth: Depth) -> Vec<Block> {
    if board.kept.is_empty() {
        return vec![Block::Text("Nothing.".into())];
    }
    let present = board.summary.as_ref().map_or(0, |summary| summary.segment);
    let item = |row: &Row| {
        // Green is for what is sure: the judge keeps what it expects to be better, and says how likely that is.
        let is_sure = row.gain_low.is_none_or(|low| low > 0.0);
        let mut item = experiment(row, if is_sure { Tone::Good } else { Tone::Strong }, board);
        if row.segment != present {
            item.details.push(format!("of segment {}, under an earlier evaluation", row.segment).into());
        }
        item.diff = diff(diffs, row, depth);
        item
    };
    // The latest matter most, and the oldest come first in a story.
    let left_out = board.kept.len().saturating_sub(depth.kept);
    let mut blocks = vec![Block::Items(board.kept[left_out..].iter().map(item).collect())];
    if left_out > 0 {
        let study = &board.setting.study;
        blocks.push(Block::Note(
            Line::from(format!("{left_out} earlier ones are left out: ")).code(format!("git log overnight/{study}")),
        ));
    }
    blocks
}

/// An experiment with what is believed of its gain.
pub(super) fn experiment(row: &Row, tone: Tone, board: &Board) -> Item {
    let figure = row.gain.map(|_| Span::new(gain(row), tone));
    let mut facts = Vec::new();
    if let Some(metric) = row.metric {
        let name = board.summary.as_ref().map_or("metric", |summary| summary.measured_in(row.segment).0);
        facts.push(format!("{name} {}", short_number(metric)));
    }
    facts.push(if row.trials == 1 { "1 trial".to_owned() } else { format!("{} trials", row.trials) });
    facts.push(row.agent.clone());
    facts.extend(row.commit.as_ref().map(|commit| commit.short().to_owned()));
    let mut details = vec![Line::default().with(facts.join(" · "), Tone::Faint)];
    details.extend(row.reason.as_ref().map(|reason| Line::from(short(reason, SENTENCE))));
    let text = short(&row.description, SENTENCE).into();
    Item { name: row.experiment.to_string(), figure, text, details, diff: None }
}

/// The gain over the champion of its time, with its interval.
fn gain(row: &Row) -> String {
    match (row.gain_low, row.gain_high) {
        (Some(low), Some(high)) if low < high => {
            let number = |value: f64| rough(value).replace('-', "−");
            format!("{} ({} to {})", term::gain(row), number(low), number(high))
        }
        _ => term::gain(row),
    }
}

/// A gain of which more digits would say more than is known.
fn believed(gain: f64) -> String {
    let sign = if gain > 0.0 { "+" } else { "" };
    format!("{sign}{}", rough(gain).replace('-', "−"))
}

/// The first lines of what it changed.
fn diff(diffs: &Diffs, row: &Row, depth: Depth) -> Option<String> {
    let text = diffs.get(&row.experiment).filter(|text| !text.is_empty())?;
    let is_change = |line: &&str| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---");
    let lines: Vec<&str> = text.lines().filter(|line| !depth.changed_only || is_change(line)).collect();
    if lines.len() <= depth.diff {
        return Some(lines.join("\n"));
    }
    let left_out = lines.len() - depth.diff;
    Some(format!("{}\n… {left_out} more lines: overnight show {}", lines[..depth.diff].join("\n"), row.experiment))
}

pub(super) fn faded(board: &Board, diffs: &Diffs, depth: Depth) -> Vec<Block> {
    if board.faded.is_empty() {
        return Vec::new();
    }
    let item = |faded: &Faded| {
        let mut item = experiment(&faded.row, Tone::Doubt, board);
        let once = faded.once.map_or_else(|| "unknown".to_owned(), believed);
        let known = match faded.row.gain {
            Some(_) => gain(&faded.row),
            None => "nothing".to_owned(),
        };
        item.figure = Some(Span::new(format!("{once} once, {known} by all"), Tone::Doubt));
        if faded.is_retracted {
            item.details.insert(0, "kept, and taken back".into());
            item.diff = diff(diffs, &faded.row, depth);
        }
        item
    };
    let about = "The best single run against everything that was measured: a run that was picked for being high says \
                 little.";
    let mut blocks = vec![Block::Note(about.into())];
    blocks.push(Block::Items(board.faded.iter().take(depth.others).map(item).collect()));
    blocks.extend(more(board, board.faded.len(), depth.others));
    blocks
}

/// How many are not shown, and where they are.
fn more(board: &Board, all: usize, shown: usize) -> Option<Block> {
    let left_out = all.checked_sub(shown).filter(|left_out| *left_out > 0)?;
    Some(Block::Note(Line::from(format!("{left_out} more: ")).code(ours(board, "log --all"))))
}

pub(super) fn failed(board: &Board, depth: Depth) -> Vec<Block> {
    let mut blocks = Vec::new();
    for group in [Group::Broken, Group::Refused, Group::NotCounted] {
        let causes: Vec<&Cause> = board.causes.iter().filter(|cause| cause.verdict.group() == group).collect();
        if causes.is_empty() {
            continue;
        }
        let all: u64 = causes.iter().map(|cause| cause.count).sum();
        blocks.push(Block::Text(
            Line::default()
                .with(format!("{} {}", night::count(all), group.name()), Tone::Strong)
                .then(format!(": {}", group.meaning())),
        ));
        blocks.push(Block::Items(causes.iter().take(depth.others).map(|cause| caused(cause)).collect()));
        blocks.extend(more(board, causes.len(), depth.others));
    }
    blocks
}

fn caused(cause: &Cause) -> Item {
    let Cause { verdict, reason, varies, said, count, examples } = cause;
    let reason = if *varies { format!("{reason}, and the like") } else { reason.clone() };
    let mut details = Vec::new();
    details.extend(said.as_ref().map(|said| Line::default().code(said.clone())));
    let example = |(id, what): &(ExperimentId, String)| match what.is_empty() {
        true => id.to_string(),
        false => format!("{id} {}", short(what, NAME)),
    };
    let examples: Vec<String> = examples.iter().map(example).collect();
    let such = if *count as usize > examples.len() { "the last: " } else { "" };
    details.push(Line::default().with(format!("{such}{}", examples.join(" · ")), Tone::Faint));
    Item {
        name: format!("{count}×"),
        figure: Some(Span::new(verdict.name(), Tone::Bad)),
        text: short(&reason, SENTENCE).into(),
        details,
        diff: None,
    }
}

/// The beginning of a text that is too long for its place.
fn short(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

pub(super) fn near(board: &Board, diffs: &Diffs, depth: Depth) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !board.near.is_empty() {
        let about =
            "Not kept, and not refuted: what is known of their gain reaches about as far to better as to worse.";
        let item = |row: &Row| {
            let mut item = experiment(row, Tone::Doubt, board);
            item.diff = diff(diffs, row, depth);
            item
        };
        blocks.push(Block::Note(about.into()));
        blocks.push(Block::Items(board.near.iter().take(depth.others).map(item).collect()));
        blocks.extend(more(board, board.near.len(), depth.others));
    }
    if !board.redo.is_empty() {
        blocks.push(Block::Text(
            "To be done again: they were made for a champion that has moved on, and do not merge with the new one."
                .into(),
        ));
        let again = |(id, what): &(ExperimentId, String)| Line::from(format!("{id} {}", short(what, SENTENCE)));
        blocks.push(Block::List(board.redo.iter().take(depth.others).map(again).collect()));
        blocks.extend(more(board, board.redo.len(), depth.others));
    }
    blocks
}

pub(super) fn needs(board: &Board, diffs: &Diffs, depth: Depth) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !board.suspects.is_empty() {
        let item = |row: &Row| {
            let mut item = experiment(row, Tone::Doubt, board);
            item.diff = diff(diffs, row, depth);
            item
        };
        blocks.push(Block::Text(
            Line::from("Numbers that are not to be believed as they are. Read the change, then say ")
                .code(ours(board, "review N --keep"))
                .then(" or ")
                .code(ours(board, "review N --discard"))
                .then("."),
        ));
        blocks.push(Block::Items(board.suspects.iter().take(depth.others).map(item).collect()));
        blocks.extend(more(board, board.suspects.len(), depth.others));
    }
    let rest = health::to_do(board);
    if !rest.is_empty() {
        blocks.push(Block::List(rest));
    }
    if blocks.is_empty() { vec![Block::Text("Nothing.".into())] } else { blocks }
}
