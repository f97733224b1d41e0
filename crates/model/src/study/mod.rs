//! The study as a pure state machine: `next_step` says what to do, `apply` learns what happened.

mod alarm;
mod ask;
mod closing;
mod costs;
mod end;
mod experiment;
mod guards;
mod judging;
mod letters;
mod moves;
mod need;
mod plateau;
mod repair;
mod review;
mod row;
mod ruling;
mod said;
mod smoke;
mod state;
mod step;
pub mod team;
mod tuning;
mod turns;
mod waiting;
mod watching;

pub use costs::{AgentCost, CostRow, OtherModel};
pub use experiment::{Experiment, Trial};
pub use guards::{FlakyGuard, GuardRun};
pub use judging::{Again, Spent};
pub use letters::is_by_hand;
pub use plateau::Plateau;
pub use review::Obstacle;
pub use row::{Level, NoiseRow, Row, Running, SeedUse, SegmentRow, Summary};
pub use smoke::SmokeRun;
pub use state::{Run, State};
pub use step::Step;
pub use turns::{AgentRow, UNASKED};

use crate::event::Event;
use crate::spec::Spec;

/// What a person defined, and everything that happened since: enough to say what comes next.
#[derive(Debug, Clone)]
pub struct Study {
    spec: Spec,
    state: State,
}

impl Study {
    pub fn new(spec: Spec, state: State) -> Study {
        Study { spec, state }
    }

    /// Learns what happened. Never decides anything: the same events give the same state under any spec.
    pub fn apply(&mut self, event: &Event) {
        self.state.apply(event);
    }

    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// Lets go of what was judged, once its row is stored.
    pub fn forget_judged(&mut self) {
        self.state.forget_judged();
    }

    /// The experiments whose row changed since the last call.
    pub fn take_touched(&mut self) -> Vec<crate::id::ExperimentId> {
        self.state.touched()
    }
}

#[cfg(test)]
mod tests;
