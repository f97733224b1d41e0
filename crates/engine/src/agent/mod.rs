//! Whoever makes proposals: an agent gets a brief and a private copy, and gives back the surface and one line.

pub mod api;
pub(crate) mod coding;
pub(crate) mod command;
pub mod preset;
mod prompt;
mod secrets;

use overnight_model::Millis;
use overnight_model::event::{AttemptFailure, ModelUse};
use overnight_model::proposal::Contents;

use crate::dispatch::Captured;

/// What came of an agent's turn.
pub(crate) enum Answer {
    Proposal { contents: Contents, description: String, took: Millis, output: Option<Captured>, used: Option<ModelUse> },
    Failed { failure: AttemptFailure, output: Option<Captured>, used: Option<ModelUse> },
}
