//! How often a holdout was opened: an append-only list in the study's own folder, of which nothing is ever taken back.
//!
//! No part of the ledger: what an agent is told comes from there, and this is for people only. Whoever removes the file
//! begins to count anew, as whoever copies the data has a holdout no more; it is a person's promise to themselves.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use overnight_model::history::rfc3339;
use overnight_model::spec::Holdout;
use rustix::fs::FlockOperation;
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;
use toml::de::DeTable;

use crate::clock;
use crate::load::Site;

const FILE: &str = "holdout.jsonl";
/// How a line begins that is the end of an opening, and not one of its own.
const OUTCOME: &str = "{\"outcome\"";

/// One line of the file. What it is comes first, so that it can be told of one that was cut short.
#[derive(Serialize)]
#[serde(untagged)]
enum Line<'a> {
    Opening {
        opening: u32,
        at: Option<String>,
        of: u32,
        #[serde(rename = "for")]
        for_: &'a Value,
    },
    Outcome {
        outcome: u32,
        at: Option<String>,
        was: &'a Value,
    },
}

/// How often a holdout was opened, of how many times it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Openings {
    pub opened: u32,
    pub budget: u32,
}

impl Openings {
    pub fn left(self) -> u32 {
        self.budget.saturating_sub(self.opened)
    }
}

/// An opening that has been counted.
#[derive(Debug)]
pub struct Opened {
    path: PathBuf,
    /// Counted from 1.
    pub number: u32,
}

#[derive(Debug, Error)]
pub enum HoldoutError {
    #[error("no opening of the holdout is left: {opened} of {budget} are spent")]
    Spent { opened: u32, budget: u32 },
    #[error("could not count an opening of the holdout in {path}")]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// How often the holdout of a study was opened; `None` where its triplet has none, or cannot be read.
pub fn openings(site: &Site) -> Option<Openings> {
    let text = fs::read_to_string(&site.triplet).ok()?;
    let (document, _) = DeTable::parse_recoverable(&text);
    let holdout = document.get_ref().get("holdout")?.get_ref().as_table()?;
    let budget = holdout.get("budget").and_then(|budget| budget.get_ref().as_integer());
    let budget = budget.and_then(|budget| u32::from_str_radix(budget.as_str(), budget.radix()).ok());
    Some(Openings { opened: counted(site), budget: budget.unwrap_or(Holdout::BUDGET) })
}

/// How often it was opened so far.
pub fn counted(site: &Site) -> u32 {
    count(&fs::read_to_string(site.state().join(FILE)).unwrap_or_default())
}

/// Counts one more opening, for good: it is on the disk before this returns. Refused where there is none left, also
/// where another took the last one a moment ago.
pub fn open(site: &Site, budget: u32, what: &Value) -> Result<Opened, HoldoutError> {
    let path = site.state().join(FILE);
    let counted = || -> io::Result<Result<u32, u32>> {
        fs::create_dir_all(site.state())?;
        let mut file = locked(&path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let before = count(&text);
        if before >= budget {
            return Ok(Err(before));
        }
        let line = Line::Opening { opening: before + 1, at: rfc3339(clock::now()), of: budget, for_: what };
        append(&mut file, &text, &line)?;
        // That the file has a name has to last too, in each folder that may be new.
        for folder in site.state().ancestors().take(3) {
            File::open(folder)?.sync_all()?;
        }
        Ok(Ok(before + 1))
    };
    match counted().map_err(|source| HoldoutError::Io { path: path.clone(), source })? {
        Ok(number) => Ok(Opened { path, number }),
        Err(opened) => Err(HoldoutError::Spent { opened, budget }),
    }
}

impl Opened {
    /// Writes down what came of it. What is lost with a kill is this, never the opening.
    pub fn close(&self, outcome: &Value) -> Result<(), HoldoutError> {
        let noted = || -> io::Result<()> {
            let mut file = locked(&self.path)?;
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            append(&mut file, &text, &Line::Outcome { outcome: self.number, at: rfc3339(clock::now()), was: outcome })
        };
        noted().map_err(|source| HoldoutError::Io { path: self.path.clone(), source })
    }
}

/// The file, whole, until it is dropped.
fn locked(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

fn append(file: &mut File, before: &str, line: &Line<'_>) -> io::Result<()> {
    // After a line that a power loss cut short, the next one is one of its own.
    let start = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    file.write_all(format!("{start}{}\n", serde_json::to_string(line)?).as_bytes())?;
    file.sync_all()
}

/// Whatever is not surely the end of an opening counts as one, a line that was cut short among them.
fn count(text: &str) -> u32 {
    text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with(OUTCOME)).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn site(triplet: &str) -> (tempfile::TempDir, Site) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("overnight.toml");
        fs::write(&path, triplet).unwrap();
        let site = Site { dir: dir.path().to_owned(), triplet: path, study: "main".to_owned() };
        (dir, site)
    }

    #[test]
    fn an_opening_counts_from_its_first_line_on_and_an_outcome_does_not() {
        let (_dir, site) = site("[holdout]\nscore = \"x\"\nbudget = 2\n");
        assert_eq!(openings(&site), Some(Openings { opened: 0, budget: 2 }));
        let first = open(&site, 2, &json!({ "command": "compare" })).unwrap();
        assert_eq!((first.number, counted(&site)), (1, 1));
        first.close(&json!({ "result": "better" })).unwrap();
        assert_eq!(open(&site, 2, &json!(null)).unwrap().number, 2);
        let refused = open(&site, 2, &json!(null)).unwrap_err();
        assert_eq!(refused.to_string(), "no opening of the holdout is left: 2 of 2 are spent");
        assert_eq!(openings(&site).map(Openings::left), Some(0));
        let text = fs::read_to_string(site.state().join(FILE)).unwrap();
        assert_eq!(text.lines().count(), 3, "a refusal leaves nothing behind:\n{text}");
    }

    #[test]
    fn a_line_that_was_cut_short_counts_and_the_next_one_stands_alone() {
        let (_dir, site) = site("[holdout]\nscore = \"x\"\n");
        fs::create_dir_all(site.state()).unwrap();
        fs::write(site.state().join(FILE), "{\"at\":\"2026").unwrap();
        assert_eq!(openings(&site), Some(Openings { opened: 1, budget: 20 }));
        let second = open(&site, 20, &json!(null)).unwrap();
        fs::write(site.state().join(FILE), fs::read_to_string(site.state().join(FILE)).unwrap() + "{\"outcome\":2,")
            .unwrap();
        second.close(&json!(null)).unwrap();
        assert_eq!(counted(&site), 2);
    }

    #[test]
    fn many_at_once_do_not_spend_more_than_there_is() {
        let (_dir, site) = site("");
        let opened = |_| {
            std::thread::spawn({
                let site = site.clone();
                move || open(&site, 5, &json!(null)).map(|opened| opened.number).ok()
            })
        };
        let threads: Vec<_> = (0..12).map(opened).collect();
        let mut numbers: Vec<_> = threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect();
        numbers.sort_unstable();
        assert_eq!((numbers, counted(&site)), (vec![1, 2, 3, 4, 5], 5));
        assert_eq!(openings(&site), None, "a triplet without one has none");
    }
}
