//! What the rules of peers share: they calibrate, then judge one candidate after the other.

use std::collections::HashSet;

use super::{Move, Report, Rule};
use crate::world::Subject;

/// A rule as two pure functions of what was measured.
pub struct Peer {
    /// Runs of the baseline before anything is tried.
    pub calibration: usize,
    /// What the record says of the baseline after them.
    pub bar: fn(&[f64]) -> f64,
    pub decide: fn(&Seen) -> Choice,
    /// What the record says of a candidate that was kept.
    pub record: fn(&Seen) -> f64,
    /// Whether it looks up what it tried before.
    pub refuses_known: bool,
    /// Whether it runs pairs with one seed, to calibrate as well.
    pub in_pairs: bool,
}

/// Everything a peer may look at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    pub calibration: Vec<f64>,
    /// What the record says of the champion.
    pub bar: f64,
    /// The runs that made it champion.
    pub champion: Vec<f64>,
    /// Every value so far.
    pub all: Vec<f64>,
    /// Runs of the present candidate, and of the champion beside it.
    pub candidate: Vec<f64>,
    pub beside: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    MeasureCandidate,
    MeasureChampion,
    Keep,
    Discard,
}

pub struct Sequential {
    peer: &'static Peer,
    seen: Seen,
    start: f64,
    champion: Subject,
    candidate: Option<Subject>,
    known: HashSet<u64>,
    refused: bool,
    /// What runs now: true for the candidate.
    running: Option<bool>,
}

impl Sequential {
    pub fn new(peer: &'static Peer) -> Sequential {
        Sequential {
            peer,
            seen: Seen::default(),
            start: 0.0,
            champion: 0,
            candidate: None,
            known: HashSet::new(),
            refused: false,
            running: None,
        }
    }

    /// None of them hands out seeds, so the script has its own: the first run of anything has the first, a repeat the
    /// next. The last run before the night is the one that a single run is compared with.
    fn measure(&mut self, subject: Subject, is_candidate: bool) -> Option<Move> {
        self.running = Some(is_candidate);
        let seen = &self.seen;
        let seed = match seen.calibration.len() {
            done if done < self.peer.calibration && self.peer.in_pairs => done / 2 + 1,
            done if done < self.peer.calibration => self.peer.calibration - done,
            _ if is_candidate => seen.candidate.len() + 1,
            _ => seen.beside.len() + 1,
        };
        Some(Move::Measure { ticket: 0, subject, seed: seed as u64 })
    }

    fn done(&mut self) {
        self.candidate = None;
        self.seen.candidate.clear();
        self.seen.beside.clear();
    }
}

impl Rule for Sequential {
    fn next(&mut self) -> Option<Move> {
        if self.running.is_some() {
            return None;
        }
        if self.seen.calibration.len() < self.peer.calibration {
            return self.measure(0, false);
        }
        let Some(candidate) = self.candidate else { return Some(Move::Propose) };
        if std::mem::take(&mut self.refused) {
            self.done();
            return Some(Move::Refuse(candidate));
        }
        match (self.peer.decide)(&self.seen) {
            Choice::MeasureCandidate => self.measure(candidate, true),
            Choice::MeasureChampion => self.measure(self.champion, false),
            Choice::Keep => {
                self.seen.bar = (self.peer.record)(&self.seen);
                self.seen.champion = std::mem::take(&mut self.seen.candidate);
                self.champion = candidate;
                self.done();
                Some(Move::Keep(candidate))
            }
            Choice::Discard => {
                self.done();
                Some(Move::Discard(candidate))
            }
        }
    }

    fn proposed(&mut self, candidate: Subject, content: u64) {
        self.candidate = Some(candidate);
        self.refused = !self.known.insert(content) && self.peer.refuses_known;
    }

    fn measured(&mut self, _ticket: u64, score: f64) {
        self.seen.all.push(score);
        let seen = &mut self.seen;
        match self.running.take() {
            Some(true) => seen.candidate.push(score),
            _ if seen.calibration.len() < self.peer.calibration => {
                seen.calibration.push(score);
                seen.champion.push(score);
                seen.bar = (self.peer.bar)(&seen.calibration);
                self.start = seen.bar;
            }
            _ => seen.beside.push(score),
        }
    }

    /// The record's own difference: what these tools show in the morning. None of them gives an interval.
    fn report(&self) -> Report {
        Report { gain: self.seen.bar - self.start, interval: None }
    }
}
