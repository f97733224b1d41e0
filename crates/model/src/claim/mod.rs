//! Whether B is really better than A: pairs of trials, one of each side with the same seed, until it is clear.
//!
//! Nothing here is chosen after the fact: the order within a pair and the seeds follow from one number, and whoever looks
//! after every pair, or stops in the middle, is told nothing false more often than one time in twenty.

pub mod audit;
mod evidence;
#[cfg(test)]
mod tests;

use crate::Seed;
use crate::stats::Tally;
use crate::tuner::random::Random;
use crate::units::Goal;

use evidence::{ENOUGH, Evidence};

/// How many pairs are run where nobody says.
pub const PAIRS: u32 = 20;
/// Equal with this many seeds on both sides is taken for a metric without noise. With three, two-valued noise would make
/// one false claim in 16.
pub const DETERMINISTIC_PAIRS: u32 = 4;
/// Fewer pairs than this cannot decide a noisy metric, whatever they show.
pub const FEWEST_PAIRS: u32 = 6;

/// How one pair is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// Of both sides.
    pub seed: Seed,
    /// Whether B runs first: a machine that gets warmer favours neither.
    pub b_first: bool,
}

/// The draw of the pair of this number, counted from 0.
pub fn draw(seed: u64, pair: u32) -> Draw {
    let mut random = Random::new(seed, u64::from(pair));
    let b_first = random.unit() < 0.5;
    // Programs read it as a signed number, too.
    Draw { seed: Seed((random.unit() * f64::from(i32::MAX)) as u32), b_first }
}

/// What was measured so far, and what follows from it.
#[derive(Debug, Clone)]
pub struct Claim {
    goal: Goal,
    /// Differences within it do not matter.
    margin: f64,
    /// How many pairs are run at most.
    most: u32,
    a: Tally,
    b: Tally,
    differences: Tally,
    evidence: Evidence,
}

/// What is known after some pairs. Differences are positive where B is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    pub pairs: u32,
    /// The means of both sides.
    pub a: f64,
    pub b: f64,
    /// The mean of the differences.
    pub difference: f64,
    /// The 95 % interval, which holds at any pair; `None` at an end that is still open.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The e-value: what a fair bet against "it makes no difference" has made of 1. Infinite without noise.
    pub odds: f64,
    /// All values of each side were equal.
    pub is_deterministic: bool,
    /// `None` while another pair may tell.
    pub decision: Option<Decision>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Better,
    Worse,
    /// The difference is within the margin, or there is none.
    Equal,
    /// There are no pairs left, and either could be the better one.
    Untold,
}

impl Claim {
    pub fn new(goal: Goal, margin: f64, most: u32) -> Claim {
        let (a, b, differences) = Default::default();
        Claim { goal, margin, most, a, b, differences, evidence: Evidence::default() }
    }

    pub fn add(&mut self, a: f64, b: f64) {
        let difference = self.goal.gain(a, b);
        self.a.add(a);
        self.b.add(b);
        self.differences.add(difference);
        self.evidence.add(difference);
    }

    /// What is known now; `None` before the first pair.
    pub fn standing(&self) -> Option<Standing> {
        let (a, b) = (self.a.mean()?, self.b.mean()?);
        let difference = self.difference()?;
        let (is_deterministic, decision) = (self.is_deterministic(), self.decision());
        let (low, high) = match is_deterministic {
            true => (Some(difference), Some(difference)),
            false => self.evidence.interval(),
        };
        let (above, below) = self.evidence.odds();
        let odds = match is_deterministic {
            true if difference == 0.0 => 1.0,
            true => f64::INFINITY,
            false => above.max(below) / 2.0,
        };
        let pairs = self.differences.n();
        Some(Standing { pairs, a, b, difference, low, high, odds, is_deterministic, decision })
    }

    /// What is settled; `None` while another pair may tell.
    pub fn decision(&self) -> Option<Decision> {
        let difference = self.difference()?;
        if self.is_deterministic() {
            return Some(match difference {
                d if d.abs() <= self.margin => Decision::Equal,
                d if d > 0.0 => Decision::Better,
                _ => Decision::Worse,
            });
        }
        if self.margin > 0.0 && self.is_within_margin() {
            return Some(Decision::Equal);
        }
        let (above, below) = self.evidence.odds();
        // Most pairs saying one thing and the mean another is a difference in shape, not in level.
        match () {
            () if above >= ENOUGH && difference > 0.0 => Some(Decision::Better),
            () if below >= ENOUGH && difference < 0.0 => Some(Decision::Worse),
            () => (self.differences.n() >= self.most).then_some(Decision::Untold),
        }
    }

    /// Whether differences beyond the margin are ruled out.
    fn is_within_margin(&self) -> bool {
        let within = |end: Option<f64>| end.is_some_and(|end| end.abs() <= self.margin);
        let (low, high) = self.evidence.interval();
        within(low) && within(high)
    }

    fn is_deterministic(&self) -> bool {
        self.differences.n() >= DETERMINISTIC_PAIRS && self.a.squares() == 0.0 && self.b.squares() == 0.0
    }

    /// The mean of the differences; that of equal ones is each of them, to the last digit.
    fn difference(&self) -> Option<f64> {
        match self.is_deterministic() {
            true => Some(self.goal.gain(self.a.mean()?, self.b.mean()?)),
            false => self.differences.mean(),
        }
    }
}

impl Standing {
    /// The difference that can be ruled out in both directions, where the interval has two ends.
    pub fn ruled_out(&self) -> Option<f64> {
        Some(self.low?.abs().max(self.high?.abs()))
    }
}
