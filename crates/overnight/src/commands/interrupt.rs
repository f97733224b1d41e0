//! Ctrl-C: whatever runs ends at once, and what is known is told.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use overnight_engine::process::Ender;
use overnight_engine::rehearse::Stopper;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::error::{CliError, Exit, Outcome};

/// Long enough to kill a trial and see it gone. What has no handle of its own, as `prepare`, ends with the keeper.
const KILLING: Duration = Duration::from_millis(1500);
/// Long enough to say what is known and to empty the folders.
const FAREWELL: Duration = Duration::from_secs(10);

/// Whether a person asked to stop, and what to stop then.
#[derive(Clone, Default)]
pub(super) struct Interrupt {
    asked: Arc<AtomicBool>,
    benches: Arc<Mutex<Vec<Stopper>>>,
}

impl Interrupt {
    /// Listens from now on. The keeper was forked before: this starts a thread.
    pub(super) fn watch(keeper: Ender) -> Outcome<Interrupt> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
            .map_err(|error| CliError::new(Exit::Fault, "could not listen for signals").cause(&error))?;
        let interrupt = Interrupt::default();
        let heard = interrupt.clone();
        std::thread::spawn(move || {
            if signals.forever().next().is_some() {
                heard.stop();
                std::thread::sleep(KILLING);
                keeper.end();
                std::thread::sleep(FAREWELL);
                std::process::exit(Exit::Interrupted as i32);
            }
        });
        Ok(interrupt)
    }

    /// What is to be killed as well from now on; killed at once where the signal came first.
    pub(super) fn kills(&self, bench: Stopper) {
        let mut benches = self.benches.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_asked() {
            bench.stop();
        }
        benches.push(bench);
    }

    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    fn stop(&self) {
        let benches = self.benches.lock().unwrap_or_else(PoisonError::into_inner);
        self.asked.store(true, Ordering::SeqCst);
        benches.iter().for_each(Stopper::stop);
    }
}
