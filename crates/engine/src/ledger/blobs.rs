//! Contents by their hash: small ones in the database, large ones as files.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use overnight_model::BlobId;
use rusqlite::{Connection, OptionalExtension};

use super::LedgerError;

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
