//! What was tried before, out of the latest rows and the ledger's contents.

use overnight_model::brief::untrusted::{tail, visible};
use overnight_model::brief::{Brief, Failure, Kept, NearMiss, Open, Past, Repair, Repeat};
use overnight_model::call::Caller;
use overnight_model::event::Proposed;
use overnight_model::proposal::SurfaceBlob;
use overnight_model::spec::Spec;
use overnight_model::study::{Experiment, Row};
use overnight_model::trace;
use overnight_model::verdict::Group;
use overnight_model::{BlobId, CommitId, ExperimentId, State, Verdict, What};

use super::difference::{Difference, between};
use super::{Memory, Source};
use crate::dispatch::Fault;
use crate::gateway::traces::{Found, Store};
use crate::ledger::{Reader, StoredEvent};

/// How far back near-misses, repeats and failures are looked for.
pub(super) const WINDOW: usize = 300;
const FAILURES: usize = 8;
const KEPT: usize = 40;
/// More diffs of keeps would not fit beside a surface of any size, and the surface holds what they did.
const KEPT_DIFFS: usize = 8;
const NEAR_MISSES: usize = 10;
const REPEATS: usize = 10;
/// A traceback, and what led to it.
const OUTPUT_BYTES: usize = 3000;
/// The last calls of a task tell where it went wrong; those before them how it came there.
const MOST_CALLS: usize = 6;
const CALLS_BYTES: usize = 3000;
const CALLS: &str = "what it asked a model last, and what it was answered:";

const EARLIER: &str = "judged under an earlier evaluation";

impl Memory {
    /// What stands on the branch, oldest first, and how many came before.
    pub(super) fn kept(&mut self, source: Source<'_>) -> Result<(Vec<Kept>, u64), Fault> {
        let state = source.state;
        let is_kept = |found: &&Experiment| matches!(found.verdict, Some((Verdict::Kept, _)));
        let all: Vec<&Experiment> = state.standing().filter(is_kept).collect();
        let before = all.len().saturating_sub(KEPT);
        let mut kept = Vec::new();
        for (at, found) in all.iter().enumerate().skip(before) {
            let estimate = found.estimate.filter(|_| found.segment == state.segment_number());
            let difference = match all.len() - at <= KEPT_DIFFS {
                true => self.difference(source, found.id, found.parent.as_ref(), &found.surface)?,
                false => None,
            };
            kept.push(Kept {
                experiment: found.id,
                description: found.description.clone(),
                gain: estimate.map(|estimate| estimate.gain),
                gain_low: estimate.and_then(|estimate| estimate.low),
                gain_high: estimate.and_then(|estimate| estimate.high),
                diff: difference.and_then(|difference| match difference {
                    Difference::Text(text) => Some(text),
                    Difference::Not(_) => None,
                }),
            });
        }
        Ok((kept, before as u64))
    }

    /// What was measured or refused and not kept, latest last.
    pub(super) fn failures(&mut self, source: Source<'_>, rows: &[Row]) -> Result<Vec<Failure>, Fault> {
        let Some(reader) = source.reader else { return Ok(Vec::new()) };
        let is_failure = |row: &&Row| {
            let group = row.verdict.map(Verdict::group);
            matches!(group, Some(Group::NotBetter | Group::Broken | Group::Refused)) && !Brief::is_undecided(row)
        };
        let mut last: Vec<&Row> = rows.iter().rev().filter(is_failure).take(FAILURES).collect();
        last.reverse();
        let mut failures = Vec::new();
        for row in last {
            let Some(Past { experiment, description, verdict, reason, gain, .. }) =
                told(source.spec, source.state, row)
            else {
                continue;
            };
            if !self.outputs.contains_key(&experiment) {
                let events = reader.events_of(experiment)?;
                let surface = proposed(&events).map(|proposed| proposed.surface.as_slice()).unwrap_or_default();
                self.difference(source, experiment, row.parent.as_ref(), surface)?;
                let output = match last_output(&events).filter(|_| is_loud(row)) {
                    Some(blob) => reader.blob(blob)?.map(|bytes| end_of(&bytes)),
                    None => None,
                };
                let output = match (output, last_calls(reader, experiment, &events)) {
                    (output, None) => output,
                    (output, Some(calls)) => {
                        Some(format!("{}{CALLS}\n{calls}", output.map_or_else(String::new, |text| text + "\n\n")))
                    }
                };
                self.outputs.insert(experiment, output);
            }
            let output = self.outputs.get(&experiment).cloned().flatten();
            let (diff, no_diff) = match self.differences.get(&experiment).cloned() {
                Some(Difference::Text(text)) => (Some(text), None),
                Some(Difference::Not(why)) => (None, Some(why)),
                None => (None, None),
            };
            failures.push(Failure { experiment, description, verdict, reason, gain, diff, no_diff, output });
        }
        Ok(failures)
    }

