//! A screen as a frame: a pure function of what is shown and how large the terminal is.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::pen::{Palette, Pen, wrap};
use super::screen::Screen;
use super::{chart, detail, doing, help, list, panel};
use crate::views::report::{Line, Tone, sentence};

/// Where everything goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Areas {
    head: Rect,
    chart: Rect,
    /// What slots and agents do; on a wide screen the numbers, too.
    side: Rect,
    list: Rect,
    foot: Rect,
    is_wide: bool,
}

/// Below it nothing can be laid out.
const LEAST: (u16, u16) = (40, 12);
/// From here on there is room for a column beside the chart.
const WIDE: (u16, u16) = (130, 30);
const SIDE: u16 = 64;

impl Areas {
    pub(crate) fn of(area: Rect, screen: &Screen) -> Areas {
        let head_rows = 1 + headline(screen, area.width).len() as u16;
        let head = Rect { height: head_rows.min(area.height), ..area };
        let foot_rows = 2 + trust(screen, area.width).len() as u16;
        let foot = Rect { y: area.y + area.height.saturating_sub(foot_rows), height: foot_rows, ..area };
        let middle = Rect { y: head.y + head.height, height: foot.y.saturating_sub(head.y + head.height), ..area };
        if area.width >= WIDE.0 && area.height >= WIDE.1 {
            let left = Rect { width: area.width - SIDE - 2, ..middle };
            let chart = Rect { height: middle.height * 3 / 5, ..left };
            let list = Rect { y: chart.y + chart.height, height: middle.height - chart.height, ..left };
            let side = Rect { x: area.x + area.width - SIDE, width: SIDE, ..middle };
            return Areas { head, chart, side, list, foot, is_wide: true };
        }
        // What happens matters more than a tall picture: the list has a third, the chart what is left.
        let rows = (side_lines(screen, side_room(middle.height)).len() as u16).min(middle.height / 3);
        let list_rows = (middle.height / 3).max(4).min(middle.height);
        let chart_rows = middle.height.saturating_sub(rows + list_rows);
        let chart = Rect { height: chart_rows, ..middle };
        let side = Rect { y: chart.y + chart.height, height: rows, ..middle };
        let list = Rect { y: side.y + side.height, height: middle.height.saturating_sub(chart_rows + rows), ..middle };
        Areas { head, chart, side, list, foot, is_wide: false }
    }

    /// How many rows a page of what is scrolled has; how far an experiment that is open can be scrolled.
    pub(crate) fn page(area: Rect, screen: &Screen) -> (usize, usize) {
        match &screen.opened {
            Some(opened) => {
                let (most, page) = detail::extent(opened_area(area), opened);
                (page, most)
            }
            None => (usize::from(Areas::of(area, screen).list.height).saturating_sub(1), 0),
        }
    }
}

/// Draws all of it, and tells where the cursor is, if it is to be seen.
pub(crate) fn draw(buffer: &mut Buffer, screen: &Screen, palette: Palette) -> Option<(u16, u16)> {
    let area = buffer.area;
    let mut pen = Pen { buffer, palette };
    if area.width < LEAST.0 || area.height < LEAST.1 {
        pen.text(area, 0, &format!("too small: {} × {} at least", LEAST.0, LEAST.1), Tone::Plain);
        return None;
    }
    if screen.is_help {
        help::help(&mut pen, area, screen);
        return None;
    }
    if let Some(opened) = &screen.opened {
        detail::detail(&mut pen, opened_area(area), opened);
        return foot_row(&mut pen, area, area.height - 1, screen);
    }
    let areas = Areas::of(area, screen);
    head(&mut pen, areas.head, screen);
    chart::chart(&mut pen, areas.chart, &screen.glance);
    match areas.is_wide {
        true => wide_side(&mut pen, areas.side, screen),
        false => {
            let lines = side_lines(screen, usize::from(areas.side.height));
            for (row, line) in lines.iter().enumerate() {
                pen.line(areas.side, row as u16, line);
            }
        }
    }
    list::list(&mut pen, areas.list, screen);
    pen.line(areas.foot, 0, &panel::pace(&screen.glance));
    for (row, trust) in trust(screen, area.width).iter().enumerate() {
        pen.text(areas.foot, row as u16 + 1, trust, Tone::Faint);
    }
    foot_row(&mut pen, areas.foot, areas.foot.height - 1, screen)
}

