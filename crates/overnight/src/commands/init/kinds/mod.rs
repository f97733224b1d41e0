//! One file for each thing that `init` recognises, and the order of what they propose.

mod autoresearch;
mod cargo;
mod cargo_program;
mod guard;
mod make;
mod npm;
mod package;
mod pi;
mod pytest;
mod python;
mod script;

use super::look::Look;
use super::metric::{self, Printed};
use super::proposal::{Key, Proposal};
use super::reach;

pub(super) use guard::{take_guard, tests};
pub(super) use npm::{package_main, package_name};
pub(super) use script::{command, not_yet_tracked};

/// The names that `--as` takes, the surest first.
pub(super) const KINDS: [&str; 8] =
    ["pi-autoresearch", "autoresearch", "cargo-run", "pytest-benchmark", "cargo-bench", "npm", "make", "script"];

/// Everything that is recognised, the surest first.
pub(super) fn recognise(look: &Look) -> Vec<Proposal> {
    let recognisers = [
        pi::recognise,
        autoresearch::recognise,
        cargo_program::recognise,
        pytest::recognise,
        cargo::recognise,
        npm::recognise,
        make::recognise,
        script::recognise,
    ];
    let mut found: Vec<Proposal> = recognisers.iter().filter_map(|recognise| recognise(look)).collect();
    // Of equals the earlier in the list: a stable sort.
    found.sort_by_key(|proposal| std::cmp::Reverse(proposal.sure));
    found
}

/// Takes the metric that a source prints.
fn take_printed(proposal: &mut Proposal, path: &str, printed: &Printed, prose: &str) {
    let Printed { name, line, looped, .. } = printed;
    proposal.metric.clone_from(name);
    proposal.last = *looped;
    let again = if *looped { ", again and again: the last one counts" } else { "" };
    proposal.because(Key::Metric, format!("{path}, line {line}, prints it{again}"));
    take_goal(proposal, prose);
}

/// Takes the direction from the name of the metric, else from what is written about it.
fn take_goal(proposal: &mut Proposal, prose: &str) {
    let name = proposal.metric.clone();
    if let Some(goal) = metric::goal_of(&name) {
        proposal.goal = Some(goal);
        proposal.because(Key::Goal, format!("by the name `{name}`"));
    } else if let Some(goal) = metric::goal_in(prose) {
        proposal.goal = Some(goal);
        proposal.because(Key::Goal, "by what is written about it");
    }
}

/// Takes the surface that lies behind a file, with the reason.
fn take_surface(proposal: &mut Proposal, look: &Look, start: &str) {
    let Some((files, by)) = reach::surface(look, start) else { return };
    let reason = match by {
        Some(by) => format!("{by} uses {}", if files.len() == 1 { "it" } else { "them" }),
        None => "it is what is run".to_owned(),
    };
    proposal.surface = files;
    proposal.because(Key::Surface, reason);
}

/// The command for a number that nobody prints: how long it all took.
fn timed(command: &str) -> String {
    format!("t=$(date +%s%N) && {command} && echo \"time_ms: $(( ($(date +%s%N) - t) / 1000000 ))\"")
}

/// What is measured where the output is unknown.
fn take_time(proposal: &mut Proposal, command: &str) {
    proposal.metric = "time_ms".to_owned();
    proposal.run = timed(command);
    proposal.because(Key::Metric, "what it prints is not known, so the time of the whole command is taken");
    take_goal(proposal, "");
}

/// A span of time as people write it.
fn span(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, 0) => format!("{minutes}m"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

/// The budget that a source gives itself, in seconds: `TIME_BUDGET = 300`.
fn own_budget(text: &str) -> Option<u64> {
    const NAMES: [&str; 6] = ["TIME_BUDGET", "BUDGET_SECONDS", "TRAIN_SECONDS", "MAX_SECONDS", "TIME_LIMIT", "BUDGET"];
    let value = |line: &str| -> Option<u64> {
        let (name, value) = line.split_once('=')?;
        let name = name.split(':').next()?.trim();
        let value = value.split('#').next()?.trim();
        let product = |text: &str| text.split('*').map(|part| part.trim().parse::<u64>().ok()).product::<Option<u64>>();
        NAMES.contains(&name).then(|| product(value)).flatten().filter(|seconds| (1..=86_400).contains(seconds))
    };
    text.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_read_as_it_is_written() {
        assert_eq!(own_budget("x = 1\nTIME_BUDGET = 300        # seconds\n"), Some(300));
        assert_eq!(own_budget("TIME_BUDGET: int = 5 * 60\n"), Some(300));
        assert_eq!(own_budget("TIME_BUDGET = get()\nTIME_BUDGET = 0"), None);
        assert_eq!((span(300), span(90), span(20)), ("5m".to_owned(), "1m30s".to_owned(), "20s".to_owned()));
    }
}
