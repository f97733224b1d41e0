//! One literal at a time: what each does alone is the best explanation, and the least that a joint search must know.

use super::{Asked, Told};
use crate::tuner::random::Random;
use crate::tuner::space::{Domain, Point};

/// How far a literal is moved when it is moved for the first time, as a share of its range.
const FIRST_STEP: f64 = 0.15;

/// The first literal that nobody has moved yet, moved.
pub(super) fn next(
    space: &[Domain],
    here: &Point,
    told: &[Told],
    random: &mut Random,
    known: &mut dyn FnMut(&Point) -> bool,
) -> Option<Asked> {
    for at in 0..space.len() {
        if told.iter().any(|told| told.point[at] != here[at]) {
            continue;
        }
        for value in first_values(&space[at], here[at], random) {
            let mut point = here.clone();
            point[at] = value;
            if !known(&point) {
                return Some(Asked { point, why: "not moved before".to_owned() });
            }
        }
    }
    None
}

/// Where a literal may go first, the better guess first.
fn first_values(domain: &Domain, from: f64, random: &mut Random) -> Vec<f64> {
    match domain {
        Domain::Number { .. } => {
            let by = if random.unit() < 0.5 { FIRST_STEP } else { -FIRST_STEP };
            [by, -by].into_iter().filter_map(|by| domain.step(from, by)).collect()
        }
        Domain::Choice { options } => (1..*options).map(|by| ((from as usize + by) % options) as f64).collect(),
    }
}
