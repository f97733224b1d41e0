//! What slots and agents are doing, as lines.

use overnight_model::event::Purpose;
use overnight_model::study::AgentRow;
use overnight_model::{Millis, Timestamp};

use crate::views::board::{Glance, Job, Task, Turn};
use crate::views::report::{Line, Tone};
use crate::views::term;

/// How long a bar is, in letters.
const BAR: u64 = 14;

/// One line for each slot, at most so many: what it does, and how far that has come.
pub(super) fn slots(glance: &Glance, most: usize) -> Vec<Line> {
    let count = glance.summary.as_ref().map_or(0, |summary| summary.slots).max(glance.doing.slots.len() as u32);
    let busy = glance.doing.slots.iter().map(|(slot, job)| (*slot, Some(job)));
    // Those at work come first where there is no room for all.
    let free = (0..count).filter(|slot| !glance.doing.slots.contains_key(slot)).map(|slot| (slot, None));
    let mut all: Vec<(u32, Option<&Job>)> = busy.chain(free).collect();
    let hidden = if all.len() > most { all.split_off(most.saturating_sub(1)) } else { Vec::new() };
    all.sort_by_key(|(slot, _)| *slot);
    let mut lines: Vec<Line> = all.into_iter().map(|(slot, job)| one(glance, slot, job)).collect();
    if !hidden.is_empty() {
        let at_work = hidden.iter().filter(|(_, job)| job.is_some()).count();
        let rest = format!("         and {} slots more, {at_work} of them at work", hidden.len());
        lines.push(Line::default().with(rest, Tone::Faint));
    }
    lines
}

fn one(glance: &Glance, slot: u32, job: Option<&Job>) -> Line {
    let name = Line::default().with(format!("slot {:<4}", slot + 1), Tone::Faint);
    let Some(Job { experiment, since, task }) = job else {
        let idle = match glance.setting.is_running {
            true => "free",
            false => "nobody runs the study",
        };
        return name.with(idle, Tone::Faint);
    };
    let took = glance.setting.now.since(*since);
    let budget = glance.terms.budget.filter(|_| matches!(task, Task::Trial { .. }));
    let line = match budget {
        Some(budget) => {
            let full = (took.0 * BAR / budget.0.max(1)).min(BAR);
            let (done, left) = ("█".repeat(full as usize), "░".repeat((BAR - full) as usize));
            let tone = if took > budget { Tone::Doubt } else { Tone::Code };
            let time = format!(" {} of {budget}  ", seconds(took));
            name.with(done, tone).with(left, Tone::Faint).then(time)
        }
        None => name.then(format!("{}  ", seconds(took))),
    };
    let what = match task {
        Task::Trial { purpose: Purpose::Baseline, .. } => return line.then("the baseline"),
        Task::Trial { aid: Some(aid), .. } => {
            return line.then(format!("{} again, for experiment {aid}", term::whose(*experiment)));
        }
        Task::Trial { purpose: Purpose::Screen, .. } => term::whose(*experiment),
        Task::Trial { purpose, .. } => format!("{} · {}", term::whose(*experiment), purpose_of(*purpose)),
        Task::Guard { on_champion: true, .. } => format!("{} · a guard, on the champion", term::whose(*experiment)),
        Task::Guard { .. } => format!("{} · a guard", term::whose(*experiment)),
    };
    match glance.idea(*experiment) {
        Some(idea) => line.then(what).with(format!(": {idea}"), Tone::Faint),
        None => line.then(what),
    }
}

/// One line for each agent: what it does or waits for.
pub(super) fn agents(glance: &Glance) -> Vec<Line> {
    let now = glance.setting.now;
    let members = glance.terms.agents.as_ref().map_or(&[][..], |agents| &agents.members);
    let mut names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    // Whoever is asked and is no member came from elsewhere.
    for turn in glance.doing.turns.values() {
        if !names.contains(&turn.agent.as_str()) {
            names.push(&turn.agent);
        }
    }
    let mut lines: Vec<Line> = names.iter().map(|name| agent(glance, name, now)).collect();
    let looks = glance.doing.smokes.keys().map(|experiment| {
        Line::default()
            .with("looks    ", Tone::Faint)
            .then(format!("experiment {experiment} is tried before it takes a slot"))
    });
    lines.extend(looks);
    lines
}

fn agent(glance: &Glance, name: &str, now: Timestamp) -> Line {
    let line = Line::default().with(format!("{name:<8} "), Tone::Faint);
    let mut turns = glance.doing.turns.iter().filter(|(_, turn)| turn.agent == name);
    if let Some((experiment, Turn { since, is_repair, .. })) = turns.next() {
        let took = seconds(now.since(*since));
        let more = match turns.count() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        return match is_repair {
            true => line.then(format!("repairs experiment {experiment}, for {took}{more}")),
            false => line.then(format!("is thinking about experiment {experiment}, for {took}{more}")),
        };
    }
    let team = glance.summary.iter().flat_map(|summary| &summary.team);
    let waits = team.filter(|row: &&AgentRow| row.agent == name).find_map(|row| row.waits_until);
    if let Some(until) = waits.filter(|until| now < *until) {
        return line.with(format!("waited for until {}", term::local_time(until)), Tone::Doubt);
    }
    let is_paused = glance.summary.as_ref().is_some_and(|summary| summary.paused);
    let why = match (glance.setting.is_running, glance.doing.stopping.is_some(), is_paused) {
        (false, ..) => "is not asked: nobody runs the study",
        (_, true, _) => "is not asked any more: the run is stopping",
        (_, _, true) => "is not asked: paused",
        _ => "waits for its turn",
    };
    line.with(why, Tone::Faint)
}

fn purpose_of(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Baseline => "baseline",
        Purpose::Screen => "first trial",
        Purpose::Confirm => "confirm",
        Purpose::Remeasure => "remeasure",
        Purpose::Sentinel => "sentinel",
        Purpose::Close => "close",
        Purpose::Check => "check",
    }
}

/// A duration that goes on: whole seconds, and no seconds beside hours.
pub(super) fn seconds(time: Millis) -> String {
    match time.0 {
        ..1000 => "0s".to_owned(),
        1000..3_600_000 => Millis(time.0 / 1000 * 1000).to_string(),
        more => Millis(more / 60_000 * 60_000).to_string(),
    }
}
