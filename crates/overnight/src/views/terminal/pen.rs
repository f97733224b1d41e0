//! Writing into a frame. Whatever comes here is taken for foreign and cleaned.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::ui::one_line;
use crate::views::report::{Line, Tone};

/// Colours are the terminal's own sixteen, and nothing has a background: what is readable is the terminal's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Palette {
    pub(crate) colour: bool,
}

impl Palette {
    pub(super) fn style(self, tone: Tone) -> Style {
        let style = Style::new();
        let coloured = |colour: Color| if self.colour { style.fg(colour) } else { style };
        match tone {
            Tone::Plain => style,
            Tone::Strong => style.add_modifier(Modifier::BOLD),
            Tone::Faint => style.add_modifier(Modifier::DIM),
            Tone::Code => coloured(Color::Cyan),
            Tone::Good => coloured(Color::Green).add_modifier(Modifier::BOLD),
            Tone::Bad => coloured(Color::Red),
            Tone::Doubt => coloured(Color::Yellow),
        }
    }
}

pub(super) struct Pen<'a> {
    pub(super) buffer: &'a mut Buffer,
    pub(super) palette: Palette,
}

impl Pen<'_> {
    /// Writes words from the left of an area's row; what does not fit is cut, and that is to be seen. Gives where it ended.
    pub(super) fn text(&mut self, area: Rect, row: u16, text: &str, tone: Tone) -> u16 {
        self.line(area, row, &Line::default().with(text, tone))
    }

    pub(super) fn line(&mut self, area: Rect, row: u16, line: &Line) -> u16 {
        if row >= area.height || area.width == 0 {
            return area.x;
        }
        let (mut x, end) = (area.x, area.x + area.width);
        let whole: usize = line.0.iter().map(|span| clean(&span.text).width()).sum();
        let is_cut = whole > usize::from(area.width);
        let limit = if is_cut { end - 1 } else { end };
        for span in &line.0 {
            let style = self.palette.style(span.tone);
            let room = usize::from(limit.saturating_sub(x));
            (x, _) = self.buffer.set_stringn(x, area.y + row, fit(&clean(&span.text), room), room, style);
        }
        if is_cut {
            (x, _) = self.buffer.set_stringn(x, area.y + row, "…", 1, self.palette.style(Tone::Faint));
        }
        x
    }

    /// Words at the right end of a row.
    pub(super) fn right(&mut self, area: Rect, row: u16, text: &str, tone: Tone) {
        let width = (clean(text).width() as u16).min(area.width);
        let area = Rect { x: area.x + area.width - width, width, ..area };
        self.text(area, row, text, tone);
    }

    /// A rule across an area with a name in it.
    pub(super) fn rule(&mut self, area: Rect, row: u16, name: &str) {
        let name = if name.is_empty() { String::new() } else { format!(" {name} ") };
        let rest = usize::from(area.width).saturating_sub(clean(&name).width() + 1);
        let line = Line::default().with("─", Tone::Faint).with(name, Tone::Strong).with("─".repeat(rest), Tone::Faint);
        self.line(area, row, &line);
    }

    pub(super) fn selected(&mut self, area: Rect, row: u16) {
        if row < area.height {
            let row = Rect { y: area.y + row, height: 1, ..area };
            self.buffer.set_style(row, Style::new().add_modifier(Modifier::REVERSED));
        }
    }
}

/// Marks on one letter: more of them are no language, and run over the rows above and below.
const MARKS: usize = 2;

/// Foreign text as it may stand in one row of a terminal. Characters that nobody sees are made visible; those that make
/// others wider, on which terminals do not agree, are left out.
pub(super) fn clean(text: &str) -> String {
    let mut marks = 0;
    let mut shown = String::with_capacity(text.len());
    for letter in one_line(text).chars() {
        marks = if letter.width() == Some(0) { marks + 1 } else { 0 };
        match letter {
            '\u{fe00}'..='\u{fe0f}' => {}
            letter if is_unseen(letter) => shown.push(char::REPLACEMENT_CHARACTER),
            _ if marks > MARKS => {}
            letter => shown.push(letter),
        }
    }
    shown
}

/// Characters without a picture of their own.
fn is_unseen(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}' | '\u{2029}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The beginning of a text that is as wide as there is room.
pub(super) fn fit(text: &str, room: usize) -> &str {
    let mut used = 0;
    for (at, letter) in text.char_indices() {
        used += letter.width().unwrap_or(0);
        if used > room {
            return &text[..at];
        }
    }
    text
}

/// The same, with a sign where something is missing.
pub(super) fn cut(text: &str, room: usize) -> String {
    let text = clean(text);
    match text.width() > room {
        true => format!("{}…", fit(&text, room.saturating_sub(1))),
        false => text,
    }
}

/// A text in rows of a width, broken at blanks where there are any near the end.
pub(super) fn wrap(text: &str, room: usize) -> Vec<String> {
    let (text, room) = (clean(text), room.max(1));
    let (mut rows, mut rest) = (Vec::new(), text.as_str());
    while rest.width() > room {
        let head = fit(rest, room);
        // A letter that is wider than the room has to go somewhere.
        let head = if head.is_empty() { &rest[..rest.chars().next().map_or(1, char::len_utf8)] } else { head };
        let end = head.rfind(' ').filter(|at| *at > head.len() / 2).map_or(head.len(), |at| at + 1);
        rows.push(rest[..end].trim_end().to_owned());
        rest = &rest[end..];
    }
    rows.push(rest.to_owned());
    rows
}
