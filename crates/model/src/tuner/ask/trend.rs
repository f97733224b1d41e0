//! What works lies around what works already: the farther from there, the worse, as far as the values say so.
//!
//! A process alone expects the average of what it has seen wherever it has seen nothing, and there are a million corners
//! of twenty literals to be sent to.

/// By how much a value gets worse with the squared distance from a place.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Trend {
    centre: Vec<f64>,
    slope: f64,
}

/// What a value may be off by for other reasons, as a variance: values have a spread of 1.
const MISFIT: f64 = 0.1;

/// As much as some far points would say, for none: a slope of 0 until there are others.
const DOUBT: f64 = 0.1;

/// The slope is taken to be so many of its own standard errors smaller than it looks.
const CAUTION: f64 = 2.0;

impl Trend {
    /// Around a centre, from values with their variances and squared distances from it.
    pub(super) fn fit(centre: Vec<f64>, values: &[f64], variances: &[f64], squares: &[f64]) -> Trend {
        let weights: Vec<f64> = variances.iter().map(|variance| 1.0 / (MISFIT + variance)).collect();
        let total: f64 = weights.iter().sum();
        let mean = |of: &[f64]| of.iter().zip(&weights).map(|(x, weight)| x * weight).sum::<f64>() / total;
        let (far, level) = (mean(squares), mean(values));
        let (mut together, mut apart) = (0.0, DOUBT);
        for ((square, value), weight) in squares.iter().zip(values).zip(&weights) {
            together += weight * (square - far) * (value - level);
            apart += weight * (square - far).powi(2);
        }
        let slope = together / apart - CAUTION / apart.sqrt();
        Trend { centre, slope: if slope > 0.0 { slope } else { 0.0 } }
    }

    pub(super) fn is_flat(&self) -> bool {
        self.slope == 0.0
    }

    pub(super) fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// At a place so far from the centre.
    pub(super) fn at(&self, square: f64) -> f64 {
        self.slope * square
    }

    /// How fast it gets worse where a number is so far from the centre's.
    pub(super) fn steepness(&self, off: f64) -> f64 {
        2.0 * self.slope * off
    }
}
