//! What to say of a first trial that gave no number, and what to do about it.

use overnight_engine::rehearse::Rehearsed;
use overnight_model::metric::MetricError;
use overnight_model::spec::Spec;
use overnight_model::{Ending, Reason, Verdict};

use super::report::{Finding, Level};
use crate::error::CliError;

/// More of an output than anyone reads here.
const LAST_LINES: usize = 5;

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
    finding.next(error.hint.unwrap_or_default())
}

/// The end of an output.
pub(super) fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(|line| (*line).to_owned()).collect()
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
