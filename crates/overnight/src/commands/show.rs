//! `overnight show N`: one experiment in full.

use overnight_engine::holdout::openings;
use overnight_engine::ledger::{Reader, StoredEvent};
use overnight_engine::load::Site;
use overnight_engine::worker::HINT_MARK;
use overnight_model::event::{ModelUse, Proposed, Purpose};
use overnight_model::measure::{Output, Usage};
use overnight_model::study::Row;
use overnight_model::units::short_number;
use overnight_model::verdict::rough;
use overnight_model::{ExperimentId, Measurement, Score, TrialId, What};
use serde_json::json;

mod guards;
mod judged;
mod literals;
mod ran;
mod repairs;
mod sheet;
mod smokes;
mod trace;
mod turn;

use self::judged::Case;
use self::sheet::Fact;
pub(crate) use self::sheet::Sheet;
use crate::args::{Place, Show};
use crate::error::{CliError, Exit, Outcome};
use crate::ui::{self, printable};
use crate::views::{json, night, team, term};

/// What an agent printed while it mended something; what is shown unasked is what was run.
const REPAIR: &str = "the agent's repair";

/// What stands where contents were.
const FORGOTTEN: &str = "forgotten on request";

/// Whose output only people see.
pub(crate) const SCORER: &str = "the scorer";

pub(crate) fn show(place: &Place, args: &Show) -> Outcome<Exit> {
    let (site, reader) = super::ledger(place)?;
    if args.what == "literals" {
        return literals::show(site, &reader, args.json);
    }
    let id = which(&reader, &args.what)?;
    if args.trace {
        return traced(&site, &reader, id, args);
    }
    if args.json {
        ui::data(&object(&site, &reader, id)?.to_string());
        return Ok(Exit::Done);
    }
    if args.output {
        for (title, text) in printed(&reader, id)? {
            ui::data(&format!("== {title}"));
            ui::data(&text);
        }
        return Ok(Exit::Done);
    }
    let mut sheet = sheet(&site, &reader, id)?;
    match args.html.as_deref() {
        Some(path) => {
            sheet.trace = trace::calls(&site, &reader, id).unwrap_or_default();
            super::report::written(path, sheet.html(&site.study).as_bytes())?
        }
        None => drop(ui::data(&sheet.lines().join("\n"))),
    }
    Ok(Exit::Done)
}

/// Everything that is said of one experiment.
pub(crate) fn sheet(site: &Site, reader: &Reader, id: ExperimentId) -> Outcome<Sheet> {
    let row = row_of(reader, id)?;
    let events = reader.events_of(id)?;
    let diff = super::origin::diff(reader, &events)?;
    let mut summary = reader.summary()?;
    summary.iter_mut().for_each(|summary| super::standing::add_probe(site, summary));
    let case = Case::of(reader, &row, &events, summary.as_ref())?;
    let metric = summary.as_ref().map_or("metric", |summary| summary.measured_in(row.segment).0);
    let record = summary.as_ref().map(|summary| team::record(summary, &row.agent)).unwrap_or_default();
    let mut facts = head(&row, metric, &record);
    facts.extend(turn::why(&events));
    facts.extend(model_line(&events));
    facts.extend(turn::calls(&events));
    facts.extend(case.facts());
    if reader.without_contents()?.contains(&id) {
        facts.push(("contents", FORGOTTEN.to_owned()));
    }
    let mut trials = repairs::lines(&events);
    trials.extend(smokes::lines(&events));
    trials.extend(trial_lines(&events));
    trials.extend(case.trial_lines());
    trials.extend(guards::lines(&events));
    // What the champion printed is not about this experiment.
    let mut own =
        outputs(&events).into_iter().filter(|(title, _)| !title.ends_with(ran::ON_CHAMPION) && title != REPAIR);
    let output = match own.next_back() {
        Some((title, output)) => Some((title, output.bytes, text_of(reader, output)?)),
        None => None,
    };
    let trust = summary.as_ref().map(|summary| night::trust_of(summary, openings(site)));
    let facts = facts.into_iter().map(|(name, said)| (name.to_owned(), said)).collect();
    Ok(Sheet { title: title(&row), facts, trials, diff, output, trace: Vec::new(), trust })
}

