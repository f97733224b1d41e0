//! The test behind a claim: evidence that may be looked at after every pair.
//!
//! What is tested is that it makes no difference which of the two is called B. Then a difference is as likely to be `d`
//! as `-d`, however heavy the tails of a trial are and however lopsided: both sides have them alike. So a bet that pays
//! `1 + w(d)` on each pair, with `w` odd, between -1 and 1, and chosen before the pair is seen, is fair, and the product
//! of such bets is a martingale with mean 1. It passes 48 with a chance of at most one in 48, at whichever pair somebody
//! stops (Ville's inequality).
//!
//! `w` is `tanh` of the difference in units of the spread so far, which is the likelihood ratio of a shifted normal
//! against its mirror image: near the best there is where noise is normal, and bounded where it is not. For a shift by
//! `m` the same bets are placed on `d - m`; the shifts that are not rejected are the confidence sequence. Each bet falls
//! with `m`, so they are an interval.
//!
//! What it does not promise: that means are equal is something else where the noise of one side has another shape than
//! that of the other. Six pairs can all go one way because one side has a long tail that did not show. No test without a
//! bound on the values can exclude that; with noise of a like size on both sides it is not seen (see the tests).

/// What the bets on one direction have to reach. Two directions make 4.2 %, which leaves room for a metric that only
/// looks as if it had no noise: two independent runs of one thing give the same two values, four times, in the same
/// order, with a chance of at most 0.8 %.
pub(super) const ENOUGH: f64 = 48.0;
/// Never everything: one pair against it must not end a bettor. Six pairs in a row are enough.
const STAKE: f64 = 0.95;
/// No bet makes more than this of 1.
pub(super) const MOST_PAID: f64 = 1.0 + STAKE;
/// How large a difference the bettors expect, in units of the spread; the last one looks at signs alone.
const EXPECTED: [f64; 4] = [0.5, 1.0, 2.0, f64::INFINITY];
/// Before this many differences their spread is anyone's guess, and only signs are bet on.
const SPREAD_FROM: usize = 3;
/// Halvings of a bracket: beyond what a number of 64 bits can tell apart.
const HALVINGS: u32 = 200;

/// Differences in the order they came, each with the spread of those before it.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    differences: Vec<f64>,
    /// `None` where too few came before, or where most were equal.
    scales: Vec<Option<f64>>,
    /// From each difference to the next, sorted.
    distances: Vec<f64>,
    /// What the bets on a centre above and below 0 have won, one for each expectation: asked for after every pair.
    won: Option<[[f64; EXPECTED.len()]; 2]>,
}

impl Evidence {
    pub(super) fn add(&mut self, difference: f64) {
        let scale = self.spread();
        let won = self.won.get_or_insert([[1.0; EXPECTED.len()]; 2]);
        for (won, gain) in won.iter_mut().zip([difference, -difference]) {
            won.iter_mut().zip(EXPECTED).for_each(|(won, expected)| *won *= pays(gain, scale, expected));
        }
        self.scales.push(scale);
        if let Some(last) = self.differences.last() {
            let distance = (difference - last).abs();
            let place = self.distances.partition_point(|known| *known < distance);
            self.distances.insert(place, distance);
        }
        self.differences.push(difference);
    }

    /// How much the bets that B is better, and that it is worse, have made of 1.
    pub(super) fn odds(&self) -> (f64, f64) {
        self.won.map_or((1.0, 1.0), |[above, below]| (mean(above), mean(below)))
    }

    /// The shifts that are not rejected; `None` at an end that is still open.
    pub(super) fn interval(&self) -> (Option<f64>, Option<f64>) {
        let ends = self.differences.iter().copied();
        let (least, most) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), d| (l.min(d), m.max(d)));
        // So far out that every bet pays all it can; no spread is larger than the range.
        let reach = 16.0 * (most - least) + least.abs() + most.abs() + f64::MIN_POSITIVE;
        if !reach.is_finite() {
            return (None, None);
        }
        let (out, beyond) = (least - reach, most + reach);
        let low = (self.above(out) >= ENOUGH).then(|| bisect(out, most, |shift| self.above(shift) >= ENOUGH));
        let high = (self.below(beyond) >= ENOUGH).then(|| bisect(beyond, least, |shift| self.below(shift) >= ENOUGH));
        (low, high)
    }

    /// The middle difference in units of the spread; where there is none, how much oftener it favours one side.
    pub(super) fn effect(&self) -> f64 {
        let mut sorted = self.differences.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        match (sorted.get(sorted.len() / 2), self.spread()) {
            (Some(median), Some(spread)) => median / spread,
            _ => sorted.iter().map(|d| weight(*d, None, 0.0)).sum::<f64>() / (sorted.len() as f64).max(1.0),
        }
    }

    /// Whether every pair gave one number twice.
    pub(super) fn is_zero(&self) -> bool {
        self.differences.iter().all(|difference| *difference == 0.0)
    }

    /// The typical distance between two differences, as the standard deviation that would show it in normal noise. A
    /// median, so that one wild trial does not silence the bets on all that follow.
    fn spread(&self) -> Option<f64> {
        let median = *self.distances.get(self.distances.len() / 2)?;
        (self.differences.len() >= SPREAD_FROM && median > 0.0 && median.is_finite()).then(|| median / 0.954)
    }

    /// The bets that the centre is above `shift`.
    fn above(&self, shift: f64) -> f64 {
        self.bet(|difference| difference - shift)
    }

    fn below(&self, shift: f64) -> f64 {
        self.bet(|difference| shift - difference)
    }

    fn bet(&self, gain: impl Fn(f64) -> f64) -> f64 {
        let pairs = || self.differences.iter().zip(&self.scales);
        mean(EXPECTED.map(|expected| pairs().map(|(d, scale)| pays(gain(*d), *scale, expected)).product()))
    }
}

fn mean(won: [f64; EXPECTED.len()]) -> f64 {
    won.iter().sum::<f64>() / won.len() as f64
}

/// What one bet makes of 1.
fn pays(gain: f64, scale: Option<f64>, expected: f64) -> f64 {
    1.0 + STAKE * weight(gain, scale, expected)
}

/// Between -1 and 1, odd in the gain and growing with it.
fn weight(gain: f64, scale: Option<f64>, expected: f64) -> f64 {
    match (gain == 0.0, scale) {
        (true, _) => 0.0,
        (false, None) => gain.signum(),
        (false, Some(scale)) => (gain / scale * expected).tanh(),
    }
}

/// The last shift from `rejected` towards `kept` that is rejected.
fn bisect(mut rejected: f64, mut kept: f64, is_rejected: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = rejected + (kept - rejected) / 2.0;
        if middle == rejected || middle == kept {
            break;
        }
        *(if is_rejected(middle) { &mut rejected } else { &mut kept }) = middle;
    }
    rejected
}
