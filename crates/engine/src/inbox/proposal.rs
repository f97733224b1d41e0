//! Proposals that come by letter: larger than words, and read only when their turn has come.

use std::fs;

use overnight_model::{CommitId, Timestamp};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Inbox, InboxError};

/// What a proposal may be long as a letter. A surface is a few files of code; what is larger is data.
pub const LARGEST_PROPOSAL: usize = 4 * 1024 * 1024;
/// How many may wait: each costs a trial, and nobody has more ideas than a night has trials.
pub const MOST_PROPOSALS: usize = 100;
/// Other than that of words, so that a version that knows only those leaves them alone.
const END: &str = "proposal";

/// A proposal of somebody outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub agent: String,
    pub description: String,
    /// The commit it was made from; none where nothing was measured yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<CommitId>,
    /// Files of the surface with their new contents. The others stay as they are at the base.
    pub files: Vec<SentFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentFile {
    pub path: String,
    #[serde(with = "text")]
    pub bytes: Vec<u8>,
}

#[derive(Debug, Error)]
pub enum Unreadable {
    #[error("the letter is gone")]
    Gone,
    #[error("the letter is larger than {LARGEST_PROPOSAL} bytes")]
    TooLarge,
    #[error("the letter is no proposal: {0}")]
    NotOne(#[from] serde_json::Error),
}

impl Inbox {
    /// Leaves a proposal, and gives the name by which it is asked after; none where too many wait already. Whoever calls
    /// has the [`turn`](Inbox::turn).
    pub fn put_proposal(&self, delivery: &Delivery, now: Timestamp) -> Result<Option<String>, InboxError> {
        if self.proposals()?.len() >= MOST_PROPOSALS {
            return Ok(None);
        }
        self.write(delivery, END, now).map(Some)
    }

    /// The names of proposals that wait, in the order in which they came.
    pub fn proposals(&self) -> Result<Vec<String>, InboxError> {
        let paths = self.paths(END)?;
        let mut names: Vec<String> =
            paths.iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
        names.sort_unstable();
        Ok(names)
    }

    pub fn read_proposal(&self, name: &str) -> Result<Delivery, Unreadable> {
        let path = self.dir.join(format!("{name}.{END}"));
        let found = fs::metadata(&path).ok().filter(|found| found.is_file()).ok_or(Unreadable::Gone)?;
        if found.len() > LARGEST_PROPOSAL as u64 {
            return Err(Unreadable::TooLarge);
        }
        Ok(serde_json::from_slice(&fs::read(&path).map_err(|_| Unreadable::Gone)?)?)
    }

    /// Whether it was there.
    pub fn remove_proposal(&self, name: &str) -> Result<bool, InboxError> {
        self.take_away(name, END)
    }
}

impl Delivery {
    /// Whether it fits into a letter.
    pub fn fits(&self) -> bool {
        serde_json::to_vec(self).is_ok_and(|text| text.len() <= LARGEST_PROPOSAL)
    }
}

/// Text as it is; what is no text byte by byte.
mod text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Stored::Bytes(bytes.to_vec()).serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Text(text) => text.into_bytes(),
            Stored::Bytes(bytes) => bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(bytes: &[u8]) -> Delivery {
        let files = vec![SentFile { path: "f".into(), bytes: bytes.to_vec() }];
        Delivery { agent: "mcp".into(), description: "an idea".into(), base: Some(CommitId("abc".into())), files }
    }

    #[test]
    fn proposals_wait_in_order_beside_words_and_keep_their_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let inbox = Inbox::of(dir.path());
        let first = inbox.put_proposal(&delivery(b"x = 1\n"), Timestamp(9)).unwrap().unwrap();
        inbox.put(&super::super::Letter::Pause, Timestamp(9)).unwrap();
        let second = inbox.put_proposal(&delivery(&[0, 255, 7]), Timestamp(9)).unwrap().unwrap();
        assert_eq!(inbox.proposals().unwrap(), [first.clone(), second.clone()]);
        assert_eq!(inbox.waiting().unwrap().len(), 1, "words are taken up by themselves");
        assert_eq!(inbox.read_proposal(&first).unwrap(), delivery(b"x = 1\n"));
        assert_eq!(inbox.read_proposal(&second).unwrap(), delivery(&[0, 255, 7]));
        assert!(inbox.remove_proposal(&first).unwrap() && !inbox.remove_proposal(&first).unwrap());
        assert!(matches!(inbox.read_proposal(&first), Err(Unreadable::Gone)));
        assert_eq!(inbox.proposals().unwrap(), [second]);
    }

    #[test]
    fn a_box_that_is_full_takes_no_more_and_what_is_too_large_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let inbox = Inbox::of(dir.path());
        fs::create_dir_all(dir.path().join("inbox")).unwrap();
        for n in 0..MOST_PROPOSALS {
            fs::write(dir.path().join(format!("inbox/{n:04}.{END}")), "{").unwrap();
        }
        assert_eq!(inbox.put_proposal(&delivery(b""), Timestamp(1)).unwrap(), None);
        assert!(matches!(inbox.read_proposal("0007"), Err(Unreadable::NotOne(_))));
        let large = delivery(&vec![b'x'; LARGEST_PROPOSAL]);
        assert!(!large.fits() && delivery(b"x").fits());
        fs::write(dir.path().join(format!("inbox/large.{END}")), serde_json::to_vec(&large).unwrap()).unwrap();
        assert!(matches!(inbox.read_proposal("large"), Err(Unreadable::TooLarge)));
    }
}
