//! What to do next, decided from the state alone.

use super::Study;
use super::need::{Need, is_hopeless};
use crate::event::{Purpose, Scope, StopReason, What};
use crate::id::{CommitId, ExperimentId, Seed, Slot, TrialId};
use crate::spec::{Limit, Patience};
use crate::units::{Millis, Timestamp};

/// One thing to do. Its event is made durable before it is done.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Ask the agent for a proposal against the champion.
    Ask {
        experiment: ExperimentId,
        agent: String,
        parent: CommitId,
        /// Why it is its turn, where several could have it.
        why: String,
    },
    StartTrial {
        trial: TrialId,
        experiment: ExperimentId,
        purpose: Purpose,
        seed: Seed,
        slot: Slot,
        /// The candidate for whose sake another commit is measured.
        aid: Option<ExperimentId>,
    },
    RunGuard {
        experiment: ExperimentId,
        guard: u32,
        command: String,
        /// The champion, where it is tried on that; else it runs on the experiment itself.
        on: Option<ExperimentId>,
        slot: Slot,
    },
    /// A quick look whether it can run at all, outside of any slot.
    Smoke {
        experiment: ExperimentId,
        command: String,
        /// The champion, where it is tried on that; else it runs on the experiment itself.
        on: Option<ExperimentId>,
    },
    /// Ask whoever made it to repair what crashed at once.
    Repair {
        experiment: ExperimentId,
        agent: String,
    },
    Judge(crate::event::Judged),
    /// Put the proposal on the champion that there is now.
    Restack {
        experiment: ExperimentId,
    },
    /// Take a keep back: the champion before it has its place again.
    Retract(crate::event::Retracted),
    /// Offer once more what was let go while the machine was another one, or what came close before a plateau.
    Again(super::Again),
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
            Step::Ask { experiment, agent, parent, why } => What::Asked { experiment, agent, parent, why },
            Step::StartTrial { trial, experiment, purpose, seed, slot, aid } => {
                What::TrialStarted { trial, experiment, purpose, seed, slot, aid }
            }
            Step::RunGuard { experiment, guard, command, on, slot } => {
                What::GuardStarted { experiment, guard, slot, on, command }
            }
            Step::Smoke { experiment, command, on } => What::SmokeStarted { experiment, on, command },
            Step::Repair { experiment, agent } => What::RepairAsked { experiment, agent },
            Step::Judge(judged) => What::Judged(judged),
            Step::Retract(retracted) => What::Retracted(retracted),
            Step::Stop(reason) => What::RunStopped { reason },
            Step::AdvanceBranch { .. } | Step::Restack { .. } | Step::Again(_) => return None,
        })
    }

    /// A trial with this seed; any other step as it is.
    pub(super) fn with_seed(mut self, with: Seed) -> Step {
        if let Step::StartTrial { seed, .. } = &mut self {
            *seed = with;
        }
        self
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
        if let Some(retracted) = self.retraction() {
            return Some(Step::Retract(retracted));
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
        if self.state.is_paused() {
            return None;
        }
        // What is open is judged before a run ends for want of a gain or of an idea. At its goal nothing new begins.
        let enough = self.enough(now);
        let begins = !matches!(enough, Some(StopReason::Target { .. }));
        let ends = enough.is_some() || self.left() == Some(0);
        if self.is_closing(now, false) {
            return self.free_slot().and_then(|slot| self.close(slot, false));
        }
        if ends && self.candidates().next().is_none() && self.is_closing(now, true) {
            return self.free_slot().and_then(|slot| self.close(slot, true));
        }
        // What were kept now would not be part of what was just measured.
        if !ends && run.closing && self.spec.limits.night.wall.is_some() {
            return self.idle().then_some(Step::Stop(StopReason::NightWall));
        }
        if let Some(step) = self.next_work(begins, enough.is_none(), now) {
            return Some(step);
        }
        match enough {
            Some(reason) => self.idle().then_some(Step::Stop(reason)),
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
            self.next_return(now),
        ]
        .into_iter()
        .flatten()
        .filter(|deadline| *deadline > now)
        .min()
    }

    fn next_verdict(&self) -> Option<Step> {
        self.in_scope().find_map(|experiment| match self.need(experiment) {
            Need::Verdict(judged) => Some(Step::Judge(judged)),
            // What was not begun is put on the champion of the moment at which it is.
            Need::Restack if experiment.has_begun() => Some(Step::Restack { experiment: experiment.id }),
            _ => None,
        })
    }

    /// A trial or a guard where there is a free slot for it, or a question.
    fn next_work(&self, begins: bool, asks: bool, now: Timestamp) -> Option<Step> {
        let slot = self.free_slot();
        if self.is_in_doubt() {
            return self.check(slot?);
        }
        if let Some(step) = self.next_repair(asks) {
            return Some(step);
        }
        if let Some(step) = self.next_smoke(begins) {
            return Some(step);
        }
        let evaluation = slot.and_then(|slot| self.next_evaluation(slot, begins));
        evaluation.or_else(|| if asks { self.next_question(slot.is_some(), now) } else { None })
    }

    fn next_evaluation(&self, slot: Slot, begins: bool) -> Option<Step> {
        let evaluate = |experiment: &super::Experiment| match self.need(experiment) {
            Need::Trial(purpose) => Some(self.trial(experiment.id, purpose, slot)),
            Need::Champion => self.aid(experiment.id, slot),
            Need::Guard { guard, on } => {
                let command = self.guard_command(guard);
                Some(Step::RunGuard { experiment: experiment.id, guard, command, on, slot })
            }
            Need::Restack => Some(Step::Restack { experiment: experiment.id }),
            Need::Smoke { .. } | Need::Repair { .. } | Need::Agent | Need::Patience | Need::Verdict(_) => None,
        };
        if !self.state.calibrated() {
            let open = |id: ExperimentId| self.in_scope().find(|open| open.id == id).and_then(evaluate);
            let carried = || self.state.carried().and_then(open);
            return open(self.state.baseline()).or_else(|| self.more_calibration(slot)).or_else(carried);
        }
        // An earlier run may have left more open than this one is to bring to a verdict.
        let in_flight = self.candidates().filter(|open| open.in_flight > 0 || open.is_in_repair()).count() as u64;
        let may_count = self.left().is_none_or(|left| in_flight < left);
        let open = || self.candidates().filter(|_| may_count);
        // What is nearest to its verdict first: a slot that confirms ends an experiment. Then the level that all
        // others are compared with, for there may always be a proposal waiting.
        let begun = open().filter(|open| open.has_begun()).find_map(evaluate);
        let new = || open().filter(|open| begins && !open.has_begun()).find_map(evaluate);
        begun.or_else(|| self.watch(slot)).or_else(new)
    }

    pub(super) fn trial(&self, experiment: ExperimentId, purpose: Purpose, slot: Slot) -> Step {
        let trial = TrialId(self.state.next_trial);
        let seed = self.known_seed(experiment, purpose).unwrap_or_else(|| self.seed_of(trial.0));
        Step::StartTrial { trial, experiment, purpose, seed, slot, aid: None }
    }

    /// A seed whose luck the judge knows, where that may be of use and the commit has not had it.
    fn known_seed(&self, experiment: ExperimentId, purpose: Purpose) -> Option<Seed> {
        let mind = self.state.mind()?;
        let seeds = match purpose {
            Purpose::Screen | Purpose::Confirm => mind.seeds_for(experiment),
            Purpose::Sentinel if self.state.champion == Some(experiment) => mind.seeds_for_champion(None),
            _ => return None,
        };
        self.unused(experiment, seeds)
    }

    fn unused(&self, experiment: ExperimentId, seeds: Vec<Seed>) -> Option<Seed> {
        let trials = self.state.find(experiment).map(|found| &found.trials);
        let is_used = |seed: Seed| trials.is_some_and(|trials| trials.iter().any(|trial| trial.seed == seed));
        seeds.into_iter().find(|seed| !is_used(*seed))
    }

    /// The champion once more, for the sake of a candidate, with the seed that the candidate had last: where the seed
    /// makes the luck, both have the same.
    fn aid(&self, candidate: ExperimentId, slot: Slot) -> Option<Step> {
        // It may take more than the champion to tell what is wrong.
        if self.state.judging.alarm.is_some() {
            return self.alarmed(slot);
        }
        let champion = self.state.champion().filter(|champion| !is_hopeless(champion))?;
        if self.is_champion_running() {
            return None;
        }
        let fresh = self.trial(champion.id, Purpose::Remeasure, slot);
        let Step::StartTrial { trial, experiment, purpose, seed, slot, .. } = fresh else { return None };
        let known = self.state.mind().map_or(Vec::new(), |mind| mind.seeds_for_champion(Some(candidate)));
        let last = self.state.find(candidate).and_then(|found| found.trials.last()).map(|trial| trial.seed);
        let seed = self.unused(champion.id, known.into_iter().chain(last).collect()).unwrap_or(seed);
        Some(Step::StartTrial { trial, experiment, purpose, seed, slot, aid: Some(candidate) })
    }

    /// Baseline trials side by side, where there are slots for them.
    fn more_calibration(&self, slot: Slot) -> Option<Step> {
        let baseline = self.state.find(self.state.baseline())?;
        let may_run = self.smoke_need(baseline).is_none();
        (may_run && self.calibration_due(baseline)).then(|| self.trial(baseline.id, Purpose::Baseline, slot))
    }

    /// The champion once more: if it breaks too, something happened to the machine or the data.
    fn check(&self, slot: Slot) -> Option<Step> {
        let champion = self.state.champion()?;
        let is_running = self.state.running.values().any(|(running, _)| running.purpose == Purpose::Check);
        (!is_running).then(|| self.trial(champion.id, Purpose::Check, slot))
    }

    /// Whether an experiment is one that candidates will be compared with: the baseline, or the champion carried over.
    pub(super) fn calibrates(&self, id: ExperimentId) -> bool {
        id == self.state.baseline() || Some(id) == self.state.carried()
    }

    /// The experiments this run works on: for one proposal of a person, that one and what it is compared with.
    pub(super) fn in_scope(&self) -> impl Iterator<Item = &super::Experiment> {
        let run = self.state.run.as_ref();
        let mine = move |id: ExperimentId| match run.map(|run| (run.facts.scope, run.first_experiment)) {
            Some((Scope::One, first)) => self.calibrates(id) || id.0 >= first,
            // Also what a run before this one had to leave.
            Some((Scope::Letters, _)) => self.calibrates(id) || self.state.delivered.contains(&id),
            Some((Scope::Loop { .. }, _)) | None => true,
        };
        self.state.open.values().filter(move |open| mine(open.id))
    }

    /// Whether something could be tried right now.
    pub fn has_free_slot(&self) -> bool {
        self.free_slot().is_some()
    }

    fn free_slot(&self) -> Option<Slot> {
        let taken: Vec<Slot> = self
            .state
            .running
            .values()
            .map(|(_, (slot, _))| *slot)
            .chain(self.state.guarding.values().map(|guarding| guarding.slot))
            .collect();
        let slots = self.state.run.as_ref()?.facts.slots;
        (0..slots).map(Slot).find(|slot| !taken.contains(slot))
    }

    pub(super) fn idle(&self) -> bool {
        self.state.running.is_empty()
            && self.state.guarding.is_empty()
            && self.state.smoking.is_empty()
            && self.state.open.values().all(|open| !open.asked)
    }

    /// A fresh seed for every trial, from the study's own: 31 bits, so that every language's generator takes it.
    pub(super) fn seed_of(&self, trial: u64) -> Seed {
        let mut x = self.state.seed.wrapping_add((trial + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Seed(((x ^ (x >> 31)) & 0x7FFF_FFFF) as u32)
    }
}
