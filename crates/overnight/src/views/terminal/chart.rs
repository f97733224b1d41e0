//! The progress chart in a part of the screen.

use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::pen::Pen;
use crate::views::board::Glance;
use crate::views::chart::{Cell, Role, Size, braille, scene};
use crate::views::report::{Tone, tone_of};

/// Below it there is no room for a line.
const LEAST: (u16, u16) = (24, 5);

pub(super) fn chart(pen: &mut Pen<'_>, area: Rect, glance: &Glance) {
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return;
    }
    if glance.plot.steps.is_empty() {
        let words = match glance.summary {
            Some(_) => "the baseline is measured first: what comes is compared with it",
            None => "nothing was measured yet",
        };
        pen.text(area, area.height / 2, &format!("  {words}"), Tone::Faint);
        return;
    }
    let scene = scene(&glance.plot, Size::terminal(usize::from(area.width), usize::from(area.height)).tight());
    for (row, cells) in braille(&scene).into_iter().take(usize::from(area.height)).enumerate() {
        for (column, Cell { sign, role }) in cells.into_iter().take(usize::from(area.width)).enumerate() {
            if sign == ' ' {
                continue;
            }
            let style = role.and_then(tone_of).map(|tone| pen.palette.style(tone)).unwrap_or_default();
            // Without colours a line of dots and the points beside it look alike.
            let style = match role {
                Some(Role::Champion) if !pen.palette.colour => style.add_modifier(Modifier::BOLD),
                _ => style,
            };
            let mut text = [0; 4];
            let place = (area.x + column as u16, area.y + row as u16);
            if let Some(cell) = pen.buffer.cell_mut(place) {
                cell.set_symbol(sign.encode_utf8(&mut text)).set_style(style);
            }
        }
    }
    if glance.one_in > 1 {
        let note = format!("1 in {} drawn, and every keep", glance.one_in);
        pen.right(Rect { width: area.width.saturating_sub(1), ..area }, area.height - 1, &note, Tone::Faint);
    }
}
