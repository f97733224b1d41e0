//! `verify`: the chain holds, the projections are the fold of the events, and every blob is there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use overnight_model::Verdict;
use overnight_model::event::Forgotten;
use overnight_model::study::{Row, Summary};
use overnight_model::{BlobId, ExperimentId, State};
use serde_json::Value;
use thiserror::Error;

use super::{LedgerError, Reader};

/// What a sound ledger holds.
#[derive(Debug)]
pub struct Verified {
    pub events: u64,
    pub experiments: u64,
    pub blobs: u64,
    /// What was erased on request, in the order in which it was.
    pub forgotten: Vec<Forgotten>,
    /// Contents that were to be erased and are still there: whoever did so was killed.
    pub unfinished: u64,
    pub state: State,
}

/// The first thing that is not as it should be.
#[derive(Debug, Error)]
pub enum Discrepancy {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the database is damaged: {what}")]
    Database { what: String },
    #[error("experiment {experiment}: the stored row differs from what the events say")]
    Row { experiment: ExperimentId },
    #[error("experiment {experiment} has a row but no events")]
    Invented { experiment: ExperimentId },
    #[error("experiment {experiment} has {found} verdicts")]
    Verdicts { experiment: ExperimentId, found: u32 },
    #[error("the stored summary differs from what the events say")]
    Summary,
    #[error("event {seq}: the contents {id} it names are missing or damaged")]
    Blob { seq: u64, id: String },
}

/// Checks one ledger from its first event to its last; names the first thing that does not agree.
pub fn verify_ledger(dir: &Path) -> Result<Verified, Discrepancy> {
    verify_reader(&Reader::snapshot(dir)?)
}

/// The same of a ledger that is open already.
pub fn verify_reader(reader: &Reader) -> Result<Verified, Discrepancy> {
    sound_database(reader)?;
    let mut state = State::default();
    let mut rows: BTreeMap<ExperimentId, Row> = BTreeMap::new();
    let mut verdicts: BTreeMap<ExperimentId, u32> = BTreeMap::new();
    let (mut events, mut blobs) = (0, 0);
    let (mut missing, mut forgotten) = (Vec::<(u64, String)>::new(), Vec::<Forgotten>::new());
    let mut to_be_gone: BTreeSet<BlobId> = BTreeSet::new();
    reader.each_event(|stored| {
        for id in stored.event.what.blobs() {
            blobs += 1;
            // Somebody proposed the same again.
            to_be_gone.remove(id);
            if reader.blob(id)?.is_none() {
                missing.push((stored.seq, id.0.clone()));
            }
        }
        if let overnight_model::What::Forgotten(what) = &stored.event.what {
            forgotten.push(what.clone());
            to_be_gone.extend(what.blobs.iter().cloned());
        }
        if let overnight_model::What::Judged(judged) = &stored.event.what {
            *verdicts.entry(judged.experiment).or_default() += 1;
        }
        state.apply(&stored.event);
        for id in state.touched() {
            rows.extend(state.row(id).map(|row| (id, row)));
        }
        state.forget_judged();
        events = stored.seq;
        Ok(())
    })?;
    // What was erased on request is said to be, by an event after those that name it.
    let is_forgotten = |id: &str| forgotten.iter().any(|what| what.blobs.iter().any(|blob| blob.0 == id));
    if let Some((seq, id)) = missing.into_iter().find(|(_, id)| !is_forgotten(id)) {
        return Err(Discrepancy::Blob { seq, id });
    }
    if let Some((experiment, found)) = verdicts.into_iter().find(|(_, found)| *found > 1) {
        return Err(Discrepancy::Verdicts { experiment, found });
    }
    let is_baseline = |row: &Row| row.experiment.is_baseline() || row.verdict == Some(Verdict::Baseline);
    let experiments = rows.values().filter(|row| !is_baseline(row)).count() as u64;
    same_rows(reader, rows)?;
    if !same_summary(reader, &state)? {
        return Err(Discrepancy::Summary);
    }
    let mut unfinished = 0;
    for id in &to_be_gone {
        unfinished += u64::from(reader.holds(id)?);
    }
    Ok(Verified { events, experiments, blobs, forgotten, unfinished, state })
}

/// What an older engine did not say yet is nothing to disagree about.
fn same_summary(reader: &Reader, state: &State) -> Result<bool, Discrepancy> {
    let json = |summary: Option<Summary>| serde_json::to_value(summary).unwrap_or_default();
    // Read as it was written: a field that is new has no value there.
    let (mut stored, made) = (reader.summary_as_written()?.unwrap_or_default(), json(state.summary()));
    if stored.get("judge") != made.get("judge") {
        forget_beliefs(&mut stored);
    }
    Ok(reader.summary()?.is_some() == state.summary().is_some() && is_within(&stored, &made))
}

/// Another judge makes other beliefs of the same trials. Everything else follows from the events alone.
fn forget_beliefs(summary: &mut Value) {
    let Some(summary) = summary.as_object_mut() else { return };
    summary.remove("judge");
    summary.remove("gained");
    if let Some(noise) = summary.get_mut("noise").and_then(Value::as_object_mut) {
        noise.remove("sd");
    }
}

fn is_within(stored: &Value, made: &Value) -> bool {
    match (stored, made) {
        (Value::Object(stored), Value::Object(made)) => {
            stored.iter().all(|(key, value)| made.get(key).is_some_and(|made| is_within(value, made)))
        }
        (stored, made) => stored == made,
    }
}

fn same_rows(reader: &Reader, mut rows: BTreeMap<ExperimentId, Row>) -> Result<(), Discrepancy> {
    let mut discrepancy = None;
    reader.each_row(ExperimentId(0), |stored| {
        let experiment = stored.experiment;
        let found = match rows.remove(&experiment) {
            Some(row) if row == stored => return,
            Some(_) => Discrepancy::Row { experiment },
            None => Discrepancy::Invented { experiment },
        };
        discrepancy.get_or_insert(found);
    })?;
    if let Some(discrepancy) = discrepancy {
        return Err(discrepancy);
    }
    match rows.into_keys().next() {
        Some(experiment) => Err(Discrepancy::Row { experiment }),
        None => Ok(()),
    }
}

/// SQLite's own check, which sees a flipped bit anywhere in the file.
fn sound_database(reader: &Reader) -> Result<(), Discrepancy> {
    let check = reader.db.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0));
    match check {
        Ok(text) if text == "ok" => Ok(()),
        Ok(what) => Err(Discrepancy::Database { what }),
        Err(error) => Err(Discrepancy::Database { what: error.to_string() }),
    }
}
