//! What a person who is away is told, in the words that every other view has.

use overnight_engine::notify::Notice;
use overnight_model::event::{Event, Judged, StopReason, What};
use overnight_model::spec::Occasion;
use overnight_model::study::{Row, Summary};
use overnight_model::units::short_number;
use overnight_model::{ExperimentId, State, Timestamp, Verdict};
use serde_json::{Map, Value, json};

use super::{night, term};
use crate::ui::one_line;

/// Of a stranger's text; all of it is in the report.
const MOST_CHARACTERS: usize = 300;

/// What an event is news of, if of anything; the end of a run is told by [`end`].
pub(crate) fn of(event: &Event, state: &State, study: &str, flag: &str) -> Option<(Occasion, Notice)> {
    let notice = match &event.what {
        What::BranchAdvanced { experiment, retracted: None, .. } => {
            let is_carried = || {
                let carried = state.segment.as_ref().and_then(|facts| facts.carried.as_ref());
                carried.is_some_and(|carried| carried.experiment == Some(*experiment))
            };
            let row = state.row(*experiment).filter(|row| row.verdict == Some(Verdict::Kept) && !is_carried())?;
            champion(&row, state.summary().as_ref(), study)
        }
        What::BranchAdvanced { experiment, retracted: Some(retracted), .. } => {
            taken_back(&state.row(*retracted)?, *experiment, study)
        }
        What::Judged(Judged { experiment, verdict: Verdict::Suspect, .. }) => {
            suspect(&state.row(*experiment)?, study, flag)
        }
        _ => return None,
    };
    let occasion = if notice.event == "suspect" { Occasion::Suspect } else { Occasion::Champion };
    Some((occasion, dated(notice, event.at)))
}

/// The end of a run.
pub(crate) fn end(
    reason: &StopReason,
    summary: Option<&Summary>,
    study: &str,
    flag: &str,
    at: Timestamp,
) -> (Occasion, Notice) {
    let occasion = match reason {
        reason if reason.is_planned() => Occasion::End,
        StopReason::EngineErrors { .. } | StopReason::Fault { .. } => Occasion::Fault,
        _ => Occasion::Stop,
    };
    let what = match occasion {
        Occasion::End => "the run is over",
        Occasion::Fault => "a fault ended the run",
        _ => "the run has stopped",
    };
    let sentence = short(&term::stop_sentence(reason));
    let mut lines = vec![sentence.clone()];
    if let Some(summary) = summary {
        lines.extend(term::waiting(summary, flag).map(|line| squeezed(&line)));
        lines.extend(night::gained(summary).map(|gained| format!("gain {gained}")));
        lines.push(term::counts(summary));
    }
    lines.push(format!("overnight report{flag}"));
    let why = serde_json::to_value(reason).ok().and_then(|reason| reason.get("why").cloned());
    let mut facts = object(json!({ "why": why, "reason": sentence }));
    if let Some(summary) = summary {
        let gained = summary.gained;
        facts.extend(object(json!({
            "metric": summary.metric,
            "value": summary.champion.as_ref().and_then(|level| level.metric),
            "gain": summary.gain(),
            "gain_low": gained.and_then(|gained| gained.low),
            "gain_high": gained.and_then(|gained| gained.high),
            "experiments": summary.experiments,
            "kept": summary.kept,
            "suspects": summary.suspects,
        })));
    }
    let notice = Notice::new(occasion.name(), study, titled(study, what), lines.join("\n"), facts);
    (occasion, dated(notice, at))
}

/// What `check --notify` sends.
pub(crate) fn test(study: &str, at: Timestamp) -> Notice {
    let text = "this is how you would be told: overnight check --notify".to_owned();
    dated(Notice::new("test", study, titled(study, "a test"), text, Map::new()), at)
}

fn champion(row: &Row, summary: Option<&Summary>, study: &str) -> Notice {
    let metric = summary.map_or("the metric", |summary| summary.measured_in(row.segment).0);
    let value = row.metric.map_or_else(|| "unknown".to_owned(), short_number);
    let mut lines = vec![format!("{metric} {value}, gain {}", gain(row))];
    lines.extend((!row.description.is_empty()).then(|| short(&row.description)));
    lines.extend(summary.and_then(night::gained).map(|gained| format!("in all {gained}")));
    let title = titled(study, &format!("experiment {} is the new champion", row.experiment));
    Notice::new("champion", study, title, lines.join("\n"), facts(row, metric))
}

