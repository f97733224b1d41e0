//! `overnight run`: the loop.

use overnight_engine::holdout::openings;
use overnight_engine::load::{Site, locate};
use overnight_engine::open::{How, OnDirty, Opened};
use overnight_engine::process::leave_terminal;
use overnight_model::event::{Scope, StopReason};
use overnight_model::spec::{AgentSpec, Tier};
use overnight_model::study::Summary;

use super::live;
use super::session::{Ended, Session, exit_of};
use crate::args::{Place, Run};
use crate::error::{CliError, Exit, Outcome};
use crate::ui;
use crate::ui::tty::has_screen;
use crate::views::night::{self, Asked};
use crate::views::{costs, team, term};

pub(crate) fn run(place: &Place, args: &Run) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    if args.detach {
        return live::detach(&site, args);
    }
    if !args.no_tui && has_screen() {
        return live::run(&site, args);
    }
    if args.detached {
        leave_terminal();
    }
    let on_dirty = if args.snapshot { OnDirty::Snapshot } else { OnDirty::Refuse };
    let how = How { on_dirty, rebase: false };
    let session = Session::open(site, "overnight run", how, args.sandbox, !args.no_tui)?;
    let has_model = session.opened.study.spec().agent.has_model();
    refuse_weak_tier(&session.opened, args.sandbox, has_model, "run")?;
    super::check::refuse_missing(session.opened.study.spec())?;
    let spec = session.opened.study.spec();
    let slots = args.slots.unwrap_or(spec.slots);
    let (study, metric, agent) = (&spec.study, &spec.metric, spec.agent.titled());
    let plural = if slots == 1 { "" } else { "s" };
    let head = format!(
        "overnight · study {study} · {} ({}) · budget {} · {agent} · {slots} slot{plural}",
        metric.name,
        term::arrow(metric.goal),
        spec.evaluate.budget,
    );
    session.say(&head);
    if session.opened.study.state().is_paused() {
        session.say("paused: nothing new begins; `overnight resume` goes on");
    }
    session.say(term::tier_line(session.opened.found.tier));
    for line in term::separation(spec, session.opened.found.tier) {
        session.say(line);
    }
    let _awake = if args.no_awake { None } else { super::awake::hold(study, |line| session.say(line)) };
    let site = session.site.clone();
    let scope = Scope::Loop { experiments: args.experiments };
    let Ended { reason, summary, asked, agents } = session.run(scope, slots, Vec::new(), &mut |_, _| None)?;
    close(&reason, summary.as_ref(), (asked, Some(&agents)), &site);
    Ok(exit_of(&reason))
}

/// The last lines of a run.
pub(super) fn close(
    reason: &StopReason,
    summary: Option<&Summary>,
    (asked, agents): (Asked, Option<&AgentSpec>),
    site: &Site,
) {
    say_end(reason, summary, (asked, agents), site);
    let begun = summary.is_some_and(|summary| summary.champion.is_some());
    ui::say(&format!("next       {}", next(reason, &site.study, &super::study_flag(site), begun)));
}

/// Where a run left the study, and why it ended.
pub(super) fn say_end(
    reason: &StopReason,
    summary: Option<&Summary>,
    (asked, agents): (Asked, Option<&AgentSpec>),
    site: &Site,
) {
    if let Some(summary) = summary {
        ui::say("");
        if let Some(line) = term::waiting(summary, &super::study_flag(site)) {
            ui::say(&line);
        }
        for line in term::standing(summary, asked) {
            ui::say(&line);
        }
        ui::say(&format!("so far     {}", term::counts(summary)));
        team::lines(summary, agents, None).iter().for_each(|line| ui::say(line));
        term::flaky(summary).iter().for_each(|line| ui::say(line));
        costs::lines(summary).iter().for_each(|line| ui::say(line));
        ui::say(&night::trust_of(summary, openings(site)));
    }
    ui::say(&ui::printable(&term::stop_sentence(reason)));
    super::say_hint(reason, &site.state());
}

/// Code that a model wrote does not run on a tier below the one that was asked for, unless a person says so by name.
///
/// That is what an agent will write, or what one wrote before.
pub(super) fn refuse_weak_tier(
    opened: &Opened,
    accepted: Option<Tier>,
    will_write: bool,
    command: &str,
) -> Outcome<()> {
    let Some(why) = weak_tier(opened, accepted).filter(|_| will_write || opened.study.state().is_model_written())
    else {
        return Ok(());
    };
    let found = &opened.found;
    let tier = found.tier.name();
    let mut error = CliError::new(Exit::Refused, why);
    error.causes.extend(found.reasons.iter().cloned());
    let what = match found.tier {
        Tier::None => "to run it with your own rights all the same",
        _ => "to run it on this tier all the same",
    };
    Err(error.hint(format!("{what}: overnight {command} --sandbox {tier}")))
}

/// Why nothing that a model wrote may run here, if so.
pub(super) fn weak_tier(opened: &Opened, accepted: Option<Tier>) -> Option<String> {
    let (min, tier) = (opened.study.spec().sandbox.min, opened.found.tier);
    let is_enough = tier >= min || accepted == Some(tier);
    let (min, tier) = (min.name(), tier.name());
    (!is_enough).then(|| format!("this machine gives the sandbox `{tier}`, and what a model wrote needs `{min}`"))
}

/// The next sensible step.
fn next(reason: &StopReason, study: &str, flag: &str, begun: bool) -> String {
    match reason {
        StopReason::BaselineFailed { .. } => format!("overnight show{flag} baseline"),
        StopReason::ChampionFailed { .. } => {
            format!("overnight show{flag} champion, mend what broke, then overnight run{flag}")
        }
        StopReason::GuardBroken { command, .. } => {
            format!("mend what `{}` needs, then overnight run{flag}", ui::printable(command))
        }
        StopReason::FailedAttempts { .. } => {
            format!("overnight log{flag}, then overnight show{flag} N for what the agent said")
        }
        StopReason::Spent { reached, .. } => {
            format!("raise `{}` in the triplet to go on, or overnight report{flag}", reached.key())
        }
        StopReason::NothingToTry { .. } => {
            "name a surface with numbers to tune, or an agent of your own: [agent] use = \"command\"".to_owned()
        }
        _ if !begun => format!("overnight run{flag}"),
        _ => format!("overnight report{flag} · overnight show{flag} champion · git log overnight/{study}"),
    }
}
