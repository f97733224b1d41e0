//! Several literals at once, where the model expects most.

use super::feasible::{self, Fears, Feasible};
use super::frame::{Frame, Seen, Warp};
use super::gauss::{Process, Sample, Shape};
use super::{Asked, Result, Told, why};
use crate::judge::normal;
use crate::tuner::random::Random;
use crate::tuner::space::{Domain, Grain, Point};

/// The model learns from so many points at most, and its shape from fewer: both grow with the cube.
const POINTS: usize = 96;
const SHAPE_POINTS: usize = 48;

/// Choosing the best happens once in a while.
const BEST_POINTS: usize = 300;

const FIT_STEPS: usize = 24;

/// How many edits are weighed, how many of the best are improved, and how often.
const CANDIDATES: usize = 240;
const REFINED: usize = 4;
const REFINEMENTS: usize = 24;

/// So many values of a literal are looked through before there is nothing left to try.
const FEW: usize = 400;

/// How much of what is expected of an edit may be given up for fewer changes, as a logarithm.
const PRUNED: f64 = 0.3;

pub(super) fn next(
    space: &[Domain],
    here: &Point,
    told: &[Told],
    random: &mut Random,
    known: &mut dyn FnMut(&Point) -> bool,
) -> Option<Asked> {
    let frame = Frame::of(space);
    let seen = frame.see(told);
    let middle = frame.row(here);
    let (mut sample, warp) = seen.sample(&middle, POINTS);
    if sample.len() < 2 {
        return wild(space, here, random, known);
    }
    let shape = fitted(&seen, &middle, &sample);
    believe(&seen, &mut sample, &shape);
    let Some(process) = Process::new(&sample, shape) else { return wild(space, here, random, known) };
    let feasible = Feasible::of(&seen, &middle);
    let fears = feasible.as_ref().and_then(|feasible| Some(Fears { process: feasible.process()?, feasible }));
    let caution = feasible::caution(told);
    let search =
        Search { space, seen: &seen, caution, fears: fears.as_ref(), process: &process, sample: &sample, warp };
    search.next(here, told, random, known).or_else(|| wild(space, here, random, known))
}

pub(super) fn best(space: &[Domain], told: &[Told]) -> Option<Point> {
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
    let shape = fitted(&seen, &here, &sample);
    let Some(process) = Process::new(&sample, shape) else { return lowest };
    let expected = (0..sample.len()).map(|at| (process.mean_at(at), sample.told[at]));
    expected.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, at)| told[at].point.clone())
}

