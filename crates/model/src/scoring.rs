//! Who is to blame when a locked scorer fails, and what a trial is worth then.

use std::collections::BTreeMap;

use crate::ending::Ending;
use crate::metric::MetricError;
use crate::units::Score;

/// What one run of the scorer gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    pub ending: Ending,
    /// What it said of the metric, whether or not it succeeded.
    pub metric: Result<Score, MetricError>,
    pub numbers: BTreeMap<String, Score>,
    /// The last line it wrote to standard error.
    pub last_words: String,
}

/// What the scorer says of a candidate.
#[derive(Debug, Clone, PartialEq)]
pub enum Ruling {
    Measured(Score),
    /// It fails on these artifacts and on no others: they are to blame.
    Invalid(MetricError),
    /// It fails on the champion's artifacts too: nothing is known of the candidate.
    Ours {
        what: String,
    },
}

impl Scored {
    /// The metric, or why there is none: a command that fails has no metric, whatever it printed.
    pub fn result(&self) -> Result<Score, MetricError> {
        if self.ending.succeeded() {
            return self.metric.clone();
        }
        let what = match self.last_words.is_empty() {
            true => self.ending.to_string(),
            false => format!("{}: {}", self.ending, self.last_words),
        };
        Err(MetricError::Scorer { what })
    }
}

/// Rules on a candidate. `champion` is what the same scorer made just now of artifacts that it took before; without a
/// champion there is nobody else to blame: it is the baseline that fails.
pub fn rule(candidate: &Scored, champion: Option<&Scored>) -> Ruling {
    let failure = match candidate.result() {
        Ok(score) => return Ruling::Measured(score),
        Err(failure) => failure,
    };
    match champion.map(Scored::result) {
        Some(Err(too)) => Ruling::Ours { what: format!("the scorer fails on the champion's artifacts too: {too}") },
        Some(Ok(_)) | None => Ruling::Invalid(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(code: i32, metric: Option<f64>, last_words: &str) -> Scored {
        let missing = || MetricError::Missing { name: "loss".into(), seen: Vec::new() };
        Scored {
            ending: Ending::Exited { code },
            metric: metric.and_then(Score::new).ok_or_else(missing),
            numbers: BTreeMap::new(),
            last_words: last_words.into(),
        }
    }

    #[test]
    fn a_scorer_that_works_is_believed_without_asking_about_the_champion() {
        assert_eq!(rule(&scored(0, Some(2.0), ""), None), Ruling::Measured(Score::new(2.0).unwrap()));
        let broken = scored(1, None, "");
        assert_eq!(rule(&scored(0, Some(2.0), ""), Some(&broken)), Ruling::Measured(Score::new(2.0).unwrap()));
    }

    #[test]
    fn a_scorer_that_fails_on_one_candidate_alone_blames_it() {
        let ruling = rule(&scored(1, Some(0.0), "ValueError: bad shape"), Some(&scored(0, Some(2.0), "")));
        let Ruling::Invalid(error) = ruling else { panic!("{ruling:?}") };
        assert_eq!(error.to_string(), "the scorer failed: exit code 1: ValueError: bad shape");
        let silent = rule(&scored(0, None, "noise"), Some(&scored(0, Some(2.0), "")));
        assert_eq!(silent, Ruling::Invalid(MetricError::Missing { name: "loss".into(), seen: Vec::new() }));
    }

    #[test]
    fn a_scorer_that_fails_on_the_champion_too_blames_nobody() {
        let ruling = rule(&scored(1, None, "a"), Some(&scored(2, None, "no such file: labels.csv")));
        let Ruling::Ours { what } = ruling else { panic!("{ruling:?}") };
        assert!(what.contains("the champion's artifacts too") && what.contains("labels.csv"), "{what}");
    }

    #[test]
    fn without_a_champion_it_is_the_baseline_that_fails() {
        assert!(matches!(rule(&scored(1, None, ""), None), Ruling::Invalid(MetricError::Scorer { .. })));
    }
}
