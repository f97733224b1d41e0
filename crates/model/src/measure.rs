//! What a trial gave.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ending::Ending;
use crate::id::BlobId;
use crate::metric::MetricError;
use crate::units::{Millis, Score};

/// The facts of one trial: how it ended, what it said, what it used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    pub ending: Ending,
    /// The metric, where the command succeeded and said it clearly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Score>,
    /// Why there is no metric although the command succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<MetricError>,
    /// Every other number it gave, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<String, Score>,
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// What the command itself said of the metric, where a scorer had the word. Shown, and never compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Score>,
    /// How the scorer fared; its numbers are those above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scorer: Option<Box<ScorerRan>>,
    /// Whether a model was asked in it whose answers came out of a recording.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// The facts of a scorer's run on a candidate's artifacts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScorerRan {
    pub ending: Ending,
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
}

/// What the whole process tree used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    pub wall: Millis,
    pub cpu: Millis,
    pub peak_bytes: u64,
}

/// What a command printed: kept contents, and how much there was in all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    pub blob: BlobId,
    pub bytes: u64,
}

impl Measurement {
    /// How long the trial took, its scorer included.
    pub fn wall(&self) -> Millis {
        let scorer = self.scorer.as_ref().map_or(Millis(0), |scorer| scorer.usage.wall);
        Millis(self.usage.wall.0 + scorer.0)
    }

    /// A number by name, the engine's own measurements included.
    pub fn number(&self, name: &str) -> Option<Score> {
        match name {
            "wall_s" => Score::new(self.usage.wall.as_secs()),
            "cpu_s" => Score::new(self.usage.cpu.as_secs()),
            "peak_mb" => Score::new(self.usage.peak_bytes as f64 / 1e6),
            name => self.numbers.get(name).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_without_a_scorer_is_stored_as_it_always_was() {
        let old = r#"{"ending":{"exited":{"code":0}},"metric":1.5,"usage":{"wall":10,"cpu":5,"peak_bytes":7}}"#;
        let read: Measurement = serde_json::from_str(old).unwrap();
        assert_eq!((read.claim, read.scorer.clone(), read.wall()), (None, None, Millis(10)));
        assert_eq!(serde_json::to_string(&read).unwrap(), old);
        let usage = Usage { wall: Millis(3), ..Usage::default() };
        let scorer = Some(Box::new(ScorerRan { ending: read.ending.clone(), usage, output: None }));
        let scored = Measurement { scorer, claim: Score::new(9.0), ..read };
        let stored = serde_json::to_string(&scored).unwrap();
        assert_eq!(serde_json::from_str::<Measurement>(&stored).unwrap(), scored);
        assert_eq!((scored.wall(), scored.number("wall_s")), (Millis(13), Score::new(0.01)));
    }
}
