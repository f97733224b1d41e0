//! What must hold besides the metric, and what a failure of it says of whom.
//!
//! Tests fail by chance too. One failure is not held against anybody: the same command is run once more on the same
//! commit. A guard that fails and then passes is flaky, which is recorded, and the candidate has passed it. One that
//! fails twice is tried on the champion as well: if that passes, the candidate broke something; if that fails twice too,
//! something broke around the study, and every idea of the night would be refused for it.

use serde::{Deserialize, Serialize};

use super::Study;
use super::experiment::Experiment;
use super::need::{Need, judged};
use super::state::State;
use crate::ending::Ending;
use crate::event::{Purpose, StopReason};
use crate::id::{ExperimentId, Slot};
use crate::judge::Estimate;
use crate::measure::Measurement;
use crate::spec::{Check, When};
use crate::stats::Tally;
use crate::units::Score;
use crate::verdict::{Reason, Verdict};

/// A failure may be chance; the same failure twice in a row seldom is.
const RUNS: usize = 2;

/// One run of a guard's command.
#[derive(Debug, Clone, PartialEq)]
pub struct GuardRun {
    pub guard: u32,
    /// The champion that it was tried on; none where it ran on the experiment itself.
    pub on: Option<ExperimentId>,
    pub ending: Ending,
}

/// A guard that failed on a commit and then passed on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlakyGuard {
    pub command: String,
    /// Failures that were followed by a pass.
    pub failed: u32,
    /// All runs of the command, whatever came of them.
    pub runs: u32,
}

/// A guard that is running.
#[derive(Debug, Clone)]
pub(super) struct Guarding {
    pub(super) slot: Slot,
    pub(super) on: Option<ExperimentId>,
    pub(super) command: String,
}

/// How a command fared as a guard.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GuardTally {
    runs: u32,
    failed_then_passed: u32,
}

impl State {
    /// Guards that failed on a commit and then passed on it.
    pub fn flaky_guards(&self) -> Vec<FlakyGuard> {
        let flaky = self.guards.iter().filter(|(_, tally)| tally.failed_then_passed > 0);
        let flaky = flaky.map(|(command, tally)| FlakyGuard {
            command: command.clone(),
            failed: tally.failed_then_passed,
            runs: tally.runs,
        });
        flaky.collect()
    }

    pub(super) fn count_guard(&mut self, experiment: ExperimentId, run: &GuardRun, command: String) {
        let mut before = self.open.get(&experiment).into_iter().flat_map(|open| &open.guards);
        let last = before.rfind(|known| known.guard == run.guard && known.on == run.on);
        let turned = last.is_some_and(|last| !last.ending.succeeded()) && run.ending.succeeded();
        let tally = self.guards.entry(command).or_default();
        tally.runs += 1;
        tally.failed_then_passed += u32::from(turned);
    }
}

/// What the runs of one guard say of one commit.
enum Standing<'a> {
    /// It has to be run, for the first time or once more.
    Unknown,
    Passed,
    Failed(&'a Ending),
}

impl Experiment {
    fn guarded(&self, guard: u32, on: Option<ExperimentId>) -> Standing<'_> {
        let runs = self.guards.iter().filter(|run| run.guard == guard && run.on == on);
        let ended: Vec<&Ending> = runs.map(|run| &run.ending).collect();
        match ended.last() {
            Some(last) if last.succeeded() => Standing::Passed,
            Some(last) if ended.len() >= RUNS => Standing::Failed(last),
            _ => Standing::Unknown,
        }
    }

    /// What is known of the champion. One that was champion a moment ago tells as much by passing.
    fn guarded_champion(&self, guard: u32, champion: ExperimentId) -> Standing<'_> {
        let mut runs = self.guards.iter().filter(|run| run.guard == guard && run.on.is_some());
        match runs.any(|run| run.ending.succeeded()) {
            true => Standing::Passed,
            false => self.guarded(guard, Some(champion)),
        }
    }
}

impl Study {
    /// The first command guard of this moment that has not passed yet.
    pub(super) fn guard_need(&self, experiment: &Experiment, when: When) -> Option<Need> {
        for (guard, command) in self.commands(when) {
            let ending = match experiment.guarded(guard, None) {
                Standing::Passed => continue,
                Standing::Unknown => return Some(Need::Guard { guard, on: None }),
                Standing::Failed(ending) => ending,
            };
            // The baseline is what others are compared with: there is nobody to ask.
            let champion = self.state.champion.filter(|_| experiment.id != self.state.baseline());
            return Some(match champion.map(|champion| (experiment.guarded_champion(guard, champion), champion)) {
                Some((Standing::Unknown, champion)) => Need::Guard { guard, on: Some(champion) },
                // The run ends with it: see `broken_guard`.
                Some((Standing::Failed(_), _)) => Need::Patience,
                Some((Standing::Passed, _)) | None => {
                    let reason = Reason::GuardCommand { command: command.to_owned(), ending: ending.clone() };
                    Need::Verdict(judged(experiment, Verdict::GuardFailed, reason, None))
                }
            });
        }
        None
    }

