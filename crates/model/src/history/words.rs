//! Verdicts, numbers and moments, as other tools write them.

use jiff::civil::DateTime;
use jiff::tz::Offset;
use serde_json::Value;

use crate::units::{Score, Timestamp};
use crate::verdict::Verdict;

/// What a status means in our words. `None` for a word that nobody is known to use.
pub(super) fn verdict(word: &str) -> Option<Verdict> {
    let word = plain(word);
    if let Some(verdict) = Verdict::from_name(&word) {
        return Some(verdict);
    }
    Some(match word.as_str() {
        "keep" | "accept" | "accepted" => Verdict::Kept,
        "discard" | "reject" | "rejected" | "revert" | "reverted" => Verdict::Discarded,
        "crash" | "fail" | "failed" | "error" | "fatal" => Verdict::Crashed,
        "checks_failed" => Verdict::GuardFailed,
        "timeout" => Verdict::TimedOut,
        "oom" => Verdict::OutOfMemory,
        "metric_error" => Verdict::InvalidMetric,
        "no_op" | "noop" | "skip" | "skipped" => Verdict::NoChange,
        "violation" | "hook_blocked" => Verdict::Policy,
        "budget_exceeded" => Verdict::Interrupted,
        _ => return None,
    })
}

/// Our verdict in the three words of autoresearch; the nearest one where there is none of its own.
pub(super) fn status(verdict: Verdict) -> &'static str {
    use Verdict::*;
    match verdict {
        Baseline | Kept => "keep",
        Discarded | NoChange | Duplicate | GuardFailed | Policy | Tampered | Suspect | Retracted => "discard",
        Crashed | TimedOut | OutOfMemory | OutputLimit | DiskLimit | PidsLimit | InvalidMetric | AgentError
        | EngineError | Interrupted => "crash",
    }
}

pub(super) fn is_crash(verdict: Verdict) -> bool {
    status(verdict) == "crash"
}

/// A name or a word without its case, blanks and hyphens.
pub(super) fn plain(word: &str) -> String {
    word.trim().to_lowercase().replace(['-', ' '], "_")
}

/// A number, or one of the ways in which people say that there is none. `None` for anything else.
pub(super) fn number(text: &str) -> Option<Option<Score>> {
    let text = text.trim();
    match plain(text).as_str() {
        "" | "_" | "__" | "___" | "null" | "none" | "n/a" | "na" | "?" => Some(None),
        // What overflows, and what is not a number, is not known.
        _ => text.parse::<f64>().ok().map(Score::new),
    }
}

/// A number with at least so many decimals, and as many as it takes to read the same number back.
pub(super) fn decimal(value: f64, decimals: usize) -> String {
    /// Beyond it a column of digits is harder to read than an exponent.
    const LONGEST: usize = 24;
    let exact = format!("{value}");
    if exact.len() > LONGEST {
        return format!("{value:e}");
    }
    let given = exact.split_once('.').map_or(0, |(_, rest)| rest.len());
    if given >= decimals { exact } else { format!("{value:.decimals$}") }
}

/// A moment in UTC, to the millisecond; `None` beyond the year 9999.
pub fn rfc3339(at: Timestamp) -> Option<String> {
    let moment = jiff::Timestamp::from_millisecond(at.0).ok()?;
    Some(format!("{moment:.3}"))
}

/// A moment as text, or as seconds or milliseconds since 1970; without a time zone it is taken for UTC.
pub(super) fn moment(value: &Value) -> Option<Timestamp> {
    /// As milliseconds this is March 1973, as seconds the year 5138: nobody's history is from either.
    const MILLISECONDS_FROM: f64 = 1e11;
    let since_1970 = |number: f64| {
        let milliseconds = if number.abs() < MILLISECONDS_FROM { number * 1000.0 } else { number };
        known(Timestamp(milliseconds.round() as i64)).filter(|_| number.is_finite() && number != 0.0)
    };
    match value {
        Value::Number(number) => since_1970(number.as_f64()?),
        Value::String(text) => {
            let text = text.trim();
            let zoned = text.parse::<jiff::Timestamp>();
            let plain = || text.parse::<DateTime>().ok().and_then(|moment| Offset::UTC.to_timestamp(moment).ok());
            match zoned.ok().or_else(plain) {
                Some(moment) => Some(Timestamp(moment.as_millisecond())),
                None => since_1970(text.parse().ok()?),
            }
        }
        _ => None,
    }
}

/// A moment that can be written down.
pub(super) fn known(at: Timestamp) -> Option<Timestamp> {
    jiff::Timestamp::from_millisecond(at.0).is_ok().then_some(at)
}

/// A commit as others show it: seven characters of a whole hash, anything else as it is.
pub(super) fn short_commit(commit: Option<&str>) -> &str {
    let commit = commit.unwrap_or_default();
    let is_hash = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { &commit[..7] } else { commit }
}

/// Text that fits between two tabs.
pub(super) fn one_line(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
}
