//! Suspects: numbers too good or too odd to be believed, which wait for a person's word.

use super::experiment::Experiment;
use super::state::{SinceKeep, State};
use crate::event::Reviewed;
use crate::id::ExperimentId;
use crate::verdict::{Reason, Verdict};

/// Why a suspect cannot be kept as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// It was measured against another champion, or in another segment, than there is now.
    ChampionMoved,
    /// None of its trials gave a number that others could be compared with.
    NoNumber,
    /// The last keep is half done: an engine was killed before the branch had moved.
    HalfKept,
}

impl State {
    /// What waits for a person, in order.
    pub fn suspects(&self) -> impl Iterator<Item = &Experiment> {
        self.suspects.values()
    }

    /// Why a suspect cannot be kept as it is; `None` where it can.
    pub fn obstacle(&self, suspect: &Experiment) -> Option<Obstacle> {
        let is_parent = |parent| self.champion().is_some_and(|champion| champion.is(parent));
        let is_near = suspect.segment == self.segment_number() && self.calibrated();
        if self.unadvanced.is_some() {
            Some(Obstacle::HalfKept)
        } else if !is_near || !suspect.parent.as_ref().is_some_and(is_parent) || suspect.surface.is_empty() {
            Some(Obstacle::ChampionMoved)
        } else {
            // Nothing could ever be compared with a champion that has no level.
            suspect.level().mean().is_none().then_some(Obstacle::NoNumber)
        }
    }

    /// Whether the champion stands by a person's word, whatever its numbers look like.
    pub(super) fn is_vouched_for(&self) -> bool {
        let verdict = self.champion().and_then(|champion| champion.verdict.as_ref());
        matches!(verdict, Some((_, Reason::Person { .. })))
    }

    /// Whether a person tries what is suspect once more. An agent that comes back with it learns that it was tried.
    pub(super) fn is_second_look(&self, experiment: &Experiment, first: ExperimentId) -> bool {
        experiment.agent == "person" && self.suspects.contains_key(&first)
    }

    /// Holds on to what a keep would need, and to no more: there may be many.
    pub(super) fn suspect(&mut self, mut experiment: Experiment) {
        experiment.edits = Vec::new();
        experiment.guards = Vec::new();
        for trial in &mut experiment.trials {
            let measurement = &mut trial.measurement;
            (measurement.output, measurement.scorer, measurement.problem) = (None, None, None);
        }
        self.suspects.insert(experiment.id, experiment);
        self.let_go_of_old_suspects();
    }

    /// A surface may be large. What can no longer be kept as it is needs none: the ledger has it.
    pub(super) fn let_go_of_old_suspects(&mut self) {
        let champion = self.champion.and_then(|champion| self.standing.get(&champion));
        let segment = self.segment_number();
        for suspect in self.suspects.values_mut() {
            let is_parent = suspect.parent.as_ref().zip(champion).is_some_and(|(parent, found)| found.is(parent));
            if !is_parent || suspect.segment != segment {
                suspect.surface = Vec::new();
            }
        }
    }

    pub(super) fn review(&mut self, reviewed: &Reviewed) {
        let Reviewed { experiment: id, verdict, why } = reviewed;
        let Some(mut experiment) = self.suspects.remove(id) else { return };
        let was = experiment.verdict.as_ref().map_or_else(String::new, |(_, reason)| reason.to_string());
        experiment.verdict = Some((*verdict, Reason::Person { said: why.clone(), was }));
        if !self.carried_over.contains(id) {
            let counts = &mut self.counts;
            counts.refused = counts.refused.saturating_sub(1);
            counts.kept += u64::from(*verdict == Verdict::Kept);
            counts.not_better += u64::from(*verdict != Verdict::Kept);
        }
        self.touched.insert(*id);
        self.aside = true;
        match verdict {
            Verdict::Kept => {
                // It happens between runs, whose time is not to be made longer by it.
                self.total_since_keep = SinceKeep { run_time: self.run_time(self.last_at), experiments: 0 };
                self.unadvanced = Some(*id);
                self.standing.insert(*id, experiment);
            }
            _ => drop(self.leaving.insert(*id, experiment)),
        }
    }
}
