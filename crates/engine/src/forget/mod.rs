//! Erases on a person's word what was kept of calls to models. The ledger says that it was done; nothing else in it changes.

use std::fs;
use std::path::{Path, PathBuf};

use overnight_model::event::Forgotten;
use overnight_model::{Event, Timestamp, What};
use thiserror::Error;

use crate::gateway::traces::{Store, TraceError, Which};
use crate::ledger::{Ledger, LedgerError, Turn};
use crate::load::Site;
use crate::lock::{Holder, Lock, LockError};
use crate::workspace::{GitError, UserRepo};

#[derive(Debug, Error)]
pub enum ForgetError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error("could not erase {}", path.display())]
    Erase { path: PathBuf, source: std::io::Error },
}

/// What is to be erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    pub traces: Option<Which>,
    /// The folder of recordings.
    pub recordings: Option<PathBuf>,
    /// In words, for the record.
    pub words: String,
}

/// What there is of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    pub traces: u64,
    pub recordings: u64,
}

/// How much a wish would erase.
pub fn count(site: &Site, wish: &Wish) -> Result<Count, ForgetError> {
    let traces = match (&wish.traces, Store::find(&site.state())?) {
        (Some(which), Some(store)) => store.count(which)?,
        _ => 0,
    };
    let recordings = wish.recordings.as_ref().map_or(0, |folder| files(&folder.join("requests")).count() as u64);
    Ok(Count { traces, recordings })
}

/// Erases it, where nobody runs the study. The record comes first: what is half erased is erased by the same wish again.
pub fn forget(site: &Site, me: &Holder, wish: &Wish, now: Timestamp) -> Result<Count, ForgetError> {
    let user = UserRepo::discover(&site.dir)?;
    let _lock = Lock::take(user.common_dir(), &site.study, me)?;
    let counted = count(site, wish)?;
    if counted == Count::default() {
        return Ok(counted);
    }
    let (mut ledger, mut state) = Ledger::open(&site.state())?;
    let forgotten = Forgotten { what: wish.words.clone(), traces: counted.traces, blobs: Vec::new() };
    let event = Event { at: now, what: What::Forgotten(forgotten) };
    state.apply(&event);
    let summary = state.summary();
    ledger.append(&Turn { events: &[event], blobs: &[], rows: &[], summary: summary.as_ref() })?;
    if let Some(which) = &wish.traces {
        Store::open(&site.state())?.forget(which)?;
    }
    if let Some(folder) = &wish.recordings {
        for part in ["requests", "answers"] {
            // Only what the engine wrote there: a person may keep notes beside it.
            for path in files(&folder.join(part)) {
                fs::remove_file(&path).map_err(|source| ForgetError::Erase { path, source })?;
            }
            let _ = fs::remove_dir(folder.join(part));
        }
        let _ = fs::remove_dir(folder);
    }
    Ok(counted)
}

fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let is_ours = |path: &PathBuf| {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        path.is_file() && name.len() >= 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_ours)
}
