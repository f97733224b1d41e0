//! Reads the metric, and every other number, out of what a trial said.

mod document;
mod findings;
mod line;
mod reader;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::spec::Pick;
use crate::units::Score;
use findings::{Dialect, Findings};

pub use line::is_name;
pub use reader::Reader;

/// As many other names as a person reads when the metric is missing.
const SHOWN_NAMES: usize = 5;

/// What one source of numbers said.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// `None`: nothing was said of the metric.
    pub metric: Option<Result<Score, MetricError>>,
    /// The other numbers by name; of repeated ones the last, and none that is not finite.
    pub numbers: BTreeMap<String, Score>,
}

/// Why there is no metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Error)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum MetricError {
    #[error("the output does not give `{name}`{}", only(seen))]
    Missing {
        name: String,
        /// Names it did give, the likeliest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen: Vec<String>,
    },
    #[error("`{name}` is not a number: `{text}`")]
    NotANumber { name: String, text: String },
    #[error("`{name}` is not finite: `{text}`")]
    NotFinite { name: String, text: String },
    // In full: two values that differ in the ninth digit must not look the same here.
    #[error("`{name}` has two values, {first} and {second}")]
    Conflict { name: String, first: f64, second: f64 },
    #[error("the file $OVERNIGHT_METRICS is not a JSON object of numbers: {cause}")]
    BadFile { cause: String },
    /// What the command left cannot be handed to a scorer.
    #[error("{what}")]
    Artifacts { what: String },
    #[error("the scorer failed: {what}")]
    Scorer { what: String },
}

/// Puts the sources in order: the file, then stdout, then stderr where stdout says nothing of the metric.
///
/// The other numbers are those of all three, each source adding only names that the ones before it lack.
pub fn settle(
    name: &str,
    pick: Pick,
    file: Option<&[u8]>,
    stdout: Reading,
    stderr: Reading,
) -> (Result<Score, MetricError>, BTreeMap<String, Score>) {
    let mut metric = None;
    let mut numbers = BTreeMap::new();
    for reading in [read_file(name, pick, file), stdout, stderr] {
        metric = metric.or(reading.metric);
        for (name, number) in reading.numbers {
            if !numbers.contains_key(&name) {
                findings::add(&mut numbers, &name, number);
            }
        }
    }
    let metric = metric.unwrap_or_else(|| {
        let seen = likeliest(name, &numbers);
        Err(MetricError::Missing { name: name.to_owned(), seen })
    });
    (metric, numbers)
}

/// A file that is missing or empty says nothing: most programs only print.
fn read_file(name: &str, pick: Pick, file: Option<&[u8]>) -> Reading {
    let mut findings = Findings::new(name, pick);
    let bytes = file.unwrap_or_default();
    if !bytes.trim_ascii().is_empty() {
        match document::numbers(bytes) {
            Ok(numbers) => findings.state_all(Dialect::Json, numbers),
            Err(cause) => findings.spoil(MetricError::BadFile { cause }),
        }
    }
    findings.into_reading()
}

/// The names that share most of their beginning with the one that is missing.
fn likeliest(name: &str, numbers: &BTreeMap<String, Score>) -> Vec<String> {
    let shared = |other: &str| {
        let same = |(a, b): &(char, char)| a.eq_ignore_ascii_case(b);
        name.chars().zip(other.chars()).take_while(same).count()
    };
    let mut names: Vec<_> = numbers.keys().cloned().collect();
    names.sort_by_key(|other| std::cmp::Reverse(shared(other)));
    names.truncate(SHOWN_NAMES);
    names
}

fn only(seen: &[String]) -> String {
    match seen {
        [] => String::new(),
        seen => format!(", only `{}`", seen.join("`, `")),
    }
}
