//! One literal at a time: what each does alone is the best explanation, and the least that a joint search must know.

use super::{Asked, Result, Told};
use crate::tuner::space::{Domain, Point};

/// How far a literal is moved when it is moved for the first time, as a share of its range.
const FIRST_STEP: f64 = 0.2;

/// So few literals are moved both ways; of more, the joint search knows better which way is worth a trial.
const BOTH_WAYS: usize = 2;

/// The first literal that nobody has moved yet, moved.
pub(super) fn next(
    space: &[Domain],
    here: &Point,
    told: &[Told],
    known: &mut dyn FnMut(&Point) -> bool,
) -> Option<Asked> {
    for at in 0..space.len() {
        let mut moved = told.iter().filter(|told| told.point[at] != here[at]);
        let (first, second) = (moved.next(), moved.next());
        let way = match (first, second) {
            (None, _) => Way::First,
            // What is better is where we are: it was worse, or it is not known yet.
            (Some(first), None) if space.len() <= BOTH_WAYS && is_alone(first, here, at) => match space[at] {
                Domain::Number { .. } => Way::Other(first),
                Domain::Choice { .. } => Way::Another,
            },
            _ => continue,
        };
        for value in values(&space[at], here[at], &way, at) {
            let mut point = here.clone();
            point[at] = value;
            if !known(&point) {
                return Some(Asked { point, why: way.to_string() });
            }
        }
    }
    None
}

enum Way<'a> {
    First,
    /// This one went the other way.
    Other(&'a Told),
    /// Choices have no ways, but options.
    Another,
}

impl std::fmt::Display for Way<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Way::First => "not moved before",
            Way::Other(Told { result: Result::Pending, .. }) => "both ways at once",
            Way::Other(Told { result: Result::Failed, .. }) => "the other way failed",
            Way::Other(Told { result: Result::Value { .. }, .. }) => "the other way was not better",
            Way::Another => "another option was not better",
        })
    }
}

fn is_alone(told: &Told, here: &Point, at: usize) -> bool {
    (0..here.len()).all(|other| other == at || told.point[other] == here[other])
}

/// Where a literal may go, the better guess first.
fn values(domain: &Domain, from: f64, way: &Way<'_>, at: usize) -> Vec<f64> {
    match domain {
        Domain::Number { .. } => {
            let ways = match way {
                Way::First | Way::Another => vec![FIRST_STEP, -FIRST_STEP],
                Way::Other(told) if told.point[at] > from => vec![-FIRST_STEP],
                Way::Other(_) => vec![FIRST_STEP],
            };
            let step = |by: f64| {
                let value = domain.step(from, by)?;
                let is_that_way = |plain: &f64| (domain.unit(*plain) - domain.unit(from)) * by > 0.0;
                Some(domain.plain(value)).filter(is_that_way).or(Some(value))
            };
            ways.into_iter().filter_map(step).collect()
        }
        Domain::Choice { options } => (1..*options).map(|by| ((from as usize + by) % options) as f64).collect(),
    }
}
