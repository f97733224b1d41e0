//! What a night buys: how many trials and experiments, where they go, and the smallest gain it could be sure of.
//!
//! No formula says that of a judge that learns. So the judge itself is asked, on a night that is made up.

mod rehearsal;

use self::rehearsal::{Rehearsal, Turn, idea, luck};
use crate::id::ExperimentId;
use crate::judge::Noise;
use crate::spec::JudgeSpec;
use crate::study::Spent;
use crate::tuner::random::Random;
use crate::units::Millis;
use crate::verdict::Verdict;

/// As many trials tell how a longer night would go on.
const REHEARSED: u64 = 100;
/// One night may be lucky.
const NIGHTS: u64 = 3;
/// After so many the judge knows the noise about as well as it will, and the study a little.
const WARM: u64 = 40;
/// The luck that one of twenty candidates has in its first trial: the twenty quantiles of the normal distribution.
const LUCK: [f64; 20] = [
    -1.960, -1.440, -1.150, -0.935, -0.755, -0.598, -0.454, -0.319, -0.189, -0.063, 0.063, 0.189, 0.319, 0.454, 0.598,
    0.755, 0.935, 1.150, 1.440, 1.960,
];
/// A gain is sure where so many of the twenty are kept: one more than nine in ten, for twenty are few, and the smallest that
/// passes was chosen for passing.
const SURE: usize = 19;
/// Between these gains, in sd of one trial, the smallest is looked for, in so many steps.
const LEAST: f64 = 0.1;
const MOST: f64 = 16.0;
const STEPS: u32 = 6;

/// What is known before a night begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prospect {
    /// How long the night is.
    pub wall: Millis,
    /// How long one trial takes.
    pub trial: Millis,
    pub slots: u32,
    /// The most experiments it may make.
    pub experiments: Option<u64>,
    pub noise: Noise,
    pub min_gain: f64,
    pub judge: JudgeSpec,
}

/// What a night buys, where trials follow each other without a pause.
///
/// Of a hundred ideas, ten are taken to be better and 45 worse, by one sd of a trial on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// As many as there is time for.
    pub trials: u64,
    pub experiments: u64,
    /// Where trials go: fewer than there is time for where the night ends with its experiments.
    pub spent: Spent,
    /// `None` while the noise is unknown.
    pub sure: Option<Sure>,
}

/// The smallest gain that would be kept nine times in ten.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sure {
    pub gain: f64,
    /// What that takes on average: trials of the candidate, and of the champion for its sake.
    pub trials: f64,
}

impl Sure {
    /// How much time of the machine that is.
    pub fn time(&self, trial: Millis) -> Millis {
        Millis((self.trials * trial.0 as f64) as u64)
    }
}

impl Prospect {
    pub fn forecast(&self) -> Forecast {
        let &Prospect { wall, trial, slots, experiments, noise, min_gain, judge } = self;
        let trials = wall.0 * u64::from(slots) / trial.0.max(1);
        let sd = sd(noise);
        let asked = min_gain / sd.unwrap_or(1.0);
        let (unit, asked) = if noise == Noise::Deterministic { (0.0, min_gain) } else { (1.0, asked) };
        let spent = rehearsed(trials, unit, asked, judge);
        let kept_to = experiments.filter(|most| *most < spent.screen).map(|most| share(spent, most));
        let spent = kept_to.unwrap_or(spent);
        Forecast { trials, experiments: spent.screen, spent, sure: smallest_sure_gain(noise, min_gain, judge) }
    }
}

/// The smallest gain that would be kept nine times in ten in the middle of a night; `None` while the noise is unknown.
pub fn smallest_sure_gain(noise: Noise, min_gain: f64, judge: JudgeSpec) -> Option<Sure> {
    if noise == Noise::Deterministic {
        return Some(Sure { gain: min_gain, trials: 2.0 });
    }
    let sd = sd(noise)?;
    let begun = warm(min_gain / sd, judge)?;
    let (mut low, mut high) = (LEAST, MOST);
    let mut found = tried(&begun, min_gain / sd + high)?;
    for _ in 0..STEPS {
        let middle = (low * high).sqrt();
        match tried(&begun, min_gain / sd + middle) {
            Some(tried) => (high, found) = (middle, tried),
            None => low = middle,
        }
    }
    Some(Sure { gain: min_gain + high * sd, trials: found })
}

