//! The search: what was told so far, and what to try next.

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
/// A function of its arguments alone: `seed` is all the chance there is. `known` says whether a point cannot be tried
/// again. `None`: nothing new could be found.
pub fn ask(
    space: &[Domain],
    here: &Point,
    told: &[Told],
    seed: u64,
    known: &mut dyn FnMut(&Point) -> bool,
) -> Option<Asked> {
    let mut random = Random::new(seed, told.len() as u64);
    let mut draw = || {
        let mut point = here.clone();
        let at = random.below(space.len());
        point[at] = match &space[at] {
            Domain::Number { low, high, .. } => low + (high - low) * random.unit(),
            Domain::Choice { options } => random.below(*options) as f64,
        };
        point
    };
    let point = (0..100).map(|_| draw()).find(|point| point != here && !known(point))?;
    Some(Asked { point, why: String::new() })
}

/// The best point among those told, by all that is known of each: `None` where nothing was measured.
pub fn best(space: &[Domain], told: &[Told]) -> Option<Point> {
    let _ = space;
    let measured = told.iter().filter_map(|told| match told.result {
        Result::Value { value, .. } => Some((value, &told.point)),
        _ => None,
    });
    measured.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, point)| point.clone())
}
