//! Names of things: experiments, trials, slots, commits and stored contents.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The number of an experiment within its study; 0 is the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExperimentId(pub u64);

impl ExperimentId {
    pub const BASELINE: ExperimentId = ExperimentId(0);

    pub fn is_baseline(self) -> bool {
        self == Self::BASELINE
    }
}

/// The number of a trial within its study, counted over all experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrialId(pub u64);

/// A place where one trial may run, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slot(pub u32);

/// A stretch of a study in which nothing about the evaluation changed, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Segment(pub u32);

/// The value of `OVERNIGHT_SEED` for one trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u32);

/// A git commit, as the hexadecimal name git prints.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitId(pub String);

impl CommitId {
    /// The first ten characters: what people are shown.
    pub fn short(&self) -> &str {
        self.0.get(..10).unwrap_or(&self.0)
    }
}

/// Stored contents, named by their SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlobId(pub String);

impl BlobId {
    pub fn of(bytes: &[u8]) -> BlobId {
        BlobId(hex(&Sha256::digest(bytes)))
    }
}

/// The whole surface of a proposal, named by its paths and contents: equal names, equal surfaces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentId(pub String);

impl ContentId {
    /// Names a surface given as path and blob, in any order.
    pub fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a BlobId)>) -> ContentId {
        let mut files: Vec<_> = files.into_iter().collect();
        files.sort();
        let mut hash = Sha256::new();
        for (path, blob) in files {
            hash.update((path.len() as u64).to_le_bytes());
            hash.update(path.as_bytes());
            hash.update(blob.0.as_bytes());
        }
        // Half a SHA-256 is plenty for equality and halves what every past experiment costs in memory.
        ContentId(hex(&hash.finalize()[..16]))
    }
}

impl fmt::Display for ExperimentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Lower-case hexadecimal, as git and sha256sum print it.
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surface_is_named_by_its_contents_and_not_by_their_order() {
        let (a, b) = (BlobId::of(b"a"), BlobId::of(b"b"));
        let one = ContentId::of([("x", &a), ("y", &b)]);
        assert_eq!(one, ContentId::of([("y", &b), ("x", &a)]));
        assert_ne!(one, ContentId::of([("x", &b), ("y", &a)]));
    }

    #[test]
    fn a_blob_is_named_as_sha256sum_would() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(BlobId::of(b"").0, empty);
    }
}
