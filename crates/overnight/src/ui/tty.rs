//! A terminal as a canvas: taken over as a whole, and given back whatever happens.
//!
//! What ends this process in an orderly way, a panic among it, gives it back here. Where the process is killed, another
//! one beside it does: see `restore_when_alone`.

use std::io::{self, BufWriter, IsTerminal, Stderr, Write};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use overnight_engine::load::{wants_colour, wants_plain_lines};
use overnight_engine::process::{Restorer, leave_terminal};
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};

use crate::error::Exit;

/// The other screen, text that is pasted marked as such, no cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?2004h\x1b[?25l\x1b[2J";
/// The same undone, and whatever colour was last.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?2004l\x1b[?25h\x1b[?1049l";

/// How the terminal was before it was taken over; none while it is not.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// A terminal that is ours, until it is dropped.
pub(crate) struct Tty {
    terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
    size: Rect,
    /// Puts the terminal in order where this process cannot.
    restorer: Option<Restorer>,
}

/// What came of waiting for a key.
pub(crate) enum Input {
    Bytes(Vec<u8>),
    Nothing,
    /// The terminal is closed.
    Gone,
}

/// Whether a person sits at a terminal that can be drawn on.
pub(crate) fn has_screen() -> bool {
    let is_here = io::stdin().is_terminal() && io::stderr().is_terminal() && !wants_plain_lines();
    // Whoever was put into the background would be stopped by its first touch of the terminal.
    is_here && tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Whether what is printed is seen on that terminal as well.
pub(crate) fn shows_data() -> bool {
    io::stdout().is_terminal()
}

pub(crate) fn has_colour() -> bool {
    wants_colour()
}

impl Tty {
    /// Takes the terminal over. `restorer` is the arguments with which this program comes to `restore_when_alone`.
    pub(crate) fn take(restorer: &[&str]) -> io::Result<Tty> {
        give_back_on_panic();
        // It has to see how the terminal is before it is taken.
        let restorer = std::env::current_exe().and_then(|program| Restorer::start(&program, restorer)).ok();
        let size = window();
        let options = TerminalOptions { viewport: Viewport::Fixed(size) };
        let backend = CrosstermBackend::new(BufWriter::with_capacity(64 * 1024, io::stderr()));
        let mut tty = Tty { terminal: Terminal::with_options(backend, options)?, size, restorer };
        tty.enter()?;
        Ok(tty)
    }

    /// Takes it over again, after it was given back.
    pub(crate) fn enter(&mut self) -> io::Result<()> {
        let before = tcgetattr(io::stderr())?;
        let mut raw = before.clone();
        raw.make_raw();
        *saved() = Some(before);
        self.restorer.iter_mut().for_each(|restorer| restorer.tell(true));
        tcsetattr(io::stderr(), OptionalActions::Now, &raw)?;
        let mut stderr = io::stderr().lock();
        stderr.write_all(ENTER).and_then(|()| stderr.flush())?;
        drop(stderr);
        self.size = window();
        self.terminal.resize(self.size)
    }

    /// Gives it back for a while.
    pub(crate) fn leave(&mut self) {
        give_back();
        self.restorer.iter_mut().for_each(|restorer| restorer.tell(false));
    }

    pub(crate) fn area(&self) -> Rect {
        self.size
    }

    /// Whether the window has another size than before.
    pub(crate) fn is_resized(&mut self) -> io::Result<bool> {
        let size = window();
        if size == self.size {
            return Ok(false);
        }
        self.size = size;
        self.terminal.resize(size)?;
        Ok(true)
    }

    /// Forgets what is on it, so that everything is drawn anew.
    pub(crate) fn forget(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Buffer) -> Option<(u16, u16)>) -> io::Result<()> {
        self.terminal.draw(|frame| {
            if let Some(cursor) = draw(frame.buffer_mut()) {
                frame.set_cursor_position(cursor);
            }
        })?;
        Ok(())
    }

    /// Waits for keys, and no longer than this.
    pub(crate) fn read(&mut self, limit: Duration) -> Input {
        let stdin = io::stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        let limit = Timespec::try_from(limit).ok();
        match poll(&mut fds, limit.as_ref()) {
            Ok(0) | Err(Errno::INTR) => return Input::Nothing,
            Err(_) => return Input::Gone,
            Ok(_) => {}
        }
        let mut bytes = [0; 4096];
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) => Input::Gone,
            Ok(read) => Input::Bytes(bytes[..read].to_vec()),
            Err(Errno::INTR | Errno::AGAIN) => Input::Nothing,
            Err(_) => Input::Gone,
        }
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The life of the process beside one that takes the terminal over. When that is gone and has not given it back, this one
/// does.
pub(crate) fn restore_when_alone() -> Exit {
    leave_terminal();
    let Ok(before) = tcgetattr(io::stderr()) else { return Exit::Fault };
    let ready = io::stdout().write_all(b".").and_then(|()| io::stdout().flush());
    if ready.is_err() {
        return Exit::Fault;
    }
    if Restorer::listen(io::stdin()) {
        let _ = io::stderr().write_all(LEAVE);
        // A shell that has its prompt up again has set the terminal as it wants it, and reads signals from keys.
        let is_raw = |now: &Termios| !now.local_modes.intersects(LocalModes::ISIG | LocalModes::ICANON);
        if tcgetattr(io::stderr()).is_ok_and(|now| is_raw(&now)) {
            let _ = tcsetattr(io::stderr(), OptionalActions::Now, &before);
        }
    }
    Exit::Done
}

fn give_back() {
    let Some(before) = saved().take() else { return };
    // A terminal that is gone needs nothing.
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(LEAVE).and_then(|()| stderr.flush());
    let _ = tcsetattr(io::stderr(), OptionalActions::Now, &before);
}

fn give_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
    });
}

fn saved() -> std::sync::MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How large the window is; where nobody knows, as large as the first ones were.
fn window() -> Rect {
    let known = tcgetwinsize(io::stderr()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    known.map_or(Rect::new(0, 0, 80, 24), |size| Rect::new(0, 0, size.ws_col, size.ws_row))
}
