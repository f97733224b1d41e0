//! What a live view asks of a ledger that somebody else writes to: whether there is more, and as little as will do.

use overnight_model::study::Row;
use overnight_model::verdict::Group;
use overnight_model::{ExperimentId, Timestamp, Verdict, What};
use rusqlite::{ToSql, params_from_iter};

use super::reader::stored;
use super::{LedgerError, Reader, StoredEvent};

/// One experiment as a chart and a count need it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    pub experiment: ExperimentId,
    pub segment: u32,
    pub verdict: Option<Verdict>,
    pub metric: Option<f64>,
    pub started_at: Timestamp,
}

/// Which experiments are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub group: Option<Group>,
    /// Each of them has to be in its idea, reason or agent.
    pub words: Vec<String>,
}

const LAST_START: &str = "SELECT seq, at, body, hash FROM events WHERE experiment IS NULL
    AND body LIKE '{\"kind\":\"run_started\"%' ORDER BY seq DESC LIMIT 1";

const LAST_OF_STUDY: &str = "SELECT seq, at, body, hash FROM events WHERE experiment IS NULL AND seq > ?1 ORDER BY seq";

const SEGMENTS: &str = "SELECT seq, at, body, hash FROM events WHERE experiment IS NULL
    AND body LIKE '{\"kind\":\"segment_opened\"%' ORDER BY seq";

const MOVES: &str = "SELECT seq, at, body, hash FROM events WHERE experiment = ?1
    AND (body LIKE '{\"kind\":\"branch_advanced\"%' OR body LIKE '{\"kind\":\"reviewed\"%') ORDER BY seq";

/// How many events before one are asked which experiment had begun by then.
const BEFORE: &str = "SELECT max(experiment) FROM
    (SELECT experiment FROM events WHERE seq <= ?1 AND experiment IS NOT NULL ORDER BY seq DESC LIMIT 64)";

impl Reader {
    /// Another number than before once somebody else has written to the ledger. It costs next to nothing to ask.
    pub fn version(&self) -> Result<i64, LedgerError> {
        self.db.query_row("PRAGMA data_version", [], |row| row.get(0)).map_err(|e| self.failed(e))
    }

    /// What happened after an event, in order, at most so many.
    pub fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<StoredEvent>, LedgerError> {
        let sql = "SELECT seq, at, body, hash FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2";
        self.events(sql, &[&(seq as i64), &(limit as i64)])
    }

    /// The start of the last run and what has happened to the study as a whole since.
    pub fn last_run(&self) -> Result<Vec<StoredEvent>, LedgerError> {
        let mut found = self.events(LAST_START, &[])?;
        if let Some(start) = found.first() {
            let seq = start.seq as i64;
            found.extend(self.events(LAST_OF_STUDY, &[&seq])?);
        }
        Ok(found)
    }

    /// How the branch moved, in order, each with the last experiment that had begun by then. Only `standing` can have moved
    /// it: what is or was champion, and baselines.
    pub fn moves(&self, standing: &[ExperimentId]) -> Result<Vec<(ExperimentId, StoredEvent)>, LedgerError> {
        let mut found: Vec<(ExperimentId, StoredEvent)> = Vec::new();
        for stored in self.events(SEGMENTS, &[])? {
            found.push((ExperimentId(0), stored));
        }
        for id in standing {
            let moves = self.events(MOVES, &[&(id.0 as i64)])?;
            let is_reviewed = moves.iter().any(|stored| matches!(stored.event.what, What::Reviewed(_)));
            for stored in moves {
                // A keep comes where it began. A retreat and a person's word come where the study is by then.
                let is_late = |what: &What| matches!(what, What::BranchAdvanced { retracted: Some(_), .. });
                let begun = match is_reviewed || is_late(&stored.event.what) {
                    true => self.begun_by(stored.seq)?,
                    false => *id,
                };
                found.push((begun, stored));
            }
        }
        found.sort_by_key(|(_, stored)| stored.seq);
        Ok(found)
    }

    fn begun_by(&self, seq: u64) -> Result<ExperimentId, LedgerError> {
        let mut statement = self.db.prepare_cached(BEFORE).map_err(|e| self.failed(e))?;
        let last: Option<i64> = statement.query_row([seq as i64], |row| row.get(0)).map_err(|e| self.failed(e))?;
        Ok(ExperimentId(last.unwrap_or(0) as u64))
    }

    /// Every experiment, without its words.
    pub fn each_mark(&self, mut each: impl FnMut(Mark)) -> Result<(), LedgerError> {
        let sql = "SELECT experiment, segment, verdict, metric, started_at FROM experiments ORDER BY experiment";
        let mut statement = self.db.prepare_cached(sql).map_err(|e| self.failed(e))?;
        let mut rows = statement.query([]).map_err(|e| self.failed(e))?;
        while let Some(row) = rows.next().map_err(|e| self.failed(e))? {
            each(mark(row).map_err(|e| self.failed(e))?);
        }
        Ok(())
    }

    /// The latest experiments with a verdict that are wanted, the latest first; only those before one where it is named.
    pub fn rows_before(
        &self,
        before: Option<ExperimentId>,
        wanted: &Wanted,
        limit: usize,
    ) -> Result<Vec<Row>, LedgerError> {
        let mut conditions = vec!["experiment < ? AND verdict IS NOT NULL".to_owned()];
        let before = before.map_or(i64::MAX, |id| id.0 as i64);
        let mut arguments: Vec<Box<dyn ToSql>> = vec![Box::new(before)];
        if let Some(group) = wanted.group {
            let names = Verdict::ALL.into_iter().filter(|verdict| verdict.group() == group);
            let names: Vec<String> = names.map(|verdict| format!("'{}'", verdict.name())).collect();
            conditions.push(format!("verdict IN ({})", names.join(", ")));
        }
        for word in &wanted.words {
            conditions.push("instr(lower(agent || ' ' || description || ' ' || ifnull(reason, '')), ?) > 0".to_owned());
            arguments.push(Box::new(word.to_ascii_lowercase()));
        }
        let rest = format!("WHERE {} ORDER BY experiment DESC LIMIT {limit}", conditions.join(" AND "));
        let mut rows = Vec::new();
        self.select(&rest, params_from_iter(arguments), |row| rows.push(row))?;
        Ok(rows)
    }

    fn events(&self, sql: &str, arguments: &[&dyn ToSql]) -> Result<Vec<StoredEvent>, LedgerError> {
        let mut statement = self.db.prepare_cached(sql).map_err(|e| self.failed(e))?;
        let mut rows = statement.query(arguments).map_err(|e| self.failed(e))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(|e| self.failed(e))? {
            found.push(stored(row).map_err(|e| self.failed(e))??);
        }
        Ok(found)
    }
}

fn mark(row: &rusqlite::Row<'_>) -> rusqlite::Result<Mark> {
    let verdict = row.get_ref(2)?.as_str_or_null()?;
    Ok(Mark {
        experiment: ExperimentId(row.get::<_, i64>(0)? as u64),
        segment: row.get(1)?,
        verdict: verdict.and_then(Verdict::from_name),
        metric: row.get(3)?,
        started_at: Timestamp(row.get(4)?),
    })
}
