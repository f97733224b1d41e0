//! What to do next, decided from the state alone.

use super::Study;
use super::need::{Need, is_hopeless, judged};
use crate::event::{Purpose, Scope, StopReason, What};
use crate::id::{CommitId, ExperimentId, Seed, Slot, TrialId};
use crate::judge::Noise;
use crate::spec::{Limit, Patience, When};
use crate::units::{Millis, Score, Timestamp};
use crate::verdict::{Reason, Verdict};

/// After so many failed attempts in a row nobody is at home.
const FAILED_ATTEMPTS: u32 = 10;
/// After so many experiments in a row that we ourselves broke, something is wrong with the machine.
const ENGINE_ERRORS: u32 = 3;

/// One thing to do. Its event is made durable before it is done.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Ask the agent for a proposal against the champion.
    Ask {
        experiment: ExperimentId,
        agent: String,
        parent: CommitId,
    },
    StartTrial {
        trial: TrialId,
        experiment: ExperimentId,
        purpose: Purpose,
        seed: Seed,
        slot: Slot,
    },
    RunGuard {
        experiment: ExperimentId,
        guard: u32,
        slot: Slot,
    },
    Judge(crate::event::Judged),
    /// Make the kept commit and move the branch to it.
    AdvanceBranch {
        experiment: ExperimentId,
    },
    Stop(StopReason),
}

impl Step {
    /// What the ledger learns before the step is done. A branch that moved is recorded when it has.
    pub fn event(&self) -> Option<What> {
        Some(match self.clone() {
            Step::Ask { experiment, agent, parent } => What::Asked { experiment, agent, parent },
            Step::StartTrial { trial, experiment, purpose, seed, slot } => {
                What::TrialStarted { trial, experiment, purpose, seed, slot }
            }
            Step::RunGuard { experiment, guard, slot } => What::GuardStarted { experiment, guard, slot },
            Step::Judge(judged) => What::Judged(judged),
            Step::Stop(reason) => What::RunStopped { reason },
            Step::AdvanceBranch { .. } => return None,
        })
    }
}

impl Study {
    /// The next thing to do at this moment; `None` when there is nothing but waiting.
    pub fn next_step(&self, now: Timestamp) -> Option<Step> {
        let run = self.state.run.as_ref()?;
        self.state.segment.as_ref()?;
        if self.state.stopped.is_some() {
            return None;
        }
        if let Some(experiment) = self.state.unadvanced {
            return Some(Step::AdvanceBranch { experiment });
        }
        if let Some(step) = self.next_verdict() {
            return Some(step);
        }
        if run.stopping.is_some() {
            return self.interrupted();
        }
        if let Some(reason) = self.over(now) {
            return self.idle().then_some(Step::Stop(reason));
        }
        // What is open is judged before a run ends for want of a gain, an idea or a reason to go on.
        let enough = self.enough(now);
        if let Some(step) = self.next_work(enough.is_none()) {
            return Some(step);
        }
        match enough {
            Some(reason) => (self.idle() && self.open_ones() == 0).then_some(Step::Stop(reason)),
            None => self.finished(),
        }
    }

    /// When the present moment alone will change what comes next. A limit that has passed changes nothing more:
    /// the loop then waits for what still runs.
    pub fn next_deadline(&self, now: Timestamp) -> Option<Timestamp> {
        let run = self.state.run.as_ref()?;
        let Limit { wall, no_gain_for, .. } = self.spec.limits.night;
        let total = self.spec.limits.total;
        let after = |from: Timestamp, span: Millis| Timestamp(from.0 + span.0 as i64);
        // Time counts while the study runs: a moment of this run is so far from its start.
        let at_run_time =
            |run_time: u64| after(run.started_at, Millis(run_time.saturating_sub(self.state.past_wall.0)));
        let patience = |since: super::state::SinceKeep, patience| match patience {
            Some(Patience::Time(span)) => Some(at_run_time(since.run_time.0 + span.0)),
            _ => None,
        };
        [
            wall.map(|wall| after(run.started_at, wall)),
            total.wall.map(|wall| after(run.started_at, Millis(wall.0.saturating_sub(self.state.past_wall.0)))),
            patience(run.since_keep, no_gain_for),
            patience(self.state.total_since_keep, total.no_gain_for),
        ]
        .into_iter()
        .flatten()
        .filter(|deadline| *deadline > now)
        .min()
    }

    /// The baseline's failure, which ends a run: there is nothing to compare with.
    pub fn baseline_failure(&self) -> Option<(Verdict, Reason)> {
        let baseline = self.state.open.get(&ExperimentId::BASELINE)?;
        let broken = baseline.trials.iter().find_map(|trial| self.broken(&trial.measurement));
        let unguarded = || baseline.trials.iter().find_map(|trial| self.missing_number(&trial.measurement));
        let refused = || {
            [When::First, When::BeforeKeep].into_iter().find_map(|when| match self.guard_need(baseline, when) {
                Some(Need::Verdict(judged)) => Some((judged.verdict, judged.reason)),
                _ => None,
            })
        };
        broken.or_else(unguarded).or_else(refused)
    }

