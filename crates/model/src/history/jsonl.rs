//! One JSON object per line: the lines of `log --json`, and those of tools that name things alike.

use serde::Serialize;
use serde_json::{Map, Value};

use super::columns::{self, Field};
use super::lines::{Line, lines};
use super::past::{Entry, Heading, Past};
use super::{Column, Problem, words};

pub(super) fn read(bytes: &[u8], metric: Column<'_>, each: &mut dyn FnMut(Entry)) -> Result<(), Problem> {
    let mut named = false;
    for line in lines(bytes) {
        let object = object(&line)?;
        let fields = columns::meanings(object.keys().map(String::as_str), metric);
        let place = |wanted: Field| fields.iter().position(|field| *field == wanted);
        if place(Field::Metric).is_none() && place(Field::Verdict).is_none() {
            let (Column::Usual(name) | Column::Named(name)) = metric;
            let what = format!("it has neither a `verdict` nor a `metric` (or `{name}`)");
            return Err(line.problem(what).hint("take lines that are no experiments out of the file first"));
        }
        let name = place(Field::Metric).and_then(|index| object.keys().nth(index)).filter(|name| *name != "metric");
        if let Some(name) = name.filter(|_| !named) {
            each(Entry::Segment(Heading { metric: Some(name.clone()), ..Heading::default() }));
            named = true;
        }
        let mut past = Past::default();
        for ((key, value), field) in object.into_iter().zip(fields) {
            let filled = columns::fill(&mut past, field, &key, value);
            filled.map_err(|what| line.problem(what).hint("a number that is not known is null"))?;
        }
        each(Entry::Row(past.settled()));
    }
    Ok(())
}

/// The object on a line.
pub(super) fn object(line: &Line<'_>) -> Result<Map<String, Value>, Problem> {
    let text = line.text()?;
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(line.problem("it is no JSON object")),
        Err(error) => {
            let hint = match text.trim_start() {
                text if text.starts_with('[') => "one object per line: `jq -c '.[]' FILE` makes them of a list",
                text if text.trim_end() == "{" => "one object per line: `jq -c . FILE` makes them so",
                text if text.contains("NaN") || text.contains("Infinity") => "JSON has no NaN: write null",
                _ => "every line has to be one whole object",
            };
            Err(line.problem(format!("it is no JSON: {error}")).hint(hint).cut(!line.ended && error.is_eof()))
        }
    }
}

/// A line in the order of the contract. Only what is not the study's own has more than that.
#[derive(Serialize)]
struct Contract<'a> {
    experiment: Option<u64>,
    study: &'a str,
    segment: u32,
    parent: Option<&'a str>,
    commit: Option<&'a str>,
    agent: Option<&'a str>,
    description: &'a str,
    verdict: Option<&'static str>,
    reason: Option<&'a str>,
    metric: Option<f64>,
    gain: Option<f64>,
    gain_low: Option<f64>,
    gain_high: Option<f64>,
    trials: Option<u32>,
    seconds: Option<f64>,
    cost_usd: Option<f64>,
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_gb: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<&'a Map<String, Value>>,
}

pub(super) fn print(past: &Past, study: &str) -> String {
    let Past {
        number,
        segment,
        commit,
        parent,
        agent,
        description,
        verdict,
        reason,
        metric,
        gain,
        gain_low,
        gain_high,
        trials,
        seconds,
        cost_usd,
        memory_gb,
        at,
        imported,
        extra,
    } = past;
    line(&Contract {
        // What was imported has no number among the study's own experiments.
        experiment: number.filter(|_| imported.is_none()),
        study,
        segment: *segment,
        parent: parent.as_deref(),
        commit: commit.as_deref(),
        agent: agent.as_deref(),
        description,
        verdict: verdict.map(|verdict| verdict.name()),
        reason: reason.as_deref(),
        metric: metric.map(f64::from),
        gain: gain.map(f64::from),
        gain_low: gain_low.map(f64::from),
        gain_high: gain_high.map(f64::from),
        trials: *trials,
        seconds: seconds.map(f64::from),
        cost_usd: cost_usd.map(f64::from),
        started_at: at.and_then(words::rfc3339),
        memory_gb: memory_gb.map(f64::from),
        imported: imported.as_deref(),
        extra: (!extra.is_empty()).then_some(extra),
    })
}

/// One object on one line.
pub(super) fn line(value: &impl Serialize) -> String {
    // Every number in it is finite and every key a string, so there is nothing that could fail.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}
