//! What is going on right now: who runs in which slot, and who is asked. One event at a time, in order.

use std::collections::BTreeMap;

use overnight_model::event::{Event, Proposed, Purpose, RunFacts, Scope, What};
use overnight_model::{ExperimentId, Timestamp, TrialId};

/// The present of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Doing {
    /// By the number of the slot, from 0.
    pub(crate) slots: BTreeMap<u32, Job>,
    /// What is looked at outside of any slot.
    pub(crate) smokes: BTreeMap<ExperimentId, Timestamp>,
    /// Who is asked for something, by what for.
    pub(crate) turns: BTreeMap<ExperimentId, Turn>,
    /// The run that is going on.
    pub(crate) run: Option<RunFacts>,
    pub(crate) started_at: Timestamp,
    /// A person asked it to end; at once where true.
    pub(crate) stopping: Option<bool>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Job {
    pub(crate) experiment: ExperimentId,
    pub(crate) since: Timestamp,
    pub(crate) task: Task,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    Trial {
        trial: TrialId,
        purpose: Purpose,
        /// The candidate for whose sake another is measured.
        aid: Option<ExperimentId>,
    },
    Guard {
        guard: u32,
        on_champion: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) agent: String,
    pub(crate) since: Timestamp,
    pub(crate) is_repair: bool,
}

impl Doing {
    pub(crate) fn apply(&mut self, event: &Event) {
        let since = event.at;
        match &event.what {
            What::RunStarted(facts) => {
                *self = Doing { run: Some(facts.clone()), started_at: since, ..Doing::default() };
            }
            What::RunStopped { .. } => {
                (self.slots, self.smokes, self.turns) = Default::default();
                self.stopping = None;
            }
            What::StopRequested { hurry } => self.stopping = Some(self.stopping.unwrap_or(false) || *hurry),
            What::Asked { experiment, agent, .. } => {
                self.turns.insert(*experiment, Turn { agent: agent.clone(), since, is_repair: false });
            }
            What::RepairAsked { experiment, agent } => {
                self.turns.insert(*experiment, Turn { agent: agent.clone(), since, is_repair: true });
            }
            What::AttemptFailed { experiment, .. }
            | What::AttemptLost { experiment }
            | What::NotRepaired { experiment, .. }
            | What::Proposed(Proposed { experiment, .. })
            | What::Repaired(Proposed { experiment, .. }) => drop(self.turns.remove(experiment)),
            What::TrialStarted { trial, experiment, purpose, slot, aid, .. } => {
                let task = Task::Trial { trial: *trial, purpose: *purpose, aid: *aid };
                self.slots.insert(slot.0, Job { experiment: *experiment, since, task });
            }
            What::TrialFinished { trial, .. } | What::TrialLost { trial, .. } => {
                self.slots.retain(|_, job| !matches!(job.task, Task::Trial { trial: known, .. } if known == *trial));
            }
            What::GuardStarted { experiment, guard, slot, on, .. } => {
                let task = Task::Guard { guard: *guard, on_champion: on.is_some() };
                self.slots.insert(slot.0, Job { experiment: *experiment, since, task });
            }
            What::GuardFinished { experiment, guard, .. } | What::GuardLost { experiment, guard, .. } => {
                let is_it = |job: &Job| {
                    job.experiment == *experiment
                        && matches!(job.task, Task::Guard { guard: known, .. } if known == *guard)
                };
                self.slots.retain(|_, job| !is_it(job));
            }
            What::SmokeStarted { experiment, .. } => drop(self.smokes.insert(*experiment, since)),
            What::SmokeFinished { experiment, .. } | What::SmokeLost { experiment, .. } => {
                self.smokes.remove(experiment);
            }
            _ => {}
        }
    }

    /// How many experiments this run was asked for, where it was.
    pub(crate) fn asked_for(&self) -> Option<u64> {
        match self.run.as_ref()?.scope {
            Scope::Loop { experiments } => experiments,
            Scope::One | Scope::Letters => None,
        }
    }
}
