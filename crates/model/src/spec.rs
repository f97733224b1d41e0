//! The triplet as the engine understands it: checked, with every default filled in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

mod agent;
mod api;
mod coding;
mod gateway;
mod holdout;
mod judge;
mod notify;
mod sandbox;

pub use agent::{AgentSpec, Member};
pub use api::{Api, Edits, KeySource, Provider};
pub use coding::{Coding, Preset};
pub use gateway::{ExpectModel, Gateway, ProviderSpec, Retention, TapeSpec};
pub use holdout::Holdout;
pub use judge::{JudgeSpec, Mode, StepGain};
pub use notify::{NotifySpec, Occasion, Shape, Webhook};
pub use sandbox::{Devices, Layer, Network, SandboxSpec, Tier};

use crate::call::account::{Allowance, Allowances};
use crate::units::{Goal, Millis, Score};

/// Everything a person defined for one study. It cannot exist with a surface that overlaps what is locked.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub study: String,
    pub surface: Surface,
    /// Where the instructions for agents are, relative to the triplet.
    pub program: String,
    pub metric: Metric,
    pub evaluate: Evaluate,
    /// No part of the evaluation: no search result depends on it.
    pub holdout: Option<Holdout>,
    pub guards: Vec<Guard>,
    pub judge: JudgeSpec,
    pub agent: AgentSpec,
    pub sandbox: SandboxSpec,
    /// No part of the evaluation: where a model is asked is nobody's measurement.
    pub gateway: Gateway,
    pub slots: u32,
    pub limits: Limits,
    pub notify: NotifySpec,
}

impl Spec {
    /// Refuses a spec whose surface holds one of the `reserved` paths: the triplet itself, the program, the state.
    pub fn new(spec: Spec, reserved: &[String]) -> Result<Spec, SpecError> {
        if spec.surface.files.is_empty() {
            return Err(SpecError::EmptySurface);
        }
        for file in &spec.surface.files {
            if let Some(path) = reserved.iter().find(|path| **path == file.path) {
                return Err(SpecError::Overlap { path: path.clone() });
            }
        }
        Ok(spec)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpecError {
    #[error("the surface names no file")]
    EmptySurface,
    #[error("`{path}` is both surface and locked")]
    Overlap { path: String },
}

/// The files that agents may edit, expanded at the baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surface {
    pub files: Vec<SurfaceFile>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_lines_changed: Option<u32>,
}

impl Surface {
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.path.as_str())
    }
}

/// One file of the surface; its path is relative to the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurfaceFile {
    pub path: String,
    #[serde(default, skip_serializing_if = "Part::is_whole")]
    pub part: Part,
}

/// Which part of a file may change. The line that holds the marker is locked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    #[default]
    Whole,
    Above(String),
    Below(String),
}

impl Part {
    fn is_whole(&self) -> bool {
        *self == Part::Whole
    }
}

/// The one number that must improve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    pub name: String,
    pub goal: Goal,
    /// A gain below it is not worth keeping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_gain: Option<Score>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Score>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plausible: Option<(Score, Score)>,
    #[serde(default)]
    pub pick: Pick,
}

/// What to do with a metric that is printed more than once in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// Two different values are an error.
    #[default]
    Only,
    Last,
}

/// How one trial is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluate {
    pub run: String,
    pub budget: Millis,
    /// The hard wall for the whole process tree.
    pub kill: Millis,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The folder of the triplet within the repository, where commands run; empty at its top.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// Reads what `run` left and gives the numbers, where candidate code is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Scorer>,
    /// Tracked files that only the scorer sees, expanded at the baseline; relative to the repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// What is needed beyond tracked files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<Prepare>,
    /// Tells in a moment whether a candidate can run at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smoke: Option<Smoke>,
    #[serde(default, skip_serializing_if = "Network::is_none")]
    pub network: Network,
    /// Whether caches that the baseline wrote are there for every trial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warm: bool,
}

impl Evaluate {
    /// A command and its budget, with every default.
    pub fn new(run: impl Into<String>, budget: Millis) -> Evaluate {
        Evaluate {
            run: run.into(),
            budget,
            kill: Evaluate::default_kill(budget),
            env: BTreeMap::new(),
            folder: String::new(),
            score: None,
            hidden: Vec::new(),
            inputs: Vec::new(),
            prepare: None,
            smoke: None,
            network: Network::None,
            warm: false,
        }
    }

