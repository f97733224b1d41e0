//! What a column or a key means, by its name.

use std::collections::HashMap;

use serde_json::Value;

use super::Column;
use super::past::Past;
use super::words;
use crate::units::Score;

/// What a cell says of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Field {
    Number,
    Study,
    Segment,
    Parent,
    Commit,
    Agent,
    Description,
    Verdict,
    Reason,
    Metric,
    Gain,
    GainLow,
    GainHigh,
    Trials,
    Seconds,
    CostUsd,
    StartedAt,
    MemoryGb,
    Imported,
    Extra,
    /// Kept under its own name.
    Other,
}

/// The names a field goes by, our own first. Where a file has several of them the first in this list is meant.
const NAMES: [(Field, &[&str]); 20] = [
    (Field::Number, &["experiment", "run", "iteration", "experiment_id", "id"]),
    (Field::Study, &["study"]),
    (Field::Segment, &["segment"]),
    (Field::Parent, &["parent"]),
    (Field::Commit, &["commit", "hash", "sha", "commit_hash"]),
    (Field::Agent, &["agent"]),
    (Field::Description, &["description", "summary", "hypothesis", "desc", "idea", "note", "notes"]),
    (Field::Verdict, &["verdict", "status", "outcome"]),
    (Field::Reason, &["reason"]),
    (Field::Metric, &["metric"]),
    (Field::Gain, &["gain"]),
    (Field::GainLow, &["gain_low"]),
    (Field::GainHigh, &["gain_high"]),
    (Field::Trials, &["trials"]),
    (Field::Seconds, &["seconds"]),
    (Field::CostUsd, &["cost_usd"]),
    (Field::StartedAt, &["started_at", "timestamp", "time", "date"]),
    (Field::MemoryGb, &["memory_gb"]),
    (Field::Imported, &["imported"]),
    (Field::Extra, &["extra"]),
];

/// Metrics of tools that name the column after theirs, where a file does not have the study's own.
const KNOWN_METRICS: [&str; 4] = ["val_bpb", "avg_score", "score", "value"];

/// What each of these names means.
pub(super) fn meanings<'a>(names: impl Iterator<Item = &'a str>, metric: Column<'_>) -> Vec<Field> {
    let (Column::Usual(wanted) | Column::Named(wanted)) = metric;
    let wanted = words::plain(wanted);
    let is_named = matches!(metric, Column::Named(_));
    let meaning = |name: &str| match words::plain(name) {
        name if is_named && name == wanted => (Field::Metric, 0),
        name => match rank(&name, &wanted) {
            (Field::Metric, _) if is_named => (Field::Other, 0),
            found => found,
        },
    };
    let ranked: Vec<(Field, usize)> = names.map(meaning).collect();
    let mut best: HashMap<Field, (usize, usize)> = HashMap::new();
    for (index, (field, rank)) in ranked.iter().enumerate() {
        let found = best.entry(*field).or_insert((*rank, index));
        *found = (*found).min((*rank, index));
    }
    let meant = |(index, (field, rank)): (usize, (Field, usize))| match best.get(&field) {
        Some(found) if *found == (rank, index) => field,
        _ => Field::Other,
    };
    ranked.into_iter().enumerate().map(meant).collect()
}

fn rank(name: &str, metric: &str) -> (Field, usize) {
    let known = NAMES.iter().find_map(|(field, names)| {
        let rank = names.iter().position(|known| *known == name)?;
        Some((*field, rank))
    });
    let as_metric = |rank| (Field::Metric, rank);
    match known {
        // A contract name is what it says, even where a metric is called `seconds`.
        Some(found @ (_, 0)) => found,
        _ if name == metric => as_metric(1),
        Some(found) => found,
        None => {
            KNOWN_METRICS.iter().position(|known| *known == name).map_or((Field::Other, 0), |rank| as_metric(rank + 2))
        }
    }
}

/// Writes a cell into its place; says what is wrong with it otherwise.
pub(super) fn fill(past: &mut Past, field: Field, name: &str, cell: Value) -> Result<(), String> {
    match field {
        Field::Metric => past.metric = score(name, &cell)?,
        Field::Gain => past.gain = score(name, &cell)?,
        Field::GainLow => past.gain_low = score(name, &cell)?,
        Field::GainHigh => past.gain_high = score(name, &cell)?,
        Field::Seconds => past.seconds = score(name, &cell)?,
        Field::CostUsd => past.cost_usd = score(name, &cell)?,
        // No program runs in no memory: 0 is how it is written where it is not known.
        Field::MemoryGb => past.memory_gb = score(name, &cell)?.filter(|memory| memory.get() != 0.0),
        Field::Verdict => past.verdict = verdict(name, &cell)?,
        Field::Description => past.description = text(&cell).unwrap_or_default(),
        Field::Commit => past.commit = text(&cell).map(|commit| commit.trim().to_owned()).filter(|it| !is_blank(it)),
        Field::Parent => past.parent = text(&cell).filter(|it| !is_blank(it)),
        Field::Agent => past.agent = text(&cell).filter(|it| !it.is_empty()),
        Field::Reason => past.reason = text(&cell).filter(|it| !it.is_empty()),
        Field::Imported => past.imported = text(&cell).filter(|it| !it.is_empty()),
        Field::StartedAt => past.at = words::moment(&cell),
        Field::Segment => past.segment = whole(&cell).and_then(|n| n.try_into().ok()).unwrap_or_default(),
        Field::Trials => past.trials = whole(&cell).and_then(|n| n.try_into().ok()),
        // Sub-rows such as `5a` are numbers to nobody else.
        Field::Number => match whole(&cell) {
            Some(number) => past.number = Some(number),
            None => keep(past, name, cell),
        },
        // Whose study it was says nothing once it is part of this one.
        Field::Study => {}
        Field::Extra => match cell {
            Value::Object(extra) => past.extra.extend(extra),
            cell => keep(past, name, cell),
        },
        Field::Other => keep(past, name, cell),
    }
    Ok(())
}

fn keep(past: &mut Past, name: &str, cell: Value) {
    let is_empty = cell.is_null() || cell.as_str().is_some_and(str::is_empty);
    if !is_empty {
        past.extra.insert(name.to_owned(), cell);
    }
}

fn score(name: &str, cell: &Value) -> Result<Option<Score>, String> {
    let found = match cell {
        Value::Null => Some(None),
        Value::Number(number) => Some(number.as_f64().and_then(Score::new)),
        Value::String(text) => words::number(text),
        _ => None,
    };
    found.ok_or_else(|| format!("`{name}` is {}, which is no number", shown(cell)))
}

fn verdict(name: &str, cell: &Value) -> Result<Option<crate::Verdict>, String> {
    match cell {
        Value::Null => Ok(None),
        Value::String(word) if is_blank(word) => Ok(None),
        Value::String(word) => match words::verdict(word) {
            Some(verdict) => Ok(Some(verdict)),
            None => Err(format!("`{name}` is {}, which is no verdict", shown(cell))),
        },
        _ => Err(format!("`{name}` is {}, which is no verdict", shown(cell))),
    }
}

fn text(cell: &Value) -> Option<String> {
    match cell {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn whole(cell: &Value) -> Option<u64> {
    match cell {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().trim_matches('-').is_empty()
}

fn shown(cell: &Value) -> String {
    match cell {
        Value::String(text) => format!("`{}`", super::lines::excerpt(text.as_bytes())),
        other => format!("`{}`", super::lines::excerpt(other.to_string().as_bytes())),
    }
}
