//! Words and lines for people.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use overnight_model::call::account::{Unit, dollars};
use overnight_model::event::{Imported, StopReason};
use overnight_model::history::Past;
use overnight_model::spec::{Assurance, Check, Spec, Tier};
use overnight_model::study::{FlakyGuard, Level, Row, SegmentRow, Summary};
use overnight_model::units::short_number;
use overnight_model::verdict::rough;
use overnight_model::{ExperimentId, Goal, Timestamp, Verdict};

use super::costs;
use super::night::{self, Asked};

/// What a tier means, in one line.
pub(crate) fn tier_line(tier: Tier) -> &'static str {
    match tier {
        Tier::None => {
            "sandbox none: candidates run as you; only their time, processes and working copy are kept in check"
        }
        Tier::Landlock => {
            "sandbox landlock: candidates reach their own files only; they share users, processes and memory with you"
        }
        Tier::Standard | Tier::Strong => {
            "sandbox standard: every command has files, processes and a network of its own"
        }
    }
}

/// How far a scorer is kept apart on this machine, and what stays cooperative beside it.
pub(crate) fn separation(spec: &Spec, tier: Tier) -> Vec<&'static str> {
    if spec.evaluate.assurance() < Assurance::Separated {
        return Vec::new();
    }
    let by_folder = "separated by process and folder only: a candidate that goes looking finds the repository";
    let guarded = "a guard runs candidate code and is cooperative: it can pass by itself";
    let runs_candidate = spec.guards.iter().any(|guard| matches!(guard.check, Check::Run(_)));
    let lines = [(tier == Tier::None, by_folder), (runs_candidate, guarded)];
    lines.into_iter().filter(|(holds, _)| *holds).map(|(_, line)| line).collect()
}

/// One experiment on one line.
pub(crate) fn row_line(row: &Row) -> String {
    line_with(row, "")
}

/// The same with what it cost.
pub(crate) fn priced_line(row: &Row) -> String {
    line_with(row, &format!(" {:>9}", costs::of_row(row)))
}

fn line_with(row: &Row, cost: &str) -> String {
    let verdict = row.verdict.map_or("open", Verdict::name);
    let metric = row.metric.map_or_else(|| "-".to_owned(), short_number);
    let why = match row.verdict {
        // What a keep or a discard means is in its numbers; the rest needs its reason.
        Some(Verdict::Baseline) | None => row.description.clone(),
        Some(_) => format!("{} ({})", row.description, row.reason.as_deref().unwrap_or("")),
    };
    let why = if row.description.is_empty() { row.reason.clone().unwrap_or_default() } else { why };
    format!(
        "{:>5}  {verdict:<14} {metric:>12} {:>12}{cost}  {}",
        row.experiment,
        gain(row),
        crate::ui::printable(&why).replace('\n', " ")
    )
}

/// One row of another tool's history on one line. It has no number here: nothing of it was measured.
pub(crate) fn past_line(past: &Past) -> String {
    let verdict = past.verdict.map_or("-", Verdict::name);
    let metric = past.metric.map_or_else(|| "-".to_owned(), |metric| short_number(metric.get()));
    let what = crate::ui::printable(&past.description).replace('\n', " ");
    format!("{:>5}  {verdict:<14} {metric:>12} {:>12}  {what}", "~", "-")
}

/// How much was imported, and from where; nothing where nothing was.
pub(crate) fn imported_line(imports: &[Imported]) -> Option<String> {
    let count = rows(imports.iter().map(|imported| imported.rows).sum());
    // A file that has grown is imported in parts.
    let sources: BTreeSet<&str> = imports.iter().map(|imported| imported.source.as_str()).collect();
    let first = sources.first()?;
    Some(match sources.len() {
        1 => format!("imported   {count} from {}", crate::ui::printable(first)),
        many => format!("imported   {count} from {many} files"),
    })
}

