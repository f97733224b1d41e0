//! `overnight init`: looks at the repository and proposes a triplet. It runs nothing of what it finds.

mod agent_doc;
mod ask;
mod inputs;
mod kinds;
mod look;
mod metric;
mod place;
mod program;
mod proposal;
mod reach;
mod write;

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use overnight_engine::load::{self, Problems, Site, Tree, Triplet};
use overnight_engine::open::OpenError;
use overnight_model::Goal;
use overnight_model::spec::Spec;

use crate::args::Place;
use crate::error::{CliError, Exit, Outcome};
use crate::ui;
use look::Look;
use proposal::{GIVEN, Key, Proposal};

const PROGRAM: &str = "program.md";
const AGENT_DOC: &str = "OVERNIGHT.md";

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Init {
    /// Guess instead of asking, write the files, and say what was guessed and why
    #[arg(short, long)]
    yes: bool,
    /// A file, or a pattern, that agents may edit; may be given several times
    #[arg(long, value_name = "PATH")]
    surface: Vec<String>,
    /// What the number is called
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Which is better
    #[arg(long, value_name = "min|max", value_parser = goal)]
    goal: Option<Goal>,
    /// The command that prints the number
    #[arg(long, value_name = "COMMAND")]
    run: Option<String>,
    /// How long one run may take: 90s, 5m, 1h
    #[arg(long, value_name = "TIME")]
    budget: Option<String>,
    /// Take this one of what was recognised
    #[arg(long = "as", value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(kinds::KINDS))]
    kind: Option<String>,
    /// Write what a coding agent has to know to use `overnight try`; `-` prints it
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = AGENT_DOC)]
    agent_doc: Option<PathBuf>,
}

pub(crate) fn init(place: &Place, args: &Init) -> Outcome<Exit> {
    let place = place::find(&place.dir, place.study.as_deref())?;
    let site = &place.site;
    if site.triplet.exists() {
        return match &args.agent_doc {
            Some(file) => agent_page(&place, file, &Look::new(&site.dir)?),
            None => Err(place.taken()),
        };
    }
    if let Some(error) = place.ambiguous() {
        return Err(error);
    }
    let look = Look::new(&site.dir)?;
    let mut found = kinds::recognise(&look);
    let chosen = choose(&look, &mut found, args)?;
    let asks = !args.yes && io::stdin().is_terminal() && io::stderr().is_terminal();
    tell(&chosen, &found, asks);
    let proposal = match asks {
        true => match talk(&look, site, chosen)? {
            Some(proposal) => proposal,
            None => {
                ui::say("nothing was written");
                return Ok(Exit::Interrupted);
            }
        },
        false => checked(&look, site, chosen)?,
    };
    if !asks && !args.yes {
        ui::data(proposal.text().trim_end());
        ui::say(
            "nothing was written: `overnight init --yes` writes it; --surface, --metric, --goal, --run and --budget \
                 change it",
        );
        return Ok(Exit::Usage);
    }
    put(&place, &proposal)?;
    if let Some(file) = &args.agent_doc {
        agent_page(&place, file, &look)?;
    }
    next(&place, &look, &proposal);
    Ok(Exit::Done)
}

