//! What the search knows, for people and for models: what each literal does, and which values were best.

use serde::Serialize;

use super::ask::{Profile, Result as Outcome, Told, sensitivity};
use super::found::Literal;
use super::space::Point;
use super::{Surface, Value, value};

/// The best points, and the latest, that are told.
const BEST: usize = 5;
const RECENT: usize = 10;

/// The state of the search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// How many points were measured.
    pub points: usize,
    /// In the order in which they make a difference.
    pub literals: Vec<LiteralReport>,
    /// The points with the largest gains over the present values, best first.
    pub best: Vec<PointReport>,
    /// The latest points, oldest first.
    pub recent: Vec<PointReport>,
}

/// What one literal does, all others being what they are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LiteralReport {
    pub path: String,
    pub name: String,
    /// What it is now.
    pub now: Value,
    /// How many different values were measured.
    pub tried: usize,
    /// Whether some other value is better or worse by more than what is not known.
    pub matters: bool,
    /// The difference that it makes, between the best and the worst value, in the metric's own unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// The value that is expected to be best.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<Value>,
    /// Values between the least and the greatest that was tried, each with the gain that is expected of it.
    pub curve: Vec<CurvePoint>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CurvePoint {
    pub value: Value,
    /// Over the present value; more is better.
    pub gain: f64,
    pub sd: f64,
}

/// One point: what differs from the present values, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PointReport {
    pub changes: Vec<Change>,
    /// Its gain over the present values; absent where it failed or has no verdict yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    pub path: String,
    pub name: String,
    pub to: Value,
}

impl Report {
    pub fn of(surface: &Surface<'_>, told: &[Told]) -> Report {
        let (space, here) = (surface.space(), surface.here());
        let profiles = sensitivity(&space, &here, told);
        let mut literals: Vec<LiteralReport> =
            surface.literals.iter().zip(&profiles).map(|(literal, profile)| reported(literal, profile)).collect();
        let felt = |literal: &LiteralReport| (literal.matters, literal.difference.unwrap_or(-1.0));
        literals.sort_by(|a, b| {
            let (a, b) = (felt(a), felt(b));
            b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        let level = told.iter().rev().find(|told| told.point == here).and_then(measured);
        let point = |told: &Told| PointReport {
            changes: changes(surface, &here, &told.point),
            gain: level.zip(measured(told)).map(|(level, value)| level - value),
            failed: told.result == Outcome::Failed,
        };
        let mut ranked: Vec<&Told> = told.iter().filter(|told| measured(told).is_some()).collect();
        ranked.sort_by(|a, b| measured(a).unwrap_or(f64::MAX).total_cmp(&measured(b).unwrap_or(f64::MAX)));
        let recent = told.iter().filter(|told| told.point != here).rev().take(RECENT);
        let mut recent: Vec<PointReport> = recent.map(point).collect();
        recent.reverse();
        Report {
            points: ranked.len(),
            literals,
            best: ranked.into_iter().filter(|told| told.point != here).take(BEST).map(point).collect(),
            recent,
        }
    }
}

fn measured(told: &Told) -> Option<f64> {
    match told.result {
        Outcome::Value { value, .. } => Some(value),
        Outcome::Pending | Outcome::Failed => None,
    }
}

fn reported(literal: &Literal, profile: &Profile) -> LiteralReport {
    let has_curve = !profile.curve.is_empty();
    LiteralReport {
        path: literal.path.clone(),
        name: literal.name.clone(),
        now: value(literal, literal.value),
        tried: profile.tried,
        matters: profile.matters(),
        difference: has_curve.then(|| profile.difference()),
        best: profile.best().map(|felt| value(literal, felt.value)),
        curve: profile
            .curve
            .iter()
            .map(|felt| CurvePoint { value: value(literal, felt.value), gain: felt.gain, sd: felt.sd })
            .collect(),
    }
}

fn changes(surface: &Surface<'_>, here: &Point, point: &Point) -> Vec<Change> {
    let changed = (0..here.len()).filter(|at| point[*at] != here[*at]);
    let change = |at: usize| {
        let literal = &surface.literals[at];
        Change { path: literal.path.clone(), name: literal.name.clone(), to: value(literal, point[at]) }
    };
    changed.map(change).collect()
}
