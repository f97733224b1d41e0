//! Numbers with their unit and their rule in the type.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A value of the metric: always finite, so a missing number can never be mistaken for a best one.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Score(f64);

impl Score {
    pub fn new(value: f64) -> Option<Score> {
        value.is_finite().then_some(Score(value))
    }

    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Score {
    type Error = &'static str;

    fn try_from(value: f64) -> Result<Score, Self::Error> {
        Score::new(value).ok_or("a score must be a finite number")
    }
}

impl From<Score> for f64 {
    fn from(score: Score) -> f64 {
        score.0
    }
}

/// Which way the metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    Min,
    Max,
}

impl Goal {
    /// How much better `new` is than `old`: positive is an improvement, whichever way the metric goes.
    pub fn gain(self, old: f64, new: f64) -> f64 {
        match self {
            Goal::Min => old - new,
            Goal::Max => new - old,
        }
    }

    /// Whether a level has reached a target.
    pub fn reached(self, level: f64, target: f64) -> bool {
        self.gain(target, level) >= 0.0
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Goal::Min => "min",
            Goal::Max => "max",
        })
    }
}

/// A span of time in whole milliseconds: what the ledger stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    pub const fn seconds(seconds: u64) -> Millis {
        Millis(seconds * 1000)
    }

    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

impl From<Duration> for Millis {
    fn from(duration: Duration) -> Millis {
        Millis(duration.as_millis() as u64)
    }
}

impl From<Millis> for Duration {
    fn from(millis: Millis) -> Duration {
        Duration::from_millis(millis.0)
    }
}

impl fmt::Display for Millis {
    /// The shortest form a person would write: `90ms`, `5s`, `2m 30s`, `8h`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, rest) = (self.0 / 1000, self.0 % 1000);
        match (seconds, rest) {
            (0, rest) => write!(f, "{rest}ms"),
            (s, 0) if s < 60 => write!(f, "{s}s"),
            (s, _) if s < 60 => write!(f, "{:.1}s", self.as_secs()),
            (s, _) => {
                let (h, m, s) = (s / 3600, s / 60 % 60, s % 60);
                let parts = [(h, 'h'), (m, 'm'), (s, 's')];
                let text: Vec<_> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, u)| format!("{n}{u}")).collect();
                f.write_str(&text.join(" "))
            }
        }
    }
}

/// A moment in UTC, in milliseconds since 1970. Order is by sequence in the ledger, never by this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The time since `earlier`; nothing when the clock was set back meanwhile.
    pub fn since(self, earlier: Timestamp) -> Millis {
        Millis(self.0.saturating_sub(earlier.0).max(0) as u64)
    }
}

/// A metric as people read it: up to six significant digits, no trailing zeros.
pub fn short_number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-5..15).contains(&magnitude) {
        return format!("{value:.4e}");
    }
    let decimals = (5 - magnitude).max(0) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A size as people read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match units.iter().find(|(_, size)| self.0 >= *size) {
            Some((name, size)) if self.0.is_multiple_of(*size) => write!(f, "{} {name}", self.0 / size),
            Some((name, size)) => write!(f, "{:.1} {name}", self.0 as f64 / *size as f64),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_never_missing_or_infinite() {
        assert_eq!(Score::new(f64::NAN), None);
        assert_eq!(Score::new(f64::INFINITY), None);
        assert!(serde_json::from_str::<Score>("1e999").is_err());
    }

    #[test]
    fn a_gain_is_positive_when_better_in_either_direction() {
        assert_eq!(Goal::Min.gain(2.0, 1.5), 0.5);
        assert_eq!(Goal::Max.gain(2.0, 1.5), -0.5);
    }

    #[test]
    fn spans_read_as_a_person_would_write_them() {
        let shown = |ms| Millis(ms).to_string();
        assert_eq!(shown(90), "90ms");
        assert_eq!(shown(1500), "1.5s");
        assert_eq!(shown(300_000), "5m");
        assert_eq!(shown(9_000_000), "2h 30m");
    }

    #[test]
    fn numbers_are_shown_with_six_significant_digits() {
        assert_eq!(short_number(0.99791234), "0.997912");
        assert_eq!(short_number(1234567.0), "1234567");
        assert_eq!(short_number(-0.5), "-0.5");
        assert_eq!(short_number(1e-9), "1.0000e-9");
    }
}
