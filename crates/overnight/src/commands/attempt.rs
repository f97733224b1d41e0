//! `overnight try`: one experiment of a person's own, judged like any other.

use std::fs;
use std::path::Path;
use std::time::Duration;

use overnight_engine::clock;
use overnight_engine::deliver::{self, Came};
use overnight_engine::dispatch::Offer;
use overnight_engine::ledger::Reader;
use overnight_engine::load::{Site, locate};
use overnight_engine::lock::{Holder, LockError};
use overnight_engine::open::{How, OnDirty, Opened};
use overnight_engine::plans;
use overnight_engine::workspace::UserRepo;
use overnight_model::event::{Scope, StopReason};
use overnight_model::proposal::{Contents, SurfaceBlob};
use overnight_model::study::Row;
use overnight_model::{ExperimentId, What};

use super::champion::{Base, patched};
use super::run::refuse_weak_tier;
use super::session::{Ended, Session, exit_of};
use super::{letters, standing};
use crate::args::{Place, Try};
use crate::error::{CliError, Exit, Outcome};
use crate::ui;
use crate::views::{json, term};

/// How soon to look what became of a proposal that somebody else runs.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(crate) fn attempt(place: &Place, args: &Try) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    if let Some(holder) = standing::holder(&site) {
        if !args.wait {
            let error = CliError::from(LockError::Held { holder });
            return Err(error.hint("wait for it, or hand this over to it with --wait"));
        }
        if let Some(row) = with_the_run(&site, args, &holder)? {
            report(args, &site, &row);
            return Ok(Exit::Done);
        }
    }
    let state = site.state();
    let study = site.study.clone();
    let session =
        Session::open(site, "overnight try", How { on_dirty: OnDirty::Note, rebase: false }, args.sandbox, !args.json)?;
    if session.opened.study.state().is_paused() {
        let message = "the study is paused: nothing new begins";
        return Err(
            CliError::new(Exit::Refused, message).hint(format!("overnight resume{}", super::study_flag(&session.site)))
        );
    }
    // A person's own idea runs anywhere. A champion that waits for its trial in a new segment is not theirs.
    let state_now = session.opened.study.state();
    if state_now.champion.is_some() && !state_now.calibrated() {
        refuse_weak_tier(&session.opened, args.sandbox, false, "try")?;
    }
    let champion = champion_contents(&session.opened)?;
    let contents = match (&args.patch, &args.file) {
        (Some(_), _) | (_, Some(_)) => made(args, session.opened.user.workdir(), champion)?,
        _ => {
            session.say("taking the surface as it is in the working tree");
            if let Some(note) = beside_the_champion(&session.opened) {
                session.say(&note);
            }
            made(args, session.opened.user.workdir(), champion)?
        }
    };
    session.say(term::tier_line(session.opened.found.tier));
    for line in term::separation(session.opened.study.spec(), session.opened.found.tier) {
        session.say(line);
    }
    let slots = session.opened.study.spec().slots;
    let first = session.opened.study.state().next_experiment();
    let flag = super::study_flag(&session.site);
    let offer = Offer::of_a_person(contents, &args.message);
    let Ended { reason, .. } = session.run(Scope::One, slots, vec![offer], &mut |_, _| None)?;
    let row = Reader::open(&state)?.row(ExperimentId(first.0.max(1)))?;
    match (args.json, &row) {
        (true, Some(row)) => {
            ui::data(&json::line(&json::ExperimentJson::new(&study, row)));
        }
        (_, row) => summarise(&reason, row.as_ref(), &state, &flag),
    }
    Ok(exit_of(&reason))
}

