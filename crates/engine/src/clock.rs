//! The only place that reads a clock.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "this is the one place")]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use overnight_model::Timestamp;

/// The present moment in UTC, for the record and for limits of hours. Deadlines use the monotonic clock.
pub fn now() -> Timestamp {
    // A clock set before 1970 is not worth an error path: order is by sequence, never by time.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_millis() as i64)
}

/// Waits until this second has come, and no longer than two seconds whatever the clock says.
pub fn sleep_until(second: i64) {
    let left = (second * 1000).saturating_sub(now().0).clamp(0, 2000);
    std::thread::sleep(Duration::from_millis(left as u64));
}

/// A stopwatch on the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Which boot of the machine this is; `unknown` where the kernel does not say.
pub fn boot_id() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    read.map_or_else(|_| "unknown".to_owned(), |id| id.trim().to_owned())
}
