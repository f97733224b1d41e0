//! Answers that are none: an empty surface, an edit that changes nothing. Neither may win.

use overnight_model::judge::Noise;
use overnight_model::proposal::{Contents, editable};
use overnight_model::scoring::Scored;
use overnight_model::spec::{Part, Spec};
use overnight_model::stats::Tally;
use overnight_model::units::short_number;
use overnight_model::{Goal, Score, State, Study, Verdict};

use super::repeats::{self, Chance};
use super::report::{Finding, Level};
use super::study::{Halt, Sequence, Step};
use super::trials::Measured;

/// What became of an answer that is none.
enum Null {
    /// No number came of it.
    Broken(Verdict),
    Scored {
        first: f64,
        last: f64,
        standing: Standing,
    },
}

/// Answers that are none must not win.
pub(super) fn check(sequence: &mut Sequence, measured: &Measured) -> Step {
    let mut told = Vec::new();
    if let Some(contents) = empty(&sequence.spec, &sequence.surface) {
        let name = name_of(&sequence.spec);
        let null = run(sequence, measured, "empty", &contents, &name)?;
        let as_it_is = sequence.report.value_of_first();
        told.push(match null {
            // An evaluation that does not look at the surface gives whatever it always gives.
            Null::Scored { first, .. } if Some(first) == as_it_is => {
                (format!("{name} gives the very same number"), Level::Warn)
            }
            null => described(&name, &null, measured),
        });
    }
    told.extend(no_op(sequence, measured)?);
    told.extend(nothing(sequence, measured)?);
    told.extend(constant(sequence, measured)?);
    let Some(worst) = told.iter().map(|(_, level)| *level).max() else { return Ok(()) };
    let told: Vec<String> = told.into_iter().map(|(what, _)| what).collect();
    let finding = Finding::new("null", worst, told.join("; "));
    sequence.add(match worst {
        Level::Ok => finding,
        Level::Note => finding.next("let the metric not depend on how the surface is laid out"),
        _ => finding.next("see that `run` uses the surface, and let it fail or score worst where there is no answer"),
    });
    Ok(())
}

/// An edit that says nothing: with the same seed it should give the same number.
fn no_op(sequence: &mut Sequence, measured: &Measured) -> Result<Option<(String, Level)>, Halt> {
    let contents = one_more_line(&sequence.spec, &sequence.surface);
    let Some(contents) = contents.filter(|_| is_affordable(measured)) else { return Ok(None) };
    let name = "one more line end";
    let as_it_is = sequence.report.value_of_first().unwrap_or(f64::NAN);
    Ok(Some(match run(sequence, measured, "no-op", &contents, name)? {
        Null::Broken(verdict) => (format!("{name} alone breaks it ({})", verdict.name()), Level::Note),
        Null::Scored { first, .. } if first == as_it_is => (format!("{name} changes nothing"), Level::Ok),
        null @ Null::Scored { standing: Standing::Wins, .. } => described(name, &null, measured),
        Null::Scored { .. } if measured.repeats.chance == Chance::Unseeded => {
            (format!("{name} does not win"), Level::Ok)
        }
        Null::Scored { first, .. } => {
            let (before, after) = (short_number(as_it_is), short_number(first));
            (format!("{name} alone changes {before} to {after}"), Level::Note)
        }
    }))
}

/// What a scorer gives for nothing at all.
fn nothing(sequence: &mut Sequence, measured: &Measured) -> Result<Option<(String, Level)>, Halt> {
    if sequence.spec.evaluate.score.is_none() {
        return Ok(None);
    }
    sequence.go_on()?;
    sequence.screen.live.now("the scorer on an empty $OVERNIGHT_OUT");
    let bench = sequence.bench.as_mut().ok_or(Halt::Enough)?;
    let scored = bench.score_nothing(repeats::seed(0)).map_err(|error| sequence.halt(error))?;
    Ok(scored.map(|scored| by_the_scorer("an empty $OVERNIGHT_OUT", sequence, measured, &scored)))
}

/// What a scorer gives for one answer to everything.
fn constant(sequence: &mut Sequence, measured: &Measured) -> Result<Option<(String, Level)>, Halt> {
    if sequence.spec.evaluate.score.is_none() {
        return Ok(None);
    }
    sequence.go_on()?;
    sequence.screen.live.now("the scorer on one answer for everything");
    let surface = sequence.surface.clone();
    let bench = sequence.bench.as_mut().ok_or(Halt::Enough)?;
    let scored = bench.score_constant(&surface, repeats::seed(0)).map_err(|error| sequence.halt(error))?;
    Ok(scored.map(|scored| by_the_scorer("one answer for everything", sequence, measured, &scored)))
}

fn by_the_scorer(name: &str, sequence: &Sequence, measured: &Measured, scored: &Scored) -> (String, Level) {
    match scored.result() {
        Err(_) => (format!("{name} is refused by the scorer"), Level::Ok),
        Ok(score) => {
            let score = score.get();
            let standing = stands(sequence, measured, &[score]);
            described(name, &Null::Scored { first: score, last: score, standing }, measured)
        }
    }
}

