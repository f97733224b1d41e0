//! `overnight init "…" --with NAME`: an agent drafts triplet, benchmark and guards, once and before anything is locked.
//!
//! It is never asked whether they are good. The draft is examined in a scratch copy, and a person says yes.

mod prompt;
mod rules;
mod show;
mod turn;
mod write;

use overnight_engine::dispatch::Fault;
use overnight_engine::open::OpenError;
use overnight_engine::process::Keeper;
use overnight_engine::rehearse::{NewFile, Subject};

use super::look::Look;
use super::place::Found;
use super::proposal::Proposal;
use super::{Init, PROGRAM, ask};
use crate::commands::check::{Exam, examine};
use crate::commands::interrupt::Interrupt;
use crate::commands::scratch::Scratch;
use crate::error::{CliError, Exit, Outcome};
use crate::ui;
use turn::{Drafter, Turn};

/// A draft that loads and keeps to the rules.
struct Draft {
    /// Every file but the triplet.
    files: Vec<NewFile>,
    /// The triplet with who makes proposals at its end.
    triplet: String,
}

/// A draft that passed its examination.
struct Passed {
    draft: Draft,
    measured: String,
    warnings: Vec<String>,
}

/// Refuses words that nobody would read, and a reader without words.
pub(super) fn refuse_half(args: &Init) -> Outcome<()> {
    match (&args.wish, &args.with) {
        (Some(wish), None) => {
            let here = super::agents::here();
            let name = here.first().copied().unwrap_or("claude");
            let message = format!("`{}` is for an agent to read, and none is named", ui::one_line(wish));
            let hint = format!("--with {name} lets it draft the study; without words `overnight init` looks by itself");
            Err(CliError::usage(message).hint(hint))
        }
        (None, Some(with)) => {
            let example = format!("overnight init \"make the parser faster, tests must pass\" --with {with}");
            Err(CliError::usage("nothing says what is to become better").hint(format!("say it: {example}")))
        }
        _ => Ok(()),
    }
}

/// The whole way from a person's words to their yes.
pub(super) fn draft(place: &Found, look: &Look, found: &Proposal, args: &Init) -> Outcome<Exit> {
    let drafter = Drafter::of(args)?;
    let keeper = Keeper::fork().map_err(|error| CliError::from(Fault::from(error)))?;
    let interrupt = Interrupt::watch(keeper.ender())?;
    let outcome = examined(place, look, found, args, &drafter, keeper, &interrupt);
    if interrupt.is_asked() {
        ui::say("stopped: nothing was written");
        return Ok(Exit::Interrupted);
    }
    let Some(Passed { draft, measured, warnings }) = outcome? else { return Ok(Exit::Interrupted) };
    let Draft { files, triplet } = draft;
    let asks = !args.yes && ui::can_ask();
    let triplet_path = look.top_path(&place.site.triplet_name());
    show::show(&triplet_path, &triplet, &files, asks);
    ui::say(&format!("measured    {measured}"));
    warnings.iter().for_each(|warning| ui::say(&format!("warning     {}", ui::one_line(warning))));
    if found.agents.contains(&drafter.name) {
        let note = "wrote this exam and would sit it, too: read what it counts, or name another with --agent";
        ui::say(&format!("note        {} {note}", drafter.name));
    }
    ui::say("cost        unknown: the agent's provider counts it");
    let count = files.len() + 1;
    let plural = if count == 1 { "this file" } else { &format!("these {count} files") };
    if !args.yes && !asks {
        ui::say(&format!(
            "nothing was written: run it on a terminal to be asked, or with --yes to have {plural} written unread; a \
             new draft is made either way"
        ));
        return Ok(Exit::Refused);
    }
    if asks && !matches!(ask::wants(&format!("write {plural}?"), &|| interrupt.is_asked()), Ok(true)) {
        ui::say("nothing was written");
        return Ok(Exit::Interrupted);
    }
    let written = write::write(place, look, &files, &triplet)?;
    show::next(place, &written);
    Ok(Exit::Done)
}

