//! What one experiment needs next: a verdict, a trial, a guard, or patience.

use super::Study;
use super::experiment::{Experiment, LARGEST_SCORE};
use crate::ending::Ending;
use crate::event::{AttemptFailure, Judged, Purpose};
use crate::id::{ContentId, ExperimentId};
use crate::judge::{CALIBRATION_TRIALS, Estimate, FIRST_TRIALS};
use crate::measure::Measurement;
use crate::spec::When;
use crate::units::Score;
use crate::verdict::{Reason, Verdict};

/// Our own fault three times in a row is not bad luck; go on to something else.
const FAULTS_IN_A_ROW: u32 = 3;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Need {
    /// Something is running, or an agent is thinking.
    Patience,
    /// The agent was interrupted and has to be asked again.
    Agent,
    Trial(Purpose),
    /// A trial of the champion, for its sake.
    Champion,
    /// It has to be put on the champion that there is now.
    Restack,
    /// A guard's command, on the experiment itself or on the champion.
    Guard {
        guard: u32,
        on: Option<ExperimentId>,
    },
    Verdict(Judged),
}

impl Study {
    pub(super) fn need(&self, experiment: &Experiment) -> Need {
        if experiment.asked || experiment.in_flight > 0 {
            return Need::Patience;
        }
        let verdict = |verdict, reason| Need::Verdict(judged(experiment, verdict, reason, None));
        if let Some(failure) = &experiment.failure {
            let (found, reason) = failed_attempt(failure);
            return verdict(found, reason);
        }
        let Some(content) = &experiment.content else {
            return Need::Agent;
        };
        if is_hopeless(experiment) {
            // Without a baseline there is nothing to judge by: the run ends, and the next one measures it again.
            if self.calibrates(experiment.id) {
                return Need::Patience;
            }
            return verdict(Verdict::EngineError, Reason::Engine { what: experiment.last_fault.clone() });
        }
        if experiment.id == self.state.baseline() {
            return self.baseline_need(experiment);
        }
        if self.state.carried() == Some(experiment.id) && !self.state.begun() {
            return Need::Patience;
        }
        if experiment.clashes {
            let gain = experiment.fresh().last().and_then(|_| self.state.mind()?.opinion(experiment.id, 0.0));
            let reason = Reason::Moved { gain: gain.map(|opinion| opinion.expected).filter(|gain| *gain > 0.0) };
            return verdict(Verdict::Discarded, reason);
        }
        if experiment.fresh().is_empty() && experiment.guards.is_empty() {
            if let Some((found, reason)) = self.repeat(experiment, content) {
                return verdict(found, reason);
            }
            if self.state.carried() != Some(experiment.id) && !self.is_current(experiment) {
                return Need::Restack;
            }
        }
        if let Some(need) = self.guard_need(experiment, When::First) {
            return need;
        }
        // A champion that comes over from another segment has run before: one bad run is not its end.
        let mut forgiven = u32::from(self.state.carried() == Some(experiment.id));
        for trial in experiment.fresh() {
            if let Some((found, reason)) = self.broken(&trial.measurement) {
                if forgiven == 0 {
                    return verdict(found, reason);
                }
                forgiven -= 1;
            }
        }
        if let Some(reason) = self.number_breach(experiment, When::First) {
            return verdict(Verdict::GuardFailed, reason);
        }
        self.ruling_need(experiment)
    }

    /// The verdict of what is no other program than one that is known. Bytes are asked first: they say it more exactly.
    fn repeat(&self, experiment: &Experiment, content: &ContentId) -> Option<(Verdict, Reason)> {
        let champion = self.state.champion();
        // What was carried over must have its say in this segment, whatever it has in common with the baseline.
        let form = experiment.form.as_ref().filter(|_| self.state.carried() != Some(experiment.id));
        if champion.and_then(|champion| champion.content.as_ref()) == Some(content) {
            return Some((Verdict::NoChange, Reason::SameAsChampion { in_form: false }));
        }
        let is_other = |id: &ExperimentId| *id != experiment.id && !self.state.is_second_look(experiment, *id);
        if experiment.is_second_try || experiment.identity().is_some_and(|identity| self.deserves_more(identity)) {
            return None;
        }
        let duplicate =
            |ExperimentId(experiment), in_form| (Verdict::Duplicate, Reason::SameAs { experiment, in_form });
        if let Some(first) = self.state.tried(content).filter(is_other) {
            return Some(duplicate(first, false));
        }
        let form = form?;
        if champion.and_then(|champion| champion.form.as_ref()) == Some(form) {
            return Some((Verdict::NoChange, Reason::SameAsChampion { in_form: true }));
        }
        self.state.tried_form(form).filter(is_other).map(|first| duplicate(first, true))
    }

