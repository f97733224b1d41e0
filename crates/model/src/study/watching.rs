//! Who is measured once more for nobody's sake: the champion, the one before it, the baseline.

use super::Study;
use super::experiment::{Experiment, is_fair};
use super::need::is_hopeless;
use super::row::SeedUse;
use super::step::Step;
use crate::event::{Purpose, Scope};
use crate::id::{ExperimentId, Seed, Slot};

/// After so many trials of others the champion is measured once more; sooner while little is known of it.
const WATCH: [u32; 6] = [8, 8, 8, 16, 32, 40];
/// One that was never measured since it was kept does not wait longer than this.
const UNSEEN: u32 = 24;
/// After so many trials of others the baseline is measured once more: the gain over it is told by what it gives all
/// night, also where the night is never closed.
const LOOK_BACK: u32 = 120;
/// By how much more such trials are put off where a trial brings one sd elsewhere, and how many times as long at most: the
/// champion's tell when the machine is another one.
const WATCH_DEAR: (f64, f64) = (4.0, 2.0);
const LOOK_BACK_DEAR: (f64, f64) = (4.0, 5.0);
/// Two scores may be close to each other by chance, and all that follows would be believed too easily: the baseline gets
/// a third one soon, whoever is champion. Calibration does not hold up the night: after so many trials, of which one is the
/// first candidate's.
const CALIBRATED: usize = 3;
const THIRD_AFTER: u64 = 3;
/// Where the seed settles the number, that one says nothing of how far seeds lie apart: after so many trials comes one more.
const FOURTH_AFTER: u64 = 10;
/// From so many trials on, one of them tells whether the seed settles the number.
const PROBE_AFTER: u64 = 16;

impl Study {
    /// Whether one of those that stand has to be measured before anything new begins.
    pub(super) fn watch(&self, slot: Slot) -> Option<Step> {
        self.state.mind()?;
        // At the end of a night nothing is left to watch for.
        if self.state.run.as_ref()?.closing || self.left() == Some(0) {
            return None;
        }
        let of_champion = || self.alarmed(slot).or_else(|| self.third(slot)).or_else(|| self.sentinel(slot));
        of_champion().or_else(|| self.look_back(slot))
    }

    /// What tells whether the machine is another one, or a keep is not what it was kept for. The one before the champion
    /// comes first: where it is what it was, the machine is, too.
    pub(super) fn alarmed(&self, slot: Slot) -> Option<Step> {
        let alarm = self.state.judging.alarm.as_ref()?;
        let former = self.state.judging.before.filter(|_| alarm.asks > 0).filter(|id| self.may_measure(*id));
        if let Some(former) = former {
            return Some(self.trial(former, Purpose::Sentinel, slot));
        }
        let is_former_under_way = alarm.asks > 0 && self.state.judging.before.is_some_and(|id| self.is_running(id));
        let champion = self.state.champion.filter(|id| self.may_measure(*id))?;
        let is_wanted = alarm.is_short() || !is_former_under_way;
        is_wanted.then(|| self.trial(champion, Purpose::Sentinel, slot))
    }

    /// The baseline's third trial, with the seed of its first: how far it is from itself says what the seed settles, and the
    /// luck of that seed is known best from then on.
    fn third(&self, slot: Slot) -> Option<Step> {
        let baseline = self.state.find(self.state.baseline()).filter(|baseline| self.may_measure(baseline.id))?;
        let is_early = baseline.scores().len() < CALIBRATED && is_unprobed(baseline);
        let due = is_early && self.is_loop() && self.state.calibrated();
        let due = due && self.state.judging.spent.trials() >= THIRD_AFTER;
        let seed = baseline.fresh().iter().find(|trial| is_fair(trial.purpose)).map(|trial| trial.seed);
        seed.filter(|_| due).map(|seed| self.trial(baseline.id, Purpose::Sentinel, slot).with_seed(seed))
    }

    fn sentinel(&self, slot: Slot) -> Option<Step> {
        let champion = self.state.champion().filter(|champion| self.may_measure(champion.id))?;
        let judging = &self.state.judging;
        let gap = WATCH[(judging.looks as usize).min(WATCH.len() - 1)];
        let gap = if self.is_champion_shown() { gap } else { gap.min(UNSEEN) };
        let at_target = !self.is_champion_shown() && self.target_reached().is_some();
        // What is odd is looked at again at once: waiting costs all that is judged meanwhile.
        let is_odd = judging.odd != 0;
        let due = self.is_loop() && (judging.unwatched >= self.put_off(gap, WATCH_DEAR) || at_target || is_odd);
        due.then(|| self.probe(champion, self.trial(champion.id, Purpose::Sentinel, slot)))
    }

