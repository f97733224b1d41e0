//! Several literals at once, where the model expects most.

use super::feasible::{self, Fears, Feasible};
use super::frame::{Frame, Seen};
use super::gauss::{Process, Sample, Shape};
use super::memo::Memo;
use super::search::Search;
use super::{Asked, Result, Told};
use crate::tuner::random::Random;
use crate::tuner::space::{Domain, Grain, Point};

/// The model learns from so many points at most: its cost grows with the cube.
const POINTS: usize = 96;

/// Choosing the best happens once in a while.
const BEST_POINTS: usize = 300;

/// So many values of a literal are looked through before there is nothing left to try.
const FEW: usize = 400;

pub(super) fn next(
    space: &[Domain],
    here: &Point,
    told: &[Told],
    random: &mut Random,
    known: &mut dyn FnMut(&Point) -> bool,
    memo: &mut Memo,
) -> Option<Asked> {
    let frame = Frame::of(space);
    let seen = frame.see(told);
    let middle = frame.row(here);
    let (mut sample, warp) = seen.sample(&middle, POINTS);
    if sample.len() < 2 {
        return wild(space, here, random, known);
    }
    let shape = memo.shape(&seen, measured(told));
    believe(&seen, &mut sample, &shape);
    let Some(process) = Process::new(&sample, shape) else { return wild(space, here, random, known) };
    let feasible = Feasible::of(&seen, &middle, memo);
    let fears = feasible.as_ref().and_then(|feasible| Some(Fears { process: feasible.process()?, feasible }));
    let caution = feasible::caution(told);
    let search =
        Search { space, seen: &seen, caution, fears: fears.as_ref(), process: &process, sample: &sample, warp };
    search.next(here, told, random, known).or_else(|| wild(space, here, random, known))
}

pub(super) fn best(space: &[Domain], told: &[Told], memo: &mut Memo) -> Option<Point> {
    let frame = Frame::of(space);
    let exact = told.iter().all(|told| !matches!(told.result, Result::Value { error, .. } if error > 0.0));
    let values = told.iter().filter_map(|told| match told.result {
        Result::Value { value, .. } => Some((value, &told.point)),
        _ => None,
    });
    let lowest = values.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, point)| point.clone());
    let here = frame.row(lowest.as_ref()?);
    let seen = frame.see(told);
    let (sample, _) = seen.sample(&here, BEST_POINTS);
    if exact || sample.len() < 3 {
        return lowest;
    }
    let shape = memo.shape(&seen, measured(told));
    let Some(process) = Process::new(&sample, shape) else { return lowest };
    let expected = (0..sample.len()).map(|at| (process.mean_at(at), sample.told[at]));
    expected.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, at)| told[at].point.clone())
}

fn measured(told: &[Told]) -> usize {
    told.iter().filter(|told| matches!(told.result, Result::Value { .. })).count()
}

/// Adds what is being tried, at what is expected of it: several slots must not get the same idea.
fn believe(seen: &Seen<'_>, sample: &mut Sample, shape: &Shape) {
    let pending = (0..seen.told.len()).filter(|at| seen.told[*at].result == Result::Pending);
    let pending: Vec<usize> = pending.collect();
    if pending.is_empty() {
        return;
    }
    let Some(process) = Process::new(sample, shape.clone()) else { return };
    let expected: Vec<f64> = pending.iter().map(|at| process.mean(&seen.rows[*at])).collect();
    for (at, value) in pending.into_iter().zip(expected) {
        sample.push(at, &seen.rows[at], value, 0.0);
    }
}

/// A heavy-tailed step of one to three literals: what is left where there is no model.
fn wild(space: &[Domain], here: &Point, random: &mut Random, known: &mut dyn FnMut(&Point) -> bool) -> Option<Asked> {
    for _ in 0..200 {
        let mut point = here.clone();
        for _ in 0..1 + random.below(3) {
            let at = random.below(space.len());
            point[at] = moved(&space[at], point[at], 0.1, random);
        }
        if point != *here && !known(&point) {
            return Some(Asked { point, why: "a step at random".to_owned() });
        }
    }
    left_over(space, here, known)
}

/// What chance has missed, of one literal at a time, where it has few values.
fn left_over(space: &[Domain], here: &Point, known: &mut dyn FnMut(&Point) -> bool) -> Option<Asked> {
    for (at, domain) in space.iter().enumerate() {
        let mut values: Vec<f64> = match domain {
            Domain::Number { grain: Grain::Any, .. } => continue,
            Domain::Number { .. } => (0..=FEW).map(|step| domain.at(step as f64 / FEW as f64)).collect(),
            Domain::Choice { options } => (0..*options).map(|option| option as f64).collect(),
        };
        values.dedup();
        for value in values {
            let mut point = here.clone();
            point[at] = value;
            if point != *here && !known(&point) {
                return Some(Asked { point, why: "one of the few values that are left".to_owned() });
            }
        }
    }
    None
}

/// A value near another: mostly nearer than `scale`, sometimes far away.
pub(super) fn moved(domain: &Domain, from: f64, scale: f64, random: &mut Random) -> f64 {
    match domain {
        Domain::Number { .. } => {
            let tail = (std::f64::consts::PI * (random.unit() - 0.5)).tan();
            let mut unit = domain.unit(from).clamp(0.0, 1.0) + scale * tail;
            // Reflected once, so that the ends are not tried more often than the rest.
            if unit < 0.0 {
                unit = -unit;
            }
            if unit > 1.0 {
                unit = 2.0 - unit;
            }
            let value = domain.at(unit);
            if value == from { domain.step(from, scale * tail).unwrap_or(from) } else { value }
        }
        Domain::Choice { options } => {
            let other = random.below(options.saturating_sub(1).max(1)) as f64;
            if other >= from && *options > 1 { other + 1.0 } else { other }
        }
    }
}
