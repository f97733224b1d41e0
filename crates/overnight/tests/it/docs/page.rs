//! A page of Markdown, as far as the tests look into it: fenced blocks, the notes before them, code, headings, links.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use regex::Regex;

pub(super) struct Page {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// A fenced block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// Of its first fence, counted from 1.
    pub(super) line: usize,
    /// Where its text is in the page.
    pub(super) range: Range<usize>,
    /// What stands behind the fence: `console`, `toml` …
    pub(super) language: String,
    /// The HTML comment on the line before it.
    pub(super) note: Option<String>,
    pub(super) text: String,
}

impl Page {
    pub(super) fn read(path: PathBuf) -> Page {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Page { path, text }
    }

    /// Its name for messages.
    pub(super) fn name(&self) -> String {
        self.path.strip_prefix(super::root()).unwrap_or(&self.path).display().to_string()
    }

    pub(super) fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let (mut open, mut before, mut end) = (false, "", 0);
        for (number, line) in self.text.split_inclusive('\n').enumerate() {
            let start = end;
            end += line.len();
            match (open, line.trim_start().strip_prefix("```")) {
                (false, Some(language)) => {
                    let note = before.strip_prefix("<!-- ").and_then(|note| note.strip_suffix(" -->"));
                    let (language, note) = (language.trim().to_owned(), note.map(ToOwned::to_owned));
                    blocks.push(Block { line: number + 1, range: end..end, language, note, text: String::new() });
                    open = true;
                }
                (true, Some(_)) => {
                    let block = blocks.last_mut().unwrap();
                    block.range.end = start;
                    block.text = self.text[block.range.clone()].to_owned();
                    open = false;
                }
                (_, None) => {}
            }
            before = line.trim();
        }
        assert!(!open, "{}: a block is not closed", self.name());
        blocks
    }

    /// Everything outside of fenced blocks, lines kept in their places.
    pub(super) fn prose(&self) -> String {
        let mut open = false;
        let keep = |line: &str| {
            let fence = line.trim_start().starts_with("```");
            open ^= fence;
            if open || fence { String::new() } else { line.to_owned() }
        };
        self.text.lines().map(keep).collect::<Vec<_>>().join("\n")
    }

    /// Code between single backticks, each on one line.
    pub(super) fn spans(&self) -> Vec<String> {
        let spans = Regex::new(r"(?s)`` (.+?) ``|`([^`]+)`").unwrap();
        let prose = self.prose();
        let all = spans.captures_iter(&prose).map(|span| span.get(1).or(span.get(2)).unwrap().as_str());
        all.map(|code| code.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    /// The targets of its links.
    pub(super) fn links(&self) -> Vec<String> {
        let links = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
        links.captures_iter(&self.prose()).map(|link| link[1].to_owned()).collect()
    }

    /// The anchors of its headings, as GitHub makes them.
    pub(super) fn anchors(&self) -> Vec<String> {
        let prose = self.prose();
        let headings = prose.lines().filter_map(|line| line.strip_prefix('#')).map(|rest| rest.trim_start_matches('#'));
        headings
            .map(|heading| {
                let kept = heading.trim().to_lowercase();
                let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
                kept.collect::<String>().replace(' ', "-")
            })
            .collect()
    }
}
