//! What is one of a few, without an order.

use super::Kind;
use super::gather::{Range, shown};
use super::notation::Notation;
use crate::tuner::space::Domain;

/// Truths as languages write them.
const TRUTHS: [[&str; 2]; 8] = [
    ["True", "False"],
    ["true", "false"],
    ["TRUE", "FALSE"],
    ["yes", "no"],
    ["Yes", "No"],
    ["on", "off"],
    ["On", "Off"],
    ["YES", "NO"],
];

pub(super) fn truth(written: &str) -> Option<Range> {
    let pair = TRUTHS.into_iter().find(|pair| pair.contains(&written))?;
    let value = if pair[0] == written { 0.0 } else { 1.0 };
    Some((value, Domain::Choice { options: 2 }, pair.map(str::to_owned).to_vec(), None))
}

/// The options of a hint as they would be written here, and which of them is there now.
pub(super) fn chosen(options: &[String], written: &str, kind: Kind) -> Result<Range, String> {
    let mut texts = Vec::new();
    for option in options {
        let text = match kind {
            Kind::Text => quoted(option, written)?,
            Kind::Truth if TRUTHS.iter().any(|pair| pair.contains(&written) && pair.contains(&option.as_str())) => {
                option.clone()
            }
            Kind::Number if Notation::read(option).is_ok() => option.clone(),
            _ => return Err(format!("`{option}` is not of the kind of {}", shown(written))),
        };
        texts.push(text);
    }
    let is_same = |text: &String| text == written || kind == Kind::Number && is_equal(text, written);
    let at = texts.iter().position(is_same);
    let Some(at) = at else { return Err(format!("{} is not among its options", shown(written))) };
    // What is there stays as it is written, `0.50` and all.
    written.clone_into(&mut texts[at]);
    Ok((at as f64, Domain::Choice { options: texts.len() }, texts, None))
}

fn is_equal(a: &str, b: &str) -> bool {
    matches!((Notation::read(a), Notation::read(b)), (Ok((_, a)), Ok((_, b))) if a == b)
}

/// An option in the quotes of the string that it would replace.
fn quoted(option: &str, written: &str) -> Result<String, String> {
    let bare =
        ['"', '\''].into_iter().find_map(|quote| option.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(option);
    let quote = written.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    let is_closed = quote.is_none_or(|quote| {
        let inside = written.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        inside.is_some_and(|inside| !inside.contains([quote, '\\']))
    });
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    // Without quotes a word must not turn into something else.
    let is_plain = bare.chars().all(is_word)
        && bare.starts_with(char::is_alphabetic)
        && !TRUTHS.as_flattened().contains(&bare)
        && !matches!(bare, "null" | "Null" | "NULL");
    match quote {
        _ if bare.chars().any(|c| c.is_control() || matches!(c, '\\' | '"' | '\'' | '`' | '$')) => {
            Err(format!("`{option}` has characters that would need to be escaped"))
        }
        Some(quote) if is_closed => Ok(format!("{quote}{bare}{quote}")),
        None if is_plain && written.chars().all(is_word) => Ok(bare.to_owned()),
        _ => Err(format!("{} is a kind of string that cannot be replaced", shown(written))),
    }
}
