//! What a surface offers to be tuned: its numbers, truths and choices, each with the values it may have.
//!
//! Whoever reads the text says where a value stands and what it is called ([`Candidate`]); everything else is decided
//! here: what is left alone and why, what a hint says, which range a number has where nobody gave one.

mod choice;
mod gather;
mod hint;
mod left_out;
mod lines;
mod literal;
mod names;
mod notation;
mod range;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use gather::gather;
pub use hint::in_comment;
pub use left_out::LeftOut;
pub use literal::Literal;
pub use names::{left_alone, words};
pub use notation::{Notation, Unreadable};

/// More than this is not searched in a night.
pub const LITERALS_LIMIT: usize = 64;

/// More is no list for people: what is beyond it is left out without a word.
pub const LEFT_OUT_LIMIT: usize = 1000;

/// All that was found in one file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// Constants, defaults, locals, arguments; in the order of the file within each.
    pub literals: Vec<Literal>,
    /// In the order of the file.
    pub left_out: Vec<Left>,
}

/// A value that is not tuned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Empty where a value has none.
    pub name: String,
    /// From 1.
    pub line: usize,
    pub text: String,
    /// All of what is given, and not a part of an expression.
    pub is_whole: bool,
    pub why: LeftOut,
}

/// What kind of place a value stands in; those that are likelier to matter come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Site {
    /// Given to a name of the whole file.
    Constant,
    /// What a parameter, a field or a key is where nobody says otherwise.
    Default,
    /// Given to a name inside of a function.
    Local,
    Argument,
    /// A line of a file that has no grammar here.
    Line,
}

/// A value in a text, before it is known whether it can be tuned.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The same as long as the code around it is: `Model.__init__(dropout)`.
    pub name: String,
    /// The part of its name that says what it means: `dropout`.
    pub key: String,
    pub span: Range<usize>,
    pub site: Site,
    pub kind: Kind,
    /// All of what is given, and not a part of an expression.
    pub is_whole: bool,
    /// Whether 0 and 1 are more likely part of the structure there: `f(1)`.
    pub is_small_fixed: bool,
    /// Given to a name that is given something else as well.
    pub is_changed: bool,
    /// Why its surroundings speak against it, if they do.
    pub out: Option<LeftOut>,
}

/// What a comment says after `overnight:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Where the comment begins.
    pub at: usize,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Number,
    Truth,
    Text,
}
