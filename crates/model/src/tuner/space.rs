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
    Whole,
    PowerOfTwo,
}
