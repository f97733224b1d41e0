//! Which commits of a branch carry its gain: each is left out of the head in turn, until it is clear or hopeless.
//!
//! A trial of the head is shared by up to four surfaces that run beside it with the same seed, in an order that is drawn.
//! So each pair is as fair a bet as that of a comparison, whatever is known of all the others; and what is called by
//! `discoveries` may depend on each other as it likes. Nobody is asked when to stop: that is free, too.

mod discovery;
mod stack;
#[cfg(test)]
mod tests;

pub use stack::{Unit, dropped};

use crate::Seed;
use crate::stats::Tally;
use crate::tuner::random::Random;
use crate::units::Goal;

use super::evidence::{ENOUGH, MOST_PAID};
use super::{Claim, DETERMINISTIC_PAIRS, Decision, FEWEST_PAIRS, Standing};
use discovery::discoveries;

/// How many pairs each commit gets at most where nobody says. More than a comparison: with many commits it takes more to
/// be sure of one.
pub const AUDIT_PAIRS: u32 = 30;
/// How many surfaces one trial of the head serves. More would save less and less, and be further from it in time.
const BESIDE: usize = 4;
/// So many repeats in the whole audit without any difference make two pairs enough.
const REPEATS: u32 = 12;
/// Before this many pairs nothing is given up.
const HOPE: u32 = 8;

/// A surface of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// The head with everything in it.
    Head,
    /// The head without a piece.
    Without(usize),
    /// What the branch began with.
    Start,
}

/// Trials to run one after the other with one seed; the head is among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub seed: Seed,
    pub order: Vec<Who>,
}

/// What is known of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The head is better with it.
    Holds,
    /// The head is worse with it.
    Hurts,
    /// It makes no difference, or none beyond the margin.
    Nothing,
    /// It cannot be told from noise.
    Noise,
    /// Without it nothing runs.
    Needed,
}

impl Verdict {
    /// Whether a stack can do without it.
    pub fn is_spare(self) -> bool {
        matches!(self, Verdict::Hurts | Verdict::Nothing | Verdict::Noise)
    }
}

/// What was measured so far, and what follows from it.
#[derive(Debug, Clone)]
pub struct Audit {
    seed: u64,
    margin: f64,
    most: u32,
    turns: u64,
    head: Tally,
    pieces: Vec<Piece>,
    start: Piece,
}

/// A surface that is held against the head; the head is B of its claim.
#[derive(Debug, Clone)]
struct Piece {
    claim: Claim,
    fixed: Option<Verdict>,
}

impl Piece {
    fn pairs(&self) -> u32 {
        self.claim.a.n()
    }
}

impl Audit {
    /// `is_same` says of each piece whether the head without it is the head.
    pub fn new(goal: Goal, margin: f64, most: u32, seed: u64, is_same: &[bool]) -> Audit {
        let piece = |fixed| Piece { claim: Claim::new(goal, margin, most), fixed };
        let pieces = is_same.iter().map(|same| piece(same.then_some(Verdict::Nothing))).collect();
        Audit { seed, margin, most, turns: 0, head: Tally::default(), pieces, start: piece(None) }
    }

