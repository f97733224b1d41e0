//! What the turns of each agent took and gave: the part of the fold that turns are handed out by.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::experiment::Experiment;
use super::state::State;
use crate::event::Judged;
use crate::id::ExperimentId;
use crate::judge::Opinion;
use crate::units::{Millis, Timestamp};
use crate::verdict::Verdict;

/// How many turns are remembered. The oldest of them count for next to nothing.
const REMEMBERED: usize = 200;
/// What a turn counts for, beside the one after it: half as much forty turns later.
const FADES: f64 = 0.982_820_598_545;
/// The same for who was asked lately, which is to be even over a dozen turns.
const FADES_SOON: f64 = 0.943_874_312_682;
/// Whose proposals come by themselves: of a person, and of the demo's villains. What is refused of them is recorded as if
/// they had been asked. No agent has such a name.
pub const UNASKED: [&str; 2] = ["person", "villain"];
/// What a near-miss is worth, beside a keep of the same gain.
const NEAR: f64 = 0.2;

/// The turns of late, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns(VecDeque<Turn>);

#[derive(Debug, Clone)]
struct Turn {
    experiment: ExperimentId,
    agent: String,
    /// Somebody was asked; else something came by itself, or was tried again.
    is_asked: bool,
    /// The agent's own time, and that of the trials.
    took: Millis,
    /// What models were asked for it, at list price, where that is known.
    paid: Option<f64>,
    gain: f64,
    came: Came,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    Open,
    Kept,
    NotKept,
    Failed,
}

/// What is known of an agent by its latest turns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AgentRow {
    pub agent: String,
    /// Of those that are remembered.
    pub turns: u64,
    pub kept: u64,
    /// Turns that gave nothing to try.
    pub failed: u64,
    /// What its keeps gained and did not lose again, older ones for less.
    pub gain: f64,
    /// What its turns took, older ones for less.
    pub hours: f64,
    /// What models were asked in those turns whose cost is known, in dollars, older ones for less.
    #[serde(default)]
    pub dollars: f64,
    /// What those turns took.
    #[serde(default)]
    pub priced_hours: f64,
    /// How often it was asked of late.
    pub lately: f64,
    /// When it may be asked again, where its provider is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_until: Option<Timestamp>,
}

impl AgentRow {
    /// What it gained in an hour; `None` before anything took any time.
    pub fn per_hour(&self) -> Option<f64> {
        (self.hours > 0.0).then(|| self.gain / self.hours)
    }

    /// What all of its turns cost, as far as the priced ones tell.
    pub fn paid(&self) -> Option<f64> {
        (self.priced_hours > 0.0).then(|| self.dollars / self.priced_hours * self.hours)
    }

    /// What it gained for a dollar; `None` where none was paid, or it is not known.
    pub fn per_dollar(&self) -> Option<f64> {
        self.paid().filter(|paid| *paid > 0.0).map(|paid| self.gain / paid)
    }
}

impl Turns {
    /// An agent is asked. One that was stopped before it answered is asked again, which is the same turn.
    pub(super) fn ask(&mut self, experiment: ExperimentId, agent: &str) {
        self.0.retain(|turn| turn.experiment != experiment);
        self.push(experiment, agent, true);
    }

    /// Something came that nobody was asked for.
    pub(super) fn come(&mut self, experiment: ExperimentId, agent: &str) {
        if !self.0.iter().any(|turn| turn.experiment == experiment) {
            self.push(experiment, agent, false);
        }
    }

    /// An answer took this long.
    pub(super) fn took(&mut self, experiment: ExperimentId, time: Millis) {
        self.with(experiment, |turn| turn.took.0 += time.0);
    }

    /// A part of it was paid; `None` where nobody knows how much.
    pub(super) fn pay(&mut self, experiment: ExperimentId, usd: Option<f64>) {
        self.with(experiment, |turn| turn.paid = turn.paid.zip(usd).map(|(paid, more)| paid + more));
    }

