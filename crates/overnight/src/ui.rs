//! The only place that prints. Words for people go to standard error, data to standard output.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use overnight_engine::clock::Stopwatch;

use crate::error::CliError;

/// Says something to a person.
pub(crate) fn say(text: &str) {
    // A terminal that has gone away must not end the run.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Whether somebody is there to answer.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
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
        text += &format!("\nhint: {hint}");
    }
    say(&text);
}

/// Foreign text as it may be shown: no escapes, no control characters but line ends and tabs.
pub(crate) fn printable(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
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
    fn foreign_text_cannot_move_the_cursor() {
        assert_eq!(printable("a\x1b[2Jb\r\nc\rd\te\x07"), "a[2Jb\nc\nd\te");
    }
}
