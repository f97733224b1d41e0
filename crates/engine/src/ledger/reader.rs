//! Looking at a ledger, also while an engine writes to it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use overnight_model::event::{Forgotten, Imported, SegmentFacts};
use overnight_model::study::{Row, Summary};
use overnight_model::{BlobId, CommitId, Event, ExperimentId, State, Timestamp, Verdict, What};
use rusqlite::{Connection, OptionalExtension};

use super::chain::ChainHash;
use super::{LedgerError, blobs, schema};

const WORDS: &str = "SELECT seq, at, body, hash FROM events WHERE experiment IS NULL
    AND (body LIKE '{\"kind\":\"said\"%' OR body LIKE '{\"kind\":\"taken_back\"%') ORDER BY seq";

const FORGOTTEN: &str = "SELECT seq, at, body, hash FROM events WHERE experiment IS NULL
    AND body LIKE '{\"kind\":\"forgotten\"%' ORDER BY seq";

const LETTER: &str = "SELECT seq, at, body, hash FROM events WHERE experiment IS NULL
    AND (body LIKE '{\"kind\":\"delivered\"%' OR body LIKE '{\"kind\":\"returned\"%') AND instr(body, ?1) > 0";

const IMPORTS: &str = "SELECT seq, at, body, hash FROM events
    WHERE experiment IS NULL AND body LIKE '{\"kind\":\"imported\"%' ORDER BY seq";

/// A read-only view of a ledger. It opens in no time at any size; only what says so reads the whole chain.
#[derive(Debug)]
pub struct Reader {
    pub(super) db: Connection,
    pub(super) dir: PathBuf,
}

/// An event as it is stored.
#[derive(Debug, Clone)]
pub struct StoredEvent {
    pub seq: u64,
    pub hash: ChainHash,
    pub event: Event,
}

impl Reader {
    /// Opens the ledger in `dir`.
    pub fn open(dir: &Path) -> Result<Reader, LedgerError> {
        let db = schema::open_reader(&dir.join("ledger.db"))?;
        Ok(Reader { db, dir: dir.to_owned() })
    }

    /// Opens the ledger as it is at this moment: what an engine adds meanwhile is not seen.
    pub fn snapshot(dir: &Path) -> Result<Reader, LedgerError> {
        let reader = Reader::open(dir)?;
        reader.db.execute_batch("BEGIN").map_err(|e| reader.failed(e))?;
        Ok(reader)
    }

    /// The number of the last event; 0 where there is none.
    pub fn end(&self) -> Result<u64, LedgerError> {
        let last = self.db.query_row("SELECT max(seq) FROM events", [], |row| row.get::<_, Option<i64>>(0));
        Ok(last.map_err(|e| self.failed(e))?.unwrap_or(0) as u64)
    }

    /// The ledger in `dir`, if there is one: a file without tables was left by an engine that was killed as it began.
    pub fn find(dir: &Path) -> Result<Option<Reader>, LedgerError> {
        let path = dir.join("ledger.db");
        if !path.exists() || schema::is_blank(&path) {
            return Ok(None);
        }
        Reader::open(dir).map(Some)
    }

    /// The study as a whole; `None` before its first segment.
    pub fn summary(&self) -> Result<Option<Summary>, LedgerError> {
        self.read_summary()
    }

    /// The summary with the fields that whoever wrote it knew.
    pub(super) fn summary_as_written(&self) -> Result<Option<serde_json::Value>, LedgerError> {
        self.read_summary()
    }

    fn read_summary<T: serde::de::DeserializeOwned>(&self) -> Result<Option<T>, LedgerError> {
        let body: Option<String> = self
            .db
            .query_row("SELECT body FROM summary", [], |row| row.get(0))
            .optional()
            .map_err(|e| self.failed(e))?;
        let Some(body) = body else { return Ok(None) };
        let damaged = |error: serde_json::Error| LedgerError::Damaged { seq: 0, what: format!("summary: {error}") };
        serde_json::from_str(&body).map(Some).map_err(damaged)
    }