    /// Twice the budget, and never less than a minute more: start-up and clean-up are not training.
    pub fn default_kill(budget: Millis) -> Millis {
        Millis((budget.0 * 2).max(budget.0 + 60_000))
    }

    /// How far the number can be trusted: as far as candidate code had no part in it.
    pub fn assurance(&self) -> Assurance {
        match self.score {
            None => Assurance::Cooperative,
            Some(_) => Assurance::Separated,
        }
    }
}

/// The locked command that makes the numbers out of artifacts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scorer {
    pub run: String,
    /// Its own hard wall.
    pub kill: Millis,
}

impl Scorer {
    /// A scorer reads what took a whole budget to make, and is given as long; a short budget says nothing of it.
    pub fn default_kill(budget: Millis) -> Millis {
        budget.max(Millis::seconds(60))
    }
}

/// A file or folder outside of what is tracked: read-only, and watched for change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// As it was written: absolute, `~/…`, or relative to the folder of the triplet.
    pub path: String,
    /// Whether a change is found by reading it, and not by size and time alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub content: bool,
}

/// What is run once, before any candidate exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepare {
    pub run: String,
    #[serde(default, skip_serializing_if = "Network::is_none")]
    pub network: Network,
}

/// A quick command before a slot is taken, on the candidate's own tree. It gives no number, so it may change at any time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Smoke {
    pub run: String,
    /// Its own hard wall.
    pub kill: Millis,
}

impl Smoke {
    /// Long enough to compile a file or import a framework from a cold disk; what takes longer is no quick look.
    pub const KILL: Millis = Millis::seconds(60);
}

/// How far a number can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assurance {
    /// Candidate code computes and prints its own metric.
    Cooperative,
    /// A locked scorer makes the metric from what candidate code left.
    Separated,
}

impl Assurance {
    pub fn name(self) -> &'static str {
        match self {
            Assurance::Cooperative => "cooperative",
            Assurance::Separated => "separated",
        }
    }
}

/// What must hold besides the metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guard {
    pub check: Check,
    pub when: When,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// A command that must exit with 0.
    Run(String),
    /// A number that must not exceed a limit, or the champion's own by more than a share of it.
    Number { metric: String, max: Option<Score>, max_regression: Option<Score> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    First,
    BeforeKeep,
}

/// What kind of agent makes proposals.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentKind {
    Tuner,
    Command(String),
    Coding(Coding),
    Api(Api),
}

impl AgentKind {
    pub fn name(&self) -> &'static str {
        match self {
            AgentKind::Tuner => "tuner",
            AgentKind::Command(_) => "command",
            AgentKind::Coding(coding) => coding.preset.name(),
            AgentKind::Api(_) => "api",
        }
    }
}

/// When a night, and when a study, is over.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    pub night: Limit,
    pub total: Limit,
    /// What one proposal may cost, all calls for it together.
    pub proposal: Allowance,
    /// The same of one trial.
    pub trial: Allowance,
}

impl Limits {
    /// What may be spent on calls to models.
    pub fn allowances(&self) -> Allowances {
        let Limits { night, total, proposal, trial } = *self;
        Allowances { proposal, trial, night: night.spend, study: total.spend }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limit {
    pub wall: Option<Millis>,
    pub experiments: Option<u64>,
    pub no_gain_for: Option<Patience>,
    /// What calls to models may come to.
    pub spend: Allowance,
}

/// How long to go on without a keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Patience {
    Time(Millis),
    Experiments(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hard_wall_leaves_at_least_a_minute() {
        assert_eq!(Evaluate::default_kill(Millis::seconds(5)), Millis::seconds(65));
        assert_eq!(Evaluate::default_kill(Millis::seconds(300)), Millis::seconds(600));
    }

    #[test]
    fn a_scorer_has_a_minute_or_as_long_as_the_run() {
        assert_eq!(Scorer::default_kill(Millis::seconds(5)), Millis::seconds(60));
        assert_eq!(Scorer::default_kill(Millis::seconds(300)), Millis::seconds(300));
    }

    #[test]
    fn what_is_left_at_its_default_is_not_stored() {
        let stored = serde_json::to_value(Evaluate::new("run", Millis::seconds(5))).unwrap();
        assert_eq!(stored, serde_json::json!({ "run": "run", "budget": 5000, "kill": 65000 }));
        let read: Evaluate = serde_json::from_value(stored).unwrap();
        assert_eq!(read, Evaluate::new("run", Millis::seconds(5)));
    }
}
