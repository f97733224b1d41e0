//! The command line.
#![allow(rustdoc::invalid_html_tags, reason = "clap shows these lines as they are written")]

use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgGroup, CommandFactory, Parser, Subcommand};
use overnight_model::spec::Tier;

pub(crate) use crate::commands::audit::Audit;
pub(crate) use crate::commands::compare::Compare;
pub(crate) use crate::commands::demo::Demo;
pub(crate) use crate::commands::explain::Explain;
pub(crate) use crate::commands::export::Export;
pub(crate) use crate::commands::forget::Forget;
pub(crate) use crate::commands::help::Help;
pub(crate) use crate::commands::import::Import;
pub(crate) use crate::commands::init::Init;
pub(crate) use crate::commands::letters::Letters;
pub(crate) use crate::commands::manual::{Completions, Man};
pub(crate) use crate::commands::mcp::Mcp;
pub(crate) use crate::commands::rebase::Rebase;
pub(crate) use crate::commands::report::Report;
pub(crate) use crate::commands::review::Review;
pub(crate) use crate::commands::say::Say;

const MORE: &str = "\
Exit codes: 0 done, 1 fault, 2 usage or configuration, 3 refused (tier, lock, dirty tree, moved
branch), 4 stopped by a limit or by repeated failure, 5 `verify` failed, 130 interrupted.

`overnight` alone says where things stand, `overnight help more` shows the other commands.";

/// Runs the Karpathy loop on anything that can be scored: an agent proposes edits to one file, each is
/// measured, and only what is really better is kept, as a commit on the branch overnight/<study>.
#[derive(Debug, Parser)]
#[command(name = "overnight", version, after_help = MORE, max_term_width = 100)]
#[command(disable_help_subcommand = true, subcommand_value_name = "COMMAND")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Reads the command line; on a mistake says so and ends the process.
pub(crate) fn read() -> Args {
    Args::try_parse().unwrap_or_else(|mut error| {
        suggest(&mut error);
        error.exit()
    })
}

/// The command line with every command that is for people shown, in the order of `help` and `help more`.
pub(crate) fn whole() -> clap::Command {
    let cut = Args::command();
    let names = cut.get_subcommands().filter(|command| !command.get_name().starts_with("__"));
    let shown: Vec<_> = names.cloned().map(|command| command.hide(false)).collect();
    // Built anew: commands can be added to a `Command`, not taken away.
    clap::Command::default()
        .name("overnight")
        .version(env!("CARGO_PKG_VERSION"))
        .about(cut.get_about().cloned().unwrap_or_default())
        .after_help(cut.get_after_help().cloned().unwrap_or_default())
        .args(cut.get_arguments().cloned())
        .subcommands(shown)
        .disable_help_subcommand(true)
        .max_term_width(100)
}

/// The known word that is near enough to be a slip of the keyboard.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let (distance, near) = known.into_iter().map(|known| (strsim::osa_distance(&word, known), known)).min()?;
    // One slip in three letters; more is another word.
    (distance <= (word.chars().count().max(near.chars().count()) / 3).max(1)).then_some(near)
}

/// The library finds the nearest only in long words: `rnu` is as far from `run` as from nothing.
fn suggest(error: &mut clap::Error) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return };
    if error.kind() != ErrorKind::InvalidSubcommand || error.get(ContextKind::SuggestedSubcommand).is_some() {
        return;
    }
    let all = whole();
    if let Some(near) = nearest(word, all.get_subcommands().map(clap::Command::get_name)) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near.to_owned()]));
    }
}

/// Which study is meant.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Place {
    /// Work on the study in DIR
    // A name that no argument of a command has: under the same one a command would get this value for its own.
    #[arg(
        id = "work_in",
        short = 'C',
        value_name = "DIR",
        global = true,
        default_value = ".",
        hide_default_value = true,
        display_order = 90
    )]
    pub(crate) dir: PathBuf,
    /// Pick a study where the repository holds several
    #[arg(long, value_name = "NAME", global = true, display_order = 91)]
    pub(crate) study: Option<String>,
}