/// What models were asked for it and what they said, folded; nothing where nothing is stored.
pub(crate) fn conversation(site: &Site, reader: &Reader, id: ExperimentId) -> Vec<String> {
    trace::lines(site, reader, id, &trace::How::default()).unwrap_or_default()
}

fn traced(site: &Site, reader: &Reader, id: ExperimentId, args: &Show) -> Outcome<Exit> {
    if args.json {
        for object in trace::objects(site, reader, id)? {
            ui::data(&object.to_string());
        }
        return Ok(Exit::Done);
    }
    let how = trace::How { full: args.full, search: args.search.as_deref() };
    ui::data(trace::lines(site, reader, id, &how)?.join("\n").trim_end());
    Ok(Exit::Done)
}

/// The object of `show --json`.
pub(crate) fn object(site: &Site, reader: &Reader, id: ExperimentId) -> Outcome<serde_json::Value> {
    let (row, events) = (row_of(reader, id)?, reader.events_of(id)?);
    let mut summary = reader.summary()?;
    summary.iter_mut().for_each(|summary| super::standing::add_probe(site, summary));
    let case = Case::of(reader, &row, &events, summary.as_ref())?;
    let mut object = as_json(&site.study, &row, &events, &case, &super::origin::diff(reader, &events)?);
    if reader.without_contents()?.contains(&id) {
        object["diff"] = json!(null);
        object["forgotten"] = json!(true);
    }
    Ok(object)
}

/// Everything that was kept of what an experiment printed, with what printed it.
pub(crate) fn printed(reader: &Reader, id: ExperimentId) -> Outcome<Vec<(String, String)>> {
    row_of(reader, id)?;
    let events = reader.events_of(id)?;
    outputs(&events).into_iter().map(|(title, output)| Ok((title, text_of(reader, output)?))).collect()
}

pub(crate) fn row_of(reader: &Reader, id: ExperimentId) -> Outcome<Row> {
    let none = || CliError::usage(format!("there is no experiment {id}")).hint("`overnight log` lists them");
    reader.row(id)?.ok_or_else(none)
}

/// What the engine added to the last output of the baseline: why it may have failed.
pub(crate) fn baseline_hint(state: &std::path::Path) -> Option<String> {
    let reader = Reader::open(state).ok()?;
    let events = reader.events_of(which(&reader, "baseline").ok()?).ok()?;
    let (_, output) = outputs(&events).pop()?;
    let text = text_of(&reader, output).ok()?;
    text.lines().last()?.strip_prefix(HINT_MARK).map(ToOwned::to_owned)
}

pub(crate) fn which(reader: &Reader, what: &str) -> Outcome<ExperimentId> {
    match what {
        "baseline" | "champion" => {
            let summary = reader.summary()?;
            let champion =
                summary.as_ref().and_then(|summary| summary.champion.as_ref()).filter(|_| what == "champion");
            let level = champion.or_else(|| summary.as_ref()?.baseline.as_ref());
            Ok(level.map_or(ExperimentId::BASELINE, |level| level.experiment))
        }
        number => number.parse().map(ExperimentId).map_err(|_| {
            CliError::usage(format!("`{number}` is not an experiment"))
                .hint("use a number, `champion`, `baseline` or `literals`")
        }),
    }
}

fn title(row: &Row) -> String {
    let verdict = row.verdict.map_or("no verdict yet", |verdict| verdict.name());
    format!("experiment {} · {verdict}", row.experiment)
}

