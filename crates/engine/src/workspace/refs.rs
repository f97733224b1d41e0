//! Refs as files: one loose file each, or lines of `packed-refs`.
//!
//! Read and written here and not through gix, which does not sync them, keeps `packed-refs` cached, and
//! leaves behind a lock without contents when it is killed at the wrong moment.

use std::io;
use std::path::{Path, PathBuf};

use gix::ObjectId;

use super::disk;
use super::error::GitError;

/// The contents of a loose ref.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Loose {
    Absent,
    /// Empty or all zeros: what a power loss makes of an unsynced file.
    Torn,
    Id(ObjectId),
    Symbolic(String),
}

/// The refs of one git directory.
pub(super) struct Refs<'a> {
    pub dir: &'a Path,
}

impl Refs<'_> {
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn packed_path(&self) -> PathBuf {
        self.dir.join("packed-refs")
    }

    pub fn loose(&self, name: &str) -> Result<Loose, GitError> {
        let path = self.path(name);
        let text = match disk::read_if_there(&path) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(Loose::Absent),
            // An empty folder that git left when it removed a branch below this name.
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => return Ok(Loose::Absent),
            Err(error) => return Err(GitError::io("read", &path)(error)),
        };
        parse_loose(&text).ok_or_else(|| GitError::BrokenRef { name: name.into(), path })
    }

    pub fn packed(&self) -> Result<Packed, GitError> {
        let path = self.packed_path();
        let text = disk::read_if_there(&path).map_err(GitError::io("read", &path))?;
        Ok(Packed { text: text.unwrap_or_default() })
    }

    /// What a ref points to, loose or packed, following symbolic refs.
    pub fn find(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        /// As many as git follows.
        const MOST_HOPS: usize = 5;
        let mut at = name.to_owned();
        for _ in 0..MOST_HOPS {
            match self.loose(&at)? {
                Loose::Id(id) => return Ok(Some(id)),
                Loose::Symbolic(next) => at = next,
                Loose::Absent => return Ok(self.packed()?.find(&at)),
                Loose::Torn => {
                    return Err(GitError::BrokenRef { name: at.clone(), path: self.path(&at) });
                }
            }
        }
        Err(GitError::BrokenRef { name: name.into(), path: self.path(name) })
    }
}

/// The `packed-refs` file as it was read.
pub(super) struct Packed {
    text: Vec<u8>,
}

impl Packed {
    pub fn find(&self, name: &str) -> Option<ObjectId> {
        self.iter().find(|(found, _)| *found == name.as_bytes()).map(|(_, id)| id)
    }

    /// Names and ids; comments and peeled lines are passed over.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], ObjectId)> {
        self.text.split(|byte| *byte == b'\n').filter_map(|line| {
            let (hex, name) = line.split_at_checked(40)?;
            let name = name.strip_prefix(b" ")?;
            Some((name, ObjectId::from_hex(hex).ok()?))
        })
    }
}

pub(super) fn parse_loose(text: &[u8]) -> Option<Loose> {
    if text.iter().all(|byte| *byte == 0) {
        return Some(Loose::Torn);
    }
    let text = std::str::from_utf8(text).ok()?.trim_end();
    Some(match text.strip_prefix("ref:") {
        Some(name) => Loose::Symbolic(name.trim().to_owned()),
        None => Loose::Id(ObjectId::from_hex(text.as_bytes()).ok()?),
    })
}
