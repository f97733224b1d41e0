//! The tuner: an agent without a model, which changes numbers and nothing else.

pub mod ask;
pub mod found;
mod literal;
pub(crate) mod random;
mod search;
pub mod space;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use literal::{Form, Literal, literals};
pub use search::propose;

/// One number changed in one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    pub path: String,
    pub name: String,
    pub from: f64,
    pub to: f64,
}

/// Something that was proposed before.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    pub edits: Vec<Edit>,
    /// `None` while it is still being judged.
    pub outcome: Option<Outcome>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Kept,
    NotBetter,
    Failed,
}

/// Says whether a whole surface, each file as path and text, was tried before.
pub type Known<'a> = dyn FnMut(&[(String, String)]) -> bool + 'a;

/// What to try next.
#[derive(Debug, Clone, PartialEq)]
pub struct Idea {
    /// The changed files only, path and new text.
    pub files: Vec<(String, String)>,
    /// `MATRIX_LR 0.04 → 0.06`
    pub description: String,
    pub edits: Vec<Edit>,
}
