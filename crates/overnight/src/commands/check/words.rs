//! What to say of a first trial that gave no number, and what to do about it.

use overnight_engine::rehearse::Rehearsed;
use overnight_model::metric::MetricError;
use overnight_model::spec::Spec;
use overnight_model::{Ending, Reason, Verdict};

use super::report::{Finding, Level};
use crate::error::CliError;

/// More of an output than anyone reads here.
const LAST_LINES: usize = 5;

const FETCH: &str = "run `cargo fetch` once: in the sandbox there is no network, and what cargo downloaded is there";

/// A trial of the tree as it is that gave no number that could be compared.
pub(super) fn broken(spec: &Spec, done: &Rehearsed, (verdict, reason): (Verdict, Reason)) -> Finding {
    let run = &spec.evaluate.run;
    let (topic, what) = match &reason {
        Reason::Ended { ending } => ("runs", format!("`{run}`: {ending}")),
        Reason::Metric { error: MetricError::Scorer { .. } } => ("runs", format!("`{run}` ended well; {reason}")),
        Reason::GuardMissing { .. } | Reason::GuardCommand { .. } => ("guard", reason.to_string()),
        _ => ("metric", format!("`{run}` ended well, but {reason}")),
    };
    let mut finding = Finding::new(topic, Level::Fail, what);
    let said = done.scorer_output.as_deref().filter(|said| !said.trim().is_empty()).unwrap_or(&done.output);
    finding.output = last_lines(said);
    finding.next(done.hint.clone().unwrap_or_else(|| next(spec, verdict, &reason)))
}

/// A `prepare` that failed: no trial could begin.
pub(super) fn not_prepared(error: CliError) -> Finding {
    let mut finding = Finding::new("prepare", Level::Fail, error.message);
    finding.output = error.causes;
    let wants_fetch = finding.output.iter().any(|line| line.contains("you're using offline mode"));
    let next = error.hint.unwrap_or_default();
    finding.next(if wants_fetch { FETCH.to_owned() } else { next })
}

/// The end of an output, and the line with the error where that comes before.
pub(super) fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let (before, last) = lines.split_at(lines.len().saturating_sub(LAST_LINES));
    let is_error = |line: &&&str| line.contains("Error:") || line.contains("error:");
    let said = if last.iter().any(|line| is_error(&line)) { None } else { before.iter().rev().find(is_error) };
    // It takes the place of one of the last lines.
    said.into_iter().chain(&last[usize::from(said.is_some())..]).map(|line| (*line).to_owned()).collect()
}

fn next(spec: &Spec, verdict: Verdict, reason: &Reason) -> String {
    let name = &spec.metric.name;
    let pick = || {
        let goal = spec.metric.goal;
        format!("print it once, or take the last: `metric = {{ name = {name:?}, goal = \"{goal}\", pick = \"last\" }}`")
    };
    match reason {
        Reason::Ended { ending: Ending::TimedOut { .. } } => format!(
            "let it stop by itself after $OVERNIGHT_BUDGET_SECONDS ({} s), or raise `budget` in [evaluate]",
            spec.evaluate.budget.as_secs()
        ),
        Reason::Ended { ending: Ending::OutOfMemory { .. } } => "raise `memory` in [sandbox]".to_owned(),
        Reason::Ended { ending: Ending::TooManyProcesses { .. } } => "raise `pids` in [sandbox]".to_owned(),
        Reason::Ended { ending: Ending::DiskFilled } => "raise `disk` in [sandbox], or make room".to_owned(),
        Reason::Ended { ending: Ending::TooMuchOutput { .. } } => "print less".to_owned(),
        Reason::Ended { .. } => format!(
            "run `{}` yourself; if it works there, `overnight check --sandbox none` tells whether the sandbox is in its way",
            spec.evaluate.run
        ),
        Reason::Metric { error } => match error {
            MetricError::Missing { seen, .. } => match seen.first() {
                Some(seen) => format!("print a line `{name}: 0.123`, or set `name = {seen:?}` in metric"),
                None => format!("print a line `{name}: 0.123` at the end"),
            },
            MetricError::Conflict { .. } => pick(),
            MetricError::NotANumber { .. } => format!("print a line `{name}: 0.123`, a plain number"),
            MetricError::NotFinite { .. } => {
                "find out why the number is not finite; a run that failed should end with an error".to_owned()
            }
            MetricError::BadFile { .. } => format!("write one JSON object to it, such as {{\"{name}\": 0.123}}"),
            MetricError::Artifacts { .. } => "leave plain files and folders in $OVERNIGHT_OUT".to_owned(),
            MetricError::Scorer { .. } => match &spec.evaluate.score {
                Some(score) => {
                    format!("let `{}` read what is in $OVERNIGHT_ARTIFACTS, and print `{name}: 0.123`", score.run)
                }
                None => format!("print a line `{name}: 0.123`"),
            },
        },
        Reason::Implausible { .. } => "widen `plausible` in metric, or find out why it is outside".to_owned(),
        Reason::GuardMissing { metric } => format!("print a line `{metric}: 1`, or take this guard out"),
        _ => format!("overnight explain {}", verdict.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_with_the_error_is_shown_however_much_comes_after_it() {
        let trace = "start\nError: Cannot find module 'x'\n  at a\n  at b\n  at c\n  at d\n  at e\n\nNode.js v20\n";
        assert_eq!(last_lines(trace), ["Error: Cannot find module 'x'", "  at c", "  at d", "  at e", "Node.js v20"]);
        assert_eq!(last_lines("a\nb\n"), ["a", "b"]);
        let last = "x error: old\n1\n2\n3\n4\nValueError: new\n";
        assert_eq!(last_lines(last), ["1", "2", "3", "4", "ValueError: new"]);
    }

    #[test]
    fn what_cargo_did_not_download_is_a_matter_of_fetching() {
        let mut error = CliError::usage("`evaluate.prepare` failed").hint("name what it needs");
        assert_eq!(not_prepared(CliError::usage("no").hint("name it")).next.unwrap(), "name it");
        error.causes.push("As a reminder, you're using offline mode (--offline) which can sometimes cause".to_owned());
        assert!(not_prepared(error).next.unwrap().contains("`cargo fetch`"));
    }
}
