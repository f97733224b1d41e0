//! What of an experiment can be searched: the lines that it changed, without a diff.

use std::collections::{HashMap, HashSet};

use overnight_model::event::Proposed;
use overnight_model::proposal::SurfaceBlob;
use overnight_model::study::Row;
use overnight_model::{CommitId, ExperimentId, What};

use super::{LedgerError, Reader};

/// More of one proposal is a new program: its beginning says what it is.
const MOST_BYTES: usize = 64 * 1024;

const ADVANCED: &str = "SELECT body FROM events WHERE body LIKE '{\"kind\":\"branch_advanced\"%' ORDER BY seq";

/// The surfaces that proposals were made from.
pub(super) struct Texts<'a> {
    reader: &'a Reader,
    /// Who was champion under which commit.
    champions: HashMap<CommitId, ExperimentId>,
    baselines: HashMap<CommitId, Vec<SurfaceBlob>>,
    /// The last parent: most proposals of a stretch have the same.
    last: Option<(CommitId, Vec<SurfaceBlob>)>,
}

impl<'a> Texts<'a> {
    pub(super) fn of(reader: &'a Reader) -> Result<Texts<'a>, LedgerError> {
        let failed = |source| reader.failed(source);
        let mut champions = HashMap::new();
        let mut statement = reader.db.prepare(ADVANCED).map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let body = row.get_ref(0).map_err(failed)?.as_bytes().unwrap_or_default();
            if let Ok(What::BranchAdvanced { experiment, to, .. }) = serde_json::from_slice(body) {
                champions.insert(to, experiment);
            }
        }
        let baselines = reader.segments()?.into_iter().map(|facts| (facts.baseline, facts.contents)).collect();
        Ok(Texts { reader, champions, baselines, last: None })
    }

    /// The lines that are in a proposal or in what it was made from, and not in both.
    pub(super) fn change(&mut self, row: &Row) -> Result<String, LedgerError> {
        let Some(proposed) = self.proposed(row.experiment)? else { return Ok(String::new()) };
        if self.last.as_ref().is_none_or(|(known, _)| *known != proposed.parent) {
            let surface = self.surface_of(&proposed.parent)?;
            self.last = Some((proposed.parent.clone(), surface));
        }
        let before = self.last.as_ref().map(|(_, surface)| surface.as_slice()).unwrap_or_default();
        let mut text = String::new();
        for file in proposed.surface.iter().filter(|file| !before.contains(file)) {
            let old = match before.iter().find(|old| old.path == file.path) {
                Some(old) => self.reader.blob(&old.blob)?.unwrap_or_default(),
                None => Vec::new(),
            };
            // What was forgotten cannot be found.
            let Some(new) = self.reader.blob(&file.blob)? else { continue };
            let (old, new) = (String::from_utf8_lossy(&old), String::from_utf8_lossy(&new));
            let (left, right): (HashSet<&str>, HashSet<&str>) = (old.lines().collect(), new.lines().collect());
            let gone = old.lines().filter(|line| !right.contains(line));
            for line in new.lines().filter(|line| !left.contains(line)).chain(gone) {
                if text.len() + line.len() > MOST_BYTES {
                    return Ok(text);
                }
                text += line;
                text.push('\n');
            }
        }
        Ok(text)
    }

    fn proposed(&self, id: ExperimentId) -> Result<Option<Proposed>, LedgerError> {
        Ok(self.reader.events_of(id)?.into_iter().rev().find_map(|stored| match stored.event.what {
            What::Proposed(proposed) | What::Restacked(proposed) | What::Repaired(proposed) => Some(proposed),
            _ => None,
        }))
    }

    fn surface_of(&self, commit: &CommitId) -> Result<Vec<SurfaceBlob>, LedgerError> {
        if let Some(surface) = self.baselines.get(commit) {
            return Ok(surface.clone());
        }
        let Some(champion) = self.champions.get(commit) else { return Ok(Vec::new()) };
        let proposed = self.proposed(*champion)?;
        Ok(proposed.map(|proposed| proposed.surface).unwrap_or_default())
    }
}