pub(crate) fn rows(count: u64) -> String {
    format!("{count} {}", if count == 1 { "row" } else { "rows" })
}

/// An experiment in a sentence.
pub(crate) fn whose(experiment: ExperimentId) -> String {
    match experiment.is_baseline() {
        true => "the baseline".to_owned(),
        false => format!("experiment {experiment}"),
    }
}

pub(crate) fn header_line(metric: &str) -> String {
    format!("{:>5}  {:<14} {metric:>12} {:>12}  {}", "#", "verdict", "gain", "what (why)")
}

/// The same with what each cost.
pub(crate) fn priced_header(metric: &str) -> String {
    format!("{:>5}  {:<14} {metric:>12} {:>12} {:>9}  {}", "#", "verdict", "gain", "cost", "what (why)")
}

/// The gain over the champion of its moment; positive is better.
pub(crate) fn gain(row: &Row) -> String {
    match (row.gain, row.gain_low < row.gain_high) {
        (None, _) => "-".to_owned(),
        (Some(gain), true) if gain > 0.0 => format!("+{}", rough(gain)),
        (Some(gain), true) => rough(gain).replace('-', "−"),
        (Some(gain), false) => signed(gain),
    }
}

pub(crate) fn signed(gain: f64) -> String {
    match gain > 0.0 {
        true => format!("+{}", short_number(gain)),
        false => short_number(gain).replace('-', "−"),
    }
}

pub(crate) fn arrow(goal: Goal) -> &'static str {
    match goal {
        Goal::Min => "lower is better",
        Goal::Max => "higher is better",
    }
}

/// The five groups and what is open, those that have something in them.
pub(crate) fn counts(summary: &Summary) -> String {
    let groups = [
        (summary.kept, "kept"),
        (summary.not_better, "not better"),
        (summary.broken, "broken"),
        (summary.refused, "refused"),
        (summary.not_counted, "not counted"),
        (summary.open, "open"),
    ];
    let some: Vec<String> = groups.into_iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}")).collect();
    let plural = if summary.experiments == 1 { "" } else { "s" };
    match some.is_empty() {
        true => "0 experiments".to_owned(),
        false => format!("{} experiment{plural}: {}", summary.experiments, some.join(", ")),
    }
}

/// How an earlier segment ended. Its gain stands beside the others, and is never added to them.
pub(crate) fn past(segment: &SegmentRow) -> String {
    let level = |level: &Option<Level>| level.as_ref().and_then(|level| level.metric);
    let number = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), short_number);
    let (baseline, champion) = (level(&segment.baseline), level(&segment.champion));
    let gain = segment.gain().map_or_else(String::new, |gain| format!(", gain {}", signed(gain)));
    let (metric, from, to) = (&segment.metric, number(baseline), number(champion));
    format!("segment {}  {metric} {from} → {to}{gain} (under an earlier evaluation)", segment.segment)
}

/// Earlier segments, baseline, champion, what that gained, noise, and what the judge makes of it.
pub(crate) fn standing(summary: &Summary, asked: Asked) -> Vec<String> {
    let metric = &summary.metric;
    let number = |value: Option<f64>| value.map_or_else(|| "not measured yet".to_owned(), short_number);
    let noise = match summary.noise.sd {
        None => "unknown so far".to_owned(),
        Some(0.0) => format!("none seen in {} repeats", summary.noise.trials),
        // Every trial says something of it, not only repeats.
        Some(sd) => format!("sd {} from {} trials", rough(sd), night::count(summary.spent.trials())),
    };
    let mut lines: Vec<String> = summary.past.iter().map(past).collect();
    if let Some(gain) = summary.gain().filter(|_| !lines.is_empty()) {
        lines.push(format!("segment {}  the present one, gain {}", summary.segment, signed(gain)));
    }
    if let Some(level) = &summary.baseline {
        lines.push(format!("baseline   {metric} {}  ({})", number(level.metric), level.commit.short()));
    }
    if let Some(level) = &summary.champion {
        let baseline = summary.baseline.as_ref().map(|baseline| baseline.experiment);
        let whose = match baseline == Some(level.experiment) {
            true => "the baseline, nothing better yet".to_owned(),
            false => format!("experiment {}", level.experiment),
        };
        lines.push(format!("champion   {metric} {}  ({}, {whose})", number(level.metric), level.commit.short()));
    }
    lines.extend(night::gained(summary).map(|gained| format!("gain       {gained}")));
    lines.push(format!("noise      {noise}"));
    lines.extend(night::lines(summary, asked));
    lines
}

