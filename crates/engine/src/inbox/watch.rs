//! Tells a run that a letter has come, which else would wait for something to happen: a study that is paused does nothing.

use std::fs;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;
use rustix::io::{Errno, read};
use rustix::pipe::{PipeFlags, pipe_with};

use super::{Inbox, InboxError};

/// How often to look where the machine gives no notice: it has only so many watches.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

/// Watches the inbox until it is dropped.
#[derive(Debug)]
pub struct Watch {
    /// Its end of file ends the thread.
    _end: OwnedFd,
}

impl Inbox {
    /// Calls `wake` whenever a letter may have come.
    pub fn watch(&self, wake: impl Fn() + Send + 'static) -> Result<Watch, InboxError> {
        let failed = |what| move |source| InboxError { what, path: self.dir.clone(), source };
        fs::create_dir_all(&self.dir).map_err(failed("make"))?;
        let (stop, end) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| failed("watch")(errno.into()))?;
        let notices = self.notices().ok();
        std::thread::spawn(move || {
            while next(&stop, notices.as_ref()) {
                wake()
            }
        });
        Ok(Watch { _end: end })
    }

    fn notices(&self) -> Result<OwnedFd, Errno> {
        let notices = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        inotify::add_watch(&notices, &self.dir, inotify::WatchFlags::MOVED_TO)?;
        Ok(notices)
    }
}

/// Waits until there is something to look at; false when nobody wants to know any more.
fn next(stop: &OwnedFd, notices: Option<&OwnedFd>) -> bool {
    let mut fds = vec![PollFd::new(stop, PollFlags::IN)];
    fds.extend(notices.map(|notices| PollFd::new(notices, PollFlags::IN)));
    let timeout = notices.is_none().then_some(&LOOK_EVERY);
    loop {
        match poll(&mut fds, timeout) {
            Err(Errno::INTR) => {}
            Err(_) => return false,
            Ok(_) => break,
        }
    }
    if !fds[0].revents().is_empty() {
        return false;
    }
    // What the notices say is of no use: all letters are looked at.
    let mut notice = [0; 4096];
    while notices.is_some_and(|notices| read(notices, &mut notice).is_ok_and(|read| read > 0)) {}
    true
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use overnight_model::Timestamp;

    use super::*;
    use crate::inbox::Letter;

    #[test]
    fn a_letter_wakes_whoever_watches_until_the_watch_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let inbox = Inbox::of(dir.path());
        let (wake, woken) = mpsc::channel();
        let watch = inbox.watch(move || wake.send(()).unwrap_or_default()).unwrap();
        inbox.put(&Letter::Pause, Timestamp(1)).unwrap();
        woken.recv().unwrap();
        drop(watch);
        // The thread lets go of its end when it ends.
        while woken.recv().is_ok() {}
    }
}
