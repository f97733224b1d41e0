//! Everything that is said of one experiment, on a screen and as a page.

use super::trace::Shown;
use crate::ui::printable;
use crate::views::report::{self, Block, Document, Fold, Line, Section, Tone};

/// How much of an output is shown unasked.
const TAIL_LINES: usize = 20;
/// How much of one line: two or three rows of a terminal.
const LINE_LIMIT: usize = 240;
/// A page has room for more.
const PAGE_LINES: usize = 2000;
const PAGE_LINE_LIMIT: usize = 2000;
/// What a browser still opens at once.
const PAGE_BYTES: usize = 4 << 20;

/// A name, and what it stands for.
pub(super) type Fact<'a> = (&'a str, String);

pub(crate) struct Sheet {
    pub(super) title: String,
    pub(crate) facts: Vec<(String, String)>,
    /// Trials and guards, each on a line.
    pub(super) trials: Vec<String>,
    pub(crate) diff: String,
    /// What gave it, how long it was in all, and what was kept of it.
    pub(super) output: Option<(String, u64, String)>,
    /// What models were asked for it, on a page alone.
    pub(super) trace: Vec<Shown>,
    pub(super) trust: Option<String>,
}

impl Sheet {
    pub(super) fn lines(&self) -> Vec<String> {
        let Sheet { title, facts, trials, diff, output, trace: _, trust } = self;
        let mut lines = vec![title.clone()];
        lines.extend(lines_of(facts));
        lines.extend(trials.iter().cloned());
        if !diff.is_empty() {
            lines.push(String::new());
            lines.push(printable(diff).trim_end().to_owned());
        }
        if let Some((title, bytes, text)) = output {
            lines.push(String::new());
            lines.push(format!("end of the output of {title} ({bytes} bytes in all):"));
            lines.extend(tail(text, TAIL_LINES, LINE_LIMIT).iter().map(|line| format!("  {line}")));
        }
        if let Some(trust) = trust {
            lines.push(String::new());
            lines.push(trust.clone());
        }
        lines
    }

    pub(super) fn html(&self, study: &str) -> String {
        let Sheet { title, facts, trials, diff, output, trace, trust } = self;
        let facts = facts.iter().map(|(name, said)| (name.to_string(), Line::from(said.as_str())));
        let mut sections = vec![Section::new("", vec![Block::Facts(facts.collect())])];
        if !trials.is_empty() {
            let lines: Vec<&str> = trials.iter().map(|line| line.trim()).collect();
            sections.push(Section::new("Trials", vec![Block::Code(lines.join("\n"))]));
        }
        if !diff.is_empty() {
            sections.push(Section::new("What it changed", vec![Block::Diff(diff.clone())]));
        }
        if let Some((title, bytes, text)) = output {
            let kept = tail(text, PAGE_LINES, PAGE_LINE_LIMIT).join("\n");
            let end = if *bytes as usize > kept.len() + 1 { "the end of " } else { "" };
            let note = Line::default().with(format!("{end}{bytes} bytes"), Tone::Faint);
            sections.push(Section::new(&format!("The output of {title}"), vec![Block::Note(note), Block::Code(kept)]));
        }
        if !trace.is_empty() {
            sections.push(Section::new("What models were asked", conversation(trace)));
        }
        let about =
            Line::from(format!("study {study}{}", trust.as_ref().map_or(String::new(), |it| format!(" · {it}"))));
        report::html(&Document { title: format!("overnight · {title}"), about, sections }, None)
    }
}

/// A fold for each call, with a fold in it for whatever is long.
fn conversation(calls: &[Shown]) -> Vec<Block> {
    let mut room = PAGE_BYTES;
    let (mut folds, mut left_out) = (Vec::new(), 0);
    for call in calls {
        let parts: Vec<(String, String)> = call
            .parts
            .iter()
            .map(|part| (part.title.clone(), head(&part.text, PAGE_LINES, PAGE_LINE_LIMIT)))
            .chain(call.notes.iter().map(|note| (note.clone(), String::new())))
            .collect();
        let length: usize = parts.iter().map(|(title, text)| title.len() + text.len()).sum();
        match room.checked_sub(length) {
            Some(rest) => {
                room = rest;
                folds.push(Fold { head: call.head.clone(), parts });
            }
            None => left_out += 1,
        }
    }
    let mut blocks = vec![Block::Folds(folds)];
    if left_out > 0 {
        let note = format!("{left_out} calls are too long for a page: overnight show N --trace --full");
        blocks.push(Block::Note(Line::default().with(note, Tone::Faint)));
    }
    blocks
}

/// The first lines of a text, each to a limit, and how many there are more.
fn head(text: &str, lines: usize, limit: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    let mut shown: Vec<String> = all.iter().take(lines).map(|line| cut(line, limit)).collect();
    if all.len() > lines {
        shown.push(format!("… {} more lines", all.len() - lines));
    }
    shown.join("\n")
}

pub(super) fn lines_of<N: AsRef<str>>(facts: &[(N, String)]) -> Vec<String> {
    facts.iter().map(|(name, said)| format!("  {:<11} {}", name.as_ref(), printable(said))).collect()
}

/// The last lines of a text, each to a limit.
fn tail(text: &str, lines: usize, limit: usize) -> Vec<String> {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].iter().map(|line| cut(line, limit)).collect()
}

/// The beginning of a line that would fill the screen; `--output` has all of it.
fn cut(line: &str, limit: usize) -> String {
    match line.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
