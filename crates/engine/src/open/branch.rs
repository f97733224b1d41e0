//! The branch must be where the ledger says.

use std::fs;
use std::path::Path;

use overnight_model::study::Experiment;
use overnight_model::{CommitId, State, Verdict};

use super::OpenError;
use crate::load::Site;
use crate::workspace::{GitError, ObjectId, UserRepo, oid};

/// Whether a lock was left by a run that was killed while it made the branch. It holds the person's own commit, so
/// only the ref that we set to the baseline before can tell; the keep finds the lock again by its value.
pub(crate) fn is_our_first_lock(user: &UserRepo, study: &str, lock: &Path) -> Result<bool, GitError> {
    let Some(baseline) = user.baseline_ref(study)? else { return Ok(false) };
    let held = fs::read_to_string(lock).unwrap_or_default();
    let not_further = user.branch_head(study)?.is_none_or(|head| head == baseline);
    Ok(not_further && held == format!("{baseline}\n") && lock.ends_with(format!("overnight/{study}.lock")))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BranchState {
    None,
    Ours,
}

/// The branch must be where the ledger says, or half-way to where a recorded keep wants it.
pub(crate) fn check_branch(user: &UserRepo, site: &Site, state: &State) -> Result<BranchState, OpenError> {
    let branch = format!("overnight/{}", site.study);
    let head = user.branch_head(&site.study)?;
    let Some((champion, expected)) = state.champion().and_then(|found| Some((found, found.commit.clone()?))) else {
        // A recorded baseline whose branch was made just before a crash is found again by the keep itself.
        let baseline = state.segment.as_ref().map(|facts| oid(&facts.baseline)).transpose()?;
        return match head {
            Some(found) if state.unadvanced.is_none() || Some(found) != baseline => {
                Err(OpenError::ForeignBranch { branch, state: site.state() })
            }
            _ => Ok(BranchState::None),
        };
    };
    match head {
        Some(found) if found == oid(&expected)? => Ok(BranchState::Ours),
        // A crash between the branch and its event: the keep is done again and finds its own commit, or stops.
        Some(_) if state.unadvanced.is_some() => Ok(BranchState::Ours),
        found => Err(elsewhere(site, expected, champion, found)),
    }
}

/// What to say of a branch that is not at the champion; `None` while there is no champion.
pub fn branch_elsewhere(site: &Site, state: &State, found: Option<ObjectId>) -> Option<OpenError> {
    let champion = state.champion()?;
    Some(elsewhere(site, champion.commit.clone()?, champion, found))
}

fn elsewhere(site: &Site, expected: CommitId, champion: &Experiment, found: Option<ObjectId>) -> OpenError {
    let branch = format!("overnight/{}", site.study);
    match found {
        Some(found) => OpenError::BranchMoved { branch, expected, found: found.to_string() },
        None => {
            let store = site.state().join("store.git");
            // A baseline is a commit of the user's repository.
            let is_baseline = matches!(champion.verdict, Some((Verdict::Baseline, _)));
            OpenError::BranchDeleted { branch, expected, store, experiment: (!is_baseline).then_some(champion.id) }
        }
    }
}