fn taken_back(row: &Row, now: ExperimentId, study: &str) -> Notice {
    let champion = term::whose(now);
    let mut lines = vec![format!("the champion is {champion} again")];
    lines.extend(row.reason.as_deref().map(short));
    let title = titled(study, &format!("experiment {} did not hold and was taken back", row.experiment));
    let facts = facts(row, "").into_iter().chain([("champion".to_owned(), json!(now.0))]).collect();
    Notice::new("champion", study, title, lines.join("\n"), facts)
}

fn suspect(row: &Row, study: &str, flag: &str) -> Notice {
    let mut lines: Vec<String> = row.reason.as_deref().map(short).into_iter().collect();
    lines.extend((!row.description.is_empty()).then(|| short(&row.description)));
    lines.push(format!("overnight review{flag}"));
    let title = titled(study, &format!("experiment {} is suspect and waits for your word", row.experiment));
    Notice::new("suspect", study, title, lines.join("\n"), facts(row, ""))
}

/// The gain with its interval, where there is one.
fn gain(row: &Row) -> String {
    let gain = term::gain(row);
    match (row.gain_low, row.gain_high) {
        (Some(low), Some(high)) if low < high => {
            format!("{gain} (95 %: {} to {})", night::rough(low), night::rough(high))
        }
        _ => gain,
    }
}

fn facts(row: &Row, metric: &str) -> Map<String, Value> {
    let mut facts = object(json!({
        "experiment": row.experiment.0,
        "verdict": row.verdict.map(Verdict::name),
        "agent": row.agent,
        "description": short(&row.description),
        "reason": row.reason.as_deref().map(short),
        "value": row.metric,
        "gain": row.gain,
        "gain_low": row.gain_low,
        "gain_high": row.gain_high,
        "commit": row.commit.as_ref().map(|commit| commit.0.as_str()),
    }));
    if !metric.is_empty() {
        facts.insert("metric".to_owned(), json!(metric));
    }
    facts
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn dated(mut notice: Notice, at: Timestamp) -> Notice {
    let at = jiff::Timestamp::from_millisecond(at.0).map(|at| at.to_string()).ok();
    notice.facts.insert("at".to_owned(), json!(at));
    notice
}

fn titled(study: &str, what: &str) -> String {
    format!("overnight · {study}: {what}")
}

/// A line of columns as a sentence.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn short(text: &str) -> String {
    let line = one_line(text.trim());
    match line.char_indices().nth(MOST_CHARACTERS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::board::tests::row;

    #[test]
    fn a_gain_has_its_interval_and_a_long_text_its_end() {
        let kept = Row {
            gain: Some(0.2),
            gain_low: Some(0.1),
            gain_high: Some(0.3),
            description: "long\nwords ".repeat(100),
            ..row(7, Some(Verdict::Kept), Some(4.0))
        };
        let told = champion(&kept, None, "main");
        let lines: Vec<&str> = told.text.lines().collect();
        assert_eq!(lines[0], "the metric 4, gain +0.2 (95 %: 0.1 to 0.3)");
        assert!(lines[1].starts_with("long words long") && lines[1].ends_with('…') && lines.len() == 2, "{lines:?}");
        assert_eq!(told.facts["experiment"], 7);
    }

    #[test]
    fn one_that_is_taken_back_names_who_is_champion_again() {
        let reason = Some("its repeats do not bear it out".to_owned());
        let gone = Row { reason, ..row(7, Some(Verdict::Retracted), Some(4.0)) };
        let told = taken_back(&gone, ExperimentId(0), "main");
        assert_eq!(told.title, "overnight · main: experiment 7 did not hold and was taken back");
        assert_eq!(told.text, "the champion is the baseline again\nits repeats do not bear it out");
        assert_eq!((&told.facts["verdict"], &told.facts["champion"]), (&"retracted".into(), &0.into()));
        assert!(told.can_wait && told.event == "champion");
    }
}