/// How much waits for a person, and where it is to be seen.
pub(crate) fn waiting(summary: &Summary, flag: &str) -> Option<String> {
    let (waits, suspects) = match summary.suspects {
        0 => return None,
        1 => ("waits", "1 suspect".to_owned()),
        many => ("wait", format!("{many} suspects")),
    };
    Some(format!("review     {suspects} {waits} for your word: overnight review{flag}"))
}

/// Guards whose failures say little.
pub(crate) fn flaky(summary: &Summary) -> Vec<String> {
    let line = |FlakyGuard { command, failed, runs }: &FlakyGuard| {
        let command = crate::ui::printable(command);
        format!("guard      `{command}` is flaky: failed {failed} of {runs} runs, then passed")
    };
    summary.flaky.iter().map(line).collect()
}

/// Why a run ended, as a sentence.
pub(crate) fn stop_sentence(reason: &StopReason) -> String {
    match reason {
        StopReason::Done => "done".to_owned(),
        StopReason::Target { level } => format!("the target is reached: {}", short_number(*level)),
        StopReason::NightWall => "stopped: limits.wall is reached".to_owned(),
        StopReason::NightExperiments => "stopped: limits.experiments is reached".to_owned(),
        StopReason::TotalWall => "stopped: limits.total.wall is reached".to_owned(),
        StopReason::TotalExperiments => "stopped: limits.total.experiments is reached".to_owned(),
        StopReason::NoGain => "stopped: nothing was kept for as long as no_gain_for allows".to_owned(),
        StopReason::Spent { reached, spent } => {
            let spent = match reached.unit {
                Unit::Usd => format!("{} were spent", dollars(spent.usd)),
                Unit::Tokens => format!("{} tokens were spent", spent.tokens),
            };
            format!("stopped: {} is reached: {spent}, and what is left is too little for another call", reached.key())
        }
        StopReason::OtherModel { asked, answered } => {
            format!("stopped: {asked} was asked and {answered} answered (gateway.expect_model = \"stop\")")
        }
        StopReason::FailedAttempts { in_a_row, last } => {
            format!("stopped: {in_a_row} attempts in a row gave nothing to try; the last: {last}")
        }
        StopReason::NothingToTry { what } => format!("stopped: {what}"),
        StopReason::BaselineFailed { verdict, reason } => {
            format!("stopped: the baseline failed ({}): {reason}", verdict.name())
        }
        StopReason::ChampionFailed { verdict, reason } => {
            format!("stopped: the champion itself no longer runs ({}): {reason}", verdict.name())
        }
        StopReason::GuardBroken { command, ending } => {
            format!(
                "stopped: guard `{command}` fails on the champion too ({ending}): something broke around the study, and \
                 no idea is to blame"
            )
        }
        StopReason::EngineErrors { last } => {
            format!("stopped: the engine failed three times in a row; the last: {last}")
        }
        StopReason::Interrupted => "stopped by a person".to_owned(),
        StopReason::Fault { what } => format!("ended by a fault: {what}"),
    }
}

/// A moment in the reader's own time zone.
pub(crate) fn local_time(at: Timestamp) -> String {
    let Ok(moment) = jiff::Timestamp::from_millisecond(at.0) else { return "unknown".to_owned() };
    moment.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}
