//! Finds the numbers in a text that may be tuned, and writes new ones in their style.

use std::collections::BTreeMap;
use std::ops::Range;

/// Words in a name that make its number a choice of the experimenter and not of the search.
const FIXED_WORDS: [&str; 9] = ["seed", "seeds", "rng", "version", "port", "budget", "budgets", "timeout", "deadline"];

/// More would suggest a precision that no search has.
const SIGNIFICANT_DIGITS: usize = 6;

/// A plain number that is all of what one top-level line assigns.
#[derive(Debug, Clone, PartialEq)]
pub struct Literal {
    pub name: String,
    /// Where the number stands, in bytes.
    pub span: Range<usize>,
    pub value: f64,
    pub form: Form,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Int,
    Float,
}

/// The numbers of Python-like assignments: `NAME = 0.04`, `NAME: int = 64`, `name = 1e-3  # why`.
///
/// Left alone are expressions, other notations (`1_000`, `0x40`), names that look like a seed, version, port or
/// budget, lines marked `# overnight: fixed`, and names that are given a number twice, as it is unclear which counts.
pub fn literals(text: &str) -> Vec<Literal> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut quote = None;
    for line in text.split_inclusive('\n') {
        if quote.is_none() {
            found.extend(literal(line, start));
        }
        quote = open_quote(line, quote);
        start += line.len();
    }
    let mut count = BTreeMap::new();
    for literal in &found {
        *count.entry(literal.name.clone()).or_insert(0) += 1;
    }
    found.retain(|literal| count[&literal.name] == 1 && !is_fixed(&literal.name));
    found
}

impl Literal {
    /// Writes a value as this number is written: integers stay integers, exponents stay exponents.
    pub(super) fn write(&self, value: f64) -> String {
        let value = rounded(value, SIGNIFICANT_DIGITS);
        if self.form == Form::Int {
            return format!("{:.0}", value.round());
        }
        match self.text.find(['e', 'E']) {
            Some(at) => format!("{value:e}").replace('e', &self.text[at..=at]),
            None => format!("{value:?}"),
        }
    }
}

/// The nearest number with at most so many significant digits.
pub(super) fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

fn literal(line: &str, start: usize) -> Option<Literal> {
    let (left, right) = line.split_once('=')?;
    let name = match left.split_once(':') {
        Some((name, kind)) if !kind.trim().is_empty() => name,
        Some(_) => return None,
        None => left,
    };
    let name = name.trim_end();
    if !is_identifier(name) {
        return None;
    }
    let (number, comment) = right.split_once('#').unwrap_or((right, ""));
    if comment.trim().strip_prefix("overnight:").is_some_and(|rest| rest.trim_start().starts_with("fixed")) {
        return None;
    }
    let text = number.trim();
    let form = form(text)?;
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
    let at = start + left.len() + 1 + (number.len() - number.trim_start().len());
    Some(Literal { name: name.to_owned(), span: at..at + text.len(), value, form, text: text.to_owned() })
}

fn is_identifier(name: &str) -> bool {
    let inner = |c: char| c.is_alphanumeric() || c == '_';
    name.chars().all(inner) && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Whether this is a plain decimal number, and of which kind.
fn form(text: &str) -> Option<Form> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let starts = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !starts || !digits.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    match digits.bytes().all(|byte| byte.is_ascii_digit()) {
        // Past 2^53 a float no longer holds every integer; `007` is no number in Python.
        true if digits.len() > 15 || (digits.len() > 1 && digits.starts_with('0')) => None,
        true => Some(Form::Int),
        false => Some(Form::Float),
    }
}

fn is_fixed(name: &str) -> bool {
    // `someSeed` has the same words as `some_seed`.
    let mut words = String::new();
    let mut after_lower = false;
    for c in name.chars() {
        if after_lower && c.is_uppercase() {
            words.push('_');
        }
        after_lower = c.is_lowercase();
        words.extend(c.to_lowercase());
    }
    words.contains("random_state") || words.split('_').any(|word| FIXED_WORDS.contains(&word))
}

/// The triple quote that is open after a line: text in a docstring is no code.
fn open_quote(line: &str, mut open: Option<&'static str>) -> Option<&'static str> {
    let mut rest = line;
    loop {
        rest = match open {
            Some(quote) => match rest.split_once(quote) {
                Some((_, after)) => {
                    open = None;
                    after
                }
                None => return open,
            },
            None => {
                let at = rest.find(['#', '"', '\''])?;
                let here = &rest[at..];
                open = ["\"\"\"", "'''"].into_iter().find(|quote| here.starts_with(quote));
                match open {
                    Some(quote) => &here[quote.len()..],
                    None if here.starts_with('#') => return None,
                    None => after_string(here),
                }
            }
        }
    }
}

/// What follows a string in single quotes; nothing where it does not end on its line.
fn after_string(text: &str) -> &str {
    let quote = text.as_bytes()[0];
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            byte if byte == quote => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}
