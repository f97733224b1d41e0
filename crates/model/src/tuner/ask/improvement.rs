//! What is expected of a point beyond the best one.

use crate::judge::normal;

/// The logarithm of the expected improvement of a standard normal over `-z`.
pub(super) fn log_improvement(z: f64) -> f64 {
    if z > -3.5 {
        return (normal::density(z) + z * normal::probability(z)).max(1e-300).ln();
    }
    // The first terms of Mills' ratio: the difference itself would be rounded away.
    let square = z * z;
    -0.5 * square - 0.918_938_533_204_672_8 - square.ln() + (1.0 - 3.0 / square + 15.0 / (square * square)).ln()
}

/// The slope of [`log_improvement`].
pub(super) fn log_improvement_slope(z: f64) -> f64 {
    if z > -3.5 {
        let improvement = (normal::density(z) + z * normal::probability(z)).max(1e-300);
        return normal::probability(z) / improvement;
    }
    // Of the leading terms.
    -z - 2.0 / z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_is_that_of_the_improvement_and_neither_jumps() {
        for tenth in -300..60 {
            let z = f64::from(tenth) / 10.0 + 0.013;
            let (before, after) = (log_improvement(z - 1e-4), log_improvement(z + 1e-4));
            let slope = (after - before) / 2e-4;
            let said = log_improvement_slope(z);
            assert!((slope - said).abs() < 0.03 * slope.abs() + 1e-3, "at {z}: {slope} is said to be {said}");
        }
    }
}
