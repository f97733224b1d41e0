//! Proof that chain, projections, blobs and git agree, or the first thing that does not.

use std::path::PathBuf;

use overnight_model::event::Forgotten;
use overnight_model::{CommitId, ExperimentId, State, Verdict};
use thiserror::Error;

use crate::dispatch::{Fault, Keep};
use crate::ledger::{Discrepancy, LedgerError, Reader, verify_reader};
use crate::load::Site;
use crate::plans;
use crate::workspace::{GitError, Store, UserRepo, oid};

/// What was found to agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sound {
    pub events: u64,
    pub experiments: u64,
    pub blobs: u64,
    pub commits: u64,
    /// What was erased on request.
    pub forgotten: Vec<Forgotten>,
    /// Contents that were to be erased and are still there.
    pub unfinished: u64,
}

/// The first thing that does not agree.
#[derive(Debug, Error)]
pub enum Mismatch {
    #[error(transparent)]
    Ledger(#[from] Discrepancy),
    #[error("the branch {branch} is {found}, the ledger says {expected}")]
    Branch { branch: String, expected: String, found: String },
    #[error("experiment {experiment}: commit {commit} cannot be made again from the ledger: it would be {made}")]
    Commit { experiment: ExperimentId, commit: CommitId, made: String },
    #[error("experiment {experiment}: commit {commit} is missing from the store or damaged")]
    Object { experiment: ExperimentId, commit: CommitId },
    #[error("experiment {experiment}: its ref in the store is {found}, the ledger says {commit}")]
    Ref { experiment: ExperimentId, commit: CommitId, found: String },
    #[error("`{}` differs between baseline and champion, but is not part of the surface", path.display())]
    Locked { path: PathBuf },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<LedgerError> for Mismatch {
    fn from(error: LedgerError) -> Mismatch {
        Mismatch::Ledger(error.into())
    }
}

/// How often to look again at a study that an engine is changing meanwhile.
const LOOKS: u32 = 50;

/// Checks one study from its first event to its branch.
pub fn verify(site: &Site) -> Result<Sound, Mismatch> {
    let mut look = 1;
    loop {
        let reader = Reader::snapshot(&site.state())?;
        let end = reader.end()?;
        match verify_at(site, &reader) {
            // Git may be ahead of the moment at which the ledger was read.
            Err(_) if look < LOOKS && Reader::open(&site.state())?.end()? > end => look += 1,
            found => return found,
        }
    }
}

fn verify_at(site: &Site, reader: &Reader) -> Result<Sound, Mismatch> {
    let verified = verify_reader(reader)?;
    if verified.state.segment.is_none() {
        // Killed as it began, or not begun: nothing is recorded of git, so nothing can disagree, not even a store that
        // is half made.
        let (forgotten, unfinished) = (verified.forgotten, verified.unfinished);
        let (events, blobs) = (verified.events, verified.blobs);
        return Ok(Sound { events, experiments: 0, blobs, commits: 0, forgotten, unfinished });
    }
    let user = UserRepo::discover(&site.dir)?;
    let state = &verified.state;
    let store = Store::open(&site.state().join("store.git"))?;
    check_branch(reader, &store, &user, &site.study, state)?;
    check_locked(&user, state)?;
    let commits = check_commits(reader, &store, &user, state)?;
    let (forgotten, unfinished) = (verified.forgotten, verified.unfinished);
    let (events, experiments, blobs) = (verified.events, verified.experiments, verified.blobs);
    Ok(Sound { events, experiments, blobs, commits, forgotten, unfinished })
}

fn check_branch(reader: &Reader, store: &Store, user: &UserRepo, study: &str, state: &State) -> Result<(), Mismatch> {
    let champion = state.champion().and_then(|champion| champion.commit.clone());
    let found = user.branch_head(study)?.map(|id| CommitId(id.to_string()));
    if found == champion {
        return Ok(());
    }
    // Between a recorded keep and its event the branch may be there already: the next run settles it.
    let half_way = match (state.unadvanced, &champion, &state.segment) {
        (Some(kept), _, Some(facts)) if kept == facts.experiment && state.retreating.is_none() => {
            Some(facts.baseline.clone())
        }
        (Some(kept), Some(from), Some(facts)) => {
            let plan = match plans::keep(reader, state, kept)?.0 {
                Keep::Commit(plan) => plan,
                Keep::Baseline(_) => plans::kept_plan(reader, &facts.metric, kept, from)?,
            };
            Some(CommitId(store.id_of(&plan)?.to_string()))
        }
        _ => None,
    };
    if half_way.is_some() && found == half_way {
        return Ok(());
    }
    let expected = champion.map_or_else(|| "there is none yet".to_owned(), |id| id.0);
    let found = found.map_or_else(|| "gone".to_owned(), |id| format!("at {id}"));
    Err(Mismatch::Branch { branch: format!("overnight/{study}"), expected, found })
}

/// Nothing outside the surface may differ between baseline and champion.
fn check_locked(user: &UserRepo, state: &State) -> Result<(), Mismatch> {
    let (Some(facts), Some(champion)) = (&state.segment, state.champion()) else { return Ok(()) };
    let Some(commit) = champion.commit.as_ref().filter(|_| champion.segment == facts.segment) else { return Ok(()) };
    match user.changed(oid(&facts.baseline)?, oid(commit)?, &facts.surface)?.into_iter().next() {
        Some(path) => Err(Mismatch::Locked { path }),
        None => Ok(()),
    }
}

fn check_commits(reader: &Reader, store: &Store, user: &UserRepo, state: &State) -> Result<u64, Mismatch> {
    let refs = store.refs()?;
    let (segments, without_contents) = (reader.segments()?, reader.without_contents()?);
    let mut rows = Vec::new();
    reader.each_row(ExperimentId::BASELINE, |row| rows.push(row))?;
    let mut commits = 0;
    for row in rows {
        let (Some(commit), experiment) = (row.commit, row.experiment) else { continue };
        // What was erased on request can neither be found nor made again. Nothing stands on it.
        if without_contents.contains(&experiment) {
            continue;
        }
        let facts = plans::segment_of(&segments, row.segment)?;
        if state.carried() == Some(experiment) && !state.begun() {
            continue;
        }
        if experiment == facts.experiment && commit == facts.baseline {
            // A baseline is a commit of the user's repository; one without a verdict is made again by the next run.
            if row.verdict == Some(Verdict::Baseline) {
                user.files(oid(&commit)?)?;
            }
            continue;
        }
        let paths: Vec<String> = facts.surface.paths().map(ToOwned::to_owned).collect();
        let wanted = oid(&commit)?;
        let found = refs.get(&experiment.0);
        let is_late = may_be_late(state, experiment);
        if found != Some(&wanted) && state.unadvanced != Some(experiment) && !is_late {
            let found = found.map_or_else(|| "gone".to_owned(), ToString::to_string);
            return Err(Mismatch::Ref { experiment, commit, found });
        }
        if !is_late && !store.whole(wanted, &paths) {
            return Err(Mismatch::Object { experiment, commit });
        }
        let is_on_branch = matches!(row.verdict, Some(Verdict::Baseline | Verdict::Kept | Verdict::Retracted));
        let kept = is_on_branch && (state.unadvanced != Some(experiment) || state.retreating.is_some());
        let plan = match kept {
            true => {
                user.files(wanted)?;
                let plans = plans::branch_plans(reader, facts, experiment)?;
                Some(plans.into_iter().last().ok_or_else(|| Fault::lost("the parent of a keep"))?)
            }
            false => plans::proposal_plan(reader, experiment)?.map(|(plan, _)| plan),
        };
        if let Some(plan) = plan {
            let made = store.id_of(&plan)?;
            if made != wanted {
                return Err(Mismatch::Commit { experiment, commit, made: made.to_string() });
            }
        }
        commits += 1;
    }
    Ok(commits)
}

/// A commit reaches the store just after its event. Where a run is going on, or was killed, that of the champion and
/// those of the latest proposals may still be on their way; the next run makes them.
fn may_be_late(state: &State, experiment: ExperimentId) -> bool {
    let slots = state.run.as_ref().map_or(0, |run| u64::from(run.facts.slots));
    let is_latest = experiment.0 + slots >= state.next_experiment().0;
    let is_open = state.find(experiment).is_some_and(|found| found.verdict.is_none());
    state.stopped.is_none() && (is_latest || is_open || state.champion == Some(experiment))
}
