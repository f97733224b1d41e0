//! How much is under way, for whoever has to wait until nothing is.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Counts what is under way at one door.
#[derive(Clone, Default)]
pub(super) struct Count(Arc<(Mutex<usize>, Condvar)>);

/// Something under way, until it is dropped.
pub(super) struct Busy(Count);

impl Count {
    pub(super) fn begin(&self) -> Busy {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Busy(self.clone())
    }

    /// Waits until nothing is under way, and no longer than this.
    pub(super) fn wait(&self, limit: Duration) {
        let (count, changed) = &*self.0;
        let count = count.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = changed.wait_timeout_while(count, limit, |count| *count > 0);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let (count, changed) = &*self.0.0;
        *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        changed.notify_all();
    }
}
