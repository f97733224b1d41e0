//! Measuring the champion against the baseline when the night ends, and the gain that is reported.

use super::Study;
use super::experiment::{Experiment, is_fair};
use super::need::is_hopeless;
use super::state::State;
use super::step::Step;
use crate::event::{Purpose, Scope};
use crate::id::{ExperimentId, Seed, Slot};
use crate::judge::{Estimate, Mind};
use crate::stats::{Confidence, Tally, student_t};
use crate::units::{Millis, Timestamp};

/// The most of a night that goes into its own measurement, and how many pairs are worth the while.
const CLOSING_SHARE: f64 = 0.08;
const FEWEST_PAIRS: u32 = 2;
const MOST_PAIRS: u32 = 12;
/// The luck that was fixed is expected to be that of the luckiest of about ten, in sd of one trial.
const LUCK: f64 = 1.5;
/// Champions differ in how they scatter, and were chosen; with this the interval holds as often as it says.
const WIDER: f64 = 1.08;
/// How many trials the pooled noise counts for, where a commit's own repeats say how it scatters itself.
const POOLED: f64 = 4.0;

impl Study {
    /// How many trials a night of this length has; `None` where nothing says how long it is.
    pub(super) fn night_trials(&self) -> Option<f64> {
        let run = self.state.run.as_ref()?;
        let wall = self.spec.limits.night.wall?;
        Some(wall.0 as f64 * f64::from(run.facts.slots) / self.trial_time()?)
    }

    /// Whether the night is to be closed: from here on, only champion and baseline are measured, in turns.
    pub(super) fn is_closing(&self, now: Timestamp, ends: bool) -> bool {
        let Some(run) = self.state.run.as_ref().filter(|run| matches!(run.facts.scope, Scope::Loop { .. })) else {
            return false;
        };
        let wanted = self.pairs_missing(ends);
        if wanted == 0 {
            return false;
        }
        let Some((wall, time)) = self.spec.limits.night.wall.zip(self.trial_time()) else { return ends };
        // What has begun is brought to its end, however fast its first trials were.
        if run.closing {
            return true;
        }
        let left = (wall.0 as f64 - now.since(run.started_at).0 as f64).max(0.0);
        let trials = (left / time).floor() * f64::from(run.facts.slots) - self.state.running.len() as f64;
        ends || trials <= f64::from(2 * wanted)
    }

    /// The next trial that closes the night: of whichever side has fewer, both with the same seed.
    pub(super) fn close(&self, slot: Slot, ends: bool) -> Option<Step> {
        if self.pairs_missing(ends) == 0 {
            return None;
        }
        let (champion, baseline) = (self.state.champion?, self.state.baseline());
        let (of_champion, of_baseline) = (self.closed(champion), self.closed(baseline));
        let pair = of_champion.min(of_baseline);
        let seed = self.pair_seed(champion, pair);
        let side = match of_champion.cmp(&of_baseline) {
            std::cmp::Ordering::Less => champion,
            std::cmp::Ordering::Greater => baseline,
            std::cmp::Ordering::Equal if seed.0.is_multiple_of(2) => champion,
            std::cmp::Ordering::Equal => baseline,
        };
        Some(self.trial(side, Purpose::Close, slot).with_seed(seed))
    }

    /// How many pairs of the closing measurement are still to be made, those under way aside.
    fn pairs_missing(&self, ends: bool) -> u32 {
        let (Some(mind), Some(champion)) = (self.state.mind(), self.state.champion) else { return 0 };
        let baseline = self.state.baseline();
        let hopeless = |id: ExperimentId| self.state.find(id).is_none_or(is_hopeless);
        if champion == baseline || !self.state.calibrated() || self.state.judging.closing.is_broken {
            return 0;
        }
        // A trial that we ourselves lose every time must not hold up the end.
        if hopeless(champion) || hopeless(baseline) {
            return 0;
        }
        let done = self.closed(champion).min(self.closed(baseline));
        self.pairs_wanted(mind, ends).saturating_sub(done)
    }

    /// The more a trial is worth elsewhere, the fewer: a pair more narrows the report by so much, and costs two trials.
    fn pairs_wanted(&self, mind: &Mind, ends: bool) -> u32 {
        let worth = (0.21 * mind.noise() / mind.price().max(f64::MIN_POSITIVE)).powf(2.0 / 3.0);
        let spent = self.state.run.as_ref().map_or(0, |run| run.trials) as f64;
        let night = if ends { spent } else { self.night_trials().unwrap_or(0.0) };
        let most = (CLOSING_SHARE * night / 2.0).floor();
        match worth.clamp(FEWEST_PAIRS.into(), MOST_PAIRS.into()).min(most) {
            few if few < f64::from(FEWEST_PAIRS) => 0,
            pairs => pairs as u32,
        }
    }

