//! What comes by letter beside words: proposals, and a wish to pause.

use super::Study;
use super::state::State;
use crate::event::StopReason;
use crate::id::ExperimentId;
use crate::spec::AgentKind;
use crate::units::Timestamp;

/// Whether nothing of what an agent of this name proposes was written by a model: a person's own, and the tuner's.
pub fn is_by_hand(agent: &str) -> bool {
    ["", "person", AgentKind::Tuner.name()].contains(&agent)
}

impl State {
    /// Whether a letter was taken up before.
    pub fn has_read(&self, letter: &str) -> bool {
        self.letters.contains(letter)
    }

    /// Whether nothing new may begin until a person says so.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Whether something that came by letter still waits for its verdict.
    pub fn owes_a_verdict(&self) -> bool {
        !self.delivered.is_empty()
    }

    pub(super) fn deliver(&mut self, becomes: ExperimentId, letter: &str) {
        self.read_letter(letter);
        self.delivered.insert(becomes);
    }

    pub(super) fn read_letter(&mut self, letter: &str) {
        self.letters.insert(letter.to_owned());
    }

    /// It may be said between runs, whose time is not to be made longer by it.
    pub(super) fn pause(&mut self, paused: bool, letter: &str) {
        self.read_letter(letter);
        self.paused = paused;
    }
}

impl Study {
    /// Whether a proposal that came by letter may join now. It says what it was made from, so a champion that moves
    /// meanwhile is no loss: it is put on the new one. `in_place` is for one that takes the place of a question.
    pub fn takes_letter(&self, in_place: bool, now: Timestamp) -> bool {
        let Some(run) = self.state.run.as_ref().filter(|run| run.stopping.is_none()) else { return false };
        if self.is_for_one() || self.state.is_paused() || !self.state.calibrated() || self.state.champion().is_none() {
            return false;
        }
        // A run that will begin nothing more would leave it without a verdict; in the box it is there for the next one.
        let is_target = matches!(self.enough(now), Some(StopReason::Target { .. }));
        if self.over(now).is_some() || is_target || self.is_closing(now, false) {
            return false;
        }
        // Who only thinks takes no slot: what is ready need not wait for that.
        let ready = self.candidates().filter(|open| !open.asked && !open.is_unasked()).count() as u64;
        let may_count = self.left().is_none_or(|left| ready < left);
        may_count && (in_place || (self.has_free_slot() && ready < u64::from(run.facts.slots)))
    }

    /// Whether the run is for what came by letter, and asks nobody.
    pub fn is_for_letters(&self) -> bool {
        self.state.run.as_ref().is_some_and(|run| run.facts.scope == crate::event::Scope::Letters)
    }
}