    /// A guard that the champion itself does not pass any more, which ends a run.
    pub(super) fn broken_guard(&self) -> Option<StopReason> {
        let guards = || [When::First, When::BeforeKeep].into_iter().flat_map(|when| self.commands(when));
        let champion = self.state.champion?;
        self.in_scope().find_map(|open| {
            guards().find_map(|(guard, command)| match open.guarded_champion(guard, champion) {
                Standing::Failed(ending) => {
                    Some(StopReason::GuardBroken { command: command.to_owned(), ending: ending.clone() })
                }
                _ => None,
            })
        })
    }

    /// What the command of a guard is.
    pub(super) fn guard_command(&self, guard: u32) -> String {
        match self.spec.guards.get(guard as usize).map(|guard| &guard.check) {
            Some(Check::Run(command)) => command.clone(),
            _ => String::new(),
        }
    }

    fn commands(&self, when: When) -> impl Iterator<Item = (u32, &str)> {
        let guards = self.spec.guards.iter().enumerate().filter(move |(_, guard)| guard.when == when);
        guards.filter_map(|(index, guard)| match &guard.check {
            Check::Run(command) => Some((index as u32, command.as_str())),
            Check::Number { .. } => None,
        })
    }

    /// What stands between an experiment that is better and its keep.
    pub(super) fn need_before_keep(&self, experiment: &Experiment, estimate: Estimate) -> Option<Need> {
        self.guard_need(experiment, When::BeforeKeep).or_else(|| {
            if let Some(reason) = self.number_breach(experiment, When::BeforeKeep) {
                return Some(Need::Verdict(judged(experiment, Verdict::GuardFailed, reason, Some(estimate))));
            }
            // A judge that keeps on a single trial leaves nothing to tell chance by.
            let doubtful = |when| self.breaches(experiment, when).any(|(_, past)| past > 0);
            let is_single = experiment.scores().len() == 1;
            (is_single && [When::First, When::BeforeKeep].into_iter().any(doubtful))
                .then_some(Need::Trial(Purpose::Confirm))
        })
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

    /// The first number that is past its limit in two trials, or missing in one.
    ///
    /// One trial past a limit is as little as one failing run of a test: a neighbour on the machine, a cold cache. The
    /// next one tells, and a candidate that is no better does not get one for that: it is discarded all the same. A limit
    /// of its own has to hold in every run, so two are enough. A limit that is a share of the champion's level compares
    /// levels, so the mean has to be past it as well.
    pub(super) fn number_breach(&self, experiment: &Experiment, when: When) -> Option<Reason> {
        self.breaches(experiment, when).find(|(_, past)| *past >= RUNS).map(|(reason, _)| reason)
    }

    /// What is past its limit, and in how many trials. A number that is missing is no matter of chance.
    fn breaches(&self, experiment: &Experiment, when: When) -> impl Iterator<Item = (Reason, usize)> {
        // Each keep was held against the champion of its time. All of them together, against the baseline, may be more.
        let is_relative = self.state.carried() != Some(experiment.id);
        let guards = self.spec.guards.iter().filter(move |guard| guard.when == when);
        // What broke gave no numbers, and has its own verdict.
        let measured: Vec<&Measurement> = experiment
            .fresh()
            .iter()
            .map(|trial| &trial.measurement)
            .filter(|measurement| self.broken(measurement).is_none())
            .collect();
        guards.filter_map(move |guard| {
            let Check::Number { metric, max, max_regression } = &guard.check else { return None };
            let missing = || Some((Reason::GuardMissing { metric: metric.clone() }, RUNS));
            let numbers: Option<Vec<f64>> = measured.iter().map(|found| Some(found.number(metric)?.get())).collect();
            let Some(numbers) = numbers else { return missing() };
            let share = max_regression.filter(|_| is_relative && !numbers.is_empty());
            let level = self.champion_number(metric);
            if share.is_some() && level.is_none() {
                return missing();
            }
            let relative = share.zip(level).map(|(share, level)| level + level.abs() * share.get());
            let relative = relative.filter(|limit| limit.is_finite());
            let past = |limit: f64| numbers.iter().filter(|number| **number > limit).count();
            let reason = |value: f64, limit: f64| Reason::GuardLimit { metric: metric.clone(), value, limit };
            let absolute = max.map(Score::get).and_then(|limit| {
                let value = numbers.iter().copied().rfind(|number| *number > limit)?;
                Some((reason(value, limit), past(limit)))
            });
            let relative = relative.and_then(|limit| {
                let mean = Tally::of(numbers.iter().copied()).mean().filter(|mean| *mean > limit)?;
                Some((reason(mean, limit), past(limit)))
            });
            absolute.into_iter().chain(relative).max_by_key(|(_, past)| *past)
        })
    }

    fn champion_number(&self, name: &str) -> Option<f64> {
        let trials = self.state.champion()?.fresh();
        let values = trials
            .iter()
            .filter(|trial| trial.purpose != Purpose::Check)
            .filter_map(|trial| trial.measurement.number(name));
        Tally::of(values.map(Score::get)).mean()
    }
}
