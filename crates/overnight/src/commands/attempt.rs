//! `overnight try`: one experiment of a person's own, judged like any other.

use std::fs;
use std::path::Path;

use diffy::patch_set::{ParseOptions, PatchSet};
use overnight_engine::dispatch::Offer;
use overnight_engine::ledger::Reader;
use overnight_engine::load::locate;
use overnight_engine::open::{How, OnDirty, Opened};
use overnight_engine::plans;
use overnight_model::event::{Scope, StopReason};
use overnight_model::proposal::{Contents, SurfaceBlob};
use overnight_model::study::Row;
use overnight_model::{ExperimentId, What};

use super::run::refuse_weak_tier;
use super::session::{Ended, Session, exit_of};
use crate::args::{Place, Try};
use crate::error::{CliError, Exit, Outcome};
use crate::ui;
use crate::views::{json, term};

pub(crate) fn attempt(place: &Place, args: &Try) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    let state = site.state();
    let study = site.study.clone();
    let session =
        Session::open(site, "overnight try", How { on_dirty: OnDirty::Note, rebase: false }, args.sandbox, !args.json)?;
    // A person's own idea runs anywhere. A champion that waits for its trial in a new segment is not theirs.
    let state_now = session.opened.study.state();
    if state_now.champion.is_some() && !state_now.calibrated() {
        refuse_weak_tier(&session.opened, args.sandbox, false, "try")?;
    }
    let champion = champion_contents(&session.opened)?;
    let contents = match (&args.patch, &args.file) {
        (Some(patch), _) => patched(patch, champion)?,
        (_, Some(file)) => whole_file(file, champion)?,
        _ => {
            session.say("taking the surface as it is in the working tree");
            if let Some(note) = beside_the_champion(&session.opened) {
                session.say(&note);
            }
            worktree(&session.opened, champion)?
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

fn worktree(opened: &Opened, champion: Contents) -> Outcome<Contents> {
    let workdir = opened.user.workdir();
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

/// Applies a diff to the champion's surface; a diff of anything else is refused by name.
fn patched(file: &Path, mut champion: Contents) -> Outcome<Contents> {
    let text = read(file)?;
    let bad = |error: &dyn std::error::Error| {
        CliError::usage(format!("{} is not a diff that can be read", file.display())).cause(error)
    };
    let git = text.starts_with(b"diff --git") || text.windows(12).any(|window| window == b"\ndiff --git ");
    let options = if git { ParseOptions::gitdiff() } else { ParseOptions::unidiff() };
    let mut touched = 0;
    for part in PatchSet::parse_bytes(&text, options) {
        let part = part.map_err(|error| bad(&error))?;
        let Some(patch) = part.patch().as_text() else {
            return Err(CliError::usage(format!("{} holds a binary diff", file.display())));
        };
        let name = String::from_utf8_lossy(patch.modified().or(patch.original()).unwrap_or_default()).into_owned();
        let (path, bytes) = find(&mut champion, &name).ok_or_else(|| {
            let name = name.strip_prefix("b/").or(name.strip_prefix("a/")).unwrap_or(&name);
            CliError::usage(format!("{} changes `{name}`, which is not part of the surface", file.display()))
        })?;
        let applied = diffy::apply_bytes(bytes, patch).map_err(|error| {
            CliError::usage(format!("the diff does not apply to the champion's `{path}`"))
                .cause(&error)
                .hint("make it against the champion: `overnight show champion`, or use --from-worktree")
        })?;
        *bytes = applied;
        touched += 1;
    }
    match touched {
        0 => Err(CliError::usage(format!("{} holds no diff", file.display()))),
        _ => Ok(champion),
    }
}

/// The file of the surface that a diff means: by its whole path, with or without git's `a/` and `b/`.
fn find<'a>(contents: &'a mut Contents, name: &str) -> Option<(String, &'a mut Vec<u8>)> {
    let name = name.split('\t').next().unwrap_or(name);
    let stripped = name.split_once('/').map(|(_, rest)| rest);
    let (path, bytes) = contents.0.iter_mut().find(|(path, _)| path == name || Some(path.as_str()) == stripped)?;
    Some((path.clone(), bytes))
}

fn read(path: &Path) -> Outcome<Vec<u8>> {
    fs::read(path).map_err(|error| CliError::usage(format!("could not read {}", path.display())).cause(&error))
}
