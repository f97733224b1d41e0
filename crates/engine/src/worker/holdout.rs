//! The holdout's own scorer, which sees what nothing else sees. No loop runs it: only a person asks for it.

use std::collections::BTreeMap;

use overnight_model::measure::{ScorerRan, Usage};
use overnight_model::proposal::Contents;
use overnight_model::{Ending, Measurement, Seed};

use super::Trouble;
use super::place::{Place, Room};
use super::score::{as_new, fault, run_scorer};
use super::trial::{Done, run_command, say_what_is_missing, taken_at_its_word};

/// Scores what the last trial of these contents left; where a candidate gives its own numbers, runs it once more.
pub(crate) fn run(place: &mut Place, room: &Room, seed: Seed, contents: &Contents) -> Result<Done, Trouble> {
    let spec = &room.shop.spec;
    let Some(holdout) = &spec.holdout else { return Err(fault("there is no holdout".to_owned())) };
    let mut done = match &spec.evaluate.score {
        None => {
            let command = (holdout.score.run.as_str(), holdout.score.kill);
            taken_at_its_word(run_command(place, room, seed, contents, command)?)
        }
        Some(_) => {
            let artifacts = as_new(place, room)?;
            if !room.kept.copy_to(&contents.id(), &artifacts) {
                return Err(fault("nothing is kept of what the last trial left".to_owned()));
            }
            let (scored, usage, output) = run_scorer(place, room, seed, &holdout.score)?;
            let _ = crate::workspace::wipe(&artifacts);
            let (metric, problem) = match scored.result() {
                Ok(score) => (Some(score), None),
                Err(problem) => (None, Some(problem)),
            };
            // What was kept is of a `run` that succeeded.
            let ending = Ending::Exited { code: 0 };
            let scorer = Some(Box::new(ScorerRan { ending: scored.ending, usage, output: None }));
            let (numbers, usage) = (BTreeMap::new(), Usage::default());
            let measurement = Measurement {
                ending,
                metric,
                problem,
                numbers,
                usage,
                output: None,
                claim: None,
                scorer,
                replayed: false,
            };
            Done { measurement, output: None, scorer_output: Some(output) }
        }
    };
    if done.measurement.metric.is_none()
        && let Some(output) = done.scorer_output.as_mut().or(done.output.as_mut())
    {
        say_what_is_missing(room, output);
    }
    Ok(done)
}
