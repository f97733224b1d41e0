//! The search: what was told so far, and what to try next.
//!
//! First each literal alone, from the present value; then jointly, where a Gaussian process expects most
//! (Jones, Schonlau and Welch 1998, "Efficient Global Optimization of Expensive Black-Box Functions"), among edits near
//! the best points, most of them of few literals.

mod climb;
mod feasible;
mod frame;
mod gauss;
mod improvement;
mod joint;
mod matrix;
mod memo;
mod search;
mod sensitivity;
mod sweep;
#[cfg(test)]
mod tests;
mod trend;
mod why;

pub use memo::Memo;
pub use sensitivity::{Felt, Profile, sensitivity};

use super::random::Random;
use super::space::{Domain, Point};

/// A point that was tried, or is being tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub point: Point,
    pub result: Result,
}

/// What came of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Result {
    Pending,
    /// It crashed, ran out of memory or of time, or broke a rule: worse than any value, and no number.
    Failed,
    /// What was measured, lower is better, and the standard error of that: 0 where the metric is exact.
    Value {
        value: f64,
        error: f64,
    },
}

/// The next point, and on what evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub point: Point,
    pub why: String,
}

/// Proposes a point that is near to `here`, the values that the champion has now, or that what was told speaks for.
///
/// A function of its arguments alone, `memo` aside, which saves time and changes nothing: `seed` is all the chance there is. `known` says whether a point cannot be tried
/// again. `None`: nothing new could be found.
pub fn ask(
    space: &[Domain],
    here: &Point,
    told: &[Told],
    seed: u64,
    known: &mut dyn FnMut(&Point) -> bool,
    memo: &mut Memo,
) -> Option<Asked> {
    if space.is_empty() {
        return None;
    }
    if let Some(asked) = sweep::next(space, here, told, known) {
        return Some(asked);
    }
    let mut random = Random::new(seed, told.len() as u64);
    joint::next(space, here, told, &mut random, known, memo)
}

/// The best point among those told, by all that is known of each: `None` where nothing was measured.
pub fn best(space: &[Domain], told: &[Told], memo: &mut Memo) -> Option<Point> {
    joint::best(space, told, memo)
}
