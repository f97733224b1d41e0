//! The luck of the seeds of the deck, as it is believed together with a level and an effect.

use super::deck::SEEDS;
use super::gauss::{Level, shrunk};

/// Its mean for each seed, and how it goes together with the level, with the effect and with the luck of the others.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Luck {
    pub(super) mean: [f64; SEEDS],
    pub(super) with_level: [f64; SEEDS],
    pub(super) with_effect: [f64; SEEDS],
    pub(super) own: [[f64; SEEDS]; SEEDS],
}

impl Luck {
    /// Seeds of which nothing is known but how much luck there is.
    pub(super) fn unknown(variance: f64) -> Luck {
        let mut luck = Luck::default();
        (0..SEEDS).for_each(|seed| luck.own[seed][seed] = variance);
        luck
    }

    /// What a seed adds to a level, or to a candidate's: to the mean and to the variance.
    pub(super) fn foretold(&self, seed: Option<usize>, of_candidate: bool) -> (f64, f64) {
        let Some(seed) = seed else { return (0.0, 0.0) };
        let with = self.with_level[seed] + if of_candidate { self.with_effect[seed] } else { 0.0 };
        (self.mean[seed], self.own[seed][seed] + 2.0 * with)
    }

    /// Learns what a score says, as the level and the effect do, whose covariances with it are `with`.
    pub(super) fn learn(&mut self, seed: Option<usize>, of_candidate: bool, with: [f64; 2], shift: f64, shrink: f64) {
        let with_score: [f64; SEEDS] = std::array::from_fn(|other| {
            let of_effect = if of_candidate { self.with_effect[other] } else { 0.0 };
            self.with_level[other] + of_effect + seed.map_or(0.0, |seed| self.own[other][seed])
        });
        for other in 0..SEEDS {
            self.mean[other] += with_score[other] * shift;
            self.with_level[other] -= with[0] * with_score[other] * shrink;
            self.with_effect[other] -= with[1] * with_score[other] * shrink;
            for third in 0..other {
                let now = self.own[other][third] - with_score[other] * with_score[third] * shrink;
                (self.own[other][third], self.own[third][other]) = (now, now);
            }
            self.own[other][other] = shrunk(self.own[other][other], with_score[other].powi(2) * shrink);
        }
    }

    /// How much of it there is by how far the luck of these seeds lies apart, with `before` counting as one more seed.
    pub(super) fn variance(&self, before: f64, seeds: &[usize]) -> f64 {
        let n = seeds.len().max(1) as f64;
        let mean = seeds.iter().map(|seed| self.mean[*seed]).sum::<f64>() / n;
        let apart: f64 = seeds.iter().map(|seed| (self.mean[*seed] - mean).powi(2) + self.own[*seed][*seed]).sum();
        let together: f64 = seeds.iter().flat_map(|seed| seeds.iter().map(|other| self.own[*seed][*other])).sum();
        (before + (apart - together / n).max(0.0)) / n
    }

    /// Another seed takes the place of one.
    pub(super) fn renew(&mut self, seed: usize, variance: f64) {
        (self.mean[seed], self.with_level[seed], self.with_effect[seed]) = (0.0, 0.0, 0.0);
        for other in 0..SEEDS {
            (self.own[seed][other], self.own[other][seed]) = (0.0, 0.0);
        }
        self.own[seed][seed] = variance;
    }

    /// Another program makes a little different luck of every seed.
    pub(super) fn stir(&mut self, variance: f64) {
        (0..SEEDS).for_each(|seed| self.own[seed][seed] += variance);
    }

    /// That of a mixture of levels whose mean is known.
    pub(super) fn blend(parts: impl Iterator<Item = (f64, Level)> + Clone, level: f64) -> Luck {
        let total: f64 = parts.clone().map(|(weight, _)| weight).sum::<f64>().max(f64::MIN_POSITIVE);
        let mut blended = Luck::default();
        for (weight, Level { luck, .. }) in parts.clone() {
            (0..SEEDS).for_each(|seed| blended.mean[seed] += weight / total * luck.mean[seed]);
        }
        for (weight, Level { mean, luck, .. }) in parts {
            let share = weight / total;
            let off: [f64; SEEDS] = std::array::from_fn(|seed| luck.mean[seed] - blended.mean[seed]);
            for seed in 0..SEEDS {
                blended.with_level[seed] += share * (luck.with_level[seed] + (mean - level) * off[seed]);
                for other in 0..SEEDS {
                    blended.own[seed][other] += share * (luck.own[seed][other] + off[seed] * off[other]);
                }
            }
        }
        blended
    }
}
