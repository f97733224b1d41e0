//! Runs of the engine, and what each of them spent.

use overnight_model::event::{Purpose, RunFacts, Scope, StopReason};
use overnight_model::study::Spent;
use overnight_model::{Millis, Timestamp};

/// One run of the engine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Night {
    pub(crate) started_at: Timestamp,
    /// The end that it recorded, or the last that was heard of it.
    pub(crate) last_at: Timestamp,
    /// None while it is running, or where it was killed.
    pub(crate) stopped: Option<StopReason>,
    pub(crate) slots: u32,
    pub(crate) is_loop: bool,
    pub(crate) spending: Spending,
}

/// Where trials and time went.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Spending {
    pub(crate) trials: Spent,
    /// How long trials ran in all, side by side or not.
    pub(crate) machine: Millis,
    /// How long agents were at work on what they proposed.
    pub(crate) agents: Millis,
    /// Verdicts that count as experiments.
    pub(crate) experiments: u64,
    pub(crate) kept: u64,
    /// Turns of an agent, those that gave nothing included.
    pub(crate) attempts: u64,
    /// From the first to the last that was heard.
    pub(crate) wall: Millis,
}

impl Night {
    pub(super) fn begin(facts: &RunFacts, at: Timestamp) -> Night {
        Night {
            started_at: at,
            last_at: at,
            stopped: None,
            slots: facts.slots,
            is_loop: matches!(facts.scope, Scope::Loop { .. }),
            spending: Spending::default(),
        }
    }
}

impl Spending {
    pub(super) fn trial(&mut self, purpose: Purpose, took: Millis) {
        self.machine.0 += took.0;
        *match purpose {
            Purpose::Baseline => &mut self.trials.calibrate,
            Purpose::Screen => &mut self.trials.screen,
            Purpose::Confirm => &mut self.trials.confirm,
            Purpose::Remeasure => &mut self.trials.remeasure,
            Purpose::Sentinel | Purpose::Close | Purpose::Check => &mut self.trials.sentinel,
        } += 1;
    }

    pub(super) fn and(mut self, other: &Spending) -> Spending {
        let Spending { trials, machine, agents, experiments, kept, attempts, wall } = other;
        let Spent { calibrate, screen, confirm, remeasure, sentinel } = trials;
        self.trials.calibrate += calibrate;
        self.trials.screen += screen;
        self.trials.confirm += confirm;
        self.trials.remeasure += remeasure;
        self.trials.sentinel += sentinel;
        self.machine.0 += machine.0;
        self.agents.0 += agents.0;
        self.experiments += experiments;
        self.kept += kept;
        self.attempts += attempts;
        self.wall.0 += wall.0;
        self
    }
}
