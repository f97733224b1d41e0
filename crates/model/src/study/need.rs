//! What one experiment needs next: a verdict, a trial, a guard, or patience.

use super::Study;
use super::experiment::{Experiment, LARGEST_SCORE};
use crate::ending::Ending;
use crate::event::{AttemptFailure, Judged, Purpose};
use crate::id::{ContentId, ExperimentId};
use crate::judge::{self, CALIBRATION_TRIALS, Estimate, Evidence, Ruling};
use crate::measure::Measurement;
use crate::spec::{Check, When};
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
    Guard(u32),
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
        if experiment.trials.is_empty()
            && let Some((found, reason)) = self.repeat(experiment, content)
        {
            return verdict(found, reason);
        }
        if let Some(need) = self.guard_need(experiment, When::First) {
            return need;
        }
        // A champion that comes over from another segment has run before: one bad run is not its end.
        let mut forgiven = u32::from(self.state.carried() == Some(experiment.id));
        for trial in &experiment.trials {
            if let Some((found, reason)) = self.broken(&trial.measurement) {
                if forgiven == 0 {
                    return verdict(found, reason);
                }
                forgiven -= 1;
                continue;
            }
            if let Some(reason) = self.number_breach(experiment, &trial.measurement, When::First) {
                return verdict(Verdict::GuardFailed, reason);
            }
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
        let is_other = |id: &ExperimentId| *id != experiment.id;
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
        if self.state.trials_for(baseline.id, Purpose::Baseline) < CALIBRATION_TRIALS {
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

    fn ruling_need(&self, experiment: &Experiment) -> Need {
        let (Some(champion), Some(facts)) = (self.state.champion(), &self.state.segment) else {
            return Need::Patience;
        };
        let scores = experiment.scores();
        let evidence = Evidence {
            goal: facts.metric.goal,
            min_gain: self.spec.metric.min_gain.map_or(0.0, Score::get),
            noise: self.state.noise(),
            champion: &champion.level(),
            candidate: &scores,
        };
        let carried = self.state.carried() == Some(experiment.id);
        let ruling = if carried { judge::rule_on_carried(&evidence) } else { judge::rule(&evidence) };
        match ruling {
            None => Need::Patience,
            // It was not chosen for these runs: all of them count.
            Some(Ruling::Measure) if carried => Need::Trial(Purpose::Remeasure),
            Some(Ruling::Measure) if scores.is_empty() => Need::Trial(Purpose::Screen),
            Some(Ruling::Measure) if scores.len() == 1 => Need::Trial(Purpose::Confirm),
            Some(Ruling::Measure) => Need::Trial(Purpose::Remeasure),
            Some(Ruling::Discard(reason, estimate)) => {
                Need::Verdict(judged(experiment, Verdict::Discarded, reason, Some(estimate)))
            }
            Some(Ruling::Keep(reason, estimate)) => self
                .guard_need(experiment, When::BeforeKeep)
                .or_else(|| {
                    let last = &experiment.trials.last()?.measurement;
                    let reason = self.number_breach(experiment, last, When::BeforeKeep)?;
                    Some(Need::Verdict(judged(experiment, Verdict::GuardFailed, reason, Some(estimate))))
                })
                .unwrap_or_else(|| Need::Verdict(judged(experiment, Verdict::Kept, reason, Some(estimate)))),
        }
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

    /// The first command guard of this moment that has not passed yet.
    pub(super) fn guard_need(&self, experiment: &Experiment, when: When) -> Option<Need> {
        for (index, guard) in self.spec.guards.iter().enumerate() {
            let (Check::Run(command), true) = (&guard.check, guard.when == when) else { continue };
            let index = index as u32;
            match experiment.guards.iter().rev().find(|(found, _)| *found == index) {
                None => return Some(Need::Guard(index)),
                Some((_, ending)) if !ending.succeeded() => {
                    let reason = Reason::GuardCommand { command: command.clone(), ending: ending.clone() };
                    return Some(Need::Verdict(judged(experiment, Verdict::GuardFailed, reason, None)));
                }
                Some(_) => {}
            }
        }
        None
    }

    /// A number that a guard needs and the trial did not give.
    pub fn missing_number(&self, measurement: &Measurement) -> Option<(Verdict, Reason)> {
        let names = self.spec.guards.iter().filter_map(|guard| match &guard.check {
            Check::Number { metric, .. } => Some(metric),
            Check::Run(_) => None,
        });
        let missing = names.into_iter().find(|name| measurement.number(name).is_none())?;
        Some((Verdict::GuardFailed, Reason::GuardMissing { metric: missing.clone() }))
    }

    /// The first number that is past its limit.
    fn number_breach(&self, experiment: &Experiment, measurement: &Measurement, when: When) -> Option<Reason> {
        // Each keep was held against the champion of its time. All of them together, against the baseline, may be more.
        let relative = self.state.carried() != Some(experiment.id);
        let guards = self.spec.guards.iter().filter(|guard| guard.when == when);
        for guard in guards {
            let Check::Number { metric, max, max_regression } = &guard.check else { continue };
            let max_regression = max_regression.filter(|_| relative);
            let Some(value) = measurement.number(metric) else {
                return Some(Reason::GuardMissing { metric: metric.clone() });
            };
            let champion = self.champion_number(metric);
            if max_regression.is_some() && champion.is_none() {
                return Some(Reason::GuardMissing { metric: metric.clone() });
            }
            let relative = max_regression.zip(champion).map(|(share, level)| level + level.abs() * share.get());
            let relative = relative.filter(|limit| limit.is_finite());
            let limits = max.map(Score::get).into_iter().chain(relative);
            if let Some(limit) = limits.min_by(f64::total_cmp).filter(|limit| value.get() > *limit) {
                return Some(Reason::GuardLimit { metric: metric.clone(), value: value.get(), limit });
            }
        }
        None
    }

    fn champion_number(&self, name: &str) -> Option<f64> {
        let trials = &self.state.champion()?.trials;
        let values = trials
            .iter()
            .filter(|trial| trial.purpose != Purpose::Check)
            .filter_map(|trial| trial.measurement.number(name));
        crate::stats::Tally::of(values.map(Score::get)).mean()
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
    Judged { experiment: experiment.id, verdict, reason, metric: metric.and_then(Score::new), estimate }
}

fn failed_attempt(failure: &AttemptFailure) -> (Verdict, Reason) {
    match failure.clone() {
        AttemptFailure::NoChange => (Verdict::NoChange, Reason::SameAsChampion { in_form: false }),
        AttemptFailure::Error { what } | AttemptFailure::Exhausted { what } => {
            (Verdict::AgentError, Reason::Agent { what })
        }
        AttemptFailure::Policy { what } => (Verdict::Policy, Reason::Policy { what }),
    }
}
