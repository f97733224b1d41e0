//! What the judge thinks of one candidate, and what another trial would be worth.

use serde::{Deserialize, Serialize};

use super::Estimate;
use super::gauss::Component;
use super::normal::{density, probability};
use super::prior::COMPONENTS;

/// A trial more is worth it where one, or two, or three of them together are.
const LOOKAHEAD: [f64; 3] = [1.0, 2.0, 3.0];
/// What is less likely does not change what a trial is worth.
const NEGLIGIBLE: f64 = 1e-5;

/// A candidate this likely to be better, when it was let go, came close.
const CLOSE: f64 = 0.2;

/// Everything there is to say about a candidate, in the metric's own unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Opinion {
    /// The gain over the champion that is expected of it: shrunk towards what edits of this study are usually worth.
    pub expected: f64,
    /// The 95 % interval of that gain.
    pub low: f64,
    pub high: f64,
    /// How likely it is better than the champion by more than is asked for.
    pub chance: f64,
    /// What one more trial of it, or of the champion, would be worth: by how much better the decision would be.
    pub of_candidate: f64,
    pub of_champion: f64,
    /// What one more trial costs: what the study gains by one elsewhere.
    pub price: f64,
}

/// Whose trial would tell more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Candidate,
    Champion,
}

impl Opinion {
    /// Its gain over the champion.
    pub fn estimate(&self) -> Estimate {
        Estimate { gain: self.expected, low: Some(self.low), high: Some(self.high) }
    }

    /// Whether it came close: it may well be better.
    pub fn is_close(&self) -> bool {
        self.chance >= CLOSE
    }

    /// Whether what is known of it reaches about as far to better as to worse.
    pub fn is_undecided(&self) -> bool {
        self.low < 0.0 && self.high > -self.low / 2.0
    }
}

/// The beliefs of all worlds about one candidate.
pub(super) struct View {
    /// As they are with the seed that the candidate would have next; each level holds the luck of that seed.
    pub(super) components: [Component; COMPONENTS],
    /// The same with the seed that the champion would have.
    pub(super) beside: [Component; COMPONENTS],
    /// The variance of one trial of the candidate, and of one of the champion.
    pub(super) noise: (f64, f64),
    /// There is no champion to measure for it any more.
    pub(super) stale: bool,
    /// It is the champion.
    pub(super) champion_is_it: bool,
}

impl View {
    pub(super) fn expected(&self) -> f64 {
        self.components.iter().map(|found| found.chance * found.effect).sum()
    }

    pub(super) fn opinion(&self, bar: f64, price: f64) -> Opinion {
        let expected = self.expected();
        let best = |side: Side| {
            let per_trial = |trials: f64| self.worth(side, trials, bar) / trials;
            LOOKAHEAD.into_iter().map(per_trial).fold(0.0, f64::max)
        };
        let champion = !self.stale && !self.champion_is_it;
        Opinion {
            expected,
            low: self.quantile(0.025).min(expected),
            high: self.quantile(0.975).max(expected),
            chance: 1.0 - self.below(bar),
            of_candidate: best(Side::Candidate),
            of_champion: if champion { best(Side::Champion) } else { 0.0 },
            price,
        }
    }

    pub(super) fn remembered(&self) -> [(f64, f64, f64); COMPONENTS] {
        std::array::from_fn(|kind| {
            let Component { chance, effect, effect_variance, .. } = self.components[kind];
            (chance, effect, effect_variance)
        })
    }

    /// The probability of an effect below this.
    pub(super) fn below(&self, effect: f64) -> f64 {
        let part = |found: &Component| {
            let sd = found.effect_variance.max(f64::MIN_POSITIVE).sqrt();
            found.chance * probability((effect - found.effect) / sd)
        };
        self.components.iter().map(part).sum()
    }

    fn quantile(&self, share: f64) -> f64 {
        let ends = self.components.iter().filter(|found| found.chance > 1e-6).map(|found| {
            let reach = 6.0 * found.effect_variance.max(0.0).sqrt();
            (found.effect - reach, found.effect + reach)
        });
        let (mut low, mut high) =
            ends.fold((f64::MAX, f64::MIN), |(low, high), (from, to)| (low.min(from), high.max(to)));
        for _ in 0..24 {
            let middle = 0.5 * (low + high);
            if self.below(middle) < share { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }

    /// How much better the decision would be after so many trials of a side: what would be kept is worth its effect
    /// beyond the bar, what would not is worth nothing.
    fn worth(&self, side: Side, trials: f64, bar: f64) -> f64 {
        let sign = if side == Side::Candidate { 1.0 } else { -1.0 };
        let (components, noise) = match side {
            Side::Candidate => (&self.components, self.noise.0),
            Side::Champion => (&self.beside, self.noise.1),
        };
        let likely = components.iter().filter(|found| found.chance > NEGLIGIBLE);
        let part = |found: &Component| {
            let (mean, before) = found.foretold(side == Side::Candidate, None);
            let variance = before + noise / trials;
            let with_effect = match side {
                Side::Candidate => found.covariance + found.effect_variance,
                Side::Champion => found.covariance,
            };
            let slope = sign * with_effect / variance;
            Part { chance: found.chance, mean: sign * mean, sd: variance.sqrt(), effect: found.effect - bar, slope }
        };
        let parts: Vec<Part> = likely.map(part).collect();
        let expected: f64 = parts.iter().map(|part| part.chance * part.effect).sum();
        let middle: f64 = parts.iter().map(|part| part.chance * part.mean).sum();
        let gain_at = |score: f64| parts.iter().map(|part| part.gain_at(score)).sum::<f64>();
        // The better the mean of those trials, the better the candidate: there is one point where the decision turns.
        let reach = 6.0 * noise.sqrt();
        let (mut low, mut high) = (middle - reach, middle + reach);
        if (expected > 0.0 && gain_at(low) > 0.0) || (expected <= 0.0 && gain_at(high) < 0.0) {
            return 0.0;
        }
        for _ in 0..14 {
            let score = 0.5 * (low + high);
            if gain_at(score) > 0.0 { high = score } else { low = score }
        }
        let turn = 0.5 * (low + high);
        let kept: f64 = parts.iter().map(|part| part.gain_above(turn)).sum();
        (kept - expected.max(0.0)).max(0.0)
    }
}

/// One kind of candidate: what the mean of some trials would be, and what would then be thought of it.
struct Part {
    chance: f64,
    mean: f64,
    sd: f64,
    effect: f64,
    slope: f64,
}

impl Part {
    /// The density of that mean, times the effect that would then be expected.
    fn gain_at(&self, score: f64) -> f64 {
        let z = (score - self.mean) / self.sd;
        if z.abs() > 8.0 {
            return 0.0;
        }
        self.chance / self.sd * density(z) * (self.effect + self.slope * (score - self.mean))
    }

    /// The same, over all means above this one.
    fn gain_above(&self, score: f64) -> f64 {
        let z = (self.mean - score) / self.sd;
        self.chance * (self.effect * probability(z) + self.slope * self.sd * density(z))
    }
}
