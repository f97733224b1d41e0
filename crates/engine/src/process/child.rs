//! The engine's side of one running job.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use super::job::{Report, Stream};
use super::keeper::{KeeperError, os};
use super::wire::{self, Order, Word};

/// Long enough for a local pipe to drain; a process outside the tree may hold it open for ever.
const DRAIN_LIMIT: Duration = Duration::from_millis(500);

/// What a pipe holds unless it was made larger.
const BUFFER: usize = 64 * 1024;

/// A running job. Dropped without [`Child::wait`], it is killed.
#[derive(Debug)]
pub struct Child {
    killer: Killer,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    /// How it ended, where that was heard before anybody waited for it.
    ended: Option<Result<Finished, KeeperError>>,
}

/// The end of a job.
#[derive(Debug)]
pub struct Finished {
    pub report: Report,
    /// The private folders that its view handed back, in that order; none where it never started.
    pub left: Vec<OwnedFd>,
}

/// Ends a job from any thread, any number of times; after its end it does nothing.
#[derive(Debug, Clone)]
pub struct Killer {
    control: Arc<OwnedFd>,
}

impl Killer {
    /// TERM to the whole tree, and KILL when the job's grace is over.
    pub fn terminate(&self) {
        self.order(&Order::Terminate);
    }

    /// KILL to the whole tree, now.
    pub fn kill(&self) {
        self.order(&Order::Kill);
    }

    fn order(&self, order: &Order) {
        // An init that is gone has nothing left to end.
        let _ = wire::send(&*self.control, order, &[], SendFlags::DONTWAIT);
    }
}

impl Child {
    pub(super) fn new(control: OwnedFd, stdout: OwnedFd, stderr: OwnedFd) -> Result<Child, Errno> {
        // The writing ends are separate files and stay as the payload expects them.
        fcntl_setfl(&stdout, OFlags::NONBLOCK)?;
        fcntl_setfl(&stderr, OFlags::NONBLOCK)?;
        let killer = Killer { control: Arc::new(control) };
        Ok(Child { killer, stdout: Some(stdout), stderr: Some(stderr), ended: None })
    }

    pub fn killer(&self) -> Killer {
        self.killer.clone()
    }

    /// The listener on the loopback of a job that reaches models. Waits until its sandbox is set up; `None` where that came
    /// to nothing, which [`Child::finish`] tells.
    pub fn listener(&mut self) -> Option<OwnedFd> {
        match self.hear(RecvFlags::empty()) {
            Some(Heard::Listener(listener)) => listener,
            Some(Heard::Ended(ended)) => {
                self.ended = Some(ended);
                None
            }
            None => None,
        }
    }

    /// As [`Child::finish`], for a job that leaves nothing.
    pub fn wait(self, sink: impl FnMut(Stream, &[u8])) -> Result<Report, KeeperError> {
        self.finish(sink).map(|finished| finished.report)
    }

    /// Hands each piece of output to `sink` as it comes, until the tree is gone.
    ///
    /// Blocks the calling thread, for as long as a killed process is stuck in the kernel if need
    /// be. What was read before an error has reached the sink.
    pub fn finish(mut self, mut sink: impl FnMut(Stream, &[u8])) -> Result<Finished, KeeperError> {
        let mut buffer = vec![0; BUFFER];
        let outcome = loop {
            if let Some(ended) = self.ended.take() {
                break ended;
            }
            let mut fds = vec![PollFd::new(&*self.killer.control, PollFlags::IN)];
            fds.extend(self.pipes().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            await_any(&mut fds, None)?;
            let spoken = !fds[0].revents().is_empty();
            self.read_both(&mut buffer, &mut sink);
            // A listener that nobody asked for is closed, and the job finds nobody there.
            if spoken && let Some(Heard::Ended(ended)) = self.hear(RecvFlags::DONTWAIT) {
                break ended;
            }
        };
        let limit = Instant::now() + DRAIN_LIMIT;
        loop {
            // Read once more even when the limit has passed: a slow sink is not the tree's fault.
            self.read_both(&mut buffer, &mut sink);
            let left = limit.saturating_duration_since(Instant::now());
            let mut fds: Vec<_> = self.pipes().map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
            if fds.is_empty() || left.is_zero() || !await_any(&mut fds, Some(left))? {
                return outcome;
            }
        }
    }

    fn pipes(&self) -> impl Iterator<Item = &OwnedFd> {
        self.stdout.iter().chain(&self.stderr)
    }

    /// Reads what the init has said; `None` if that was nothing.
    fn hear(&self, flags: RecvFlags) -> Option<Heard> {
        let ended = match wire::receive(&*self.killer.control, flags) {
            Ok(Some(message)) => match message.parse() {
                Ok(Word::Listening) => return Some(Heard::Listener(message.fds.into_iter().next())),
                Ok(Word::Ended(report)) => Ok(Finished { report, left: message.fds }),
                Err(error) => Err(error.into()),
            },
            Ok(None) => Err(KeeperError::Gone),
            Err(Errno::WOULDBLOCK) => return None,
            Err(errno) => Err(os("hear from the job's init")(errno)),
        };
        Some(Heard::Ended(ended))
    }

    fn read_both(&mut self, buffer: &mut [u8], sink: &mut impl FnMut(Stream, &[u8])) {
        for (stream, pipe) in [(Stream::Stdout, &mut self.stdout), (Stream::Stderr, &mut self.stderr)] {
            let Some(open) = pipe else { continue };
            match rustix::io::read(&*open, &mut *buffer) {
                Ok(0) => *pipe = None,
                Ok(length) => sink(stream, &buffer[..length]),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(_) => *pipe = None,
            }
        }
    }
}

/// What an init has said.
enum Heard {
    Listener(Option<OwnedFd>),
    Ended(Result<Finished, KeeperError>),
}

impl Drop for Child {
    fn drop(&mut self) {
        // A killer may keep the socket open, so end of file alone would not tell the init.
        self.killer.kill();
    }
}

/// Waits until one is ready; says whether one was before the time was over.
fn await_any(fds: &mut [PollFd<'_>], timeout: Option<Duration>) -> Result<bool, KeeperError> {
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match poll(fds, timeout.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(true),
        Err(errno) => Err(os("wait for the job")(errno)),
    }
}