    fn next_verdict(&self) -> Option<Step> {
        self.in_scope().find_map(|experiment| match self.need(experiment) {
            Need::Verdict(judged) => Some(Step::Judge(judged)),
            _ => None,
        })
    }

    /// A trial, a guard or a question, where there is a free slot for it.
    fn next_work(&self, may_ask: bool) -> Option<Step> {
        let slot = self.free_slot()?;
        let in_order = self.in_scope().map(|experiment| (experiment.id, self.need(experiment)));
        // What is nearest to its verdict first: a slot that confirms ends an experiment.
        let mut first_ask = None;
        for (id, need) in in_order {
            match need {
                Need::Trial(purpose) => return Some(self.trial(id, purpose, slot)),
                Need::Guard(guard) => return Some(Step::RunGuard { experiment: id, guard, slot }),
                Need::Agent => first_ask = first_ask.or(Some(id)),
                Need::Patience | Need::Verdict(_) => {}
            }
        }
        if !self.state.calibrated() {
            return self.more_calibration(slot);
        }
        if let Some(step) = self.remeasure(slot) {
            return Some(step);
        }
        if !may_ask {
            return None;
        }
        if let Some(id) = first_ask {
            return self.ask(id);
        }
        let run = self.state.run.as_ref()?;
        let Scope::Loop { experiments } = run.facts.scope else { return None };
        let places = self.in_scope().filter(|open| !open.id.is_baseline()).count() as u64;
        let wanted = [
            experiments.map(|n| n.saturating_sub(run.counted)),
            self.left_by_limits(),
            Some(u64::from(run.facts.slots)),
        ];
        let wanted = wanted.into_iter().flatten().min()?;
        if places >= wanted {
            return None;
        }
        self.ask(ExperimentId(self.state.next_experiment))
    }

    fn trial(&self, experiment: ExperimentId, purpose: Purpose, slot: Slot) -> Step {
        let trial = TrialId(self.state.next_trial);
        Step::StartTrial { trial, experiment, purpose, seed: self.seed(trial), slot }
    }

    /// Baseline trials side by side, where there are slots for them.
    fn more_calibration(&self, slot: Slot) -> Option<Step> {
        let started = self.state.trials_for(ExperimentId::BASELINE, Purpose::Baseline);
        (started < crate::judge::CALIBRATION_TRIALS)
            .then(|| self.trial(ExperimentId::BASELINE, Purpose::Baseline, slot))
    }

    /// A new champion gets one more trial, so that its level does not rest on the run that confirmed it.
    fn remeasure(&self, slot: Slot) -> Option<Step> {
        let champion = self.state.champion()?;
        let noisy = matches!(self.state.noise(), Noise::Noisy { .. });
        let due = noisy && !champion.id.is_baseline() && self.state.trials_for(champion.id, Purpose::Remeasure) < 2;
        // A trial that we ourselves lose every time must not hold up the night.
        (due && !is_hopeless(champion)).then(|| self.trial(champion.id, Purpose::Remeasure, slot))
    }

    fn ask(&self, experiment: ExperimentId) -> Option<Step> {
        let parent = self.state.champion()?.commit.clone()?;
        Some(Step::Ask { experiment, agent: self.spec.agent.kind.name().to_owned(), parent })
    }

    /// The experiments this run works on: for one proposal of a person, that one and the baseline.
    fn in_scope(&self) -> impl Iterator<Item = &super::Experiment> {
        let run = self.state.run.as_ref();
        let only = run.filter(|run| run.facts.scope == Scope::One).map(|run| run.first_experiment);
        let mine = move |id: ExperimentId| id.is_baseline() || only.is_none_or(|first| id.0 >= first);
        self.state.open.values().filter(move |open| mine(open.id))
    }

    fn free_slot(&self) -> Option<Slot> {
        let taken: Vec<Slot> = self
            .state
            .running
            .values()
            .map(|(_, (slot, _))| *slot)
            .chain(self.state.guarding.values().copied())
            .collect();
        let slots = self.state.run.as_ref()?.facts.slots;
        (0..slots).map(Slot).find(|slot| !taken.contains(slot))
    }

    fn idle(&self) -> bool {
        self.state.running.is_empty()
            && self.state.guarding.is_empty()
            && self.state.open.values().all(|open| !open.asked)
    }

    /// Nothing new starts; what runs may finish; then the run ends.
    fn interrupted(&self) -> Option<Step> {
        if !self.idle() {
            return None;
        }
        let run = self.state.run.as_ref()?;
        // The person who waited for this one verdict has left.
        let mine = |open: &&super::Experiment| run.facts.scope == Scope::One && !open.id.is_baseline();
        match self.in_scope().find(mine) {
            Some(open) => Some(Step::Judge(judged(open, Verdict::Interrupted, Reason::Interrupted, None))),
            None => Some(Step::Stop(StopReason::Interrupted)),
        }
    }

