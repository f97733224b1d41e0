//! Who would be told of a night, and `overnight check --notify`: one notice to each of them, now.

use overnight_engine::clock;
use overnight_engine::dispatch::Fault;
use overnight_engine::load::{Site, locate};
use overnight_engine::notify::{self, Told};
use overnight_engine::process::Keeper;
use overnight_engine::rehearse::Subject;
use serde_json::json;

use super::report::{Finding, Level};
use super::study::Sequence;
use crate::args::{Check, Place};
use crate::error::{CliError, Exit, Outcome};
use crate::ui;
use crate::views::notice;

/// Who is told of what. Nothing is run or sent for it.
pub(super) fn told(sequence: &mut Sequence, site: &Site, keeper: &Keeper) {
    let spec = sequence.spec.notify.clone();
    let on = spec.on.iter().map(|occasion| occasion.name()).collect::<Vec<_>>().join(", ");
    for Told { whom, trouble } in notify::told(&spec, keeper, &site.dir) {
        sequence.add(match trouble {
            None => Finding::ok("notify", format!("{whom} is told of {on}; `overnight check --notify` sends a test")),
            Some(trouble) => Finding::new("notify", Level::Warn, format!("{whom} cannot be told: {trouble}"))
                .next("mend it, then: `overnight check --notify`"),
        });
    }
}

pub(super) fn check(place: &Place, args: &Check) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    // The keeper comes first: it is forked before there is any thread.
    let keeper = Keeper::fork().map_err(|error| CliError::from(Fault::from(error)))?;
    let spec = Subject::worktree(&site)?.spec.notify;
    if !spec.has_target() {
        let hint = "say in [notify] where notices go: `command = \"…\"`, `desktop = true` or `webhook_env = \"NAME\"`";
        return Err(CliError::usage("the triplet names nobody to tell").hint(hint));
    }
    let sent = notify::try_all(&spec, &keeper, &site.dir, &notice::test(&site.study, clock::now()));
    let is_reached = sent.iter().all(|(_, sent)| sent.is_ok());
    if args.json {
        let one = |(whom, sent): &(String, Result<(), String>)| json!({ "whom": whom, "reached": sent.is_ok(), "why": sent.as_ref().err() });
        ui::data(&json!({ "study": site.study, "notify": sent.iter().map(one).collect::<Vec<_>>() }).to_string());
    } else {
        for (whom, sent) in &sent {
            ui::data(&ui::printable(&match sent {
                Ok(()) => format!("ok    {whom} was told"),
                Err(why) => format!("fail  {whom} was not reached: {why}"),
            }));
        }
    }
    Ok(if is_reached { Exit::Done } else { Exit::Usage })
}