    /// That a provider is down says nothing about who asked it: it was no turn.
    pub(super) fn take_back(&mut self, experiment: ExperimentId) {
        self.0.retain(|turn| turn.experiment != experiment);
    }

    /// What came of a turn. It is worth what the judge reports of a keep, and little where it came close.
    pub(super) fn judge(&mut self, experiment: &Experiment, judged: &Judged) {
        let close = judged.opinion.filter(Opinion::is_close).map_or(0.0, |opinion| opinion.expected);
        let (gain, came) = match judged.verdict {
            Verdict::Kept => (judged.estimate.map_or(0.0, |estimate| estimate.gain), Came::Kept),
            Verdict::Discarded => (NEAR * close, Came::NotKept),
            verdict if verdict.is_failed_attempt() => (0.0, Came::Failed),
            _ => (0.0, Came::NotKept),
        };
        self.with(experiment.id, |turn| {
            turn.took.0 += experiment.seconds.0;
            (turn.gain, turn.came) = (gain.max(0.0), came);
        });
    }

    /// A keep did not survive.
    pub(super) fn retract(&mut self, experiment: ExperimentId) {
        self.with(experiment, |turn| (turn.gain, turn.came) = (0.0, Came::NotKept));
    }

    fn push(&mut self, experiment: ExperimentId, agent: &str, is_asked: bool) {
        let (took, paid, gain, came) = (Millis(0), Some(0.0), 0.0, Came::Open);
        self.0.push_back(Turn { experiment, agent: agent.to_owned(), is_asked, took, paid, gain, came });
        if self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
    }

    fn with(&mut self, experiment: ExperimentId, change: impl FnOnce(&mut Turn)) {
        if let Some(turn) = self.0.iter_mut().rev().find(|turn| turn.experiment == experiment) {
            change(turn);
        }
    }

    /// Sums by products alone, so that every machine finds the same.
    fn row(&self, agent: &str) -> AgentRow {
        let mut row = AgentRow { agent: agent.to_owned(), ..AgentRow::default() };
        for turn in &self.0 {
            (row.gain, row.hours, row.lately) = (row.gain * FADES, row.hours * FADES, row.lately * FADES_SOON);
            (row.dollars, row.priced_hours) = (row.dollars * FADES, row.priced_hours * FADES);
            if turn.agent != agent {
                continue;
            }
            row.gain += turn.gain;
            row.hours += turn.took.as_secs() / 3600.0;
            // What is still open may cost more.
            if let Some(paid) = turn.paid.filter(|_| turn.came != Came::Open) {
                row.dollars += paid;
                row.priced_hours += turn.took.as_secs() / 3600.0;
            }
            row.kept += u64::from(turn.came == Came::Kept);
            row.failed += u64::from(turn.came == Came::Failed);
            if turn.is_asked {
                row.turns += 1;
                row.lately += 1.0;
            }
        }
        row
    }
}

impl State {
    /// What is known of an agent by its latest turns.
    pub fn agent_row(&self, agent: &str) -> AgentRow {
        AgentRow { waits_until: self.waits_until(agent), ..self.turns.row(agent) }
    }

    /// The same of everyone who was asked of late, where they were several or one of them is waited for.
    pub fn team(&self) -> Vec<AgentRow> {
        let mut names: Vec<&str> = Vec::new();
        for turn in self.turns.0.iter().filter(|turn| turn.is_asked && !UNASKED.contains(&turn.agent.as_str())) {
            if !names.contains(&turn.agent.as_str()) {
                names.push(&turn.agent);
            }
        }
        names.extend(self.waiting().map(|(name, _)| name).filter(|name| !names.contains(name)).collect::<Vec<_>>());
        let rows: Vec<AgentRow> = names.into_iter().map(|name| self.agent_row(name)).collect();
        if rows.len() > 1 || rows.iter().any(|row| row.waits_until.is_some()) { rows } else { Vec::new() }
    }
}
