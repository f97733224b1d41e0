//! A provider that is down or has had enough for now: who needs it is not asked until it may be back, and the
//! night goes on.

use super::State;
use crate::event::AttemptFailure;
use crate::id::ExperimentId;
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
    pub fn waits_until(&self, agent: &str) -> Option<Timestamp> {
        self.run.as_ref()?.waiting.get(agent).map(Waiting::until)
    }

    /// Everyone whose provider failed last, and when they may be asked again.
    pub fn waiting(&self) -> impl Iterator<Item = (&str, Timestamp)> {
        self.run.iter().flat_map(|run| &run.waiting).map(|(agent, waiting)| (agent.as_str(), waiting.until()))
    }

    /// Learns how an agent's turn ended.
    pub(super) fn answered(&mut self, experiment: ExperimentId, failure: Option<&AttemptFailure>, at: Timestamp) {
        let Some(open) = self.open.get(&experiment).filter(|open| open.asked) else { return };
        self.turns.took(experiment, at.since(open.asked_at));
        let Some(run) = &mut self.run else { return };
        let agent = open.agent.clone();
        let before = run.waiting.remove(&agent);
        let Some(trouble) = failure.and_then(AttemptFailure::trouble).filter(|trouble| trouble.is_providers()) else {
            return;
        };
        self.turns.take_back(experiment);
        // Several were asked before the first of them failed: that is one failure, and one of them may know more.
        let same = before.filter(|before| at < before.until());
        let in_a_row = before.map_or(0, |before| before.in_a_row);
        let waiting = Waiting {
            in_a_row: same.map_or(in_a_row + 1, |same| same.in_a_row),
            at: same.map_or(at, |same| same.at),
            retry_at: trouble.retry_at().max(same.and_then(|same| same.retry_at)),
        };
        run.waiting.insert(agent, waiting);
    }
}

impl Waiting {
    fn until(&self) -> Timestamp {
        let Waiting { in_a_row, at, retry_at } = *self;
        let doubled = FIRST.0.saturating_mul(1 << in_a_row.saturating_sub(1).min(20));
        let own = Timestamp(at.0 + doubled.min(LONGEST.0) as i64);
        let latest = Timestamp(at.0 + MOST_HONOURED.0 as i64);
        retry_at.map_or(own, |retry_at| retry_at.min(latest).max(own))
    }
}
