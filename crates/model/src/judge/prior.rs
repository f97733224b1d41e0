//! What edits may be worth before anything is known of this study, in sd of one trial.
//!
//! An edit is nothing, or good, or harmful, of some size: one component of a mixture for each. How common and how large
//! each is differs from study to study, so there is a grid of hypotheses about that, and every finished candidate tells
//! more about which of them this study is.

use std::sync::OnceLock;

use super::noise::{SHAPES, Shape};

/// One that changes nothing, good and harmful ones of eight sizes, and those beyond all sizes.
pub(super) const COMPONENTS: usize = KINDS + BEYOND.len();
const KINDS: usize = 1 + 2 * SIZES.len();
pub(super) const HYPOTHESES: usize = SCALES.len() * HARM.len() * GOOD.len() * HARMFUL.len();

const SIZES: [f64; 8] = [0.1, 0.22, 0.5, 1.1, 2.3, 4.8, 10.0, 24.0];
/// The sd of a component, as a share of its size: neighbours overlap.
const WIDTH: f64 = 0.36;
/// What changes nothing may still round differently.
const NOTHING: f64 = 0.02;

/// Something broke, or a loop is gone: of any size, of this sd, to better or worse. So rare that no trial is made in hope
/// of it, and large enough that what is seen of it is believed.
const BEYOND: [f64; 3] = [150.0, 1e4, 1e6];
const BEYOND_SHARE: f64 = 0.001;

/// The mean size of a good edit.
const SCALES: [f64; 6] = [0.08, 0.2, 0.5, 1.2, 3.0, 7.0];
/// The mean size of a harmful one, as a multiple of it.
const HARM: [f64; 2] = [0.7, 2.5];
/// The share of good edits, and of harmful ones.
const GOOD: [f64; 4] = [0.01, 0.04, 0.12, 0.28];
const HARMFUL: [f64; 2] = [0.25, 0.55];
/// How much less likely, as an exponent, each step to more and to larger good edits is: who begins by believing in
/// plenty keeps noise until it learns better.
const DOUBT: (f64, f64) = (0.8, 0.1);
/// How much less likely each step to more good edits is once their share has to be guessed anew: they have become rarer
/// sooner than more common.
const DOUBT_ANEW: f64 = 0.85;

/// The mixture of each hypothesis, and how likely each is at first.
pub(super) struct Prior {
    pub(super) means: [f64; COMPONENTS],
    pub(super) sds: [f64; COMPONENTS],
    pub(super) weights: Vec<[f64; COMPONENTS]>,
    pub(super) chances: [f64; HYPOTHESES],
}

/// The only one there is.
pub(super) fn prior() -> &'static Prior {
    static PRIOR: OnceLock<Prior> = OnceLock::new();
    PRIOR.get_or_init(make)
}

/// The same beliefs with nothing known of the share of good edits; of their sizes and of the harmful ones everything.
pub(super) fn with_share_forgotten(hypotheses: &[f64; HYPOTHESES]) -> [f64; HYPOTHESES] {
    let likely: [f64; GOOD.len()] = std::array::from_fn(|more| (-DOUBT_ANEW * more as f64).exp());
    let total: f64 = likely.iter().sum();
    let mut forgotten = [0.0; HYPOTHESES];
    // All that differ in nothing else share what they have.
    for alike in (0..HYPOTHESES).step_by(GOOD.len() * HARMFUL.len()) {
        for harmful in 0..HARMFUL.len() {
            let of = |more: usize| alike + more * HARMFUL.len() + harmful;
            let all: f64 = (0..GOOD.len()).map(|more| hypotheses[of(more)]).sum();
            likely.iter().enumerate().for_each(|(more, likely)| forgotten[of(more)] = all * likely / total);
        }
    }
    forgotten
}

