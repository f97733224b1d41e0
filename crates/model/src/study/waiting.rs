//! A provider that is down or has had enough for now: nobody is asked until it may be back, and the night goes on.

use super::State;
use crate::event::AttemptFailure;
use crate::units::{Millis, Timestamp};

/// The first wait. Most limits of a minute are over in it, or in the next one.
const FIRST: Millis = Millis::seconds(15);
/// The longest. Of an outage of an hour, at most this much is lost at its end.
const LONGEST: Millis = Millis::seconds(600);
/// Whoever asks for more has another clock than we have.
const MOST_HONOURED: Millis = Millis::seconds(24 * 3600);

/// Failures in a row that were the provider's, with nothing in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waiting {
    in_a_row: u32,
    /// When the latest of them was.
    at: Timestamp,
    /// When the provider itself said that it may be asked again.
    retry_at: Option<Timestamp>,
}

impl State {
    /// When an agent may be asked again, where its provider failed last.
    pub fn waits_until(&self) -> Option<Timestamp> {
        let Waiting { in_a_row, at, retry_at } = self.run.as_ref()?.waiting?;
        let doubled = FIRST.0.saturating_mul(1 << in_a_row.saturating_sub(1).min(20));
        let own = Timestamp(at.0 + doubled.min(LONGEST.0) as i64);
        let latest = Timestamp(at.0 + MOST_HONOURED.0 as i64);
        Some(retry_at.map_or(own, |retry_at| retry_at.min(latest).max(own)))
    }

    /// Learns how an agent's turn ended.
    pub(super) fn answered(&mut self, failure: Option<&AttemptFailure>, at: Timestamp) {
        let until = self.waits_until();
        let Some(run) = &mut self.run else { return };
        let provider = failure.and_then(AttemptFailure::trouble).filter(|trouble| trouble.is_providers());
        // Several agents were asked before the first of them failed: that is one failure, and one of them may know more.
        let same = run.waiting.filter(|_| until.is_some_and(|until| at < until));
        let before = run.waiting.map_or(0, |waiting| waiting.in_a_row);
        run.waiting = provider.map(|trouble| Waiting {
            in_a_row: same.map_or(before + 1, |same| same.in_a_row),
            at: same.map_or(at, |same| same.at),
            retry_at: trouble.retry_at().max(same.and_then(|same| same.retry_at)),
        });
    }
}