/// The surest proposal, with what the person said on the command line in it.
fn choose(look: &Look, found: &mut Vec<Proposal>, args: &Init) -> Outcome<Proposal> {
    let wanted = args.kind.as_deref();
    let at = found.iter().position(|proposal| wanted.is_none_or(|kind| proposal.kind == kind));
    if let (None, Some(kind)) = (at, wanted) {
        let others: Vec<&str> = found.iter().map(|proposal| proposal.kind).collect();
        let others = if others.is_empty() { "nothing".to_owned() } else { others.join(", ") };
        return Err(CliError::usage(format!("no {kind} was recognised here, only {others}")));
    }
    let mut proposal = match (&args.run, at) {
        // A command of the person's own has a number and a surface of its own.
        (Some(run), _) if wanted.is_none() => kinds::command(look, run),
        (_, Some(at)) => found.remove(at),
        (_, None) => kinds::command(look, args.run.as_deref().unwrap_or_default()),
    };
    if !args.surface.is_empty() {
        proposal.surface.clone_from(&args.surface);
        proposal.because(Key::Surface, GIVEN);
    }
    if let Some(run) = &args.run {
        proposal.run.clone_from(run);
        proposal.because(Key::Run, GIVEN);
    }
    if let Some(metric) = &args.metric {
        if proposal.metric != *metric {
            (proposal.last, proposal.goal) = (false, metric::goal_of(metric));
            if proposal.goal.is_some() {
                proposal.because(Key::Goal, format!("by the name `{metric}`"));
            }
        }
        proposal.metric.clone_from(metric);
        proposal.because(Key::Metric, GIVEN);
    }
    if let Some(goal) = args.goal {
        proposal.goal = Some(goal);
        proposal.because(Key::Goal, GIVEN);
    }
    if let Some(budget) = &args.budget {
        proposal.budget.clone_from(budget);
        proposal.because(Key::Budget, GIVEN);
    }
    if proposal.goal.is_none() && !proposal.metric.is_empty() {
        proposal.goal = Some(Goal::Min);
        proposal.because(Key::Goal, "a guess, nothing says which: --goal max where more is better");
    }
    inputs::see(look, &mut proposal);
    Ok(proposal)
}

/// Says what was recognised, and without questions also why.
fn tell(chosen: &Proposal, others: &[Proposal], asks: bool) {
    if chosen.run.is_empty() {
        if asks {
            ui::say("nothing was recognised here: your answers make the triplet");
        }
        return;
    }
    ui::say(&format!("recognised  {}", ui::printable(&chosen.what)));
    // Most things that are run are scripts in the end; that is no second finding.
    let is_news = |other: &&Proposal| other.kind != chosen.kind && other.kind != "script";
    for other in others.iter().filter(is_news) {
        ui::say(&format!("also        {} (--as {})", ui::printable(&other.what), other.kind));
    }
    if asks {
        return;
    }
    for (key, reason) in &chosen.why {
        let value = ui::printable(&chosen.value(*key));
        ui::say(&format!("  {:<9} {value} ({})", key.name(), ui::printable(reason)));
    }
}

/// The questions, until the answers make a triplet; `None` where the person goes away or does not want it.
fn talk(look: &Look, site: &Site, mut proposal: Proposal) -> Outcome<Option<Proposal>> {
    loop {
        if ask::ask(&mut proposal).is_err() {
            ui::say("");
            return Ok(None);
        }
        inputs::see(look, &mut proposal);
        drop_refused_inputs(look, site, &mut proposal);
        let text = ui::printable(&proposal.text());
        ui::say(&format!("\n{}:\n\n    {}\n", site.triplet_name(), text.trim_end().replace('\n', "\n    ")));
        match parse(look, site, &proposal.text()) {
            Ok(_) => break,
            Err(problems) => ui::say(&format!("{problems}\n")),
        }
    }
    match ask::agrees("write it?") {
        Ok(true) => Ok(Some(proposal)),
        Ok(false) => Ok(None),
        Err(ask::Gone) => {
            ui::say("");
            Ok(None)
        }
    }
}

/// A proposal that is a triplet as it stands.
fn checked(look: &Look, site: &Site, mut proposal: Proposal) -> Outcome<Proposal> {
    let unknown = proposal.unknown();
    if !unknown.is_empty() {
        return Err(unknown_error(look, &proposal, &unknown));
    }
    drop_refused_inputs(look, site, &mut proposal);
    parse(look, site, &proposal.text()).map_err(OpenError::Problems)?;
    Ok(proposal)
}

/// What was seen may not be allowed as an input, and then it is not ours to propose.
fn drop_refused_inputs(look: &Look, site: &Site, proposal: &mut Proposal) {
    let is_right = |proposal: &Proposal| parse(look, site, &proposal.text()).is_ok();
    if is_right(proposal) {
        return;
    }
    let seen = std::mem::take(&mut proposal.inputs);
    if !is_right(proposal) {
        // Something else is wrong, and has to be shown.
        proposal.inputs = seen;
        return;
    }
    for input in seen {
        proposal.inputs.push(input);
        if !is_right(proposal) {
            proposal.inputs.pop();
        }
    }
}

