//! How a study's commands are kept in on this machine: what they see, what they may use, and at which tier.
//!
//! The mechanics are [`crate::process`]'s; here is decided what a trial, a scorer, an agent and `prepare` get to see.

pub mod check;
mod etc;
mod find;
mod host;
mod standard;

pub use find::{Found, find};
pub use standard::{ARTIFACTS, OUT, Phase, SAID, SeatId, Standard, Wanted};

use std::sync::{Mutex, PoisonError};

use overnight_model::spec::Tier;

use crate::workspace::{Copy, GitError, ObjectId, UserRepo};

/// The sandbox of one run of one study.
pub enum Sandbox {
    Standard(Box<Standard>, Locked),
    None,
}

/// The trees that every command starts from, laid out anew for each run.
pub struct Locked(Mutex<Vec<Copy>>);

impl Sandbox {
    /// Makes what a tier needs: folders, and the locked tree without the surface and without what is hidden.
    pub fn set_up(
        found: &Found,
        wanted: &Wanted<'_>,
        user: &UserRepo,
        baseline: ObjectId,
    ) -> Result<Sandbox, GitError> {
        if found.tier < Tier::Standard {
            return Ok(Sandbox::None);
        }
        let standard = Standard::plan(wanted, found.layer)?;
        let surface = standard.surface().to_vec();
        let mut left_out = surface.clone();
        left_out.extend_from_slice(&wanted.spec.evaluate.hidden);
        let mut copies = vec![Copy::lay_out_without(&standard.locked(), user, baseline, &left_out)?];
        if wanted.spec.evaluate.score.is_some() {
            copies.push(Copy::lay_out_without(&standard.scoring(), user, baseline, &surface)?);
        }
        Ok(Sandbox::Standard(Box::new(standard), Locked(Mutex::new(copies))))
    }

    pub fn tier(&self) -> Tier {
        match self {
            Sandbox::Standard(..) => Tier::Standard,
            Sandbox::None => Tier::None,
        }
    }

    pub fn standard(&self) -> Option<&Standard> {
        match self {
            Sandbox::Standard(standard, _) => Some(standard),
            Sandbox::None => None,
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
