//! Why a run ends, and what is left of it to do.

use super::Study;
use super::need::{Need, is_hopeless, judged};
use super::step::Step;
use crate::event::{Scope, StopReason};
use crate::spec::{ExpectModel, Network, Patience, When};
use crate::units::{Score, Timestamp};
use crate::verdict::{Reason, Verdict};

/// After so many experiments in a row that we ourselves broke, something is wrong with the machine.
const ENGINE_ERRORS: u32 = 3;

/// After so many experiments in a row whose own run broke, the ideas may not be to blame.
const BROKEN_IN_A_ROW: usize = 5;

impl Study {
    /// The baseline's failure, which ends a run: there is nothing to compare with.
    pub fn baseline_failure(&self) -> Option<(Verdict, Reason)> {
        let baseline = self.state.open.get(&self.state.baseline())?;
        let broken = baseline.trials.iter().find_map(|trial| self.broken(&trial.measurement));
        let unguarded = || baseline.trials.iter().find_map(|trial| self.missing_number(&trial.measurement));
        let refused = || {
            [When::First, When::BeforeKeep].into_iter().find_map(|when| match self.guard_need(baseline, when) {
                Some(Need::Verdict(judged)) => Some((judged.verdict, judged.reason)),
                _ => None,
            })
        };
        let smoked = || match self.smoke_need(baseline) {
            Some(Need::Verdict(judged)) => Some((judged.verdict, judged.reason)),
            _ => None,
        };
        broken.or_else(unguarded).or_else(refused).or_else(smoked)
    }

    /// Nothing new starts; what runs may finish; then the run ends.
    pub(super) fn interrupted(&self) -> Option<Step> {
        if !self.idle() {
            return None;
        }
        let run = self.state.run.as_ref()?;
        // The person who waited for this one verdict has left.
        let mine = |open: &&super::Experiment| run.facts.scope == Scope::One && !self.calibrates(open.id);
        match self.in_scope().find(mine) {
            Some(open) => Some(Step::Judge(judged(open, Verdict::Interrupted, Reason::Interrupted, None))),
            None => Some(Step::Stop(StopReason::Interrupted)),
        }
    }

    /// Why nothing new may start, if so.
    pub(super) fn over(&self, now: Timestamp) -> Option<StopReason> {
        let run = self.state.run.as_ref()?;
        if let Some((verdict, reason)) = self.baseline_failure() {
            return Some(StopReason::BaselineFailed { verdict, reason });
        }
        if run.engine_errors_in_a_row >= ENGINE_ERRORS {
            return Some(StopReason::EngineErrors { last: run.last_engine_error.clone() });
        }
        if let Some(lost) = self.state.open.values().find(|open| self.calibrates(open.id) && is_hopeless(open)) {
            return Some(StopReason::EngineErrors { last: lost.last_fault.clone() });
        }
        let failed = run.check.as_ref().and_then(|check| self.broken(check));
        // A number that a person vouched for is as odd as it was.
        let vouched = |verdict: Verdict| verdict == Verdict::Suspect && self.state.is_vouched_for();
        if let Some((verdict, reason)) = failed.filter(|(verdict, _)| !vouched(*verdict)) {
            return Some(StopReason::ChampionFailed { verdict, reason });
        }
        if let Some(reason) = self.broken_guard().or_else(|| self.broken_smoke()) {
            return Some(reason);
        }
        if self.spec.gateway.expect_model == ExpectModel::Stop
            && let Some((asked, answered)) = run.other_model.clone()
        {
            return Some(StopReason::OtherModel { asked, answered });
        }
        // Candidates that ask models themselves would only fail from here on, through no fault of their own.
        if let Some(spent) = self.spent_all().filter(|_| self.spec.evaluate.network == Network::Models) {
            return Some(spent);
        }
        let (night, total) = (self.spec.limits.night, self.spec.limits.total);
        if !self.is_loop() {
            None
        } else if night.wall.is_some_and(|wall| now.since(run.started_at) >= wall) {
            Some(StopReason::NightWall)
        } else if total.wall.is_some_and(|wall| self.state.run_time(now) >= wall) {
            Some(StopReason::TotalWall)
        } else {
            None
        }
    }

    /// Whether the champion has to show that it still runs before anything else is tried.
    pub(super) fn is_in_doubt(&self) -> bool {
        let Some(run) = &self.state.run else { return false };
        let doubt = run.broken_in_a_row.len() >= BROKEN_IN_A_ROW || (self.state.champion_failed && run.check.is_none());
        // A trial that we ourselves lose every time must not hold up the night.
        let can_tell = self.state.champion().is_some_and(|champion| !is_hopeless(champion));
        let goes_on = self.is_loop() && self.left() != Some(0);
        doubt && can_tell && goes_on
    }

    /// Why nobody is to be asked any more, if so. What is open goes on.
    pub(super) fn enough(&self, now: Timestamp) -> Option<StopReason> {
        let run = self.state.run.as_ref()?;
        if !self.is_loop() {
            return None;
        }
        if let Some(reason) = self.spent_all().or_else(|| self.nobody_left()) {
            return Some(reason);
        }
        if let Some(level) = self.target_reached().filter(|_| self.is_champion_shown()) {
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

    pub(super) fn target_reached(&self) -> Option<f64> {
        let target = self.spec.metric.target.map(Score::get)?;
        let champion = self.state.champion()?;
        let level = champion.metric()?;
        self.spec.metric.goal.reached(level, target).then_some(level)
    }

    /// How many more experiments may count in this run; `None` where nothing says.
    pub(super) fn left(&self) -> Option<u64> {
        let run = self.state.run.as_ref()?;
        let Scope::Loop { experiments } = run.facts.scope else { return None };
        let left = |limit: Option<u64>, done: u64| limit.map(|limit| limit.saturating_sub(done));
        let (night, total) = (self.spec.limits.night.experiments, self.spec.limits.total.experiments);
        let total = left(total, self.state.counts.counted);
        [left(experiments, run.counted), left(night, run.counted), total].into_iter().flatten().min()
    }

    /// How many more experiments without a gain the run would bear.
    pub(super) fn patience_left(&self) -> Option<u64> {
        let run = self.state.run.as_ref()?;
        let (night, total) = (self.spec.limits.night.no_gain_for, self.spec.limits.total.no_gain_for);
        let left = |limit: Option<Patience>, since: super::state::SinceKeep| match limit {
            Some(Patience::Experiments(n)) => Some(n.saturating_sub(since.experiments)),
            _ => None,
        };
        [left(night, run.since_keep), left(total, self.state.total_since_keep)].into_iter().flatten().min()
    }

    /// The end of a run that did all it may: nothing in flight, nothing that it could begin or ask for.
    pub(super) fn finished(&self) -> Option<Step> {
        let run = self.state.run.as_ref()?;
        if !self.idle() || !self.state.calibrated() {
            return None;
        }
        let reached = |limit: Option<u64>, done: u64| limit.is_some_and(|limit| done >= limit);
        let reason = match run.facts.scope {
            Scope::One => {
                let judged = self.state.next_experiment > run.first_experiment && self.in_scope().next().is_none();
                judged.then_some(StopReason::Done)?
            }
            // The loop looks whether another letter waits before it believes this.
            Scope::Letters => self.candidates().next().is_none().then_some(StopReason::Done)?,
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
}
