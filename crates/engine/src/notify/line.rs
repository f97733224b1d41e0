//! The line to one of those who are told: a short queue, and a thread that sends and tries again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::gather::Gather;
use super::mask::Mask;
use super::target::{Again, Miss, Target};
use super::{FAREWELL, Notice, Say};
use crate::clock::Stopwatch;
use crate::process::Killer;

/// A night has a few dozen; whoever takes none for so long is down.
const QUEUE: usize = 64;
/// Between tries: a slip, a restart, an outage of the small kind. After that it is given up.
const BACKOFF: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(4), Duration::from_secs(16)];
/// Whoever asks for more is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

pub(super) struct Line {
    queue: SyncSender<Notice>,
    over: Receiver<()>,
    shared: Arc<Shared>,
}

/// A line that takes nothing new.
pub(super) struct Ending {
    over: Receiver<()>,
    shared: Arc<Shared>,
}

/// What did not arrive.
pub(super) struct Missed {
    pub(super) whom: String,
    pub(super) missed: u64,
    pub(super) of: u64,
    pub(super) why: String,
}

struct Shared {
    whom: String,
    told: AtomicU64,
    arrived: AtomicU64,
    /// Whether a failure was said already.
    is_said: AtomicBool,
    why: Mutex<Option<String>>,
    is_ending: Mutex<bool>,
    ending: Condvar,
    /// What is running for them.
    running: Mutex<Option<Killer>>,
}

impl Line {
    pub(super) fn open(target: Target, gather: Gather, mask: Mask, say: Say) -> Line {
        let shared = Arc::new(Shared {
            whom: target.name(),
            told: AtomicU64::new(0),
            arrived: AtomicU64::new(0),
            is_said: AtomicBool::new(false),
            why: Mutex::new(None),
            is_ending: Mutex::new(false),
            ending: Condvar::new(),
            running: Mutex::new(None),
        });
        let (queue, notices) = mpsc::sync_channel(QUEUE);
        let (end, over) = mpsc::channel();
        let own = Sending { target, mask, say, shared: shared.clone() };
        // Nobody waits for this thread: looking up a name cannot be interrupted.
        std::thread::spawn(move || {
            own.serve(&notices, gather);
            drop(own);
            let _ = end.send(());
        });
        Line { queue, over, shared }
    }

    /// Never waits: what finds the queue full is lost, and counted.
    pub(super) fn tell(&self, notice: Notice) {
        self.shared.told.fetch_add(notice.count, Ordering::SeqCst);
        if self.queue.try_send(notice).is_err() {
            self.shared.explain("too many waited to be sent");
        }
    }

    /// Takes nothing new, and lets what waits be sent at once.
    pub(super) fn hang_up(self) -> Ending {
        let Line { queue, over, shared } = self;
        drop(queue);
        *lock(&shared.is_ending) = true;
        shared.ending.notify_all();
        Ending { over, shared }
    }
}

impl Ending {
    /// Waits for its end so long; says what did not arrive.
    pub(super) fn wait(self, limit: Duration) -> Option<Missed> {
        let is_over = self.over.recv_timeout(limit).is_ok();
        if !is_over && let Some(running) = lock(&self.shared.running).take() {
            running.kill();
        }
        let (of, arrived) = (self.shared.told.load(Ordering::SeqCst), self.shared.arrived.load(Ordering::SeqCst));
        let missed = of.saturating_sub(arrived);
        let why = lock(&self.shared.why).take().filter(|_| is_over);
        let why = why.unwrap_or_else(|| format!("it was still on its way {} s after the end", FAREWELL.as_secs()));
        (missed > 0).then(|| Missed { whom: self.shared.whom.clone(), missed, of, why })
    }
}

impl Shared {
    /// The first reason is as good as any.
    fn explain(&self, why: &str) {
        lock(&self.why).get_or_insert_with(|| why.to_owned());
    }

    /// Waits between two tries; false where there is no time left for another one.
    fn pause(&self, wait: Duration, is_asked: bool) -> bool {
        let since = Stopwatch::start();
        let is_ending = lock(&self.is_ending);
        let waited = self.ending.wait_timeout_while(is_ending, wait, |is_ending| !*is_ending);
        let is_ending = *waited.unwrap_or_else(PoisonError::into_inner).0;
        let left = wait.saturating_sub(since.elapsed());
        if !is_ending || !is_asked {
            // At the end the last tries follow each other at once; there are only so many.
            return true;
        }
        if left < FAREWELL {
            std::thread::sleep(left);
        }
        left < FAREWELL
    }
}

/// The thread's own part.
struct Sending {
    target: Target,
    mask: Mask,
    say: Say,
    shared: Arc<Shared>,
}

impl Sending {
    fn serve(&self, notices: &Receiver<Notice>, mut gather: Gather) {
        let since = Stopwatch::start();
        loop {
            let next = match gather.wait(since.elapsed()) {
                Some(wait) => notices.recv_timeout(wait),
                None => notices.recv().map_err(RecvTimeoutError::from),
            };
            let is_over = matches!(next, Err(RecvTimeoutError::Disconnected));
            let told = match next {
                Ok(notice) => gather.take(notice, since.elapsed()),
                Err(RecvTimeoutError::Timeout) => gather.due(since.elapsed()).into_iter().collect(),
                Err(RecvTimeoutError::Disconnected) => gather.last().into_iter().collect(),
            };
            told.iter().for_each(|notice| self.deliver(notice));
            if is_over {
                return;
            }
        }
    }

    fn deliver(&self, notice: &Notice) {
        let mut tries = 0;
        loop {
            let sent = self.target.send(notice, &|killer| *lock(&self.shared.running) = Some(killer));
            *lock(&self.shared.running) = None;
            let Err(Miss { what, again, secret }) = sent else {
                self.shared.arrived.fetch_add(notice.count, Ordering::SeqCst);
                return;
            };
            let goes_on = match (BACKOFF.get(tries), again) {
                (None, _) | (_, Again::Never) => false,
                (Some(wait), Again::Soon) => self.shared.pause(*wait, false),
                (Some(_), Again::After(wait)) => wait <= LONGEST_WAIT && self.shared.pause(wait, true),
            };
            if !goes_on {
                return self.give_up(&self.mask.clone().with(secret).text(&what));
            }
            tries += 1;
        }
    }

    /// Says so once; how many more there were is said at the end.
    fn give_up(&self, why: &str) {
        self.shared.explain(why);
        let is_ending = *lock(&self.shared.is_ending);
        if !is_ending && !self.shared.is_said.swap(true, Ordering::SeqCst) {
            let whom = &self.shared.whom;
            (self.say)(&format!("not notified: {whom} was not reached: {why}; the run goes on"));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