/// What the best rule would gain per trial under each hypothesis, in sd of one trial: the price of a trial.
///
/// By dynamic programming over the number of trials and their mean, with noise of 1 and a champion whose level is known
/// up to a variance of 0.15; `rates` in the tests computes them again.
const RATES: [f64; HYPOTHESES] = [
    0.00001, 0.00001, 0.00001, 0.00001, 0.00033, 0.00006, 0.00856, 0.00084, 0.00001, 0.00001, 0.00001, 0.00001,
    0.00033, 0.00006, 0.00275, 0.00077, 0.00009, 0.00004, 0.00060, 0.00038, 0.00431, 0.00209, 0.02640, 0.01053,
    0.00009, 0.00006, 0.00070, 0.00050, 0.00370, 0.00245, 0.01510, 0.00919, 0.00096, 0.00087, 0.00573, 0.00480,
    0.02872, 0.02162, 0.09022, 0.06974, 0.00109, 0.00106, 0.00673, 0.00577, 0.02977, 0.02423, 0.08326, 0.07081,
    0.00570, 0.00555, 0.03229, 0.02701, 0.11234, 0.10438, 0.28214, 0.26720, 0.00646, 0.00629, 0.03500, 0.03185,
    0.11534, 0.11141, 0.29786, 0.27531, 0.02435, 0.02318, 0.10973, 0.10555, 0.34274, 0.33761, 0.81163, 0.80463,
    0.02655, 0.02535, 0.11224, 0.11127, 0.34557, 0.34462, 0.83470, 0.81317, 0.06600, 0.06451, 0.27216, 0.27052,
    0.82679, 0.82513, 1.93864, 1.93488, 0.06737, 0.06722, 0.27369, 0.27408, 0.82867, 0.82948, 1.95502, 1.94122,
];

/// The same with noise of this shape. Where one trial tells as much as one of half the noise, an edit is as good as twice
/// as large: the rates are those of larger edits, in units of the smaller noise.
pub(super) fn rates(shape: &Shape) -> &'static [f64; HYPOTHESES] {
    static BY_SHAPE: OnceLock<[[f64; HYPOTHESES]; SHAPES.len()]> = OnceLock::new();
    let by_shape = BY_SHAPE.get_or_init(|| std::array::from_fn(|index| scaled(SHAPES[index].pays_as.sqrt())));
    let index = SHAPES.iter().position(|known| known == shape).unwrap_or(0);
    &by_shape[index]
}

fn scaled(noise: f64) -> [f64; HYPOTHESES] {
    let of_scale = HYPOTHESES / SCALES.len();
    std::array::from_fn(|hypothesis| {
        let (scale, other) = (hypothesis / of_scale, hypothesis % of_scale);
        let at = |scale: usize| (SCALES[scale].ln(), RATES[scale * of_scale + other].ln());
        let wanted = (SCALES[scale] / noise).ln();
        // The two sizes that it lies between, or the last two where it lies beyond.
        let above = (1..SCALES.len()).find(|scale| at(*scale).0 >= wanted).unwrap_or(SCALES.len() - 1);
        let ((from, low), (to, high)) = (at(above - 1), at(above));
        noise * (low + (high - low) * (wanted - from) / (to - from)).exp()
    })
}

fn make() -> Prior {
    let (mut means, mut sds) = ([0.0; COMPONENTS], [NOTHING; COMPONENTS]);
    for (index, size) in SIZES.into_iter().enumerate() {
        (means[1 + index], means[1 + SIZES.len() + index]) = (size, -size);
        (sds[1 + index], sds[1 + SIZES.len() + index]) = (WIDTH * size, WIDTH * size);
    }
    sds[KINDS..].copy_from_slice(&BEYOND);
    let (mut weights, mut chances) = (Vec::with_capacity(HYPOTHESES), [0.0; HYPOTHESES]);
    for (larger, scale) in SCALES.into_iter().enumerate() {
        for harm in HARM {
            for (more, good) in GOOD.into_iter().enumerate() {
                for harmful in HARMFUL {
                    chances[weights.len()] = (-DOUBT.0 * more as f64 - DOUBT.1 * larger as f64).exp();
                    weights.push(mixture(good, &shares(scale), harmful, &shares(scale * harm)));
                }
            }
        }
    }
    let total: f64 = chances.iter().sum();
    chances.iter_mut().for_each(|chance| *chance /= total);
    Prior { means, sds, weights, chances }
}

fn mixture(good: f64, sizes: &[f64; 8], harmful: f64, harms: &[f64; 8]) -> [f64; COMPONENTS] {
    let usual = 1.0 - BEYOND_SHARE * BEYOND.len() as f64;
    let mut weights = [BEYOND_SHARE; COMPONENTS];
    weights[0] = usual * (1.0 - good - harmful);
    for index in 0..SIZES.len() {
        weights[1 + index] = usual * good * sizes[index];
        weights[1 + SIZES.len() + index] = usual * harmful * harms[index];
    }
    weights
}

/// How exponential sizes of this mean fall to the eight, each taking what is nearest to it.
fn shares(mean: f64) -> [f64; 8] {
    let edge = |index: usize| match index {
        0 => 0.0,
        8 => f64::INFINITY,
        index => (SIZES[index - 1] * SIZES[index]).sqrt(),
    };
    std::array::from_fn(|index| (-edge(index) / mean).exp() - (-edge(index + 1) / mean).exp())
}

#[cfg(test)]
mod tests;
