//! What crashed at once and went back to whoever made it.

use overnight_engine::ledger::StoredEvent;
use overnight_model::CommitId;
use overnight_model::event::{AttemptFailure, Proposed, What};
use serde_json::{Value, json};

use super::sheet::Fact;

/// What came of asking for a repair.
enum Came<'a> {
    /// The commit that crashed, and what was made of it.
    Repaired(&'a CommitId, &'a Proposed),
    Not(&'a AttemptFailure),
}

fn all(events: &[StoredEvent]) -> Vec<Came<'_>> {
    let (mut came, mut before) = (Vec::new(), None);
    for stored in events {
        let what = &stored.event.what;
        match (what, before) {
            (What::Repaired(proposed), Some(before)) => came.push(Came::Repaired(before, proposed)),
            (What::NotRepaired { failure, .. }, _) => came.push(Came::Not(failure)),
            _ => {}
        }
        before = what.made().map(|made| &made.commit).or(before);
    }
    came
}

pub(super) fn facts(events: &[StoredEvent]) -> Vec<Fact<'static>> {
    let fact = |came: Came<'_>| match came {
        Came::Repaired(before, proposed) => {
            let (before, after) = (before.short(), proposed.commit.short());
            let took = proposed.took.as_secs();
            ("repaired", format!("{before} crashed at once; {} made {after} of it in {took:.1} s", proposed.agent))
        }
        Came::Not(failure) => ("repair", format!("it crashed at once, and was not repaired: {}", why(failure))),
    };
    all(events).into_iter().map(fact).collect()
}

pub(super) fn json(events: &[StoredEvent]) -> Vec<Value> {
    let object = |came: Came<'_>| match came {
        Came::Repaired(before, proposed) => {
            json!({ "from": before, "to": proposed.commit, "seconds": proposed.took.as_secs(), "failed": null })
        }
        Came::Not(failure) => json!({ "from": null, "to": null, "seconds": null, "failed": why(failure) }),
    };
    all(events).into_iter().map(object).collect()
}

fn why(failure: &AttemptFailure) -> String {
    match failure {
        AttemptFailure::NoChange => "nothing was changed".to_owned(),
        AttemptFailure::Error { what, .. } | AttemptFailure::Policy { what } | AttemptFailure::Exhausted { what } => {
            what.clone()
        }
    }
}
