//! The screen of a comparison: what is compared, a line for each pair, and what follows.

use overnight_engine::holdout::Openings;
use overnight_model::claim::{Decision, FEWEST_PAIRS, Standing};
use overnight_model::study::SeedUse;
use overnight_model::units::short_number;
use overnight_model::{Goal, Millis};

use super::report::{End, Named, Report, Track};
use super::sides::Sides;
use crate::commands::trials::{broken_lines, interval};
use crate::views::{night, term};

/// Beyond this the odds say nothing more.
const MOST_ODDS: f64 = 1e6;

/// What is about to be done.
pub(super) fn head(report: &Report, sides: &Sides) -> Vec<String> {
    let budget = sides.b.spec.evaluate.budget;
    // On what was left by a trial the holdout takes a scorer's time; where nothing was, a trial of its own.
    let runs = if report.held.is_some() && sides.b.spec.evaluate.score.is_none() { 4 } else { 2 };
    let most = Millis(budget.0 * runs * u64::from(report.most));
    let mut lines = vec![
        format!("overnight compare · study {} · Ctrl-C tells what is known so far", report.study),
        format!(
            "{} ({}) · budget {budget} · at most {} pairs: {most} by the budget",
            report.metric,
            term::arrow(report.goal),
            report.most
        ),
        term::tier_line(report.tier).to_owned(),
    ];
    if let (Some(_), Some(Openings { opened, budget })) = (&report.held, report.openings) {
        let left = budget - opened;
        lines.push(format!("this opens the holdout: one opening of the {left} that are left, whatever comes of it"));
    }
    if sides.a.surface == sides.b.surface && (report.surface_only || report.differences.is_empty()) {
        lines.push("note: A and B hold the same files".to_owned());
    } else if let [first, rest @ ..] = report.differences.as_slice() {
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        lines.push(match report.surface_only {
            true => format!("note: `{first}`{more} differs as well; both run with B's"),
            false => format!(
                "note: more than the surface differs: `{first}`{more}; each runs with its own (--surface-only takes B's \
                 for both)"
            ),
        });
    }
    lines
}

pub(super) fn table_head() -> String {
    format!("{:>6} {:>12} {:>12} {:>12}", "pair", "A", "B", "B better by")
}

/// The pair that was measured last.
pub(super) fn pair_line(goal: Goal, track: &Track, label: &str) -> String {
    let Some(pair) = track.pairs.last() else { return String::new() };
    let (a, b) = (pair.a.get(), pair.b.get());
    let gain = term::signed(goal.gain(a, b));
    format!("{label:>6} {:>12} {:>12} {gain:>12}", short_number(a), short_number(b))
}

/// What is known at the end.
pub(super) fn result(report: &Report, end: &End) -> Vec<String> {
    let mut lines = vec![String::new()];
    let standing = report.own.claim.standing();
    if let Some(known) = &standing {
        lines.push(format!("A           {} {}  ({})", report.metric, short_number(known.a), named(&report.a)));
        lines.push(format!("B           {} {}  ({})", report.metric, short_number(known.b), named(&report.b)));
        lines.push(format!("difference  {}{}", term::signed(known.difference), interval(known)));
        lines.push(format!("pairs       {} (seed {}){}", known.pairs, report.seed, odds(known)));
        lines.extend(holdout_lines(report));
        let is_quiet = report.own.pairs.windows(2).all(|pair| (pair[0].a, pair[0].b) == (pair[1].a, pair[1].b));
        let seed = if is_quiet && known.pairs > 2 { SeedUse::Ignored } else { SeedUse::Unknown };
        lines.push(night::trust(report.assurance, report.tier.name(), known.pairs, seed, report.openings));
    }
    match end {
        End::Decided => lines.extend(decided(report)),
        End::BrokenA(broken) => {
            lines.extend(broken_lines(broken));
            lines.push(format!("A does not run, so nothing can be said of B: it {}", broken.what));
        }
        End::BrokenB(broken) => {
            lines.extend(broken_lines(broken));
            lines.push(format!("B is worse: A runs, and B {}", broken.what));
        }
        End::Interrupted => lines.push(match standing {
            None => "stopped before the first pair was complete: nothing is known".to_owned(),
            Some(known) => format!("stopped after {} pairs: nothing is settled yet", known.pairs),
        }),
    }
    lines
}

