//! `overnight demo`: a complete study in a scratch folder, offline, with villains that must fail.
//!
//! A real miniature of autoresearch: the loop, the judge, the sandbox and the ledger are those of any night. Only the
//! folder is made here, the villains are offered here, and the time is short.

mod ending;
mod folder;
mod luck;
mod villains;

use std::path::PathBuf;

use overnight_engine::load::locate;
use overnight_engine::open::{How, OnDirty};
use overnight_model::event::{Scope, StopReason};
use overnight_model::spec::Tier;
use overnight_model::{Event, Millis, State, Study, What};

use self::folder::Folder;
use self::villains::Villain;
use super::session::{Session, exit_of};
use crate::args::tier;
use crate::error::{Exit, Outcome};
use crate::ui;
use crate::views::term;

/// With the folder before it and the last trials after it, this stays well below two minutes.
const WALL: Millis = Millis::seconds(75);

/// How many verdicts lie between two villains.
const PACE: u64 = 2;

/// What a machine can run side by side without one trial taking another's time.
const MOST_SLOTS: u32 = 2;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Demo {
    /// Where to put the study: an empty folder, or one that is not there yet [default: a new one among the temporary]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Run at this tier (standard, landlock or none) instead of the strongest
    #[arg(long, value_name = "TIER", value_parser = tier)]
    sandbox: Option<Tier>,
    /// All villains and two experiments of the tuner, with a fifth of the budget
    #[arg(long, hide = true)]
    quick: bool,
}

pub(crate) fn demo(args: &Demo) -> Outcome<Exit> {
    folder::look_for_tools()?;
    let folder = Folder::make(args.folder.as_deref(), args.quick)?;
    let site = locate(folder.path(), None)?;
    let mut session =
        Session::open(site, "overnight demo", How { on_dirty: OnDirty::Refuse, rebase: false }, args.sandbox, true)?;
    let found = session.opened.found.clone();
    let (run, not_run): (Vec<Villain>, Vec<Villain>) =
        villains::all().into_iter().partition(|villain| found.tier >= villain.needs);
    introduce(&session, &folder, (run.len(), &not_run), args.quick);
    let pace = if args.quick { 0 } else { PACE };
    let offers = run.iter().zip(1..).map(|(villain, n)| villain.offer(&folder, n * pace)).collect();
    let scope = Scope::Loop { experiments: args.quick.then_some(run.len() as u64 + 2) };
    if !args.quick {
        let mut spec = session.opened.study.spec().clone();
        spec.limits.night.wall = Some(WALL);
        session.opened.study = Study::new(spec, session.opened.study.state().clone());
    }
    let state = session.site.state();
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let ended = session.run(scope, cores.min(MOST_SLOTS), offers, &mut |event, study| {
        let experiment = judged_villain(event, study)?;
        let words = villains::came_to(&state, experiment, &folder)?;
        // What the line above it says already is not said twice.
        let is_said = study.row(experiment).and_then(|row| row.reason).is_some_and(|reason| reason == words);
        (!is_said).then(|| format!("{:7}{words}", ""))
    })?;
    ui::say("");
    match ended.reason {
        StopReason::NightWall | StopReason::Done | StopReason::NothingToTry { .. } => {
            let (lines, exit) = ending::screen(&state, &folder, &found, &ended, &not_run)?;
            lines.iter().for_each(|line| ui::say(line));
            Ok(exit)
        }
        reason => {
            ui::say(&ui::printable(&term::stop_sentence(&reason)));
            super::say_hint(&reason, &state);
            ui::say(&format!("folder     {}", folder.path().display()));
            ui::say(&format!("next       {}", ending::go_on(&folder, found.tier)));
            Ok(exit_of(&reason))
        }
    }
}

/// The villain whose verdict this is.
fn judged_villain(event: &Event, state: &State) -> Option<overnight_model::ExperimentId> {
    let What::Judged(judged) = &event.what else { return None };
    let experiment = state.find(judged.experiment)?;
    (experiment.agent == villains::AGENT).then_some(judged.experiment)
}

fn introduce(session: &Session, folder: &Folder, (villains, not_run): (usize, &[Villain]), quick: bool) {
    let spec = session.opened.study.spec();
    let tier = session.opened.found.tier;
    let seen = match tier {
        Tier::None => "train.py is not given, and could find on this tier",
        Tier::Landlock | Tier::Standard | Tier::Strong => "only it can see",
    };
    let length = if quick { String::new() } else { format!(", in about {WALL}") };
    for line in [
        format!("study      in {}", folder.path().display()),
        format!("train.py   trains a language model of bytes for {}: all that may change", spec.evaluate.budget),
        format!("score.py   measures {} apart, on text that {seen}: locked", spec.metric.name),
        format!("playing    the tuner, without a model or a network{length}"),
        format!("           {villains} villains, each of which has to fail"),
        term::tier_line(tier).to_owned(),
    ] {
        session.say(&line);
    }
    for villain in not_run {
        session.say(&format!("{} is not run: nothing on this tier would stop it", villain.name));
    }
    for line in term::separation(spec, tier) {
        session.say(line);
    }
    session.say("");
}
