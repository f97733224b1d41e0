//! Points as the model sees them: places from 0 to 1, numbers first.

use super::gauss::{self, Sample};
use super::{Result, Told};
use crate::tuner::space::{Domain, Point};

/// Which literal stands at which coordinate.
pub(super) struct Frame<'a> {
    pub(super) space: &'a [Domain],
    /// Literals by coordinate.
    pub(super) order: Vec<usize>,
    pub(super) numbers: usize,
}

impl<'a> Frame<'a> {
    pub(super) fn of(space: &'a [Domain]) -> Frame<'a> {
        let is_number = |at: &usize| matches!(space[*at], Domain::Number { .. });
        let (mut order, choices): (Vec<usize>, Vec<usize>) = (0..space.len()).partition(is_number);
        let numbers = order.len();
        order.extend(choices);
        Frame { space, order, numbers }
    }

    pub(super) fn width(&self) -> usize {
        self.order.len()
    }

    pub(super) fn empty(&self) -> Sample {
        Sample::empty(self.numbers, self.width() - self.numbers)
    }

    /// How far two rows are from each other, squared; choices count as in the model.
    pub(super) fn apart(&self, a: &[f64], b: &[f64]) -> f64 {
        let mut sum = 0.0;
        for at in 0..self.width() {
            let off = a[at] - b[at];
            sum += if at < self.numbers { off * off } else { f64::from(off != 0.0) * gauss::CHOICE_APART };
        }
        sum
    }

    pub(super) fn row(&self, point: &Point) -> Vec<f64> {
        self.order.iter().map(|at| self.space[*at].unit(point[*at])).collect()
    }

    /// Everything told, as rows.
    pub(super) fn see(&'a self, told: &'a [Told]) -> Seen<'a> {
        Seen { frame: self, told, rows: told.iter().map(|told| self.row(&told.point)).collect() }
    }
}

/// Smaller errors, as a share of the spread of all values, are no noise.
const EXACT: f64 = 0.03;

/// What was told, as rows: made once, looked at often.
pub(super) struct Seen<'a> {
    pub(super) frame: &'a Frame<'a>,
    pub(super) told: &'a [Told],
    pub(super) rows: Vec<Vec<f64>>,
}

impl Seen<'_> {
    /// What was measured, as a sample of the model: values on a scale that it can learn from. Where there are more than
    /// `most`, those nearest to `here` and the latest: the best ones would be the luckiest.
    pub(super) fn sample(&self, here: &[f64], most: usize) -> (Sample, Warp) {
        self.sample_of(self.measured(), here, most)
    }

    /// The same of the first `count` that were measured, around the best of them.
    pub(super) fn first(&self, count: usize, most: usize) -> Sample {
        let mut measured = self.measured();
        measured.truncate(count);
        let lowest = measured.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let middle = lowest.map_or(Vec::new(), |(at, ..)| self.rows[*at].clone());
        self.sample_of(measured, &middle, most).0
    }

    /// What was measured, by its place among what was told, with its standard error.
    fn measured(&self) -> Vec<(usize, f64, f64)> {
        let measured = self.told.iter().enumerate().filter_map(|(at, told)| match told.result {
            Result::Value { value, error } => Some((at, value, error)),
            _ => None,
        });
        measured.collect()
    }

    fn sample_of(&self, mut measured: Vec<(usize, f64, f64)>, here: &[f64], most: usize) -> (Sample, Warp) {
        let warp = Warp::of(measured.iter().map(|(_, value, _)| *value));
        if measured.len() > most {
            let latest = measured.split_off(measured.len() - most / 2);
            let far = |(at, ..): &(usize, f64, f64)| self.frame.apart(here, &self.rows[*at]);
            let mut by_distance: Vec<_> = measured.into_iter().map(|found| (far(&found), found)).collect();
            by_distance.sort_by(|a, b| a.0.total_cmp(&b.0));
            measured = by_distance.into_iter().take(most - latest.len()).map(|(_, found)| found).collect();
            measured.extend(latest);
        }
        let mut sample = self.frame.empty();
        for (at, value, error) in measured {
            sample.push(at, &self.rows[at], warp.of_value(value), warp.variance(value, error));
        }
        // Where there is noise to speak of, the best place may be the luckiest, and a bowl around it would hold the search
        // there.
        if sample.len() > 2 && sample.usual_error() < EXACT {
            sample.detrend(here.to_vec());
        }
        (sample, warp)
    }
}

