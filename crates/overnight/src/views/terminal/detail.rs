//! One experiment in the place of everything: what it changed, what it printed, what happened to it.

use ratatui::layout::Rect;

use super::list::tone;
use super::pen::{Pen, wrap};
use super::screen::{Opened, Tab};
use crate::views::report::{Line, Tone};
use crate::views::term;

/// The column in which what a name stands for begins.
const NAMES: usize = 12;
/// How many rows facts may have, and one of them.
const FACTS: usize = 8;
const ROWS: usize = 2;

pub(super) fn detail(pen: &mut Pen<'_>, area: Rect, opened: &Opened) {
    let verdict = opened.row.verdict;
    let title = Line::default()
        .with(term::whose(opened.row.experiment), Tone::Strong)
        .then(" · ")
        .with(verdict.map_or("no verdict yet", |verdict| verdict.name()), verdict.map_or(Tone::Faint, tone));
    pen.line(area, 0, &title);
    let facts = facts(opened, usize::from(area.width));
    for (row, (name, said)) in facts.iter().enumerate() {
        let line = Line::default().with(format!("{name:<NAMES$}"), Tone::Faint).then(said.as_str());
        pen.line(area, row as u16 + 1, &line);
    }
    let tabs = facts.len() as u16 + 1;
    pen.rule(area, tabs, "");
    let mut x = area.x + 2;
    for tab in Tab::ALL {
        let shown = if tab == opened.tab { format!("[{}]", tab.name()) } else { format!(" {} ", tab.name()) };
        let tone = if tab == opened.tab { Tone::Strong } else { Tone::Faint };
        x = pen.text(Rect { x, width: (area.x + area.width).saturating_sub(x), ..area }, tabs, &shown, tone);
    }
    let body = body(area, opened);
    let lines = lines(opened, usize::from(body.width));
    let (height, count) = (usize::from(body.height), lines.len());
    let top = opened.scroll.min(count.saturating_sub(height));
    for (row, (text, tone)) in lines.iter().skip(top).take(height).enumerate() {
        pen.text(body, row as u16, text, *tone);
    }
    if count > height {
        let place = format!(" {}–{} of {count} ", top + 1, (top + height).min(count));
        pen.right(Rect { width: area.width.saturating_sub(1), ..area }, tabs, &place, Tone::Faint);
    }
}

/// How far it can be scrolled, and how many rows are seen at once.
pub(super) fn extent(area: Rect, opened: &Opened) -> (usize, usize) {
    let body = body(area, opened);
    let height = usize::from(body.height);
    (lines(opened, usize::from(body.width)).len().saturating_sub(height), height)
}

fn body(area: Rect, opened: &Opened) -> Rect {
    let above = facts(opened, usize::from(area.width)).len() as u16 + 2;
    Rect { y: area.y + above.min(area.height), height: area.height.saturating_sub(above), ..area }
}

fn facts(opened: &Opened, width: usize) -> Vec<(&str, String)> {
    let mut rows = Vec::new();
    for (name, said) in &opened.facts {
        let parts = wrap(said, width.saturating_sub(NAMES));
        for (index, part) in parts.iter().take(ROWS).enumerate() {
            let more = if index + 1 == ROWS && parts.len() > ROWS { "…" } else { "" };
            rows.push((if index == 0 { name.as_str() } else { "" }, format!("{part}{more}")));
        }
    }
    rows.truncate(FACTS);
    rows
}

fn lines(opened: &Opened, width: usize) -> Vec<(String, Tone)> {
    let text = opened.text();
    if text.is_empty() {
        let none = match opened.tab {
            Tab::Diff => "it changed nothing, or was not proposed yet",
            Tab::Output => "nothing was printed, or it is still running",
            Tab::Trace => "nothing happened yet",
        };
        return vec![(none.to_owned(), Tone::Faint)];
    }
    let of = |line: &str| match (opened.tab, line.as_bytes().first()) {
        (Tab::Diff, _) if line.starts_with("+++") || line.starts_with("---") => Tone::Strong,
        (Tab::Diff, Some(b'+')) => Tone::Good,
        (Tab::Diff, Some(b'-')) => Tone::Bad,
        (Tab::Diff, Some(b'@')) => Tone::Code,
        (Tab::Output, Some(b'=')) if line.starts_with("== ") => Tone::Strong,
        _ => Tone::Plain,
    };
    let rows = |line: &str| {
        let tone = of(line);
        wrap(&line.replace('\t', "    "), width).into_iter().map(move |row| (row, tone)).collect::<Vec<_>>()
    };
    text.lines().flat_map(rows).collect()
}
