//! The second half of a separated trial: a locked scorer, and what the candidate left, as data.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use overnight_model::event::Loss;
use overnight_model::measure::{ScorerRan, Usage};
use overnight_model::metric::{MetricError, Reader, settle};
use overnight_model::proposal::{Contents, one_line};
use overnight_model::scoring::{self, Ruling, Scored};
use overnight_model::spec::{Scorer, Spec};
use overnight_model::{Ending, Measurement, Seed};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::artifacts::{self, Limits, NotTaken};
use super::capture::Capture;
use super::constant;
use super::place::{Left, Order, Place, Ran, Room, describe, enough_room};
use super::trial::{Done, METRICS_FILE, METRICS_FILE_LIMIT, Said, run_candidate, told};
use super::{Kind, Spot, Trouble};
use crate::dispatch::Captured;
use crate::process::{Stdin, Stream};
use crate::workspace;

/// Enough of the end of a scorer's complaint to find its last line.
const LAST_WORDS: usize = 4096;

/// Scores what a candidate has just left in its place.
pub(super) fn score(
    spot: &mut Spot,
    room: &Room,
    seed: Seed,
    contents: &Contents,
    champion: Option<&Contents>,
    said: Said,
) -> Result<Done, Trouble> {
    let (Some(scorer), Some(booth)) = (&room.shop.spec.evaluate.score, &mut spot.booth) else {
        return Err(fault("there is no place for the scorer".to_owned()));
    };
    let Said { ran: Ran { ending, usage, left }, found, output, .. } = said;
    let (claim, numbers, output) = (found.ok(), BTreeMap::new(), Some(output));
    let mut measurement = Measurement {
        ending,
        metric: None,
        problem: None,
        numbers,
        usage,
        output: None,
        claim,
        scorer: None,
        replayed: false,
    };
    if !measurement.ending.succeeded() {
        return Ok(Done { measurement, output, scorer_output: None });
    }
    match take_over(&spot.place, left, booth, room)? {
        TakenOver::Whole => {}
        TakenOver::Refused(what) => {
            measurement.problem = Some(MetricError::Artifacts { what });
            return Ok(Done { measurement, output, scorer_output: None });
        }
        TakenOver::FilledTheDisk => {
            measurement.ending = Ending::DiskFilled;
            return Ok(Done { measurement, output, scorer_output: None });
        }
    }
    let (scored, usage, scorer_output) = run_scorer(booth, room, seed, scorer)?;
    if scored.result().is_ok() {
        // Without it a failure later costs one more run of the champion, and that is all.
        let _ = room.kept.put(&contents.id(), &booth.artifacts());
    }
    let reference = match (scored.result(), champion) {
        (Err(_), Some(champion)) => Some(on_champion(&mut spot.place, booth, room, seed, scorer, champion)?),
        _ => None,
    };
    match scoring::rule(&scored, reference.as_ref()) {
        Ruling::Measured(score) => measurement.metric = Some(score),
        Ruling::Invalid(problem) => measurement.problem = Some(problem),
        Ruling::Ours { what } => return Err(fault(what)),
    }
    measurement.numbers = scored.numbers;
    measurement.scorer = Some(Box::new(ScorerRan { ending: scored.ending, usage, output: None }));
    Ok(Done { measurement, output, scorer_output: Some(scorer_output) })
}

/// Scores an empty folder of artifacts, as one leaves that does nothing; `None` without a scorer.
pub(crate) fn nothing(spot: &mut Spot, room: &Room, seed: Seed) -> Result<Option<Scored>, Trouble> {
    let (Some(scorer), Some(booth)) = (&room.shop.spec.evaluate.score, &mut spot.booth) else { return Ok(None) };
    as_new(booth, room)?;
    let (scored, ..) = run_scorer(booth, room, seed, scorer)?;
    Ok(Some(scored))
}

/// Scores what these contents left, with one answer throughout; `None` without a scorer, or where nothing is kept of
/// them that could be changed so.
pub(crate) fn constant(
    spot: &mut Spot,
    room: &Room,
    seed: Seed,
    contents: &Contents,
) -> Result<Option<Scored>, Trouble> {
    let (Some(scorer), Some(booth)) = (&room.shop.spec.evaluate.score, &mut spot.booth) else { return Ok(None) };
    let artifacts = as_new(booth, room)?;
    let is_there = room.kept.copy_to(&contents.id(), &artifacts);
    let leveled = constant::level_out(&artifacts);
    if !is_there || !leveled.map_err(|error| fault(format!("could not change the artifacts: {error}")))? {
        return Ok(None);
    }
    let (scored, ..) = run_scorer(booth, room, seed, scorer)?;
    Ok(Some(scored))
}

/// What became of the artifacts in a place.
enum TakenOver {
    Whole,
    Refused(String),
    /// They fit on the disk once and not twice, which is the candidate's own doing.
    FilledTheDisk,
}

