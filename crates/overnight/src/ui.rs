//! The only place that prints. Words for people go to standard error, data to standard output.

pub(crate) mod tty;

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use overnight_engine::clock::Stopwatch;
use overnight_engine::load::wants_colour;

use crate::error::CliError;
use crate::views::report::Screen;

/// How wide lines are where nobody knows how wide the paper is.
const PLAIN: usize = 100;

/// Says something to a person.
pub(crate) fn say(text: &str) {
    // A terminal that has gone away must not end the run.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Whether somebody is there to answer.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Whether an answer, or the end of all answers, comes within a time.
pub(crate) fn has_answer(within: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = io::stdin();
    let timeout = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: i64::from(within.subsec_nanos()) };
    poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)).is_ok_and(|ready| ready > 0)
}

/// Where data is shown: how wide that is, and whether colours are wanted there.
pub(crate) fn screen() -> Screen {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return Screen { columns: PLAIN, colour: false };
    }
    let columns = rustix::termios::tcgetwinsize(stdout).ok().map(|size| usize::from(size.ws_col));
    Screen { columns: columns.filter(|columns| *columns > 0).unwrap_or(80), colour: wants_colour() }
}

/// Asks something on a line that the answer is typed on.
pub(crate) fn ask(question: &str) {
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{question}").and_then(|()| stderr.flush());
}

/// Prints data; false when nobody reads it any more.
pub(crate) fn data(text: &str) -> bool {
    writeln!(io::stdout().lock(), "{text}").is_ok()
}

/// Standard input and output for a protocol that has them to itself.
pub(crate) fn protocol() -> (tokio::io::Stdin, tokio::io::Stdout) {
    (tokio::io::stdin(), tokio::io::stdout())
}

/// Prints an error with its causes and its hint.
pub(crate) fn error(error: &CliError) {
    if let Some(rendered) = &error.rendered {
        return say(rendered.trim_end());
    }
    let mut text = format!("error: {}", printable(&error.message));
    for cause in &error.causes {
        text += &format!("\ncause: {}", printable(cause));
    }
    if let Some(hint) = &error.hint {
        text += &format!("\nhint: {}", printable(hint));
    }
    say(&text);
}

/// Foreign text as it may be shown: no escapes, no control characters but line ends and tabs, and nothing that makes
/// a terminal show it in another order than it has.
pub(crate) fn printable(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let is_kept = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().filter(is_kept).map(|c| if turns(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The same on one line, where more would pass for words of ours.
pub(crate) fn one_line(text: &str) -> String {
    let shown = |c: char| if c.is_control() || turns(c) { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { shown(c) }).collect()
}

/// Whether a character changes the direction of those after it.
pub(crate) fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A last line that says what is going on right now, on a terminal only.
#[derive(Clone)]
pub(crate) struct Live {
    shown: Option<Arc<Mutex<Shown>>>,
}

struct Shown {
    text: String,
    since: Stopwatch,
    ended: bool,
}

/// Often enough to look alive, rare enough to cost nothing.
const REDRAW: Duration = Duration::from_millis(500);

impl Live {
    /// A live line where a person is looking and did not ask for plain lines.
    pub(crate) fn new(wanted: bool) -> Live {
        if !wanted || !io::stderr().is_terminal() {
            return Live { shown: None };
        }
        let shown = Arc::new(Mutex::new(Shown { text: String::new(), since: Stopwatch::start(), ended: false }));
        let drawn = shown.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(REDRAW);
                let shown = drawn.lock().unwrap_or_else(PoisonError::into_inner);
                if shown.ended {
                    return;
                }
                shown.draw();
            }
        });
        Live { shown: Some(shown) }
    }

    /// Prints a line above the live one.
    pub(crate) fn say(&self, text: &str) {
        match &self.shown {
            None => say(text),
            Some(shown) => {
                let shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = write!(io::stderr(), "\r\x1b[2K");
                say(text);
                shown.draw();
            }
        }
    }

    /// Prints a line of data above the live one.
    pub(crate) fn data(&self, text: &str) {
        match &self.shown {
            None => {
                data(text);
            }
            Some(shown) => {
                let shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = write!(io::stderr(), "\r\x1b[2K");
                data(text);
                shown.draw();
            }
        }
    }

    /// Changes the live line.
    pub(crate) fn now(&self, text: &str) {
        if let Some(shown) = &self.shown {
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            if shown.text != text {
                (shown.text, shown.since) = (text.to_owned(), Stopwatch::start());
            }
            shown.draw();
        }
    }

    /// Takes the live line away.
    pub(crate) fn end(&self) {
        if let Some(shown) = &self.shown {
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.ended = true;
            let _ = write!(io::stderr(), "\r\x1b[2K");
        }
    }
}

impl Shown {
    fn draw(&self) {
        if !self.ended && !self.text.is_empty() {
            let _ = write!(io::stderr(), "\r\x1b[2K{} · {}s", self.text, self.since.elapsed().as_secs());
            let _ = io::stderr().flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_command_a_terminal_turn_it_round_or_pass_for_a_line_of_ours() {
        let text = "a\u{1b}[31mb\r\nc\t\u{202e}d\u{2066}e\u{2069}\u{9b}";
        assert_eq!(printable(text), "a[31mb\nc\t\u{fffd}d\u{fffd}e\u{fffd}");
        assert_eq!(one_line(text), "a\u{fffd}[31mb  c \u{fffd}d\u{fffd}e\u{fffd}\u{fffd}");
    }

    #[test]
    fn foreign_text_cannot_move_the_cursor() {
        assert_eq!(printable("a\x1b[2Jb\r\nc\rd\te\x07"), "a[2Jb\nc\nd\te");
    }
}
