//! What an agent is told before it proposes.

use serde::Serialize;

use crate::id::{CommitId, ExperimentId};
use crate::units::{Goal, Score};

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
    /// What is proposed and has no verdict yet: proposing it again would be a duplicate.
    pub open: Vec<Open>,
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
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Open {
    pub experiment: ExperimentId,
    pub description: String,
}
