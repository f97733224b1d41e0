//! Whose turn it is, where several agents work on one study.
//!
//! Shares follow from what the latest turns of each gained for what they took, in time and, where it is known, in money;
//! turns follow from shares without any chance: who
//! is furthest behind its share is next. So the same ledger gives the same turns.

use super::plateau::Plateau;
use super::turns::AgentRow;
use super::{Run, Study};
use crate::event::StopReason;
use crate::spec::{AgentKind, Member};
use crate::units::{Millis, Timestamp};
use crate::verdict::rough;

/// Nobody gets less: who found nothing so far may find something on what others found.
const FLOOR: f64 = 0.1;
/// An agent is taken to be like the others until it has had about so many turns.
const LIKE_OTHERS: f64 = 4.0;
/// After so many failed attempts in a row nobody is at home.
pub(super) const FAILED_ATTEMPTS: u32 = 10;
/// How long one of a team that is not at home is left alone.
const LEFT_ALONE: Millis = Millis::seconds(3600);

/// The share of the turns that each agent is to have, in their order; they add up to one.
pub fn shares(members: &[Member], rows: &[AgentRow], plateau: Option<Plateau>) -> Vec<f64> {
    let many = members.len().max(1) as f64;
    let weights: Vec<f64> = members.iter().filter_map(|member| member.weight).collect();
    // What a person wrote down stays.
    if !weights.is_empty() && weights.len() == members.len() {
        let all: f64 = weights.iter().sum();
        return weights.into_iter().map(|weight| weight / all).collect();
    }
    let found: Vec<AgentRow> = members
        .iter()
        .map(|member| rows.iter().find(|row| row.agent == member.name).cloned().unwrap_or_default())
        .collect();
    let (gain, hours) = found.iter().fold((0.0, 0.0), |(gain, hours), row| (gain + row.gain, hours + row.hours));
    let turns: u64 = found.iter().map(|row| row.turns).sum();
    // On a plateau nothing that was gained before tells who will go on: everyone is as good as the others, and those
    // who were asked least of late are next.
    if plateau.is_some() || gain <= 0.0 || hours <= 0.0 || turns == 0 {
        return vec![1.0 / many; members.len()];
    }
    let like_others = LIKE_OTHERS / turns as f64;
    let efforts = efforts(&found, hours);
    let rates = found.iter().zip(efforts).map(|(row, effort)| (row.gain + gain * like_others) / (effort + like_others));
    let rates: Vec<f64> = rates.collect();
    let (all, floor) = (rates.iter().sum::<f64>(), FLOOR.min(0.5 / many));
    rates.into_iter().map(|rate| floor + (1.0 - many * floor) * rate / all).collect()
}

/// The part that each had in what all of them took: half of it is time and half of it money, where anything was paid. Whose
/// price is not known is taken to be as dear as the others are in the same time.
fn efforts(rows: &[AgentRow], hours: f64) -> Vec<f64> {
    let known = rows.iter().filter_map(|row| Some((row.paid()?, row.hours)));
    let (dollars, in_hours) = known.fold((0.0, 0.0), |(paid, hours), (more, took)| (paid + more, hours + took));
    let paid: Vec<f64> = rows
        .iter()
        .map(|row| row.paid().unwrap_or(row.hours * dollars / f64::max(in_hours, f64::MIN_POSITIVE)))
        .collect();
    let all: f64 = paid.iter().sum();
    let effort = |(row, paid): (&AgentRow, f64)| match all > 0.0 {
        true => 0.5 * row.hours / hours + 0.5 * paid / all,
        false => row.hours / hours,
    };
    rows.iter().zip(paid).map(effort).collect()
}

/// Shares and their reason on one line: `claude 62 %, tuner 38 %: claude gained 0.004 an hour and 0.1 a dollar, tuner 0.001`.
pub fn described(members: &[Member], rows: &[AgentRow], plateau: Option<Plateau>) -> String {
    let shares = shares(members, rows, plateau);
    let percent = |share: &f64| (share * 100.0).round();
    let told = members.iter().zip(&shares).map(|(member, share)| format!("{} {} %", member.name, percent(share)));
    let told = told.collect::<Vec<_>>().join(", ");
    let rate = |member: &Member| rows.iter().find(|row| row.agent == member.name).and_then(AgentRow::per_hour);
    let gained = members.iter().filter_map(|member| Some((member, rate(member)?)));
    let why = match () {
        () if members.iter().any(|member| member.weight.is_some()) => "as `agent.weights` says".to_owned(),
        () if plateau.is_some() => "a plateau, so that the past does not count".to_owned(),
        () if rows.iter().all(|row| row.gain <= 0.0) => "nobody has gained anything yet".to_owned(),
        () => {
            let dollars = |member: &Member| {
                let row = rows.iter().find(|row| row.agent == member.name);
                let gained =
                    row.and_then(AgentRow::per_dollar).map(|gained| format!(" and {} a dollar", rough(gained)));
                gained.unwrap_or_default()
            };
            let told = gained.enumerate().map(|(at, (member, rate))| match at {
                0 => format!("{} gained {} an hour{}", member.name, rough(rate), dollars(member)),
                _ => format!("{} {}{}", member.name, rough(rate), dollars(member)),
            });
            told.collect::<Vec<_>>().join(", ")
        }
    };
    format!("{told}: {why}")
}

