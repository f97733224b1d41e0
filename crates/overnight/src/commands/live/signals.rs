//! Signals that reach a view: it is the terminal's own process, and the run is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use overnight_engine::process::can_be_stopped;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::low_level::emulate_default_handler;

use crate::error::{CliError, Exit, Outcome};

/// Which of them have come.
pub(super) struct Signals {
    ends: Arc<AtomicBool>,
    closed: Arc<AtomicBool>,
    suspends: Arc<AtomicBool>,
}

impl Signals {
    pub(super) fn listen() -> Outcome<Signals> {
        let failed = |error: std::io::Error| CliError::new(Exit::Fault, "could not listen for signals").cause(&error);
        let signals = Signals { ends: Arc::default(), closed: Arc::default(), suspends: Arc::default() };
        let heard = [
            (SIGINT, &signals.ends),
            (SIGTERM, &signals.ends),
            (SIGHUP, &signals.closed),
            (SIGTSTP, &signals.suspends),
        ];
        for (signal, flag) in heard {
            signal_hook::flag::register(signal, flag.clone()).map_err(failed)?;
        }
        Ok(signals)
    }

    /// Somebody wants the program to end; told once for each time.
    pub(super) fn ends(&self) -> bool {
        self.ends.swap(false, Ordering::SeqCst)
    }

    /// The terminal is gone.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Somebody wants the shell back for a while.
    pub(super) fn suspends(&self) -> bool {
        self.suspends.swap(false, Ordering::SeqCst)
    }
}

/// Stops this process until a shell continues it. Without one it would never be continued, and nothing is done.
pub(super) fn suspend() {
    if can_be_stopped() {
        let _ = emulate_default_handler(SIGTSTP);
    }
}
