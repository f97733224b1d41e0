//! Searching everything that was ever tried: a projection of the ledger in a file of its own.
//!
//! The engine never writes it, so that an experiment costs no more for it. Whoever searches brings it up to date first, by
//! the events since; one that is missing, damaged, of another make or of another ledger is made anew. Where it cannot be
//! written it is made in memory for one search. Nothing is ever read from it but the numbers of experiments.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use overnight_model::ExperimentId;
use overnight_model::study::Row;
use rusqlite::{Connection, OptionalExtension};

use super::search_text::Texts;
use super::{LedgerError, Reader};

/// Raised whenever something else is put in: an older file is made anew.
const EDITION: &str = "1";
/// Another search may be bringing it up to date.
const BUSY: Duration = Duration::from_secs(30);

const TABLES: &str = "
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE found USING fts5 (description, reason, agent, change, tokenize = 'unicode61 remove_diacritics 2');
";

/// The words to look for, as the index understands them; `None` where there is nothing to look for.
///
/// Every word is taken to the letter and may go on: `*`, `NEAR` and quotes mean nothing else here.
pub fn query(words: &str) -> Option<String> {
    let quoted = |word: &str| format!("\"{}\"*", word.replace('"', "\"\""));
    let words: Vec<String> =
        words.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).map(quoted).collect();
    (!words.is_empty()).then(|| words.join(" AND "))
}

impl Reader {
    /// Every experiment in which all of the words are found, in order: in its description, its reason, the name of its
    /// agent, or the lines that it changed.
    pub fn search(&self, words: &str) -> Result<Vec<Row>, LedgerError> {
        let Some(query) = query(words) else { return Ok(Vec::new()) };
        let path = self.dir.join("search.db");
        let found = match self.search_in(&path, &query) {
            Ok(found) => found,
            Err(LedgerError::Read { .. }) => {
                // Damaged, or a disk that takes nothing: it can be made again, if need be in memory alone.
                remove(&path);
                match self.search_in(&path, &query) {
                    Err(LedgerError::Read { .. }) => self.search_in(Path::new(":memory:"), &query)?,
                    other => other?,
                }
            }
            Err(error) => return Err(error),
        };
        let mut rows = Vec::new();
        for id in found {
            rows.extend(self.row(ExperimentId(id as u64))?);
        }
        Ok(rows)
    }

    fn search_in(&self, path: &Path, query: &str) -> Result<Vec<i64>, LedgerError> {
        let failed = |source| LedgerError::Read { path: path.to_owned(), source };
        let mut db = Connection::open(path).map_err(failed)?;
        db.busy_timeout(BUSY).map_err(failed)?;
        self.bring_up_to_date(&mut db, path)?;
        let sql = "SELECT rowid FROM found WHERE found MATCH ?1 ORDER BY rowid";
        let mut statement = db.prepare(sql).map_err(failed)?;
        let rows = statement.query_map([query], |row| row.get(0)).map_err(failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    fn bring_up_to_date(&self, db: &mut Connection, path: &Path) -> Result<(), LedgerError> {
        let failed = |source| LedgerError::Read { path: path.to_owned(), source };
        let transaction = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(failed)?;
        let mut done = known(&transaction).map_err(failed)?;
        if let Some((seq, hash)) = &done
            && self.hash_at(*seq)?.as_ref() != Some(hash)
        {
            done = None;
        }
        if done.is_none() {
            let clear = "DROP TABLE IF EXISTS found; DROP TABLE IF EXISTS meta;";
            transaction.execute_batch(clear).and_then(|()| transaction.execute_batch(TABLES)).map_err(failed)?;
        }
        let (since, end) = (done.map_or(0, |(seq, _)| seq), self.end()?);
        if since < end {
            let mut texts = Texts::of(self)?;
            for id in self.touched_since(since, end)? {
                let Some(row) = self.row(ExperimentId(id as u64))? else { continue };
                let change = texts.change(&row)?;
                let put = || {
                    transaction.prepare_cached("DELETE FROM found WHERE rowid = ?1")?.execute([id])?;
                    transaction
                        .prepare_cached(
                            "INSERT INTO found (rowid, description, reason, agent, change) VALUES (?1, ?2, ?3, ?4, ?5)",
                        )?
                        .execute((id, &row.description, &row.reason, &row.agent, change))
                };
                put().map_err(failed)?;
            }
            let hash = self.hash_at(end)?.unwrap_or_default();
            for (name, value) in [("edition", EDITION.to_owned()), ("seq", end.to_string()), ("hash", hash)] {
                transaction.execute("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", (name, value)).map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)
    }

    /// The hash that covers an event and everything before it.
    fn hash_at(&self, seq: u64) -> Result<Option<String>, LedgerError> {
        let sql = "SELECT lower(hex(hash)) FROM events WHERE seq = ?1";
        self.db.query_row(sql, [seq as i64], |row| row.get(0)).optional().map_err(|e| self.failed(e))
    }

    fn touched_since(&self, since: u64, end: u64) -> Result<Vec<i64>, LedgerError> {
        let sql = "SELECT DISTINCT experiment FROM events
            WHERE seq > ?1 AND seq <= ?2 AND experiment IS NOT NULL ORDER BY experiment";
        let mut statement = self.db.prepare_cached(sql).map_err(|e| self.failed(e))?;
        let rows = statement.query_map((since as i64, end as i64), |row| row.get(0)).map_err(|e| self.failed(e))?;
        rows.collect::<Result<_, _>>().map_err(|e| self.failed(e))
    }
}

/// Up to which event an index goes, and the hash of that; `None` where it has to be made anew.
fn known(db: &Connection) -> rusqlite::Result<Option<(u64, String)>> {
    let tables = "SELECT count(*) FROM sqlite_master WHERE name IN ('meta', 'found')";
    if db.query_row(tables, [], |row| row.get::<_, i64>(0))? != 2 {
        return Ok(None);
    }
    let read = |name: &str| {
        db.query_row("SELECT value FROM meta WHERE name = ?1", [name], |row| row.get::<_, String>(0)).optional()
    };
    let is_ours = read("edition")?.as_deref() == Some(EDITION);
    let seq = read("seq")?.and_then(|seq| seq.parse().ok());
    Ok(seq.zip(read("hash")?).filter(|_| is_ours))
}

fn remove(path: &Path) {
    let beside = |end: &str| PathBuf::from(format!("{}{end}", path.display()));
    for path in [path.to_owned(), beside("-journal"), beside("-wal"), beside("-shm")] {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_taken_to_the_letter() {
        assert_eq!(query("learning_rate 0.02").as_deref(), Some("\"learning_rate\"* AND \"0.02\"*"));
        assert_eq!(query("a\"b NEAR( *").as_deref(), Some("\"a\"\"b\"* AND \"NEAR(\"*"));
        assert_eq!(query(" \" * () "), None);
    }
}
