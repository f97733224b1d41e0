//! What a history claims, in a few numbers.

use super::past::{Entry, Past};
use super::words;
use crate::units::{Goal, Score};
use crate::verdict::Verdict;

/// Counts of a history, and the best value it claims.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    pub rows: u64,
    pub kept: u64,
    pub crashed: u64,
    /// Rows without a number.
    pub unknown: u64,
    pub segments: u64,
    /// The best of what was kept in the last segment: nothing is compared across two.
    pub best: Option<Score>,
    /// What the history calls its metric, where it says.
    pub metric: Option<String>,
    goal: Goal,
    segment: Option<u32>,
}

impl Tally {
    /// `goal` is which way the study's metric improves, where the history does not say.
    pub fn new(goal: Goal) -> Tally {
        let (rows, kept, crashed, unknown, segments) = (0, 0, 0, 0, 0);
        Tally { rows, kept, crashed, unknown, segments, best: None, metric: None, goal, segment: None }
    }

    pub fn add(&mut self, entry: &Entry) {
        match entry {
            Entry::Segment(heading) => {
                self.goal = heading.goal.unwrap_or(self.goal);
                if heading.metric.is_some() {
                    self.metric.clone_from(&heading.metric);
                }
            }
            Entry::Row(past) => self.count(past),
        }
    }

    fn count(&mut self, past: &Past) {
        if self.segment != Some(past.segment) {
            (self.segment, self.best) = (Some(past.segment), None);
            self.segments += 1;
        }
        self.rows += 1;
        let is_kept = matches!(past.verdict, Some(Verdict::Kept | Verdict::Baseline));
        self.kept += u64::from(is_kept);
        self.crashed += u64::from(past.verdict.is_some_and(words::is_crash));
        self.unknown += u64::from(past.metric.is_none());
        // Without a verdict nobody claims anything, and a crash may hide behind a zero.
        if is_kept {
            let better = |new: &Score| self.best.is_none_or(|best| self.goal.gain(best.get(), new.get()) > 0.0);
            self.best = past.metric.filter(better).or(self.best);
        }
    }
}
