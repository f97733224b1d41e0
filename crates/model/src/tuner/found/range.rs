//! What a number may be: as a hint says it, or around what it is now.

use super::names::{Meaning, meaning};
use super::notation::{LARGEST, Notation};
use crate::tuner::space::{Domain, Grain, Scale};

/// How far a whole number may go, in factors, and at least in steps.
const WHOLE_FACTOR: f64 = 4.0;
const WHOLE_STEPS: f64 = 2.0;

/// How far a float may go, in factors; small ones are less well known.
const FLOAT_FACTOR: f64 = 10.0;
const SMALL_FACTOR: f64 = 100.0;
const SMALL: f64 = 0.01;

/// From here on a power of two is hardly chance.
const SMALLEST_POWER: f64 = 8.0;

/// A fraction keeps its distance from 1: there a program often divides by what is left, or keeps nothing.
const LARGEST_FRACTION: f64 = 0.95;

/// Beyond it a product could be infinite.
const LARGEST_FLOAT: f64 = 1e300;

/// Closer to 1 than three digits can say.
const NEAR_ONE: f64 = 0.999;

/// The range of a number that nobody gave one. The sign never changes.
pub(super) fn inferred(key: &str, is_small_fixed: bool, value: f64, notation: &Notation) -> Domain {
    if value < 0.0 {
        return mirrored(positive(key, is_small_fixed, -value, notation), notation);
    }
    positive(key, is_small_fixed, value, notation)
}

fn positive(key: &str, is_small_fixed: bool, value: f64, notation: &Notation) -> Domain {
    let meaning = meaning(key);
    if notation.is_float() {
        return float(meaning, value);
    }
    let (_, limit) = notation.limits();
    let is_power = value >= 1.0 && value.log2().fract() == 0.0;
    // `1 << 2` can be written as powers only.
    let is_written = matches!(notation, Notation::Power { .. });
    if is_power && (is_written || value >= SMALLEST_POWER && (meaning == Meaning::Size || notation.is_binary())) {
        // Below it `0x4` would be a pattern of bits again.
        let least = if matches!(notation, Notation::Radix { .. }) { SMALLEST_POWER } else { 1.0 };
        let low = (value / WHOLE_FACTOR).max(least);
        let high = 2f64.powf((value * WHOLE_FACTOR).min(limit).log2().floor()).max(2.0);
        return Domain::Number { low, high, scale: Scale::Log, grain: Grain::PowerOfTwo };
    }
    // What would be left alone there must not be reached.
    let floor = if is_small_fixed { 2.0 } else { 1.0 };
    let low = (value / WHOLE_FACTOR).ceil().min(value - WHOLE_STEPS).max(floor).min(value);
    let high = (value * WHOLE_FACTOR).floor().max(value + WHOLE_STEPS).min(limit);
    let scale = if low >= 1.0 { Scale::Log } else { Scale::Linear };
    Domain::Number { low, high, scale, grain: Grain::Whole }
}

fn float(meaning: Meaning, value: f64) -> Domain {
    let number = |low: f64, high: f64, scale| {
        // Rounding must not shut out what is there now.
        let (low, high) = (short(low).min(value), short(high).max(value));
        Domain::Number { low, high, scale, grain: Grain::Any }
    };
    let is_part = value < 1.0;
    match meaning {
        Meaning::Penalty if value == 0.0 => number(0.0, 0.1, Scale::Linear),
        Meaning::Fraction if value == 0.0 => number(0.0, 0.5, Scale::Linear),
        _ if value == 0.0 => number(0.0, 1.0, Scale::Linear),
        // What is left to 1 is what counts: 0.9 and 0.99 are far apart.
        Meaning::Fraction if is_part && value > 0.5 => {
            let left = 1.0 - value;
            number((1.0 - 5.0 * left).max(value / 4.0), (1.0 - left / 10.0).min(NEAR_ONE), Scale::Linear)
        }
        Meaning::Fraction if is_part && value >= SMALL => {
            number(0.0, (value * 5.0).clamp(0.5, LARGEST_FRACTION), Scale::Linear)
        }
        _ => {
            let factor = if value < SMALL { SMALL_FACTOR } else { FLOAT_FACTOR };
            let is_bounded = is_part && meaning != Meaning::Other && meaning != Meaning::Size;
            let limit = if is_bounded { LARGEST_FRACTION } else { LARGEST_FLOAT };
            number((value / factor).max(f64::MIN_POSITIVE), (value * factor).min(limit), Scale::Log)
        }
    }
}

fn mirrored(domain: Domain, notation: &Notation) -> Domain {
    match domain {
        Domain::Number { low, high, scale, grain } => {
            let floor = if notation.is_float() { f64::MIN } else { notation.limits().0 };
            // There is no way to write a negative power.
            let grain = if grain == Grain::PowerOfTwo { Grain::Whole } else { grain };
            Domain::Number { low: (-high).max(floor), high: -low, scale, grain }
        }
        choice @ Domain::Choice { .. } => choice,
    }
}

/// The range that a hint gives, or why it cannot be that of this number.
pub(super) fn hinted(
    (low, high, scale, grain): (f64, f64, Scale, Option<Grain>),
    (text, value): (&str, f64),
    notation: &Notation,
) -> Result<Domain, String> {
    if !(low..=high).contains(&value) {
        return Err(format!("{text} is outside of {low} to {high}"));
    }
    let is_power = |value: f64| value >= 1.0 && value.log2().fract() == 0.0;
    let grain = match (grain, notation.is_float()) {
        (Some(grain), _) => grain,
        (None, true) => Grain::Any,
        (None, false) if matches!(notation, Notation::Power { .. }) => Grain::PowerOfTwo,
        (None, false) => Grain::Whole,
    };
    let bounds = [(low.to_string(), low), (high.to_string(), high)];
    let all = || bounds.iter().cloned().chain([(text.to_owned(), value)]);
    let refused = |is_fine: &dyn Fn(f64) -> bool| all().find(|(_, value)| !is_fine(*value)).map(|(text, _)| text);
    match grain {
        Grain::Any => {}
        Grain::Whole => {
            if let Some(bad) = refused(&|value| value.fract() == 0.0 && value.abs() <= LARGEST) {
                return Err(format!("{bad} is no whole number, and here only those can be written"));
            }
        }
        Grain::PowerOfTwo => {
            if let Some(bad) = refused(&|value| is_power(value) && value <= LARGEST) {
                return Err(format!("{bad} is no power of two, and here only those can be written"));
            }
        }
    }
    let (least, most) = notation.limits();
    if !notation.is_float() && (low < least || high > most) {
        return Err(format!("{low} to {high} cannot all be written like {text}"));
    }
    let scale = if grain == Grain::PowerOfTwo { Scale::Log } else { scale };
    Ok(Domain::Number { low, high, scale, grain })
}

/// Three digits, as people would write a bound.
fn short(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}
