//! Where not to go: failures are no values, and teach only that.

use super::frame::Seen;
use super::gauss::{Process, Sample, Shape};
use super::{Result, Told};
use crate::judge::normal;

/// How likely a point is to work at all: a model of its own, so that failures bend nothing of what was measured.
///
/// It learns 0 where something worked and -2 where it failed; half way is even. Where nothing was tried it expects 0:
/// what has not failed anywhere near is worth a try.
pub(super) struct Feasible {
    sample: Sample,
    shape: Shape,
}

/// Failures and successes that are learned from, each, and how long.
const MOST: usize = 24;
const FIT_STEPS: usize = 14;

const FAILED: f64 = -2.0;

impl Feasible {
    /// `None` where nothing has failed.
    pub(super) fn of(seen: &Seen<'_>, here: &[f64]) -> Option<Feasible> {
        let (mut failed, mut worked) = (Vec::new(), Vec::new());
        for (at, told) in seen.told.iter().enumerate() {
            match told.result {
                Result::Failed => failed.push((0.0, at)),
                Result::Value { .. } => worked.push((0.0, at)),
                Result::Pending => {}
            }
        }
        if failed.is_empty() {
            return None;
        }
        let mut sample = seen.frame.empty();
        for (mut found, value) in [(failed, FAILED), (worked, 0.0)] {
            found.iter_mut().for_each(|(far, at)| *far = seen.frame.apart(here, &seen.rows[*at]));
            found.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (_, at) in found.into_iter().take(MOST) {
                sample.push(at, &seen.rows[at], value, 0.01);
            }
        }
        let shape = Shape::fit(&sample, FIT_STEPS);
        Some(Feasible { sample, shape })
    }

    pub(super) fn process(&self) -> Option<Process<'_>> {
        Process::new(&self.sample, self.shape.clone())
    }
}

/// From 0 to 1.
pub(super) fn chance(process: Option<&Process<'_>>, row: &[f64]) -> f64 {
    process.map_or(1.0, |process| {
        let (mean, sd) = process.predict(row);
        normal::probability((mean - FAILED / 2.0) / sd.hypot(0.25))
    })
}

/// How much the chance of a failure weighs: once, as expectation has it, and more where many have failed lately. The model
/// knows the edge badly then, and a night of failures finds nothing.
pub(super) fn caution(told: &[Told]) -> f64 {
    let latest = told.iter().rev().filter(|told| told.result != Result::Pending).take(LATEST);
    let failed = latest.filter(|told| told.result == Result::Failed).count();
    1.0 + 12.0 * failed as f64 / LATEST as f64
}

const LATEST: usize = 12;
