//! A run for the proposals that came by letter, as `overnight mcp` starts it beside itself where nobody runs the study.

use overnight_engine::inbox::{Delivery, SentFile};
use overnight_engine::ledger::StoredEvent;
use overnight_engine::load::{Site, locate};
use overnight_engine::open::{How, OnDirty};
use overnight_model::event::Scope;
use overnight_model::proposal::Contents;
use overnight_model::spec::Tier;
use overnight_model::study::Row;
use overnight_model::{ExperimentId, Verdict, What};

use super::champion::Base;
use super::run::refuse_weak_tier;
use super::session::{Ended, Session, exit_of};
use super::standing;
use crate::args::{Place, tier};
use crate::error::{Exit, Outcome};
use crate::ui;
use crate::views::term;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Letters {
    #[arg(long, value_name = "TIER", value_parser = tier)]
    sandbox: Option<Tier>,
}

/// Runs until no letter is left, or until standard input closes.
pub(crate) fn letters(place: &Place, args: &Letters) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    let how = How { on_dirty: OnDirty::Note, rebase: false };
    let session = Session::open(site, "overnight mcp", how, args.sandbox, false)?;
    refuse_weak_tier(&session.opened, args.sandbox, true, "mcp")?;
    let (slots, state) = (session.opened.study.spec().slots, session.site.state());
    let Ended { reason, .. } = session.run(Scope::Letters, slots, Vec::new(), &mut |_, _| None)?;
    let exit = exit_of(&reason);
    if exit != Exit::Done {
        ui::say(&ui::printable(&term::stop_sentence(&reason)));
        super::say_hint(&reason, &state);
    }
    Ok(exit)
}

/// A proposal as a letter: only what it changes.
pub(crate) fn delivery(agent: &str, description: &str, base: Base, contents: Contents) -> Delivery {
    let is_new = |path: &str, bytes: &[u8]| base.contents.get(path) != Some(bytes);
    let files = contents.0.into_iter().filter(|(path, bytes)| is_new(path, bytes));
    let files = files.map(|(path, bytes)| SentFile { path, bytes }).collect();
    let base = base.of.map(|(_, commit)| commit);
    Delivery { agent: agent.to_owned(), description: description.to_owned(), base, files }
}

/// The row of an experiment that is judged; one that is kept has reached the branch, where somebody is there to move it.
pub(crate) fn judged(site: &Site, id: ExperimentId) -> Outcome<Option<Row>> {
    let reader = super::ledger_of(site)?;
    let is_running = standing::holder(site).is_some();
    let is_there = |stored: &StoredEvent| matches!(stored.event.what, What::BranchAdvanced { .. });
    Ok(match reader.row(id)? {
        Some(row) if row.verdict == Some(Verdict::Kept) && is_running => {
            reader.events_of(id)?.iter().any(is_there).then_some(row)
        }
        row => row.filter(|row| row.verdict.is_some()),
    })
}
