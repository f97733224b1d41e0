//! The judge: what is kept, how sure that is, and what another trial would be worth.

mod dealing;
mod deck;
mod gauss;
mod luck;
mod mind;
mod noise;
pub(crate) mod normal;
mod opinion;
mod prior;
mod world;

pub use deck::Look;
pub use mind::{Mind, Remembered};
pub use opinion::{Opinion, Side};

use serde::{Deserialize, Serialize};

use crate::stats::{Confidence, Tally, pooled_sd, student_t};
use crate::units::Goal;
use crate::verdict::Reason;

/// Goes up where the same events make the judge believe something else. What an earlier one believed was stored with the
/// study, and is no fault of the ledger. The first had none.
pub const EDITION: u32 = 5;
/// How many trials the baseline gets before anything is compared with it; further ones come in between.
pub const FIRST_TRIALS: u32 = 2;
/// How often a value has to come again, each time with another seed, before the metric is taken for one without noise.
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

/// Everything known of a champion that comes over from another segment, and of the baseline here.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    pub goal: Goal,
    pub noise: Noise,
    /// The baseline's level.
    pub champion: &'a Tally,
    /// The candidate's scores, in the order they were measured.
    pub candidate: &'a [f64],
}

/// What to do with it.
#[derive(Debug, Clone, PartialEq)]
pub enum Ruling {
    /// One more trial would tell.
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

    #[test]
    fn a_metric_equal_twice_is_not_yet_deterministic() {
        assert_eq!(Noise::from_repeats(&[Tally::of([1.0, 1.0])]), Noise::Unknown);
        assert_eq!(Noise::from_repeats(&[Tally::of([1.0; 3])]), Noise::Deterministic);
        let mixed = [Tally::of([1.0; 3]), Tally::of([0.5, 0.6])];
        assert!(matches!(Noise::from_repeats(&mixed), Noise::Noisy { .. }));
    }

    /// Noise of about 1 that is always the same.
    fn noise(looks: u32) -> impl Iterator<Item = f64> {
        let scores = [0.3, -1.1, 0.8, -0.2, 1.6, -0.7, 0.1, -1.4, 0.9, -0.5, 0.6, -0.9, 1.2, 0.0, -0.3];
        (0..looks as usize).map(move |look| scores[look % scores.len()] + 0.01 * (look % 7) as f64)
    }

    #[test]
    fn a_first_score_far_off_by_accident_is_soon_known_for_one() {
        for far in [-50.0, 50.0] {
            let mut mind = Mind::begin(&[far, 0.2], &[]).unwrap();
            let mut after = Vec::new();
            for score in noise(40) {
                mind.champion(score);
                after.push(mind.noise());
            }
            assert!(after[11] < 4.0 && (0.5..2.0).contains(&after[39]), "{far}: {after:.1?}");
            assert!(mind.level().0.abs() < 0.5, "{:?}", mind.level());
        }
    }

    /// Seen from their sharp edge, scores tell of gains that their scatter would hide.
    #[test]
    fn noise_with_a_sharp_edge_has_a_finer_grain_than_it_scatters() {
        let grain = |bend: &dyn Fn(f64) -> f64| {
            let scores: Vec<f64> = noise(60).map(bend).collect();
            let mut mind = Mind::begin(&scores[..2], &[]).unwrap();
            scores[2..].iter().for_each(|score| mind.champion(*score));
            mind.grain() / mind.noise()
        };
        let (plain, edged) = (grain(&|score| score), grain(&|score| -(1.2 * score).exp()));
        assert!(plain > 0.8 && edged < 0.5, "{plain} {edged}");
    }

    #[test]
    fn the_same_scores_in_another_unit_are_the_same_news() {
        let night = |unit: f64| {
            let mut mind = Mind::begin(&[-0.187 * unit, -0.076 * unit], &[]).unwrap();
            let mut after = Vec::new();
            for (index, score) in [-2.7, -1.5, -60.0, 0.2, -0.9, -2.0].into_iter().enumerate() {
                let id = crate::id::ExperimentId(index as u64 + 1);
                mind.open(id);
                mind.candidate(id, score * unit);
                after.push(mind.noise() / unit);
                mind.discard(id);
            }
            after
        };
        let plain = night(1.0);
        for unit in [1e-6, 1e-3, 1e3] {
            let found = night(unit);
            assert!(plain.iter().zip(&found).all(|(a, b)| (a / b - 1.0).abs() < 1e-6), "{plain:?} {found:?}");
        }
    }

    #[test]
    fn even_the_first_candidate_gets_only_trials_that_are_worth_something() {
        let id = crate::id::ExperimentId(1);
        let mut mind = Mind::begin(&[-0.6, 0.5], &[]).unwrap();
        mind.open(id);
        [-2.0, -1.2].into_iter().for_each(|score| mind.candidate(id, score));
        let opinion = mind.opinion(id, 0.0).unwrap();
        assert!(opinion.of_candidate < 0.5 * opinion.price && opinion.of_champion < 0.5 * opinion.price, "{opinion:?}");
    }

    #[test]
    fn two_scores_that_are_noise_are_not_taken_for_less() {
        let mut mind = Mind::begin(&[-1.0, 1.0], &[]).unwrap();
        assert!(mind.noise() > 0.5, "{}", mind.noise());
        noise(10).for_each(|score| mind.champion(score));
        assert!((0.5..2.0).contains(&mind.noise()), "{}", mind.noise());
    }
}
