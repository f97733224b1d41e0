//! What every key does.

use ratatui::layout::Rect;

use super::pen::Pen;
use super::screen::{Prompt, Screen};
use crate::views::report::{Line, Tone};

/// Keys that a person needs most, for the last row; those that do not fit are left out from the end.
pub(super) fn keys(pen: &mut Pen<'_>, area: Rect, row: u16, screen: &Screen) {
    let pause = match screen.glance.summary.as_ref().is_some_and(|summary| summary.paused) {
        true => ("r", "resume"),
        false => ("p", "pause"),
    };
    let main = [
        pause,
        ("s", "stop"),
        if screen.is_own { ("d", "detach") } else { ("q", "leave") },
        ("↵", "open"),
        ("/", "search"),
        ("f", "filter"),
        ("m", "say"),
        ("?", "help"),
    ];
    let look =
        [("Esc", "back"), ("Tab", "diff, output, trace"), ("j k", "scroll"), ("[ ]", "later, earlier"), ("?", "help")];
    let keys: &[(&str, &str)] = if screen.opened.is_some() { &look } else { &main };
    let mut line = Line::default();
    let mut room = usize::from(area.width);
    for (key, what) in keys {
        let width = key.chars().count() + what.chars().count() + 1;
        if width > room {
            break;
        }
        room = room.saturating_sub(width + 2);
        let before = if line.is_empty() { "" } else { "  " };
        line = line.then(before).with(*key, Tone::Strong).with(format!(" {what}"), Tone::Faint);
    }
    pen.line(area, row, &line);
}

/// The line that is being typed. Gives where the cursor is.
pub(super) fn prompt(pen: &mut Pen<'_>, area: Rect, row: u16, prompt: &Prompt) -> Option<(u16, u16)> {
    let (question, text) = match prompt {
        Prompt::Search(text) => ("search: ".to_owned(), text),
        Prompt::Say(text) => ("tell the agents: ".to_owned(), text),
        Prompt::Stop(hurry) => {
            let question = match hurry {
                false => "stop the run? what runs finishes, nothing new begins (y/n)",
                true => "kill what runs now? it is run again by the next run (y/n)",
            };
            pen.text(area, row, question, Tone::Doubt);
            return None;
        }
    };
    // The end of a long line is what is being typed.
    let room = usize::from(area.width).saturating_sub(question.chars().count() + 1);
    let mut shown = super::pen::clean(text);
    while unicode_width::UnicodeWidthStr::width(shown.as_str()) > room {
        shown.remove(0);
    }
    let line = Line::default().with(question, Tone::Strong).then(shown);
    let x = pen.line(area, row, &line);
    Some((x.min(area.x + area.width.saturating_sub(1)), area.y + row))
}

pub(super) fn help(pen: &mut Pen<'_>, area: Rect, screen: &Screen) {
    let leave = match screen.is_own {
        true => "leave the view; the run goes on in the background",
        false => "leave the view; the run goes on (q and Ctrl-C, too)",
    };
    let stop = match screen.is_own {
        true => "stop: what runs finishes, nothing new begins (q and Ctrl-C, too)",
        false => "stop the run: what runs finishes, nothing new begins",
    };
    let lines = [
        ("p   r", "pause: what runs finishes, nothing new begins; resume"),
        ("s", stop),
        ("s s", "the second time: kill what runs; it is run again by the next run"),
        ("d", leave),
        ("m   :", "tell the agents something, from the next brief on"),
        ("", ""),
        ("↑ ↓   j k", "choose an experiment; PgUp, PgDn, g and G go farther"),
        ("Enter", "open it: its diff, its output, what happened to it"),
        ("Tab   ← →", "in an experiment: the next of diff, output and trace"),
        ("[   ]", "in an experiment: the later or the earlier one"),
        ("f", "show one group of verdicts after the other"),
        ("/", "show those with these words in idea, reason or agent"),
        ("Esc", "back; all verdicts again"),
        ("", ""),
        ("Ctrl-Z", "to the shell and back with `fg`; the run goes on meanwhile"),
        ("Ctrl-L", "draw everything anew"),
        ("", ""),
        ("● kept", "⠁ not better   × broken   ◆ refused   ○ taken back   ▸ the champion"),
    ];
    pen.text(area, 0, "keys", Tone::Strong);
    for (row, (key, what)) in lines.iter().enumerate() {
        pen.line(area, row as u16 + 2, &Line::default().with(format!("  {key:<11}"), Tone::Strong).then(*what));
    }
}
