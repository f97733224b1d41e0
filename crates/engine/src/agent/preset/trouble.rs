//! What an error of an agent is about, by its status or by its words.

use overnight_model::event::Trouble;

/// Words by which an error is known. They are looked for in what agents say of errors, never in what a model says.
const WORDS: [(&[&str], Trouble); 8] = [
    // Waiting does not fill an account.
    (&["insufficient_quota", "check your plan and billing"], Trouble::Denied),
    (
        &[
            "context_length_exceeded",
            "context length",
            "context window",
            "context size",
            "prompt is too long",
            "contextwindowexceeded",
            "input token count",
            "request too large",
        ],
        Trouble::ContextOverflow,
    ),
    (
        &[
            "429",
            "rate limit",
            "rate_limit",
            "ratelimit",
            "usage limit",
            "quota",
            "resource_exhausted",
            "hit your limit",
        ],
        Trouble::RateLimit { retry_at: None },
    ),
    (
        &[
            "401",
            "403",
            "invalid api key",
            "invalid x-api-key",
            "unauthorized",
            "authenticationerror",
            "not logged in",
            "/login",
            "credit balance",
            "billing",
            "missing environment variable",
        ],
        Trouble::Denied,
    ),
    (
        &["404", "model_not_found", "issue with the selected model", "notfounderror", "unknown model"],
        Trouble::UnknownModel,
    ),
    (&["empty response"], Trouble::Empty),
    (&["content_filter", "content filter", "usage policy", "refusal"], Trouble::Refusal),
    (
        &[
            "500",
            "502",
            "503",
            "504",
            "529",
            "overloaded",
            "high demand",
            "internal server error",
            "internalservererror",
            "service unavailable",
            "econnrefused",
            "econnreset",
            "connection error",
            "connection refused",
            "connection to the api was lost",
            "stream disconnected",
            "stream ended",
            "network error",
            "fetch failed",
            "request timed out",
            "connection timed out",
            "terminated: other side closed",
            "apiconnectionerror",
            "incomplete json",
            "failed to parse json",
            "unable to connect",
            "cannot connect",
        ],
        Trouble::Outage,
    ),
];

/// By which words a provider says when to come back.
const WAITS: [&str; 7] =
    ["retry-after", "retry after", "retrydelay", "resets_in_seconds", "try again in", "retry in", "reset after"];

pub(crate) fn classify(what: &str, status: Option<u64>) -> Option<Trouble> {
    let text = what.to_lowercase();
    // A prompt that is too long is a bad request among others.
    let known = WORDS.iter().find(|(words, _)| words.iter().any(|word| has(&text, word))).map(|(_, trouble)| *trouble);
    match status {
        Some(429) if matches!(known, Some(Trouble::Denied | Trouble::ContextOverflow)) => known,
        Some(429) => Some(Trouble::RateLimit { retry_at: None }),
        Some(401..=403) => Some(Trouble::Denied),
        Some(404) => Some(Trouble::UnknownModel),
        Some(413) => Some(Trouble::ContextOverflow),
        Some(408 | 500..) => Some(Trouble::Outage),
        _ => known,
    }
}

/// What a program's complaints are about, the latest first: for those that have no events for it.
pub(crate) fn complains_of(complaint: &str) -> Option<Trouble> {
    complaint.lines().rev().find_map(|line| classify(line, None))
}

/// Whether a text has a word; a number counts only where it is called a status, or begins the text: lines of a program have
/// numbers, too.
fn has(text: &str, word: &str) -> bool {
    let is_number = word.chars().all(|c| c.is_ascii_digit());
    text.match_indices(word).any(|(at, _)| {
        let (before, after) =
            (text[..at].trim_end_matches([' ', ':', '=', '"', '(', '[', '\'', '#']), &text[at + word.len()..]);
        let is_called = before.is_empty() || STATUS.iter().any(|name| before.ends_with(name));
        let ends = after.chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '.');
        !is_number || (is_called && ends)
    })
}

/// What stands before a number that is a status.
const STATUS: [&str; 6] = ["status", "code", "http", "error", "http/1.1", "status_code"];

/// The seconds that a provider asks to be left alone.
pub(crate) fn wait_in(text: &str) -> Option<u64> {
    let text = text.to_lowercase();
    let after = WAITS.iter().find_map(|word| text.split_once(word)).map(|(_, after)| after)?;
    let after = after.trim_start_matches([' ', '"', ':', '=', '\'', '\\', '[']);
    let number: String = after.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let value: f64 = number.parse().ok()?;
    let unit = after[number.len()..].trim_start();
    let seconds = match unit {
        unit if unit.starts_with("ms") || unit.starts_with("milli") => value / 1000.0,
        unit if unit.starts_with('m') => value * 60.0,
        unit if unit.starts_with('h') => value * 3600.0,
        _ => value,
    };
    Some(seconds.ceil() as u64)
}

/// The moment that a limit ends, in seconds of the epoch: `usage limit reached|1760000000`.
pub(super) fn reset_in(text: &str) -> Option<i64> {
    let (_, after) = text.split_once('|')?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|_| digits.len() == 10)
}
