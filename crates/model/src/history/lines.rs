//! Bytes as lines, with their numbers, whoever wrote them.

use super::Problem;

/// One line without its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) number: u64,
    pub(super) bytes: &'a [u8],
    /// Whether it has an end: the last one of a file may not.
    pub(super) ended: bool,
}

impl<'a> Line<'a> {
    pub(super) fn text(&self) -> Result<&'a str, Problem> {
        std::str::from_utf8(self.bytes).map_err(|error| {
            let cut = !self.ended && error.error_len().is_none();
            self.problem("it is not UTF-8").hint("convert it first, as in `iconv -f latin1 -t utf-8 FILE`").cut(cut)
        })
    }

    pub(super) fn problem(&self, what: impl Into<String>) -> Problem {
        Problem::new(self.number, self.bytes, what)
    }
}

/// The lines that hold something, with either kind of line end.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let numbered = bytes.split_inclusive(|byte| *byte == b'\n').zip(1..);
    let lines = numbered.map(|(bytes, number)| {
        let (bytes, ended) = bytes.strip_suffix(b"\n").map_or((bytes, false), |bytes| (bytes, true));
        Line { number, bytes: bytes.strip_suffix(b"\r").unwrap_or(bytes), ended }
    });
    lines.filter(|line| !line.bytes.trim_ascii().is_empty())
}

/// Takes away the mark that some editors put at the beginning of a file.
pub(super) fn without_mark(bytes: &[u8]) -> Result<&[u8], Problem> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        let hint = "convert it first, as in `iconv -f utf-16 -t utf-8 FILE`";
        return Err(Problem::new(1, b"", "the file is UTF-16").hint(hint));
    }
    Ok(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

/// The beginning of a line, for a message.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    const LENGTH: usize = 80;
    // A character has four bytes at most, so more of the line is not needed.
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * (LENGTH + 1))]).into_owned();
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