/// Values as the model learns them: what is much worse than most is brought nearer, since how bad it is says nothing
/// about where the good is; then they are around 0 with a spread of 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Warp {
    middle: f64,
    spread: f64,
    /// Beyond it everything is as bad: one divergence at 1e33 would make all other values the same.
    worst: f64,
    mean: f64,
    sd: f64,
}

/// Of all values, so many are worse than what is still told apart, and how much further that goes, at least.
const USUAL: f64 = 0.8;
const BEYOND: f64 = 2.0;
const LEAST_WORST: f64 = 3.0;

impl Warp {
    fn of(values: impl Iterator<Item = f64>) -> Warp {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let mut warp = Warp { middle: 0.0, spread: 1.0, worst: f64::INFINITY, mean: 0.0, sd: 1.0 };
        let Some(last) = sorted.len().checked_sub(1) else { return warp };
        warp.middle = sorted[last / 2];
        // The better half says how large differences are where they count.
        let better = warp.middle - sorted[0];
        // Where most are equal, those that are not.
        let worse = &sorted[sorted.partition_point(|value| *value <= sorted[0])..];
        let usually = worse.get(worse.len().saturating_sub(1) / 2).map_or(0.0, |value| value - sorted[0]);
        warp.spread = if better > 0.0 { better } else { usually };
        if warp.spread.is_nan() || warp.spread <= 0.0 {
            warp.spread = warp.middle.abs().max(1.0);
            warp.mean = 0.0;
            return warp;
        }
        let usual = warp.squeezed(sorted[(last as f64 * USUAL) as usize]);
        warp.worst = (BEYOND * usual).max(LEAST_WORST);
        let squeezed: Vec<f64> = sorted.iter().map(|value| warp.squeezed(*value)).collect();
        let n = squeezed.len() as f64;
        warp.mean = squeezed.iter().sum::<f64>() / n;
        let squares: f64 = squeezed.iter().map(|value| (value - warp.mean).powi(2)).sum();
        warp.sd = (squares / n).sqrt().max(1e-9);
        warp
    }

    fn squeezed(&self, value: f64) -> f64 {
        let off = (value - self.middle) / self.spread;
        if off > 0.0 { off.ln_1p().min(self.worst) } else { off }
    }

    pub(super) fn of_value(&self, value: f64) -> f64 {
        (self.squeezed(value) - self.mean) / self.sd
    }

    fn variance(&self, value: f64, error: f64) -> f64 {
        let off = (value - self.middle) / self.spread;
        let slope = if off > 0.0 { 1.0 / (1.0 + off) } else { 1.0 };
        (error / self.spread * slope / self.sd).powi(2)
    }

    /// What a value of the model is in the metric's own unit.
    pub(super) fn back(&self, warped: f64) -> f64 {
        let off = warped * self.sd + self.mean;
        self.middle + self.spread * if off > 0.0 { off.exp_m1() } else { off }
    }

    /// An sd of the model around such a value, in the metric's own unit.
    pub(super) fn sd_back(&self, warped: f64, sd: f64) -> f64 {
        (self.back(warped + sd) - self.back(warped - sd)) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_divergence_does_not_make_all_other_values_the_same() {
        let usual = [0.0111, 0.0156, 0.0686, 0.0112, 0.0110];
        let apart = |values: &[f64]| {
            let warp = Warp::of(values.iter().copied());
            warp.of_value(0.0686) - warp.of_value(0.0111)
        };
        let (without, with) = (apart(&usual), apart(&[&usual[..], &[1e33]].concat()));
        assert!(with > 0.2 * without, "{with} of {without}");
        let equal = [2.0, 2.0, 2.0, 2.0, 2.5, 2.0, 1e33];
        let warp = Warp::of(equal.into_iter());
        assert!(warp.of_value(2.5) - warp.of_value(2.0) > 0.1);
        assert!((warp.back(warp.of_value(2.5)) - 2.5).abs() < 1e-9);
    }
}
