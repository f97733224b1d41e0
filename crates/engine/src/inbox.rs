//! Letters to a study: what a person says to it from another process, also while a run holds its lock.
//!
//! A letter is a file in `.overnight/<study>/inbox`, whole and synced before it has its name. Whoever holds the lock takes
//! letters up as events, in the order in which they were written, and removes them once the events are durable. A letter
//! that is found again after a crash is known by its name.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use overnight_model::event::Said;
use overnight_model::id::hex;
use overnight_model::{Event, State, Timestamp, What};
use serde::{Deserialize, Serialize};
use thiserror::Error;

mod proposal;
mod watch;

pub use proposal::{Delivery, LARGEST_PROPOSAL, MOST_PROPOSALS, SentFile, Unreadable};
pub use watch::Watch;

/// What a letter may be long: a person's words, and some room.
const LARGEST: u64 = 64 * 1024;
const END: &str = "json";

/// What a person wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Letter {
    /// A word to the agents.
    Say { text: String },
    /// A word is taken back.
    TakeBack { word: u64 },
    /// Nothing new is to begin.
    Pause,
    /// It goes on.
    Resume,
    /// Written by a newer version; nothing is known of it.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Error)]
#[error("could not {what} {path}")]
pub struct InboxError {
    what: &'static str,
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// The letters of one study.
#[derive(Debug, Clone)]
pub struct Inbox {
    dir: PathBuf,
}

/// A letter that waits, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub name: String,
    pub at: Timestamp,
    pub letter: Letter,
}

impl Inbox {
    /// The inbox of the study whose state lies in `dir`.
    pub fn of(dir: &Path) -> Inbox {
        Inbox { dir: dir.join("inbox") }
    }

    /// Waits until nobody else is at the box. Numbers that were read stay true as long as what this returns is held.
    pub fn turn(&self) -> Result<File, InboxError> {
        let failed = |what| move |source| InboxError { what, path: self.dir.clone(), source };
        fs::create_dir_all(&self.dir).map_err(failed("make"))?;
        let turn = File::open(&self.dir).map_err(failed("open"))?;
        turn.lock().map_err(failed("lock"))?;
        Ok(turn)
    }

    /// Leaves a letter. When this returns, it will be taken up.
    pub fn put(&self, letter: &Letter, now: Timestamp) -> Result<(), InboxError> {
        self.write(letter, END, now).map(drop)
    }

    /// Writes something down for good, and gives its name.
    fn write(&self, letter: &impl Serialize, end: &str, now: Timestamp) -> Result<String, InboxError> {
        let failed = |what, path: &Path| {
            let path = path.to_owned();
            move |source| InboxError { what, path, source }
        };
        fs::create_dir_all(&self.dir).map_err(failed("make", &self.dir))?;
        let name = self.fresh_name(now).map_err(failed("read", &self.dir))?;
        let (path, temporary) = (self.dir.join(format!("{name}.{end}")), self.dir.join(format!("{name}.new")));
        let written = || {
            let mut file = File::create(&temporary)?;
            file.write_all(&serde_json::to_vec(letter)?)?;
            file.sync_all()?;
            fs::rename(&temporary, &path)?;
            // The name has to last as well, in each folder that may be new.
            self.dir.ancestors().take(4).try_for_each(|folder| File::open(folder)?.sync_all())
        };
        written().map_err(failed("write", &path))?;
        Ok(name)
    }

