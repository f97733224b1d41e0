//! A person's word on a suspect: recorded first, then carried out, as any keep is.

use overnight_model::event::Reviewed;
use overnight_model::study::{Obstacle, Row};
use overnight_model::{Event, ExperimentId, State, Timestamp, Verdict, What};
use thiserror::Error;

use crate::dispatch::{Fault, Keep};
use crate::ledger::{Ledger, LedgerError, Turn};
use crate::load::Site;
use crate::lock::{Holder, Lock, LockError};
use crate::open::{OpenError, check_branch, is_our_first_lock, recover_store};
use crate::plans;
use crate::worker::keep_commit;
use crate::workspace::{GitError, Store, UserRepo, oid};

#[derive(Debug, Error)]
pub enum ReviewError {
    #[error("there is no experiment {experiment}")]
    NoSuch { experiment: ExperimentId },
    #[error("experiment {experiment} is not suspect: it {}", standing(*verdict))]
    NotSuspect { experiment: ExperimentId, verdict: Option<Verdict> },
    #[error(
        "experiment {experiment} was measured against a champion that is no longer there: nobody knows how it compares \
         with the present one"
    )]
    ChampionMoved { experiment: ExperimentId, row: Box<Row>, files: Vec<String> },
    #[error("experiment {experiment} gave no number that anything could be compared with")]
    NoNumber { experiment: ExperimentId },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Fault(#[from] Fault),
}

fn standing(verdict: Option<Verdict>) -> String {
    verdict.map_or_else(|| "has no verdict yet".to_owned(), |verdict| format!("has the verdict `{}`", verdict.name()))
}

/// A study in the hands of a person: nobody else runs it meanwhile.
pub struct Review<'a> {
    site: &'a Site,
    user: UserRepo,
    ledger: Ledger,
    state: State,
    _lock: Lock,
}

impl Review<'_> {
    /// Takes the study's lock. Refused while a run is going on, and where the branch is not where the ledger says.
    pub fn open<'a>(site: &'a Site, me: &Holder) -> Result<Review<'a>, ReviewError> {
        let user = UserRepo::discover(&site.dir)?;
        match user.refuse_for(&site.study) {
            Err(GitError::Locked { path }) if is_our_first_lock(&user, &site.study, &path)? => {}
            other => other?,
        }
        let lock = Lock::take(user.common_dir(), &site.study, me)?;
        let (ledger, state) = Ledger::open(&site.state())?;
        check_branch(&user, site, &state)?;
        Ok(Review { site, user, ledger, state, _lock: lock })
    }

    /// Records a person's word, and nothing more. A keep still has to reach the branch: see `finish`.
    pub fn record(&mut self, reviewed: Reviewed, now: Timestamp) -> Result<(), ReviewError> {
        self.refuse(&reviewed)?;
        self.append(What::Reviewed(reviewed), now)
    }

    /// Brings a keep that is recorded to the branch, this one's or one that an engine was killed in.
    pub fn finish(&mut self, now: Timestamp) -> Result<Option<ExperimentId>, ReviewError> {
        let Some(experiment) = self.state.unadvanced else { return Ok(None) };
        let (keep, from) = plans::keep(self.ledger.reader(), &self.state, experiment)?;
        let to = keep_commit(&self.user, &self.site.study, experiment, from.as_ref(), &keep)?;
        if let Keep::Commit(plan) = &keep {
            // Before the record, unlike in a run: there is no later turn in which it could be done. A power loss may
            // have torn what it stands on.
            let store = Store::open_or_init(&self.site.state().join("store.git"), &self.user)?;
            recover_store(&store, self.ledger.reader(), &self.state)?;
            store.write(plan)?;
            store.set_ref(experiment.0, oid(&to)?)?;
        }
        let retracted = self.state.retreating;
        self.append(What::BranchAdvanced { experiment, from, to, retracted }, now)?;
        Ok(Some(experiment))
    }

    /// An experiment as views show it now.
    pub fn row(&self, experiment: ExperimentId) -> Result<Option<Row>, ReviewError> {
        Ok(self.ledger.reader().row(experiment)?)
    }

    fn refuse(&self, reviewed: &Reviewed) -> Result<(), ReviewError> {
        let experiment = reviewed.experiment;
        let row = self.row(experiment)?.ok_or(ReviewError::NoSuch { experiment })?;
        let Some(suspect) = self.state.suspects().find(|suspect| suspect.id == experiment) else {
            return Err(ReviewError::NotSuspect { experiment, verdict: row.verdict });
        };
        if reviewed.verdict != Verdict::Kept {
            return Ok(());
        }
        match self.state.obstacle(suspect) {
            None => Ok(()),
            Some(Obstacle::NoNumber) => Err(ReviewError::NoNumber { experiment }),
            Some(Obstacle::HalfKept) => Err(OpenError::HalfKept.into()),
            Some(Obstacle::ChampionMoved) => {
                let surface = self.state.segment.iter().flat_map(|facts| facts.surface.paths());
                let files = surface.map(ToOwned::to_owned).collect();
                Err(ReviewError::ChampionMoved { experiment, row: row.into(), files })
            }
        }
    }

    fn append(&mut self, what: What, at: Timestamp) -> Result<(), ReviewError> {
        let event = Event { at, what };
        self.state.apply(&event);
        let rows: Vec<Row> = self.state.touched().into_iter().filter_map(|id| self.state.row(id)).collect();
        let summary = self.state.summary();
        self.ledger.append(&Turn { events: &[event], blobs: &[], rows: &rows, summary: summary.as_ref() })?;
        self.state.forget_judged();
        Ok(())
    }
}