impl Study {
    /// Who is asked next, for a slot that is free or for the next one that will be, and why, where they are several.
    pub(super) fn whose_turn(&self, slot_is_free: bool, now: Timestamp) -> Option<(&Member, String)> {
        let members = &self.spec.agent.members;
        let may: Vec<usize> = (0..members.len()).filter(|at| self.may_ask(&members[*at], slot_is_free, now)).collect();
        if let [] | [_] = may.as_slice() {
            let alone = if members.len() > 1 { "nobody else could be asked" } else { "" };
            return may.first().map(|at| (&members[*at], alone.to_owned()));
        }
        let rows: Vec<AgentRow> = members.iter().map(|member| self.state.agent_row(&member.name)).collect();
        let shares = shares(members, &rows, self.state.plateau());
        let share: f64 = may.iter().map(|at| shares[*at]).sum();
        let turns: f64 = may.iter().map(|at| rows[*at].lately).sum();
        let behind = |at: usize| shares[at] / share * (turns + 1.0) - rows[at].lately;
        let first = may.into_iter().reduce(|first, other| if behind(other) > behind(first) { other } else { first })?;
        let had = if turns > 0.0 { rows[first].lately / turns } else { 0.0 };
        let percent = |share: f64| (share * 100.0).round();
        let why = format!(
            "of the turns it is to have {} % and had {} % of late; {}",
            percent(shares[first] / share),
            percent(had),
            described(members, &rows, self.state.plateau())
        );
        Some((&members[first], why))
    }

    /// The tuner, where a slot would wait for somebody who still thinks. Experiments that are counted, and turns that a
    /// person has shared out, go to those whose turn it is.
    pub(super) fn may_fill(&self, thinking: u64, now: Timestamp) -> Option<&Member> {
        let members = &self.spec.agent.members;
        let is_free = thinking > 0 && self.left().is_none() && members.iter().all(|member| member.weight.is_none());
        let tuner = members.iter().find(|member| member.kind == AgentKind::Tuner)?;
        (is_free && self.may_ask(tuner, true, now)).then_some(tuner)
    }

    fn may_ask(&self, member: &Member, slot_is_free: bool, now: Timestamp) -> bool {
        let Some(run) = &self.state.run else { return false };
        let until = self.state.waits_until(&member.name).max(self.left_alone_until(run, member));
        if until.is_some_and(|until| now < until) || self.has_no_idea(run, member) {
            return false;
        }
        // The tuner answers at once; asked ahead, it would only know less. One that fails is not asked over and over
        // while a trial runs: ten in a row would end the run. One whose provider failed waits longer each time, and is asked
        // ahead like everybody: where others are, no slot is ever free for it.
        let is_steady = self.failed_in_a_row(run, member) == 0;
        slot_is_free || (member.kind != AgentKind::Tuner && is_steady)
    }

    /// When the moment alone will change who may be asked.
    pub(super) fn next_return(&self, now: Timestamp) -> Option<Timestamp> {
        let run = self.state.run.as_ref()?;
        let left_alone = self.spec.agent.members.iter().filter_map(|member| self.left_alone_until(run, member));
        let waiting = self.spec.agent.members.iter().filter_map(|member| self.state.waits_until(&member.name));
        waiting.chain(left_alone).filter(|until| *until > now).min()
    }

    /// Why there is nobody left to ask, if so. One whose provider is down will be back.
    pub(super) fn nobody_left(&self) -> Option<StopReason> {
        let run = self.state.run.as_ref()?;
        let members = &self.spec.agent.members;
        if !self.spec.agent.is_team() {
            if let Some(what) = &run.exhausted {
                return Some(StopReason::NothingToTry { what: what.clone() });
            }
            let in_a_row = run.failed_in_a_row;
            let failed = || StopReason::FailedAttempts { in_a_row, last: run.last_failure.clone() };
            return (in_a_row >= FAILED_ATTEMPTS).then(failed);
        }
        let fails = |member: &&Member| self.failed_in_a_row(run, member) >= FAILED_ATTEMPTS;
        let is_out = |member: &Member| fails(&member) || self.has_no_idea(run, member);
        if !members.iter().all(is_out) {
            return None;
        }
        match members.iter().find(fails).and_then(|member| run.failing.get(&member.name)) {
            Some(failing) => {
                Some(StopReason::FailedAttempts { in_a_row: failing.in_a_row, last: failing.last.clone() })
            }
            None => Some(StopReason::NothingToTry { what: run.exhausted.clone().unwrap_or_default() }),
        }
    }

    fn failed_in_a_row(&self, run: &Run, member: &Member) -> u32 {
        match self.spec.agent.is_team() {
            true => run.failing.get(&member.name).map_or(0, |failing| failing.in_a_row),
            false => run.failed_in_a_row,
        }
    }

    /// Whether one of a team said that it has no idea left, and nothing has changed since.
    fn has_no_idea(&self, run: &Run, member: &Member) -> bool {
        self.spec.agent.is_team() && run.without_idea.contains_key(&member.name)
    }

    /// One of a team that always fails may be mended in the course of a night.
    fn left_alone_until(&self, run: &Run, member: &Member) -> Option<Timestamp> {
        let failing = run.failing.get(&member.name).filter(|_| self.spec.agent.is_team())?;
        let until = Timestamp(failing.at.0 + LEFT_ALONE.0 as i64);
        (failing.in_a_row >= FAILED_ATTEMPTS).then_some(until)
    }
}
