//! How much at once, and until when.

use overnight_model::call::account::Allowance;
use overnight_model::spec::{Limit, Limits, Patience};

use super::document::Section;
use super::problem::Collector;
use super::values::integer;

/// No single machine runs more trials at once; it is far more often a budget in the wrong line.
const MOST_SLOTS: u64 = 1024;

/// More than all models write in a year.
const MOST_TOKENS: u64 = 1_000_000_000_000_000;

/// More than a study could hold.
const MOST_EXPERIMENTS: u64 = 1_000_000_000;

pub(super) fn read(problems: &mut Collector<'_>, top: &Section<'_>) -> Limits {
    let Some(section) = problems.section(top, "limits", "limits") else {
        return Limits::default();
    };
    let total = problems.section(&section, "total", "limits.total");
    let proposal = problems.section(&section, "proposal", "limits.proposal");
    let trial = problems.section(&section, "trial", "limits.trial");
    Limits {
        night: limit(problems, &section),
        total: total.map(|total| limit(problems, &total)).unwrap_or_default(),
        proposal: proposal.map(|proposal| allowance(problems, &proposal)).unwrap_or_default(),
        trial: trial.map(|trial| allowance(problems, &trial)).unwrap_or_default(),
    }
}

pub(super) fn slots(problems: &mut Collector<'_>, top: &Section<'_>) -> u32 {
    let section = problems.section(top, "slots", "slots");
    section.and_then(|section| problems.count(&section, "count", 1..=MOST_SLOTS)).unwrap_or(1) as u32
}

fn limit(problems: &mut Collector<'_>, section: &Section<'_>) -> Limit {
    Limit {
        wall: problems.duration(section, "wall", "a limit"),
        experiments: problems.count(section, "experiments", 1..=MOST_EXPERIMENTS),
        no_gain_for: patience(problems, section),
        spend: allowance(problems, section),
    }
}

/// What calls to models may come to.
fn allowance(problems: &mut Collector<'_>, section: &Section<'_>) -> Allowance {
    Allowance {
        cost_usd: problems.share(section, "cost_usd").map(|usd| usd.get()),
        tokens: problems.count(section, "tokens", 1..=MOST_TOKENS),
    }
}

/// Text is a span of time, a bare number counts experiments.
fn patience(problems: &mut Collector<'_>, section: &Section<'_>) -> Option<Patience> {
    let item = section.get("no_gain_for")?;
    match integer(item) {
        Some(_) => problems.count(section, "no_gain_for", 1..=MOST_EXPERIMENTS).map(Patience::Experiments),
        None => problems.duration(section, "no_gain_for", "a limit").map(Patience::Time),
    }
}
