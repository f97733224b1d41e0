//! The hash chain: each event's hash covers its stored bytes and the hash before it.

use std::fmt;

use overnight_model::Timestamp;
use overnight_model::id::hex;
use sha2::{Digest, Sha256};

/// The hash of an event and, through its predecessor, of everything before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHash(pub [u8; 32]);

impl ChainHash {
    /// What the first event is chained to.
    pub const ROOT: ChainHash = ChainHash([0; 32]);

    /// Fields of fixed length come first, so no two different events give the same bytes.
    pub fn next(self, seq: u64, at: Timestamp, body: &[u8]) -> ChainHash {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(seq.to_le_bytes());
        hash.update(at.0.to_le_bytes());
        hash.update(body);
        ChainHash(hash.finalize().into())
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}