fn opened_area(area: Rect) -> Rect {
    Rect { height: area.height.saturating_sub(1), ..area }
}

/// How far the numbers can be trusted, all of it.
fn trust(screen: &Screen, width: u16) -> Vec<String> {
    panel::trust(&screen.glance).map_or_else(Vec::new, |trust| wrap(&trust, usize::from(width)))
}

/// Keys, unless something is asked or said.
fn foot_row(pen: &mut Pen<'_>, area: Rect, row: u16, screen: &Screen) -> Option<(u16, u16)> {
    if let Some(prompt) = &screen.prompt {
        return help::prompt(pen, area, row, prompt);
    }
    match screen.note() {
        Some(note) => drop(pen.text(area, row, note, Tone::Doubt)),
        None => help::keys(pen, area, row, screen),
    }
    None
}

fn head(pen: &mut Pen<'_>, area: Rect, screen: &Screen) {
    let (state, tone) = panel::state(&screen.glance);
    let room = Rect { width: area.width.saturating_sub(state.len() as u16 + 1), ..area };
    pen.line(room, 0, &panel::title(&screen.glance));
    pen.right(area, 0, state, tone);
    for (row, line) in headline(screen, area.width).iter().enumerate() {
        pen.line(area, row as u16 + 1, line);
    }
}

/// The sentence of the report in at most two rows, and what waits for a person.
fn headline(screen: &Screen, width: u16) -> Vec<Line> {
    let glance = &screen.glance;
    let line = sentence(&glance.headline, glance.summary.as_ref());
    let text: String = line.0.iter().map(|span| span.text.as_str()).collect();
    let rows = wrap(&text, usize::from(width));
    let mut lines = match rows.as_slice() {
        [_] => vec![line],
        rows => {
            // What is better keeps its colour in the row in which it begins.
            let lead = line.0.first().map_or("", |span| span.text.as_str());
            let tone = line.0.first().map_or(Tone::Plain, |span| span.tone);
            let coloured = |row: &String| match row.strip_prefix(lead).filter(|_| !lead.is_empty()) {
                Some(rest) => Line::default().with(lead, tone).then(rest),
                None => Line::from(row.as_str()),
            };
            rows.iter().take(2).map(coloured).collect()
        }
    };
    lines.extend(panel::review(glance).map(|review| Line::default().with(review, Tone::Doubt)));
    lines
}

/// How many lines slots and agents may have on a narrow screen of this height.
fn side_room(height: u16) -> usize {
    usize::from(height / 3).max(2)
}

fn side_lines(screen: &Screen, most: usize) -> Vec<Line> {
    let agents = doing::agents(&screen.glance);
    let for_agents = agents.len().min((most / 2).max(1));
    let mut lines = doing::slots(&screen.glance, most.saturating_sub(for_agents).max(1));
    lines.extend(agents.into_iter().take(most.saturating_sub(lines.len())));
    lines
}

fn wide_side(pen: &mut Pen<'_>, area: Rect, screen: &Screen) {
    let mut row = 0;
    let height = usize::from(area.height);
    pen.rule(area, row, "slots");
    row += 1;
    for line in doing::slots(&screen.glance, (height / 3).max(2)) {
        pen.line(area, row, &line);
        row += 1;
    }
    row += 1;
    pen.rule(area, row, "agents");
    row += 1;
    for line in doing::agents(&screen.glance).iter().take((height / 4).max(1)) {
        pen.line(area, row, line);
        row += 1;
    }
    row += 1;
    pen.rule(area, row, "where it stands");
    row += 1;
    for (name, said) in panel::numbers(&screen.glance) {
        for (index, part) in wrap(&said, usize::from(area.width) - 11).into_iter().enumerate() {
            let name = if index == 0 { name.as_str() } else { "" };
            pen.line(area, row, &Line::default().with(format!("{name:<11}"), Tone::Faint).then(part));
            row += 1;
        }
    }
}
