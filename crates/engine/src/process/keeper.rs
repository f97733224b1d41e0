//! The engine's handle on its keeper.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Gid, Mode, OFlags, Uid, open};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendFlags, Shutdown, shutdown};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open, waitpid};

use super::child::Child;
use super::job::{Containment, HeldBy, Job, Stdin};
use super::serve;
use super::spawn::threads;
use super::wire::{self, Body, Hello, Request, Walls};

/// Long enough for a keeper to kill and reap everything; a process stuck in the kernel may take
/// for ever, and must not keep the engine from ending.
const FAREWELL_LIMIT: Duration = Duration::from_secs(5);

/// A handle on the keeper. When the last one is dropped, the keeper ends all jobs and itself.
#[derive(Debug, Clone)]
pub struct Keeper {
    link: Arc<Link>,
}

/// Why the keeper could not be started or asked.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    #[error("the keeper must be forked before any thread is started, and {threads} are running")]
    Threads { threads: usize },
    #[error("could not {what}")]
    Os { what: &'static str, source: io::Error },
    #[error("could not start the keeper as {}", program.display())]
    Reexec { program: PathBuf, source: io::Error },
    #[error("the keeper could not {what}")]
    Refused { what: String, source: io::Error },
    #[error("could not read a message of the keeper or an init")]
    Unreadable(#[from] serde_json::Error),
    #[error("the keeper or the job's init ended without a report")]
    Gone,
}

impl Keeper {
    /// Forks the keeper. Must be called in `main` before any thread exists.
    pub fn fork() -> Result<Keeper, KeeperError> {
        Keeper::fork_with(None)
    }

    /// The same with a chosen containment, refused where the machine does not give it.
    pub fn fork_with(containment: Option<Containment>) -> Result<Keeper, KeeperError> {
        let threads = threads().map_err(|source| KeeperError::Os { what: "count the threads", source })?;
        if threads != 1 {
            return Err(KeeperError::Threads { threads });
        }
        let (ours, theirs) = wire::pair().map_err(os("make a socket"))?;
        // SAFETY: the only thread is this one, so the child may go on as it is; it never returns.
        match unsafe { libc::fork() } {
            -1 => {
                let source = io::Error::last_os_error();
                Err(KeeperError::Os { what: "fork the keeper", source })
            }
            0 => {
                drop(ours);
                serve::serve(theirs, containment)
            }
            pid => {
                drop(theirs);
                Keeper::greet(ours, Pid::from_raw(pid).ok_or(KeeperError::Gone)?)
            }
        }
    }

    /// Starts the same keeper as `program args…`, which must come to
    /// [`serve_stdin`](super::serve_stdin): for tests, and where threads exist already.
    pub fn reexec(program: &Path, args: &[&str]) -> Result<Keeper, KeeperError> {
        let (ours, theirs) = wire::pair().map_err(os("make a socket"))?;
        let child = Command::new(program)
            .args(args)
            .stdin(theirs)
            .stdout(Stdio::null())
            .spawn()
            .map_err(|source| KeeperError::Reexec { program: program.to_owned(), source })?;
        Keeper::greet(ours, Pid::from_child(&child))
    }

    pub fn pid(&self) -> u32 {
        self.link.pid.as_raw_pid().unsigned_abs()
    }

    /// What the keeper found to be possible on this machine, by doing it.
    pub fn containment(&self) -> Containment {
        self.link.containment
    }

    /// Makes the keeper, and every init started from now on, keep `fd` open until it is gone.
    ///
    /// A lock on it outlives the engine until the last process that was started is dead. No
    /// payload gets it.
    pub fn hold(&self, fd: BorrowedFd<'_>) -> Result<(), KeeperError> {
        self.link.ask(&Request::Hold, &[fd])
    }

    /// What holds the limits of jobs, found by doing it: the first to ask, or to start a job that has limits, waits
    /// some tens of milliseconds.
    pub fn held_by(&self) -> Result<HeldBy, KeeperError> {
        let (ours, theirs) = wire::pair().map_err(os("make a socket"))?;
        self.link.ask(&Request::HeldBy, &[theirs.as_fd()])?;
        // Without a keeper that has it, this end shows end of file.
        drop(theirs);
        let answer = wire::receive(&ours, RecvFlags::empty()).map_err(os("hear from the keeper"))?;
        Ok(answer.ok_or(KeeperError::Gone)?.parse()?)
    }

    /// Starts a job. Whether its payload could be run is told by its report.
    pub fn start(&self, job: &Job) -> Result<Child, KeeperError> {
        let io = |what| move |source| KeeperError::Os { what, source };
        let cwd = std::path::absolute(&job.cwd).map_err(io("make the job's directory absolute"))?;
        let body = Body::new(job, &cwd).to_file().map_err(io("write the job down"))?;
        let stdin = match &job.stdin {
            Stdin::Null => {
                open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(os("open /dev/null"))?
            }
            Stdin::Bytes(bytes) => {
                wire::sealed_file("overnight-stdin", bytes).map_err(io("write the job's input down"))?
            }
        };
        let (control, init_end) = wire::pair().map_err(os("make a socket"))?;
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(os("make a pipe"));
        let (stdout, stdout_writer) = pipe()?;
        let (stderr, stderr_writer) = pipe()?;
        if let Some(user) = job.sandbox.user() {
            // Opening /dev/stderr opens the pipe anew, which its owner may. Where it cannot be handed over, that is all
            // that does not work.
            for pipe in [&stdout_writer, &stderr_writer] {
                let _ = rustix::fs::fchown(pipe, Some(Uid::from_raw(user)), Some(Gid::from_raw(user)));
            }
        }
        let fds = [&body, &init_end, &stdin, &stdout_writer, &stderr_writer].map(AsFd::as_fd);
        self.link.ask(&Request::Start(Walls::of(&job.sandbox)), &fds)?;
        Child::new(control, stdout, stderr).map_err(os("prepare a pipe"))
    }

    /// A way to end the keeper from elsewhere, which does not keep it from ending by itself.
    pub fn ender(&self) -> Ender {
        Ender(Arc::downgrade(&self.link))
    }

    /// Whether the keeper is still there.
    pub fn is_alive(&self) -> bool {
        let mut fds = [PollFd::new(&self.link.socket, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut fds, Some(&now)), Ok(0))
    }

    fn greet(socket: OwnedFd, pid: Pid) -> Result<Keeper, KeeperError> {
        // From here on every way out drops the link, which sees the keeper off.
        let mut link = Link { socket, pid, containment: Containment::Subreaper };
        let hello = wire::receive(&link.socket, RecvFlags::empty())
            .map_err(os("hear from the keeper"))?
            .ok_or(KeeperError::Gone)?;
        match hello.parse()? {
            Hello::Ready { containment } => link.containment = containment,
            Hello::Refused { errno, what } => {
                let source = io::Error::from_raw_os_error(errno);
                return Err(KeeperError::Refused { what, source });
            }
        }
        Ok(Keeper { link: Arc::new(link) })
    }
}

/// Ends a keeper with all its jobs: for whoever cannot wait until those who use it let go.
#[derive(Debug, Clone)]
pub struct Ender(Weak<Link>);

impl Ender {
    /// Does not wait; whoever waits for a job is told that it is gone.
    pub fn end(&self) {
        if let Some(link) = self.0.upgrade() {
            let _ = shutdown(&link.socket, Shutdown::Both);
        }
    }
}

/// How long to wait until descriptors can be sent again, and how often to try.
const CROWDED_LIMIT: Duration = Duration::from_secs(30);
const CROWDED_AGAIN: Duration = Duration::from_millis(20);

/// The socket to the keeper, whose end of file ends it.
#[derive(Debug)]
struct Link {
    socket: OwnedFd,
    pid: Pid,
    containment: Containment,
}

impl Link {
    fn ask(&self, request: &Request, fds: &[BorrowedFd<'_>]) -> Result<(), KeeperError> {
        let limit = Instant::now() + CROWDED_LIMIT;
        let sent = loop {
            match wire::send(&self.socket, request, fds, SendFlags::empty()) {
                // A candidate of the same user may have filled the count; the kernel clears it when that one is gone.
                Err(Errno::TOOMANYREFS) if Instant::now() < limit => std::thread::sleep(CROWDED_AGAIN),
                sent => break sent,
            }
        };
        match sent {
            Ok(()) => Ok(()),
            Err(Errno::PIPE | Errno::CONNRESET) => Err(KeeperError::Gone),
            Err(errno) => Err(os("ask the keeper")(errno)),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Every copy of the socket shows end of file after this, not only ours.
        let _ = shutdown(&self.socket, Shutdown::Both);
        if let Ok(handle) = pidfd_open(self.pid, PidfdFlags::empty()) {
            let limit = Timespec::try_from(FAREWELL_LIMIT).ok();
            let mut fds = [PollFd::new(&handle, PollFlags::IN)];
            let _ = retry_on_intr(|| poll(&mut fds, limit.as_ref()));
        }
        let _ = waitpid(Some(self.pid), WaitOptions::NOHANG);
    }
}

pub(super) fn os(what: &'static str) -> impl Fn(Errno) -> KeeperError {
    move |errno| KeeperError::Os { what, source: errno.into() }
}