    /// The baseline now and then, though another is champion.
    fn look_back(&self, slot: Slot) -> Option<Step> {
        let baseline = self.state.find(self.state.baseline()).filter(|baseline| self.may_measure(baseline.id))?;
        let judging = &self.state.judging;
        let probes = is_unprobed(baseline) && judging.spent.trials() >= PROBE_AFTER;
        let due = self.is_loop() && self.state.champion != Some(baseline.id) && self.state.calibrated();
        let trials = baseline.fresh().len();
        let is_early =
            trials == CALIBRATED && baseline.looks().count() < CALIBRATED && judging.spent.trials() >= FOURTH_AFTER;
        let due = due && (probes || is_early || judging.unseen >= self.put_off(LOOK_BACK, LOOK_BACK_DEAR));
        due.then(|| self.probe(baseline, self.trial(baseline.id, Purpose::Sentinel, slot)))
    }

    /// Once in a segment the baseline gets a seed that it had: then it is known whether the seed makes the number. Where
    /// the baseline gives the same whatever the seed is, a champion that scatters has to tell.
    fn probe(&self, experiment: &Experiment, step: Step) -> Step {
        let is_due = match experiment.id == self.state.baseline() {
            // First it is to be known how much it scatters.
            true => is_unprobed(experiment) && experiment.scores().len() >= CALIBRATED,
            false => {
                let baseline = self.state.find(self.state.baseline());
                let was_in_vain = baseline.is_some_and(|baseline| !is_unprobed(baseline));
                was_in_vain && is_unprobed(experiment) && self.state.seed_use() == SeedUse::Unknown
            }
        };
        // Not the seed that it was chosen with: where the seed makes the number, that would be its luck again.
        let fair = experiment.fresh().iter().find(|trial| is_fair(trial.purpose)).map(|trial| trial.seed);
        match fair.filter(|_| is_due) {
            Some(seed) => step.with_seed(seed),
            None => step,
        }
    }

    /// A gap that grows with what a trial would bring elsewhere.
    fn put_off(&self, gap: u32, (dear, most): (f64, f64)) -> u32 {
        let price = self.state.mind().map_or(0.0, |mind| mind.price() / mind.left());
        (f64::from(gap) * (1.0 + dear * price.max(0.0)).min(most)) as u32
    }

    /// A person who waits for one verdict gets it; the judge asks for the champion where it needs it.
    pub(super) fn is_loop(&self) -> bool {
        self.state.run.as_ref().is_some_and(|run| matches!(run.facts.scope, Scope::Loop { .. }))
    }

    /// A trial that we ourselves lose every time must not hold up the night, and one at a time is enough.
    fn may_measure(&self, id: ExperimentId) -> bool {
        self.state.find(id).is_some_and(|found| !is_hopeless(found)) && !self.is_running(id)
    }

    fn is_running(&self, id: ExperimentId) -> bool {
        self.state.running.values().any(|(running, _)| running.experiment == id)
    }

    /// Whether the champion's level rests on trials that had no part in choosing it, or on none that scatter.
    pub(super) fn is_champion_shown(&self) -> bool {
        let fair = |champion: &Experiment| {
            champion.fresh().iter().any(|trial| is_fair(trial.purpose) && trial.score().is_some())
        };
        self.state.mind().is_none() || self.state.champion().is_some_and(fair)
    }

    /// Whether somebody's trial of the champion is under way: one serves all.
    pub(super) fn is_champion_running(&self) -> bool {
        self.state.champion.is_some_and(|champion| self.is_running(champion))
    }
}

/// Whether no seed was used twice on it.
fn is_unprobed(experiment: &Experiment) -> bool {
    let mut seeds: Vec<Seed> = experiment.fresh().iter().map(|trial| trial.seed).collect();
    seeds.sort_unstable_by_key(|seed| seed.0);
    seeds.windows(2).all(|pair| pair[0] != pair[1])
}
