//! The append-only, hash-chained record of everything that happened.
//!
//! SQLite in WAL mode with `synchronous=FULL`: when `append` returns, its events survive `kill -9` and
//! power loss. Rows and summary are projections, written in the same transaction, so views never fold.

mod blobs;
mod chain;
mod check;
mod filesystem;
mod follow;
mod format;
mod reader;
mod schema;
mod search;
mod search_text;
mod writer;

pub use blobs::SMALL_BLOB;
pub use chain::ChainHash;
pub use check::{Discrepancy, Verified, verify_ledger, verify_reader};
pub use filesystem::network_filesystem;
pub use follow::{Mark, Wanted};
pub use format::FormatVersion;
pub use reader::{Reader, StoredEvent};
pub use search::query as searches_for;
pub use writer::{Ledger, Turn};

use std::path::PathBuf;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum LedgerError {
    #[error("could not open the ledger {path}")]
    Open {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error("could not write to the ledger {path}")]
    Write {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error("could not read the ledger {path}")]
    Read {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error("no room left on the disk that holds the ledger {path}")]
    Full { path: PathBuf },
    #[error("the ledger {path} has format {found}, this version writes {known}")]
    Newer { path: PathBuf, found: FormatVersion, known: FormatVersion },
    #[error("{path} is not a ledger of overnight")]
    NotALedger { path: PathBuf },
    #[error("the ledger is damaged: event {seq}: {what}")]
    Damaged { seq: u64, what: String },
    #[error("could not store {what} at {path}")]
    Blob {
        what: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the contents {id} are missing from the ledger, or were forgotten on request")]
    NoBlob { id: String },
    #[error("the ledger's folder {path} is on a network file system ({kind})")]
    Network { path: PathBuf, kind: String },
    #[error("could not make the folder {path}")]
    Folder {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

impl LedgerError {
    /// Whether the disk is full, however SQLite or the system said so.
    pub fn is_full(&self) -> bool {
        match self {
            LedgerError::Full { .. } => true,
            LedgerError::Blob { source, .. } | LedgerError::Folder { source, .. } => {
                matches!(source.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT))
            }
            _ => false,
        }
    }
}