/// Runs an answer until it is clear where it stands, or once where trials are dear.
fn run(
    sequence: &mut Sequence,
    measured: &Measured,
    kind: &'static str,
    contents: &Contents,
    name: &str,
) -> Result<Null, Halt> {
    let study = Study::new(sequence.spec.clone(), State::default());
    let mut scores = Vec::new();
    loop {
        let done = sequence.trial(kind, contents, repeats::seed(scores.len() as u32 + 1), name)?;
        if let Some((verdict, _)) = study.broken(&done.measurement) {
            return Ok(Null::Broken(verdict));
        }
        let last = done.measurement.metric.map_or(f64::NAN, Score::get);
        scores.push(last);
        let standing = stands(sequence, measured, &scores);
        if standing != Standing::Open || !is_affordable(measured) {
            return Ok(Null::Scored { first: scores[0], last, standing });
        }
    }
}

fn stands(sequence: &Sequence, measured: &Measured, scores: &[f64]) -> Standing {
    let (metric, repeats) = (&sequence.spec.metric, &measured.repeats);
    let min_gain = metric.min_gain.map_or(0.0, Score::get);
    standing(metric.goal, min_gain, repeats.noise, &repeats.tally, scores)
}

fn described(name: &str, null: &Null, measured: &Measured) -> (String, Level) {
    let level = short_number(measured.repeats.tally.mean().unwrap_or(f64::NAN));
    match null {
        Null::Broken(verdict) => (format!("{name} is no answer ({})", verdict.name()), Level::Ok),
        Null::Scored { last, standing, .. } => {
            let score = short_number(*last);
            match standing {
                Standing::Wins | Standing::Open => (format!("{name} wins: {score} against {level}"), Level::Warn),
                Standing::AsGood => (format!("{name} is as good as any: {score} against {level}"), Level::Warn),
                Standing::Worse => (format!("{name} is worse ({score})"), Level::Ok),
            }
        }
    }
}

fn is_affordable(measured: &Measured) -> bool {
    repeats::is_affordable(measured.trial.as_secs())
}

/// How an answer compares with what is there.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Standing {
    /// Better beyond the noise, and so again.
    Wins,
    /// Not worse by more than the noise.
    AsGood,
    Worse,
    /// One more trial would tell.
    Open,
}

/// Where scores of a null answer stand: one beyond the noise may be luck, two are not.
fn standing(goal: Goal, min_gain: f64, noise: Noise, base: &Tally, scores: &[f64]) -> Standing {
    let (Some(level), Some(mean)) = (base.mean(), Tally::of(scores.iter().copied()).mean()) else {
        return Standing::Worse;
    };
    // While the noise is unknown its bound is infinite, and only what is equal or better counts as such.
    let bound = Some(noise.bound(scores.len() as u32, base.n())).filter(|bound| bound.is_finite()).unwrap_or(0.0);
    let is_known = noise != Noise::Unknown;
    match goal.gain(level, mean) {
        gain if is_known && gain > bound && gain >= min_gain && scores.len() == 1 => Standing::Open,
        gain if is_known && gain > bound && gain >= min_gain => Standing::Wins,
        gain if gain >= -bound => Standing::AsGood,
        _ => Standing::Worse,
    }
}

/// The surface with nothing in what may change; `None` where nothing is there already.
fn empty(spec: &Spec, surface: &Contents) -> Option<Contents> {
    edited(spec, surface, |_| Vec::new())
}

/// The surface with one line end more where it may change.
fn one_more_line(spec: &Spec, surface: &Contents) -> Option<Contents> {
    edited(spec, surface, |text| [text, b"\n"].concat())
}

fn edited(spec: &Spec, surface: &Contents, edit: impl Fn(&[u8]) -> Vec<u8>) -> Option<Contents> {
    let files = spec.surface.files.iter().map(|file| {
        let bytes = surface.get(&file.path)?;
        let range = editable(&file.part, bytes)?;
        let new = [&bytes[..range.start], &edit(&bytes[range.clone()]), &bytes[range.end..]].concat();
        Some((file.path.clone(), new))
    });
    let edited = Contents(files.collect::<Option<_>>()?);
    (edited != *surface).then_some(edited)
}

/// What an emptied surface is called.
fn name_of(spec: &Spec) -> String {
    match spec.surface.files.as_slice() {
        [file] if file.part == Part::Whole => format!("an empty {}", file.path),
        [file] => format!("an empty surface in {}", file.path),
        files => format!("an empty surface ({} files)", files.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISY: Noise = Noise::Noisy { sd: 0.1, degrees: 4 };

    fn against(noise: Noise, scores: &[f64]) -> Standing {
        standing(Goal::Min, 0.0, noise, &Tally::of([4.0, 4.0, 4.0]), scores)
    }

    #[test]
    fn an_answer_that_is_none_is_held_against_the_noise() {
        assert_eq!(against(Noise::Deterministic, &[4.0]), Standing::AsGood);
        assert_eq!(against(Noise::Deterministic, &[4.001]), Standing::Worse);
        assert_eq!(against(Noise::Deterministic, &[0.0]), Standing::Open);
        assert_eq!(against(Noise::Deterministic, &[0.0, 0.0]), Standing::Wins);
        assert_eq!(against(NOISY, &[4.05]), Standing::AsGood);
        assert_eq!(against(NOISY, &[9.0]), Standing::Worse);
        assert_eq!(against(Noise::Unknown, &[4.0]), Standing::AsGood);
        assert_eq!(against(Noise::Unknown, &[4.1]), Standing::Worse);
    }
}
