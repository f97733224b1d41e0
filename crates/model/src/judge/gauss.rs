//! What is believed of a level, of an effect on top of it and of the luck of some seeds: numbers that are normal together.

use super::deck::SEEDS;
use super::luck::Luck;
use super::noise::{Part, Shape};

/// The champion's level, over all seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Level {
    pub(super) mean: f64,
    pub(super) variance: f64,
    pub(super) luck: Luck,
}

/// A score as one world sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) score: f64,
    /// Which seed of the deck made its luck.
    pub(super) seed: Option<usize>,
    pub(super) shape: &'static Shape,
    /// The sd of one trial with a seed whose luck is known, and of that luck.
    pub(super) sd: f64,
    pub(super) luck: f64,
}

/// The champion's level and how much more a candidate has, if it is of one kind; and how likely it is of that kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Component {
    pub(super) chance: f64,
    /// How well it foretold what was measured, relative to the others of its bank.
    pub(super) evidence: f64,
    pub(super) level: f64,
    pub(super) effect: f64,
    pub(super) level_variance: f64,
    pub(super) covariance: f64,
    pub(super) effect_variance: f64,
    pub(super) luck: Luck,
}

/// What one score says about a sum of which only the variance before it is known: how likely it was, how far the mean
/// moves and by how much the variance shrinks, each per unit of covariance with that sum.
struct Update {
    /// Its logarithm: what is far out is unlikely beyond all numbers.
    likelihood: f64,
    shift: f64,
    shrink: f64,
}

/// Noise is a mixture of normals, and so is what is known after a score; it is taken for one normal of the same mean
/// and variance. So a score far out moves little: it was noise of the wide kind.
fn update(seen: &Seen, mean: f64, variance: f64) -> Update {
    let &Seen { score, seed, shape, sd, luck } = seen;
    // Of a seed that nobody knows the luck is noise.
    let variance = if seed.is_none() { variance + luck * luck } else { variance };
    let seen = |part: &Part| {
        let all = 1.0 / (variance + (part.sd * sd).powi(2));
        let off = score - mean - part.mean * sd;
        (part.weight.ln() + 0.5 * all.ln() - 0.5 * off * off * all, all, off)
    };
    let most = shape.parts.iter().map(|part| seen(part).0).fold(f64::NEG_INFINITY, f64::max);
    let (mut total, mut shift, mut precision, mut squares) = (0.0, 0.0, 0.0, 0.0);
    for part in shape.parts {
        let (likely, all, off) = seen(part);
        let likely = (likely - most).exp();
        total += likely;
        shift += likely * all * off;
        precision += likely * all;
        squares += likely * (all * off).powi(2);
    }
    let (shift, precision, squares) = (shift / total, precision / total, squares / total);
    Update { likelihood: most + total.ln(), shift, shrink: precision - (squares - shift * shift) }
}

/// A variance after a score: rounding must not make it nothing or less, nor two kinds of noise without measure.
pub(super) fn shrunk(before: f64, by: f64) -> f64 {
    (before - by).clamp(1e-9 * before, 4.0 * before)
}

impl Level {
    pub(super) fn new(mean: f64, variance: f64, luck: f64) -> Level {
        Level { mean, variance, luck: Luck::unknown(luck * luck) }
    }

    /// Learns a score; how likely it was, as a logarithm.
    pub(super) fn learn(&mut self, seen: &Seen) -> f64 {
        let (mean, variance) = self.foretold(seen.seed);
        let Update { likelihood, shift, shrink } = update(seen, mean, variance);
        self.shift(seen.seed, seen.luck > 0.0, shift, shrink);
        likelihood
    }

    /// Learns what another belief has learned with this seed since it was the same as `before`.
    pub(super) fn learn_from(&mut self, seed: Option<usize>, has_luck: bool, before: &Level, after: &Level) {
        let ((from, was), (to, is)) = (before.foretold(seed), after.foretold(seed));
        let added = 1.0 / is - 1.0 / was;
        if added > 0.0 {
            let (mean, variance) = self.foretold(seed);
            let all = 1.0 / (variance + 1.0 / added);
            let told = (to / is - from / was) / added;
            self.shift(seed, has_luck, (told - mean) * all, all);
        }
    }

