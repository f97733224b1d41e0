//! `overnight init`: looks at the repository and proposes a triplet. It runs nothing of what it finds.

mod agent_doc;
mod agents;
mod ask;
mod check;
mod choose;
mod draft;
mod inputs;
mod kinds;
mod look;
mod made;
mod metric;
mod place;
mod program;
mod proposal;
mod reach;
mod section;
mod write;

use std::path::PathBuf;

use overnight_engine::load::Site;
use overnight_engine::source;
use overnight_model::Goal;
use overnight_model::spec::Tier;

use crate::args::Place;
use crate::error::{Exit, Outcome};
use crate::ui;
use check::{checked, drop_refused_inputs, parse};
use choose::choose;
use look::Look;
use proposal::Proposal;

const PROGRAM: &str = "program.md";

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Init {
    /// What is to become better, in your words, for the agent of --with
    #[arg(value_name = "GOAL")]
    wish: Option<String>,
    /// Let this agent draft triplet, benchmark and guards for GOAL: a coding agent by name, or `command:PROGRAM`
    ///
    /// It works in a private copy and may only add files. The draft is run on the tree as it is and on answers that are
    /// none before you are asked; nothing is in the checkout until you say yes.
    #[arg(long, value_name = "NAME")]
    with: Option<String>,
    /// The model of the agent that drafts
    #[arg(long, value_name = "NAME", requires = "with")]
    model: Option<String>,
    /// Draft and examine in this sandbox, weaker than `standard`: landlock or none
    #[arg(long, value_name = "TIER", requires = "with", value_parser = crate::args::tier)]
    sandbox: Option<Tier>,
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
    /// Who makes proposals, with the tuner: a coding agent by name, or `tuner` alone; else the first that is here
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(agents::names()))]
    agent: Option<String>,
    /// Tell coding agents how to work here, in a section of AGENTS.md (and of CLAUDE.md, where there is one) or of FILE;
    /// `-` prints it
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = agent_doc::AGENTS)]
    agent_doc: Option<PathBuf>,
}

/// The command that runs the tests of a surface, as far as it can be seen from the repository.
pub(super) fn tests_of(dir: &std::path::Path, surface: &[String]) -> Option<String> {
    kinds::tests(&Look::new(dir).ok()?, surface).map(|(command, _)| command)
}

impl Init {
    /// What the person said of the triplet, as they would say it again.
    fn said(&self) -> Vec<String> {
        let mut said: Vec<String> = self.surface.iter().map(|path| format!("--surface {}", look::word(path))).collect();
        let flags = [
            ("--run", &self.run),
            ("--metric", &self.metric),
            ("--budget", &self.budget),
            ("--as", &self.kind),
            ("--agent", &self.agent),
        ];
        said.extend(
            flags.into_iter().filter_map(|(flag, value)| Some(format!("{flag} {}", look::word(value.as_ref()?)))),
        );
        said.extend(self.goal.map(|goal| format!("--goal {}", proposal::goal_name(goal))));
        said
    }
}

pub(crate) fn init(place: &Place, args: &Init) -> Outcome<Exit> {
    draft::refuse_half(args)?;
    let place = place::find(&place.dir, place.study.as_deref())?;
    let site = &place.site;
    if site.triplet.exists() {
        return match &args.agent_doc {
            Some(file) => agent_doc::give(&place, file, &Look::new(&site.dir)?),
            None => Err(place.taken()),
        };
    }
    if let Some(error) = place.ambiguous() {
        return Err(error);
    }
    let look = Look::new(&site.dir)?;
    let mut found = kinds::recognise(&look);
    let chosen = choose(&look, &mut found, args)?;
    if args.with.is_some() {
        let exit = draft::draft(&place, &look, &chosen, args)?;
        return match &args.agent_doc {
            Some(file) if exit == Exit::Done => agent_doc::give(&place, file, &look),
            _ => Ok(exit),
        };
    }
    let asks = !args.yes && ui::can_ask();
    tell(&chosen, &found, asks);
    let proposal = match asks {
        true => match talk(&look, site, chosen)? {
            Some(proposal) => proposal,
            None => {
                ui::say("nothing was written");
                return Ok(Exit::Interrupted);
            }
        },
        false => checked(&look, site, chosen, args)?,
    };
    if !asks && !args.yes {
        ui::data(proposal.text().trim_end());
        ui::say(
            "nothing was written: `overnight init --yes` writes it; --surface, --metric, --goal, --run and --budget \
                 change it",
        );
        return Ok(Exit::Usage);
    }
    put(&place, &look, &proposal)?;
    if let Some(file) = &args.agent_doc {
        agent_doc::give(&place, file, &look)?;
    }
    next(&place, &look, &proposal);
    Ok(Exit::Done)
}

/// Says what was recognised, and without questions also why.
fn tell(chosen: &Proposal, others: &[Proposal], asks: bool) {
    if chosen.run.is_empty() {
        if asks {
            ui::say("nothing was recognised here: your answers make the triplet");
        }
        return;
    }
    ui::say(&format!("recognised  {}", ui::one_line(&chosen.what)));
    // Most things that are run are scripts in the end; that is no second finding.
    let is_news = |other: &&Proposal| other.kind != chosen.kind && other.kind != "script";
    for other in others.iter().filter(is_news) {
        ui::say(&format!("also        {} (--as {})", ui::one_line(&other.what), other.kind));
    }
    if asks {
        return;
    }
    for (key, reason) in &chosen.why {
        let value = ui::one_line(&chosen.value(*key));
        ui::say(&format!("  {:<9} {value} ({})", key.name(), ui::one_line(reason)));
    }
}

/// The questions, until the answers make a triplet; `None` where the person goes away or does not want it.
fn talk(look: &Look, site: &Site, mut proposal: Proposal) -> Outcome<Option<Proposal>> {
    loop {
        let wrong = |given: &Proposal, key| check::wrong(look, site, given, key);
        if ask::ask(&mut proposal, &wrong).is_err() {
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

/// Writes the triplet, and a program where there is none.
fn put(place: &place::Found, look: &Look, proposal: &Proposal) -> Outcome<()> {
    let site = &place.site;
    look.refuse_outside(&site.triplet)?;
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
        |path: &String| look.text(path).is_some_and(|text| !source::literals(path, &text).literals.is_empty());
    let can_tune = proposal.surface.iter().any(|path| path.contains('*') || numbers(path));
    let can_run = can_tune || !proposal.agents.is_empty();
    if !can_run {
        ui::say(
            "note        the built-in tuner finds no numbers to change there: name a program under [agent], or let a \
                 coding agent use `overnight try` (`overnight init --agent-doc`)",
        );
    }
    if let Some(line) = agents::line(proposal) {
        ui::say(&line);
    }
    let study = if place.site.study == "main" { String::new() } else { format!(" --study {}", place.site.study) };
    match proposal.missing.is_empty() {
        true if can_run => ui::say(&format!("next        overnight check{study} · overnight run{study}")),
        true => ui::say(&format!("next        overnight check{study} · overnight try{study} --from-worktree -m IDEA")),
        false => {
            let make = ui::one_line(&proposal.to_make());
            ui::say(&format!("next        {make} and take the # away from `inputs`, then overnight check{study}"));
        }
    }
}

fn goal(text: &str) -> Result<Goal, String> {
    match text {
        "min" => Ok(Goal::Min),
        "max" => Ok(Goal::Max),
        _ => Err("a goal is min or max".to_owned()),
    }
}
