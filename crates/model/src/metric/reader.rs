//! Reads a stream line by line, wherever its chunks begin and end.

use super::findings::{Dialect, Findings};
use super::{Reading, document, line};
use crate::spec::Pick;

/// Longer lines are cut: no program states a number that far from its name.
const LINE_LIMIT: usize = 64 * 1024;

/// Reads numbers out of a program's output as it streams by, in constant memory.
#[derive(Debug, Clone)]
pub struct Reader {
    findings: Findings,
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    /// Whether that line is longer than what is kept of it.
    cut: bool,
    /// The latest line that has anything on it, where it may be JSON.
    document: Vec<u8>,
}

impl Reader {
    /// A reader for the metric of this name.
    pub fn new(name: &str, pick: Pick) -> Reader {
        Reader { findings: Findings::new(name, pick), partial: Vec::new(), cut: false, document: Vec::new() }
    }

    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            match self.partial.is_empty() {
                // Most lines lie within one chunk and are read where they are.
                true => self.line(&bytes[..end.min(LINE_LIMIT)], end > LINE_LIMIT),
                false => {
                    self.extend_partial(&bytes[..end]);
                    self.end_partial();
                }
            }
            bytes = &bytes[end + 1..];
        }
        self.extend_partial(bytes);
    }

    /// Reads what is left, which may be a line without an end, and says what it all came to.
    pub fn finish(mut self) -> Reading {
        self.end_partial();
        if let Ok(numbers) = document::numbers(&self.document) {
            self.findings.state_all(Dialect::Json, numbers);
        }
        self.findings.into_reading()
    }

    fn extend_partial(&mut self, bytes: &[u8]) {
        let room = LINE_LIMIT - self.partial.len();
        self.cut |= bytes.len() > room;
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_partial(&mut self) {
        let mut line = std::mem::take(&mut self.partial);
        let cut = std::mem::take(&mut self.cut);
        self.line(&line, cut);
        line.clear();
        self.partial = line;
    }

    fn line(&mut self, line: &[u8], cut: bool) {
        match line.contains(&line::ESCAPE) {
            true => self.clean_line(&line::without_escapes(line), cut),
            false => self.clean_line(line, cut),
        }
    }

    fn clean_line(&mut self, line: &[u8], cut: bool) {
        if line.trim_ascii_start().is_empty() {
            return;
        }
        self.document.clear();
        if line[0] == b'{' && !cut {
            self.document.extend_from_slice(line);
        }
        match line::statement(line) {
            None => self.findings.end_block(),
            // The rest of the number may be in what was cut off.
            Some((dialect, name, text)) if cut => {
                self.findings.state(dialect, name, line::not_a_number(text));
            }
            Some((dialect, name, text)) => self.findings.state(dialect, name, line::value(text)),
        }
    }
}
