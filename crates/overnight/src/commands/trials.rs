//! Trials outside the loop, as `compare` and `audit` run them: what counts as a number, what stops it, what is shown.

use overnight_engine::process::Keeper;
use overnight_engine::rehearse::{Bench, RehearseError, Rehearsed, Subject};
use overnight_engine::sandbox::Found;
use overnight_model::claim::Standing;
use overnight_model::spec::Tier;
use overnight_model::{Score, Study};

use super::interrupt::Interrupt;
use crate::error::{CliError, Exit, Outcome};
use crate::ui::{Live, printable};
use crate::views::term;

/// A side that gives no number this often does not run. Once may be the machine.
pub(super) const FAILURES: u32 = 2;
/// More of an output than anyone reads here.
const OUTPUT_LINES: usize = 5;

/// Why no trial could be run.
pub(super) enum Trouble {
    Interrupted,
    Error(CliError),
}

/// A trial that gave no number.
pub(super) struct Broken {
    pub(super) what: String,
    pub(super) output: String,
    pub(super) hint: Option<String>,
}

/// Where lines go: to people, unless data was asked for.
pub(super) struct Screen {
    pub(super) live: Live,
    pub(super) is_quiet: bool,
}

impl Screen {
    pub(super) fn lines(&self, lines: &[String]) {
        if !self.is_quiet {
            lines.iter().for_each(|line| self.live.data(&printable(line)));
        }
    }
}

/// Lays out the place where trials of a tree are run; `what` is how a person is told.
pub(super) fn open(
    tree: Subject,
    keeper: &Keeper,
    found: &Found,
    interrupt: &Interrupt,
    screen: &Screen,
    what: &str,
) -> Result<Bench, Trouble> {
    screen.live.now(&format!("laying out {what}"));
    let say = |text: &str| screen.live.now(&printable(text));
    let bench = Bench::open(tree, keeper.clone(), found, &say).map_err(|error| trouble(interrupt, error))?;
    interrupt.kills(bench.stopper());
    Ok(bench)
}

/// The number of a trial, or why there is none.
pub(super) fn number(study: &Study, done: Rehearsed) -> Result<Score, Broken> {
    let broken = study.broken(&done.measurement).or_else(|| study.missing_number(&done.measurement));
    match (broken, done.measurement.metric) {
        (None, Some(score)) => Ok(score),
        (broken, _) => {
            let why = broken.map_or_else(|| "gave no number".to_owned(), |(_, reason)| reason.to_string());
            let output = done.scorer_output.filter(|said| !said.trim().is_empty()).unwrap_or(done.output);
            Err(Broken { what: format!("gave no number: {why}"), output, hint: done.hint })
        }
    }
}

pub(super) fn trouble(interrupt: &Interrupt, error: RehearseError) -> Trouble {
    // A keeper that was ended for a person's sake is no fault.
    if interrupt.is_asked() {
        return Trouble::Interrupted;
    }
    match error {
        RehearseError::Interrupted => Trouble::Interrupted,
        RehearseError::SetUp(error) => Trouble::Error(error.into()),
        RehearseError::Fault(fault) => Trouble::Error(fault.into()),
        RehearseError::Inputs(_) => {
            let message = "could not look at an input";
            Trouble::Error(CliError::usage(message).cause(&error).hint("see `inputs` in [evaluate]"))
        }
        RehearseError::Lost { .. } => {
            let error = CliError::new(Exit::Fault, error.to_string());
            Trouble::Error(error.hint("`overnight check --machine` says what works on this machine"))
        }
    }
}

/// What this machine enforces; refused where a person asked for more.
pub(super) fn machine(subject: &Subject, keeper: &Keeper, wanted: Option<Tier>) -> Outcome<Found> {
    let found = subject.find(keeper, wanted);
    match wanted.filter(|wanted| found.tier < *wanted) {
        None => Ok(found),
        Some(wanted) => {
            let name = found.tier.name();
            let message = format!("this machine gives the sandbox `{name}`, not `{}`", wanted.name());
            let mut error = CliError::new(Exit::Refused, message);
            error.causes.extend(found.reasons);
            Err(error.hint(format!("leave out --sandbox, or accept it: --sandbox {name}")))
        }
    }
}

/// A problem of the triplet may be one of an old commit that it was not written for.
pub(super) fn not_fitting(mut error: CliError, whom: &str) -> CliError {
    let note = format!("the triplet of the working tree was held against {whom}");
    match &mut error.rendered {
        Some(rendered) => *rendered = format!("{}\nnote: {note}", rendered.trim_end()),
        None => error.causes.push(note),
    }
    error
}

/// The interval of a difference, to follow it.
pub(super) fn interval(known: &Standing) -> String {
    let shown = match (known.low, known.high) {
        _ if known.is_deterministic => return String::new(),
        (Some(low), Some(high)) => format!("{} to {}", term::signed(low), term::signed(high)),
        (None, None) => "unknown".to_owned(),
        (Some(low), None) => format!("{} or more", term::signed(low)),
        (None, Some(high)) => format!("{} or less", term::signed(high)),
    };
    format!(", 95 % interval {shown}")
}

/// The end of what a broken trial printed.
pub(super) fn broken_lines(broken: &Broken) -> Vec<String> {
    let said: Vec<&str> = broken.output.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = said[said.len().saturating_sub(OUTPUT_LINES)..].iter();
    let mut lines: Vec<String> = last.map(|line| format!("  | {line}")).collect();
    lines.extend(broken.hint.iter().map(|hint| format!("hint: {hint}")));
    lines
}
