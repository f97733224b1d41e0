//! The guards of one experiment, as they were run.

use overnight_engine::ledger::StoredEvent;
use overnight_model::event::What;
use overnight_model::measure::{Output, Usage};
use overnight_model::{Ending, ExperimentId};
use serde_json::{Value, json};

use crate::ui::printable;

/// How the name of a run ends that was about the champion.
pub(super) const ON_CHAMPION: &str = " on the champion";

/// One run of a guard's command.
pub(super) struct Run<'a> {
    guard: u32,
    command: &'a str,
    /// The champion, where it was tried on that.
    on: Option<ExperimentId>,
    ending: &'a Ending,
    usage: Usage,
    pub(super) output: Option<&'a Output>,
}

impl Run<'_> {
    /// The guard by its command; a ledger of an earlier format knows only its number.
    pub(super) fn name(&self) -> String {
        let on = if self.on.is_some() { ON_CHAMPION } else { "" };
        match self.command {
            "" => format!("guard {}{on}", self.guard),
            command => format!("guard `{}`{on}", printable(command)),
        }
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "guard": self.command,
            "on": self.on.map(|champion| champion.0),
            "passed": self.ending.succeeded(),
            "ending": self.ending.to_string(),
            "wall_s": self.usage.wall.as_secs(),
        })
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
        Some(Run { guard: *guard, command, on, ending, usage: *usage, output: output.as_ref() })
    });
    ended.collect()
}

pub(super) fn lines(events: &[StoredEvent]) -> Vec<String> {
    let runs = runs(events);
    let line = |(index, run): (usize, &Run<'_>)| {
        let is_same = |other: &&Run<'_>| other.guard == run.guard && other.on == run.on;
        let before = runs[..index].iter().rev().find(is_same);
        let result = match (run.ending.succeeded(), before.is_some_and(|before| !before.ending.succeeded())) {
            (true, true) => "passed, after it had failed: it is flaky".to_owned(),
            (true, false) => "passed".to_owned(),
            (false, _) => run.ending.to_string(),
        };
        format!("  {}: {result} · {:.3} s wall", run.name(), run.usage.wall.as_secs())
    };
    runs.iter().enumerate().map(line).collect()
}
