//! What a machine and a training run add to the truth: noise of one trial, and a level that moves for everybody.

use crate::chance::Chance;

/// How repeats of one commit scatter. The sd is 1, outliers aside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// Every repeat gives the same.
    None,
    Gaussian,
    /// Student's t with 3 degrees of freedom, scaled to sd 1.
    Heavy,
    /// Log-normal: most runs are a little better than the mean, a few much worse. As timings are.
    SkewedToWorse,
    /// The mirror of it: a few runs are much better than the mean, and mean nothing.
    SkewedToBetter,
    /// Each trial keeps this share of the noise of the one before.
    Autocorrelated(f64),
    /// Gaussian, but so large a share of trials is off by a Gaussian ten times as wide.
    Outliers(f64),
}

/// How the level of everything moves during a night, in sd.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Drift {
    None,
    /// So much from the first trial to the last; positive looks like an improvement.
    Linear(f64),
    /// A random walk with steps of this sd.
    Walk(f64),
}

/// How much wider an outlier is than ordinary noise.
const OUTLIER: f64 = 10.0;
/// The sd of the logarithm of skewed noise: a skewness of about 3.3.
const SKEW: f64 = 0.75;

/// The noise of each trial of a night, in order. It does not depend on what is measured, so that every rule meets the
/// same luck.
pub fn noise(shape: Shape, trials: usize, mut chance: Chance) -> Vec<f64> {
    let mut last = chance.normal();
    let mut one = || match shape {
        Shape::None => 0.0,
        Shape::Gaussian => chance.normal(),
        Shape::Heavy => {
            let (value, squares) = (chance.normal(), (0..3).map(|_| chance.normal().powi(2)).sum::<f64>());
            // t is value / sqrt(squares / 3), and its variance is 3.
            value / squares.sqrt()
        }
        Shape::SkewedToWorse => -skewed(&mut chance),
        Shape::SkewedToBetter => skewed(&mut chance),
        Shape::Autocorrelated(share) => {
            last = share * last + (1.0 - share * share).sqrt() * chance.normal();
            last
        }
        Shape::Outliers(share) => {
            let (is_off, value) = (chance.unit() < share, chance.normal());
            if is_off { OUTLIER * value } else { value }
        }
    };
    (0..trials).map(|_| one()).collect()
}

/// The level at each trial of a night.
pub fn drift(drift: Drift, trials: usize, mut chance: Chance) -> Vec<f64> {
    let mut level = 0.0;
    let at = |trial: usize| trial as f64 / (trials.max(2) - 1) as f64;
    let mut one = |trial: usize| match drift {
        Drift::None => 0.0,
        Drift::Linear(total) => total * at(trial),
        Drift::Walk(step) => {
            level += step * chance.normal();
            level
        }
    };
    (0..trials).map(&mut one).collect()
}

/// Log-normal with its long tail upwards, mean 0 and sd 1.
fn skewed(chance: &mut Chance) -> f64 {
    let square = SKEW * SKEW;
    let mean = (square / 2.0).exp();
    ((SKEW * chance.normal()).exp() - mean) / (mean * (square.exp() - 1.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Moments {
        mean: f64,
        sd: f64,
        skewness: f64,
        lag: f64,
    }

    fn moments(shape: Shape) -> Moments {
        let values = noise(shape, 400_000, Chance::of(&[11]));
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let central = |power: i32| values.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / n;
        let sd = central(2).sqrt();
        let lag = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / n / central(2);
        Moments { mean, sd, skewness: central(3) / sd.powi(3), lag }
    }

    #[test]
    fn every_shape_has_mean_0_and_the_sd_it_says() {
        let outliers = (0.97 + 0.03 * OUTLIER * OUTLIER).sqrt();
        let shapes = [
            (Shape::Gaussian, 1.0, 0.01),
            // The fourth moment of t3 does not exist: its sample sd converges slowly.
            (Shape::Heavy, 1.0, 0.06),
            (Shape::SkewedToWorse, 1.0, 0.03),
            (Shape::SkewedToBetter, 1.0, 0.03),
            (Shape::Autocorrelated(0.8), 1.0, 0.02),
            (Shape::Outliers(0.03), outliers, 0.05),
        ];
        for (shape, sd, margin) in shapes {
            let found = moments(shape);
            assert!(found.mean.abs() < 0.02, "{shape:?}: mean {}", found.mean);
            assert!((found.sd - sd).abs() < margin, "{shape:?}: sd {}", found.sd);
        }
        assert!(noise(Shape::None, 5, Chance::of(&[1])).iter().all(|value| *value == 0.0));
    }

    #[test]
    fn only_autocorrelated_noise_remembers_and_only_skewed_noise_leans() {
        assert!((moments(Shape::Autocorrelated(0.8)).lag - 0.8).abs() < 0.01);
        assert!(moments(Shape::Gaussian).lag.abs() < 0.01);
        let (worse, better) = (moments(Shape::SkewedToWorse).skewness, moments(Shape::SkewedToBetter).skewness);
        assert!((worse + 3.26).abs() < 0.5 && (better - 3.26).abs() < 0.5, "{worse} {better}");
        assert!(moments(Shape::Gaussian).skewness.abs() < 0.03);
    }

    #[test]
    fn a_linear_drift_ends_where_it_says_and_a_walk_spreads() {
        let line = drift(Drift::Linear(-3.0), 200, Chance::of(&[1]));
        assert_eq!((line[0], line[199]), (0.0, -3.0));
        let ends = (0..4000).map(|seed| drift(Drift::Walk(0.1), 100, Chance::of(&[seed]))[99].powi(2));
        let sd = (ends.sum::<f64>() / 4000.0).sqrt();
        assert!((sd - 1.0).abs() < 0.05, "{sd}");
    }
}
