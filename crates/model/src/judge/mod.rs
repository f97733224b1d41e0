//! The judge: what is kept, how sure that is, and what another trial would be worth.

mod gauss;
mod mind;
mod noise;
mod normal;
mod opinion;
mod prior;
mod world;

pub use mind::{Mind, Remembered};
pub use opinion::{Opinion, Side};

use serde::{Deserialize, Serialize};

use crate::stats::{Confidence, Tally, pooled_sd, student_t};
use crate::units::Goal;
use crate::verdict::Reason;

/// How many trials the baseline gets before anything is compared with it.
pub const CALIBRATION_TRIALS: u32 = 3;

/// How much the metric moves when nothing changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Too few repeats to say anything.
    Unknown,
    /// Equal across at least three seeds: one trial decides.
    Deterministic,
    Noisy {
        sd: f64,
        degrees: u32,
    },
}

impl Noise {
    /// Learns the noise from groups of repeats, each of one commit with different seeds.
    pub fn from_repeats<'a>(groups: impl IntoIterator<Item = &'a Tally> + Clone) -> Noise {
        let largest = groups.clone().into_iter().map(Tally::n).max().unwrap_or(0);
        match pooled_sd(groups) {
            None => Noise::Unknown,
            Some((0.0, _)) if largest >= CALIBRATION_TRIALS => Noise::Deterministic,
            Some((0.0, _)) => Noise::Unknown,
            Some((sd, degrees)) => Noise::Noisy { sd, degrees },
        }
    }

    /// The gain of a mean of `trials` over a level of `n` that noise alone would rarely show.
    pub fn bound(self, trials: u32, n: u32) -> f64 {
        match self {
            Noise::Unknown => f64::INFINITY,
            Noise::Deterministic => 0.0,
            Noise::Noisy { sd, degrees } => student_t(Confidence::P95, degrees) * sd * spread(trials, n),
        }
    }
}

/// Everything known of a candidate and of the champion it wants to replace.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    pub goal: Goal,
    pub min_gain: f64,
    pub noise: Noise,
    /// Trials of the champion that did not take part in choosing it.
    pub champion: &'a Tally,
    /// The candidate's scores, in the order they were measured.
    pub candidate: &'a [f64],
}

/// What to do with a candidate.
#[derive(Debug, Clone, PartialEq)]
pub enum Ruling {
    /// One more trial of the candidate would tell.
    Measure,
    Keep(Reason, Estimate),
    Discard(Reason, Estimate),
}

/// A gain over the champion of its moment, with its 95 % interval where the noise is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub gain: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// Rules on a candidate. `None` when the champion has no level to compare with.
pub fn rule(evidence: &Evidence<'_>) -> Option<Ruling> {
    let &Evidence { goal, min_gain, noise, champion, candidate } = evidence;
    let level = champion.mean()?;
    let Some((&first, confirmations)) = candidate.split_first() else {
        return Some(Ruling::Measure);
    };
    let bound = noise.bound(1, champion.n());
    let gain = |score| goal.gain(level, score);
    let estimate = |scores: &[f64]| estimate(goal, noise, champion, level, &Tally::of(scores.iter().copied()));
    if let Some(reason) = shortfall(gain(first), bound, min_gain) {
        return Some(Ruling::Discard(reason, estimate(candidate)));
    }
    // The first run was chosen for being good; a second one has to be as good.
    let Some((&second, further)) = confirmations.split_first() else {
        return Some(Ruling::Measure);
    };
    let not_confirmed = |second: f64, bound: f64| {
        let reason = Reason::NotConfirmed { first: gain(first), second, bound };
        Some(Ruling::Discard(reason, estimate(confirmations)))
    };
    if shortfall(gain(second), bound, min_gain).is_some() {
        return not_confirmed(gain(second), bound);
    }
    // The noise was learned with this candidate's own repeats, so both runs gave the same value.
    if noise == Noise::Deterministic {
        let reason = Reason::Better { gain: gain(first), bound, trials: 2 };
        return Some(Ruling::Keep(reason, estimate(candidate)));
    }
    // The second was chosen as well. How much better it is, the third says, and all after the first together.
    let Some(&third) = further.last() else {
        return Some(Ruling::Measure);
    };
    // It must not contradict what it confirms.
    if gain(third) <= 0.0 {
        return not_confirmed(gain(third), bound);
    }
    let mean = Tally::of(confirmations.iter().copied());
    let (mean, bound) = (gain(mean.mean().unwrap_or(level)), noise.bound(mean.n(), champion.n()));
    if shortfall(mean, bound, min_gain).is_some() {
        return not_confirmed(mean, bound);
    }
    let trials = candidate.len() as u32;
    Some(Ruling::Keep(Reason::Better { gain: mean, bound, trials }, estimate(&[third])))
}

