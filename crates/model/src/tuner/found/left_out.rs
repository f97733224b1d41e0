//! Why a value is not tuned.

use std::fmt;

/// The reason that a value is left alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// A hint that cannot be followed, and why.
    Hint(String),
    /// A hint says so.
    Fixed,
    Seed,
    /// A version, a port, a date.
    Label,
    /// A path or an address.
    Address,
    /// A budget, a timeout, a deadline.
    Limit,
    /// The size of the evaluation, or of the data that it is made with.
    Evaluation,
    /// What chance is asked for: more often what a program is measured on than how it works.
    Drawn,
    Test,
    Printed,
    /// An index, an axis, a shape, a type.
    Shape,
    /// How the program is run, not what it computes.
    Operation,
    GivenTwice,
    Small,
    Text,
    /// One of a long list.
    Table,
    BitPattern,
    TooLarge,
    /// So near 1, so large or so small that a search in a few digits finds nothing beside it.
    OutOfReach,
    Notation,
    Expression,
    Nameless,
    TooMany,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LeftOut::Hint(what) => return write!(f, "its hint cannot be followed: {what}"),
            LeftOut::Fixed => "its hint says `fixed`",
            LeftOut::Seed => "a seed: another one is another draw, and no other program",
            LeftOut::Label => "a version, a port, a date or a number that only names something",
            LeftOut::Address => "a path or an address",
            LeftOut::Limit => "a budget, a timeout or a deadline",
            LeftOut::Evaluation => "the size of the evaluation itself, or of its data",
            LeftOut::Drawn => {
                "what is drawn at random, perhaps the data that it is measured on: give it a name or a hint"
            }
            LeftOut::Test => "part of a test or of an assertion",
            LeftOut::Printed => "only printed or logged",
            LeftOut::Shape => "an index, an axis, a shape or part of a type",
            LeftOut::Operation => "how the program is run, not what it computes",
            LeftOut::GivenTwice => "its name is given a value more than once: it is unclear which counts",
            LeftOut::Small => "0, 1 or -1: here more likely part of the structure",
            LeftOut::Text => "a string: say `one of …`",
            LeftOut::Table => "one of a long list",
            LeftOut::BitPattern => "a pattern of bits",
            LeftOut::TooLarge => "past 2^53, where not every whole number can be told from the next",
            LeftOut::OutOfReach => "too near 1, too large or too small for a range to be guessed: give it a hint",
            LeftOut::Notation => "written in a way that cannot be written back",
            LeftOut::Expression => "inside of an expression: give it a name",
            LeftOut::Nameless => "too deep inside, or its name is too long",
            LeftOut::TooMany => "beyond the first 64",
        })
    }
}

impl LeftOut {
    /// One word for programs.
    pub fn name(&self) -> &'static str {
        match self {
            LeftOut::Hint(_) => "hint",
            LeftOut::Fixed => "fixed",
            LeftOut::Seed => "seed",
            LeftOut::Label => "label",
            LeftOut::Address => "address",
            LeftOut::Limit => "limit",
            LeftOut::Evaluation => "evaluation",
            LeftOut::Drawn => "drawn",
            LeftOut::Test => "test",
            LeftOut::Printed => "printed",
            LeftOut::Shape => "shape",
            LeftOut::Operation => "operation",
            LeftOut::GivenTwice => "given_twice",
            LeftOut::Small => "small",
            LeftOut::Text => "text",
            LeftOut::Table => "table",
            LeftOut::BitPattern => "bit_pattern",
            LeftOut::TooLarge => "too_large",
            LeftOut::OutOfReach => "out_of_reach",
            LeftOut::Notation => "notation",
            LeftOut::Expression => "expression",
            LeftOut::Nameless => "nameless",
            LeftOut::TooMany => "too_many",
        }
    }
}
