//! What follows from it all: the night, the trust, and what to fix first.

use overnight_model::forecast::{Forecast, Prospect};
use overnight_model::judge::Noise;
use overnight_model::spec::{Assurance, Tier};
use overnight_model::study::SeedUse;
use overnight_model::{Millis, Score};

use super::repeats::Chance;
use super::report::{Finding, Level, Report};
use super::screen::{WIDTH, wrapped};
use super::study::Sequence;
use super::trials::Measured;
use crate::ui::printable;
use crate::views::night::{self, count, rough, tidy};

/// A night, where nothing says how long it is.
const NIGHT: Millis = Millis::seconds(8 * 3600);
/// Noise that hides gains of half the level hides all there are.
const SWAMPED: f64 = 0.5;

/// What a night buys.
pub(super) fn night(sequence: &mut Sequence, measured: &Measured) {
    let spec = &sequence.spec;
    let wall = spec.limits.night.wall.unwrap_or(NIGHT);
    let prospect = Prospect {
        wall,
        trial: measured.trial,
        slots: spec.slots,
        experiments: spec.limits.night.experiments,
        noise: measured.repeats.noise,
        min_gain: spec.metric.min_gain.map_or(0.0, Score::get),
        judge: spec.judge,
    };
    let forecast = prospect.forecast();
    let finding = described(sequence, measured, wall, &forecast);
    sequence.report.night = Some((wall.as_secs(), forecast));
    sequence.add(finding);
}

fn described(sequence: &Sequence, measured: &Measured, wall: Millis, forecast: &Forecast) -> Finding {
    let spec = &sequence.spec;
    let Forecast { trials, experiments, spent, sure } = *forecast;
    let slots = if spec.slots == 1 { String::new() } else { format!(" in {} slots", spec.slots) };
    let gain = match sure {
        None => "smallest sure gain unknown".to_owned(),
        Some(sure) if sure.gain == 0.0 && sequence.seed.fixed.is_some() => {
            "any gain is sure, for that one seed".to_owned()
        }
        Some(sure) if sure.gain == 0.0 => "any gain is sure".to_owned(),
        Some(sure) => {
            let mean = measured.repeats.tally.mean().filter(|mean| *mean != 0.0);
            let share = mean.map_or_else(String::new, |mean| format!(" ({} %)", rough(sure.gain / mean.abs() * 100.0)));
            let time = tidy(sure.time(measured.trial));
            format!("smallest sure gain {}{share}, in {time} of machine time", rough(sure.gain))
        }
    };
    // Where the tuner is one of them, it has the slot whenever the others do not keep up.
    let agent = if spec.agent.has_tuner() { "" } else { ", an agent that keeps up" };
    let what = format!(
        "{wall} = {}: about {} ({}); {gain}; assumes {} a trial{slots}, one idea in ten better{agent}",
        counted(trials, "trial"),
        counted(experiments, "experiment"),
        night::spent(&spent),
        tidy(measured.trial),
    );
    let mean = measured.repeats.tally.mean().map_or(0.0, f64::abs);
    let is_swamped = sure.is_some_and(|sure| mean > 0.0 && sure.gain > mean * SWAMPED)
        && measured.repeats.noise != Noise::Deterministic;
    match experiments {
        _ if is_swamped => Finding::new("night", Level::Warn, what).next(
            "let `run` average over more of whatever varies (cases, seeds, repeats), so that its number moves less",
        ),
        0 => Finding::new("night", Level::Warn, what).next("raise `wall` in [limits], or lower `budget` in [evaluate]"),
        _ => Finding::ok("night", what),
    }
}

/// How far the number can be trusted, and what would raise it.
pub(super) fn trust(sequence: &mut Sequence, measured: &Measured) {
    let (spec, tier) = (&sequence.spec, sequence.found.tier);
    let seed = match measured.repeats.chance {
        Chance::None => SeedUse::Ignored,
        Chance::Seeded => SeedUse::Settles,
        Chance::Unseeded => SeedUse::NotAlone,
        Chance::Untold => SeedUse::Unknown,
    };
    let line =
        night::trust(spec.evaluate.assurance().name(), tier.name(), measured.repeats.seeds, seed, sequence.holdout);
    let what = line.strip_prefix("trust: ").unwrap_or(&line).to_owned();
    let raise = match spec.evaluate.assurance() {
        Assurance::Cooperative => Some(
            "candidate code says its own number; a locked `score` in [evaluate] that reads what `run` leaves in \
             $OVERNIGHT_OUT makes it `separated`",
        ),
        Assurance::Separated if tier == Tier::None => {
            Some("separated by process and folder only: a machine with a sandbox raises it")
        }
        Assurance::Separated if spec.evaluate.hidden.is_empty() => {
            Some("name the scorer and its labels in `hidden`, so that candidates cannot read them")
        }
        Assurance::Separated => None,
    };
    let level = if raise.is_some() { Level::Note } else { Level::Ok };
    let finding = Finding::new("trust", level, what);
    sequence.add(match raise {
        Some(raise) => finding.next(raise),
        None => finding,
    });
}

/// The one thing to do now.
pub(super) fn last_lines(report: &Report, begun: bool, sandbox: Option<Tier>, study: &str) -> Vec<String> {
    let snapshot = if report.dirty.is_empty() || begun { "" } else { " --snapshot" };
    let sandbox = sandbox.map_or_else(String::new, |tier| format!(" --sandbox {}", tier.name()));
    let run = match report.has_nothing_to_tune {
        true => format!("edit {}, then overnight try{study} --from-worktree -m IDEA{sandbox}", report.surface),
        false => format!("overnight run{study}{snapshot}{sandbox}"),
    };
    let first = report.first();
    let topic = first.map_or("", |finding| finding.topic);
    match report.worst() {
        Level::Fail | Level::Refused => vec![format!("not ready: mend `{topic}` as it says above, then check again")],
        Level::Ok | Level::Note => vec![format!("ready: {run}")],
        Level::Warn if topic == "agent" => vec![format!("ready: {run}")],
        Level::Warn => {
            let next = first.and_then(|finding| finding.next.as_deref()).unwrap_or("");
            let mut lines = vec![format!("ready: {run}")];
            // What was only read is no reason not to begin: `init` itself proposes such a surface where there is no other.
            let how = if topic == "surface" { "better" } else { "but" };
            lines.extend(wrapped(&printable(&format!("{how} first ({topic}): {next}")), WIDTH));
            lines
        }
    }
}
/// `1 trial`, `2 trials`.
fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}
