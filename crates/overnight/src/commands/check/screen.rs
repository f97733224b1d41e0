//! The screen of a check: each finding as soon as it is known, on as few lines as it takes.

use super::report::Finding;
use crate::ui::{Live, printable};

/// As wide as most windows, and short enough to read.
pub(super) const WIDTH: usize = 100;
/// Where the words of a finding begin.
const INDENT: usize = 15;
/// More of an output than this belongs to a pager.
const OUTPUT_LINES: usize = 5;

/// Where findings go: to people, unless data was asked for. They are what a check is for, and beside the point of others.
pub(super) struct Screen {
    pub(super) live: Live,
    pub(super) is_quiet: bool,
    pub(super) is_aside: bool,
}

impl Screen {
    pub(super) fn line(&self, text: &str) {
        match (self.is_quiet, self.is_aside) {
            (true, _) => {}
            (false, true) => self.live.say(text),
            (false, false) => self.live.data(text),
        }
    }

    pub(super) fn show(&self, finding: &Finding) {
        lines(finding).iter().for_each(|line| self.line(line));
    }
}

pub(super) fn lines(finding: &Finding) -> Vec<String> {
    let Finding { topic, level, what, next, output } = finding;
    let mut lines = Vec::new();
    let blank = " ".repeat(INDENT);
    let head = format!("{:<5} {topic:<9}", level.word());
    for (n, part) in wrapped(&printable(what), WIDTH - INDENT).into_iter().enumerate() {
        lines.push(format!("{}{part}", if n == 0 { &head } else { &blank }));
    }
    for line in output.iter().rev().take(OUTPUT_LINES).rev() {
        let line: String = printable(line).replace('\t', " ").chars().take(WIDTH - INDENT - 2).collect();
        lines.push(format!("{blank}| {line}"));
    }
    for (n, part) in wrapped(&printable(next.as_deref().unwrap_or("")), WIDTH - INDENT - 2).into_iter().enumerate() {
        lines.push(format!("{blank}{}{part}", if n == 0 { "→ " } else { "  " }));
    }
    lines
}

/// Breaks a text at blanks, and never inside what is to be copied; nothing gives nothing.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words(text) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// What stands between blanks; a stretch in backticks is one.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.split(move |c: char| {
        is_code ^= c == '`';
        c.is_whitespace() && !is_code
    })
    .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::report::Level;
    use super::*;

    #[test]
    fn a_finding_is_wrapped_under_itself_and_ends_with_its_next_step() {
        let mut finding = Finding::new("runs", Level::Fail, "word ".repeat(30)).next("do this");
        finding.output = (1..=7).map(|n| format!("line\x1b[2J {n}")).collect();
        let shown = lines(&finding);
        assert!(shown.iter().all(|line| line.chars().count() <= WIDTH), "{shown:#?}");
        assert!(shown[0].starts_with("fail  runs     word") && shown[1].starts_with("               word"));
        assert_eq!(shown[2], "               | line[2J 3");
        assert_eq!(shown.last().unwrap(), "               → do this");
    }

    #[test]
    fn what_is_to_be_copied_stays_on_one_line() {
        assert_eq!(wrapped("add `inputs = [1]` to it", 10), ["add", "`inputs = [1]`", "to it"]);
        assert_eq!(wrapped("", 10), Vec::<String>::new());
    }
}