/// Eight are shown by `--help`, in the order a newcomer needs them; `overnight help more` shows all.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// A complete study in a scratch folder, offline, in two minutes, with villains refused on screen
    Demo(Demo),
    /// Look at the repository and write the triplet
    Init(Init),
    /// What would happen tonight, and what to fix first
    Check(Check),
    /// Run the loop; Ctrl-C stops it cleanly, and running it again resumes
    Run(Run),
    /// One experiment in full: hypothesis, diff, trials, verdict, output
    Show(Show),
    /// The morning report: what is better and how sure, what it cost, what needs you
    Report(Report),
    /// The experiments so far, the latest last
    Log(Log),
    /// Run one experiment of your own
    Try(Try),
    /// Where the study stands
    #[command(hide = true)]
    Status(Status),
    /// Prove that ledger, projections, contents and git agree
    #[command(hide = true)]
    Verify(Verify),
    /// Is B really better than A? Two commits or the working tree, run in turns; needs no study
    #[command(hide = true)]
    Compare(Compare),
    /// Which commits of a branch carry its gain? Each is left out in turn; needs no study
    #[command(hide = true)]
    Audit(Audit),
    /// Go on under a changed evaluation: carry the champion over and measure anew
    #[command(hide = true)]
    Rebase(Rebase),
    /// What waits for your word: keep or discard an experiment whose number was not believed
    #[command(hide = true)]
    Review(Review),
    /// Tell every agent something from the next brief on, also while a run is going on
    #[command(hide = true)]
    Say(Say),
    /// Let what runs finish and begin nothing new, until `resume`
    #[command(hide = true)]
    Pause,
    /// Go on after `pause`
    #[command(hide = true)]
    Resume,
    /// Take in the history that another tool kept
    #[command(hide = true)]
    Import(Import),
    /// Write the history in another tool's format
    #[command(hide = true)]
    Export(Export),
    /// Erase what was kept of calls to models; the ledger stays provable
    #[command(hide = true)]
    Forget(Forget),
    /// What a verdict means, and what to do
    #[command(hide = true)]
    Explain(Explain),
    /// Write completions for a shell
    #[command(hide = true)]
    Completions(Completions),
    /// Write the manual pages
    #[command(hide = true)]
    Man(Man),
    /// The help of a command; `more` for the commands that --help leaves out
    #[command(hide = true)]
    Help(Help),
    /// Let an outside agent drive over the Model Context Protocol, with the engine deciding
    #[command(hide = true)]
    Mcp(Mcp),
    #[command(name = "__keeper", hide = true)]
    Keeper,
    #[command(name = "__terminal", hide = true)]
    Terminal,
    #[command(name = "__letters", hide = true)]
    Letters(Letters),
    #[command(name = "__attack", hide = true)]
    Attack(Attack),
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Run {
    /// Run N more experiments, then exit
    #[arg(long, value_name = "N")]
    pub(crate) experiments: Option<u64>,
    /// Run N trials side by side
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) slots: Option<u32>,
    /// Take the working tree as the baseline, uncommitted changes included
    #[arg(long)]
    pub(crate) snapshot: bool,
    /// Print plain lines, also on a terminal
    #[arg(long)]
    pub(crate) no_tui: bool,
    /// Run at this tier (standard, landlock or none) instead of the strongest, and accept it
    #[arg(long, value_name = "TIER", value_parser = tier)]
    pub(crate) sandbox: Option<Tier>,
    /// Let the machine go to sleep while the run lasts
    #[arg(long)]
    pub(crate) no_awake: bool,
    /// Leave the run going in the background; its lines go to .overnight/<study>/run.log
    #[arg(long)]
    pub(crate) detach: bool,
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
}

