//! A drafter and its turns: each in a private copy of the tree, in the walls of any agent.

use std::path::Path;

use overnight_engine::process::Keeper;
use overnight_engine::rehearse::{Bench, Draft, NewFile, RehearseError, Subject};
use overnight_model::spec::{Preset, Tier};

use crate::commands::check::{describe, refuse_missing};
use crate::commands::init::Init;
use crate::commands::init::place::Found;
use crate::commands::init::proposal::{list, quoted};
use crate::commands::interrupt::Interrupt;
use crate::error::{CliError, Exit, Outcome};
use crate::ui::{self, Live, printable};

/// A benchmark takes longer to write than a proposal.
const TIMEOUT: &str = "30m";
/// A program instead of a coding agent: it reads the task on its standard input.
const COMMAND: &str = "command:";
/// What was printed last is what matters of a failure.
const LINES: usize = 20;
/// With a shell: a benchmark that was run once is a better one. It has the walls of an agent all the same.
const TOOLS: [&str; 6] = ["Read", "Edit", "Write", "Glob", "Grep", "Bash"];

/// Who drafts.
pub(super) struct Drafter {
    pub(super) name: String,
    /// The triplet's section about it.
    section: String,
}

impl Drafter {
    pub(super) fn of(args: &Init) -> Outcome<Drafter> {
        let with = args.with.as_deref().unwrap_or_default();
        if let Some(command) = with.strip_prefix(COMMAND).map(str::trim).filter(|command| !command.is_empty()) {
            let section =
                format!("[agent]\nuse = \"command\"\ncommand = {}\ntimeout = \"{TIMEOUT}\"\n", quoted(command));
            return Ok(Drafter { name: "command".to_owned(), section });
        }
        let Some(preset) = Preset::from_name(with) else {
            let known: Vec<_> = Preset::ALL.into_iter().map(Preset::name).collect();
            let error = CliError::usage(format!("there is no agent `{}` that could draft a study", ui::one_line(with)));
            return Err(error.hint(format!("one of {}, or `{COMMAND} PROGRAM`", known.join(", "))));
        };
        let mut section = format!("[agent]\nuse = \"{with}\"\ntimeout = \"{TIMEOUT}\"\n");
        if let Some(model) = &args.model {
            section += &format!("model = {}\n", quoted(model));
        }
        if preset == Preset::Claude {
            section += &format!("tools = {}\n", list(&TOOLS.map(str::to_owned)));
        }
        Ok(Drafter { name: with.to_owned(), section })
    }
}

/// What every turn needs.
pub(super) struct Turn<'a> {
    pub(super) place: &'a Found,
    pub(super) scratch: &'a Path,
    pub(super) drafter: &'a Drafter,
    pub(super) keeper: &'a Keeper,
    pub(super) interrupt: &'a Interrupt,
    pub(super) sandbox: Option<Tier>,
}

impl Turn<'_> {
    /// One turn on top of the `own` files of the one before.
    pub(super) fn take(&self, prompt: &str, own: &[NewFile]) -> Outcome<Vec<NewFile>> {
        let name = &self.drafter.name;
        let subject = Subject::to_draft(&self.place.site, self.scratch, &self.drafter.section, own)?;
        refuse_missing(&subject.spec)?;
        let (member, min) = (subject.spec.agent.members[0].clone(), subject.spec.sandbox.min);
        let found = subject.find(self.keeper, self.sandbox);
        if found.tier < min && self.sandbox != Some(found.tier) {
            let (tier, min) = (found.tier.name(), min.name());
            let message = format!("this machine gives the sandbox `{tier}`, and agents need `{min}`");
            let hint = format!("`overnight check --machine` says why; to accept it: --sandbox {tier}");
            return Err(CliError::new(Exit::Refused, message).hint(hint));
        }
        let live = Live::new(true);
        let say = |text: &str| live.now(&printable(text));
        let drafted = Bench::open(subject, self.keeper.clone(), &found, &say).and_then(|mut bench| {
            self.interrupt.kills(bench.stopper());
            live.now(&format!("{name} is drafting"));
            bench.draft(&member, prompt, own)
        });
        live.end();
        let Draft { files, output } = drafted.map_err(|error| failed(&error))?;
        files.map_err(|failure| {
            let lines: Vec<&str> = output.lines().collect();
            let last = &lines[lines.len().saturating_sub(LINES)..];
            last.iter().for_each(|line| ui::say(&format!("  | {}", printable(line))));
            let message = format!("{name} made no draft: {}", describe(&failure));
            CliError::new(Exit::Refused, message).hint("nothing was written")
        })
    }
}

fn failed(error: &RehearseError) -> CliError {
    CliError::new(Exit::Fault, "the agent could not be started").cause(error)
}
