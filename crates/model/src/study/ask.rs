//! Whom to ask for a proposal, and how many there may be at once.

use super::{Experiment, Step, Study};
use crate::event::Scope;
use crate::id::ExperimentId;
use crate::spec::AgentKind;
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
        let slots = u64::from(run.facts.slots);
        let wanted = match slot_is_free {
            true => taken < slots,
            false => self.asks_ahead(taken),
        };
        // A slot does not wait for one who thinks while there is one who answers at once.
        let tuner = AgentKind::Tuner.name();
        let thinking = self.candidates().filter(|open| open.asked && open.agent != tuner).count() as u64;
        let is_idle = slot_is_free && !wanted && taken - thinking < slots;
        let fills = is_idle.then(|| self.may_fill(thinking, now)).flatten();
        // What came close had all the trials that it was worth: on a plateau it gets more where they cost nobody anything.
        let near = self.state.judging.near.back().filter(|_| slot_is_free && self.state.plateau().is_some());
        let may_ask = wanted || fills.is_some();
        if !(may_ask || is_idle && near.is_some()) || self.left().is_some_and(|left| taken >= left) {
            return None;
        }
        if let Some(again) = self.state.judging.again.front().filter(|_| slot_is_free) {
            return Some(Step::Again(again.clone()));
        }
        let fills = fills.map(|member| (member, "a slot would have waited for those who think".to_owned()));
        let turn = fills.or_else(|| self.whose_turn(slot_is_free, now).filter(|_| may_ask));
        let Some((member, why)) = turn else { return near.map(|near| Step::Again(near.clone())) };
        let experiment = unasked.map_or(ExperimentId(self.state.next_experiment), |open| open.id);
        let parent = self.state.champion()?.commit.clone()?;
        Some(Step::Ask { experiment, agent: member.name.clone(), parent, why })
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
        // Where something is about to be kept, the answer would be about yesterday's champion.
        let champion_may_move = self.candidates().any(|open| !open.trials.is_empty());
        let patience = self.patience_left().is_none_or(|left| taken < left);
        waiting < ahead && !champion_may_move && patience
    }

    /// What this run may judge: everything open but what candidates are compared with.
    pub(super) fn candidates(&self) -> impl Iterator<Item = &Experiment> {
        self.in_scope().filter(|open| !self.calibrates(open.id))
    }
}
