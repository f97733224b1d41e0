//! What is believed of a level and of an effect on top of it: two numbers, normal together.

use super::noise::{Part, Shape};

/// The champion's level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Level {
    pub(super) mean: f64,
    pub(super) variance: f64,
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
fn update(score: f64, mean: f64, variance: f64, shape: &Shape, sd: f64) -> Update {
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
fn shrunk(before: f64, by: f64) -> f64 {
    (before - by).clamp(1e-9 * before, 4.0 * before)
}

impl Level {
    /// Learns a score; how likely it was, as a logarithm.
    pub(super) fn learn(&mut self, score: f64, shape: &Shape, sd: f64) -> f64 {
        let Update { likelihood, shift, shrink } = update(score, self.mean, self.variance, shape, sd);
        self.mean += self.variance * shift;
        self.variance = shrunk(self.variance, self.variance * self.variance * shrink);
        likelihood
    }
}

impl Component {
    /// Learns a score of the champion, or of the candidate; how likely it was, as a logarithm.
    pub(super) fn learn(&mut self, of_candidate: bool, score: f64, shape: &Shape, sd: f64) -> f64 {
        let (mean, variance) = self.foretold(of_candidate);
        let (with_level, with_effect) = match of_candidate {
            true => (self.level_variance + self.covariance, self.covariance + self.effect_variance),
            false => (self.level_variance, self.covariance),
        };
        let Update { likelihood, shift, shrink } = update(score, mean, variance, shape, sd);
        self.level += with_level * shift;
        self.effect += with_effect * shift;
        self.level_variance = shrunk(self.level_variance, with_level * with_level * shrink);
        self.effect_variance = shrunk(self.effect_variance, with_effect * with_effect * shrink);
        let most = 0.999_999 * (self.level_variance * self.effect_variance).sqrt();
        self.covariance = (self.covariance - with_level * with_effect * shrink).clamp(-most, most);
        likelihood
    }

    /// The champion's level, or the candidate's, before noise: its mean and its variance.
    pub(super) fn foretold(&self, of_candidate: bool) -> (f64, f64) {
        match of_candidate {
            true => (self.level + self.effect, self.level_variance + 2.0 * self.covariance + self.effect_variance),
            false => (self.level, self.level_variance),
        }
    }
}

/// The mean and the variance of a mixture, as those of one level.
pub(super) fn blend(parts: impl Iterator<Item = (f64, (f64, f64))> + Clone) -> Level {
    let total: f64 = parts.clone().map(|(weight, _)| weight).sum::<f64>().max(f64::MIN_POSITIVE);
    let mean = parts.clone().map(|(weight, (mean, _))| weight * mean).sum::<f64>() / total;
    let spread = parts.map(|(weight, (at, variance))| weight * (variance + (at - mean).powi(2))).sum::<f64>();
    Level { mean, variance: spread / total }
}
