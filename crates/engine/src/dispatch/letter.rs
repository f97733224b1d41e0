//! Letters of a person, taken up before anything is decided: an agent that is asked in this turn knows of them.

use std::path::Path;

use super::{Dispatch, Draft, Machine};
use crate::inbox::{Inbox, Waiting};

impl<M: Machine> Dispatch<M> {
    /// Notes what letters say. They are removed once the turn is durable.
    pub(super) fn take_letters(&mut self, draft: &mut Draft) -> Vec<Waiting> {
        // A night does not end because a letter cannot be read.
        let waiting = self.inbox().waiting().unwrap_or_default();
        for event in Inbox::events(self.study.state(), &waiting) {
            self.note(draft, event.at, event.what);
        }
        waiting
    }

    pub(super) fn remove_letters(&self, taken: &[Waiting]) {
        // One that stays is known by its name the next time.
        let _ = self.inbox().remove(taken);
    }

    fn inbox(&self) -> Inbox {
        Inbox::of(self.ledger.path().parent().unwrap_or(Path::new(".")))
    }
}