    /// What is to be run next: those that are open and had the fewest pairs. `None` when nothing is open.
    pub fn next_turn(&self) -> Option<Turn> {
        let verdicts = self.verdicts();
        let open = (0..self.pieces.len()).filter(|piece| self.is_open_as(*piece, verdicts[*piece]));
        let mut open: Vec<(u32, Who)> = open.map(|piece| (self.pieces[piece].pairs(), Who::Without(piece))).collect();
        if self.start.fixed.is_none() && self.start.claim.decision().is_none() {
            open.push((self.start.pairs(), Who::Start));
        }
        open.sort_unstable();
        open.truncate(BESIDE);
        if open.is_empty() {
            return None;
        }
        let mut random = Random::new(self.seed, self.turns);
        // Programs read it as a signed number, too.
        let seed = Seed((random.unit() * f64::from(i32::MAX)) as u32);
        let mut order: Vec<Who> = open.into_iter().map(|(_, who)| who).chain([Who::Head]).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last + 1));
        }
        Some(Turn { seed, order })
    }

    /// What a turn gave. Who is missing from it gets no pair.
    pub fn add(&mut self, values: &[(Who, f64)]) {
        self.turns += 1;
        let Some((_, head)) = values.iter().find(|(who, _)| *who == Who::Head) else { return };
        self.head.add(*head);
        for (who, value) in values {
            if let Some(piece) = self.piece(*who) {
                piece.claim.add(*value, *head);
            }
        }
    }

    /// A surface that gives no number, again and again.
    pub fn does_not_run(&mut self, who: Who) {
        if let Some(piece) = self.piece(who) {
            piece.fixed = Some(Verdict::Needed);
        }
    }

    /// One verdict for each piece. False discoveries are held down over all of them together.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let (holds, hurts) = (self.called(1.0), self.called(-1.0));
        let verdict = |(at, piece): (usize, &Piece)| match piece.fixed {
            Some(fixed) => fixed,
            None if holds[at] => Verdict::Holds,
            None if hurts[at] => Verdict::Hurts,
            None if self.is_nothing(piece) => Verdict::Nothing,
            None => Verdict::Noise,
        };
        self.pieces.iter().enumerate().map(verdict).collect()
    }

    /// Whether another pair may tell more of a piece.
    pub fn is_open(&self, piece: usize) -> bool {
        self.is_open_as(piece, self.verdicts()[piece])
    }

    pub fn standing(&self, piece: usize) -> Option<Standing> {
        self.known(&self.pieces[piece])
    }

    /// The head against what the branch began with, judged as a comparison is.
    pub fn whole(&self) -> Option<Standing> {
        self.known(&self.start)
    }

    /// Whether what the branch began with gave no number.
    pub fn start_does_not_run(&self) -> bool {
        self.start.fixed.is_some()
    }

    /// The mean of the head in all turns.
    pub fn level(&self) -> Option<f64> {
        self.head.mean()
    }

    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// Whether no surface has given two different numbers.
    pub fn is_quiet(&self) -> bool {
        self.head.squares() == 0.0 && self.all().all(|piece| piece.claim.a.squares() == 0.0)
    }

    fn all(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.iter().chain([&self.start])
    }

    fn piece(&mut self, who: Who) -> Option<&mut Piece> {
        match who {
            Who::Head => None,
            Who::Without(piece) => self.pieces.get_mut(piece),
            Who::Start => Some(&mut self.start),
        }
    }

    /// Two of a kind are no proof that a metric has no noise; but noise that hides from one surface shows in another.
    fn is_deterministic(&self, piece: &Piece) -> bool {
        let pairs = piece.pairs();
        let repeats = self.all().map(|piece| piece.pairs().saturating_sub(1)).sum::<u32>() + self.head.degrees();
        self.is_quiet() && (pairs >= DETERMINISTIC_PAIRS || (pairs >= 2 && repeats >= REPEATS))
    }

    /// The difference of a metric without noise, exact to the last digit.
    fn exact(&self, piece: &Piece) -> Option<f64> {
        let (without, head) = (piece.claim.a.mean()?, piece.claim.b.mean()?);
        self.is_deterministic(piece).then(|| piece.claim.goal.gain(without, head))
    }

    fn is_nothing(&self, piece: &Piece) -> bool {
        match self.exact(piece) {
            Some(difference) => difference.abs() <= self.margin,
            // The same number with each of six seeds, where others differ from seed to seed.
            None if piece.claim.evidence.is_zero() => piece.pairs() >= FEWEST_PAIRS,
            None => self.margin > 0.0 && piece.claim.is_within_margin(),
        }
    }

    /// The pieces that are told to hold (`sign` 1) or to hurt (-1).
    fn called(&self, sign: f64) -> Vec<bool> {
        discoveries(&self.pieces.iter().map(|piece| self.odds(piece, sign)).collect::<Vec<_>>(), ENOUGH)
    }

    /// The e-value of a piece in one direction; `None` where nothing was to be found out.
    fn odds(&self, piece: &Piece, sign: f64) -> Option<f64> {
        match piece.fixed {
            Some(Verdict::Nothing) => return None,
            Some(_) => return Some(0.0),
            None => {}
        }
        if self.is_nothing(piece) {
            return Some(0.0);
        }
        if let Some(difference) = self.exact(piece) {
            return Some(if difference * sign > 0.0 { f64::INFINITY } else { 0.0 });
        }
        let Some(difference) = piece.claim.differences.mean() else { return Some(1.0) };
        let (above, below) = piece.claim.evidence.odds();
        // As in a comparison: most pairs saying one thing and the mean another is a difference in shape.
        Some(match difference * sign > 0.0 {
            false => 0.0,
            true if sign > 0.0 => above,
            true => below,
        })
    }

    fn is_open_as(&self, at: usize, verdict: Verdict) -> bool {
        let piece = &self.pieces[at];
        verdict == Verdict::Noise && piece.pairs() < self.most && !self.is_hopeless(piece)
    }

    /// Whether the pairs that are left would hardly tell, even where the effect is larger than it looks. Giving up is no
    /// claim, so this may be a guess.
    fn is_hopeless(&self, piece: &Piece) -> bool {
        let pairs = piece.pairs();
        if pairs < HOPE {
            return false;
        }
        let effect = piece.claim.evidence.effect();
        let sign = if effect < 0.0 { -1.0 } else { 1.0 };
        let (above, below) = piece.claim.evidence.odds();
        let won = if sign > 0.0 { above } else { below };
        let likely = effect.abs() + 1.25 / f64::from(pairs).sqrt();
        let growth = (likely * likely / 2.0).min(MOST_PAID.ln());
        let called = self.called(sign).into_iter().filter(|called| *called).count();
        let family = self.pieces.iter().filter(|piece| piece.fixed != Some(Verdict::Nothing)).count();
        let needed = ENOUGH * family as f64 / (called + 1) as f64;
        won.max(f64::MIN_POSITIVE).ln() + f64::from(self.most - pairs.min(self.most)) * growth < needed.ln()
    }

    fn known(&self, piece: &Piece) -> Option<Standing> {
        let mut known = piece.claim.standing()?;
        if let Some(difference) = self.exact(piece) {
            known = Standing { difference, low: Some(difference), high: Some(difference), ..known };
            (known.odds, known.is_deterministic) = (if difference == 0.0 { 1.0 } else { f64::INFINITY }, true);
            let decision = match difference {
                _ if difference.abs() <= self.margin => Decision::Equal,
                _ if difference > 0.0 => Decision::Better,
                _ => Decision::Worse,
            };
            known.decision = Some(decision);
        }
        Some(known)
    }
}
