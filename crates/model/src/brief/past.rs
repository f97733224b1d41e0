//! What was tried before, as an agent is told of it.

use serde::Serialize;

use super::Brief;
use super::untrusted::visible;
use crate::id::ExperimentId;
use crate::study::Row;
use crate::verdict::{Reason, Verdict};

/// A verdict in short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Past {
    pub experiment: ExperimentId,
    pub description: String,
    pub verdict: &'static str,
    pub reason: String,
    pub metric: Option<f64>,
    pub gain: Option<f64>,
    /// Whether it may well be better than the champion all the same: noise hides it, and nothing speaks against it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
}

/// What stands on the branch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Kept {
    pub experiment: ExperimentId,
    pub description: String,
    /// Over the champion of its time; absent where it was measured under another evaluation.
    pub gain: Option<f64>,
    pub gain_low: Option<f64>,
    pub gain_high: Option<f64>,
    /// Against what it was made from, whole or absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// What was measured, or refused, and not kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    pub experiment: ExperimentId,
    pub description: String,
    pub verdict: &'static str,
    pub reason: String,
    pub gain: Option<f64>,
    /// Against what it was made from, whole or absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Why there is no diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_diff: Option<String>,
    /// The end of what it printed, where it broke.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// What noise hides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearMiss {
    pub experiment: ExperimentId,
    pub description: String,
    pub gain: Option<f64>,
    pub gain_low: Option<f64>,
    pub gain_high: Option<f64>,
    pub trials: u32,
}

/// What was proposed again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Repeat {
    pub experiment: ExperimentId,
    pub description: String,
    /// What it repeats, in words.
    pub reason: String,
}

/// What crashed at once, and goes back to whoever made it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Repair {
    /// What it was to try.
    pub description: String,
    /// How it ended.
    pub reason: String,
    /// Against what it was made from, whole or absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The end of what it printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Open {
    pub experiment: ExperimentId,
    pub description: String,
}

impl Brief {
    /// The same with everything that candidates and agents wrote of themselves made visible.
    pub fn made_visible(mut self) -> Brief {
        let open = self.redo.iter_mut().chain(&mut self.open).map(|open| &mut open.description);
        let kept = self.kept.iter_mut().map(|kept| &mut kept.description);
        let near = self.near_misses.iter_mut().map(|near| &mut near.description);
        let repeats = self.repeats.iter_mut().flat_map(|repeat| [&mut repeat.description, &mut repeat.reason]);
        let recent = self.recent.iter_mut().flat_map(|past| [&mut past.description, &mut past.reason]);
        let failures = self.failures.iter_mut().flat_map(|failed| [&mut failed.description, &mut failed.reason]);
        let repair = self.repair.iter_mut().flat_map(|repair| [&mut repair.description, &mut repair.reason]);
        let untouched = self.plateau.iter_mut().flat_map(|stuck| &mut stuck.untouched);
        let past = open.chain(kept).chain(near).chain(repeats).chain(recent).chain(failures);
        for text in past.chain(repair).chain(untouched) {
            *text = visible(text);
        }
        self
    }

    /// Whether a discarded experiment came close: what is known of its gain reaches about as far to better as to worse.
    pub fn is_undecided(row: &Row) -> bool {
        let interval = row.gain_low.zip(row.gain_high);
        row.verdict == Some(Verdict::Discarded) && interval.is_some_and(|(low, high)| low < 0.0 && high > -low / 2.0)
    }

    /// The ideas to do again: given back, and not proposed again since.
    pub fn to_redo<'a>(recent: impl DoubleEndedIterator<Item = &'a Row>) -> Vec<Open> {
        let (mut redo, mut later) = (Vec::new(), Vec::new());
        for row in recent.rev() {
            let is_given_back = row.verdict == Some(Verdict::Discarded)
                && row.reason.as_deref().is_some_and(|reason| reason.ends_with(Reason::NOT_MERGED));
            if is_given_back && !later.contains(&&row.description) {
                redo.push(Open { experiment: row.experiment, description: row.description.clone() });
            }
            // An attempt that gave nothing to run is no second try.
            if row.verdict.is_none_or(Verdict::is_counted) {
                later.push(&row.description);
            }
        }
        redo.reverse();
        redo
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Timestamp;

    fn row(experiment: u64, description: &str, reason: Reason, interval: Option<(f64, f64)>) -> Row {
        Row {
            experiment: ExperimentId(experiment),
            segment: 1,
            parent: None,
            commit: None,
            agent: "command".to_owned(),
            description: description.to_owned(),
            verdict: Some(Verdict::Discarded),
            reason: Some(reason.to_string()),
            metric: None,
            gain: None,
            gain_low: interval.map(|(low, _)| low),
            gain_high: interval.map(|(_, high)| high),
            trials: 1,
            seconds: None,
            cost_usd: None,
            started_at: Timestamp(0),
        }
    }

    #[test]
    fn what_noise_hides_is_undecided_and_what_is_worse_is_not() {
        let discarded = |interval| Brief::is_undecided(&row(1, "a", Reason::NewSegment, interval));
        assert!(discarded(Some((-0.1, 0.2))) && discarded(Some((-0.1, 0.06))));
        assert!(!discarded(Some((-0.1, 0.01))) && !discarded(Some((-0.3, -0.1))) && !discarded(None));
        assert!(!discarded(Some((0.0, 0.0))), "equal is not undecided");
        assert!(!discarded(Some((0.1, 0.1))), "better by less than was asked for");
    }

    #[test]
    fn what_did_not_merge_is_to_be_done_again_until_somebody_does() {
        let moved = || Reason::Moved { gain: Some(0.5) };
        let unlikely = || Reason::Unlikely { gain: 0.1, chance: 0.2, trials: 1 };
        let rows = [
            row(1, "wider", moved(), None),
            row(2, "deeper", Reason::Moved { gain: None }, None),
            row(3, "longer", unlikely(), None),
            row(4, "deeper", unlikely(), None),
            Row { verdict: Some(Verdict::Duplicate), ..row(5, "wider", Reason::NewSegment, None) },
        ];
        let redo: Vec<u64> = Brief::to_redo(rows.iter()).into_iter().map(|open| open.experiment.0).collect();
        assert_eq!(redo, [1]);
    }
}