/// Rules on a champion that comes over from another segment, against the baseline of this one.
///
/// It was kept for good reasons, so it stays unless it is shown to be worse here. Every run of it counts: none was
/// chosen for being good.
pub fn rule_on_carried(evidence: &Evidence<'_>) -> Option<Ruling> {
    let &Evidence { goal, noise, champion, candidate, .. } = evidence;
    let level = champion.mean()?;
    if candidate.len() < CALIBRATION_TRIALS as usize {
        return Some(Ruling::Measure);
    }
    let estimate = estimate(goal, noise, champion, level, &Tally::of(candidate.iter().copied()));
    let trials = candidate.len() as u32;
    let bound = noise.bound(trials, champion.n());
    let gain = estimate.gain;
    Some(match gain < -bound {
        true => Ruling::Discard(Reason::NotBetter { gain }, estimate),
        false => Ruling::Keep(Reason::Carried { gain, bound, trials }, estimate),
    })
}

/// How much better one level is than another, both measured by trials that chose neither.
pub fn between(goal: Goal, noise: Noise, from: &Tally, to: &Tally) -> Option<Estimate> {
    let level = from.mean()?;
    (to.n() > 0).then(|| estimate(goal, noise, from, level, to))
}

/// Why a gain is not enough, if it is not.
fn shortfall(gain: f64, bound: f64, min_gain: f64) -> Option<Reason> {
    if gain <= 0.0 {
        Some(Reason::NotBetter { gain })
    } else if gain <= bound {
        Some(Reason::WithinNoise { gain, bound })
    } else if gain < min_gain {
        Some(Reason::BelowMinGain { gain, min_gain })
    } else {
        None
    }
}

fn estimate(goal: Goal, noise: Noise, champion: &Tally, level: f64, tally: &Tally) -> Estimate {
    let gain = goal.gain(level, tally.mean().unwrap_or(level));
    let half = match noise {
        Noise::Unknown => None,
        Noise::Deterministic => Some(0.0),
        Noise::Noisy { sd, degrees } => {
            Some(student_t(Confidence::P975, degrees) * sd * spread(tally.n(), champion.n()))
        }
    };
    Estimate { gain, low: half.map(|half| gain - half), high: half.map(|half| gain + half) }
}

