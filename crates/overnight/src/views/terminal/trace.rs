//! What happened to an experiment, one line for each event.

use jiff::tz::TimeZone;
use overnight_engine::ledger::StoredEvent;
use overnight_model::event::{AttemptFailure, Loss};
use overnight_model::units::short_number;
use overnight_model::{Event, Timestamp, What};

/// All of it as a text.
pub(crate) fn trace(events: &[StoredEvent]) -> String {
    let line = |stored: &StoredEvent| {
        let Event { at, what } = &stored.event;
        format!("{}  {}\n", clock(*at), words(what).replace('\n', " "))
    };
    events.iter().map(line).collect()
}

fn words(what: &What) -> String {
    match what {
        What::Asked { agent, .. } => format!("{agent} was asked for an idea"),
        What::AttemptLost { .. } => "the agent was stopped; it is asked again".to_owned(),
        What::AttemptFailed { failure, .. } => format!("nothing to try: {}", failed(failure)),
        What::Proposed(proposed) => {
            format!("proposed by {} after {}: {}", proposed.agent, proposed.took, proposed.description)
        }
        What::TrialStarted { trial, purpose, slot, seed, .. } => {
            format!("trial {trial} began in slot {} ({purpose:?}, seed {})", slot.0 + 1, seed.0).to_lowercase()
        }
        What::TrialFinished { trial, measurement, .. } => match (&measurement.metric, &measurement.problem) {
            (Some(score), _) => {
                format!("trial {trial} gave {} after {}", short_number(score.get()), measurement.usage.wall)
            }
            (None, Some(problem)) => format!("trial {trial} gave nothing: {problem}"),
            (None, None) => format!("trial {trial}: {}", measurement.ending),
        },
        What::TrialLost { trial, loss, .. } => format!("trial {trial} was lost: {}", lost(loss)),
        What::GuardStarted { command, on, .. } => {
            let on = if on.is_some() { " on the champion" } else { "" };
            format!("guard `{command}` began{on}")
        }
        What::GuardFinished { ending, usage, .. } => format!("the guard: {ending}, after {}", usage.wall),
        What::GuardLost { loss, .. } => format!("the guard was lost: {}", lost(loss)),
        What::SmokeStarted { command, .. } => format!("a quick look began: `{command}`"),
        What::SmokeFinished { ending, usage, .. } => format!("the quick look: {ending}, after {}", usage.wall),
        What::SmokeLost { loss, .. } => format!("the quick look was lost: {}", lost(loss)),
        What::Judged(judged) => format!("{}: {}", judged.verdict.name(), judged.reason),
        What::RepairAsked { agent, .. } => format!("it crashed at once, and {agent} was asked to repair it"),
        What::Repaired(proposed) => format!("repaired after {}", proposed.took),
        What::NotRepaired { failure, .. } => format!("not repaired: {}", failed(failure)),
        What::Restacked(proposed) => format!("put on the new champion {}", proposed.parent.short()),
        What::NotRestacked { .. } => "it could not be put on the new champion".to_owned(),
        What::Retracted(retracted) => format!("taken back: {}", retracted.reason),
        What::BranchAdvanced { to, .. } => format!("the branch is at {}", to.short()),
        What::Reviewed(reviewed) => format!("a person said {}: {}", reviewed.verdict.name(), reviewed.why),
        _ => "something else happened".to_owned(),
    }
}

fn failed(failure: &AttemptFailure) -> String {
    match failure {
        AttemptFailure::NoChange => "it changed nothing".to_owned(),
        AttemptFailure::Error { what, .. } | AttemptFailure::Policy { what } | AttemptFailure::Exhausted { what } => {
            what.clone()
        }
    }
}

fn lost(loss: &Loss) -> String {
    match loss {
        Loss::Interrupted => "the run ended".to_owned(),
        Loss::Suspended => "the machine slept".to_owned(),
        Loss::Fault { what } => what.clone(),
    }
}

fn clock(at: Timestamp) -> String {
    let Ok(moment) = jiff::Timestamp::from_millisecond(at.0) else { return "unknown".to_owned() };
    moment.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}
