//! The quick looks at one experiment before it took a slot.

use overnight_engine::ledger::StoredEvent;
use overnight_model::event::What;
use overnight_model::measure::{Output, Usage};
use overnight_model::{Ending, ExperimentId};
use serde_json::{Value, json};

use super::guards::ON_CHAMPION;
use crate::ui::printable;

/// One quick look that ended.
pub(super) struct Run<'a> {
    command: &'a str,
    /// The champion, where it was tried on that.
    on: Option<ExperimentId>,
    ending: &'a Ending,
    usage: Usage,
    pub(super) output: Option<&'a Output>,
}

impl Run<'_> {
    pub(super) fn name(&self) -> String {
        let on = if self.on.is_some() { ON_CHAMPION } else { "" };
        format!("smoke `{}`{on}", printable(self.command))
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "smoke": self.command,
            "on": self.on.map(|champion| champion.0),
            "passed": self.ending.succeeded(),
            "ending": self.ending.to_string(),
            "wall_s": self.usage.wall.as_secs(),
        })
    }
}

/// Every one that ended, in order.
pub(super) fn runs(events: &[StoredEvent]) -> Vec<Run<'_>> {
    let (mut ended, mut started) = (Vec::new(), (None, ""));
    for stored in events {
        match &stored.event.what {
            What::SmokeStarted { on, command, .. } => started = (*on, command.as_str()),
            What::SmokeFinished { ending, usage, output, .. } => {
                let (on, command) = started;
                ended.push(Run { command, on, ending, usage: *usage, output: output.as_ref() });
            }
            _ => {}
        }
    }
    ended
}

pub(super) fn lines(events: &[StoredEvent]) -> Vec<String> {
    let line = |run: Run<'_>| {
        let result = if run.ending.succeeded() { "passed".to_owned() } else { run.ending.to_string() };
        format!("  {}: {result} · {:.3} s wall", run.name(), run.usage.wall.as_secs())
    };
    runs(events).into_iter().map(line).collect()
}