    /// What waits, in the order in which it was written. What is no letter is left alone.
    pub fn waiting(&self) -> Result<Vec<Waiting>, InboxError> {
        let mut found: Vec<Waiting> = self.paths(END)?.iter().filter_map(|path| read(path)).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn paths(&self, end: &str) -> Result<Vec<PathBuf>, InboxError> {
        let failed = |source| InboxError { what: "read", path: self.dir.clone(), source };
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|found| found == end) {
                paths.push(path);
            }
        }
        Ok(paths)
    }

    /// The events that letters become in a study, without taking anything away.
    pub fn events(state: &State, waiting: &[Waiting]) -> Vec<Event> {
        let mut word = state.next_word();
        let mut events = Vec::new();
        // What was taken up before was not removed for a crash.
        for Waiting { name, at, letter } in waiting.iter().filter(|waiting| !state.has_read(&waiting.name)) {
            let letter_name = name.clone();
            let what = match letter {
                Letter::Say { text } => {
                    word += 1;
                    What::Said(Said { word: word - 1, text: text.clone(), letter: letter_name })
                }
                Letter::TakeBack { word } => What::TakenBack { word: *word, letter: letter_name },
                Letter::Pause => What::Paused { letter: letter_name },
                Letter::Resume => What::Resumed { letter: letter_name },
                Letter::Unknown => continue,
            };
            events.push(Event { at: *at, what });
        }
        events
    }

    /// Removes letters whose events are durable.
    pub fn remove(&self, taken: &[Waiting]) -> Result<(), InboxError> {
        taken.iter().try_for_each(|Waiting { name, .. }| self.take_away(name, END).map(drop))
    }

    /// Whether it was there.
    fn take_away(&self, name: &str, end: &str) -> Result<bool, InboxError> {
        let path = self.dir.join(format!("{name}.{end}"));
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(InboxError { what: "remove", path, source }),
        }
    }

    /// The study as it will be when everything that waits was taken up.
    pub fn preview(&self, state: &mut State) -> Result<(), InboxError> {
        for event in Inbox::events(state, &self.waiting()?) {
            state.apply(&event);
        }
        Ok(())
    }

    /// A name that sorts after those of letters before it, and that no other letter ever has, whatever the clock does: one
    /// that was taken up is known by it.
    fn fresh_name(&self, now: Timestamp) -> io::Result<String> {
        // Two letters of one millisecond keep their order by how many wait.
        let mut waiting = 0;
        // A clock that was set back must not put a letter before those it answers to.
        let mut now = now.0.max(0);
        for entry in fs::read_dir(&self.dir)? {
            waiting += 1;
            let latest = entry?.file_name().to_str().and_then(|name| name.get(..16)?.parse().ok());
            now = now.max(latest.unwrap_or(0));
        }
        let mut chance = [0; 8];
        rustix::rand::getrandom(&mut chance, rustix::rand::GetRandomFlags::empty())?;
        Ok(format!("{:016}-{waiting:04}-{}", now, hex(&chance)))
    }
}

fn read(path: &Path) -> Option<Waiting> {
    let name = path.file_stem()?.to_str()?.to_owned();
    let at = Timestamp(name.split('-').next()?.parse().ok()?);
    let text = fs::metadata(path).ok().filter(|found| found.is_file() && found.len() <= LARGEST);
    let letter = serde_json::from_slice(&text.and_then(|_| fs::read(path).ok())?).ok()?;
    // Whoever wrote what is not known here will read it, too.
    (letter != Letter::Unknown).then_some(Waiting { name, at, letter })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(text: &str) -> Letter {
        Letter::Say { text: text.to_owned() }
    }

    #[test]
    fn letters_are_taken_up_in_order_and_numbers_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let inbox = Inbox::of(dir.path());
        assert_eq!(inbox.waiting().unwrap(), []);
        for (at, letter) in [(5, say("one")), (5, say("two")), (6, Letter::TakeBack { word: 1 }), (40, say("three"))] {
            inbox.put(&letter, Timestamp(at)).unwrap();
        }
        fs::write(dir.path().join("inbox/0-torn.json"), "{").unwrap();
        fs::write(dir.path().join("inbox/00-later.json"), r#"{"kind":"dance","with":1}"#).unwrap();
        let mut state = State::default();
        inbox.preview(&mut state).unwrap();
        let said: Vec<_> = state.said().map(|(said, _)| (said.word, said.text.as_str())).collect();
        assert_eq!(said, [(2, "two"), (3, "three")]);
        let waiting = inbox.waiting().unwrap();
        inbox.remove(&waiting).unwrap();
        assert_eq!(inbox.waiting().unwrap(), []);
        assert!(dir.path().join("inbox/00-later.json").exists(), "what is not known is left for whoever knows it");
    }

    #[test]
    fn a_letter_that_is_found_again_after_a_crash_is_not_a_second_one() {
        let dir = tempfile::tempdir().unwrap();
        let inbox = Inbox::of(dir.path());
        inbox.put(&say("once"), Timestamp(5)).unwrap();
        inbox.put(&say("twice"), Timestamp(6)).unwrap();
        inbox.put(&Letter::TakeBack { word: 2 }, Timestamp(7)).unwrap();
        let mut state = State::default();
        inbox.preview(&mut state).unwrap();
        inbox.preview(&mut state).unwrap();
        assert_eq!(state.said().count(), 1);
        // One that is written in the same moment as another was, after that was taken up, is a letter of its own.
        inbox.remove(&inbox.waiting().unwrap()).unwrap();
        inbox.put(&say("again"), Timestamp(5)).unwrap();
        inbox.preview(&mut state).unwrap();
        assert_eq!(state.said().count(), 2);
    }
}