/// A draft that is one; nothing where a person stopped it.
fn examined(
    place: &Found,
    look: &Look,
    found: &Proposal,
    args: &Init,
    drafter: &Drafter,
    keeper: Keeper,
    interrupt: &Interrupt,
) -> Outcome<Option<Passed>> {
    // Gone last: everything else works in it.
    let scratch = Scratch::make()?;
    let turn = Turn { place, scratch: scratch.path(), drafter, keeper: &keeper, interrupt, sandbox: args.sandbox };
    ui::say(&format!("drafting    {} reads a copy of the repository; the checkout is not touched", drafter.name));
    let (draft, subject) = drafted(&turn, look, found, args)?;
    write::refuse_taken(look, &draft.files)?;
    ui::say(&format!(
        "examining   the draft of {}: on the tree as it is, then on answers that are none",
        files(&draft)
    ));
    match examine(&place.site, subject, keeper.clone(), args.sandbox, interrupt)? {
        Exam::Refused { why } => {
            let message = format!("the draft of {} is no exam: {why}", drafter.name);
            let hint = "nothing was written; say more in the goal and try again, or write it by hand";
            Err(CliError::new(Exit::Refused, message).hint(hint))
        }
        Exam::Interrupted => Ok(None),
        Exam::Passed { measured, warnings } => Ok(Some(Passed { draft, measured, warnings })),
    }
}

/// A draft that loads; one that does not goes back once, with what is wrong.
fn drafted(turn: &Turn<'_>, look: &Look, found: &Proposal, args: &Init) -> Outcome<(Draft, Subject)> {
    let site = &turn.place.site;
    let (triplet, said) = (site.triplet_name(), args.said());
    let first = prompt::first(&prompt::Asked {
        goal: args.wish.as_deref().unwrap_or_default(),
        triplet: &triplet,
        folder: &look.folder,
        found,
        said: &said,
        has_program: look.has(PROGRAM),
    });
    let own = turn.take(&first, &[])?;
    let problems = match read(turn, look, found, own.clone()) {
        Ok(draft) => return Ok(draft),
        Err(Unread::Problems(problems)) => problems,
        Err(Unread::Error(error)) => return Err(error),
    };
    ui::say(&format!("mending     {} is told what is wrong with {triplet}, once:", turn.drafter.name));
    ui::say(ui::printable(&problems).trim_end());
    let own = turn.take(&prompt::again(&first, &triplet, &problems), &own)?;
    match read(turn, look, found, own) {
        Ok(draft) => Ok(draft),
        Err(Unread::Problems(problems)) => {
            ui::say(ui::printable(&problems).trim_end());
            let message =
                format!("{} was told once what is wrong with its triplet, and did not mend it", turn.drafter.name);
            Err(CliError::new(Exit::Refused, message).hint("nothing was written; try again, or write it by hand"))
        }
        Err(Unread::Error(error)) => Err(error),
    }
}

/// Why a draft cannot be examined.
enum Unread {
    /// What its writer can mend.
    Problems(String),
    Error(CliError),
}

fn read(turn: &Turn<'_>, look: &Look, found: &Proposal, mut files: Vec<NewFile>) -> Result<(Draft, Subject), Unread> {
    let name = look.top_path(&turn.place.site.triplet_name());
    let Some(at) = files.iter().position(|file| file.path == name) else {
        return Err(Unread::Problems(format!("there is no `{name}`")));
    };
    let written = String::from_utf8_lossy(&files.remove(at).bytes).into_owned();
    let unread = |error: OpenError| match error {
        OpenError::Problems(problems) => Unread::Problems(problems.to_string()),
        error @ OpenError::Marker { .. } => Unread::Problems(error.to_string()),
        error => Unread::Error(error.into()),
    };
    let spec = subject(turn, written.clone(), &files).map_err(unread)?.spec;
    let broken = rules::broken(&written, &spec, &files);
    if !broken.is_empty() {
        return Err(Unread::Problems(broken.join("\n")));
    }
    let triplet = with_agents(&written, &found.agents);
    let subject = subject(turn, triplet.clone(), &files).map_err(unread)?;
    Ok((Draft { files, triplet }, subject))
}

fn subject(turn: &Turn<'_>, triplet: String, files: &[NewFile]) -> Result<Subject, OpenError> {
    Subject::of_draft(&turn.place.site, turn.scratch, triplet, files)
}

/// Who makes proposals is no part of an exam.
fn with_agents(triplet: &str, agents: &[String]) -> String {
    let triplet = triplet.trim_end();
    match agents.is_empty() {
        true => format!("{triplet}\n"),
        false => format!("{triplet}\n\n[agent]\nuse = {}\n", super::proposal::list(agents)),
    }
}

fn files(draft: &Draft) -> String {
    let count = draft.files.len() + 1;
    format!("{count} file{}", if count == 1 { "" } else { "s" })
}