#[derive(Debug, Clone, clap::Args)]
#[command(group = ArgGroup::new("source").required(true).args(["from_worktree", "patch", "file"]))]
pub(crate) struct Try {
    /// Take the surface as it is in the working tree
    #[arg(long)]
    pub(crate) from_worktree: bool,
    /// Apply a unified diff to the champion's surface
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Option<PathBuf>,
    /// Take the contents of FILE, for a surface of one file
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Run at this tier (standard, landlock or none) instead of the strongest, and accept it
    #[arg(long, value_name = "TIER", value_parser = tier)]
    pub(crate) sandbox: Option<Tier>,
    /// Where a run is going on, hand it over to that and wait for the verdict
    #[arg(long)]
    pub(crate) wait: bool,
    /// The idea in one line
    #[arg(short, long, value_name = "IDEA")]
    pub(crate) message: String,
    /// Print the experiment as `log --json` would
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Status {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Log {
    /// Print one JSON object per line, all experiments
    #[arg(long)]
    pub(crate) json: bool,
    /// Show the last N experiments
    #[arg(short = 'n', long = "lines", value_name = "N")]
    pub(crate) lines: Option<usize>,
    /// Show all experiments; with --search, look into every study of the repository
    #[arg(long)]
    pub(crate) all: bool,
    /// Show those that have all of these words in their idea, reason, agent or changed lines
    #[arg(long, value_name = "WORDS", conflicts_with = "imported")]
    pub(crate) search: Option<String>,
    /// Show what was imported from other tools instead
    #[arg(long)]
    pub(crate) imported: bool,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Show {
    /// The number of an experiment, `champion` or `baseline`; or `literals`: what each value does to the metric
    #[arg(value_name = "N")]
    pub(crate) what: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print everything that was kept of its output
    #[arg(long)]
    pub(crate) output: bool,
    /// Show what models were asked for it and what they answered; with --json everything, one object per call
    #[arg(long, conflicts_with_all = ["output", "html"])]
    pub(crate) trace: bool,
    /// Fold nothing
    #[arg(long, requires = "trace", conflicts_with = "json")]
    pub(crate) full: bool,
    /// Show what has all of these words
    #[arg(long, value_name = "WORDS", requires = "trace", conflicts_with = "json")]
    pub(crate) search: Option<String>,
    /// Write it as one HTML page
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "output"])]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Verify {
    /// Attack the engine itself, in scratch repositories; needs no study
    #[arg(long)]
    pub(crate) attacks: bool,
    /// Let the judge play nights whose truth is known, beside the rules of other tools; needs no study
    #[arg(long, conflicts_with = "attacks")]
    pub(crate) judge: bool,
    /// A few nights of two kinds
    #[arg(long, hide = true, requires = "judge")]
    pub(crate) quick: bool,
    /// Let the rule of another tool judge
    #[arg(long, hide = true, requires = "judge", value_name = "RULE")]
    pub(crate) rule: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Check {
    /// Measure the working tree N times, two of them with the same seed [default: 3 to 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100), conflicts_with = "machine")]
    pub(crate) trials: Option<u32>,
    /// Try to break out of the sandbox, and say which walls held; needs no study
    #[arg(long)]
    pub(crate) machine: bool,
    /// Show what the tuner finds to change, within which ranges, and what it leaves alone; runs nothing
    #[arg(long, conflicts_with_all = ["machine", "trials", "sandbox"])]
    pub(crate) tuner: bool,
    /// List the coding agents that are here and what each would run; with NAME, show one proposal of it
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["machine", "trials", "tuner", "brief"])]
    pub(crate) agent: Option<String>,
    /// Show the brief that the next agent would get; runs nothing
    #[arg(long, conflicts_with_all = ["machine", "tuner", "trials"])]
    pub(crate) brief: bool,
    /// Send a test notice to everybody whom `[notify]` names; runs nothing else
    #[arg(long, conflicts_with_all = ["machine", "trials", "tuner", "brief", "agent", "sandbox"])]
    pub(crate) notify: bool,
    /// Try this tier (standard, landlock or none) instead of the strongest
    #[arg(long, value_name = "TIER", value_parser = tier)]
    pub(crate) sandbox: Option<Tier>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Attack {
    pub(crate) name: String,
    pub(crate) arguments: Vec<String>,
}

/// Reads a margin.
pub(crate) fn margin(text: &str) -> Result<f64, String> {
    let margin = text.parse::<f64>().ok().filter(|margin| margin.is_finite() && *margin >= 0.0);
    margin.ok_or_else(|| "a margin is a number from 0".to_owned())
}

pub(crate) fn tier(name: &str) -> Result<Tier, String> {
    match Tier::from_name(name) {
        Some(Tier::Strong) => Err("the tier `strong` is not yet supported".to_owned()),
        Some(tier) => Ok(tier),
        None => Err("a tier is one of standard, landlock and none".to_owned()),
    }
}