    /// The last `limit` experiments, oldest first.
    pub fn last_rows(&self, limit: usize) -> Result<Vec<Row>, LedgerError> {
        let mut rows = Vec::new();
        self.select("ORDER BY experiment DESC LIMIT ?1", [limit as i64], |row| rows.push(row))?;
        rows.reverse();
        Ok(rows)
    }

    /// Every experiment from `first` on, in order, one at a time.
    pub fn each_row(&self, first: ExperimentId, each: impl FnMut(Row)) -> Result<(), LedgerError> {
        self.select("WHERE experiment >= ?1 ORDER BY experiment", [first.0 as i64], each)
    }

    /// The kept experiments, in order.
    pub fn kept_rows(&self) -> Result<Vec<Row>, LedgerError> {
        let mut rows = Vec::new();
        self.select("WHERE verdict = 'kept' AND experiment >= ?1 ORDER BY experiment", [0], |row| rows.push(row))?;
        Ok(rows)
    }

    /// The experiments that wait for a person's word, in order.
    pub fn suspect_rows(&self) -> Result<Vec<Row>, LedgerError> {
        let mut rows = Vec::new();
        self.select("WHERE verdict = 'suspect' AND experiment >= ?1 ORDER BY experiment", [0], |row| rows.push(row))?;
        Ok(rows)
    }

    pub fn row(&self, id: ExperimentId) -> Result<Option<Row>, LedgerError> {
        let mut found = None;
        self.select("WHERE experiment = ?1", [id.0 as i64], |row| found = Some(row))?;
        Ok(found)
    }

    /// Everything that happened to one experiment, in order.
    pub fn events_of(&self, id: ExperimentId) -> Result<Vec<StoredEvent>, LedgerError> {
        let sql = "SELECT seq, at, body, hash FROM events WHERE experiment = ?1 ORDER BY seq";
        let mut statement = self.db.prepare_cached(sql).map_err(|e| self.failed(e))?;
        let mut rows = statement.query([id.0 as i64]).map_err(|e| self.failed(e))?;
        let mut events = Vec::new();
        while let Some(row) = rows.next().map_err(|e| self.failed(e))? {
            events.push(stored(row).map_err(|e| self.failed(e))??);
        }
        Ok(events)
    }

    /// What each segment was opened with, in order.
    pub fn segments(&self) -> Result<Vec<SegmentFacts>, LedgerError> {
        let sql = "SELECT body FROM events WHERE experiment IS NULL ORDER BY seq";
        let mut statement = self.db.prepare(sql).map_err(|e| self.failed(e))?;
        let mut rows = statement.query([]).map_err(|e| self.failed(e))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(|e| self.failed(e))? {
            let body = row.get_ref(0).map_err(|e| self.failed(e))?.as_bytes().unwrap_or_default();
            if let Ok(What::SegmentOpened(facts)) = serde_json::from_slice(body) {
                found.push(*facts);
            }
        }
        Ok(found)
    }

    /// The histories that were taken in, in order, and when.
    pub fn imports(&self) -> Result<Vec<(Timestamp, Imported)>, LedgerError> {
        let mut statement = self.db.prepare_cached(IMPORTS).map_err(|e| self.failed(e))?;
        let mut rows = statement.query([]).map_err(|e| self.failed(e))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(|e| self.failed(e))? {
            let StoredEvent { event, .. } = stored(row).map_err(|e| self.failed(e))??;
            if let What::Imported(imported) = event.what {
                found.push((event.at, imported));
            }
        }
        Ok(found)
    }

    /// What a person said to the agents, and took back, in order.
    pub fn words(&self) -> Result<Vec<Event>, LedgerError> {
        let mut statement = self.db.prepare_cached(WORDS).map_err(|e| self.failed(e))?;
        let mut rows = statement.query([]).map_err(|e| self.failed(e))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(|e| self.failed(e))? {
            found.push(stored(row).map_err(|e| self.failed(e))??.event);
        }
        Ok(found)
    }

