//! From a good place to a better one, along what the model expects of all numbers at once.

use super::gauss::Process;
use super::improvement::{log_improvement, log_improvement_slope};

/// Steps of one climb.
const STEPS: usize = 12;

/// The first step of a climb, and the least that is worth another, as a share of the lengths.
const FIRST: f64 = 0.15;
const LEAST: f64 = 0.002;

/// Climbs from a row towards a larger expected improvement over `bar`, choices as they are.
///
/// Each number moves by its own length: what reaches far may be moved far.
pub(super) fn climb(process: &Process<'_>, bar: f64, row: &mut [f64], numbers: usize) {
    let mut step = FIRST;
    let (mut worth, mut uphill) = looked_at(process, bar, row);
    for _ in 0..STEPS {
        let steepest = (0..numbers).map(|at| (uphill[at] * process.length(at)).abs()).fold(0.0, f64::max);
        if steepest.is_nan() || steepest <= 1e-12 || step < LEAST {
            return;
        }
        let mut there = row.to_vec();
        for at in 0..numbers {
            let length = process.length(at);
            there[at] = (row[at] + step * length * uphill[at] * length / steepest).clamp(0.0, 1.0);
        }
        let (worth_there, uphill_there) = looked_at(process, bar, &there);
        if worth_there > worth {
            row.copy_from_slice(&there);
            (worth, uphill) = (worth_there, uphill_there);
            step *= 1.6;
        } else {
            step *= 0.35;
        }
    }
}

/// The logarithm of what is expected of a place, and its slope.
fn looked_at(process: &Process<'_>, bar: f64, row: &[f64]) -> (f64, Vec<f64>) {
    let slopes = process.slopes(row);
    let z = (bar - slopes.mean) / slopes.sd;
    let by_z = log_improvement_slope(z);
    let uphill = slopes.of_mean.iter().zip(&slopes.of_sd);
    let uphill = uphill.map(|(mean, sd)| (-by_z * (mean + z * sd) + sd) / slopes.sd).collect();
    (log_improvement(z) + slopes.sd.ln(), uphill)
}
