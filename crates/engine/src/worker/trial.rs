//! One trial: a command in a fresh place, measured, its numbers read by fixed rules, or left to a scorer.

use std::collections::BTreeMap;

use overnight_model::measure::Usage;
use overnight_model::metric::{self, MetricError, Reader};
use overnight_model::proposal::Contents;
use overnight_model::spec::Smoke;
use overnight_model::{Ending, Measurement, Millis, Score, Seed};

use super::capture::Capture;
use super::place::{Order, Place, Ran, Room};
use super::{Kind, Spot, Trouble, hint, score};
use crate::dispatch::Captured;
use crate::open::is_replayed;
use crate::process::{Stdin, Stream};

/// More numbers than this is not a metrics file.
pub(super) const METRICS_FILE_LIMIT: u64 = 1024 * 1024;
pub(super) const METRICS_FILE: &str = "metrics.json";

/// How a line begins that the engine adds to an output.
pub const HINT_MARK: &str = "overnight: ";

/// A trial that came to its end, with what was printed in it.
pub(crate) struct Done {
    pub(crate) measurement: Measurement,
    pub(crate) output: Option<Captured>,
    pub(crate) scorer_output: Option<Captured>,
}

/// How `run` ended, and what it said.
pub(super) struct Said {
    pub(super) ran: Ran,
    pub(super) found: Result<Score, MetricError>,
    pub(super) numbers: BTreeMap<String, Score>,
    pub(super) output: Captured,
}

/// Runs the evaluation once.
pub(crate) fn run(
    spot: &mut Spot,
    room: &Room,
    seed: Seed,
    contents: &Contents,
    champion: Option<&Contents>,
) -> Result<Done, Trouble> {
    let mut done = measure(spot, room, seed, contents, champion)?;
    done.measurement.replayed = is_replayed(&room.shop.spec);
    if done.measurement.metric.is_none()
        && let Some(output) = done.scorer_output.as_mut().or(done.output.as_mut())
    {
        say_what_is_missing(room, output);
    }
    Ok(done)
}

/// Adds a line of ours to what a failed command printed, where there is something to say.
pub(super) fn say_what_is_missing(room: &Room, output: &mut Captured) {
    if let Some(hint) = hint::hint(room, &output.kept) {
        if !output.kept.is_empty() && !output.kept.ends_with(b"\n") {
            output.kept.push(b'\n');
        }
        output.kept.extend_from_slice(format!("{HINT_MARK}{hint}\n").as_bytes());
    }
}

fn measure(
    spot: &mut Spot,
    room: &Room,
    seed: Seed,
    contents: &Contents,
    champion: Option<&Contents>,
) -> Result<Done, Trouble> {
    let said = run_candidate(&mut spot.place, room, seed, contents)?;
    if room.shop.spec.evaluate.score.is_some() {
        return score::score(spot, room, seed, contents, champion, said);
    }
    Ok(taken_at_its_word(said))
}

/// A trial whose numbers are those that candidate code gave.
pub(super) fn taken_at_its_word(said: Said) -> Done {
    let Said { ran: Ran { ending, usage, left: _ }, found, numbers, output } = said;
    // Whatever a failed command printed is a claim, not a measurement.
    let (metric, problem) = match (ending.succeeded(), found) {
        (true, Ok(score)) => (Some(score), None),
        (true, Err(problem)) => (None, Some(problem)),
        (false, _) => (None, None),
    };
    let measurement = Measurement {
        ending,
        metric,
        problem,
        numbers,
        usage,
        output: None,
        claim: None,
        scorer: None,
        replayed: false,
    };
    Done { measurement, output: Some(output), scorer_output: None }
}

/// Runs the candidate's part of it.
pub(super) fn run_candidate(place: &mut Place, room: &Room, seed: Seed, contents: &Contents) -> Result<Said, Trouble> {
    let evaluate = &room.shop.spec.evaluate;
    run_command(place, room, seed, contents, (&evaluate.run, evaluate.kill))
}

/// Runs a command with these contents in the surface.
pub(super) fn run_command(
    place: &mut Place,
    room: &Room,
    seed: Seed,
    contents: &Contents,
    (command, limit): (&str, Millis),
) -> Result<Said, Trouble> {
    place.fresh(room, contents)?;
    let spec = &room.shop.spec;
    let metrics = place.seen_said(room).join(METRICS_FILE);
    let mut environment = told(place, room);
    environment.push(("OVERNIGHT_SEED".to_owned(), seed.0.to_string()));
    environment.push(("OVERNIGHT_METRICS".to_owned(), metrics.to_string_lossy().into_owned()));
    let reader = || Reader::new(&spec.metric.name, spec.metric.pick);
    let (mut stdout, mut stderr, mut capture) = (reader(), reader(), Capture::new());
    let order = Order { command: command.to_owned(), environment, stdin: Stdin::Null, limit, models: None };
    let ran = place.run(room, Kind::Evaluation, order, |stream, bytes| {
        capture.feed(bytes);
        match stream {
            Stream::Stdout => stdout.feed(bytes),
            Stream::Stderr => stderr.feed(bytes),
        }
    })?;
    let file = ran.left.read_said(METRICS_FILE, METRICS_FILE_LIMIT);
    let (found, numbers) =
        metric::settle(&spec.metric.name, spec.metric.pick, file.as_deref(), stdout.finish(), stderr.finish());
    Ok(Said { ran, found, numbers, output: capture.finish() })
}

/// Runs a guard's command; only its exit code counts.
pub(crate) fn guard(
    place: &mut Place,
    room: &Room,
    command: &str,
    contents: &Contents,
) -> Result<(Ending, Usage, Option<Captured>), Trouble> {
    let limit = room.shop.spec.evaluate.kill;
    pass(place, room, (command, limit), contents)
}

/// Runs the quick look before a slot is taken; only its exit code counts.
pub(crate) fn smoke(
    place: &mut Place,
    room: &Room,
    command: &str,
    contents: &Contents,
) -> Result<(Ending, Usage, Option<Captured>), Trouble> {
    let limit = room.shop.spec.evaluate.smoke.as_ref().map_or(Smoke::KILL, |smoke| smoke.kill);
    pass(place, room, (command, limit), contents)
}

fn pass(
    place: &mut Place,
    room: &Room,
    (command, limit): (&str, Millis),
    contents: &Contents,
) -> Result<(Ending, Usage, Option<Captured>), Trouble> {
    place.fresh(room, contents)?;
    let mut capture = Capture::new();
    let order =
        Order { command: command.to_owned(), environment: told(place, room), stdin: Stdin::Null, limit, models: None };
    // It belongs to no trial that calls to models could be counted to.
    let caller = place.caller.take();
    let ran = place.run(room, Kind::Evaluation, order, |_, bytes| capture.feed(bytes));
    place.caller = caller;
    let Ran { ending, usage, left: _ } = ran?;
    let mut output = capture.finish();
    if !ending.succeeded() {
        say_what_is_missing(room, &mut output);
    }
    Ok((ending, usage, Some(output)))
}

/// What an evaluation is told in its environment, seed and metrics file aside.
pub(super) fn told(place: &Place, room: &Room) -> Vec<(String, String)> {
    let spec = &room.shop.spec;
    let mut environment: Vec<_> = spec.evaluate.env.clone().into_iter().collect();
    environment.push(("OVERNIGHT_BUDGET_SECONDS".to_owned(), spec.evaluate.budget.as_secs().to_string()));
    environment.push(("OVERNIGHT_OUT".to_owned(), place.seen_out(room).to_string_lossy().into_owned()));
    environment
}
