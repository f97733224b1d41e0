//! How one trial may scatter, and how the machine may drift: what a world may be like.

/// Noise as a mixture of normals, in sd of one trial.
#[derive(Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) parts: &'static [Part],
    /// How much one trial tells: the variance of normal noise that would tell as much.
    pub(super) as_good_as: f64,
    /// The same of many, as far as a night gains by them: a sharp edge tells ever more, far tails do not.
    pub(super) pays_as: f64,
    /// How likely it is before anything is known.
    pub(super) chance: f64,
}

/// Beyond so many sd it is no tail any more.
const OUTLIER: f64 = 6.0;

impl Shape {
    pub(super) fn has_outliers(&self) -> bool {
        self.parts.iter().any(|part| part.sd > OUTLIER)
    }
}

#[derive(Debug, PartialEq)]
pub(super) struct Part {
    pub(super) weight: f64,
    pub(super) mean: f64,
    pub(super) sd: f64,
}

const fn part(weight: f64, mean: f64, sd: f64) -> Part {
    Part { weight, mean, sd }
}

/// More is better, here as everywhere in the judge.
pub(super) const SHAPES: [Shape; 5] = [
    Shape { parts: &[part(1.0, 0.0, 1.0)], as_good_as: 1.0, pays_as: 1.0, chance: 0.42 },
    // Heavy tails: Student's t with three degrees of freedom.
    Shape {
        parts: &[part(0.577, 0.0, 0.475), part(0.40, 0.0, 1.05), part(0.023, 0.0, 3.6)],
        as_good_as: 0.5,
        pays_as: 1.0,
        chance: 0.2,
    },
    // A long tail to worse, as timings have it: a log-normal.
    Shape {
        parts: &[
            part(0.302, 0.704, 0.169),
            part(0.41, 0.214, 0.33),
            part(0.239, -0.699, 0.689),
            part(0.049, -2.734, 1.886),
        ],
        as_good_as: 0.25,
        pays_as: 0.136,
        chance: 0.2,
    },
    // The same to better: a few lucky runs that mean nothing.
    Shape {
        parts: &[
            part(0.302, -0.704, 0.169),
            part(0.41, -0.214, 0.33),
            part(0.239, 0.699, 0.689),
            part(0.049, 2.734, 1.886),
        ],
        as_good_as: 0.25,
        pays_as: 0.136,
        chance: 0.06,
    },
    // Mostly well behaved, now and then far off.
    Shape { parts: &[part(0.95, 0.0, 1.0), part(0.05, 0.0, 9.0)], as_good_as: 1.1, pays_as: 1.0, chance: 0.12 },
];

/// By how much the level of everything moves from one trial to the next, as a variance in units of the noise's; and how
/// likely that is at first.
pub(super) const DRIFTS: [(f64, f64); 3] = [(0.0003, 0.6), (0.006, 0.25), (0.04, 0.15)];

#[cfg(test)]
mod tests {
    use super::*;

    /// By how much the density's logarithm scatters with the level: one over that is the variance of normal noise that would
    /// tell as much in the long run.
    #[test]
    fn a_sharp_edge_pays_as_what_it_tells_in_the_long_run() {
        for shape in SHAPES.iter().filter(|shape| shape.pays_as < 1.0) {
            let step = 1e-3;
            let told = |at: f64| {
                let (mut density, mut slope) = (0.0, 0.0);
                for Part { weight, mean, sd } in shape.parts {
                    let part = weight / sd * crate::judge::normal::density((at - mean) / sd);
                    density += part;
                    slope -= part * (at - mean) / (sd * sd);
                }
                if density > 0.0 { slope * slope / density } else { 0.0 }
            };
            let information: f64 = (-15_000..15_000).map(|index| step * told(step * f64::from(index))).sum();
            assert!((1.0 / information - shape.pays_as).abs() < 0.005, "{}", 1.0 / information);
        }
    }

    #[test]
    fn every_shape_has_mean_0_and_its_parts_and_chances_are_whole() {
        for shape in &SHAPES {
            let mean: f64 = shape.parts.iter().map(|part| part.weight * part.mean).sum();
            assert!(mean.abs() < 0.005, "{mean}");
            assert!((shape.parts.iter().map(|part| part.weight).sum::<f64>() - 1.0).abs() < 1e-9);
        }
        assert!((SHAPES.iter().map(|shape| shape.chance).sum::<f64>() - 1.0).abs() < 1e-9);
        assert!((DRIFTS.iter().map(|(_, chance)| chance).sum::<f64>() - 1.0).abs() < 1e-9);
    }
}
