//! `overnight rebase`: a new segment, under the evaluation as it is now.

use overnight_engine::load::locate;
use overnight_engine::open::{How, OnDirty};
use overnight_model::What;
use overnight_model::event::Scope;
use overnight_model::spec::Tier;

use super::run::{refuse_weak_tier, say_end};
use super::session::{Ended, Session, exit_of};
use crate::args::{Place, tier};
use crate::error::{Exit, Outcome};
use crate::ui;
use crate::views::term;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Rebase {
    /// Take the working tree, uncommitted changes included
    #[arg(long)]
    snapshot: bool,
    /// Run N trials side by side
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    slots: Option<u32>,
    /// Print plain lines, also on a terminal
    #[arg(long)]
    no_tui: bool,
    /// Run at this tier (standard, landlock or none) instead of the strongest, and accept it
    #[arg(long, value_name = "TIER", value_parser = tier)]
    sandbox: Option<Tier>,
}

/// Opens the segment and measures what it compares with: the baseline, and the champion that is carried over.
pub(crate) fn rebase(place: &Place, args: &Rebase) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    let on_dirty = if args.snapshot { OnDirty::Snapshot } else { OnDirty::Refuse };
    let how = How { on_dirty, rebase: true };
    let session = Session::open(site, "overnight rebase", how, args.sandbox, !args.no_tui)?;
    refuse_weak_tier(&session.opened, args.sandbox, false, "rebase")?;
    let opened = session.opened.opening.iter().find_map(|what| match what {
        What::SegmentOpened(facts) => Some(facts),
        _ => None,
    });
    if let Some(facts) = opened {
        let changed = facts.carried.as_ref().map_or("", |carried| carried.changed.as_str());
        session.say(&format!("segment {} · changed: {}", facts.segment.0, ui::printable(changed)));
    }
    session.say(term::tier_line(session.opened.found.tier));
    let slots = args.slots.unwrap_or(session.opened.study.spec().slots);
    let (study, site) = (session.site.study.clone(), session.site.clone());
    let flag = super::study_flag(&session.site);
    let scope = Scope::Loop { experiments: Some(0) };
    let Ended { reason, summary, asked, agents } = session.run(scope, slots, Vec::new(), &mut |_, _| None)?;
    say_end(&reason, summary.as_ref(), (asked, Some(&agents)), &site);
    ui::say(&match exit_of(&reason) {
        Exit::Done => format!("next       overnight run{flag} · git log overnight/{study}"),
        _ => format!("next       overnight show{flag} baseline, mend what broke, then overnight rebase{flag}"),
    });
    Ok(exit_of(&reason))
}
