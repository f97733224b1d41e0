//! Spans of time as people write them.

use overnight_model::units::Millis;

/// Longer is a slip of the keyboard; it also keeps sums of limits far from overflow.
const LONGEST_MS: f64 = 10.0 * 365.0 * 24.0 * 3600.0 * 1000.0;

const UNITS: [(&str, f64); 5] = [("ms", 1.0), ("s", 1e3), ("m", 60e3), ("h", 3600e3), ("d", 86400e3)];

const EXAMPLES: &str = "write it as \"90s\", \"5m\" or \"1h30m\"";

/// What is wrong with a span, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) message: String,
    pub(super) hint: String,
}

/// Reads `"90s"`, `"1.5h"`, `"1h30m"`; `what` is how a message calls it, such as `a budget`.
pub(super) fn parse(what: &str, text: &str) -> Result<Millis, Refused> {
    let refuse = |message: String, hint: &str| Err(Refused { message, hint: hint.to_owned() });
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return refuse(format!("{what} must not be empty"), EXAMPLES);
    }
    if trimmed.starts_with('-') {
        return refuse(format!("{what} must be more than zero"), EXAMPLES);
    }
    let mut total = 0.0;
    let mut rest = trimmed;
    while !rest.is_empty() {
        let (number, after) = split(rest, |c| c.is_ascii_digit() || c == '.');
        let (unit, after) = split(after.trim_start(), |c| !c.is_ascii_digit() && !c.is_whitespace());
        let Ok(number) = number.parse::<f64>() else {
            return refuse(format!("`{text}` is not a span of time"), EXAMPLES);
        };
        let Some((_, millis)) = UNITS.iter().find(|(known, _)| *known == unit) else {
            return match unit {
                "" => refuse(
                    format!("`{text}` has no unit"),
                    &format!("write \"{trimmed}s\" for seconds, \"{trimmed}m\" for minutes"),
                ),
                unit => {
                    refuse(format!("unknown unit `{unit}` in `{text}`"), "units are ms, s, m, h and d, as in \"1h30m\"")
                }
            };
        };
        total += number * millis;
        rest = after.trim_start();
    }
    from_millis(what, total)
}

/// Reads a span from a command line; an error says what to write.
pub fn span(text: &str) -> Result<Millis, String> {
    parse("a span", text).map_err(|Refused { message, hint }| format!("{message}; {hint}"))
}

/// Reads a bare number of seconds.
pub(super) fn from_seconds(what: &str, seconds: f64) -> Result<Millis, Refused> {
    from_millis(what, seconds * 1000.0)
}

fn from_millis(what: &str, millis: f64) -> Result<Millis, Refused> {
    let refuse = |message| Err(Refused { message, hint: EXAMPLES.to_owned() });
    match millis.round() {
        millis if millis.is_nan() || millis <= 0.0 => refuse(format!("{what} must be more than zero")),
        millis if millis > LONGEST_MS => refuse(format!("{what} must be less than ten years")),
        millis => Ok(Millis(millis as u64)),
    }
}

fn split(text: &str, inside: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !inside(c)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<u64, String> {
        parse("a budget", text).map(|millis| millis.0).map_err(|refused| refused.message)
    }

    #[test]
    fn spans_are_read_as_people_write_them() {
        let spans = [
            ("500ms", 500),
            ("90s", 90_000),
            ("5m", 300_000),
            ("1.5h", 5_400_000),
            ("1h30m", 5_400_000),
            (" 2h 30m ", 9_000_000),
            ("5 m", 300_000),
            ("1d", 86_400_000),
            (".5s", 500),
        ];
        for (text, millis) in spans {
            assert_eq!(read(text), Ok(millis), "{text}");
        }
        assert_eq!(from_seconds("a budget", 1.5), Ok(Millis(1500)));
    }

    #[test]
    fn other_text_is_refused_with_its_reason() {
        let refused = [
            ("", "a budget must not be empty"),
            ("-5m", "a budget must be more than zero"),
            ("0s", "a budget must be more than zero"),
            ("0.1ms", "a budget must be more than zero"),
            ("300", "`300` has no unit"),
            ("5min", "unknown unit `min` in `5min`"),
            ("m", "`m` is not a span of time"),
            ("1..5m", "`1..5m` is not a span of time"),
            ("soon", "`soon` is not a span of time"),
            ("99999d", "a budget must be less than ten years"),
        ];
        for (text, message) in refused {
            assert_eq!(read(text), Err(message.to_owned()), "{text}");
        }
    }
}
