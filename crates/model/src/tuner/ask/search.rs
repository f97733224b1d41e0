//! Edits near the best points, weighed by what the model expects of them.

use super::climb::climb;
use super::feasible::Fears;
use super::frame::{Seen, Warp};
use super::gauss::{Process, Sample};
use super::improvement::log_improvement;
use super::joint::moved;
use super::{Asked, Result, Told, why};
use crate::tuner::random::Random;
use crate::tuner::space::{Domain, Point};

/// How many edits are weighed, how many of the best are improved, and how often.
const CANDIDATES: usize = 240;
const REFINED: usize = 4;
const REFINEMENTS: usize = 12;

/// How much of what is expected of an edit may be given up for fewer changes, as a logarithm.
const PRUNED: f64 = 0.6;

pub(super) struct Search<'a> {
    pub(super) space: &'a [Domain],
    pub(super) seen: &'a Seen<'a>,
    pub(super) fears: Option<&'a Fears<'a>>,
    /// How much the chance of a failure weighs.
    pub(super) caution: f64,
    pub(super) process: &'a Process<'a>,
    pub(super) sample: &'a Sample,
    pub(super) warp: Warp,
}

struct Weighed {
    point: Point,
    /// The logarithm of what is expected of it.
    worth: f64,
    mean: f64,
    sd: f64,
}

impl Search<'_> {
    pub(super) fn next(
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
        // What is being tried counts as what it is believed to be: there is nothing to gain there a second time.
        let bar = (0..self.sample.len()).map(|at| self.process.mean_at(at)).fold(centres[0].0, f64::min);
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
            let climbed = weigh(self.climbed(&found[at].point, bar));
            if climbed.worth > found[at].worth {
                found[at] = climbed;
            }
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

    /// What a point becomes when all of its numbers follow the model.
    fn climbed(&self, point: &Point, bar: f64) -> Point {
        let frame = self.seen.frame;
        let mut row = frame.row(point);
        let before = row.clone();
        climb(self.process, bar, &mut row, frame.numbers);
        let mut climbed = point.clone();
        for at in (0..frame.numbers).filter(|at| row[*at] != before[*at]) {
            climbed[frame.order[at]] = self.space[frame.order[at]].at(row[at]);
        }
        climbed
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
