//! Traces on disk: `.overnight/<study>/traces/traces.db`. Pieces are stored once, compressed, by their hash; a trace names
//! the pieces of its request and its answer.
//!
//! One transaction for each call and no sync: after a power loss the latest traces may be gone, and nothing that is
//! decided depends on one. What is there is whole, since SQLite's journal is. Only the engine writes here, and no sandbox
//! holds the folder; what is read is held against its hash all the same.

use std::fs;
use std::path::{Path, PathBuf};

use overnight_model::call::{Call, CallEnd, Caller};
use overnight_model::{BlobId, ExperimentId, Millis, Timestamp};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::redact::Redactor;
use super::split::pieces;
use crate::gateway::Exchange;

/// Fast, and a fifth of the size: slower levels gain little on text of this kind.
const LEVEL: i32 = 3;
/// More places in time would say nothing that people look at.
const MOST_TIMES: usize = 2000;
/// No piece is larger than what the gateway lets through; whatever claims to be is damaged.
const MOST_PIECE: usize = 64 << 20;
/// What all traces of a study may take on disk: the oldest go first.
pub const MOST_BYTES: u64 = 8 << 30;

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS pieces (id TEXT PRIMARY KEY, bytes BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS traces (id TEXT PRIMARY KEY, experiment INTEGER NOT NULL, call INTEGER NOT NULL, at INTEGER NOT NULL,
                                       manifest BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS parts (trace TEXT NOT NULL, piece TEXT NOT NULL, PRIMARY KEY (trace, piece)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS parts_by_piece ON parts (piece);
    CREATE INDEX IF NOT EXISTS traces_by_experiment ON traces (experiment);
    CREATE INDEX IF NOT EXISTS traces_by_time ON traces (at);
";

#[derive(Debug, Error)]
pub enum TraceError {
    #[error("could not make the folder {}", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("could not use the traces in {}", path.display())]
    Database { path: PathBuf, source: rusqlite::Error },
    #[error("could not compress a trace")]
    Compress { source: std::io::Error },
}

/// The traces of one study.
pub struct Store {
    db: Connection,
    path: PathBuf,
}

/// A call as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    pub call: Call,
    pub at: Timestamp,
    pub path: String,
    pub status: Option<u16>,
    pub content_type: String,
    pub end: CallEnd,
    /// Whether the answer went on.
    pub cut: bool,
    pub replayed: bool,
    /// How often something was taken out of it before it was stored.
    pub redacted: u64,
    pub request: Vec<u8>,
    pub answer: Vec<u8>,
    /// When how much of the answer was there, since the call was made.
    pub times: Vec<(Millis, u64)>,
}

/// What became of a trace that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Whole(Box<Trace>),
    /// Forgotten, too old, or lost with the power.
    Gone,
    Damaged {
        what: String,
    },
}

/// Which traces to forget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    All,
    Of(Vec<ExperimentId>),
    Before(Timestamp),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    call: Call,
    at: Timestamp,
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    content_type: String,
    end: CallEnd,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
    #[serde(default)]
    redacted: u64,
    request: Vec<BlobId>,
    answer: BlobId,
    times: Vec<(Millis, u64)>,
}

impl Store {
    pub fn folder(state: &Path) -> PathBuf {
        state.join("traces")
    }

    /// Opens the traces of a study for writing, and makes the place for them.
    pub fn open(state: &Path) -> Result<Store, TraceError> {
        let folder = Store::folder(state);
        fs::create_dir_all(&folder).map_err(|source| TraceError::Folder { path: folder.clone(), source })?;
        let path = folder.join("traces.db");
        let open = || -> rusqlite::Result<Connection> {
            let db = Connection::open(&path)?;
            db.busy_timeout(std::time::Duration::from_secs(10))?;
            db.pragma_update(None, "journal_mode", "WAL")?;
            // Torn by a power loss it never is, and the latest may be gone.
            db.pragma_update(None, "synchronous", "NORMAL")?;
            // What is forgotten must not be left in the file.
            db.pragma_update(None, "secure_delete", true)?;
            db.execute_batch(SCHEMA)?;
            Ok(db)
        };
        let db = open().map_err(|source| TraceError::Database { path: path.clone(), source })?;
        Ok(Store { db, path })
    }

    /// The same where something was stored before.
    pub fn find_to_write(state: &Path) -> Result<Option<Store>, TraceError> {
        let is_there = Store::folder(state).join("traces.db").exists();
        is_there.then(|| Store::open(state)).transpose()
    }