    fn shift(&mut self, seed: Option<usize>, has_luck: bool, shift: f64, shrink: f64) {
        let with_level = self.variance + seed.map_or(0.0, |seed| self.luck.with_level[seed]);
        if has_luck {
            self.luck.learn(seed, false, [with_level, 0.0], shift, shrink);
        }
        self.mean += with_level * shift;
        self.variance = shrunk(self.variance, with_level * with_level * shrink);
    }

    /// What a trial with this seed gives, before noise: its mean and its variance.
    pub(super) fn foretold(&self, seed: Option<usize>) -> (f64, f64) {
        let (mean, variance) = self.luck.foretold(seed, false);
        (self.mean + mean, self.variance + variance)
    }
}

impl Component {
    /// Learns a score of the champion, or of the candidate; how likely it was, as a logarithm.
    pub(super) fn learn(&mut self, of_candidate: bool, seen: &Seen) -> f64 {
        let (mean, variance) = self.foretold(of_candidate, seen.seed);
        let (mut with_level, mut with_effect) = match of_candidate {
            true => (self.level_variance + self.covariance, self.covariance + self.effect_variance),
            false => (self.level_variance, self.covariance),
        };
        if let Some(seed) = seen.seed {
            with_level += self.luck.with_level[seed];
            with_effect += self.luck.with_effect[seed];
        }
        let Update { likelihood, shift, shrink } = update(seen, mean, variance);
        if seen.luck > 0.0 {
            self.luck.learn(seen.seed, of_candidate, [with_level, with_effect], shift, shrink);
        }
        self.level += with_level * shift;
        self.effect += with_effect * shift;
        self.level_variance = shrunk(self.level_variance, with_level * with_level * shrink);
        self.effect_variance = shrunk(self.effect_variance, with_effect * with_effect * shrink);
        let most = 0.999_999 * (self.level_variance * self.effect_variance).sqrt();
        self.covariance = (self.covariance - with_level * with_effect * shrink).clamp(-most, most);
        likelihood
    }

    /// What a trial of the champion, or of the candidate, with this seed gives before noise: its mean and its variance.
    pub(super) fn foretold(&self, of_candidate: bool, seed: Option<usize>) -> (f64, f64) {
        let (mean, variance) = self.luck.foretold(seed, of_candidate);
        match of_candidate {
            true => (
                self.level + self.effect + mean,
                self.level_variance + 2.0 * self.covariance + self.effect_variance + variance,
            ),
            false => (self.level + mean, self.level_variance + variance),
        }
    }

    /// The champion's level, or the candidate's.
    pub(super) fn level(&self, of_candidate: bool) -> Level {
        let (mean, variance) = self.foretold(of_candidate, None);
        let mut luck = self.luck;
        if of_candidate {
            luck.with_level = std::array::from_fn(|seed| luck.with_level[seed] + luck.with_effect[seed]);
        }
        luck.with_effect = [0.0; SEEDS];
        Level { mean, variance, luck }
    }
}

/// The mean and the variance of a mixture.
pub(super) fn blend(parts: impl Iterator<Item = (f64, (f64, f64))> + Clone) -> (f64, f64) {
    let total: f64 = parts.clone().map(|(weight, _)| weight).sum::<f64>().max(f64::MIN_POSITIVE);
    let mean = parts.clone().map(|(weight, (mean, _))| weight * mean).sum::<f64>() / total;
    let spread = parts.map(|(weight, (at, variance))| weight * (variance + (at - mean).powi(2))).sum::<f64>();
    (mean, spread / total)
}

/// A mixture of levels, each with the luck of seeds, as one.
pub(super) fn blend_levels(parts: impl Iterator<Item = (f64, Level)> + Clone, has_luck: bool) -> Level {
    let (mean, variance) = blend(parts.clone().map(|(weight, level)| (weight, (level.mean, level.variance))));
    let luck = if has_luck { Luck::blend(parts, mean) } else { Luck::default() };
    Level { mean, variance, luck }
}
