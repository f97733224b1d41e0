//! What an agent is told before it proposes.

use serde::Serialize;

use crate::id::{CommitId, ExperimentId};
use crate::study::Row;
use crate::tuner::report::Report;
use crate::units::{Goal, Score};
use crate::verdict::{Reason, Verdict};

/// The brief of the `command` agent: JSON on its standard input.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Brief {
    pub study: String,
    pub experiment: ExperimentId,
    pub metric: String,
    pub goal: Goal,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_gain: Option<Score>,
    pub budget_seconds: f64,
    /// The files that may be edited, relative to the working folder of the agent.
    pub surface: Vec<String>,
    /// The contents of `program.md`, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    pub baseline: Standing,
    pub champion: Standing,
    /// How far repeats of one commit scatter; absent while unknown, 0 where the metric is deterministic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_sd: Option<f64>,
    /// The latest verdicts, oldest first.
    pub recent: Vec<Past>,
    /// Ideas that were given back because they did not merge with a champion that had moved: to be done again on the
    /// present one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redo: Vec<Open>,
    /// What is proposed and has no verdict yet: proposing it again would be a duplicate.
    pub open: Vec<Open>,
    /// What is known of the values of literals, whoever tried them: what each does, the best and the latest points. Absent
    /// where no values were tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuning: Option<Report>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    pub experiment: ExperimentId,
    pub commit: CommitId,
    pub metric: Option<f64>,
}

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

impl Brief {
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

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Open {
    pub experiment: ExperimentId,
    pub description: String,
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
