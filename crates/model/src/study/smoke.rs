//! A quick look whether a candidate can run at all, before it takes a slot.
//!
//! One that fails is tried on the champion as well: if that passes, the candidate is to blame, and has its verdict without
//! a trial; if that fails too, something broke around the study, and the run ends.

use super::Study;
use super::experiment::Experiment;
use super::need::{Need, broken_by, judged};
use super::state::State;
use super::step::Step;
use crate::ending::Ending;
use crate::event::StopReason;
use crate::id::ExperimentId;
use crate::measure::Usage;
use crate::verdict::Reason;

/// One quick look.
#[derive(Debug, Clone, PartialEq)]
pub struct SmokeRun {
    /// The champion that it was tried on; none where it ran on the experiment itself.
    pub on: Option<ExperimentId>,
    pub ending: Ending,
}

/// One that is running.
#[derive(Debug, Clone, Copy)]
pub(super) struct Smoking {
    on: Option<ExperimentId>,
}

impl State {
    pub(super) fn start_smoke(&mut self, experiment: ExperimentId, on: Option<ExperimentId>) {
        self.smoking.insert(experiment, Smoking { on });
        self.with_open(experiment, |open| open.in_flight += 1);
    }

    pub(super) fn end_smoke(&mut self, experiment: ExperimentId, ending: &Ending, usage: Usage) {
        let Some(Smoking { on }) = self.smoking.remove(&experiment) else { return };
        self.with_open(experiment, |open| {
            open.in_flight = open.in_flight.saturating_sub(1);
            open.faults = 0;
            open.seconds.0 += usage.wall.0;
            open.smokes.push(SmokeRun { on, ending: ending.clone() });
        });
    }
}

impl Experiment {
    /// How the quick look ended on itself, or on this champion.
    fn smoked(&self, on: Option<ExperimentId>) -> Option<&Ending> {
        self.smokes.iter().rfind(|run| run.on == on).map(|run| &run.ending)
    }
}

impl Study {
    /// What stands between an experiment and its first trial; `None` where it may have one.
    pub(super) fn smoke_need(&self, experiment: &Experiment) -> Option<Need> {
        let smoke = self.spec.evaluate.smoke.as_ref()?;
        // What comes over from another segment has run before, and so has what a machine that shifted made begin anew.
        let has_run = experiment.trials.len() > experiment.surface_from && experiment.id != self.state.baseline();
        if has_run || self.state.carried() == Some(experiment.id) {
            return None;
        }
        let Some(ending) = experiment.smoked(None) else { return Some(Need::Smoke { on: None }) };
        let verdict = broken_by(ending)?;
        let champion = self.state.champion.filter(|_| experiment.id != self.state.baseline());
        // One that was champion a moment ago tells as much by passing.
        let passes = experiment.smokes.iter().any(|run| run.on.is_some() && run.ending.succeeded());
        Some(match champion.map(|champion| (experiment.smoked(Some(champion)), champion)) {
            Some((None, champion)) if !passes => Need::Smoke { on: Some(champion) },
            // The run ends with it: see `broken_smoke`.
            Some((Some(_), _)) if !passes => Need::Patience,
            _ => {
                let reason = Reason::Smoke { command: smoke.run.clone(), ending: ending.clone() };
                Need::Verdict(judged(experiment, verdict, reason, None))
            }
        })
    }

    /// The next quick look. It takes no slot, and its failure counts as any verdict does.
    pub(super) fn next_smoke(&self, begins: bool) -> Option<Step> {
        let command = &self.spec.evaluate.smoke.as_ref()?.run;
        let smoke = |open: &Experiment| match self.need(open) {
            Need::Smoke { on } => Some(Step::Smoke { experiment: open.id, command: command.clone(), on }),
            _ => None,
        };
        if !self.state.calibrated() {
            return self.in_scope().find(|open| open.id == self.state.baseline()).and_then(smoke);
        }
        let is_begun = |open: &&Experiment| open.has_begun() || !open.smokes.is_empty();
        let begun = self.candidates().filter(is_begun).count() as u64;
        // Another may have had its verdict without a run, and been the last that was wanted.
        if self.left() == Some(0) {
            return None;
        }
        let may_begin = begins && self.left().is_none_or(|left| begun < left);
        self.candidates().filter(|open| may_begin || is_begun(open)).find_map(smoke)
    }

    /// A quick look that the champion itself does not pass any more, which ends a run.
    pub(super) fn broken_smoke(&self) -> Option<StopReason> {
        let (smoke, champion) = (self.spec.evaluate.smoke.as_ref()?, self.state.champion?);
        self.in_scope().filter(|open| self.need(open) == Need::Patience).find_map(|open| {
            let ending = open.smoked(Some(champion)).filter(|ending| !ending.succeeded())?;
            Some(StopReason::GuardBroken { command: smoke.run.clone(), ending: ending.clone() })
        })
    }
}
