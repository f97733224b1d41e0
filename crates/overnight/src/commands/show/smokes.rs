//! The quick looks at one experiment before it took a slot.

use overnight_engine::ledger::StoredEvent;
use overnight_model::event::What;
use serde_json::Value;

use super::ran::Ran;
use crate::ui::printable;

/// One quick look that ended.
pub(super) struct Run<'a>(pub(super) Ran<'a>);

impl Run<'_> {
    pub(super) fn name(&self) -> String {
        format!("smoke `{}`{}", printable(self.0.command), self.0.on())
    }

    pub(super) fn json(&self) -> Value {
        self.0.json("smoke")
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
                ended.push(Run(Ran { command, on, ending, usage: *usage, output: output.as_ref() }));
            }
            _ => {}
        }
    }
    ended
}

pub(super) fn lines(events: &[StoredEvent]) -> Vec<String> {
    runs(events).into_iter().map(|run| run.0.line(&run.name(), "passed")).collect()
}
