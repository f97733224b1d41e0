//! On what evidence a point is proposed, in words.

use super::frame::Seen;
use super::{Result, Told};
use crate::tuner::space::Point;

/// Two displacements at most so far apart are one direction: the cosine of 37 degrees.
const SAME_WAY: f64 = 0.8;

/// How many points were tried that way from here, and how many of them were better.
pub(super) fn tried_that_way(seen: &Seen<'_>, here: &Point, point: &Point) -> (usize, usize) {
    let (middle, to) = (seen.frame.row(here), seen.frame.row(point));
    let level = value_at(seen.told, here);
    let way: Vec<f64> = step(seen, &middle, &to);
    let length = norm(&way);
    let (mut tried, mut better) = (0, 0);
    for (told, row) in seen.told.iter().zip(&seen.rows) {
        let is_better = match told.result {
            Result::Pending => continue,
            Result::Failed => false,
            Result::Value { value, .. } => level.is_some_and(|level| value < level),
        };
        let other = step(seen, &middle, row);
        let along: f64 = way.iter().zip(&other).map(|(a, b)| a * b).sum();
        if along > SAME_WAY * length * norm(&other) {
            tried += 1;
            better += usize::from(is_better);
        }
    }
    (tried, better)
}

/// `expected +0.012 ± 0.004; 2 of 3 tried that way were better`
pub(super) fn joint(gain: f64, sd: f64, (tried, better): (usize, usize)) -> String {
    let expects = match gain > 0.0 {
        true => format!("expected +{} ± {}", short(gain), short(sd)),
        // What is expected to be worse may still be better, where little is known.
        false if sd > -0.5 * gain => format!("little is known there, −{} ± {}", short(-gain), short(sd)),
        false => format!("nothing better is expected anywhere, −{} ± {}", short(-gain), short(sd)),
    };
    let seen = match (tried, better) {
        (0, _) => "nothing was tried that way yet".to_owned(),
        (1, 0) => "the one tried that way was not better".to_owned(),
        (1, _) => "the one tried that way was better".to_owned(),
        (tried, 0) => format!("none of {tried} tried that way was better"),
        (tried, better) => format!("{better} of {tried} tried that way were better"),
    };
    format!("{expects}; {seen}")
}

/// What was measured of a point, by the most trials.
fn value_at(told: &[Told], point: &Point) -> Option<f64> {
    let measured = told.iter().filter(|told| told.point == *point).filter_map(|told| match told.result {
        Result::Value { value, error } => Some((error, value)),
        _ => None,
    });
    measured.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, value)| value)
}

/// From one row to another; another option is a step of one.
fn step(seen: &Seen<'_>, from: &[f64], to: &[f64]) -> Vec<f64> {
    let of = |at: usize| match at < seen.frame.numbers {
        true => to[at] - from[at],
        false => f64::from(to[at] != from[at]) * 0.3,
    };
    (0..from.len()).map(of).collect()
}

fn norm(step: &[f64]) -> f64 {
    step.iter().map(|part| part * part).sum::<f64>().sqrt()
}

/// Two significant digits.
fn short(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        size if (1e-4..1e5).contains(&size) => {
            let digits = (1 - size.log10().floor() as i32).max(0) as usize;
            format!("{number:.digits$}")
        }
        _ => format!("{number:.1e}"),
    }
}
