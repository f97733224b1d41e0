//! Values of a text that has no grammar here, line by line.

use std::collections::HashMap;

use overnight_model::tuner::found::{Candidate, Kind, Notation, Remark, Site, in_comment};

use super::CANDIDATES_LIMIT;

/// What begins a comment in one language or another, if a blank or the beginning of the line stands before it.
const COMMENTS: [&str; 5] = ["#", "//", ";", "-- ", "/*"];

/// A longer line is data.
const LINE_LIMIT: usize = 1000;

/// What a comment with a hint may begin with, whatever stands before it.
const MARKS: [char; 7] = ['#', '/', '*', ';', '-', '%', '<'];

/// Values by lines; `is_code` where there is a grammar, which could understand what is written next.
pub(super) fn candidates(text: &str, is_code: bool) -> (Vec<Candidate>, Vec<Remark>) {
    let (mut found, mut remarks): (Vec<Candidate>, Vec<Remark>) = (Vec::new(), Vec::new());
    let (mut start, mut section, mut quote) = (0, String::new(), None);
    for line in text.split_inclusive('\n') {
        let at = start;
        start += line.len();
        let was_quoted = quote.is_some();
        quote = open_quote(line, quote);
        if was_quoted || line.len() > LINE_LIMIT {
            continue;
        }
        let (code, comment) = split(line);
        remarks.extend(in_comment(comment).map(|said| Remark { at, text: said.to_owned() }));
        if let Some(name) = header(code) {
            section = format!("[{name}].");
        }
        let mut values = if is_code { Vec::new() } else { flags(code) };
        if values.is_empty() {
            values.extend(assigned(code).filter(|(_, from, _)| !is_code || is_given(&code[..*from])));
        }
        for (key, from, written) in values {
            let span = at + from..at + from + written.len();
            let kind = kind(written);
            let name = format!("{section}{key}");
            let (key, out, site, is_whole) = (key.to_owned(), None, Site::Line, true);
            found.push(Candidate {
                name,
                key,
                span,
                site,
                kind,
                is_whole,
                is_small_fixed: false,
                is_changed: false,
                out,
            });
        }
        if found.len() >= CANDIDATES_LIMIT {
            break;
        }
    }
    let mut count: HashMap<String, usize> = HashMap::new();
    for one in &found {
        *count.entry(one.name.clone()).or_insert(0) += 1;
    }
    for one in &mut found {
        one.is_changed = count[&one.name] > 1;
    }
    (found, remarks)
}

/// A line without its comment, and the comment.
fn split(line: &str) -> (&str, &str) {
    let starts_comment = |at: usize| {
        let before = line[..at].chars().next_back();
        COMMENTS.iter().any(|mark| line[at..].starts_with(mark)) && before.is_none_or(char::is_whitespace)
    };
    let is_hint = |at: usize| line[at..].starts_with(MARKS) && in_comment(&line[at..]).is_some();
    let is_define = line.trim_start().starts_with("#define");
    let mut places = line.char_indices().map(|(at, _)| at);
    let at = places.find(|at| is_hint(*at) || starts_comment(*at) && !(is_define && line[*at..].starts_with('#')));
    line.split_at(at.unwrap_or(line.len()))
}

/// `train` of `[train]`
fn header(code: &str) -> Option<&str> {
    code.trim().strip_prefix('[')?.strip_suffix(']').filter(|name| !name.is_empty() && name.len() <= 80 && is_key(name))
}

/// `--lr 0.1` and `--lr=0.1`, as many as there are.
fn flags(code: &str) -> Vec<(&str, usize, &str)> {
    let mut found = Vec::new();
    let mut words = words(code).peekable();
    while let Some((at, word)) = words.next() {
        let Some(flag) = word.strip_prefix("--") else { continue };
        let given = match flag.split_once('=') {
            Some((flag, value)) => Some((flag, at + word.len() - value.len(), value)),
            None => words.peek().filter(|(_, next)| is_value(next)).map(|(at, value)| (flag, *at, *value)),
        };
        found.extend(given.filter(|(flag, _, value)| is_key(flag) && is_value(value)));
    }
    found
}

/// `name = 0.1`, `const float name = 0.1f;`, `name: 3,`, `name 0.5`
fn assigned(code: &str) -> Option<(&str, usize, &str)> {
    let equals = code.match_indices('=').map(|(at, _)| at).find(|at| {
        let before = code[..*at].chars().next_back();
        !before.is_some_and(|c| "=<>!+-*/%&|^:~".contains(c)) && !code[at + 1..].starts_with(['=', '>', '~'])
    });
    let (left, from) = match equals.or_else(|| code.find(':')) {
        Some(at) => (&code[..at], at + 1),
        None => {
            // `key 0.5`, and `#define key 0.5`
            let mut words = words(code).skip_while(|(_, word)| *word == "#define");
            let ((at, key), (from, _), None) = (words.next()?, words.next()?, words.next()) else { return None };
            (&code[..at + key.len()], from)
        }
    };
    // The type after a name is no part of it: `x: float = 3`.
    let left = if equals.is_some() { left.split_once(": ").map_or(left, |(name, _)| name) } else { left };
    let key = left.split_whitespace().next_back()?.trim_matches(['"', '\'']);
    let right = &code[from..];
    let written = right.trim().trim_end_matches([';', ',']).trim_end();
    let from = from + (right.len() - right.trim_start().len());
    (is_key(key) && is_value(written)).then_some((key, from, written))
}

/// Whether something says that a value is given: `lr 5` could become the difference `lr -5`.
fn is_given(before: &str) -> bool {
    before.trim_end().ends_with(['=', ':']) || before.trim_start().starts_with("#define")
}

fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let offset = |word: &str| word.as_ptr() as usize - code.as_ptr() as usize;
    code.split_whitespace().map(move |word| (offset(word), word))
}

fn kind(written: &str) -> Kind {
    match written {
        _ if Notation::read(written).is_ok() => Kind::Number,
        _ if is_truth(written) => Kind::Truth,
        _ => Kind::Text,
    }
}

fn is_value(written: &str) -> bool {
    let is_string = |quote: char| {
        let inside = written.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        inside.is_some_and(|inside| !inside.contains(quote))
    };
    Notation::read(written).is_ok() || is_truth(written) || is_string('"') || is_string('\'')
}

fn is_truth(written: &str) -> bool {
    matches!(written, "true" | "false" | "True" | "False" | "yes" | "no" | "on" | "off")
}

fn is_key(key: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_-.$".contains(c);
    key.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$') && key.chars().all(is_part) && key.len() <= 80
}

/// The triple quote that is open after a line: text in a docstring is no code.
fn open_quote(line: &str, mut open: Option<&'static str>) -> Option<&'static str> {
    let mut rest = line;
    loop {
        let quote = match open {
            Some(quote) => quote,
            None => {
                ["\"\"\"", "'''"].into_iter().filter(|quote| rest.contains(quote)).min_by_key(|it| rest.find(it))?
            }
        };
        match rest.split_once(quote) {
            Some((_, after)) => rest = after,
            None => return open,
        }
        open = if open.is_some() { None } else { Some(quote) };
    }
}