    /// What became of a proposal that came by this letter: `Delivered` or `Returned`, where it was taken up.
    pub fn letter(&self, name: &str) -> Result<Option<What>, LedgerError> {
        let mut statement = self.db.prepare_cached(LETTER).map_err(|e| self.failed(e))?;
        let mut rows = statement.query([name]).map_err(|e| self.failed(e))?;
        while let Some(row) = rows.next().map_err(|e| self.failed(e))? {
            let what = stored(row).map_err(|e| self.failed(e))??.event.what;
            if let What::Delivered { letter, .. } | What::Returned { letter, .. } = &what
                && letter == name
            {
                return Ok(Some(what));
            }
        }
        Ok(None)
    }

    /// Every event, in order, with the chain checked.
    pub fn each_event(&self, each: impl FnMut(StoredEvent) -> Result<(), LedgerError>) -> Result<(), LedgerError> {
        each_event(&self.db, &self.path(), each)
    }

    /// Every event, in order, for views: what it says is taken as it stands, and the chain is left to `verify`.
    pub fn each_unchecked(&self, mut each: impl FnMut(StoredEvent)) -> Result<(), LedgerError> {
        let sql = "SELECT seq, at, body, hash FROM events ORDER BY seq";
        let mut statement = self.db.prepare(sql).map_err(|e| self.failed(e))?;
        let mut rows = statement.query([]).map_err(|e| self.failed(e))?;
        while let Some(row) = rows.next().map_err(|e| self.failed(e))? {
            each(stored(row).map_err(|e| self.failed(e))??);
        }
        Ok(())
    }

    /// The study as whoever opens it to write would find it: the whole chain is read for that.
    pub fn state(&self) -> Result<State, LedgerError> {
        let mut state = State::default();
        self.each_event(|stored| {
            fold(&mut state, &stored);
            Ok(())
        })?;
        Ok(state)
    }

    /// Stored contents; `None` when they are gone or damaged.
    pub fn blob(&self, id: &BlobId) -> Result<Option<Vec<u8>>, LedgerError> {
        blobs::get(&self.db, &self.dir, id)
    }

    /// Whether anything is stored under this name.
    pub fn holds(&self, id: &BlobId) -> Result<bool, LedgerError> {
        blobs::is_there(&self.db, &self.dir, id)
    }

    /// What was erased on request, in the order in which it was.
    pub fn forgotten(&self) -> Result<Vec<Forgotten>, LedgerError> {
        let mut statement = self.db.prepare_cached(FORGOTTEN).map_err(|e| self.failed(e))?;
        let mut rows = statement.query([]).map_err(|e| self.failed(e))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(|e| self.failed(e))? {
            if let What::Forgotten(forgotten) = stored(row).map_err(|e| self.failed(e))??.event.what {
                found.push(forgotten);
            }
        }
        Ok(found)
    }

    /// The experiments whose contents were erased on request.
    pub fn without_contents(&self) -> Result<BTreeSet<ExperimentId>, LedgerError> {
        Ok(self.forgotten()?.into_iter().flat_map(|forgotten| forgotten.experiments).collect())
    }

    pub fn path(&self) -> PathBuf {
        self.dir.join("ledger.db")
    }

    pub(super) fn select(
        &self,
        rest: &str,
        arguments: impl rusqlite::Params,
        mut each: impl FnMut(Row),
    ) -> Result<(), LedgerError> {
        let cost = if schema::has_costs(&self.db).map_err(|e| self.failed(e))? { "cost_usd" } else { "NULL" };
        let sql = format!(
            "SELECT experiment, segment, parent, commit_id, agent, description, verdict, reason, metric, gain,
                gain_low, gain_high, trials, seconds, started_at, {cost} FROM experiments {rest}"
        );
        let mut statement = self.db.prepare_cached(&sql).map_err(|e| self.failed(e))?;
        let mut rows = statement.query(arguments).map_err(|e| self.failed(e))?;
        while let Some(row) = rows.next().map_err(|e| self.failed(e))? {
            each(experiment_row(row).map_err(|e| self.failed(e))?);
        }
        Ok(())
    }

