//! Parsing what a stranger wrote: never too long, never too deep, and nothing that the scanners cannot hold.

use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, Parser, Tree};

use super::Language;

/// Larger surfaces are data, and would hold up the loop.
pub(super) const SIZE_LIMIT: usize = 1 << 19;

/// The parser reports after every hundred steps. A table of digits needs two of these for a hundred bytes, and most code less
/// than one.
const REPORTS_PER_BYTE: f64 = 0.05;
const REPORTS: f64 = 100.0;

/// A scanner keeps the open blocks in a fixed buffer, and gives up with the whole process where they do not fit.
const SCANNER_BUFFER: usize = 1024;

/// Two bytes are kept for each block of Python that is open, and one for each of at most 255 strings.
const PYTHON_INDENT: usize = 300;

/// At every comment Python's scanner reads on to the next line that is none, so a block of them is read as often as it has
/// lines. So many bytes take about a tenth of a second.
const PYTHON_COMMENT_BYTES: usize = 20_000_000;

/// Two blocks of YAML can begin in one column, with four bytes for each.
const YAML_COLUMN: usize = 120;

/// YAML's scanner counts lines in 15 bits.
const YAML_LINES: usize = 30_000;

/// What is kept for a here-document beside its delimiter.
const HEREDOC_BYTES: usize = 8;

pub(super) fn parse(language: Language, bytes: &[u8]) -> Option<Tree> {
    if bytes.len() > SIZE_LIMIT || bytes.contains(&0) || std::str::from_utf8(bytes).is_err() {
        return None;
    }
    let fits = match language {
        Language::Bash => heredocs_fit(bytes),
        Language::Python => python_fits(bytes),
        Language::Yaml => yaml_fits(bytes),
        _ => true,
    };
    if !fits {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).ok()?;
    let mut left = (REPORTS + bytes.len() as f64 * REPORTS_PER_BYTE) as u64;
    let mut progress = |state: &tree_sitter::ParseState| {
        left = left.saturating_sub(1);
        // Mending an error is where time goes, and nobody wants what comes of it.
        if left == 0 || state.has_error() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let tree = parser.parse_with_options(&mut |at, _| &bytes[at.min(bytes.len())..], None, Some(options))?;
    (!tree.root_node().has_error()).then_some(tree)
}

fn python_fits(bytes: &[u8]) -> bool {
    let (mut comments, mut length, mut read) = (0, 0, 0);
    for line in bytes.split(|byte| *byte == b'\n') {
        let indent = indent(line);
        if indent > PYTHON_INDENT {
            return false;
        }
        length += line.len() + 1;
        match line.get(indent) {
            Some(b'#') => comments += 1,
            None => {}
            Some(_) => {
                read += comments * length;
                (comments, length) = (0, 0);
            }
        }
    }
    read + comments * length <= PYTHON_COMMENT_BYTES
}

fn indent(line: &[u8]) -> usize {
    line.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | 0x0c)).count()
}

/// Whether a block could begin so far to the right that too many are open.
fn yaml_fits(bytes: &[u8]) -> bool {
    let fits = |line: &[u8]| {
        let late = line.get(YAML_COLUMN..).unwrap_or_default();
        let begins = |(at, byte): (usize, &u8)| {
            matches!(byte, b'-' | b'?' | b':')
                && late.get(at + 1).is_none_or(|next| matches!(next, b' ' | b'\t' | b'\r'))
        };
        !late.iter().enumerate().any(begins)
    };
    let mut lines = bytes.split(|byte| *byte == b'\n');
    lines.by_ref().take(YAML_LINES).all(fits) && lines.next().is_none()
}

fn heredocs_fit(bytes: &[u8]) -> bool {
    let mut kept = 0;
    for (at, _) in bytes.windows(2).enumerate().filter(|(_, pair)| pair == b"<<") {
        let delimiter = bytes[at..].iter().take(SCANNER_BUFFER).take_while(|byte| **byte != b'\n').count();
        kept += HEREDOC_BYTES + delimiter;
        if kept >= SCANNER_BUFFER {
            return false;
        }
    }
    true
}
