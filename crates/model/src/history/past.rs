//! One row of somebody's history, whatever the format it came from.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::words;
use crate::study::Row;
use crate::units::{Goal, Score, Timestamp};
use crate::verdict::Verdict;

/// What a file says, in its order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are rows, and none is kept")]
pub enum Entry {
    /// A new segment begins: what follows is not compared with what went before.
    Segment(Heading),
    Row(Past),
}

/// What a segment is about.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Heading {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
}

/// A past experiment as it was told. A number that is not known is `None`, never 0.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Past {
    /// The number its own tool gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    #[serde(skip_serializing_if = "is_zero")]
    pub segment: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<Score>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<Score>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain_low: Option<Score>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain_high: Option<Score>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Score>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Score>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_gb: Option<Score>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The file it was taken from, where it is not of the study's own making.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<String>,
    /// Whatever else the file said of it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl Past {
    /// What there is to say of it: where nothing was proposed there is only the reason.
    pub(super) fn told(&self) -> &str {
        match self.description.is_empty() {
            true => self.reason.as_deref().unwrap_or_default(),
            false => &self.description,
        }
    }

    /// A crash has no number: those who have to write one write 0, which must never be taken for the best.
    pub(super) fn settled(mut self) -> Past {
        if self.verdict.is_some_and(words::is_crash) && self.metric.is_some_and(|metric| metric.get() == 0.0) {
            self.metric = None;
        }
        self
    }
}

/// An experiment of the study's own.
impl From<&Row> for Past {
    fn from(row: &Row) -> Past {
        let Row {
            experiment,
            segment,
            parent,
            commit,
            agent,
            description,
            verdict,
            reason,
            metric,
            gain,
            gain_low,
            gain_high,
            trials,
            seconds,
            cost_usd,
            started_at,
        } = row;
        let score = |value: &Option<f64>| value.and_then(Score::new);
        Past {
            number: Some(experiment.0),
            segment: *segment,
            commit: commit.as_ref().map(|id| id.0.clone()),
            parent: parent.as_ref().map(|id| id.0.clone()),
            agent: Some(agent.clone()),
            description: description.clone(),
            verdict: *verdict,
            reason: reason.clone(),
            metric: score(metric),
            gain: score(gain),
            gain_low: score(gain_low),
            gain_high: score(gain_high),
            trials: Some(*trials),
            seconds: score(seconds),
            cost_usd: score(cost_usd),
            memory_gb: None,
            at: Some(*started_at),
            imported: None,
            extra: Map::new(),
        }
    }
}

fn is_zero(segment: &u32) -> bool {
    *segment == 0
}
