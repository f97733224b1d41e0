//! The journal of a run: every call that goes out is on disk before it does, so that none is ever forgotten.
//!
//! The ledger learns of a call at its end, with the loop's next turn. What went out with an engine that was killed is found
//! here by the next run, which records it: as what came of it where that was noted, else as lost, for all that it may have
//! cost. A file is done with once the ledger holds all of it.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use overnight_model::State;
use overnight_model::call::account::{Charge, lost};
use overnight_model::call::bill::Called;
use overnight_model::call::{Call, CallId};
use serde::{Deserialize, Serialize};

const FOLDER: &str = "calls";
/// No call takes more to write down; what does is not ours.
const LONGEST_LINE: u64 = 1 << 20;

/// A line of the journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    Out { call: Call, at_most: Charge, subscription: bool },
    Back(Box<Called>),
}

/// The journal of one run, open for more.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    written: Mutex<Written>,
    /// How many of the lines last.
    lasting: Mutex<u64>,
}

#[derive(Debug)]
struct Written {
    lines: u64,
    /// A disk that filled up, or an engine that was killed, may have left half a line: the next one is not to be part of it.
    is_torn: bool,
}

pub(super) fn path(dir: &Path, run: u64) -> PathBuf {
    dir.join(FOLDER).join(format!("{run:08}.jsonl"))
}

impl Journal {
    pub(super) fn create(path: &Path) -> io::Result<Journal> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        // That it has a name has to last too, in each folder that may be new.
        for folder in folder.ancestors().take(2) {
            File::open(folder)?.sync_all()?;
        }
        let written = Written { lines: 0, is_torn: file.metadata()?.len() > 0 };
        Ok(Journal { file, written: Mutex::new(written), lasting: Mutex::new(0) })
    }

    /// Writes a line, without waiting for the disk: it outlives the engine, though not the machine.
    pub(super) fn note(&self, entry: &Entry) -> io::Result<u64> {
        let line = serde_json::to_vec(entry)?;
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let start: &[u8] = if written.is_torn { b"\n" } else { b"" };
        written.is_torn = true;
        (&self.file).write_all(&[start, &line, b"\n"].concat())?;
        written.is_torn = false;
        written.lines += 1;
        Ok(written.lines)
    }

    /// Writes a line and waits until it lasts. Those that come meanwhile share the next sync.
    pub(super) fn last(&self, entry: &Entry) -> io::Result<()> {
        let mine = self.note(entry)?;
        let mut lasting = self.lasting.lock().unwrap_or_else(PoisonError::into_inner);
        if *lasting < mine {
            let lines = self.written.lock().unwrap_or_else(PoisonError::into_inner).lines;
            self.file.sync_data()?;
            *lasting = lines;
        }
        Ok(())
    }
}

/// What earlier runs left in their journals and the ledger does not hold, in the order in which it went out. Journals that
/// are done with are removed.
pub fn unrecorded(dir: &Path, state: &State) -> io::Result<Vec<Called>> {
    let mut files = Vec::new();
    match fs::read_dir(dir.join(FOLDER)) {
        Ok(entries) => {
            for entry in entries {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "jsonl") {
                    files.push(path);
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    files.sort();
    let mut missing = BTreeMap::new();
    for path in files {
        let found = read(&path, |id| !state.is_settled(id))?;
        if found.is_empty() {
            fs::remove_file(&path)?;
        }
        missing.extend(found);
    }
    Ok(missing.into_values().collect())
}

/// What came of each call that is `wanted`. A line that was cut off, or is none of ours, says nothing: one that was cut
/// off was not on disk yet, so that its call never went out.
fn read(path: &Path, wanted: impl Fn(CallId) -> bool) -> io::Result<BTreeMap<CallId, Called>> {
    let mut found: BTreeMap<CallId, Called> = BTreeMap::new();
    let mut reader = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = io::Read::take(&mut reader, LONGEST_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(found);
        }
        match serde_json::from_slice(&line) {
            Ok(Entry::Out { call, at_most, subscription }) if wanted(call.id) => {
                found.entry(call.id).or_insert_with(|| lost(&call, at_most, subscription));
            }
            Ok(Entry::Back(called)) if wanted(called.call.id) => {
                found.insert(called.call.id, *called);
            }
            _ => {}
        }
    }
}
