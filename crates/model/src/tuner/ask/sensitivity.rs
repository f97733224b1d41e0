//! What each literal does to the metric, all others being what they are.

use super::Told;
use super::frame::Frame;
use super::gauss::{Process, Shape};
use crate::tuner::space::{Domain, Point};

/// How one literal is felt, between the least and the greatest value that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Values with the gain over the present one that is expected of each, more is better, and the sd of that. Empty
    /// where no other value was measured.
    pub curve: Vec<Felt>,
    /// How many different values were measured.
    pub tried: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Felt {
    pub value: f64,
    pub gain: f64,
    pub sd: f64,
}

/// The points of a curve; of a choice, its options.
const STEPS: usize = 9;

/// More points take longer, and draw the same curve.
const POINTS: usize = 100;
const FIT_STEPS: usize = 30;

impl Profile {
    /// The difference that the literal makes: between the best and the worst of its curve.
    pub fn difference(&self) -> f64 {
        let gains = || self.curve.iter().map(|felt| felt.gain);
        gains().fold(f64::NEG_INFINITY, f64::max) - gains().fold(f64::INFINITY, f64::min)
    }

    /// Whether some other value is better or worse by more than what is not known.
    pub fn matters(&self) -> bool {
        self.curve.iter().any(|felt| felt.gain.abs() > 2.0 * felt.sd)
    }

    pub fn best(&self) -> Option<&Felt> {
        self.curve.iter().max_by(|a, b| a.gain.total_cmp(&b.gain))
    }
}

/// A profile for each literal, by everything that was told.
pub fn sensitivity(space: &[Domain], here: &Point, told: &[Told]) -> Vec<Profile> {
    let frame = Frame::of(space);
    let seen = frame.see(told);
    let middle = frame.row(here);
    let (sample, warp) = seen.sample(&middle, POINTS);
    let tried: Vec<Vec<f64>> = (0..space.len()).map(|at| values(told, &sample.told, at)).collect();
    let process = match sample.len() {
        0 | 1 => None,
        _ => Process::new(&sample, Shape::fit(&sample, FIT_STEPS)),
    };
    let profile = |at: usize| {
        let (Some(process), [first, .., last]) = (&process, tried[at].as_slice()) else {
            return Profile { curve: Vec::new(), tried: tried[at].len() };
        };
        let level = process.predict(&middle).0;
        let felt = |value: f64| {
            let mut point = here.clone();
            point[at] = value;
            let (mean, sd) = process.predict(&frame.row(&point));
            Felt { value, gain: warp.back(level) - warp.back(mean), sd: warp.sd_back(mean, sd) }
        };
        let curve = steps(&space[at], *first, *last, &tried[at]).into_iter().map(felt).collect();
        Profile { curve, tried: tried[at].len() }
    };
    (0..space.len()).map(profile).collect()
}

/// The different values of a literal that were measured, in order.
fn values(told: &[Told], measured: &[usize], at: usize) -> Vec<f64> {
    let mut values: Vec<f64> = measured.iter().map(|told_at| told[*told_at].point[at]).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// Values from the least to the greatest that was tried, evenly on the literal's own scale.
fn steps(domain: &Domain, first: f64, last: f64, tried: &[f64]) -> Vec<f64> {
    match domain {
        Domain::Choice { .. } => tried.to_vec(),
        Domain::Number { .. } => {
            let (from, to) = (domain.unit(first), domain.unit(last));
            let between = |at: usize| domain.at(from + (to - from) * at as f64 / (STEPS - 1) as f64);
            let mut values: Vec<f64> = (0..STEPS).map(between).collect();
            values.dedup();
            values
        }
    }
}
