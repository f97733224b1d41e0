//! The numbers of a study: how long, how many, how much is left, and how far they are to be trusted.

use overnight_model::call::account::dollars;
use overnight_model::units::short_number;

use super::doing::seconds;
use crate::views::board::Glance;
use crate::views::report::{Line, Tone};
use crate::views::{night, team, term};

/// How the run stands, in a word or two.
pub(super) fn state(glance: &Glance) -> (&'static str, Tone) {
    let is_paused = glance.summary.as_ref().is_some_and(|summary| summary.paused);
    match (glance.setting.is_running, glance.doing.stopping, is_paused) {
        (false, ..) => ("ended", Tone::Faint),
        (_, Some(true), _) => ("stopping now", Tone::Bad),
        (_, Some(false), _) => ("stopping", Tone::Doubt),
        (_, _, true) => ("paused", Tone::Doubt),
        _ => ("running", Tone::Good),
    }
}

/// What the study is, and what is measured.
pub(super) fn title(glance: &Glance) -> Line {
    let line = Line::default().with("overnight", Tone::Strong).then(format!(" · {}", glance.setting.study));
    match &glance.summary {
        Some(summary) => line.then(format!(" · {}, {}", summary.metric, term::arrow(summary.goal))),
        None => line,
    }
}

/// Time and cost so far and left, and how fast it goes.
pub(super) fn pace(glance: &Glance) -> Line {
    let limits = glance.terms.limits.night;
    let mut line = Line::default();
    if let Some(lasted) = glance.lasted() {
        line = line.then(seconds(lasted));
        if let Some(wall) = limits.wall {
            let left = overnight_model::Millis(wall.0.saturating_sub(lasted.0));
            line = line.then(format!(" of {wall}")).with(format!(" ({} left)", seconds(left)), Tone::Faint);
        }
        line = line.with(" · ", Tone::Faint);
    }
    let asked = [limits.experiments, glance.doing.asked_for()].into_iter().flatten().min();
    let (count, what) = (glance.experiments, if glance.experiments == 1 && asked.is_none() { "" } else { "s" });
    line = match asked {
        Some(asked) => line.then(format!("{count} of {asked} experiment{}", if asked == 1 { "" } else { "s" })),
        None => line.then(format!("{count} experiment{what} this run")),
    };
    if let Some(rate) = glance.per_hour() {
        line = line.with(" · ", Tone::Faint).then(format!("{} an hour", night::count(rate.round() as u64)));
    }
    line.with(" · ", Tone::Faint).with(cost(glance), Tone::Faint)
}

/// What models took in this run, and of how much: `$1.20 of $5.00`.
fn cost(glance: &Glance) -> String {
    let night = glance.summary.as_ref().map(|summary| summary.costs.night).unwrap_or_default();
    let spent = match night.cost_usd() {
        _ if night.calls == 0 && !glance.has_model() => return "no cost".to_owned(),
        Some(_) if night.calls == 0 => "no cost yet".to_owned(),
        Some(usd) => dollars(usd),
        None if night.usd > 0.0 => format!("at least {}", dollars(night.usd)),
        None => "cost unknown".to_owned(),
    };
    match glance.terms.limits.night.spend.cost_usd {
        Some(most) => format!("{spent} of {}", dollars(most)),
        None => spent,
    }
}

pub(super) fn trust(glance: &Glance) -> Option<String> {
    glance.summary.as_ref().map(|summary| night::trust_of(summary, glance.setting.holdout))
}

/// What waits for a person; nothing where nothing does.
pub(super) fn review(glance: &Glance) -> Option<String> {
    glance.summary.as_ref().and_then(|summary| term::waiting(summary, &glance.setting.flag))
}

/// Everything that `status` says of a study, for a screen that has room for it.
pub(super) fn numbers(glance: &Glance) -> Vec<(String, String)> {
    let Some(summary) = &glance.summary else { return Vec::new() };
    let mut lines = term::standing(summary, glance.setting.asked);
    lines.push(format!("so far     {}", term::counts(summary)));
    lines.extend(team::lines(summary, glance.terms.agents.as_ref(), None));
    lines.extend(term::flaky(summary));
    if let Some(trial) = summary.trial_time {
        lines.push(format!("a trial    takes {} on average", night::tidy(trial)));
    }
    if let Some(limit) = glance.terms.limits.total.experiments {
        lines.push(format!("in all     {} of {} experiments", short_number(summary.experiments as f64), limit));
    }
    lines.into_iter().map(|line| split(&line)).collect()
}

/// The name at the beginning of a line, and what it stands for.
fn split(line: &str) -> (String, String) {
    let at = line.char_indices().nth(11).map_or(line.len(), |(at, _)| at);
    let (name, said) = line.split_at(at);
    (name.trim().to_owned(), said.trim().to_owned())
}