    /// Why nothing new may start, if so.
    fn over(&self, now: Timestamp) -> Option<StopReason> {
        let run = self.state.run.as_ref()?;
        if let Some((verdict, reason)) = self.baseline_failure() {
            return Some(StopReason::BaselineFailed { verdict, reason });
        }
        if run.engine_errors_in_a_row >= ENGINE_ERRORS {
            return Some(StopReason::EngineErrors { last: run.last_engine_error.clone() });
        }
        if let Some(baseline) = self.state.open.get(&ExperimentId::BASELINE).filter(|open| is_hopeless(open)) {
            return Some(StopReason::EngineErrors { last: baseline.last_fault.clone() });
        }
        let (night, total) = (self.spec.limits.night, self.spec.limits.total);
        if run.facts.scope == Scope::One {
            None
        } else if night.wall.is_some_and(|wall| now.since(run.started_at) >= wall) {
            Some(StopReason::NightWall)
        } else if total.wall.is_some_and(|wall| self.state.run_time(now) >= wall) {
            Some(StopReason::TotalWall)
        } else {
            None
        }
    }

    /// Why nobody is to be asked any more, if so. What is open goes on.
    fn enough(&self, now: Timestamp) -> Option<StopReason> {
        let run = self.state.run.as_ref()?;
        if run.facts.scope == Scope::One {
            return None;
        }
        if let Some(what) = &run.exhausted {
            return Some(StopReason::NothingToTry { what: what.clone() });
        }
        if run.failed_in_a_row >= FAILED_ATTEMPTS {
            let last = run.last_failure.clone();
            return Some(StopReason::FailedAttempts { in_a_row: run.failed_in_a_row, last });
        }
        if let Some(level) = self.target_reached() {
            return Some(StopReason::Target { level });
        }
        let (night, total) = (self.spec.limits.night, self.spec.limits.total);
        let patience = |limit: Option<Patience>, since: super::state::SinceKeep| match limit {
            Some(Patience::Time(span)) => self.state.run_time(now).0.saturating_sub(since.run_time.0) >= span.0,
            Some(Patience::Experiments(n)) => since.experiments >= n,
            None => false,
        };
        let too_long =
            patience(night.no_gain_for, run.since_keep) || patience(total.no_gain_for, self.state.total_since_keep);
        too_long.then_some(StopReason::NoGain)
    }

    /// Experiments that a run would still bring to their verdict: those with a proposal.
    fn open_ones(&self) -> usize {
        self.in_scope().filter(|open| !open.id.is_baseline() && open.content.is_some()).count()
    }

    fn target_reached(&self) -> Option<f64> {
        let target = self.spec.metric.target.map(Score::get)?;
        let champion = self.state.champion()?;
        let level = champion.level().mean()?;
        self.spec.metric.goal.reached(level, target).then_some(level)
    }

    /// How many more experiments the limits of the night and of the study leave.
    fn left_by_limits(&self) -> Option<u64> {
        let run = self.state.run.as_ref()?;
        let left = |limit: Option<u64>, done: u64| limit.map(|limit| limit.saturating_sub(done));
        let night = left(self.spec.limits.night.experiments, run.counted);
        let total = left(self.spec.limits.total.experiments, self.state.counts.counted);
        [night, total].into_iter().flatten().min()
    }

    /// The end of a run that did all it may: nothing in flight, nothing open, nothing left to ask.
    fn finished(&self) -> Option<Step> {
        let run = self.state.run.as_ref()?;
        let open = self.in_scope().next().is_some();
        if open || !self.idle() || !self.state.calibrated() {
            return None;
        }
        let reached = |limit: Option<u64>, done: u64| limit.is_some_and(|limit| done >= limit);
        let reason = match run.facts.scope {
            Scope::One => (self.state.next_experiment > run.first_experiment).then_some(StopReason::Done)?,
            Scope::Loop { experiments } if reached(experiments, run.counted) => StopReason::Done,
            Scope::Loop { .. } if reached(self.spec.limits.night.experiments, run.counted) => {
                StopReason::NightExperiments
            }
            Scope::Loop { .. } if reached(self.spec.limits.total.experiments, self.state.counts.counted) => {
                StopReason::TotalExperiments
            }
            Scope::Loop { .. } => return None,
        };
        Some(Step::Stop(reason))
    }

    /// A fresh seed for every trial, from the study's own: 31 bits, so that every language's generator takes it.
    fn seed(&self, trial: TrialId) -> Seed {
        let mut x = self.state.seed.wrapping_add((trial.0 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Seed(((x ^ (x >> 31)) & 0x7FFF_FFFF) as u32)
    }
}