fn sd(noise: Noise) -> Option<f64> {
    match noise {
        Noise::Noisy { sd, .. } => Some(sd),
        Noise::Deterministic | Noise::Unknown => None,
    }
}

/// Where the trials of a night go: as in a few nights of that length, or as a longer one would go on.
fn rehearsed(trials: u64, noise: f64, min_gain: f64, judge: JudgeSpec) -> Spent {
    let nights: Vec<Spent> =
        (1..=NIGHTS).map(|seed| played(trials.min(REHEARSED), noise, min_gain, judge, seed)).collect();
    let sum = |of: fn(&Spent) -> u64| nights.iter().map(of).sum::<u64>();
    let calibrate = sum(|night| night.calibrate) / NIGHTS;
    let rest = sum(|night| night.trials() - night.calibrate).max(1);
    let left = trials.saturating_sub(calibrate);
    let part = |of: fn(&Spent) -> u64| (sum(of) * left + rest / 2) / rest;
    let (confirm, remeasure, sentinel) =
        (part(|night| night.confirm), part(|night| night.remeasure), part(|night| night.sentinel));
    Spent { calibrate, screen: left.saturating_sub(confirm + remeasure + sentinel), confirm, remeasure, sentinel }
}

fn played(trials: u64, noise: f64, min_gain: f64, judge: JudgeSpec, seed: u64) -> Spent {
    let mut night = Rehearsal::new(trials, noise, min_gain, judge);
    let mut random = Random::new(seed, trials);
    loop {
        match night.turn(&mut |_| luck(&mut random)) {
            Turn::Idea => drop(night.propose(idea(&mut random))),
            Turn::Judged(..) => {}
            Turn::Over => return night.study().state().spent(),
        }
    }
}

/// The same night, ended by its experiments.
fn share(spent: Spent, experiments: u64) -> Spent {
    let less = |count: u64| count * experiments / spent.screen.max(1);
    Spent {
        calibrate: spent.calibrate,
        screen: experiments,
        confirm: less(spent.confirm),
        remeasure: less(spent.remeasure),
        sentinel: less(spent.sentinel),
    }
}

/// A night that has begun, at the moment at which an idea is wanted.
fn warm(min_gain: f64, judge: JudgeSpec) -> Option<Rehearsal> {
    let mut night = Rehearsal::new(10 * WARM, 1.0, min_gain, judge);
    let mut random = Random::new(2, WARM);
    loop {
        match night.turn(&mut |_| luck(&mut random)) {
            Turn::Idea if night.study().state().spent().trials() >= WARM => return Some(night),
            Turn::Idea => drop(night.propose(idea(&mut random))),
            Turn::Judged(..) => {}
            Turn::Over => return None,
        }
    }
}

/// How many trials a gain takes on average, where it is sure.
fn tried(begun: &Rehearsal, gain: f64) -> Option<f64> {
    let mut trials = 0;
    let mut missed = 0;
    for (turn, first) in LUCK.into_iter().enumerate() {
        let (kept, took) = one(begun.clone(), gain, first, turn as u64)?;
        trials += took;
        missed += usize::from(!kept);
        if missed > LUCK.len() - SURE {
            return None;
        }
    }
    Some(f64::from(trials) / LUCK.len() as f64)
}

/// Whether one candidate of this gain is kept, and what that took.
fn one(mut night: Rehearsal, gain: f64, first: f64, turn: u64) -> Option<(bool, u32)> {
    let mut random = Random::new(3, turn);
    let candidate = night.propose(gain)?;
    let mut first = Some(first);
    let before = night.study().state().spent();
    loop {
        let mut draw = |experiment: ExperimentId| match first.take_if(|_| experiment == candidate) {
            Some(first) => first,
            None => luck(&mut random),
        };
        match night.turn(&mut draw) {
            Turn::Judged(id, verdict) if id == candidate => {
                let spent = night.study().state().spent();
                let of = |spent: Spent| spent.screen + spent.confirm + spent.remeasure;
                return Some((verdict == Verdict::Kept, (of(spent) - of(before)) as u32));
            }
            Turn::Judged(..) => {}
            Turn::Idea | Turn::Over => return None,
        }
    }
}

#[cfg(test)]
mod tests;
