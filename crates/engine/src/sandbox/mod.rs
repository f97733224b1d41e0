//! How a study's commands are kept in on this machine: what they see, what they may use, and at which tier.
//!
//! The mechanics are [`crate::process`]'s; here is decided what a trial, a scorer, an agent and `prepare` get to see.

pub mod check;
mod devices;
mod etc;
mod fenced;
mod find;
mod host;
mod inputs;
mod plan;
mod prepare;
mod set_up;
mod standard;
mod toolchains;

pub use fenced::{Fences, sweep_shared_memory};
pub use find::{Found, find};
pub(crate) use plan::network;
pub use plan::{
    SeatId, Wanted, agent_programs, fingerprint_holdout, fingerprint_inputs, held_out, inputs, plain, resolve,
};
pub use set_up::SetUpError;
pub use standard::{ARTIFACTS, OUT, Phase, SAID, Standard};

pub(crate) use toolchains::{is_secret, toolchain_of};

use std::sync::{Mutex, PoisonError};

use overnight_model::spec::Tier;

use crate::workspace::{Copy, GitError};

/// The sandbox of one run of one study.
pub enum Sandbox {
    Standard(Box<Standard>, Locked),
    Landlock(Box<Fences>),
    None,
}

/// The trees that every command starts from, laid out anew for each run.
pub struct Locked(Mutex<Vec<Copy>>);

impl Sandbox {
    pub fn tier(&self) -> Tier {
        match self {
            Sandbox::Standard(..) => Tier::Standard,
            Sandbox::Landlock(_) => Tier::Landlock,
            Sandbox::None => Tier::None,
        }
    }

    pub fn standard(&self) -> Option<&Standard> {
        match self {
            Sandbox::Standard(standard, _) => Some(standard),
            Sandbox::Landlock(_) | Sandbox::None => None,
        }
    }

    pub fn fences(&self) -> Option<&Fences> {
        match self {
            Sandbox::Landlock(fences) => Some(fences),
            Sandbox::Standard(..) | Sandbox::None => None,
        }
    }

    /// A locked file that is not what it was when the run began; no command can change one, a person can.
    pub fn changed(&self) -> Result<Option<std::path::PathBuf>, GitError> {
        let Sandbox::Standard(_, Locked(copies)) = self else { return Ok(None) };
        for copy in copies.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let changes = copy.changes(&[])?;
            if let Some(path) = changes.changed.into_iter().chain(changes.extra_named).next() {
                return Ok(Some(copy.path().join(path)));
            }
        }
        Ok(None)
    }
}
