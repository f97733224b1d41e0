//! The surest of what was recognised, with what the person said on the command line in it.

use overnight_model::Goal;

use super::look::Look;
use super::proposal::{GIVEN, Key, Proposal};
use super::{Init, agents, inputs, kinds, metric};
use crate::error::{CliError, Outcome};

/// Takes one out of what was found; the rest is left for a word beside it.
pub(super) fn choose(look: &Look, found: &mut Vec<Proposal>, args: &Init) -> Outcome<Proposal> {
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
    kinds::take_guard(look, &mut proposal);
    inputs::see(look, &mut proposal);
    agents::propose(&mut proposal, args);
    Ok(proposal)
}
