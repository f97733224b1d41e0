//! What many nights of one rule come to, each number with its 95 % interval.

use serde::Serialize;

use crate::chance::Chance;
use crate::night::Night;

/// A number and the 95 % interval that the nights give it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// How far beyond its 95 % interval a figure has to be before chance is out of the question: with it, one in a thousand
/// is false.
const WIDE: f64 = 3.29 / 1.96;

impl Figure {
    /// The interval that leaves next to nothing to chance.
    pub fn wide(&self) -> (f64, f64) {
        let Figure { value, low, high } = *self;
        (value - WIDE * (value - low), value + WIDE * (high - value))
    }
}

/// One rule on one scenario. A share of too few is not given.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    pub scenario: &'static str,
    pub rule: &'static str,
    pub nights: usize,
    /// True gain over the baseline at the end of the night, in sd of one trial.
    pub gain: Figure,
    /// How much more our judge gained on the same nights.
    pub ours_ahead: Option<Figure>,
    pub reported_minus_true: Figure,
    pub kept_per_night: Figure,
    pub retracted_per_night: Figure,
    /// Of those taken back, the share that was better after all.
    pub retracted_wrongly: Option<Figure>,
    /// Of the keeps that stand in the morning, the share that is not better than what they replaced.
    pub false_keeps: Option<Figure>,
    pub missed_wins: Option<Figure>,
    pub trials_per_win: Option<Figure>,
    pub coverage: Option<Figure>,
}

/// Below so many cases a share says nothing.
const ENOUGH: f64 = 20.0;
const RESAMPLES: usize = 1000;

pub fn score(scenario: &'static str, rule: &'static str, nights: &[Night], ours: Option<&[Night]>) -> Score {
    let pairs = |ours: &[Night]| ours.iter().zip(nights).map(|(ours, night)| (ours.gain - night.gain, 1.0)).collect();
    Score {
        scenario,
        rule,
        nights: nights.len(),
        gain: mean(nights, |night| night.gain),
        ours_ahead: ours.and_then(|ours| figure(pairs(ours))),
        reported_minus_true: mean(nights, |night| night.reported - night.gain),
        kept_per_night: mean(nights, |night| f64::from(night.kept)),
        retracted_per_night: mean(nights, |night| f64::from(night.retracted)),
        retracted_wrongly: share(nights, |night| (night.retracted_wrongly.into(), night.retracted.into())),
        false_keeps: share(nights, |night| {
            let (standing, wrong) = night.standing();
            (wrong.into(), standing.into())
        }),
        missed_wins: share(nights, |night| (night.missed.into(), night.wins.into())),
        trials_per_win: share(nights, |night| {
            let (standing, wrong) = night.standing();
            (night.trials.into(), (standing - wrong).into())
        }),
        coverage: coverage(nights),
    }
}

/// How often the interval held the truth, of the nights that gave one.
pub fn coverage(nights: &[Night]) -> Option<Figure> {
    let known: Vec<bool> = nights.iter().filter_map(|night| night.covered).collect();
    let covered = known.iter().filter(|covered| **covered).count();
    (known.len() as f64 >= ENOUGH).then(|| binomial(covered as f64, known.len()))
}

/// How often what was said of the gain held, of all nights: the interval, or that there is no gain where nothing was
/// kept. `None` for a rule that gives no intervals.
pub fn coverage_of_nights(nights: &[Night]) -> Option<Figure> {
    nights.iter().find_map(|night| night.covered)?;
    let holds = |night: &&Night| night.covered.unwrap_or(night.reported == 0.0 && night.gain == 0.0);
    Some(binomial(nights.iter().filter(holds).count() as f64, nights.len()))
}

pub fn mean(nights: &[Night], part: impl Fn(&Night) -> f64) -> Figure {
    figure(nights.iter().map(|night| (part(night), 1.0)).collect()).expect("there are nights")
}

fn share(nights: &[Night], part: impl Fn(&Night) -> (f64, f64)) -> Option<Figure> {
    let cases: f64 = nights.iter().map(|night| part(night).1).sum();
    figure(nights.iter().map(part).collect()).filter(|_| cases >= ENOUGH)
}

