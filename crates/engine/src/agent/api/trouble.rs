//! What an HTTP answer that is no answer is about, and how long a provider wants to be left alone.

use overnight_model::Timestamp;
use overnight_model::event::Trouble;
use serde_json::Value;

use super::call::Answered;
use crate::agent::preset::{classify, wait_in};

/// Nobody is waited for longer.
const A_DAY: i64 = 24 * 3600 * 1000;
/// An error page may be long; what is said of it is one line.
const PAGE: usize = 2000;

/// What went wrong, in the provider's words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wrong {
    pub(super) trouble: Trouble,
    pub(super) what: String,
}

impl Wrong {
    pub(super) fn new(trouble: Trouble, what: impl Into<String>) -> Wrong {
        Wrong { trouble, what: what.into() }
    }
}

/// What an answer says is wrong; `None` where it says nothing of the kind.
pub(super) fn wrong(answered: &Answered, body: Option<&Value>, now: Timestamp) -> Option<Wrong> {
    let Answered { status, .. } = answered;
    let error = body.and_then(error_of);
    if (200..300).contains(status) && error.is_none() {
        return None;
    }
    if (300..400).contains(status) {
        let to = answered.header("location").unwrap_or("somewhere else");
        let what = format!("it sends us to {to}, where nobody goes with a key: mend `agent.base_url`");
        return Some(Wrong::new(Trouble::Other, what));
    }
    let said = error.unwrap_or_else(|| Said { text: page(&answered.body), kinds: String::new(), status: None });
    // Some servers answer with 200 and say inside what it really is.
    let status = said.status.filter(|_| *status < 400).unwrap_or(u64::from(*status));
    let all = format!("{} {}", said.kinds, said.text);
    let trouble = match classify(&all, Some(status).filter(|status| *status >= 400)).unwrap_or(Trouble::Other) {
        Trouble::RateLimit { .. } => Trouble::RateLimit { retry_at: retry_at(answered, now) },
        // Who says when to come back has had enough for now, whatever its number.
        Trouble::Outage if ["retry-after", "retry-after-ms"].iter().any(|name| answered.header(name).is_some()) => {
            match retry_at(answered, now) {
                None => Trouble::Outage,
                retry_at => Trouble::RateLimit { retry_at },
            }
        }
        known => known,
    };
    Some(Wrong::new(trouble, format!("{status} {}", said.text)))
}

/// What kind of trouble an answer of a provider is, and until when; `None` where it is an answer.
pub(crate) fn trouble_of(answered: &Answered, now: Timestamp) -> Option<Trouble> {
    let body: Option<Value> = serde_json::from_slice(&answered.body).ok();
    wrong(answered, body.as_ref(), now).map(|wrong| wrong.trouble)
}

struct Said {
    text: String,
    /// The names that a provider has for it.
    kinds: String,
    status: Option<u64>,
}

/// The error in a body, whatever its shape.
fn error_of(body: &Value) -> Option<Said> {
    // One protocol wraps it into a list, another one has it beside each answer.
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let inner = &body["choices"][0]["error"];
    let error = [&body["error"], inner].into_iter().find(|error| !error.is_null())?;
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let message = text(error).or_else(|| text(&error["message"])).unwrap_or_else(|| error.to_string());
    let kinds: Vec<String> = ["type", "code", "status"].iter().filter_map(|key| text(&error[*key])).collect();
    Some(Said { text: message, kinds: kinds.join(" "), status: error["code"].as_u64() })
}

fn page(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(PAGE)]).into_owned();
    if text.trim().is_empty() { "and nothing else".to_owned() } else { text }
}

