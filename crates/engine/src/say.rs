//! A person's words to the agents: left as a letter, and taken up at once where nobody runs the study.

use overnight_model::event::Said;
use overnight_model::{State, Timestamp};
use thiserror::Error;

use crate::inbox::{Inbox, InboxError, Letter};
use crate::ledger::{Ledger, LedgerError, Reader, Turn};
use crate::load::Site;
use crate::lock::{Holder, Lock, LockError};
use crate::open::state_pattern;
use crate::workspace::{GitError, UserRepo};

#[derive(Debug, Error)]
pub enum SayError {
    #[error(transparent)]
    Inbox(#[from] InboxError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// What became of a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Posted {
    /// It is in the ledger.
    Recorded,
    /// Whoever runs the study takes it up before the next question.
    WithRun(Option<Holder>),
    /// The first run takes it up: there is no ledger yet.
    BeforeFirstRun,
}

/// A word that agents are told, or will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub said: Said,
    pub at: Timestamp,
    /// Whether it is in the ledger already.
    pub is_recorded: bool,
}

/// Every word that was said and not taken back, the latest last.
pub fn words(site: &Site) -> Result<Vec<Word>, SayError> {
    let mut state = State::default();
    if let Some(reader) = Reader::find(&site.state())? {
        for event in reader.words()? {
            state.apply(&event);
        }
    }
    let recorded: Vec<u64> = state.said().map(|(said, _)| said.word).collect();
    Inbox::of(&site.state()).preview(&mut state)?;
    let word = |(said, at): &(Said, Timestamp)| Word {
        said: said.clone(),
        at: *at,
        is_recorded: recorded.contains(&said.word),
    };
    Ok(state.said().map(word).collect())
}

/// Leaves a letter, and takes it up where nobody runs the study.
pub fn post(site: &Site, me: &Holder, letter: &Letter, now: Timestamp) -> Result<Posted, SayError> {
    let user = UserRepo::discover(&site.dir)?;
    user.exclude(&state_pattern(&user, site))?;
    let inbox = Inbox::of(&site.state());
    inbox.put(letter, now)?;
    if Reader::find(&site.state())?.is_none() {
        return Ok(Posted::BeforeFirstRun);
    }
    let _lock = match Lock::take(user.common_dir(), &site.study, me) {
        Ok(lock) => lock,
        Err(LockError::Held { holder }) => return Ok(Posted::WithRun(Some(holder))),
        Err(LockError::HeldByUnknown { .. }) => return Ok(Posted::WithRun(None)),
        Err(error) => return Err(error.into()),
    };
    let (mut ledger, mut state) = Ledger::open(&site.state())?;
    let waiting = inbox.waiting()?;
    let events = Inbox::events(&state, &waiting);
    events.iter().for_each(|event| state.apply(event));
    let summary = state.summary();
    ledger.append(&Turn { events: &events, blobs: &[], rows: &[], summary: summary.as_ref() })?;
    inbox.remove(&waiting)?;
    Ok(Posted::Recorded)
}