/// The ratio of two sums over nights, with the percentile bootstrap over nights. `None` where there is nothing to
/// divide by.
pub fn figure(nights: Vec<(f64, f64)>) -> Option<Figure> {
    let ratio = |(above, below): (f64, f64)| (below > 0.0).then(|| above / below);
    let add = |(a, b): (f64, f64), (c, d): (f64, f64)| (a + c, b + d);
    let value = ratio(nights.iter().copied().fold((0.0, 0.0), add))?;
    // The same resamples for every figure: the table is reproducible to the last digit.
    let mut chance = Chance::of(&[nights.len() as u64]);
    let mut resample = || ratio((0..nights.len()).map(|_| nights[chance.below(nights.len())]).fold((0.0, 0.0), add));
    let mut found: Vec<f64> = (0..RESAMPLES).filter_map(|_| resample()).collect();
    found.sort_by(f64::total_cmp);
    let at = |share: f64| found.get(((found.len() as f64 - 1.0) * share).round() as usize).copied().unwrap_or(value);
    Some(Figure { value, low: at(0.025), high: at(0.975) })
}

/// A share of independent cases, with Wilson's interval: it means something also where all cases are alike. A case that is
/// itself a share counts as much of a hit.
pub fn binomial(hits: f64, cases: usize) -> Figure {
    const Z: f64 = 1.959_964;
    let (n, share) = (cases as f64, hits / cases as f64);
    let scale = 1.0 + Z * Z / n;
    let middle = (share + Z * Z / (2.0 * n)) / scale;
    let half = Z / scale * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    Figure { value: share, low: (middle - half).max(0.0), high: (middle + half).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_mean_is_the_one_of_the_textbook() {
        let mut chance = Chance::of(&[3]);
        let found = figure((0..400).map(|_| (2.0 + chance.normal(), 1.0)).collect()).unwrap();
        // 1.96 / sqrt(400) on either side.
        assert!((found.high - found.low - 0.196).abs() < 0.03, "{found:?}");
        assert!(found.low < found.value && found.value < found.high);
        assert_eq!(figure(vec![(1.0, 0.0); 9]), None);
    }

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        let Figure { value, low, high } = binomial(5.0, 100);
        assert!(value == 0.05 && (low - 0.0215).abs() < 1e-3 && (high - 0.1118).abs() < 1e-3, "{low} {high}");
        let Figure { low, high, .. } = binomial(0.0, 100);
        assert!(low == 0.0 && (high - 0.037).abs() < 1e-3, "{high}");
    }

    #[test]
    fn shares_are_of_all_cases_and_not_of_nights() {
        let night = |kept, false_kept| Night { kept, false_kept, trials: 10, ..Night::default() };
        let found = score("s", "r", &[night(30, 0), night(10, 10)], None);
        assert_eq!(found.false_keeps.unwrap().value, 0.25);
        assert_eq!(found.missed_wins, None);
        assert_eq!(found.coverage, None);
        let trials_per_win = found.trials_per_win.unwrap().value;
        assert!((trials_per_win - 20.0 / 30.0).abs() < 1e-12);
    }

    #[test]
    fn a_night_that_kept_nothing_and_says_so_is_right() {
        let night = |covered, gain| Night { covered, gain, ..Night::default() };
        let nights = [night(Some(true), 1.0), night(Some(false), 1.0), night(None, 0.0), night(None, 1.0)];
        assert_eq!(coverage_of_nights(&nights).unwrap().value, 0.5);
        assert_eq!(coverage_of_nights(&nights[2..]), None);
        assert_eq!(coverage(&nights), None, "two intervals are too few to speak of");
    }

    #[test]
    fn the_lead_is_taken_night_by_night() {
        let night = |gain| Night { gain, ..Night::default() };
        let ours = [night(5.0), night(50.0)];
        let found = score("s", "r", &[night(4.0), night(49.0)], Some(&ours)).ours_ahead.unwrap();
        assert_eq!((found.value, found.low, found.high), (1.0, 1.0, 1.0));
    }
}