    fn baseline_need(&self, baseline: &Experiment) -> Need {
        for trial in &baseline.trials {
            // The run ends with it (see `Study::baseline_failure`): there is nothing to compare with.
            if self.broken(&trial.measurement).is_some() {
                return Need::Patience;
            }
        }
        if self.calibration_due(baseline) {
            return Need::Trial(Purpose::Baseline);
        }
        // A guard that the baseline does not pass would refuse every candidate, all night.
        for when in [When::First, When::BeforeKeep] {
            match self.guard_need(baseline, when) {
                Some(Need::Verdict(_)) => return Need::Patience,
                Some(need) => return need,
                None => {}
            }
        }
        let trials = baseline.trials.len() as u32;
        Need::Verdict(judged(baseline, Verdict::Baseline, Reason::Measured { trials }, None))
    }

    /// Whether the baseline has to be measured before anything else is: two unequal scores are enough to begin with, equal
    /// ones have to be equal three times, and a champion that is carried over is compared with as many.
    pub(super) fn calibration_due(&self, baseline: &Experiment) -> bool {
        let started = self.state.trials_for(baseline.id, Purpose::Baseline);
        let scores = baseline.scores();
        let scatters = scores.windows(2).any(|pair| pair[0] != pair[1]) && self.state.carried().is_none();
        let known = scores.len() >= FIRST_TRIALS as usize;
        started < if known && !scatters { CALIBRATION_TRIALS } else { FIRST_TRIALS }
    }

    /// Why a trial gave no number that can be compared.
    pub fn broken(&self, measurement: &Measurement) -> Option<(Verdict, Reason)> {
        match &measurement.ending {
            Ending::Exited { code: 0 } => {}
            ending @ Ending::TimedOut { .. } => {
                return Some((Verdict::TimedOut, Reason::Ended { ending: ending.clone() }));
            }
            ending @ Ending::DiskFilled => {
                return Some((Verdict::DiskLimit, Reason::Ended { ending: ending.clone() }));
            }
            ending @ Ending::OutOfMemory { .. } => {
                return Some((Verdict::OutOfMemory, Reason::Ended { ending: ending.clone() }));
            }
            ending @ Ending::TooManyProcesses { .. } => {
                return Some((Verdict::PidsLimit, Reason::Ended { ending: ending.clone() }));
            }
            ending @ Ending::TooMuchOutput { .. } => {
                return Some((Verdict::OutputLimit, Reason::Ended { ending: ending.clone() }));
            }
            ending => return Some((Verdict::Crashed, Reason::Ended { ending: ending.clone() })),
        }
        let Some(score) = measurement.metric else {
            let name = &self.spec.metric.name;
            let missing = || crate::metric::MetricError::Missing { name: name.clone(), seen: Vec::new() };
            let error = measurement.problem.clone().unwrap_or_else(missing);
            return Some((Verdict::InvalidMetric, Reason::Metric { error }));
        };
        let (low, high) = self.spec.metric.plausible.map_or((-LARGEST_SCORE, LARGEST_SCORE), |(low, high)| {
            (low.get().max(-LARGEST_SCORE), high.get().min(LARGEST_SCORE))
        });
        let value = score.get();
        let implausible = Reason::Implausible { value, low, high };
        (value < low || value > high).then_some((Verdict::Suspect, implausible))
    }
}

/// Whether we lost it so often in a row that trying again is no use.
pub(super) fn is_hopeless(experiment: &Experiment) -> bool {
    experiment.faults >= FAULTS_IN_A_ROW
}

pub(super) fn judged(experiment: &Experiment, verdict: Verdict, reason: Reason, estimate: Option<Estimate>) -> Judged {
    let metric = match verdict {
        Verdict::Kept | Verdict::Baseline => experiment.level().mean(),
        _ => crate::stats::Tally::of(experiment.scores()).mean(),
    };
    let metric = metric.and_then(Score::new);
    Judged { experiment: experiment.id, verdict, reason, metric, estimate, opinion: None }
}

fn failed_attempt(failure: &AttemptFailure) -> (Verdict, Reason) {
    match failure.clone() {
        AttemptFailure::NoChange => (Verdict::NoChange, Reason::SameAsChampion { in_form: false }),
        AttemptFailure::Error { what, .. } | AttemptFailure::Exhausted { what } => {
            (Verdict::AgentError, Reason::Agent { what })
        }
        AttemptFailure::Policy { what } => (Verdict::Policy, Reason::Policy { what }),
    }
}