    /// Opens them for reading; `None` where nothing was ever stored.
    pub fn find(state: &Path) -> Result<Option<Store>, TraceError> {
        let path = Store::folder(state).join("traces.db");
        if !path.exists() {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || -> rusqlite::Result<(Connection, bool)> {
            let db = Connection::open_with_flags(&path, flags)?;
            // Whoever made it may have been killed before there was anything in it.
            let is_blank = db.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0))? == 0;
            Ok((db, is_blank))
        };
        let (db, is_blank) = open().map_err(|source| TraceError::Database { path: path.clone(), source })?;
        Ok((!is_blank).then_some(Store { db, path }))
    }

    /// Stores a call without what must not be kept, and names it.
    pub fn put(
        &mut self,
        call: &Call,
        exchange: &Exchange,
        at: Timestamp,
        redactor: &Redactor,
    ) -> Result<BlobId, TraceError> {
        let Exchange { path, request, status, content_type, chunks, cut, end, replayed } = exchange;
        let (request, in_request) = redactor.body(request);
        let whole: Vec<u8> = chunks.iter().flat_map(|(_, bytes)| bytes).copied().collect();
        let (answer, in_answer) = redactor.body(&whole);
        let mut names = Vec::new();
        let mut stored: Vec<(BlobId, &[u8])> = Vec::new();
        for piece in pieces(&request) {
            let id = BlobId::of(piece);
            names.push(id.clone());
            stored.push((id, piece));
        }
        let manifest = Manifest {
            call: call.clone(),
            at,
            path: redactor.text(path),
            status: *status,
            content_type: content_type.clone(),
            end: *end,
            cut: *cut,
            replayed: *replayed,
            redacted: in_request + in_answer,
            request: names,
            answer: BlobId::of(&answer),
            times: times(chunks, answer.len() as u64),
        };
        stored.push((manifest.answer.clone(), &answer));
        let manifest = serde_json::to_vec(&manifest).unwrap_or_default();
        let id = BlobId::of(&manifest);
        let experiment = experiment_of(call).0 as i64;
        let pack = |bytes: &[u8]| zstd::bulk::compress(bytes, LEVEL).map_err(|source| TraceError::Compress { source });
        let packed = pack(&manifest)?;
        let mut new: Vec<(BlobId, Option<Vec<u8>>)> = Vec::new();
        for (piece, bytes) in stored {
            let is_known = self.has(&piece)?;
            new.push((piece, if is_known { None } else { Some(pack(bytes)?) }));
        }
        let path = self.path.clone();
        let mut write = || -> rusqlite::Result<()> {
            let transaction = self.db.transaction()?;
            {
                let mut piece = transaction.prepare_cached("INSERT OR IGNORE INTO pieces VALUES (?1, ?2)")?;
                let mut part = transaction.prepare_cached("INSERT OR IGNORE INTO parts VALUES (?1, ?2)")?;
                for (name, bytes) in &new {
                    if let Some(bytes) = bytes {
                        piece.execute(params![name.0, bytes])?;
                    }
                    part.execute(params![id.0, name.0])?;
                }
                let mut trace =
                    transaction.prepare_cached("INSERT OR IGNORE INTO traces VALUES (?1, ?2, ?3, ?4, ?5)")?;
                trace.execute(params![id.0, experiment, call.id.0 as i64, at.0, packed])?;
            }
            transaction.commit()
        };
        write().map_err(|source| TraceError::Database { path, source })?;
        Ok(id)
    }

    fn has(&self, piece: &BlobId) -> Result<bool, TraceError> {
        let mut select = self.db.prepare_cached("SELECT 1 FROM pieces WHERE id = ?1").map_err(|e| self.trouble(e))?;
        select.exists([&piece.0]).map_err(|e| self.trouble(e))
    }

    /// Reads a trace back, and holds all of it against its names.
    pub fn get(&self, id: &BlobId) -> Result<Found, TraceError> {
        let packed: Option<Vec<u8>> = self
            .db
            .prepare_cached("SELECT manifest FROM traces WHERE id = ?1")
            .and_then(|mut select| select.query_row([&id.0], |row| row.get(0)).optional())
            .map_err(|e| self.trouble(e))?;
        let Some(packed) = packed else { return Ok(Found::Gone) };
        let damaged = |what: &str| Ok(Found::Damaged { what: what.to_owned() });
        let Some(bytes) = unpack(&packed).filter(|bytes| BlobId::of(bytes) == *id) else {
            return damaged("the trace does not have the hash that it is named by");
        };
        let Ok(manifest) = serde_json::from_slice::<Manifest>(&bytes) else {
            return damaged("the trace was written by a later version");
        };
        let mut request = Vec::new();
        for piece in &manifest.request {
            match self.piece(piece)? {
                Some(bytes) => request.extend_from_slice(&bytes),
                None => {
                    return damaged("a piece of the request is missing, or does not have the hash that it is named by");
                }
            }
        }
        let Some(answer) = self.piece(&manifest.answer)? else {
            return damaged("the answer is missing, or does not have the hash that it is named by");
        };
        let Manifest { call, at, path, status, content_type, end, cut, replayed, redacted, times, .. } = manifest;
        let trace =
            Trace { call, at, path, status, content_type, end, cut, replayed, redacted, request, answer, times };
        Ok(Found::Whole(Box::new(trace)))
    }

    fn piece(&self, id: &BlobId) -> Result<Option<Vec<u8>>, TraceError> {
        let packed: Option<Vec<u8>> = self
            .db
            .prepare_cached("SELECT bytes FROM pieces WHERE id = ?1")
            .and_then(|mut select| select.query_row([&id.0], |row| row.get(0)).optional())
            .map_err(|e| self.trouble(e))?;
        Ok(packed.and_then(|packed| unpack(&packed)).filter(|bytes| BlobId::of(bytes) == *id))
    }

    /// The names of all traces of an experiment, in the order of their calls.
    pub fn of(&self, experiment: ExperimentId) -> Result<Vec<BlobId>, TraceError> {
        let all = || -> rusqlite::Result<Vec<BlobId>> {
            let mut select =
                self.db.prepare_cached("SELECT id FROM traces WHERE experiment = ?1 ORDER BY call, at, id")?;
            select.query_map([experiment.0 as i64], |row| row.get(0).map(BlobId))?.collect()
        };
        all().map_err(|e| self.trouble(e))
    }

    /// How many traces there are of those, and what they are of in all.
    pub fn count(&self, which: &Which) -> Result<u64, TraceError> {
        let count = |clause: &str, value: i64| {
            self.db.query_row(&format!("SELECT count(*) FROM traces WHERE {clause}"), [value], |row| {
                row.get::<_, i64>(0).map(|count| count as u64)
            })
        };
        let counted = match which {
            Which::All => count("?1 = 0", 0),
            Which::Of(experiments) => experiments.iter().map(|id| count("experiment = ?1", id.0 as i64)).sum(),
            Which::Before(at) => count("at < ?1", at.0),
        };
        counted.map_err(|e| self.trouble(e))
    }

    /// Erases traces, and the pieces that no other trace names. What was there is overwritten.
    pub fn forget(&mut self, which: &Which) -> Result<u64, TraceError> {
        let path = self.path.clone();
        let mut erase = || -> rusqlite::Result<u64> {
            let transaction = self.db.transaction()?;
            let delete = |clause: &str, value: i64| -> rusqlite::Result<u64> {
                transaction.execute(
                    &format!("DELETE FROM parts WHERE trace IN (SELECT id FROM traces WHERE {clause})"),
                    [value],
                )?;
                Ok(transaction.execute(&format!("DELETE FROM traces WHERE {clause}"), [value])? as u64)
            };
            let erased = match which {
                Which::All => delete("?1 = 0", 0)?,
                Which::Of(ids) => {
                    ids.iter().map(|id| delete("experiment = ?1", id.0 as i64)).sum::<Result<u64, _>>()?
                }
                Which::Before(at) => delete("at < ?1", at.0)?,
            };
            transaction.execute("DELETE FROM pieces WHERE id NOT IN (SELECT piece FROM parts)", [])?;
            transaction.commit()?;
            Ok(erased)
        };
        let erased = erase().map_err(|source| TraceError::Database { path, source })?;
        if erased > 0 {
            // The journal still holds the pages as they were.
            let _ = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
        Ok(erased)
    }

    /// Erases the oldest until no more than this is taken on disk.
    pub fn shrink(&mut self, most: u64) -> Result<u64, TraceError> {
        let mut erased = 0;
        loop {
            let used = "SELECT (SELECT coalesce(sum(length(bytes)), 0) FROM pieces) + (SELECT coalesce(sum(length(manifest)), 0) FROM traces)";
            let used: i64 = self.db.query_row(used, [], |row| row.get(0)).map_err(|e| self.trouble(e))?;
            if used as u64 <= most {
                return Ok(erased);
            }
            // A tenth at a time.
            let cut: Option<i64> = self
                .db
                .query_row(
                    "SELECT at FROM traces ORDER BY at LIMIT 1 OFFSET (SELECT count(*) / 10 FROM traces)",
                    [],
                    |row| row.get(0),
                )
                .optional()
                .map_err(|e| self.trouble(e))?;
            match cut {
                Some(at) => erased += self.forget(&Which::Before(Timestamp(at + 1)))?,
                None => return Ok(erased),
            }
        }
    }

    fn trouble(&self, source: rusqlite::Error) -> TraceError {
        TraceError::Database { path: self.path.clone(), source }
    }
}

pub fn experiment_of(call: &Call) -> ExperimentId {
    match &call.caller {
        Caller::Agent { experiment, .. } | Caller::Task { experiment, .. } | Caller::Scorer { experiment, .. } => {
            *experiment
        }
    }
}

fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let length = zstd::zstd_safe::get_frame_content_size(packed).ok().flatten()?;
    let length = usize::try_from(length).ok().filter(|length| *length <= MOST_PIECE)?;
    zstd::bulk::decompress(packed, length).ok()
}

/// When how much was there. What was redacted is shorter: no time is said of what is no longer there.
fn times(chunks: &[(Millis, Vec<u8>)], length: u64) -> Vec<(Millis, u64)> {
    let every = chunks.len().div_ceil(MOST_TIMES).max(1);
    let mut end = 0;
    let mut times: Vec<(Millis, u64)> = Vec::new();
    for (at, (time, bytes)) in chunks.iter().enumerate() {
        end += bytes.len() as u64;
        if at % every == 0 || at + 1 == chunks.len() {
            times.push((*time, end.min(length)));
        }
    }
    times
}
