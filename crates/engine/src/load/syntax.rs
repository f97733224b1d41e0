//! Slips in the syntax of TOML itself.

use std::ops::Range;

use super::evaluate::names_secret;
use super::problem::{Collector, floor};

/// One problem a line: what follows the first slip is mostly its echo.
pub(super) fn report(problems: &mut Collector<'_>, errors: Vec<toml::de::Error>) {
    let mut lines = Vec::new();
    for error in errors {
        let span = error.span().unwrap_or(0..1);
        let line = problems.line_of(span.start);
        if lines.contains(&line) {
            continue;
        }
        lines.push(line);
        conceal(problems, span.start);
        if let Some(bare) = bare_text(problems.text(), span.start) {
            problems.add(bare, "not valid TOML: text must be in quotes", "write it as \"text\"");
            continue;
        }
        let hint = match error.message() {
            "duplicate key" => "remove one of the two",
            _ => "",
        };
        let span = span.start..span.end.max(span.start + 1);
        problems.add(span, format!("not valid TOML: {}", error.message()), hint);
    }
}

/// The word that stands alone after an `=` where a string should.
fn bare_text(text: &str, at: usize) -> Option<Range<usize>> {
    let (before, after) = text.split_at_checked(at)?;
    let starts = after.starts_with(|c: char| c.is_alphabetic() || "./~".contains(c));
    if !starts || !before.trim_end_matches(' ').ends_with('=') {
        return None;
    }
    let end = after.find(['\n', '#', ',', ']', '}']).unwrap_or(after.len());
    Some(at..at + after[..end].trim_end().len())
}

/// A line that is no TOML may still hold a secret.
fn conceal(problems: &mut Collector<'_>, at: usize) {
    let text = problems.text();
    let start = text[..floor(text, at)].rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    for (equals, _) in line.match_indices('=') {
        let name = line[..equals].trim_end().trim_end_matches(['"', '\'']);
        if names_secret(name) {
            problems.conceal(start + equals + 1..start + line.len());
        }
    }
}