/// The spread of a difference of two means, in units of one trial's.
fn spread(a: u32, b: u32) -> f64 {
    (1.0 / f64::from(a) + 1.0 / f64::from(b)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISY: Noise = Noise::Noisy { sd: 0.01, degrees: 10 };

    fn ruled(noise: Noise, min_gain: f64, candidate: &[f64]) -> Ruling {
        let champion = Tally::of([1.0, 1.0, 1.0]);
        rule(&Evidence { goal: Goal::Min, min_gain, noise, champion: &champion, candidate }).unwrap()
    }

    fn reason(ruling: Ruling) -> Reason {
        match ruling {
            Ruling::Keep(reason, _) | Ruling::Discard(reason, _) => reason,
            Ruling::Measure => panic!("no ruling yet"),
        }
    }

    #[test]
    fn a_deterministic_metric_is_run_once_more_and_that_is_all() {
        assert_eq!(ruled(Noise::Deterministic, 0.0, &[0.999999]), Ruling::Measure);
        assert!(matches!(ruled(Noise::Deterministic, 0.0, &[0.999999, 0.999999]), Ruling::Keep(..)));
        let equal = reason(ruled(Noise::Deterministic, 0.0, &[1.0]));
        assert_eq!(equal, Reason::NotBetter { gain: 0.0 });
    }

    #[test]
    fn a_gain_within_the_noise_is_discarded_after_one_trial() {
        assert!(matches!(reason(ruled(NOISY, 0.0, &[0.99])), Reason::WithinNoise { .. }));
    }

    #[test]
    fn a_large_gain_is_kept_only_when_further_runs_confirm_it() {
        assert_eq!(ruled(NOISY, 0.0, &[0.9]), Ruling::Measure);
        assert_eq!(ruled(NOISY, 0.0, &[0.9, 0.91]), Ruling::Measure);
        assert!(matches!(ruled(NOISY, 0.0, &[0.9, 0.91, 0.92]), Ruling::Keep(..)));
        assert!(matches!(reason(ruled(NOISY, 0.0, &[0.9, 1.0])), Reason::NotConfirmed { .. }));
        assert!(matches!(reason(ruled(NOISY, 0.0, &[0.97, 0.97, 1.05])), Reason::NotConfirmed { .. }));
    }

    #[test]
    fn a_keep_never_reports_a_loss() {
        let champion = Tally::of([1.0, 1.0, 1.0]);
        let candidate = [0.9, 0.5, 1.01];
        let evidence =
            Evidence { goal: Goal::Min, min_gain: 0.0, noise: NOISY, champion: &champion, candidate: &candidate };
        assert!(matches!(rule(&evidence), Some(Ruling::Discard(Reason::NotConfirmed { .. }, _))));
    }

    #[test]
    fn the_reported_gain_leaves_out_the_runs_that_were_selected() {
        let Ruling::Keep(_, estimate) = ruled(NOISY, 0.0, &[0.5, 0.6, 0.9]) else { panic!("not kept") };
        assert!((estimate.gain - 0.1).abs() < 1e-12);
        assert!(estimate.low.unwrap() < 0.1 && estimate.high.unwrap() > 0.1);
    }

    #[test]
    fn a_gain_between_two_levels_has_the_uncertainty_of_both() {
        let (from, to) = (Tally::of([1.0, 1.0, 1.0]), Tally::of([0.8, 0.8]));
        let found = between(Goal::Min, NOISY, &from, &to).unwrap();
        let half = student_t(Confidence::P975, 10) * 0.01 * (1.0_f64 / 3.0 + 1.0 / 2.0).sqrt();
        assert!((found.gain - 0.2).abs() < 1e-12 && (found.high.unwrap() - 0.2 - half).abs() < 1e-12);
        assert_eq!(between(Goal::Min, NOISY, &from, &Tally::default()), None);
        assert_eq!(between(Goal::Min, Noise::Unknown, &from, &to).unwrap().low, None);
    }

    #[test]
    fn a_gain_below_min_gain_is_not_worth_keeping() {
        assert!(matches!(reason(ruled(Noise::Deterministic, 0.1, &[0.95])), Reason::BelowMinGain { .. }));
    }

    #[test]
    fn a_metric_equal_twice_is_not_yet_deterministic() {
        assert_eq!(Noise::from_repeats(&[Tally::of([1.0, 1.0])]), Noise::Unknown);
        assert_eq!(Noise::from_repeats(&[Tally::of([1.0; 3])]), Noise::Deterministic);
        let mixed = [Tally::of([1.0; 3]), Tally::of([0.5, 0.6])];
        assert!(matches!(Noise::from_repeats(&mixed), Noise::Noisy { .. }));
    }
}
