//! Erases on a person's word what was kept of calls to models, and what experiments left. The ledger says that it was done;
//! nothing else in it changes.

mod contents;

use std::fs;
use std::path::{Path, PathBuf};

use overnight_model::event::Forgotten;
use overnight_model::{Event, ExperimentId, Timestamp, Verdict, What};
use thiserror::Error;

use self::contents::Doomed;

use crate::gateway::traces::{Store, TraceError, Which};
use crate::ledger::{Ledger, LedgerError, Reader, Turn};
use crate::load::Site;
use crate::lock::{Holder, Lock, LockError};
use crate::workspace::{GitError, UserRepo, overwrite};

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
    #[error("there is no experiment {experiment}")]
    Unknown { experiment: ExperimentId },
    #[error("the contents of experiment {experiment} cannot be forgotten: it {why}")]
    Needed { experiment: ExperimentId, why: &'static str, verdict: Option<Verdict> },
    #[error("could not erase {}", path.display())]
    Erase { path: PathBuf, source: std::io::Error },
}

/// What is to be erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    pub traces: Option<Which>,
    /// Experiments whose surface, output and commits are to go.
    pub contents: Vec<ExperimentId>,
    /// The folder of recordings.
    pub recordings: Option<PathBuf>,
    /// In words, for the record.
    pub words: String,
}

/// What there is of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Count {
    pub traces: u64,
    pub contents: u64,
    pub recordings: u64,
    /// Other experiments that proposed some of the same contents, which stay for them.
    pub shared_with: Vec<ExperimentId>,
}

impl Count {
    pub fn is_nothing(&self) -> bool {
        self.traces == 0 && self.contents == 0 && self.recordings == 0
    }
}

/// How much a wish would erase.
pub fn count(site: &Site, wish: &Wish) -> Result<Count, ForgetError> {
    let traces = match (&wish.traces, Store::find(&site.state())?) {
        (Some(which), Some(store)) => store.count(which)?,
        _ => 0,
    };
    let recordings = wish.recordings.as_ref().map_or(0, |folder| files(&folder.join("requests")).count() as u64);
    let doomed = Doomed::of(&Reader::open(&site.state())?, &wish.contents)?;
    Ok(Count { traces, contents: doomed.blobs.len() as u64, recordings, shared_with: doomed.shared_with })
}

/// Erases it, where nobody runs the study. The record comes first: what is half erased is erased by the same wish again.
pub fn forget(site: &Site, me: &Holder, wish: &Wish, now: Timestamp) -> Result<Count, ForgetError> {
    let user = UserRepo::discover(&site.dir)?;
    let _lock = Lock::take(user.common_dir(), &site.study, me)?;
    let counted = count(site, wish)?;
    if counted.is_nothing() {
        return Ok(counted);
    }
    let (mut ledger, mut state) = Ledger::open(&site.state())?;
    let doomed = Doomed::of(ledger.reader(), &wish.contents)?;
    let (blobs, experiments) = (doomed.blobs.clone(), doomed.experiments.clone());
    let forgotten = Forgotten { what: wish.words.clone(), traces: counted.traces, blobs, experiments };
    let event = Event { at: now, what: What::Forgotten(forgotten) };
    state.apply(&event);
    let summary = state.summary();
    ledger.append(&Turn { events: &[event], blobs: &[], rows: &[], summary: summary.as_ref() })?;
    if !doomed.blobs.is_empty() {
        doomed.erase(site, &mut ledger)?;
    }
    if let Some(which) = &wish.traces {
        // Where there are none, no place is made for them.
        if let Some(mut store) = Store::find_to_write(&site.state())? {
            store.forget(which)?;
        }
    }
    if let Some(folder) = &wish.recordings {
        for part in ["requests", "answers"] {
            // Only what the engine wrote there: a person may keep notes beside it.
            for path in files(&folder.join(part)) {
                // What a link leads to is not ours to overwrite.
                let erased = if path.is_symlink() { fs::remove_file(&path) } else { overwrite(&path) };
                erased.map_err(|source| ForgetError::Erase { path, source })?;
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