/// What the holdout was found to be, or that it was not asked.
fn holdout_lines(report: &Report) -> Vec<String> {
    let Some(openings) = report.openings else { return Vec::new() };
    let Some(held) = &report.held else {
        let left = match openings.left() {
            0 => format!("not opened, and none of {} openings is left", openings.budget),
            left => format!("not opened ({left} of {} openings left): --holdout opens it", openings.budget),
        };
        return vec![format!("holdout     {left}")];
    };
    let mut lines = Vec::new();
    if let Some(known) = held.claim.standing() {
        lines.push(format!("holdout A   {} {}", report.metric, short_number(known.a)));
        lines.push(format!("holdout B   {} {}", report.metric, short_number(known.b)));
        lines.push(format!("difference  {}{}", term::signed(known.difference), interval(&known)));
        lines.push(format!("pairs       {}{}", known.pairs, odds(&known)));
    }
    lines.extend(report.opening.map(|opening| format!("opening     {opening} of {}", openings.budget)));
    lines
}

/// What is settled, by the evaluation and by the holdout, and whether they agree.
fn decided(report: &Report) -> Vec<String> {
    let said = |track: &Track| {
        let (decision, known) = (track.claim.decision()?, track.claim.standing()?);
        Some((decision, sentence(decision, &known, report.margin)))
    };
    let Some((own, own_said)) = said(&report.own) else { return Vec::new() };
    let Some((held, held_said)) = report.held.as_ref().and_then(said) else { return vec![own_said] };
    let mut lines = vec![format!("by the evaluation: {own_said}"), format!("by the holdout: {held_said}")];
    lines.extend(disagreement(own, held).map(ToOwned::to_owned));
    lines
}

/// The holdout has the last word; where the two differ, what that means.
fn disagreement(own: Decision, held: Decision) -> Option<&'static str> {
    use Decision::{Better, Equal, Untold, Worse};
    match (own, held) {
        (Better, Worse) => {
            Some("they disagree: what was gained was gained on the evaluation's data, and lost beyond it")
        }
        (Better, Equal | Untold) => Some("they disagree: the gain does not show on data that nothing was chosen by"),
        (Worse, Better) => Some("they disagree: B is worse on the evaluation's data alone"),
        (Worse, Equal | Untold) => Some("they disagree: the loss does not show on the holdout"),
        (Equal | Untold, Better | Worse) => Some("they disagree: only the holdout tells the two apart"),
        (Better, Better) | (Worse, Worse) | (Equal | Untold, Equal | Untold) => None,
    }
}

fn sentence(decision: Decision, known: &Standing, margin: f64) -> String {
    let by = short_number(known.difference.abs());
    let range = |low: Option<f64>, high: Option<f64>| match (low.map(short_number), high.map(short_number)) {
        (Some(low), Some(high)) if low == high => String::new(),
        (Some(low), Some(high)) => format!(" ({low} to {high})"),
        (Some(low), None) => format!(" (at least {low})"),
        _ => String::new(),
    };
    match decision {
        Decision::Better => format!("B is better than A by {by}{}", range(known.low, known.high)),
        Decision::Worse => {
            let (low, high) = (known.high.map(f64::abs), known.low.map(f64::abs));
            format!("B is worse than A by {by}{}", range(low, high))
        }
        Decision::Equal if known.is_deterministic && known.difference == 0.0 => {
            "A and B are equal: no noise, and no difference".to_owned()
        }
        Decision::Equal => format!(
            "A and B are equal: a difference beyond ±{} can be ruled out",
            short_number(known.ruled_out().map_or(margin, |out| out.min(margin)))
        ),
        Decision::Untold => {
            let rest = match known.ruled_out() {
                Some(out) => format!("a difference beyond ±{} can be ruled out", short_number(out)),
                None if known.pairs < FEWEST_PAIRS => {
                    format!("a noisy metric takes {FEWEST_PAIRS} pairs or more (--pairs)")
                }
                None => "more pairs would tell more (--pairs)".to_owned(),
            };
            format!("A and B cannot be told apart: {rest}")
        }
    }
}

fn odds(known: &Standing) -> String {
    match known.odds {
        _ if known.is_deterministic => ": the same number each time, with as many seeds".to_owned(),
        odds if odds > MOST_ODDS => ", odds of more than a million to 1 against no difference".to_owned(),
        odds if odds >= 2.0 => format!(", odds of {odds:.0} to 1 against no difference; 24 to 1 settle it"),
        _ => ", no odds against no difference; 24 to 1 would settle it".to_owned(),
    }
}

fn named(side: &Named) -> String {
    match &side.commit {
        None => "the working tree".to_owned(),
        Some(commit) if commit.0.starts_with(&side.name) => commit.short().to_owned(),
        Some(commit) => format!("{}, {}", side.name, commit.short()),
    }
}
