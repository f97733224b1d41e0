//! What goes over the line, in both directions.

use overnight_model::tuner::space::{Domain, Grain, Point, Scale};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
pub struct Open {
    pub method: String,
    pub space: Vec<Axis>,
    pub start: Point,
    pub seed: u64,
}

/// A literal: either a choice, with its number of options, or a range.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Axis {
    Choice {
        options: usize,
    },
    Number {
        low: f64,
        high: f64,
        #[serde(default)]
        log: bool,
        #[serde(default)]
        grain: Kind,
    },
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    #[default]
    Any,
    Whole,
    PowerOfTwo,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// A point, what was measured (nothing where it failed), and the standard error of that.
    Told(Point, Option<f64>, f64),
    Ask(#[allow(dead_code)] serde::de::IgnoredAny),
    Best(#[allow(dead_code)] serde::de::IgnoredAny),
}

#[derive(Serialize)]
pub struct Answer {
    /// None where nothing new could be found, or nothing was measured.
    pub point: Option<Point>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    pub seconds: f64,
}

pub fn domain(axis: &Axis) -> Result<Domain, String> {
    match *axis {
        Axis::Choice { options } if options > 0 => Ok(Domain::Choice { options }),
        Axis::Number { low, high, log, grain } if low < high && !(log && low <= 0.0) => Ok(Domain::Number {
            low,
            high,
            scale: if log { Scale::Log } else { Scale::Linear },
            grain: match grain {
                Kind::Any => Grain::Any,
                Kind::Whole => Grain::Whole,
                Kind::PowerOfTwo => Grain::PowerOfTwo,
            },
        }),
        _ => Err("a literal has no values to choose from, or a logarithm of what is not positive".into()),
    }
}
