//! An account and tapes for calls that nobody counts: those of a `check`, and those of tests.

use std::sync::atomic::{AtomicU64, Ordering};

use overnight_model::BlobId;
use overnight_model::call::{Call, CallId, CallOutcome};

use super::{Accounts, Exchange, Recorded, Refusal, Tapes};

/// Gives every call a number, admits it, and forgets it.
#[derive(Default)]
pub struct Plain(AtomicU64);

impl Accounts for Plain {
    fn next_id(&self) -> CallId {
        CallId(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn admit(&self, _: &Call) -> Result<(), Refusal> {
        Ok(())
    }

    fn settle(&self, _: &Call, _: &CallOutcome) {}
}

impl Tapes for Plain {
    fn recorded(&self, _: &Call, _: &str, _: &[u8]) -> Recorded {
        Recorded::Live
    }

    fn keep(&self, _: &Call, _: &Exchange) -> Option<BlobId> {
        None
    }
}