fn head<'a>(row: &Row, metric: &'a str, record: &str) -> Vec<Fact<'a>> {
    let commit = |id: &Option<overnight_model::CommitId>| id.as_ref().map_or("-".to_owned(), |id| id.0.clone());
    let mut facts: Vec<Fact<'a>> = Vec::new();
    facts.extend(row.reason.as_ref().map(|reason| ("why", reason.clone())));
    facts.push(("hypothesis", row.description.clone()));
    facts.push(("agent", format!("{}{record}", row.agent)));
    facts.push(("started", term::local_time(row.started_at)));
    facts.push(("commit", commit(&row.commit)));
    if row.parent.is_some() {
        facts.push(("parent", commit(&row.parent)));
    }
    if let Some(value) = row.metric {
        facts.push((metric, short_number(value)));
    }
    if row.gain.is_some() {
        let (expected, interval) = match (row.gain_low, row.gain_high) {
            (Some(low), Some(high)) if low < high => {
                (" expected", format!(", 95 % interval {} to {}", rough(low), rough(high)))
            }
            _ => ("", String::new()),
        };
        facts.push(("gain", format!("{}{expected} over the champion of its time{interval}", term::gain(row))));
    }
    facts
}

fn finished(events: &[StoredEvent]) -> impl Iterator<Item = (TrialId, Option<(Purpose, u32)>, &Measurement)> {
    events.iter().filter_map(|stored| match &stored.event.what {
        What::TrialFinished { trial, measurement, .. } => {
            let started = events.iter().find_map(|other| match &other.event.what {
                What::TrialStarted { trial: id, purpose, seed, .. } if id == trial => Some((*purpose, seed.0)),
                _ => None,
            });
            Some((*trial, started, measurement))
        }
        _ => None,
    })
}

fn trial_lines(events: &[StoredEvent]) -> Vec<String> {
    let mut lines = Vec::new();
    for (trial, started, measurement) in finished(events) {
        let Usage { wall, cpu, peak_bytes } = measurement.usage;
        let result = match (&measurement.metric, &measurement.problem) {
            (Some(score), _) => short_number(score.get()),
            (None, Some(problem)) => printable(&problem.to_string()),
            (None, None) => measurement.ending.to_string(),
        };
        let (purpose, seed) = started.map_or(("trial", 0), |(purpose, seed)| (purpose_name(purpose), seed));
        lines.push(format!(
            "  trial {trial:<5} {purpose:<9} {result:>12}  seed {seed} · {:.3} s wall · {:.3} s cpu · {:.1} MB peak{}{}",
            wall.as_secs(),
            cpu.as_secs(),
            peak_bytes as f64 / 1e6,
            measurement.claim.map_or_else(String::new, |claim| format!(" · claimed {}", short_number(claim.get()))),
            if measurement.replayed { " · replayed" } else { "" },
        ));
    }
    let lost = events.iter().filter(|stored| matches!(stored.event.what, What::TrialLost { .. })).count();
    if lost > 0 {
        let plural = if lost == 1 { "" } else { "s" };
        lines.push(format!("  {lost} trial{plural} lost before the end, which count for nothing"));
    }
    lines
}

fn purpose_name(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Baseline => "baseline",
        Purpose::Screen => "screen",
        Purpose::Confirm => "confirm",
        Purpose::Remeasure => "remeasure",
        Purpose::Sentinel => "sentinel",
        Purpose::Close => "close",
        Purpose::Check => "check",
    }
}

/// Who answered, and what was used of it: `small-model-2, asked once: 100 tokens read, 10 written`.
fn model_line(events: &[StoredEvent]) -> Option<Fact<'static>> {
    let used = events.iter().find_map(|stored| match &stored.event.what {
        What::Proposed(Proposed { used, .. }) | What::AttemptFailed { used, .. } => used.as_ref(),
        _ => None,
    })?;
    let ModelUse { model, calls, input, output, cached, reasoning, cost_usd: _ } = used;
    let asked = if *calls == 1 { "asked once".to_owned() } else { format!("asked {calls} times") };
    let of = |count: &Option<u64>, what: &str| {
        count.filter(|count| *count > 0).map_or_else(String::new, |count| format!(" ({count} of them {what})"))
    };
    let read = input.map(|read| format!("{read} tokens read{}", of(cached, "out of a cache")));
    let written = output.map(|written| format!("{written} written{}", of(reasoning, "reasoning")));
    let counts: Vec<String> = read.into_iter().chain(written).collect();
    let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
    let model = if model.is_empty() { "unnamed" } else { model };
    Some(("model", format!("{}, {asked}{counts}", printable(model))))
}