    /// What crashed at once, as its maker is told.
    pub(super) fn crashed(&self, source: Source<'_>, id: ExperimentId) -> Result<Option<Repair>, Fault> {
        let (Some(found), Some(reader)) = (source.state.find(id), source.reader) else { return Ok(None) };
        let events = reader.events_of(id)?;
        let made_from = found.parent.as_ref();
        let made_from = made_from.and_then(|parent| source.state.standing().find(|standing| standing.is(parent)));
        let diff = match made_from.map(|made_from| between(reader, &made_from.surface, &found.surface)).transpose()? {
            Some(Difference::Text(text)) => Some(text),
            Some(Difference::Not(_)) | None => None,
        };
        let output = match last_output(&events) {
            Some(blob) => reader.blob(blob)?.map(|bytes| end_of(&bytes)),
            None => None,
        };
        let smoked = found.smokes.iter().rfind(|run| run.on.is_none()).map(|run| &run.ending);
        let reason = match found.fresh().last().map(|trial| &trial.measurement) {
            Some(measurement) => format!("{} after {}", measurement.ending, measurement.usage.wall),
            None => smoked.map_or_else(String::new, |ending| format!("{ending}, in the quick look before it is run")),
        };
        Ok(Some(Repair { description: found.description.clone(), reason, diff, output }))
    }

    /// What an experiment changed in what it was made from; `None` where there was nothing.
    fn difference(
        &mut self,
        source: Source<'_>,
        experiment: ExperimentId,
        parent: Option<&CommitId>,
        surface: &[SurfaceBlob],
    ) -> Result<Option<Difference>, Fault> {
        if let Some(known) = self.differences.get(&experiment) {
            return Ok(Some(known.clone()));
        }
        let parent = parent.and_then(|parent| source.state.standing().find(|standing| standing.is(parent)));
        let (Some(parent), Some(reader)) = (parent, source.reader) else { return Ok(None) };
        if surface.is_empty() {
            return Ok(None);
        }
        let found = between(reader, &parent.surface, surface)?;
        self.differences.insert(experiment, found.clone());
        Ok(Some(found))
    }
}

/// Whether what it printed says why it failed.
fn is_loud(row: &Row) -> bool {
    row.verdict.is_some_and(|verdict| verdict.group() == Group::Broken || verdict == Verdict::GuardFailed)
}

fn end_of(output: &[u8]) -> String {
    // Signs take up to four bytes, and what is made visible only grows.
    tail(&String::from_utf8_lossy(&output[output.len().saturating_sub(4 * OUTPUT_BYTES)..]), OUTPUT_BYTES)
}

/// What the candidate's own code asked a model last, in its last trial. A scorer's calls are not for agents, and what cannot
/// be read is not worth a brief.
fn last_calls(reader: &Reader, experiment: ExperimentId, events: &[StoredEvent]) -> Option<String> {
    let last = events.iter().rev().find_map(|stored| match &stored.event.what {
        What::TrialFinished { trial, .. } => Some(*trial),
        _ => None,
    })?;
    let store = Store::find(reader.path().parent()?).ok().flatten()?;
    let mut calls = Vec::new();
    for id in store.of(experiment).ok()?.iter().rev() {
        let Ok(Found::Whole(found)) = store.get(id) else { continue };
        if matches!(found.call.caller, Caller::Task { trial, .. } if trial == last) {
            let asked = trace::asked(found.call.protocol, &found.request).unwrap_or_default();
            calls.push((asked, trace::answered(found.call.protocol, &found.answer)));
        }
        if calls.len() == MOST_CALLS {
            break;
        }
    }
    calls.reverse();
    let told = trace::digest(calls.iter(), CALLS_BYTES);
    (!told.is_empty()).then(|| visible(&told))
}

