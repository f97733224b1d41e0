//! Recorded answers, in a folder of the project that can be shared: `requests/KEY.json` says what was asked and who got
//! which answer, `answers/HASH` holds the bytes of one.
//!
//! Only the engine writes here. An answer whose bytes do not have the hash that they are named by is not served.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use overnight_model::BlobId;
use overnight_model::call::Caller;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::normal::Normal;
use crate::gateway::{Answer, Recorded};

/// How many recordings are looked at for the one that is nearest to what was asked.
const MOST_NEAR: usize = 400;

/// The folder of recordings.
#[derive(Debug, Clone)]
pub(super) struct Recordings(PathBuf);

/// Who asked, and for the how manieth time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Asker {
    /// `agent 3`, `task 7`, `scorer 7`: the experiment of an agent, the trial of the others.
    pub(super) who: String,
    pub(super) nth: u32,
}

/// A question by what it means, and by all of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) key: BlobId,
    pub(super) exact: BlobId,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Tape {
    version: u32,
    protocol: overnight_model::call::Protocol,
    path: String,
    /// Without what differs from run to run.
    request: Value,
    answers: Vec<Take>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Take {
    #[serde(flatten)]
    asker: Asker,
    status: u16,
    content_type: String,
    body: BlobId,
    /// The request to the letter: one that only means the same may have been made to be answered otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exact: Option<BlobId>,
}

const VERSION: u32 = 1;

/// Who asks, by the name that a recording has for it.
pub(super) fn who(caller: &Caller) -> String {
    match caller {
        Caller::Agent { experiment, .. } => format!("agent {experiment}"),
        Caller::Task { trial, .. } => format!("task {trial}"),
        Caller::Scorer { trial, .. } => format!("scorer {trial}"),
    }
}

/// `agent`, `task` or `scorer`.
pub(super) fn kind(who: &str) -> &str {
    who.split(' ').next().unwrap_or_default()
}

impl Recordings {
    pub(super) fn at(folder: PathBuf) -> Recordings {
        Recordings(folder)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.0
    }

    /// Adds an answer. What this asker got for it in an earlier recording is replaced.
    pub(super) fn add(&self, name: &Asked, asked: &Normal, asker: &Asker, answer: &Answer) -> io::Result<()> {
        let Asked { key, exact } = name;
        let bytes: Vec<u8> = answer.chunks.concat();
        let body = BlobId::of(&bytes);
        let file = self.answer(&body);
        if !fs::read(&file).is_ok_and(|there| BlobId::of(&there) == body) {
            write(&file, &bytes)?;
        }
        let mut tape = match self.tape(key) {
            Ok(Some(tape)) => tape,
            Ok(None) => Tape {
                version: VERSION,
                protocol: asked.protocol,
                path: asked.path.clone(),
                request: asked.body.clone(),
                answers: Vec::new(),
            },
            Err(what) => return Err(io::Error::other(what)),
        };
        tape.answers.retain(|take| take.asker != *asker);
        let (status, content_type) = (answer.status, answer.content_type.clone());
        tape.answers.push(Take { asker: asker.clone(), status, content_type, body, exact: Some(exact.clone()) });
        let mut text = serde_json::to_vec_pretty(&tape).map_err(io::Error::other)?;
        text.push(b'\n');
        write(&self.request(key), &text)
    }

    /// The answer that was recorded for this request, or what is missing.
    pub(super) fn find(&self, name: &Asked, asked: &Normal, asker: &Asker) -> Recorded {
        let Asked { key, exact } = name;
        let miss = |what: String| Recorded::Miss { what };
        let tape = match self.tape(key) {
            Ok(Some(tape)) => tape,
            Ok(None) => return miss(self.nearest(asked, asker)),
            Err(what) => return miss(what),
        };
        // Its own, else what whoever came first got: another attempt may ask the same. Who asked for it to the letter comes
        // before who asked for what only means the same: a candidate could have had that answered wrongly on purpose.
        // One that broke off had its turn and no answer: turns are counted among those that were recorded.
        let mut askers: Vec<(&str, Vec<&Take>)> = Vec::new();
        for take in &tape.answers {
            match askers.iter_mut().find(|(who, _)| *who == take.asker.who) {
                Some((_, takes)) => takes.push(take),
                None => askers.push((&take.asker.who, vec![take])),
            }
        }
        askers.iter_mut().for_each(|(_, takes)| takes.sort_by_key(|take| take.asker.nth));
        let turn = asker.nth as usize;
        let same: Vec<(&str, &Take)> =
            askers.iter().filter_map(|(who, takes)| Some((*who, *takes.get(turn)?))).collect();
        let own = same.iter().find(|(who, _)| *who == asker.who);
        let others = || same.iter().find(|(_, take)| take.exact.as_ref() == Some(exact)).or(same.first());
        let Some((_, take)) = own.or_else(others) else {
            let most = askers.iter().map(|(_, takes)| takes.len()).max().unwrap_or(0) as u32;
            return miss(format!("it was recorded {} in one attempt, and is asked for once more", times(most)));
        };
        let file = self.answer(&take.body);
        match fs::read(&file) {
            Ok(bytes) if BlobId::of(&bytes) == take.body => {
                let content_type = take.content_type.clone();
                Recorded::Answer(Answer { status: take.status, content_type, chunks: vec![bytes] })
            }
            Ok(_) => miss(format!(
                "{} was changed since it was recorded: it does not have the hash of its name",
                file.display()
            )),
            Err(error) => miss(format!("{} cannot be read: {error}", file.display())),
        }
    }

    fn tape(&self, key: &BlobId) -> Result<Option<Tape>, String> {
        let file = self.request(key);
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{} cannot be read: {error}", file.display())),
        };
        let tape: Tape =
            serde_json::from_slice(&text).map_err(|error| format!("{} is no recording: {error}", file.display()))?;
        match tape.version {
            VERSION => Ok(Some(tape)),
            later => Err(format!("{} has the format {later} of a later version", file.display())),
        }
    }

    /// Which recording comes nearest, and where it differs. Only of those who ask in the same place: what a scorer asks is
    /// nothing for candidates to read.
    fn nearest(&self, asked: &Normal, asker: &Asker) -> String {
        let folder = self.0.join("requests");
        let mut files: Vec<PathBuf> = fs::read_dir(&folder)
            .map(|entries| {
                entries
                    .flatten()
                    .map(|entry| entry.path())
                    .filter(|path| path.extension().is_some_and(|e| e == "json"))
                    .collect()
            })
            .unwrap_or_default();
        files.sort();
        if files.is_empty() {
            return format!("nothing is recorded in {}", self.0.display());
        }
        let read = |path: &PathBuf| -> Option<Normal> {
            let tape: Tape = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
            let is_same_kind = |take: &Take| kind(&take.asker.who) == kind(&asker.who);
            tape.answers.iter().any(is_same_kind).then_some(())?;
            Some(Normal { protocol: tape.protocol, path: tape.path, body: tape.request })
        };
        let same = files.iter().take(MOST_NEAR).filter_map(read).filter(|known| known.protocol == asked.protocol);
        let near = same.max_by_key(|known| asked.likeness(known));
        match near.and_then(|near| asked.difference(&near)) {
            Some(difference) => format!("nothing like it is recorded; the nearest differs {difference}"),
            None => format!("nothing like it is recorded: none of {} recordings asks in this protocol", files.len()),
        }
    }

    fn request(&self, key: &BlobId) -> PathBuf {
        // Half a hash tells any two apart, and names stay readable.
        self.0.join("requests").join(format!("{}.json", &key.0[..32]))
    }

    fn answer(&self, body: &BlobId) -> PathBuf {
        self.0.join("answers").join(&body.0)
    }
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// Whole or not at all. A recording that is lost with the power is made again by the next one.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let temporary = path.with_extension("new");
    fs::File::create(&temporary)?.write_all(bytes)?;
    fs::rename(&temporary, path)
}
