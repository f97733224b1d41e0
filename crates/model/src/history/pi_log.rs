//! pi-autoresearch's `log.jsonl`: runs, and a header wherever a new segment begins.

use serde::Serialize;
use serde_json::{Map, Value};

use super::columns::{self, Field};
use super::jsonl::object;
use super::lines::lines;
use super::past::{Entry, Heading, Past};
use super::{Problem, words};
use crate::units::{Goal, Timestamp};
use crate::verdict::Verdict;

pub(super) fn read(bytes: &[u8], each: &mut dyn FnMut(Entry)) -> Result<(), Problem> {
    let mut segment = 1;
    let mut is_empty = true;
    for line in lines(bytes) {
        let object = object(&line)?;
        match object.get("type").and_then(Value::as_str) {
            Some("config") => {
                // A header right after another one corrects it.
                segment += u32::from(!is_empty);
                is_empty = true;
                each(Entry::Segment(heading(&object)));
            }
            // What hooks wrote, and kinds yet to come.
            Some(_) => {}
            None => {
                let past = row(object, segment).map_err(|what| {
                    line.problem(what).hint("a status is keep, discard, crash or checks_failed; no metric is null")
                })?;
                is_empty = false;
                each(Entry::Row(past));
            }
        }
    }
    Ok(())
}

fn heading(object: &Map<String, Value>) -> Heading {
    let text = |name: &str| object.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    let goal = match text("bestDirection").as_deref() {
        Some("lower") => Some(Goal::Min),
        Some("higher") => Some(Goal::Max),
        _ => None,
    };
    Heading { name: text("name"), metric: text("metricName"), unit: text("metricUnit"), goal }
}

fn row(object: Map<String, Value>, segment: u32) -> Result<Past, String> {
    if !object.contains_key("status") && !object.contains_key("metric") {
        return Err("it is neither a run nor a header".to_owned());
    }
    let mut past = Past::default();
    for (key, value) in object {
        let field = match key.as_str() {
            "run" => Field::Number,
            "commit" => Field::Commit,
            "metric" => Field::Metric,
            "status" => Field::Verdict,
            "description" => Field::Description,
            "imported" => Field::Imported,
            "timestamp" => {
                let at = value.as_i64().or_else(|| value.as_f64().map(|at| at as i64));
                past.at = at.filter(|at| *at != 0).and_then(|at| words::known(Timestamp(at)));
                continue;
            }
            // Headers say which segment it is, as they do for pi.
            "segment" => continue,
            "metrics" if value.as_object().is_some_and(Map::is_empty) => continue,
            _ => Field::Other,
        };
        columns::fill(&mut past, field, &key, value)?;
    }
    Ok(Past { segment, ..past }.settled())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metric_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metric_unit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    best_direction: Option<&'static str>,
}

/// The header of a segment.
pub(super) fn print_heading(heading: &Heading) -> String {
    let Heading { name, metric, unit, goal } = heading;
    super::jsonl::line(&Config {
        r#type: "config",
        name: name.as_deref(),
        metric_name: metric.as_deref(),
        metric_unit: unit.as_deref(),
        best_direction: goal.map(|goal| match goal {
            Goal::Min => "lower",
            Goal::Max => "higher",
        }),
    })
}

#[derive(Serialize)]
struct Run<'a> {
    run: u64,
    commit: &'a str,
    metric: Option<f64>,
    metrics: Value,
    status: &'static str,
    description: &'a str,
    timestamp: i64,
    segment: u32,
    confidence: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<&'a str>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

/// Names with a meaning of their own, which nothing else may take.
const TAKEN: [&str; 13] = [
    "type",
    "run",
    "commit",
    "metric",
    "metrics",
    "status",
    "description",
    "timestamp",
    "segment",
    "confidence",
    "imported",
    "study",
    "experiment",
];

/// One run of a segment counted from 0; `None` without a verdict, which pi would take for a keep.
pub(super) fn print(past: &Past, run: u64, segment: u32) -> Option<String> {
    let verdict = past.verdict?;
    let status = match verdict {
        Verdict::GuardFailed => "checks_failed",
        verdict => words::status(verdict),
    };
    let extra = |name: &str| past.extra.get(name).cloned();
    let unknown = words::is_crash(verdict).then_some(0.0);
    Some(super::jsonl::line(&Run {
        run,
        commit: words::short_commit(past.commit.as_deref()),
        metric: past.metric.map(f64::from).or(unknown),
        metrics: extra("metrics").unwrap_or_else(|| Value::Object(Map::new())),
        status,
        description: past.told(),
        timestamp: past.at.map_or(0, |at| at.0),
        segment,
        confidence: extra("confidence").unwrap_or_default(),
        imported: past.imported.as_deref(),
        extra: past.extra.clone().into_iter().filter(|(name, _)| !TAKEN.contains(&name.as_str())).collect(),
    }))
}
