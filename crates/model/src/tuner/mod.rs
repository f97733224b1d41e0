//! The tuner: an agent without a model, which changes values and nothing else.

pub mod ask;
mod edit;
pub mod found;
mod propose;
pub(crate) mod random;
pub mod report;
pub mod space;

use serde::Serialize;

use crate::id::ExperimentId;

pub use edit::Edit;
pub use propose::{Surface, propose, value};

/// What a literal is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    Number(f64),
    /// An option of a choice, as it is written.
    Text(String),
}

/// An experiment that changed values alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    pub experiment: ExperimentId,
    /// What it changed: a commit that stands.
    pub parent: ExperimentId,
    pub moves: Vec<Moved>,
    pub came: Came,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    pub path: String,
    pub name: String,
    pub to: Value,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Came {
    /// It has no verdict yet.
    Open,
    Failed,
    /// Its gain over what it changed, more is better, and the standard error of that.
    Gain {
        gain: f64,
        error: f64,
    },
}

/// Says whether a whole surface, each file as path and text, was tried before.
pub type Known<'a> = dyn FnMut(&[(String, String)]) -> bool + 'a;

/// What to try next.
#[derive(Debug, Clone, PartialEq)]
pub struct Idea {
    /// The changed files only, path and new text.
    pub files: Vec<(String, String)>,
    /// `MATRIX_LR 0.04 → 0.06: not moved before`
    pub description: String,
    pub edits: Vec<Edit>,
}
