//! Chooses which numbers to change, and to what.

use super::literal::{Form, Literal, literals, rounded};
use super::random::Random;
use super::{Edit, Idea, Known, Outcome, Tried};

/// Large enough to show in the metric, small enough that most programs still work.
const STEP: f64 = 1.5;

/// Where a float is zero there is nothing to multiply.
const STEP_FROM_ZERO: f64 = 0.01;

/// New floats get few digits, so that people can read them.
const SHORT_DIGITS: usize = 3;

/// How often to draw again when everything drawn was tried before.
const DRAWS: usize = 200;

/// A number in one of the files.
struct Place<'a> {
    file: usize,
    path: &'a str,
    literal: Literal,
}

/// Larger or smaller in magnitude; the sign never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

/// Proposes the next edit of the champion's `files`, each given as path and text.
///
/// First every number once up and once down; a move that was kept is repeated before anything else. Then one to three
/// numbers at random. `known` is shown the whole surface, in the order of `files`, and says whether it was tried.
/// `None`: there is nothing to tune, or nothing new could be found. The same arguments give the same idea.
pub fn propose(files: &[(String, String)], history: &[Tried], seed: u64, known: &mut Known<'_>) -> Option<Idea> {
    let mut places = Vec::new();
    for (file, (path, text)) in files.iter().enumerate() {
        places.extend(literals(text).into_iter().map(|literal| Place { file, path, literal }));
    }
    if places.is_empty() {
        return None;
    }
    let mut fresh = |moves: &[(&Place<'_>, f64)]| idea(files, moves, known);
    for (place, way) in sweep(&places, history) {
        let moved = step(&place.literal, way, STEP).and_then(|to| fresh(&[(place, to)]));
        if moved.is_some() {
            return moved;
        }
    }
    let mut random = Random::new(seed, history.len() as u64);
    (0..DRAWS).find_map(|_| fresh(&draw(&places, &mut random)))
}

/// The moves of one number at a time that are still open, what was kept first.
fn sweep<'a>(places: &'a [Place<'a>], history: &[Tried]) -> Vec<(&'a Place<'a>, Way)> {
    let all = places.iter().flat_map(|place| [(place, Way::Up), (place, Way::Down)]);
    let (mut kept, mut untried) = (Vec::new(), Vec::new());
    for (place, way) in all {
        match latest(place, way, history) {
            None => untried.push((place, way)),
            Some((at, Some(Outcome::Kept))) => kept.push((at, (place, way))),
            Some(_) => {}
        }
    }
    kept.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    kept.into_iter().map(|(_, open)| open).chain(untried).collect()
}

/// When this number was last moved this way alone, and what came of it.
fn latest(place: &Place<'_>, way: Way, history: &[Tried]) -> Option<(usize, Option<Outcome>)> {
    let same = |tried: &Tried| match tried.edits.as_slice() {
        [edit] => edit.path == place.path && edit.name == place.literal.name && way_of(edit) == way,
        _ => false,
    };
    let at = history.iter().rposition(same)?;
    Some((at, history[at].outcome))
}

fn way_of(edit: &Edit) -> Way {
    match edit.to.abs() > edit.from.abs() {
        true => Way::Up,
        false => Way::Down,
    }
}

/// One to three numbers, each with a step that is mostly small and sometimes large.
fn draw<'a>(places: &'a [Place<'a>], random: &mut Random) -> Vec<(&'a Place<'a>, f64)> {
    let count = [1, 1, 1, 2, 2, 3][random.below(6)].min(places.len());
    let mut left: Vec<_> = places.iter().collect();
    let mut moves = Vec::new();
    for _ in 0..count {
        let place = left.swap_remove(random.below(left.len()));
        // A Pareto tail in plain arithmetic, as `exp` and `tan` differ between platforms: half are below 1.1, the
        // largest is 8.
        let factor = 1.0 + 0.05 / (random.unit() + 0.05 / 7.0);
        let way = if random.unit() < 0.5 { Way::Up } else { Way::Down };
        moves.extend(step(&place.literal, way, factor).map(|to| (place, to)));
    }
    moves
}

/// The value one step further, or `None` where that would be no change or another sign.
fn step(literal: &Literal, way: Way, factor: f64) -> Option<f64> {
    let size = literal.value.abs();
    let moved = match (way, literal.form) {
        (Way::Up, Form::Int) => (size * factor).round().max(size + 1.0),
        (Way::Down, Form::Int) => (size / factor).round().min(size - 1.0),
        (Way::Up, Form::Float) if size == 0.0 => STEP_FROM_ZERO * (factor - 1.0),
        (Way::Up, Form::Float) => size * factor,
        (Way::Down, Form::Float) => size / factor,
    };
    let short = match literal.form {
        Form::Int => moved,
        Form::Float => Some(rounded(moved, SHORT_DIGITS)).filter(|short| *short != size).unwrap_or(moved),
    };
    let text = literal.write(short.copysign(literal.value));
    let to: f64 = text.parse().ok()?;
    let keeps_sign = to.is_finite() && to != 0.0 && (literal.value == 0.0 || to.signum() == literal.value.signum());
    (keeps_sign && to.abs() < 1e15 && to != literal.value).then_some(to)
}

/// Makes the edits, unless there is none or the result was tried before.
fn idea(files: &[(String, String)], moves: &[(&Place<'_>, f64)], known: &mut Known<'_>) -> Option<Idea> {
    // From the back, so that the spans of what is still to be replaced stay true.
    let mut moves = moves.to_vec();
    moves.sort_by_key(|(place, _)| std::cmp::Reverse((place.file, place.literal.span.start)));
    let mut surface = files.to_vec();
    let (mut edits, mut words) = (Vec::new(), Vec::new());
    for (Place { file, path, literal }, to) in moves {
        let text = literal.write(to);
        surface[*file].1.replace_range(literal.span.clone(), &text);
        words.insert(0, format!("{} {} → {text}", literal.name, literal.text));
        edits.insert(0, Edit { path: (*path).to_owned(), name: literal.name.clone(), from: literal.value, to });
    }
    if edits.is_empty() || known(&surface) {
        return None;
    }
    let changed = surface.into_iter().zip(files).filter(|(new, old)| new != *old).map(|(new, _)| new);
    Some(Idea { files: changed.collect(), description: words.join(", "), edits })
}