/// Hands the proposal to whoever runs the study, and waits for its verdict; nothing where nobody does any more.
fn with_the_run(site: &Site, args: &Try, holder: &Holder) -> Outcome<Option<Row>> {
    let base = Base::champion(site)?;
    let contents = made(args, UserRepo::discover(&site.dir)?.workdir(), base.contents.clone())?;
    let delivery = letters::delivery("person", &args.message, base, contents);
    overnight_engine::open::refuse_foreign_state(site)?;
    let letter = deliver::leave(site, &delivery, clock::now())?;
    if !args.json {
        ui::say(&format!("process {} runs the study and measures it; Ctrl-C leaves it there", holder.pid));
    }
    loop {
        match deliver::came(site, &letter)? {
            Came::Returned(why) => return Err(CliError::new(Exit::Refused, format!("it was not taken: {why}"))),
            Came::Became(id) => {
                let row = letters::judged(site, id)?;
                if row.is_some() {
                    return Ok(row);
                }
                if standing::holder(site).is_none() {
                    let message = format!("the run ended before experiment {id} had its verdict");
                    return Err(CliError::new(Exit::Stopped, message).hint("`overnight run` goes on with it"));
                }
            }
            // Whoever had the study let go of it, or has no use for letters: then it is ours to run.
            Came::Waits | Came::Unknown if standing::holder(site).is_none() => {
                if deliver::withdraw(site, &letter)? {
                    return Ok(None);
                }
            }
            Came::Waits | Came::Unknown => {}
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn report(args: &Try, site: &Site, row: &Row) {
    if args.json {
        ui::data(&json::line(&json::ExperimentJson::new(&site.study, row)));
        return;
    }
    ui::say(&term::row_line(row));
    ui::say(&format!("next       overnight show{} {}", super::study_flag(site), row.experiment));
}

fn summarise(reason: &StopReason, row: Option<&Row>, state: &Path, flag: &str) {
    if *reason != StopReason::Done {
        ui::say(&ui::printable(&term::stop_sentence(reason)));
        super::say_hint(reason, state);
    }
    match (row, reason) {
        (Some(row), _) => ui::say(&format!("next       overnight show{flag} {}", row.experiment)),
        (None, StopReason::BaselineFailed { .. }) => ui::say(&format!("next       overnight show{flag} baseline")),
        (None, _) => {}
    }
}

/// The champion's surface, or the baseline's where nothing was measured yet.
fn champion_contents(opened: &Opened) -> Outcome<Contents> {
    let state = opened.study.state();
    if let Some(champion) = state.to_carry() {
        return Ok(plans::contents(opened.ledger.reader(), &champion.surface)?);
    }
    let from_opening = opened.opening.iter().find_map(|what| match what {
        What::SegmentOpened(facts) => Some(&facts.contents),
        _ => None,
    });
    let files: &Vec<SurfaceBlob> = from_opening
        .or_else(|| state.segment.as_ref().map(|facts| &facts.contents))
        .ok_or_else(|| CliError::new(Exit::Fault, "the study has no baseline"))?;
    let contents = files.iter().map(|file| file.path.clone()).zip(opened.contents.iter().cloned()).collect();
    Ok(Contents(contents))
}

/// A checkout stays where it was while the champion moves on: what it lacks would count against the idea.
fn beside_the_champion(opened: &Opened) -> Option<String> {
    let champion = opened.study.state().champion().filter(|champion| champion.id != opened.study.state().baseline())?;
    let (study, files) =
        (&opened.study.spec().study, opened.study.spec().surface.paths().collect::<Vec<_>>().join(" "));
    Some(format!(
        "note: it is compared with experiment {}, the champion; to start from that, `git restore -s overnight/{study} -- {files}`",
        champion.id
    ))
}

/// What the champion's surface is to become.
fn made(args: &Try, workdir: &Path, champion: Contents) -> Outcome<Contents> {
    match (&args.patch, &args.file) {
        (Some(patch), _) => patched(&read(patch)?, &patch.display().to_string(), champion),
        (_, Some(file)) => whole_file(file, champion),
        _ => worktree(workdir, champion),
    }
}

fn worktree(workdir: &Path, champion: Contents) -> Outcome<Contents> {
    let read = |(path, _): (String, Vec<u8>)| {
        let bytes = read(&workdir.join(&path))?;
        Ok((path, bytes))
    };
    Ok(Contents(champion.0.into_iter().map(read).collect::<Outcome<_>>()?))
}

fn whole_file(file: &Path, champion: Contents) -> Outcome<Contents> {
    match champion.0.as_slice() {
        [(path, _)] => Ok(Contents(vec![(path.clone(), read(file)?)])),
        files => Err(CliError::usage(format!("--file is for a surface of one file; this one has {}", files.len()))
            .hint("use --from-worktree or --patch")),
    }
}

fn read(path: &Path) -> Outcome<Vec<u8>> {
    fs::read(path).map_err(|error| CliError::usage(format!("could not read {}", path.display())).cause(&error))
}
