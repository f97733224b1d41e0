//! Tables, and how a connection is set up.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::{FormatVersion, LedgerError};

/// A reader that checkpoints may hold the file for a moment; a second writer is kept out by the engine's lock.
const BUSY: Duration = Duration::from_secs(10);

const TABLES: &str = "
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    experiment INTEGER,
    body TEXT NOT NULL,
    hash BLOB NOT NULL
);
CREATE INDEX events_by_experiment ON events (experiment) WHERE experiment IS NOT NULL;
CREATE TABLE blobs (id TEXT PRIMARY KEY, bytes BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE experiments (
    experiment INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    parent TEXT,
    commit_id TEXT,
    agent TEXT NOT NULL,
    description TEXT NOT NULL,
    verdict TEXT,
    reason TEXT,
    metric REAL,
    gain REAL,
    gain_low REAL,
    gain_high REAL,
    trials INTEGER NOT NULL,
    seconds REAL,
    started_at INTEGER NOT NULL,
    cost_usd REAL
);
CREATE INDEX experiments_kept ON experiments (experiment) WHERE verdict = 'kept';
CREATE TABLE summary (id INTEGER PRIMARY KEY CHECK (id = 1), body TEXT NOT NULL);
";

/// Events of the study itself are few among very many: what was imported is found at once. Older ledgers lack it.
const INDEX: &str = "CREATE INDEX IF NOT EXISTS events_of_study ON events (experiment) WHERE experiment IS NULL";

/// Opens the ledger for its one writer, making the tables when there are none.
pub(super) fn open_writer(path: &Path) -> Result<Connection, LedgerError> {
    let open = |source| LedgerError::Open { path: path.to_owned(), source };
    let db = Connection::open(path).map_err(open)?;
    set_up(&db).map_err(|source| match source.sqlite_error_code() {
        _ if full(&source) => LedgerError::Full { path: path.to_owned() },
        Some(rusqlite::ErrorCode::NotADatabase) => LedgerError::NotALedger { path: path.to_owned() },
        _ => open(source),
    })?;
    let version = version(&db, path)?;
    if !version.is_writable() {
        let known = FormatVersion::CURRENT;
        return Err(LedgerError::Newer { path: path.to_owned(), found: version, known });
    }
    if version < FormatVersion::CURRENT {
        // What is added from now on is not for older engines to build on.
        let current = FormatVersion::CURRENT.to_string();
        db.execute_batch(INDEX).map_err(open)?;
        db.execute("UPDATE meta SET value = ?1 WHERE name = 'format'", [current]).map_err(open)?;
    }
    if !has_costs(&db).map_err(open)? {
        db.execute_batch("ALTER TABLE experiments ADD COLUMN cost_usd REAL").map_err(open)?;
    }
    Ok(db)
}

/// Whether rows say what they cost; those of older engines do not.
pub(super) fn has_costs(db: &Connection) -> rusqlite::Result<bool> {
    let named = "SELECT count(*) FROM pragma_table_info('experiments') WHERE name = 'cost_usd'";
    db.query_row(named, [], |row| row.get::<_, i64>(0)).map(|found| found > 0)
}

/// Opens the ledger for looking at it, also while an engine writes.
pub(super) fn open_reader(path: &Path) -> Result<Connection, LedgerError> {
    let open = |source| LedgerError::Open { path: path.to_owned(), source };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(open)?;
    db.busy_timeout(BUSY).map_err(open)?;
    match version(&db, path) {
        Ok(_) => Ok(db),
        // A reader makes shared memory beside the file, which a full or read-only disk does not allow. Without a
        // write-ahead log nobody is writing, and the file alone is the ledger.
        Err(LedgerError::Open { .. } | LedgerError::Full { .. }) if !wal(path).exists() => {
            let db = Connection::open_with_flags(immutable(path), flags | OpenFlags::SQLITE_OPEN_URI).map_err(open)?;
            version(&db, path)?;
            Ok(db)
        }
        Err(error) => Err(error),
    }
}

/// Whether a database holds nothing at all.
pub(super) fn is_blank(path: &Path) -> bool {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let count = |db: Connection| db.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0));
    let ordinary = Connection::open_with_flags(path, flags).and_then(count);
    // A writer that was killed while it made the file left a journal that only a writer may roll back; there is
    // nothing in the file itself then.
    let as_it_lies =
        || Connection::open_with_flags(immutable(path), flags | OpenFlags::SQLITE_OPEN_URI).and_then(count);
    ordinary.or_else(|_| as_it_lies()).is_ok_and(|tables| tables == 0)
}

fn wal(path: &Path) -> PathBuf {
    path.with_extension("db-wal")
}

fn immutable(path: &Path) -> String {
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{escaped}?immutable=1")
}

/// Whether SQLite says that the disk is full.
pub(super) fn full(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    // A write-ahead log that cannot grow its shared memory says "I/O error" instead of "full".
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
        || code == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}

fn set_up(db: &Connection) -> rusqlite::Result<()> {
    db.busy_timeout(BUSY)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    let made: Option<String> =
        db.query_row("SELECT name FROM sqlite_master WHERE name = 'meta'", [], |row| row.get(0)).optional()?;
    if made.is_none() {
        let version = FormatVersion::CURRENT.to_string();
        db.execute_batch("BEGIN IMMEDIATE")?;
        db.execute_batch(TABLES)?;
        db.execute_batch(INDEX)?;
        db.execute("INSERT INTO meta VALUES ('format', ?1)", [version])?;
        db.execute_batch("COMMIT")?;
    }
    Ok(())
}

fn version(db: &Connection, path: &Path) -> Result<FormatVersion, LedgerError> {
    let not_ours = || LedgerError::NotALedger { path: path.to_owned() };
    let read = db.query_row("SELECT value FROM meta WHERE name = 'format'", [], |row| row.get::<_, String>(0));
    match read {
        Ok(text) => FormatVersion::parse(&text).ok_or_else(not_ours),
        Err(source) if source.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => Err(not_ours()),
        Err(rusqlite::Error::SqliteFailure(_, Some(text))) if text.contains("no such table") => Err(not_ours()),
        Err(source) if full(&source) => Err(LedgerError::Full { path: path.to_owned() }),
        Err(source) => Err(LedgerError::Open { path: path.to_owned(), source }),
    }
}