/// When a provider may be asked again, as far as it says so.
pub(crate) fn retry_at(answered: &Answered, now: Timestamp) -> Option<Timestamp> {
    let number = |name: &str| answered.header(name).and_then(|value| value.trim().parse::<f64>().ok());
    let later =
        |millis: f64| (millis.is_finite() && millis >= 0.0).then(|| Timestamp(now.0.saturating_add(millis as i64)));
    let told =
        number("retry-after-ms").and_then(later).or_else(|| number("retry-after").and_then(|s| later(s * 1000.0)));
    let date = || answered.header("retry-after").and_then(moment);
    let body = || wait_in(&String::from_utf8_lossy(&answered.body)).and_then(|seconds| later(seconds as f64 * 1000.0));
    let found = told.or_else(date).or_else(|| reset(answered, now)).or_else(body)?;
    Some(Timestamp(found.0.min(now.0.saturating_add(A_DAY)))).filter(|found| *found > now)
}

/// The latest moment at which something that is used up is there again.
fn reset(answered: &Answered, now: Timestamp) -> Option<Timestamp> {
    let is_used_up = |name: &str| {
        // A subscription has limits of several spans: the one that is used up says so.
        if let Some(status) = answered.header(&name.replace("-reset", "-status")) {
            return status.trim() == "rejected";
        }
        let left = name.replace("-reset", "-remaining");
        answered.header(&left).is_none_or(|left| left.trim().parse::<f64>().is_ok_and(|left| left <= 0.0))
    };
    let resets = answered.headers.iter().filter(|(name, _)| name.contains("ratelimit") && name.contains("-reset"));
    resets
        .filter(|(name, _)| is_used_up(name))
        .filter_map(|(_, value)| moment(value).or_else(|| span(value, now)))
        .max()
}

/// A date of HTTP or of RFC 3339.
fn moment(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let written = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok();
    let found = written.or_else(|| text.parse::<jiff::Timestamp>().ok())?;
    Some(Timestamp(found.as_millisecond()))
}