fn unknown_error(look: &Look, proposal: &Proposal, unknown: &[Key]) -> CliError {
    let names: Vec<&str> = unknown.iter().map(|key| key.name()).collect();
    let example = |key: &Key| match key {
        Key::Surface => "--surface train.py",
        Key::Metric => "--metric val_loss",
        Key::Goal => "--goal min",
        _ => "--run \"python3 train.py\"",
    };
    let flags: Vec<&str> = unknown.iter().map(example).collect();
    if look.tracked().is_empty() {
        let hint = "add the files with `git add`, commit them, and run `overnight init` again";
        return CliError::usage(format!("git has no files in {}", look.dir.display())).hint(hint);
    }
    let message = match proposal.run.is_empty() {
        true => format!("nothing in {} looks like a benchmark or prints a number", look.dir.display()),
        false => format!("could not guess {}", names.join(" and ")),
    };
    let elsewhere = if look.folder.is_empty() { "" } else { ", or look from the top of the repository with -C" };
    CliError::usage(message).hint(format!("say it: overnight init {}{elsewhere}", flags.join(" ")))
}

fn parse(look: &Look, site: &Site, text: &str) -> Result<Spec, Problems> {
    let exists = |path: &str| look.dir.join(path).exists();
    let names = |folder: &str| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    };
    let file = site.triplet_name();
    let triplet = Triplet { file: &file, text, study: &site.study, folder: &look.folder };
    let (tracked, home) = (look.tracked(), look.home.as_deref());
    load::parse(&triplet, &Tree { tracked, exists: &exists, names: &names, dir: &look.dir, home })
}

/// Writes the triplet, and a program where there is none.
fn put(place: &place::Found, proposal: &Proposal) -> Outcome<()> {
    let site = &place.site;
    if !write::new_file(&site.triplet, &proposal.text())? {
        return Err(place.taken());
    }
    ui::say(&format!("wrote       {}", site.triplet_name()));
    match write::new_file(&site.dir.join(PROGRAM), &program::text(proposal))? {
        true => ui::say(&format!("wrote       {PROGRAM}: your words to the agent; add what you know")),
        false => ui::say(&format!("left        {PROGRAM} as it is")),
    }
    Ok(())
}

/// What to do now.
fn next(place: &place::Found, look: &Look, proposal: &Proposal) {
    let numbers =
        |path: &String| look.text(path).is_some_and(|text| !overnight_model::tuner::literals(&text).is_empty());
    if !proposal.surface.iter().any(|path| path.contains('*') || numbers(path)) {
        ui::say(
            "note        the built-in tuner finds no numbers to change there: name a program under [agent], or let a \
                 coding agent use `overnight try` (`overnight init --agent-doc`)",
        );
    }
    let study = if place.site.study == "main" { String::new() } else { format!(" --study {}", place.site.study) };
    match proposal.missing.is_empty() {
        true => ui::say(&format!("next        overnight check{study} · overnight run{study}")),
        false => {
            let make = proposal.to_make();
            ui::say(&format!("next        {make} and take the # away from `inputs`, then overnight check{study}"));
        }
    }
}

/// Writes or prints the page for coding agents.
fn agent_page(place: &place::Found, file: &std::path::Path, look: &Look) -> Outcome<Exit> {
    let site = &place.site;
    let text = std::fs::read_to_string(&site.triplet)
        .map_err(|error| CliError::usage(format!("could not read {}", site.triplet.display())).cause(&error))?;
    let spec = parse(look, site, &text).map_err(OpenError::Problems)?;
    let page = agent_doc::text(&spec, &look.folder, place.several());
    if file == std::path::Path::new("-") {
        ui::data(page.trim_end());
        return Ok(Exit::Done);
    }
    let path = site.dir.join(file);
    match write::new_file(&path, &page)? {
        true => ui::say(&format!("wrote       {}: point your coding agent to it", file.display())),
        false => {
            let message = format!("{} is there already", path.display());
            let hint = "`overnight init --agent-doc -` prints the page; `--agent-doc FILE` writes it elsewhere";
            return Err(CliError::new(Exit::Refused, message).hint(hint));
        }
    }
    Ok(Exit::Done)
}

fn goal(text: &str) -> Result<Goal, String> {
    match text {
        "min" => Ok(Goal::Min),
        "max" => Ok(Goal::Max),
        _ => Err("a goal is min or max".to_owned()),
    }
}