    /// The trials that closed a night with this champion, running ones included.
    fn closed(&self, id: ExperimentId) -> u32 {
        let closing = &self.state.judging.closing;
        let done = if Some(id) == self.state.champion { closing.champion.n() } else { closing.baseline.n() };
        let running = self.state.running.values();
        let running = running.filter(|(running, _)| running.experiment == id && running.purpose == Purpose::Close);
        done + running.count() as u32
    }

    /// How long a trial takes, in milliseconds.
    fn trial_time(&self) -> Option<f64> {
        let (total, trials) = self.state.trial_times();
        (trials > 0).then(|| (total.0 as f64 / trials as f64).max(1.0))
    }

    fn pair_seed(&self, champion: ExperimentId, pair: u32) -> Seed {
        self.seed_of((champion.0 << 16) ^ u64::from(pair) ^ 0x5EED_0000_0000_0000)
    }
}

impl State {
    /// How much better the champion is than the baseline, by what was measured of both after they were chosen: in turns
    /// at the end of a night, else whenever it was, and then less surely for the time between.
    pub fn gain_over_baseline(&self) -> Option<Estimate> {
        let (baseline, champion) = (self.find(self.baseline())?, self.champion()?);
        if champion.id == baseline.id || !self.calibrated() {
            return None;
        }
        let goal = self.segment.as_ref()?.metric.goal;
        let Some(mind) = self.mind() else {
            let gain = goal.gain(baseline.metric()?, champion.metric()?);
            return Some(Estimate { gain, low: Some(gain), high: Some(gain) });
        };
        let closing = &self.judging.closing;
        if let (Some(from), Some(to)) = (closing.baseline.mean(), closing.champion.mean()) {
            let variance = self.variance_of(mind, baseline, &closing.baseline)
                + self.variance_of(mind, champion, &closing.champion);
            // What has fixed its luck was chosen for it, and gives it again whenever it is measured.
            let luck = if self.is_frozen(champion) { LUCK * mind.noise() } else { 0.0 };
            return Some(interval(to - from - luck, variance, self.repeats()));
        }
        self.gain_by_steps(mind, baseline)
    }

    /// The variance of a mean: of one trial's own noise, and of what repeats itself where the candidate fixed its luck.
    fn variance_of(&self, mind: &Mind, experiment: &Experiment, tally: &Tally) -> f64 {
        let pooled = mind.variance();
        if self.is_frozen(experiment) {
            return pooled;
        }
        let own = Tally::of(experiment.looks().filter_map(super::Trial::score));
        let variance = (POOLED * pooled + own.squares()) / (POOLED + f64::from(own.degrees()));
        variance / f64::from(tally.n().max(1))
    }

    /// The last champion that was measured after it was chosen, and from there on what each keep was found to bring.
    fn gain_by_steps(&self, mind: &Mind, baseline: &Experiment) -> Option<Estimate> {
        let segment = self.segment_number();
        let (mut gain, mut variance) = (0.0, 0.0);
        // What was kept last is not what has the highest number: several are judged at once.
        let chain = self.judging.kept.iter().rev().filter_map(|id| self.find(*id)).chain([baseline]);
        for kept in chain.filter(|kept| kept.segment == segment) {
            let fair = self.fair(kept);
            if !self.is_frozen(kept)
                && let (Some(to), Some(from)) = (fair.mean(), self.fair(baseline).mean())
            {
                // Trials of the baseline come in between: what counts is when both were measured on the whole.
                let apart = (measured_at(kept) - measured_at(baseline)).abs();
                gain += to - from;
                variance +=
                    self.variance_of(mind, kept, &fair) + self.variance_of(mind, baseline, &self.fair(baseline));
                variance += mind.drift(apart);
                return Some(interval(gain, variance, self.repeats()));
            }
            let Estimate { gain: step, low, high } = kept.estimate?;
            let half = low.zip(high).map_or(0.0, |(low, high)| (high - low) / 2.0);
            gain += step;
            variance += (half / 1.96).powi(2);
        }
        None
    }

    /// The scores of trials that had no part in choosing it, as the judge hears them.
    fn fair(&self, experiment: &Experiment) -> Tally {
        let fair = experiment.looks().filter(|trial| is_fair(trial.purpose));
        Tally::of(fair.filter_map(super::Trial::score).map(|score| self.told(score)))
    }
}

/// When its fair trials were, in trials of the study: the mean of them.
fn measured_at(experiment: &Experiment) -> f64 {
    let fair = experiment.fresh().iter().filter(|trial| is_fair(trial.purpose));
    Tally::of(fair.map(|trial| trial.id.0 as f64)).mean().unwrap_or(0.0)
}

fn interval(gain: f64, variance: f64, repeats: u32) -> Estimate {
    let half = WIDER * student_t(Confidence::P975, repeats.saturating_sub(1).max(4)) * variance.sqrt();
    Estimate { gain, low: Some(gain - half), high: Some(gain + half) }
}

impl State {
    /// How long trials of this segment took in all, and how many they were.
    pub(super) fn trial_times(&self) -> (Millis, u64) {
        self.trial_time
    }
}
