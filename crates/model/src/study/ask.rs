//! Whom to ask for a proposal, and how many there may be at once.

use super::{Experiment, Step, Study};
use crate::event::Scope;
use crate::id::ExperimentId;
use crate::units::Timestamp;

impl Study {
    /// A question to the agent, for a slot that is free or for the next one that will be.
    pub(super) fn next_question(&self, slot_is_free: bool, now: Timestamp) -> Option<Step> {
        let run = self.state.run.as_ref()?;
        if !self.is_loop() || !self.state.calibrated() {
            return None;
        }
        let unasked = self.candidates().find(|open| open.is_unasked());
        let taken = self.candidates().filter(|open| !open.is_unasked()).count() as u64;
        let wanted = match slot_is_free {
            true => taken < u64::from(run.facts.slots),
            false => self.asks_ahead(taken),
        };
        if !wanted || self.left().is_some_and(|left| taken >= left) {
            return None;
        }
        if let Some(again) = self.state.judging.again.front().filter(|_| slot_is_free) {
            return Some(Step::Again(again.clone()));
        }
        if self.state.waits_until().is_some_and(|until| now < until) {
            return None;
        }
        let experiment = unasked.map_or(ExperimentId(self.state.next_experiment), |open| open.id);
        let parent = self.state.champion()?.commit.clone()?;
        let member = self.whose_turn(experiment, slot_is_free)?;
        Some(Step::Ask { experiment, agent: member.name.clone(), parent })
    }

    /// Whether a proposal that nobody was asked for may join now, once so many verdicts of this run have passed: as soon
    /// as there is a champion where it is all that the run is for, else in place of a question.
    pub fn takes_offer(&self, after: u64) -> bool {
        let Some(run) = self.state.run.as_ref().filter(|run| run.stopping.is_none()) else { return false };
        // It is made from the champion of this moment: not while another may be about to take that place.
        let champion_may_move = self.candidates().any(|open| !open.trials.is_empty());
        let is_its_turn = run.counted >= after && self.has_free_slot() && !champion_may_move;
        self.state.champion().is_some() && self.state.calibrated() && (self.is_for_one() || is_its_turn)
    }

    /// Whether the run is for one proposal of a person, and asks nobody.
    pub fn is_for_one(&self) -> bool {
        self.state.run.as_ref().is_some_and(|run| run.facts.scope == Scope::One)
    }

    /// Whether to have somebody think while every slot is taken.
    fn asks_ahead(&self, taken: u64) -> bool {
        let ahead = u64::from(self.spec.agent.ahead);
        // A quick look takes no slot.
        let is_in_slot = |open: &Experiment| open.in_flight > 0 && !self.state.smoking.contains_key(&open.id);
        let waiting = self.candidates().filter(|open| !is_in_slot(open) && !open.is_unasked()).count() as u64;
        // One that fails is not asked over and over while a trial runs: ten in a row would end the run.
        let fails = self.state.run.as_ref().is_some_and(|run| run.failed_in_a_row > 0 || run.waiting.is_some());
        // Where something is about to be kept, the answer would be about yesterday's champion.
        let champion_may_move = self.candidates().any(|open| !open.trials.is_empty());
        let patience = self.patience_left().is_none_or(|left| taken < left);
        waiting < ahead && !fails && !champion_may_move && patience
    }

    /// What this run may judge: everything open but what candidates are compared with.
    pub(super) fn candidates(&self) -> impl Iterator<Item = &Experiment> {
        self.in_scope().filter(|open| !self.calibrates(open.id))
    }
}
