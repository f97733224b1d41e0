//! The guards of one experiment, as they were run.

use overnight_engine::ledger::StoredEvent;
use overnight_model::event::What;
use serde_json::Value;

use super::ran::Ran;
use crate::ui::printable;

/// One run of a guard's command.
pub(super) struct Run<'a> {
    guard: u32,
    pub(super) ran: Ran<'a>,
}

impl Run<'_> {
    /// The guard by its command; a ledger of an earlier format knows only its number.
    pub(super) fn name(&self) -> String {
        match (self.ran.command, self.ran.on()) {
            ("", on) => format!("guard {}{on}", self.guard),
            (command, on) => format!("guard `{}`{on}", printable(command)),
        }
    }

    pub(super) fn json(&self) -> Value {
        self.ran.json("guard")
    }
}

/// Every run that ended, in order.
pub(super) fn runs(events: &[StoredEvent]) -> Vec<Run<'_>> {
    let ended = events.iter().enumerate().filter_map(|(index, stored)| {
        let What::GuardFinished { guard, ending, usage, output, .. } = &stored.event.what else { return None };
        let started = events[..index].iter().rev().find_map(|before| match &before.event.what {
            What::GuardStarted { guard: started, on, command, .. } if started == guard => Some((*on, command.as_str())),
            _ => None,
        });
        let (on, command) = started.unwrap_or_default();
        let ran = Ran { command, on, ending, usage: *usage, output: output.as_ref() };
        Some(Run { guard: *guard, ran })
    });
    ended.collect()
}

pub(super) fn lines(events: &[StoredEvent]) -> Vec<String> {
    let runs = runs(events);
    let line = |(index, run): (usize, &Run<'_>)| {
        let is_same = |other: &&Run<'_>| other.guard == run.guard && other.ran.on == run.ran.on;
        let before = runs[..index].iter().rev().find(is_same);
        let is_flaky = before.is_some_and(|before| !before.ran.ending.succeeded());
        run.ran.line(&run.name(), if is_flaky { "passed, after it had failed: it is flaky" } else { "passed" })
    };
    runs.iter().enumerate().map(line).collect()
}
