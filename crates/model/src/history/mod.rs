//! What other tools recorded: their formats, read and printed.
//!
//! Everything read here is a claim of another tool. It is kept beside the study and never becomes an experiment of
//! it: nothing of it is judged, counted or compared with.

mod columns;
mod csv;
mod guess;
mod jsonl;
mod lines;
mod past;
mod pi_log;
mod printer;
mod results_tsv;
mod tally;
mod words;

pub use past::{Entry, Heading, Past};
pub use printer::Printer;
pub use tally::Tally;
pub use words::rfc3339;

use thiserror::Error;

/// A file format that others write or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Five columns, as autoresearch's agents keep them; other columns are read by their names.
    ResultsTsv,
    /// The `log.jsonl` of pi-autoresearch, in segments.
    Pi,
    /// The fields of `log --json` as columns.
    Csv,
    /// The lines of `log --json`.
    Jsonl,
}

impl Format {
    pub const ALL: [Format; 4] = [Format::ResultsTsv, Format::Pi, Format::Csv, Format::Jsonl];

    pub fn name(self) -> &'static str {
        match self {
            Format::ResultsTsv => "results-tsv",
            Format::Pi => "pi",
            Format::Csv => "csv",
            Format::Jsonl => "jsonl",
        }
    }

    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format that a file of this name is expected to have.
    pub fn of_file_name(name: &str) -> Option<Format> {
        guess::by_name(name)
    }

    /// The format of a file, by what it holds and then by its name.
    pub fn guess(name: &str, bytes: &[u8]) -> Option<Format> {
        guess::by_contents(bytes).or_else(|| guess::by_name(name))
    }
}

/// The first thing in a file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct Problem {
    pub line: u64,
    pub what: String,
    /// The beginning of the line, as it stands there.
    pub text: String,
    pub hint: Option<&'static str>,
    /// The line looks cut off, as by a writer that was killed.
    cut: bool,
}

impl Problem {
    fn new(line: u64, text: &[u8], what: impl Into<String>) -> Problem {
        Problem { line, what: what.into(), text: lines::excerpt(text), hint: None, cut: false }
    }

    fn hint(mut self, hint: &'static str) -> Problem {
        self.hint = Some(hint);
        self
    }

    fn cut(mut self, cut: bool) -> Problem {
        self.cut = cut;
        self
    }
}

/// Which column or key holds the metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column<'a> {
    /// One of the usual names, or what the study calls its metric.
    Usual(&'a str),
    /// This one and no other, because a person said so.
    Named(&'a str),
}

impl Column<'_> {
    /// What to say where there is no such column.
    fn missing(self) -> String {
        match self {
            Column::Usual(metric) => format!("no column is called `metric` or `{metric}`"),
            Column::Named(name) => format!("no column is called `{name}`"),
        }
    }
}

/// Reads a whole file, an entry at a time.
///
/// A last line that its writer could not finish is left out; its number is returned.
pub fn read(
    format: Format,
    bytes: &[u8],
    metric: Column<'_>,
    each: &mut dyn FnMut(Entry),
) -> Result<Option<u64>, Problem> {
    let mut rows = 0u64;
    let mut count = |entry: Entry| {
        rows += u64::from(matches!(entry, Entry::Row(_)));
        each(entry);
    };
    let bytes = lines::without_mark(bytes)?;
    let outcome = match format {
        Format::ResultsTsv => results_tsv::read(bytes, metric, &mut count),
        Format::Pi => pi_log::read(bytes, &mut count),
        Format::Csv => csv::read(bytes, metric, &mut count),
        Format::Jsonl => jsonl::read(bytes, metric, &mut count),
    };
    match outcome {
        Ok(()) => Ok(None),
        Err(problem) if problem.cut && rows > 0 => Ok(Some(problem.line)),
        Err(problem) => Err(problem),
    }
}

#[cfg(test)]
mod tests;
