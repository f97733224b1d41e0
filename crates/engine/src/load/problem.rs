//! What is wrong with a file, shown where it is wrong.

use std::fmt;
use std::ops::Range;

/// One thing that is wrong, with the line it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// The whole line.
    pub source: String,
    /// How many characters are underlined; 0 where the problem is that something is not there.
    pub width: usize,
    pub message: String,
    pub hint: Option<String>,
}

/// Everything that is wrong with one file, in its order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problems {
    pub file: String,
    pub list: Vec<Problem>,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<_> = self.list.iter().map(|problem| render(&self.file, problem)).collect();
        f.write_str(&shown.join("\n\n"))
    }
}

/// Shows a problem as compilers do, without colours.
pub fn render(file: &str, problem: &Problem) -> String {
    let Problem { line, column, source, width, message, hint } = problem;
    let gutter = " ".repeat(line.to_string().len() + 1);
    let mut text = format!("error: {message}\n{gutter}--> {file}:{line}:{column}");
    if *width > 0 {
        let before: usize = source.chars().take(column - 1).map(|c| visible(c).chars().count()).sum();
        let marked = source.chars().skip(column - 1).take(*width).map(|c| visible(c).chars().count()).sum::<usize>();
        let (indent, carets) = (" ".repeat(before), "^".repeat(marked.max(1)));
        let source: String = source.chars().map(visible).collect();
        text += &format!("\n{gutter} |\n {line} | {source}\n{gutter} | {indent}{carets}");
    }
    if let Some(hint) = hint {
        text += &format!("\n{gutter} = hint: {hint}");
    }
    text
}

/// Tabs have no width of their own, and a file must not be able to command the terminal.
fn visible(c: char) -> String {
    match c {
        '\t' => "    ".to_owned(),
        c if c.is_control() => "\u{fffd}".to_owned(),
        c => c.to_string(),
    }
}

/// Collects problems of one text by byte range.
pub(super) struct Collector<'a> {
    text: &'a str,
    found: Vec<(Range<usize>, String, Option<String>)>,
    secrets: Vec<Range<usize>>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(text: &'a str) -> Collector<'a> {
        Collector { text, found: Vec::new(), secrets: Vec::new() }
    }

    pub(super) fn add(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        let hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        self.found.push((span, message.into(), hint));
    }

    /// Keeps a range from being shown, whatever problem its line has.
    pub(super) fn conceal(&mut self, span: Range<usize>) {
        self.secrets.push(span);
    }

    /// The text that is being read.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// The line of a place, counted from 1.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.text[..floor(self.text, at)].matches('\n').count() + 1
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(super) fn finish(mut self, file: &str) -> Problems {
        self.found.sort_by_key(|(span, ..)| span.start);
        let found = std::mem::take(&mut self.found);
        let list = found.into_iter().map(|(span, message, hint)| self.problem(span, message, hint)).collect();
        Problems { file: file.to_owned(), list }
    }

    fn problem(&self, span: Range<usize>, message: String, hint: Option<String>) -> Problem {
        let start = floor(self.text, span.start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        // Only the first line of what spans several.
        let end = floor(self.text, span.end).clamp(start, line_end);
        let source: String = self.text[line_start..line_end]
            .char_indices()
            .map(|(at, c)| match self.secrets.iter().any(|secret| secret.contains(&(line_start + at))) {
                true => '*',
                false => c,
            })
            .collect();
        // A caret even at the end of a line, where something is missing.
        let width = match span.is_empty() {
            true => 0,
            false => self.text[start..end].trim_end().chars().count().max(1),
        };
        Problem {
            line: self.line_of(start),
            column: self.text[line_start..start].chars().count() + 1,
            source: source.trim_end_matches('\r').to_owned(),
            width,
            message,
            hint,
        }
    }
}

/// The nearest character boundary at or before a place.
pub(super) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