/// Makes the scorer's place as new, with the artifacts of another place in it.
fn take_over(place: &Place, left: Left, booth: &mut Place, room: &Room) -> Result<TakenOver, Trouble> {
    let artifacts = as_new(booth, room)?;
    let refused = |what: &str| Ok(TakenOver::Refused(format!("the artifact folder $OVERNIGHT_OUT {what}")));
    let out = match left.out {
        Ok(out) => out,
        Err(Errno::NOENT) => return refused("is gone"),
        Err(Errno::ACCESS) => return refused("may not be read"),
        Err(Errno::LOOP | Errno::NOTDIR) => {
            let found = fs::symlink_metadata(place.out());
            let kind = found.map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.mode()));
            return refused(artifacts::what_it_is(kind));
        }
        Err(error) => return Err(fault(format!("could not open the artifact folder: {error}"))),
    };
    match artifacts::collect(out.as_fd(), &artifacts, limits(&room.shop.spec)) {
        Ok(()) => Ok(TakenOver::Whole),
        Err(NotTaken::Refused(what)) => Ok(TakenOver::Refused(what)),
        Err(NotTaken::Failed(error)) => {
            let full = matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT));
            workspace::wipe(&artifacts).map_err(|error| fault(describe(&error)))?;
            if !full {
                return Err(fault(format!("could not take over the artifacts: {error}")));
            }
            enough_room(&artifacts)?;
            Ok(TakenOver::FilledTheDisk)
        }
    }
}

/// Runs the scorer on what it took before. What is not kept is made again by the champion itself.
fn on_champion(
    place: &mut Place,
    booth: &mut Place,
    room: &Room,
    seed: Seed,
    scorer: &Scorer,
    champion: &Contents,
) -> Result<Scored, Trouble> {
    let artifacts = as_new(booth, room)?;
    if !room.kept.copy_to(&champion.id(), &artifacts) {
        let Said { ran: Ran { ending, left, .. }, .. } = run_candidate(place, room, seed, champion)?;
        let nothing = match ending.succeeded() {
            false => Some(ending.to_string()),
            true => match take_over(place, left, booth, room)? {
                TakenOver::Whole => None,
                TakenOver::Refused(what) => Some(what),
                TakenOver::FilledTheDisk => Some(Ending::DiskFilled.to_string()),
            },
        };
        if let Some(what) = nothing {
            return Err(fault(format!("the scorer failed, and the champion leaves nothing to try it on: {what}")));
        }
    }
    let (scored, ..) = run_scorer(booth, room, seed, scorer)?;
    if scored.result().is_ok() {
        let _ = room.kept.put(&champion.id(), &booth.artifacts());
    }
    Ok(scored)
}

pub(super) fn run_scorer(
    booth: &Place,
    room: &Room,
    seed: Seed,
    scorer: &Scorer,
) -> Result<(Scored, Usage, Captured), Trouble> {
    let spec = &room.shop.spec;
    let metrics = booth.seen_said(room).join(METRICS_FILE);
    let mut environment = told(booth, room);
    for (name, value) in [
        ("OVERNIGHT_SEED", seed.0.to_string()),
        ("OVERNIGHT_METRICS", metrics.to_string_lossy().into_owned()),
        ("OVERNIGHT_ARTIFACTS", booth.seen_artifacts(room).to_string_lossy().into_owned()),
    ] {
        environment.push((name.to_owned(), value));
    }
    let reader = || Reader::new(&spec.metric.name, spec.metric.pick);
    let (mut stdout, mut stderr, mut capture) = (reader(), reader(), Capture::new());
    let mut last = Capture::with_limits(0, LAST_WORDS);
    let order =
        Order { command: scorer.run.clone(), environment, stdin: Stdin::Null, limit: scorer.kill, models: None };
    allow(&booth.artifacts(), 0o555)?;
    let ran = booth.run(room, Kind::Evaluation, order, |stream, bytes| {
        capture.feed(bytes);
        match stream {
            Stream::Stdout => stdout.feed(bytes),
            Stream::Stderr => {
                stderr.feed(bytes);
                last.feed(bytes);
            }
        }
    });
    // Given back at once: a person's `rm -rf` would stop at it.
    let _ = allow(&booth.artifacts(), 0o755);
    let Ran { ending, usage, left } = ran?;
    let file = left.read_said(METRICS_FILE, METRICS_FILE_LIMIT);
    let (metric, numbers) =
        settle(&spec.metric.name, spec.metric.pick, file.as_deref(), stdout.finish(), stderr.finish());
    let last_words = last_line(&last.finish());
    Ok((Scored { ending, metric, numbers, last_words }, usage, capture.finish()))
}

/// The scorer's place as new, with an empty folder for artifacts.
pub(super) fn as_new(booth: &mut Place, room: &Room) -> Result<PathBuf, Trouble> {
    booth.fresh(room, &Contents(Vec::new()))?;
    let artifacts = booth.artifacts();
    workspace::empty(&artifacts).map_err(|error| fault(describe(&error)))?;
    Ok(artifacts)
}

fn allow(artifacts: &Path, mode: u32) -> Result<(), Trouble> {
    fs::set_permissions(artifacts, fs::Permissions::from_mode(mode)).map_err(|error| fault(error.to_string()))
}

fn limits(spec: &Spec) -> Limits {
    Limits { bytes: spec.sandbox.disk.unwrap_or(Limits::DEFAULT.bytes), ..Limits::DEFAULT }
}

fn last_line(said: &Captured) -> String {
    let text = String::from_utf8_lossy(&said.kept);
    one_line(text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(""))
}

pub(super) fn fault(what: String) -> Trouble {
    Trouble::Loss(Loss::Fault { what })
}