    pub(super) fn failed(&self, source: rusqlite::Error) -> LedgerError {
        LedgerError::Read { path: self.path(), source }
    }
}

/// What is judged and over is forgotten on the way, so that a long ledger needs little memory.
pub(super) fn fold(state: &mut State, stored: &StoredEvent) {
    state.apply(&stored.event);
    state.touched();
    state.forget_judged();
}

/// Walks the chain from its root; the first event that does not fit is named.
pub(super) fn each_event(
    db: &Connection,
    path: &Path,
    mut each: impl FnMut(StoredEvent) -> Result<(), LedgerError>,
) -> Result<(), LedgerError> {
    let failed = |source| LedgerError::Read { path: path.to_owned(), source };
    let mut statement =
        db.prepare("SELECT seq, at, body, hash, experiment FROM events ORDER BY seq").map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    let mut before = (0, ChainHash::ROOT);
    while let Some(row) = rows.next().map_err(failed)? {
        let (seq, head) = (before.0 + 1, before.1);
        let body = row.get_ref(2).map_err(failed)?.as_bytes().unwrap_or_default();
        let at = Timestamp(row.get(1).map_err(failed)?);
        let damaged = |what: &str| LedgerError::Damaged { seq, what: what.to_owned() };
        let found: i64 = row.get(0).map_err(failed)?;
        if found as u64 != seq {
            return Err(damaged(&format!("it is missing; the next one is {found}")));
        }
        let hash = head.next(seq, at, body);
        if row.get_ref(3).map_err(failed)?.as_blob().ok() != Some(&hash.0[..]) {
            return Err(damaged("its hash does not fit its contents and the event before it"));
        }
        let stored = stored(row).map_err(failed)??;
        let experiment: Option<i64> = row.get(4).map_err(failed)?;
        let known = !matches!(stored.event.what, What::Unknown);
        if known && experiment != stored.event.what.experiment().map(|id| id.0 as i64) {
            return Err(damaged("it is filed under another experiment than its own"));
        }
        before = (seq, hash);
        each(stored)?;
    }
    Ok(())
}

pub(super) fn stored(row: &rusqlite::Row<'_>) -> rusqlite::Result<Result<StoredEvent, LedgerError>> {
    let seq = row.get::<_, i64>(0)? as u64;
    let at = Timestamp(row.get(1)?);
    let hash = ChainHash(row.get(3)?);
    let body = row.get_ref(2)?.as_bytes().unwrap_or_default();
    let damaged = |error: serde_json::Error| LedgerError::Damaged { seq, what: error.to_string() };
    let what = serde_json::from_slice::<What>(body).map_err(damaged);
    Ok(what.map(|what| StoredEvent { seq, hash, event: Event { at, what } }))
}

fn experiment_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let verdict: Option<String> = row.get(6)?;
    Ok(Row {
        experiment: ExperimentId(row.get::<_, i64>(0)? as u64),
        segment: row.get(1)?,
        parent: row.get::<_, Option<String>>(2)?.map(CommitId),
        commit: row.get::<_, Option<String>>(3)?.map(CommitId),
        agent: row.get(4)?,
        description: row.get(5)?,
        verdict: verdict.as_deref().and_then(Verdict::from_name),
        reason: row.get(7)?,
        metric: row.get(8)?,
        gain: row.get(9)?,
        gain_low: row.get(10)?,
        gain_high: row.get(11)?,
        trials: row.get(12)?,
        seconds: row.get(13)?,
        started_at: Timestamp(row.get(14)?),
        cost_usd: row.get(15)?,
    })
}