fn fitted(seen: &Seen<'_>, here: &[f64], sample: &Sample) -> Shape {
    if sample.len() <= SHAPE_POINTS {
        return Shape::fit(sample, FIT_STEPS);
    }
    Shape::fit(&seen.sample(here, SHAPE_POINTS).0, FIT_STEPS)
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
fn moved(domain: &Domain, from: f64, scale: f64, random: &mut Random) -> f64 {
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

struct Search<'a> {
    space: &'a [Domain],
    seen: &'a Seen<'a>,
    fears: Option<&'a Fears<'a>>,
    /// How much the chance of a failure weighs.
    caution: f64,
    process: &'a Process<'a>,
    sample: &'a Sample,
    warp: Warp,
}

struct Weighed {
    point: Point,
    /// The logarithm of what is expected of it.
    worth: f64,
    mean: f64,
    sd: f64,
}

impl Search<'_> {
    fn next(
        &self,
        here: &Point,
        told: &[Told],
        random: &mut Random,
        known: &mut dyn FnMut(&Point) -> bool,
    ) -> Option<Asked> {
        let mut centres: Vec<(f64, Point)> = vec![(self.process.mean(&self.seen.frame.row(here)), here.clone())];
        for at in 0..self.sample.len() {
            let told = &told[self.sample.told[at]];
            if matches!(told.result, Result::Value { .. }) {
                centres.push((self.process.mean_at(at), told.point.clone()));
            }
        }
        centres.sort_by(|a, b| a.0.total_cmp(&b.0));
        centres.dedup_by(|a, b| a.1 == b.1);
        let bar = centres[0].0;
        centres.truncate(3);
        if !centres.iter().any(|(_, point)| point == here) {
            centres.push((bar, here.clone()));
        }
        let weigh = |point: Point| {
            let row = self.seen.frame.row(&point);
            let (mean, sd) = self.process.predict(&row);
            let worth = log_improvement((bar - mean) / sd)
                + sd.ln()
                + self.fears.map_or(1.0, |fears| fears.chance(&row)).max(1e-9).ln() * self.caution;
            Weighed { point, worth, mean, sd }
        };
        let mut found: Vec<Weighed> = Vec::with_capacity(CANDIDATES);
        for at in 0..CANDIDATES {
            let centre = &centres[[0, 0, 1, 2, 3][at % 5].min(centres.len() - 1)].1;
            let point = self.edit(centre, random);
            if point != *centre {
                found.push(weigh(point));
            }
        }
        found.sort_by(|a, b| b.worth.total_cmp(&a.worth));
        for at in 0..REFINED.min(found.len()) {
            for turn in 0..REFINEMENTS {
                let scale = 0.1 * 0.85_f64.powi(turn as i32);
                let mut point = found[at].point.clone();
                for _ in 0..1 + random.below(3) {
                    let literal = random.below(self.space.len());
                    point[literal] = moved(&self.space[literal], point[literal], scale, random);
                }
                let weighed = weigh(point);
                if weighed.worth > found[at].worth {
                    found[at] = weighed;
                }
            }
        }
        found.sort_by(|a, b| b.worth.total_cmp(&a.worth));
        if let Some(best) = found.first_mut() {
            self.prune(best, here, &weigh);
        }
        let taken = found.into_iter().find(|weighed| weighed.point != *here && !known(&weighed.point))?;
        let gain = self.warp.back(bar) - self.warp.back(taken.mean);
        let that_way = why::tried_that_way(self.seen, here, &taken.point);
        let why = why::joint(gain, self.warp.sd_back(taken.mean, taken.sd), that_way);
        Some(Asked { point: taken.point, why })
    }

    /// Puts back what does not matter: an edit is read by people, and moves nothing for nothing.
    fn prune(&self, weighed: &mut Weighed, here: &Point, weigh: &dyn Fn(Point) -> Weighed) {
        let mut moved: Vec<usize> = (0..here.len()).filter(|at| weighed.point[*at] != here[*at]).collect();
        let least = weighed.worth - PRUNED;
        let far = |at: usize| (self.space[at].unit(weighed.point[at]) - self.space[at].unit(here[at])).abs();
        moved.sort_by(|a, b| far(*a).total_cmp(&far(*b)));
        for at in moved {
            let mut point = weighed.point.clone();
            point[at] = here[at];
            let without = weigh(point);
            if without.worth >= least && without.point != *here {
                *weighed = without;
            }
        }
    }

    /// An edit of a few literals, or of all a little.
    fn edit(&self, centre: &Point, random: &mut Random) -> Point {
        let width = self.space.len();
        let mut point = centre.clone();
        let scale = 0.3 * 0.03_f64.powf(random.unit());
        let share = [1.0 / width as f64, 2.0 / width as f64, 4.0 / width as f64, 0.5, 1.0][random.below(5)];
        let forced = random.below(width);
        for (at, domain) in self.space.iter().enumerate() {
            if at != forced && random.unit() >= share {
                continue;
            }
            if matches!(domain, Domain::Choice { .. }) && at != forced && random.unit() < 0.7 {
                continue;
            }
            point[at] = moved(domain, centre[at], scale, random);
        }
        point
    }
}

/// The logarithm of the expected improvement of a standard normal over `-z`.
fn log_improvement(z: f64) -> f64 {
    if z > -3.5 {
        return (normal::density(z) + z * normal::probability(z)).max(1e-300).ln();
    }
    // The first terms of Mills' ratio: the difference itself would be rounded away.
    let square = z * z;
    -0.5 * square - 0.918_938_533_204_672_8 - square.ln() + (1.0 - 3.0 / square + 15.0 / (square * square)).ln()
}
