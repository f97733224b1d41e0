//! The one writer of a ledger.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use overnight_model::study::{Row, Summary};
use overnight_model::{BlobId, Event, State};
use rusqlite::{Connection, Transaction};

use super::chain::ChainHash;
use super::{LedgerError, Reader, blobs, filesystem, reader, schema};

/// The ledger of one study, open for writing.
#[derive(Debug)]
pub struct Ledger {
    /// Closed before the writer, which then folds the write-ahead log into the file: a reader may not.
    reader: Reader,
    db: Connection,
    dir: PathBuf,
    seq: u64,
    head: ChainHash,
}

/// One turn of the loop: what happened, and what views will read of it. It is stored whole or not at all.
#[derive(Debug, Default)]
pub struct Turn<'a> {
    pub events: &'a [Event],
    pub blobs: &'a [Vec<u8>],
    pub rows: &'a [Row],
    pub summary: Option<&'a Summary>,
}

impl Ledger {
    /// Opens the ledger in `dir`, making it when there is none, and folds it. The chain is checked on the way.
    pub fn open(dir: &Path) -> Result<(Ledger, State), LedgerError> {
        fs::create_dir_all(dir).map_err(|source| LedgerError::Folder { path: dir.to_owned(), source })?;
        if let Some(kind) = filesystem::network_filesystem(dir) {
            return Err(LedgerError::Network { path: dir.to_owned(), kind });
        }
        let path = dir.join("ledger.db");
        let db = schema::open_writer(&path)?;
        let mut state = State::default();
        let mut end = (0, ChainHash::ROOT);
        reader::each_event(&db, &path, |stored| {
            reader::fold(&mut state, &stored);
            end = (stored.seq, stored.hash);
            Ok(())
        })?;
        let (seq, head) = end;
        if seq == 0 {
            // SQLite syncs the file; that the file has a name has to last too, in each folder that may be new. Also
            // when a run was killed here before: then they are there, and nobody knows whether they last.
            for folder in dir.ancestors().take(3) {
                let synced = File::open(folder).and_then(|folder| folder.sync_all());
                synced.map_err(|source| LedgerError::Folder { path: folder.to_owned(), source })?;
            }
        }
        let reader = Reader::open(dir)?;
        Ok((Ledger { db, reader, dir: dir.to_owned(), seq, head }, state))
    }

    /// Makes a turn durable. When this returns, it survives anything; when it fails, nothing of it exists.
    pub fn append(&mut self, turn: &Turn<'_>) -> Result<(), LedgerError> {
        let path = self.path();
        let failed = |source: rusqlite::Error| match schema::full(&source) {
            true => LedgerError::Full { path: path.clone() },
            false => LedgerError::Write { path: path.clone(), source },
        };
        let transaction = self.db.transaction().map_err(failed)?;
        for bytes in turn.blobs {
            blobs::put(&transaction, &self.dir, bytes)?;
        }
        let (mut seq, mut head) = (self.seq, self.head);
        for event in turn.events {
            seq += 1;
            head = insert_event(&transaction, seq, head, event).map_err(failed)?;
        }
        for row in turn.rows {
            insert_row(&transaction, row).map_err(failed)?;
        }
        if let Some(summary) = turn.summary {
            insert_summary(&transaction, summary).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        (self.seq, self.head) = (seq, head);
        Ok(())
    }

    /// Reads contents back.
    pub fn blob(&self, id: &BlobId) -> Result<Vec<u8>, LedgerError> {
        blobs::get(&self.db, &self.dir, id)?.ok_or_else(|| LedgerError::NoBlob { id: id.0.clone() })
    }

    /// Erases contents for good. The events that name them stay, and so does the chain.
    pub fn erase(&mut self, ids: &[BlobId]) -> Result<(), LedgerError> {
        match ids {
            [] => Ok(()),
            ids => blobs::erase(&mut self.db, &self.dir, ids),
        }
    }

    /// The same ledger for looking at it.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The number of the last event, and the hash that covers it and everything before.
    pub fn end(&self) -> (u64, ChainHash) {
        (self.seq, self.head)
    }

    pub fn path(&self) -> PathBuf {
        self.dir.join("ledger.db")
    }
}

fn insert_event(db: &Transaction<'_>, seq: u64, head: ChainHash, event: &Event) -> rusqlite::Result<ChainHash> {
    let body =
        serde_json::to_string(&event.what).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let hash = head.next(seq, event.at, body.as_bytes());
    let experiment = event.what.experiment().map(|id| id.0 as i64);
    db.prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute((seq as i64, event.at.0, experiment, body, hash.0))?;
    Ok(hash)
}

fn insert_row(db: &Transaction<'_>, row: &Row) -> rusqlite::Result<()> {
    let Row {
        experiment,
        segment,
        parent,
        commit,
        agent,
        description,
        verdict,
        reason,
        metric,
        gain,
        gain_low,
        gain_high,
        trials,
        seconds,
        cost_usd,
        started_at,
    } = row;
    db.prepare_cached(
        "INSERT OR REPLACE INTO experiments VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,
            ?16)",
    )?
    .execute(rusqlite::params![
        experiment.0 as i64,
        segment,
        parent.as_ref().map(|id| &id.0),
        commit.as_ref().map(|id| &id.0),
        agent,
        description,
        verdict.map(|verdict| verdict.name()),
        reason,
        metric,
        gain,
        gain_low,
        gain_high,
        trials,
        seconds,
        started_at.0,
        cost_usd,
    ])?;
    Ok(())
}

fn insert_summary(db: &Transaction<'_>, summary: &Summary) -> rusqlite::Result<()> {
    let body = serde_json::to_string(summary).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    db.prepare_cached("INSERT OR REPLACE INTO summary VALUES (1, ?1)")?.execute([body])?;
    Ok(())
}
