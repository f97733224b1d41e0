//! The grammar of one line: who is named, and with what value.

use std::borrow::Cow;

use super::findings::{Dialect, Value};
use crate::units::Score;

pub(super) const ESCAPE: u8 = 0x1b;

/// Longer names are not names but a line without spaces.
const NAME_LIMIT: usize = 128;

/// Enough to see what stood in the place of a number.
const SHOWN_TEXT: usize = 80;

/// Whether a number can have this name: a letter, `_` or `µ`, then also digits and `.`, `/`, `-`.
pub fn is_name(text: &str) -> bool {
    matches!(split_name(text.as_bytes()), Some((_, [])))
}

/// Splits a line that states a number into dialect, name and the text of the value.
pub(super) fn statement(line: &[u8]) -> Option<(Dialect, &str, &[u8])> {
    if let Some(rest) = line.strip_prefix(b"METRIC ")
        && let Some((name, rest)) = split_name(rest.trim_ascii_start())
        && let Some(text) = rest.trim_ascii_start().strip_prefix(b"=")
    {
        return Some((Dialect::Marked, name, text));
    }
    let (name, rest) = split_name(line)?;
    let text = match rest.strip_prefix(b":") {
        Some(text) => text,
        None => rest.trim_ascii_start().strip_prefix(b"=")?,
    };
    Some((Dialect::Plain, name, text))
}

/// Reads the text after a name. Only plain decimals are numbers: what `1,234` means depends on the country.
pub(super) fn value(text: &[u8]) -> Value {
    let text = text.trim_ascii();
    let decimal = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    if !text.iter().all(decimal) {
        return match is_not_finite(text) {
            true => Value::NotFinite(shown(text)),
            false => not_a_number(text),
        };
    }
    match std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()) {
        // `1e999` reads as infinity.
        Some(number) => match Score::new(number) {
            Some(score) => Value::Number(score),
            None => Value::NotFinite(shown(text)),
        },
        None => not_a_number(text),
    }
}

pub(super) fn not_a_number(text: &[u8]) -> Value {
    Value::NotANumber(shown(text.trim_ascii()))
}

/// Whether this is how some language prints a number that is none.
pub(super) fn is_not_finite(text: &[u8]) -> bool {
    let word = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    [&b"nan"[..], b"inf", b"infinity"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Drops terminal control sequences: a coloured or redrawn line says what its text says.
pub(super) fn without_escapes(line: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            ESCAPE => after_sequence(after).unwrap_or(after),
            _ => {
                text.push(byte);
                after
            }
        };
    }
    text
}

/// What follows `[`, parameters and a final byte; `None` where that is not what stands there.
fn after_sequence(text: &[u8]) -> Option<&[u8]> {
    let body = text.strip_prefix(b"[")?;
    let end = body.iter().position(|byte| !(0x20..0x40).contains(byte))?;
    (0x40..0x7f).contains(&body[end]).then(|| &body[end + 1..])
}

fn split_name(text: &[u8]) -> Option<(&str, &[u8])> {
    let mut end = 0;
    while let Some(length) = name_character(&text[end..], end == 0) {
        end += length;
        if end > NAME_LIMIT {
            return None;
        }
    }
    let (name, rest) = text.split_at(end);
    (end > 0).then(|| Some((std::str::from_utf8(name).ok()?, rest)))?
}

/// The length of the character of a name that stands here.
fn name_character(text: &[u8], first: bool) -> Option<usize> {
    match text {
        [b'A'..=b'Z' | b'a'..=b'z' | b'_', ..] => Some(1),
        [b'0'..=b'9' | b'.' | b'/' | b'-', ..] if !first => Some(1),
        // The micro sign, and the Greek letter that looks the same.
        [0xc2, 0xb5, ..] | [0xce, 0xbc, ..] => Some(2),
        _ => None,
    }
}

fn shown(text: &[u8]) -> String {
    let text: Cow<'_, str> = String::from_utf8_lossy(text);
    match text.char_indices().nth(SHOWN_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}
