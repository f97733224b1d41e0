//! `overnight run`: the loop.

use std::fs::OpenOptions;
use std::time::Duration;

use overnight_engine::holdout::openings;
use overnight_engine::ledger::Reader;
use overnight_engine::load::{Site, locate};
use overnight_engine::open::{How, OnDirty, Opened};
use overnight_engine::process::leave_terminal;
use overnight_model::event::{Scope, StopReason};
use overnight_model::spec::Tier;
use overnight_model::study::Summary;

use super::session::{Ended, Session, exit_of};
use crate::args::{Place, Run};
use crate::error::{CliError, Exit, Outcome};
use crate::ui;
use crate::views::night::{self, Asked};
use crate::views::term;

/// How soon to look whether a detached run has begun.
const DETACH_POLL: Duration = Duration::from_millis(20);

pub(crate) fn run(place: &Place, args: &Run) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    if args.detach {
        return detach(&site, args);
    }
    if args.detached {
        leave_terminal();
    }
    let on_dirty = if args.snapshot { OnDirty::Snapshot } else { OnDirty::Refuse };
    let how = How { on_dirty, rebase: false };
    let session = Session::open(site, "overnight run", how, args.sandbox, !args.no_tui)?;
    let has_model = session.opened.study.spec().agent.has_model();
    refuse_weak_tier(&session.opened, args.sandbox, has_model, "run")?;
    super::check::refuse_missing(&session.opened.study.spec().agent)?;
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
    let site = session.site.clone();
    let scope = Scope::Loop { experiments: args.experiments };
    let Ended { reason, summary, asked } = session.run(scope, slots, Vec::new(), &mut |_, _| None)?;
    say_end(&reason, summary.as_ref(), asked, &site);
    let begun = summary.is_some_and(|summary| summary.champion.is_some());
    ui::say(&format!("next       {}", next(&reason, &site.study, &super::study_flag(&site), begun)));
    Ok(exit_of(&reason))
}

/// Where a run left the study, and why it ended.
pub(super) fn say_end(reason: &StopReason, summary: Option<&Summary>, asked: Asked, site: &Site) {
    if let Some(summary) = summary {
        ui::say("");
        if let Some(line) = term::waiting(summary, &super::study_flag(site)) {
            ui::say(&line);
        }
        for line in term::standing(summary, asked) {
            ui::say(&line);
        }
        ui::say(&format!("so far     {}", term::counts(summary)));
        term::flaky(summary).iter().for_each(|line| ui::say(line));
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
        StopReason::NothingToTry { .. } => {
            "name a surface with numbers to tune, or an agent of your own: [agent] use = \"command\"".to_owned()
        }
        _ if !begun => format!("overnight run{flag}"),
        _ => format!("overnight report{flag} · overnight show{flag} champion · git log overnight/{study}"),
    }
}

/// Whether a process has recorded the beginning of its run.
fn has_started(site: &Site, pid: u32) -> bool {
    let summary = Reader::open(&site.state()).ok().and_then(|reader| reader.summary().ok().flatten());
    summary.is_some_and(|summary| summary.pid == Some(pid))
}

/// Starts the same run again, out of the reach of this terminal.
fn detach(site: &Site, args: &Run) -> Outcome<Exit> {
    let state = site.state();
    let fault = |what: &str, error: &dyn std::error::Error| CliError::new(Exit::Fault, what.to_owned()).cause(error);
    std::fs::create_dir_all(&state).map_err(|error| fault("could not make the study's folder", &error))?;
    let path = state.join("run.log");
    let open = || OpenOptions::new().create(true).append(true).open(&path);
    let log = open().map_err(|error| fault("could not open run.log", &error))?;
    let said_before = log.metadata().map_or(0, |metadata| metadata.len());
    let mut arguments = vec!["-C".to_owned(), site.dir.to_string_lossy().into_owned()];
    arguments.extend([
        "--study".to_owned(),
        site.study.clone(),
        "run".to_owned(),
        "--no-tui".to_owned(),
        "--detached".to_owned(),
    ]);
    arguments.extend(args.experiments.map(|n| format!("--experiments={n}")));
    arguments.extend(args.slots.map(|n| format!("--slots={n}")));
    arguments.extend(args.sandbox.map(|tier| format!("--sandbox={}", tier.name())));
    arguments.extend(args.snapshot.then(|| "--snapshot".to_owned()));
    let program = std::env::current_exe().map_err(|error| fault("could not find the overnight program", &error))?;
    let mut child = overnight_engine::process::start_detached(&program, &arguments, log)
        .map_err(|error| fault("could not start the run", &error))?;
    let pid = child.id();
    // A run that is refused has to be told here, where somebody looks.
    while !has_started(site, pid) {
        if let Ok(Some(ended)) = child.try_wait() {
            let said = std::fs::read(&path).unwrap_or_default();
            let said = said.get(said_before as usize..).unwrap_or_default();
            ui::say(String::from_utf8_lossy(said).trim_end());
            return Ok(ended.code().map_or(Exit::Fault, Exit::of_code));
        }
        std::thread::sleep(DETACH_POLL);
    }
    ui::say(&format!("running in the background as process {pid}; its lines go to {}", path.display()));
    let flag = super::study_flag(site);
    ui::say(&format!("see it with `overnight status{flag}`, stop it with `kill {pid}`"));
    Ok(Exit::Done)
}
