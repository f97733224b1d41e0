//! Where not to go: failures are no values, and teach only that.

use super::frame::Seen;
use super::gauss::{Process, Sample, Shape};
use super::memo::Memo;
use super::{Result, Told};
use crate::judge::normal;

/// How likely a point is to work at all: a model of its own, so that failures bend nothing of what was measured.
///
/// It learns 0 where something worked and -2 where it failed; half way is even. Where nothing was tried it expects 0:
/// what has not failed anywhere near is worth a try.
pub(super) struct Feasible {
    sample: Sample,
    shape: Shape,
    cliffs: Vec<Cliff>,
}

/// A failure and the nearest point that worked: what goes as far or farther in all that differs between them is beyond it.
/// Memory, step sizes and the like fail by too much, and more is not less.
struct Cliff {
    worked: Vec<f64>,
    /// Coordinates with the step that failed.
    steps: Vec<(usize, f64)>,
}

/// How likely a point beyond a cliff is still taken to work.
const BEYOND: f64 = 0.05;

/// Smaller steps, as a share of the range, are not what it failed by.
const STEP: f64 = 0.02;

/// Failures and successes that are learned from, each, and how long.
const MOST: usize = 24;
const FIT_STEPS: usize = 14;

const FAILED: f64 = -2.0;

impl Feasible {
    /// `None` where nothing has failed.
    pub(super) fn of(seen: &Seen<'_>, here: &[f64], memo: &mut Memo) -> Option<Feasible> {
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
        let shape = memo.fitted(&sample, FIT_STEPS);
        let cliffs = (0..sample.len()).filter(|at| sample.values[*at] == FAILED);
        let cliffs = cliffs.filter_map(|at| cliff(seen, sample.row(at))).collect();
        Some(Feasible { sample, shape, cliffs })
    }

    pub(super) fn process(&self) -> Option<Process<'_>> {
        Process::new(&self.sample, self.shape.clone())
    }
}

/// What is known of failures, ready to be asked.
pub(super) struct Fears<'a> {
    pub(super) process: Process<'a>,
    pub(super) feasible: &'a Feasible,
}

impl Fears<'_> {
    /// How likely a point works, from 0 to 1.
    pub(super) fn chance(&self, row: &[f64]) -> f64 {
        let (mean, sd) = self.process.predict(row);
        let near = normal::probability((mean - FAILED / 2.0) / sd.hypot(0.25));
        let is_beyond = self.feasible.cliffs.iter().any(|cliff| cliff.is_before(row));
        if is_beyond { near * BEYOND } else { near }
    }
}

impl Cliff {
    fn is_before(&self, row: &[f64]) -> bool {
        let goes_as_far = |(at, step): &(usize, f64)| (row[*at] - self.worked[*at]) / step >= 0.9;
        self.steps.iter().all(goes_as_far)
    }
}

fn cliff(seen: &Seen<'_>, failed: &[f64]) -> Option<Cliff> {
    let worked = seen.told.iter().zip(&seen.rows).filter(|(told, _)| matches!(told.result, Result::Value { .. }));
    let far = |row: &[f64]| seen.frame.apart(row, failed);
    let (_, nearest) = worked.min_by(|(_, a), (_, b)| far(a).total_cmp(&far(b)))?;
    let step = |at: usize| failed[at] - nearest[at];
    let steps: Vec<(usize, f64)> = (0..seen.frame.numbers).map(|at| (at, step(at))).collect();
    let steps: Vec<(usize, f64)> = steps.into_iter().filter(|(_, step)| step.abs() > STEP).collect();
    // Another option may be what it failed by: that says nothing about numbers.
    let is_other = (seen.frame.numbers..failed.len()).any(|at| failed[at] != nearest[at]);
    (!steps.is_empty() && !is_other).then(|| Cliff { worked: nearest.clone(), steps })
}

/// How much the chance of a failure weighs: once, as expectation has it, and more where many have failed lately. The model
/// knows the edge badly then, and a night of failures finds nothing.
pub(super) fn caution(told: &[Told]) -> f64 {
    let latest = told.iter().rev().filter(|told| told.result != Result::Pending).take(LATEST);
    let failed = latest.filter(|told| told.result == Result::Failed).count();
    1.0 + 12.0 * failed as f64 / LATEST as f64
}

const LATEST: usize = 12;
