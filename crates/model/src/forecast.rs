//! What a night buys: how many trials and experiments, and the smallest gain it could be sure of.

use crate::judge::{CALIBRATION_TRIALS, Noise};
use crate::units::Millis;

/// How many of a hundred experiments are taken to look better at first and to be run again: a round guess, said with it.
pub const PROMISING_PERCENT: u64 = 10;

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
}

/// What a night buys, where trials follow each other without a pause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    pub trials: u64,
    pub experiments: u64,
    /// How often a keep is run before it is one.
    pub trials_per_keep: u32,
    /// The true gain that would be kept about nine times in ten; `None` while the noise is unknown.
    ///
    /// A trial has to show more than the bound, or `min_gain`, and noise moves what it shows: half of the trials of a
    /// gain as large as that show less. One bound more, and some 95 % pass; two trials have to, one after the other.
    pub smallest_gain: Option<f64>,
}

impl Prospect {
    pub fn forecast(&self) -> Forecast {
        let &Prospect { wall, trial, slots, experiments, noise, min_gain } = self;
        let trials = wall.0 * u64::from(slots) / trial.0.max(1);
        let trials_per_keep = if noise == Noise::Deterministic { 2 } else { 3 };
        let left = trials.saturating_sub(CALIBRATION_TRIALS.into());
        let bought = left * 100 / (100 + PROMISING_PERCENT * u64::from(trials_per_keep - 1));
        Forecast {
            trials,
            experiments: experiments.map_or(bought, |most| most.min(bought)),
            trials_per_keep,
            smallest_gain: Some(noise.bound(1, CALIBRATION_TRIALS))
                .filter(|bound| bound.is_finite())
                .map(|bound| bound.max(min_gain) + bound),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NIGHT: Prospect = Prospect {
        wall: Millis::seconds(8 * 3600),
        trial: Millis::seconds(320),
        slots: 1,
        experiments: None,
        noise: Noise::Deterministic,
        min_gain: 0.0,
    };

    #[test]
    fn a_night_of_five_minute_trials_buys_some_eighty() {
        let bought = NIGHT.forecast();
        assert_eq!((bought.trials, bought.experiments, bought.trials_per_keep), (90, 79, 2));
        assert_eq!(bought.smallest_gain, Some(0.0));
        let two = Prospect { slots: 2, experiments: Some(50), ..NIGHT }.forecast();
        assert_eq!((two.trials, two.experiments), (180, 50));
    }

    #[test]
    fn noise_costs_trials_and_small_gains() {
        let noisy = Prospect { noise: Noise::Noisy { sd: 0.01, degrees: 2 }, ..NIGHT };
        let bound = 0.01 * 2.920 * (4f64 / 3.0).sqrt();
        let bought = noisy.forecast();
        assert_eq!((bought.experiments, bought.trials_per_keep), (72, 3));
        assert!((bought.smallest_gain.unwrap() - 2.0 * bound).abs() < 1e-12);
        let wants_more = Prospect { min_gain: 0.5, ..noisy }.forecast();
        assert!((wants_more.smallest_gain.unwrap() - 0.5 - bound).abs() < 1e-12);
        let coarse = Prospect { min_gain: 0.5, ..NIGHT }.forecast();
        assert_eq!(coarse.smallest_gain, Some(0.5));
    }

    #[test]
    fn what_is_not_known_is_not_promised() {
        let unknown = Prospect { noise: Noise::Unknown, ..NIGHT }.forecast();
        assert_eq!(unknown.smallest_gain, None);
        let short = Prospect { wall: Millis::seconds(600), ..NIGHT }.forecast();
        assert_eq!((short.trials, short.experiments), (1, 0));
    }
}
