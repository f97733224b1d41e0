//! What a search moves in: for each literal, the values that it may have.

/// The literals of a surface, in order, as a search sees them.
pub type Space = Vec<Domain>;

/// A value for each literal of a space: numbers as they are, choices by their position.
pub type Point = Vec<f64>;

/// What one literal may be.
#[derive(Debug, Clone, PartialEq)]
pub enum Domain {
    /// From `low` to `high`, both included.
    Number { low: f64, high: f64, scale: Scale, grain: Grain },
    /// One of so many, without an order. Booleans are a choice of two.
    Choice { options: usize },
}

/// In which steps a number is felt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    Linear,
    /// Twice as much is as far from here as half as much. `low` is positive, unless all of the range is negative.
    Log,
}

/// Which numbers of a range exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// All, to three significant digits: nobody wants to read more.
    Any,
    /// To as many digits.
    Whole,
    PowerOfTwo,
}

/// The nearest number with so many significant digits, or with more where the range is so narrow that they tell its values
/// apart: some hundreds of them exist.
fn short(value: f64, digits: i32, range: f64) -> f64 {
    if value == 0.0 {
        return value;
    }
    let magnitude = |number: f64| number.abs().log10().floor() as i32;
    let by_range = if range.is_finite() && range > 0.0 { magnitude(range) - 2 } else { i32::MAX };
    let digits = digits.max(magnitude(value).saturating_sub(by_range).saturating_add(1)).clamp(1, 15);
    format!("{value:.*e}", digits as usize - 1).parse().unwrap_or(value)
}

/// New numbers get few digits, so that people can read them.
const SHORT_DIGITS: i32 = 3;

impl Domain {
    /// Where in its range a value is, from 0 to 1; a value from outside lies outside.
    pub fn unit(&self, value: f64) -> f64 {
        match *self {
            Domain::Number { low, high, .. } if low == high => 0.5,
            // Halves, because a whole range may be more than there are numbers.
            Domain::Number { low, high, scale: Scale::Linear, .. } => {
                (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0)
            }
            Domain::Number { low, high, scale: Scale::Log, .. } => {
                // One sign throughout. A value that has no logarithm there is as far out as can be.
                let (from, to) = (low.abs().ln(), high.abs().ln());
                let unit = (value.abs().ln() - from) / (to - from);
                if value != 0.0 && value.signum() == low.signum() { unit.clamp(-1.0, 2.0) } else { -1.0 }
            }
            Domain::Choice { .. } => value,
        }
    }

    /// The nearest value that exists at a place of the range.
    pub fn at(&self, unit: f64) -> f64 {
        let unit = unit.clamp(0.0, 1.0);
        match *self {
            Domain::Number { low, high, scale: Scale::Linear, .. } => self.settle(low * (1.0 - unit) + high * unit),
            Domain::Number { low, high, scale: Scale::Log, .. } => {
                let (from, to) = (low.abs().ln(), high.abs().ln());
                self.settle((from + (to - from) * unit).exp().copysign(low))
            }
            Domain::Choice { .. } => unit,
        }
    }

    /// The nearest value that exists.
    pub fn settle(&self, value: f64) -> f64 {
        match *self {
            Domain::Number { low, .. } if !value.is_finite() => low,
            Domain::Number { low, high, grain, .. } => {
                let settled = match grain {
                    // The ends of a range exist, whatever their digits.
                    Grain::Any if value == low || value == high => value,
                    Grain::Whole if value == low.ceil() || value == high.floor() => value,
                    Grain::Any => short(value, SHORT_DIGITS, high - low),
                    // 7000 rather than 6964, where the range is so wide that the rest says nothing.
                    Grain::Whole => short(value.round(), SHORT_DIGITS, high - low).round(),
                    Grain::PowerOfTwo => value.abs().log2().round().exp2().copysign(value),
                };
                // Rounding may have left the range, whose ends need not be on the grain.
                match grain {
                    Grain::Any => settled.clamp(low, high),
                    Grain::Whole => settled.clamp(low.ceil(), high.floor().max(low.ceil())),
                    Grain::PowerOfTwo if settled > high && settled > 0.0 => settled / 2.0,
                    Grain::PowerOfTwo if settled < low && settled > 0.0 => settled * 2.0,
                    Grain::PowerOfTwo => settled,
                }
            }
            Domain::Choice { options } => value.round().clamp(0.0, options.saturating_sub(1) as f64),
        }
    }

    /// A value nearby that is easier to read: two digits, where more say nothing.
    pub fn plain(&self, value: f64) -> f64 {
        match self {
            Domain::Number { low, high, grain: Grain::Any | Grain::Whole, .. } => {
                self.settle(short(value, SHORT_DIGITS - 1, 10.0 * (high - low)))
            }
            _ => value,
        }
    }

    /// The value so far from another on the range, or the next one that exists in that direction; `None` at the end of
    /// the range.
    pub fn step(&self, from: f64, by: f64) -> Option<f64> {
        let Domain::Number { scale, grain, .. } = *self else { return None };
        let unit = self.unit(from);
        let moved = self.at(unit + by);
        if moved != from && (self.unit(moved) - unit) * by > 0.0 {
            return Some(moved);
        }
        let next = match (grain, scale) {
            (Grain::Any, _) => return None,
            (Grain::Whole, _) => self.settle(from + 1.0_f64.copysign(by)),
            // Powers of two are larger towards the far end, whatever the scale.
            (Grain::PowerOfTwo, _) => self.settle(if by > 0.0 { from * 2.0 } else { from / 2.0 }),
        };
        (next != from && (self.unit(next) - unit) * by > 0.0).then_some(next)
    }
}
