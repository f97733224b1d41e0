//! The part of the fold that follows when the champion moves: what is put on top of it, taken back, or tried again.

use super::judging::Again;
use super::state::State;
use crate::event::{Proposed, Retracted};
use crate::id::ExperimentId;
use crate::tuner::Came;
use crate::verdict::Verdict;

impl State {
    /// The proposal is what it is on top of the present champion, and is measured there.
    pub(super) fn restack(&mut self, proposed: &Proposed) {
        let id = proposed.experiment;
        self.contents.entry(proposed.content.clone()).or_insert(id);
        self.forms.extend(proposed.form.clone().filter(|form| !self.forms.contains_key(form)).map(|form| (form, id)));
        self.with_open(id, |open| {
            (open.surface_from, open.fresh_from) = (open.trials.len(), open.trials.len());
            open.parent = Some(proposed.parent.clone());
            open.commit = Some(proposed.commit.clone());
            open.commit_time = proposed.commit_time;
            open.content = Some(proposed.content.clone());
            open.surface = proposed.surface.clone();
            (open.form, open.tokens) = (proposed.form.clone(), proposed.tokens);
            // What passed was another tree.
            open.guards.clear();
            open.smokes.clear();
        });
        if let Some(parent) = self.standing_at(&proposed.parent) {
            self.tuning.restack(id, parent);
        }
        if let Some(mind) = self.judging.mind.as_mut().filter(|mind| mind.knows(id)) {
            mind.restack(id);
        }
    }

    /// A keep is taken back: the champion before it has its place again, once the branch says so.
    pub(super) fn retract(&mut self, retracted: &Retracted) {
        let Some(experiment) = self.standing.get_mut(&retracted.experiment) else { return };
        experiment.verdict = Some((Verdict::Retracted, retracted.reason.clone()));
        experiment.estimate = Some(retracted.estimate);
        self.turns.retract(retracted.experiment);
        self.counts.kept = self.counts.kept.saturating_sub(1);
        self.counts.not_better += 1;
        let error = retracted.estimate.low.map_or(0.0, |low| (retracted.estimate.gain - low) / 2.0);
        self.tuning.end(retracted.experiment, Some(Came::Gain { gain: retracted.estimate.gain, error }));
        (self.unadvanced, self.retreating) = (self.judging.before, Some(retracted.experiment));
        self.touched.insert(retracted.experiment);
    }

    /// What was tried under doubt may be tried again.
    pub(super) fn may_come_again(&mut self, again: &Again) {
        self.contents.remove(&again.content);
        self.forms.retain(|_, known| *known != again.experiment);
    }

    /// What is no longer there cannot be tried again. That it was tried is remembered all the same.
    pub(super) fn forget_contents(&mut self, experiments: &[ExperimentId]) {
        let judging = &mut self.judging;
        for waiting in [&mut judging.recent, &mut judging.again, &mut judging.near] {
            waiting.retain(|again| !experiments.contains(&again.experiment));
        }
    }

    /// Two scores that scatter as those of a candidate did, while the champion's were all the same.
    pub(super) fn scattered_scores(&self) -> Vec<f64> {
        let Some(tally) = self.scattered else { return Vec::new() };
        let half = (tally.squares() / f64::from(tally.degrees().max(1)) / 2.0).sqrt();
        tally.mean().map(|mean| vec![mean - half, mean + half]).unwrap_or_default()
    }
}