/// `6m0s`, `120ms`, or a moment in seconds or milliseconds of the epoch.
fn span(text: &str, now: Timestamp) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(number) = text.parse::<i64>() {
        return Some(Timestamp(match number {
            number if number > 100_000_000_000 => number,
            number if number > 1_000_000_000 => number.saturating_mul(1000),
            seconds => now.0.saturating_add(seconds.saturating_mul(1000)),
        }));
    }
    let (mut millis, mut rest) = (0.0, text);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let value: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        millis += value
            * match &rest[..letters] {
                "ms" => 1.0,
                "s" => 1000.0,
                "m" => 60_000.0,
                "h" => 3_600_000.0,
                "d" => 86_400_000.0,
                _ => return None,
            };
        rest = &rest[letters..];
    }
    Some(Timestamp(now.0.saturating_add(millis as i64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn told(status: u16, headers: &[(&str, &str)], body: Value) -> Option<Wrong> {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        wrong(&Answered { status, headers, body: body.to_string().into_bytes() }, Some(&body), NOW)
    }

    fn trouble(status: u16, body: Value) -> Trouble {
        told(status, &[], body).unwrap().trouble
    }

    #[test]
    fn errors_of_providers_are_told_as_what_they_are() {
        let error = |kind: &str, message: &str| json!({ "error": { "type": kind, "message": message } });
        for (status, body, expected) in [
            (401, error("authentication_error", "invalid x-api-key"), Trouble::Denied),
            (403, error("permission", "no"), Trouble::Denied),
            (402, error("", "Insufficient credits"), Trouble::Denied),
            (429, error("insufficient_quota", "You exceeded your current quota"), Trouble::Denied),
            (404, error("not_found_error", "model: x"), Trouble::UnknownModel),
            (400, error("invalid_request_error", "prompt is too long: 9 tokens > 8"), Trouble::ContextOverflow),
            (
                400,
                error("exceed_context_size_error", "request exceeds the available context size"),
                Trouble::ContextOverflow,
            ),
            (413, json!({}), Trouble::ContextOverflow),
            (400, error("invalid_request_error", "unknown parameter"), Trouble::Other),
            (500, error("api_error", "Internal server error"), Trouble::Outage),
            (529, error("overloaded_error", "Overloaded"), Trouble::Outage),
            (503, json!("<html>bad gateway</html>"), Trouble::Outage),
            (302, json!({}), Trouble::Other),
            // A server that says 200 and means something else.
            (200, json!({ "error": { "code": 502, "message": "upstream" } }), Trouble::Outage),
            (200, json!({ "error": { "code": 401, "message": "No auth" } }), Trouble::Denied),
        ] {
            assert_eq!(trouble(status, body.clone()), expected, "{status} {body}");
        }
        assert_eq!(told(200, &[], json!({ "choices": [] })), None);
        assert_eq!(told(200, &[], json!({ "error": null, "output": [] })), None);
    }

    fn waits(headers: &[(&str, &str)], body: Value) -> Option<i64> {
        let Some(Wrong { trouble: Trouble::RateLimit { retry_at }, .. }) = told(429, headers, body) else { panic!() };
        retry_at.map(|at| (at.0 - NOW.0) / 1000)
    }

    #[test]
    fn a_provider_that_is_overloaded_and_says_until_when_is_waited_for() {
        let overloaded = |status, headers: &[(&str, &str)]| {
            told(status, headers, json!({ "error": { "type": "overloaded_error", "message": "x" } })).unwrap().trouble
        };
        let until = Trouble::RateLimit { retry_at: Some(Timestamp(NOW.0 + 30_000)) };
        assert_eq!(overloaded(529, &[("retry-after", "30")]), until);
        assert_eq!(overloaded(503, &[("retry-after-ms", "30000")]), until);
        assert_eq!(overloaded(503, &[("retry-after", "soon")]), Trouble::Outage);
        assert_eq!(overloaded(503, &[]), Trouble::Outage);
    }

    #[test]
    fn a_rate_limit_says_how_long_it_lasts_in_one_of_many_ways() {
        assert_eq!(waits(&[], json!({})), None);
        assert_eq!(waits(&[("retry-after", "30")], json!({})), Some(30));
        assert_eq!(waits(&[("retry-after", "1.5")], json!({})), Some(1));
        assert_eq!(waits(&[("retry-after-ms", "2500"), ("retry-after", "9")], json!({})), Some(2));
        assert_eq!(waits(&[("retry-after", "Fri, 15 Jan 2027 08:01:00 GMT")], json!({})), Some(60));
        // One that is over is no reason to wait.
        assert_eq!(waits(&[("retry-after", "Fri, 15 Jan 2021 08:01:00 GMT")], json!({})), None);
        assert_eq!(waits(&[("retry-after", "-5")], json!({})), None);
        assert_eq!(waits(&[("retry-after", "99999999999")], json!({})), Some(86_400));
        let anthropic = [
            ("anthropic-ratelimit-requests-remaining", "5"),
            ("anthropic-ratelimit-requests-reset", "2027-01-15T09:00:00Z"),
            ("anthropic-ratelimit-tokens-remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "2027-01-15T08:00:40Z"),
        ];
        assert_eq!(waits(&anthropic, json!({})), Some(40));
        assert_eq!(waits(&[("x-ratelimit-reset-tokens", "6m0.5s")], json!({})), Some(360));
        assert_eq!(waits(&[("x-ratelimit-reset", "1800000007000")], json!({})), Some(7));
        let claude = [
            ("anthropic-ratelimit-unified-status", "rejected"),
            ("anthropic-ratelimit-unified-reset", "1800010000"),
            ("anthropic-ratelimit-unified-5h-status", "rejected"),
            ("anthropic-ratelimit-unified-5h-reset", "1800010000"),
            ("anthropic-ratelimit-unified-7d-status", "allowed"),
            ("anthropic-ratelimit-unified-7d-reset", "1800050000"),
        ];
        assert_eq!(
            waits(&claude, json!({})),
            Some(10_000),
            "a week that is not over yet is no reason to wait for its end"
        );
        let codex = json!({ "error": { "type": "usage_limit_reached", "resets_in_seconds": 10_800 } });
        assert_eq!(waits(&[], codex), Some(10_800));
        let gemini = json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "quota",
            "details": [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s" }] } });
        assert_eq!(waits(&[], gemini), Some(34));
    }
}