/// Every output that was kept, with what gave it.
fn outputs(events: &[StoredEvent]) -> Vec<(String, &Output)> {
    let mut found = Vec::new();
    let mut guards = guards::runs(events).into_iter();
    let mut smokes = smokes::runs(events).into_iter();
    for stored in events {
        match &stored.event.what {
            What::Proposed(Proposed { output: Some(output), .. })
            | What::AttemptFailed { output: Some(output), .. } => {
                found.push(("the agent".to_owned(), output));
            }
            What::Repaired(Proposed { output: Some(output), .. }) | What::NotRepaired { output: Some(output), .. } => {
                found.push((REPAIR.to_owned(), output));
            }
            What::GuardFinished { .. } => {
                let run = guards.next();
                found.extend(run.and_then(|run| Some((run.name(), run.ran.output?))));
            }
            What::SmokeFinished { .. } => {
                let run = smokes.next();
                found.extend(run.and_then(|run| Some((run.name(), run.0.output?))));
            }
            What::TrialFinished { trial, measurement, .. } => {
                found.extend(measurement.output.as_ref().map(|output| (format!("trial {trial}"), output)));
                let scorer = measurement.scorer.as_ref().and_then(|scorer| scorer.output.as_ref());
                found.extend(scorer.map(|output| (format!("{SCORER} of trial {trial}"), output)));
            }
            _ => {}
        }
    }
    found
}

fn text_of(reader: &Reader, output: &Output) -> Outcome<String> {
    let Some(bytes) = reader.blob(&output.blob)? else {
        let is_forgotten = reader.forgotten()?.iter().any(|forgotten| forgotten.blobs.contains(&output.blob));
        return Ok(format!("({})", if is_forgotten { FORGOTTEN } else { "no longer stored" }));
    };
    Ok(printable(&String::from_utf8_lossy(&bytes)))
}

fn as_json(study: &str, row: &Row, events: &[StoredEvent], case: &Case, diff: &str) -> serde_json::Value {
    let trials: Vec<_> = finished(events)
        .map(|(trial, started, measurement)| {
            let mut object = json!({
                "trial": trial.0,
                "purpose": started.map(|(purpose, _)| purpose_name(purpose)),
                "seed": started.map(|(_, seed)| seed),
                "metric": measurement.metric.map(Score::get),
                "claim": measurement.claim.map(Score::get),
                "problem": measurement.problem.as_ref().map(ToString::to_string),
                "ending": measurement.ending.to_string(),
                "numbers": measurement.numbers,
                "wall_s": measurement.usage.wall.as_secs(),
                "cpu_s": measurement.usage.cpu.as_secs(),
                "peak_mb": measurement.usage.peak_bytes as f64 / 1e6,
            });
            if measurement.replayed {
                object["replayed"] = json!(true);
            }
            object
        })
        .collect();
    let mut object = serde_json::to_value(json::ExperimentJson::new(study, row)).unwrap_or_default();
    if let Some(fields) = object.as_object_mut() {
        fields.insert("measurements".to_owned(), json!(trials));
        let guards: Vec<_> = guards::runs(events).iter().map(guards::Run::json).collect();
        fields.insert("guards".to_owned(), json!(guards));
        let smokes: Vec<_> = smokes::runs(events).iter().map(smokes::Run::json).collect();
        fields.insert("smokes".to_owned(), json!(smokes));
        fields.insert("repairs".to_owned(), json!(repairs::json(events)));
        fields.insert("diff".to_owned(), json!(diff));
        fields.extend(case.json().into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    object
}
