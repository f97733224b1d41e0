//! The progress chart: laid out once as a scene of simple shapes, then drawn as SVG, as PNG or in a terminal.

mod braille;
mod layout;
mod png;
mod scale;
mod svg;

pub(crate) use self::braille::{Cell, braille};
pub(crate) use self::layout::{Size, scene};
pub(crate) use self::png::png;
pub(crate) use self::svg::{STYLE, alone, inline};

/// A picture: shapes in drawing order, in pixels from the top left.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scene {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) shapes: Vec<Shape>,
    /// What it is, and what it says to whoever cannot see it.
    pub(crate) title: String,
    pub(crate) description: String,
    /// What is not to be seen in it, in words.
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    Area { role: Role, points: Vec<(f64, f64)> },
    Line { role: Role, points: Vec<(f64, f64)> },
    Marks { role: Role, at: Vec<(f64, f64)> },
    Label { at: (f64, f64), anchor: Anchor, text: String },
}

/// What a shape stands for. Marks differ in form as well as in colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    Grid,
    Baseline,
    /// Where single runs of the champion fall.
    Noise,
    /// How well the champion's level is known.
    Interval,
    Champion,
    Kept,
    NotBetter,
    Broken,
    Refused,
    Retracted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Role {
    /// The class of it in SVG.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Role::Grid => "grid",
            Role::Baseline => "baseline",
            Role::Noise => "noise",
            Role::Interval => "interval",
            Role::Champion => "champion",
            Role::Kept => "kept",
            Role::NotBetter => "not-better",
            Role::Broken => "broken",
            Role::Refused => "refused",
            Role::Retracted => "retracted",
        }
    }
}
