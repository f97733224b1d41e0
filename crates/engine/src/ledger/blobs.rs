//! Contents by their hash: small ones in the database, large ones as files.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use overnight_model::BlobId;
use rusqlite::{Connection, OptionalExtension};

use super::LedgerError;
use crate::workspace::overwrite;

/// Up to here contents live in the database: atomic with their event, and two syncs cheaper than a file.
pub const SMALL_BLOB: usize = 64 * 1024;

/// Puts contents where they belong. A file is complete and synced before the event that names it.
pub(super) fn put(db: &Connection, dir: &Path, bytes: &[u8]) -> Result<BlobId, LedgerError> {
    let id = BlobId::of(bytes);
    if bytes.len() <= SMALL_BLOB {
        let mut insert = db.prepare_cached("INSERT OR IGNORE INTO blobs VALUES (?1, ?2)").map_err(|e| write(dir, e))?;
        insert.execute((&id.0, bytes)).map_err(|e| write(dir, e))?;
    } else {
        let path = path_of(dir, &id);
        put_file(&path, bytes, &id).map_err(|source| LedgerError::Blob { what: "contents", path, source })?;
    }
    Ok(id)
}

/// Reads contents back; `None` when they are gone or do not hash to their name.
pub(super) fn get(db: &Connection, dir: &Path, id: &BlobId) -> Result<Option<Vec<u8>>, LedgerError> {
    let mut select = db.prepare_cached("SELECT bytes FROM blobs WHERE id = ?1").map_err(|e| read(dir, e))?;
    let small: Option<Vec<u8>> = select.query_row([&id.0], |row| row.get(0)).optional().map_err(|e| read(dir, e))?;
    let found = small.or_else(|| fs::read(path_of(dir, id)).ok());
    Ok(found.filter(|bytes| BlobId::of(bytes) == *id))
}

/// Whether anything is stored under this name, whole or not.
pub(super) fn is_there(db: &Connection, dir: &Path, id: &BlobId) -> Result<bool, LedgerError> {
    let mut select = db.prepare_cached("SELECT 1 FROM blobs WHERE id = ?1").map_err(|e| read(dir, e))?;
    Ok(select.exists([&id.0]).map_err(|e| read(dir, e))? || path_of(dir, id).exists())
}

/// Erases contents: overwritten, and gone.
pub(super) fn erase(db: &mut Connection, dir: &Path, ids: &[BlobId]) -> Result<(), LedgerError> {
    for path in ids.iter().map(|id| path_of(dir, id)).filter(|path| path.exists()) {
        overwrite(&path).map_err(|source| LedgerError::Blob { what: "contents", path, source })?;
    }
    let mut delete = || -> rusqlite::Result<()> {
        let zeros = "UPDATE blobs SET bytes = zeroblob(length(bytes)) WHERE id = ?1";
        each(db, ids, zeros)?;
        // What was there, and what moved within the file since it was written, lies in pages that are free by now; and the
        // log still holds pages as they were.
        db.execute_batch("VACUUM")?;
        let is_read = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))? != 0;
        if is_read {
            let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
            return Err(rusqlite::Error::SqliteFailure(busy, Some("somebody is reading it".to_owned())));
        }
        // Only now: as long as there are rows, the same wish finds something to do.
        each(db, ids, "DELETE FROM blobs WHERE id = ?1")
    };
    delete().map_err(|e| write(dir, e))
}

fn each(db: &mut Connection, ids: &[BlobId], sql: &str) -> rusqlite::Result<()> {
    let transaction = db.transaction()?;
    for id in ids {
        transaction.execute(sql, [&id.0])?;
    }
    transaction.commit()
}

fn path_of(dir: &Path, id: &BlobId) -> PathBuf {
    let (head, tail) = id.0.split_at(id.0.len().min(2));
    dir.join("blobs").join(head).join(tail)
}

/// A file that is there but short was torn by a crash: it is made again.
fn put_file(path: &Path, bytes: &[u8], id: &BlobId) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| BlobId::of(&there) == *id) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let temporary = path.with_extension("new");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    // The name has to last as well, in each folder that may be new.
    for folder in folder.ancestors().take(3) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn write(dir: &Path, source: rusqlite::Error) -> LedgerError {
    let path = dir.join("ledger.db");
    match super::schema::full(&source) {
        true => LedgerError::Full { path },
        false => LedgerError::Write { path, source },
    }
}

fn read(dir: &Path, source: rusqlite::Error) -> LedgerError {
    LedgerError::Read { path: dir.join("ledger.db"), source }
}
