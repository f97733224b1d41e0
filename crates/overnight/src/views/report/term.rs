//! The page in a terminal, or wherever plain lines go.

use super::doc::{Block, Document, Fold, Item, Line, Tone};
use crate::ui::{one_line, printable};
use crate::views::board::Plot;
use crate::views::chart::{Cell, Role, Size, braille, scene};

/// Where it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Screen {
    pub(crate) columns: usize,
    pub(crate) colour: bool,
}

/// Lines longer than this are hard to read, however wide the terminal is.
const WIDEST: usize = 110;
const NARROWEST: usize = 40;
const CHART_ROWS: usize = 18;
/// The column in which what a name stands for begins.
const NAMES: usize = 12;

pub(crate) fn terminal(document: &Document, plot: Option<&Plot>, screen: Screen) -> String {
    let columns = screen.columns.clamp(NARROWEST, WIDEST);
    let mut page = Page { lines: Vec::new(), columns, colour: screen.colour };
    page.lines.push(page.paint(&one_line(&document.title), Tone::Strong));
    page.put(0, 0, &document.about, Some(Tone::Faint));
    for section in &document.sections {
        page.lines.push(String::new());
        if !section.title.is_empty() {
            page.lines.push(page.paint(&one_line(&section.title).to_uppercase(), Tone::Strong));
        }
        for block in &section.blocks {
            page.block(block, plot);
        }
    }
    page.lines.join("\n")
}

struct Page {
    lines: Vec<String>,
    columns: usize,
    colour: bool,
}

impl Page {
    fn block(&mut self, block: &Block, plot: Option<&Plot>) {
        match block {
            Block::Lead(line) => self.put(0, 0, line, None),
            Block::Text(line) => self.put(2, 2, line, None),
            Block::Note(line) => self.put(2, 2, line, Some(Tone::Faint)),
            Block::Facts(facts) => {
                for (name, line) in facts {
                    let begin = self.lines.len();
                    self.put(2 + NAMES, 2 + NAMES, line, None);
                    self.head(begin, &format!("  {:<NAMES$}", one_line(name)));
                }
            }
            Block::List(lines) => {
                for line in lines {
                    let begin = self.lines.len();
                    self.put(4, 4, line, None);
                    self.head(begin, "  · ");
                }
            }
            Block::Items(items) => items.iter().for_each(|item| self.item(item)),
            Block::Commands(commands) => {
                let widest = commands.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0).min(60);
                for (command, what) in commands {
                    let (typed, what) = (one_line(command), self.paint(&format!("# {what}"), Tone::Faint));
                    self.lines.push(format!("  {typed:<widest$}  {what}"));
                }
            }
            Block::Code(text) => self.lines.extend(printable(text).lines().map(|line| format!("  {line}"))),
            Block::Folds(folds) => {
                for Fold { head, parts } in folds {
                    self.lines.push(format!("  {}", one_line(head)));
                    for (title, text) in parts {
                        self.lines.push(format!("    {}", one_line(title)));
                        self.lines.extend(printable(text).lines().map(|line| format!("      {line}")));
                    }
                }
            }
            Block::Diff(text) => self.diff(text, 2),
            Block::Chart => self.chart(plot),
        }
    }

    fn item(&mut self, item: &Item) {
        let Item { name, figure, text, details, diff } = item;
        let begin = self.lines.len();
        let mut head = Line::default();
        if let Some(figure) = figure {
            head = head.with(figure.text.clone(), figure.tone).then("  ");
        }
        head.0.extend(text.0.clone());
        self.put(8, 8, &head, None);
        self.head(begin, &format!("{:>6}  ", one_line(name)));
        details.iter().filter(|line| !line.is_empty()).for_each(|line| self.put(8, 8, line, None));
        if let Some(diff) = diff {
            self.diff(diff, 8);
        }
    }

    /// What was changed, without the lines around it: `show` has those.
    fn diff(&mut self, text: &str, indent: usize) {
        for line in printable(text).lines() {
            let tone = match line.chars().next() {
                Some('+') if line.starts_with("+++") => continue,
                Some('-') if line.starts_with("---") => continue,
                Some('+') => Tone::Good,
                Some('-') => Tone::Bad,
                Some('…') => Tone::Faint,
                _ => continue,
            };
            let room = self.columns.saturating_sub(indent);
            let line: String = match line.chars().count() > room {
                true => line.chars().take(room.saturating_sub(1)).chain(['…']).collect(),
                false => line.to_owned(),
            };
            self.lines.push(format!("{}{}", " ".repeat(indent), self.paint(&line, tone)));
        }
    }

    fn chart(&mut self, plot: Option<&Plot>) {
        let Some(plot) = plot else { return };
        let scene = scene(plot, Size::terminal(self.columns - 2, CHART_ROWS));
        for row in braille(&scene) {
            let mut text = String::from("  ");
            for Cell { sign, role } in row {
                match role.and_then(tone).filter(|_| self.colour && sign != ' ') {
                    Some(tone) => text += &self.paint(&sign.to_string(), tone),
                    None => text.push(sign),
                }
            }
            self.lines.push(text.trim_end().to_owned());
        }
        for note in &scene.notes {
            self.put(2, 2, &note.as_str().into(), Some(Tone::Faint));
        }
    }

    /// Words, wrapped, from one column on.
    fn put(&mut self, first: usize, rest: usize, line: &Line, tone: Option<Tone>) {
        let mut text = " ".repeat(first);
        let mut used = first;
        let mut is_begin = true;
        for span in &line.0 {
            let shown = one_line(&span.text);
            let tone = tone.filter(|_| span.tone == Tone::Plain).unwrap_or(span.tone);
            for word in shown.split_inclusive(' ') {
                let width = word.trim_end().chars().count();
                if used + width > self.columns && !is_begin {
                    self.lines.push(text.trim_end().to_owned());
                    (text, used, is_begin) = (" ".repeat(rest), rest, true);
                }
                // A space at the beginning of a line is one of its own making.
                if is_begin && word.trim().is_empty() {
                    continue;
                }
                text += &self.paint(word, tone);
                used += word.chars().count();
                is_begin = false;
            }
        }
        self.lines.push(text.trim_end().to_owned());
    }

    /// Puts a name into the room that was left for it.
    fn head(&mut self, at: usize, name: &str) {
        if let Some(line) = self.lines.get_mut(at) {
            let rest = line.trim_start_matches(' ').to_owned();
            *line = format!("{name}{rest}").trim_end().to_owned();
        }
    }

    fn paint(&self, text: &str, tone: Tone) -> String {
        let code = match tone {
            _ if !self.colour => return text.to_owned(),
            Tone::Plain => return text.to_owned(),
            Tone::Strong => "1",
            Tone::Code => "36",
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Doubt => "33",
            Tone::Faint => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// How a mark of the chart is shown; none where it is shown as text is.
pub(crate) fn tone(role: Role) -> Option<Tone> {
    Some(match role {
        Role::Kept => Tone::Good,
        Role::Broken => Tone::Bad,
        Role::Refused | Role::Retracted => Tone::Doubt,
        Role::Champion => Tone::Code,
        Role::NotBetter => return None,
        Role::Grid | Role::Baseline | Role::Noise | Role::Interval => Tone::Faint,
    })
}
