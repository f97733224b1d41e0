//! The last verdicts with their reasons, the latest first.

use overnight_model::study::Row;
use overnight_model::units::short_number;
use overnight_model::verdict::Group;
use overnight_model::{ExperimentId, Verdict};
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use super::pen::{Pen, clean, cut};
use super::screen::{Screen, named};
use crate::views::report::{Line, Tone};
use crate::views::term;

/// From here on numbers have as much room as in `log`.
const WIDE: usize = 100;

pub(super) fn list(pen: &mut Pen<'_>, area: Rect, screen: &Screen) {
    if area.height < 2 {
        return;
    }
    pen.rule(area, 0, &heading(screen));
    let rows = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let (height, at) = (usize::from(rows.height), screen.list.position());
    let top = at.map_or(0, |at| at.saturating_sub(height.saturating_sub(1)));
    let champion = screen.glance.summary.as_ref().and_then(|summary| summary.champion.as_ref());
    let champion = champion.map(|level| level.experiment);
    for (index, row) in screen.list.rows.iter().enumerate().skip(top).take(height) {
        let line = line(row, champion, usize::from(rows.width), is_team(screen));
        pen.line(rows, (index - top) as u16, &line);
        if Some(index) == at {
            pen.selected(rows, (index - top) as u16);
        }
    }
    if screen.list.rows.is_empty() {
        let words = match screen.list.wanted == Default::default() {
            true => "no verdict yet",
            false => "none of these; Esc shows all",
        };
        pen.text(rows, 0, &format!("  {words}"), Tone::Faint);
    }
}

fn heading(screen: &Screen) -> String {
    let group = screen.list.wanted.group.map_or("verdicts", named);
    let words = &screen.list.wanted.words;
    let about = if words.is_empty() { String::new() } else { format!(" with “{}”", words.join(" ")) };
    let so_far = screen.glance.summary.as_ref().filter(|_| words.is_empty() && screen.list.wanted.group.is_none());
    let so_far = so_far.map_or_else(String::new, |summary| format!(" · {}", term::counts(summary)));
    format!("{group}{about}{so_far}")
}

fn is_team(screen: &Screen) -> bool {
    screen.glance.terms.agents.as_ref().is_some_and(|agents| agents.is_team())
}

/// Number, verdict, level, gain, and what it was for what reason.
fn line(row: &Row, champion: Option<ExperimentId>, width: usize, is_team: bool) -> Line {
    let sign = if champion == Some(row.experiment) { "▸" } else { " " };
    let metric = row.metric.map_or_else(|| "-".to_owned(), short_number);
    let (verdict, tone) = match row.verdict {
        None => ("open", Tone::Faint),
        Some(verdict) => (verdict.name(), tone(verdict)),
    };
    let gain = term::gain(row);
    let head = format!("{sign}{:>5} ", row.experiment);
    let column = if width < WIDE { 9 } else { 12 };
    let numbers = format!("{:>column$} {:>column$}  ", cut(&metric, column), cut(&gain, column));
    let room = width.saturating_sub(head.width() + 15 + numbers.width());
    let line = Line::default().then(head).with(format!("{verdict:<15}"), tone).then(numbers);
    let idea = match is_team && !row.agent.is_empty() && !row.description.is_empty() {
        true => format!("{}: {}", row.agent, row.description),
        false => row.description.clone(),
    };
    let why = match row.verdict {
        Some(Verdict::Baseline) | None => String::new(),
        Some(_) => clean(row.reason.as_deref().unwrap_or("")),
    };
    let (idea, why) = (clean(&idea), if idea.is_empty() || why.is_empty() { why } else { format!(" ({why})") });
    if idea.width() + why.width() <= room {
        return line.then(idea).with(why, Tone::Faint);
    }
    // Neither takes the room of the other.
    let for_idea = room.saturating_sub(why.width()).max(room / 2);
    let idea = cut(&idea, for_idea);
    let left = room.saturating_sub(idea.width());
    line.then(idea).with(cut(&why, left), Tone::Faint)
}

pub(super) fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Retracted => Tone::Doubt,
        verdict => match verdict.group() {
            Group::Kept => Tone::Good,
            Group::Broken => Tone::Bad,
            Group::Refused => Tone::Doubt,
            Group::NotBetter => Tone::Plain,
            Group::NotCounted => Tone::Faint,
        },
    }
}
