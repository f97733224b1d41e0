//! What a proposal has to keep to, out of the triplet.

use serde::Serialize;

use crate::spec::{Check, Part, Spec, When};
use crate::units::{Goal, short_number};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Limits {
    /// What is run to measure a proposal.
    pub run: String,
    /// When a run is killed.
    pub kill_seconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lines_changed: Option<u32>,
    /// Which part of each file may change, where it is not the whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Editable>,
    /// What is locked, in words.
    pub locked: String,
    /// What must hold besides the metric, in words.
    pub guards: Vec<String>,
    /// What counts as a gain, in words.
    pub gain: String,
}

/// The part of a file that may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Editable {
    pub path: String,
    /// `above` or `below`.
    pub side: &'static str,
    /// The one line that holds this text is the border, and locked.
    pub marker: String,
}

impl Limits {
    /// Reads them from a spec; `shown` makes a path one that the agent can use.
    pub fn of(spec: &Spec, shown: impl Fn(&str) -> String) -> Limits {
        let part = |file: &crate::spec::SurfaceFile| {
            let (side, marker) = match &file.part {
                Part::Whole => return None,
                Part::Above(marker) => ("above", marker.clone()),
                Part::Below(marker) => ("below", marker.clone()),
            };
            Some(Editable { path: shown(&file.path), side, marker })
        };
        Limits {
            run: spec.evaluate.run.clone(),
            kill_seconds: spec.evaluate.kill.0.div_ceil(1000),
            max_lines_changed: spec.surface.max_lines_changed,
            parts: spec.surface.files.iter().filter_map(part).collect(),
            locked:
                "every file but the surface is locked; a proposal that changes or removes another is refused and not \
                     run, and files that are added are not taken along"
                    .to_owned(),
            guards: spec.guards.iter().map(guard).collect(),
            gain: gain(spec),
        }
    }
}

fn guard(guard: &crate::spec::Guard) -> String {
    let when = match guard.when {
        When::First => "before it is measured",
        When::BeforeKeep => "before it is kept",
    };
    match &guard.check {
        Check::Run(command) => format!("`{command}` must succeed, {when}"),
        Check::Number { metric, max, max_regression } => {
            let limit = max.map(|max| format!("must not exceed {}", short_number(max.get())));
            let worse = max_regression.map(|share| {
                format!("must not exceed the champion's by more than {} %", short_number(share.get() * 100.0))
            });
            let both: Vec<String> = limit.into_iter().chain(worse).collect();
            format!("the number `{metric}` {}", both.join(" and "))
        }
    }
}

fn gain(spec: &Spec) -> String {
    let metric = &spec.metric;
    let way = match metric.goal {
        Goal::Min => "lower",
        Goal::Max => "higher",
    };
    let least = match metric.min_gain {
        Some(least) if least.get() > 0.0 => format!(" by {} or more", short_number(least.get())),
        _ => String::new(),
    };
    format!(
        "`{}` is {way} than the champion's{least}, surely enough for the noise of the measurement; the engine repeats \
         close ones and decides",
        metric.name
    )
}
