//! Taking in what another tool recorded, and reading it back. None of it is an experiment of the study.

use std::fs;

use overnight_model::event::Imported;
use overnight_model::history::{self, Column, Entry, Format, Problem, Tally};
use overnight_model::spec::Metric;
use overnight_model::{BlobId, Event, Timestamp, What};
use thiserror::Error;

use crate::clock;
use crate::ledger::{Ledger, LedgerError, Reader, Turn};
use crate::load::Site;
use crate::lock::{Holder, Lock, LockError};
use crate::open::{OpenError, spec_at, state_pattern};
use crate::workspace::{GitError, UserRepo};

/// A file that somebody else wrote.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Its name, as it will be shown.
    pub source: &'a str,
    pub bytes: &'a [u8],
    pub format: Format,
    /// Which column holds the metric, where a person said so.
    pub column: Option<&'a str>,
}

/// What came of a file.
#[derive(Debug)]
pub enum Import {
    Taken(Taken),
    /// The very same file was taken in before; nothing was done.
    Known {
        source: String,
        at: Timestamp,
    },
}

/// A history that is in the ledger now.
#[derive(Debug)]
pub struct Taken {
    /// The whole file, in numbers.
    pub tally: Tally,
    /// The rows that are new: a file that has grown since it was last imported brings only these.
    pub rows: u64,
    /// The study's own metric.
    pub metric: Metric,
    /// The last line, where it was cut off and left out.
    pub cut: Option<u64>,
}

#[derive(Debug, Error)]
pub enum ImportError {
    #[error(transparent)]
    Problem(#[from] Problem),
    #[error("it holds no rows")]
    Empty,
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Takes in a file. It is read whole before anything is made or locked, and recorded whole or not at all.
pub fn import(site: &Site, me: &Holder, file: &File<'_>) -> Result<Import, ImportError> {
    let File { source, bytes, format, column } = *file;
    let user = UserRepo::discover(&site.dir)?;
    let metric = metric(site, Reader::find(&site.state())?.as_ref())?;
    let mut tally = Tally::new(metric.goal);
    let mut entries = Vec::new();
    let column = column.map_or(Column::Usual(&metric.name), Column::Named);
    let cut = history::read(format, bytes, column, &mut |entry| {
        tally.add(&entry);
        write(&mut entries, &entry);
    })?;
    if tally.rows == 0 {
        return Err(ImportError::Empty);
    }
    let sha256 = BlobId::of(bytes).0;
    let _lock = Lock::take(user.common_dir(), &site.study, me)?;
    user.exclude(&state_pattern(&user, site))?;
    let (mut ledger, mut state) = Ledger::open(&site.state())?;
    let earlier = ledger.reader().imports()?;
    if let Some((at, known)) = earlier.iter().find(|(_, known)| known.sha256 == sha256) {
        return Ok(Import::Known { source: known.source.clone(), at: *at });
    }
    let earlier: Vec<_> = earlier.into_iter().filter(|(_, known)| known.source == source).collect();
    let entries = entries.split_off(known_before(&ledger, &earlier, &entries)?);
    let rows = rows_in(&entries);
    if let (Some((at, known)), 0) = (earlier.last(), rows) {
        return Ok(Import::Known { source: known.source.clone(), at: *at });
    }
    let imported = Imported {
        source: source.to_owned(),
        format: format.name().to_owned(),
        sha256,
        entries: BlobId::of(&entries),
        rows,
        metric: tally.metric.clone(),
    };
    let events = [Event { at: clock::now(), what: What::Imported(imported) }];
    events.iter().for_each(|event| state.apply(event));
    let summary = state.summary();
    ledger.append(&Turn { events: &events, blobs: &[entries], rows: &[], summary: summary.as_ref() })?;
    Ok(Import::Taken(Taken { tally, rows, metric, cut }))
}

/// How much of a file that has grown was taken in before, in one import or in several.
fn known_before(ledger: &Ledger, earlier: &[(Timestamp, Imported)], entries: &[u8]) -> Result<usize, LedgerError> {
    let parts: Vec<Vec<u8>> = earlier.iter().map(|(_, known)| ledger.blob(&known.entries)).collect::<Result<_, _>>()?;
    // A file that was changed in between was taken in anew: then the later imports are its beginning.
    let known = (0..parts.len()).map(|first| parts[first..].concat()).find(|known| entries.starts_with(known));
    Ok(known.map_or(0, |known| known.len()))
}

/// How many of the stored entries are rows.
fn rows_in(entries: &[u8]) -> u64 {
    entries.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{\"row\"")).count() as u64
}

/// Reads a history back, an entry at a time.
pub fn each_entry(reader: &Reader, imported: &Imported, mut each: impl FnMut(Entry)) -> Result<(), LedgerError> {
    let id = &imported.entries;
    let bytes = reader.blob(id)?.ok_or_else(|| LedgerError::NoBlob { id: id.0.clone() })?;
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let what = |error| format!("the history of {}: {error}", imported.source);
        each(serde_json::from_slice(line).map_err(|error| LedgerError::Damaged { seq: 0, what: what(error) })?);
    }
    Ok(())
}

/// The study's metric: that of its segment, or of its triplet while it has none.
pub fn metric(site: &Site, reader: Option<&Reader>) -> Result<Metric, OpenError> {
    if let Some(facts) = reader.map(Reader::segments).transpose()?.and_then(|mut segments| segments.pop()) {
        return Ok(facts.metric);
    }
    let text = fs::read_to_string(&site.triplet)
        .map_err(|source| OpenError::Triplet { path: site.triplet.clone(), source })?;
    let user = UserRepo::discover(&site.dir)?;
    Ok(spec_at(site, &user, &text, user.head()?)?.metric)
}

fn write(entries: &mut Vec<u8>, entry: &Entry) {
    // Memory takes whatever is written to it, and an entry holds finite numbers and string keys only.
    let _ = serde_json::to_writer(&mut *entries, entry);
    entries.push(b'\n');
}
