//! `overnight export --atif`: every attempt as a trajectory, one object on a line.

use overnight_engine::gateway::traces::{Found, Store};
use overnight_engine::ledger::Reader;
use overnight_engine::load::Site;
use overnight_model::call::Caller;
use overnight_model::trace::{self, Told};
use overnight_model::{ExperimentId, What};
use serde_json::json;

use super::super::calls::{self, Known};
use super::super::sink::Sink;
use crate::error::{CliError, Outcome};
use crate::ui;
use crate::views::json;

/// Writes them, and says how many there were.
pub(super) fn write(site: &Site, reader: &Reader, sink: &mut Sink) -> Outcome<u64> {
    if Store::find(&site.state())?.is_none() {
        return Err(CliError::usage("no call to a model was ever stored for this study")
            .hint("only those that pass through the gateway are"));
    }
    let mut rows = Vec::new();
    reader.each_row(ExperimentId::BASELINE, |row| rows.push(row))?;
    let versions = versions(reader)?;
    let (mut written, mut left_out) = (0, 0);
    for row in rows {
        let known = calls::of(site, reader, row.experiment)?;
        left_out += known.iter().filter(|call| !matches!(call.found, Found::Whole(_))).count();
        for (caller, turn, calls) in attempts(&known) {
            let session = session(&site.study, row.experiment, &caller, turn);
            let (agent, version) = match &caller {
                Caller::Agent { name, .. } => {
                    let version = versions.iter().rev().find_map(|known| known.strip_prefix(&format!("{name} ")));
                    (name.clone(), version.unwrap_or("unknown").to_owned())
                }
                Caller::Task { .. } => {
                    ("task".to_owned(), row.commit.as_ref().map_or("unknown".to_owned(), |id| id.0.clone()))
                }
                Caller::Scorer { .. } => ("scorer".to_owned(), "unknown".to_owned()),
            };
            let mut trajectory = trace::trajectory(&session, &agent, &version, &calls);
            // What came of it is what an optimiser wants to know.
            trajectory["extra"] = json!({
                "study": site.study, "experiment": row.experiment, "verdict": row.verdict, "reason": row.reason,
                "metric": row.metric, "gain": row.gain, "description": row.description,
            });
            sink.put(&format!("{trajectory}\n"));
            written += 1;
        }
    }
    if left_out > 0 {
        ui::say(&format!("note: {left_out} calls are left out: their traces are no longer stored, or damaged"));
    }
    Ok(written)
}

/// Calls by who made them and in which turn, in their order.
fn attempts(known: &[Known]) -> Vec<(Caller, usize, Vec<Told>)> {
    let mut attempts: Vec<(Caller, usize, Vec<Told>)> = Vec::new();
    for call in known {
        let Found::Whole(found) = &call.found else { continue };
        let told = Told {
            asked: trace::asked(found.call.protocol, &found.request).unwrap_or_default(),
            answered: trace::answered(found.call.protocol, &found.answer),
            at: json::rfc3339(found.at),
            model: call
                .called
                .as_ref()
                .and_then(|called| called.outcome.model.clone())
                .unwrap_or_else(|| found.call.model.clone()),
            tokens: call.tokens().copied().unwrap_or_default(),
            cost_usd: call.cost_usd(),
            replayed: found.replayed,
        };
        // A trial is one, whoever's turn it is meanwhile.
        let turn = if found.call.caller.trial().is_some() { 1 } else { call.turn };
        match attempts.iter_mut().find(|(caller, known, _)| *caller == found.call.caller && *known == turn) {
            Some((_, _, calls)) => calls.push(told),
            None => attempts.push((found.call.caller.clone(), turn, vec![told])),
        }
    }
    attempts
}

fn session(study: &str, experiment: ExperimentId, caller: &Caller, turn: usize) -> String {
    match caller {
        Caller::Agent { .. } if turn == 1 => format!("{study}/{experiment}/agent"),
        Caller::Agent { .. } => format!("{study}/{experiment}/agent/{turn}"),
        Caller::Task { trial, .. } => format!("{study}/{experiment}/trial/{trial}"),
        Caller::Scorer { trial, .. } => format!("{study}/{experiment}/scorer/{trial}"),
    }
}

/// The agents of every run, with their versions where those are known.
fn versions(reader: &Reader) -> Outcome<Vec<String>> {
    let mut versions = Vec::new();
    reader.each_unchecked(|stored| {
        if let What::RunStarted(facts) = stored.event.what {
            versions.extend(facts.agent.split(", ").filter(|agent| !agent.is_empty()).map(ToOwned::to_owned));
        }
    })?;
    Ok(versions)
}