/// A verdict in short. Numbers of another evaluation would mislead; what was tried and what came of it need not.
pub(super) fn told(spec: &Spec, state: &State, row: &Row) -> Option<Past> {
    let verdict = row.verdict.filter(|verdict| *verdict != Verdict::Baseline)?;
    let is_present = row.segment == state.segment_number().0;
    // What a scorer says of a bad number may quote the answers.
    let is_scorers = verdict == Verdict::InvalidMetric && spec.evaluate.score.is_some();
    let reason = match is_scorers {
        true => "the scorer gave no number for it".to_owned(),
        false => row.reason.clone().unwrap_or_default(),
    };
    Some(Past {
        experiment: row.experiment,
        description: row.description.clone(),
        verdict: verdict.name(),
        reason: if is_present { reason } else { EARLIER.to_owned() },
        metric: row.metric.filter(|_| is_present),
        gain: row.gain.filter(|_| is_present),
        undecided: is_present && Brief::is_undecided(row),
    })
}

/// What noise hides, the least promising first.
pub(super) fn near_misses(state: &State, rows: &[Row]) -> Vec<NearMiss> {
    let segment = state.segment_number().0;
    let mut near: Vec<&Row> = rows.iter().filter(|row| row.segment == segment && Brief::is_undecided(row)).collect();
    near.sort_by(|a, b| a.gain.unwrap_or(f64::MIN).total_cmp(&b.gain.unwrap_or(f64::MIN)));
    let most = near.split_off(near.len().saturating_sub(NEAR_MISSES));
    let told = |row: &Row| NearMiss {
        experiment: row.experiment,
        description: row.description.clone(),
        gain: row.gain,
        gain_low: row.gain_low,
        gain_high: row.gain_high,
        trials: row.trials,
    };
    most.into_iter().map(told).collect()
}

/// What was proposed a second time, latest last, each description once.
pub(super) fn repeats(rows: &[Row]) -> Vec<Repeat> {
    let mut found: Vec<Repeat> = Vec::new();
    for row in rows.iter().rev().filter(|row| row.verdict == Some(Verdict::Duplicate)) {
        if found.len() < REPEATS && found.iter().all(|known| known.description != row.description) {
            let (description, reason) = (row.description.clone(), row.reason.clone().unwrap_or_default());
            found.push(Repeat { experiment: row.experiment, description, reason });
        }
    }
    found.reverse();
    found
}

/// What has no verdict yet.
pub(super) fn open(state: &State) -> Vec<Open> {
    let under_way = |open: &Experiment| Open { experiment: open.id, description: open.description.clone() };
    state.open().filter(|open| open.id != state.baseline() && open.content.is_some()).map(under_way).collect()
}

fn proposed(events: &[StoredEvent]) -> Option<&Proposed> {
    events.iter().rev().find_map(|stored| stored.event.what.made())
}

/// What the candidate's own run or guard printed last. A scorer's output is not for agents: it may quote what they must
/// not see. Nor is what the champion printed about this experiment.
fn last_output(events: &[StoredEvent]) -> Option<&BlobId> {
    let (mut last, mut on_champion) = (None, false);
    for stored in events {
        match &stored.event.what {
            What::GuardStarted { on, .. } | What::SmokeStarted { on, .. } => on_champion = on.is_some(),
            What::GuardFinished { output: Some(output), .. } | What::SmokeFinished { output: Some(output), .. }
                if !on_champion =>
            {
                last = Some(&output.blob);
            }
            What::TrialFinished { measurement, .. } => {
                last = measurement.output.as_ref().map(|output| &output.blob).or(last);
            }
            _ => {}
        }
    }
    last
}
