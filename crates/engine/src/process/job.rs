//! What is asked of the keeper, and what comes back.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::view::Sandbox;

/// Enough for any path; a name in a message could be of any length.
const WHAT_LIMIT: usize = 1000;

/// A command to run under a deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Run as `/bin/sh -c`.
    pub command: String,
    /// A relative path is taken from the engine's own directory, or from the root of the view.
    pub cwd: PathBuf,
    /// The whole environment: nothing is inherited.
    pub env: Vec<(String, String)>,
    pub stdin: Stdin,
    /// Counted from the payload's start, in time the machine is awake.
    pub deadline: Duration,
    /// How long the tree may go on between TERM and KILL.
    pub grace: Duration,
    pub sandbox: Sandbox,
}

/// What the payload reads on its standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Stdin {
    #[default]
    Null,
    /// Handed over as a sealed file, so a payload that never reads blocks nobody.
    Bytes(Vec<u8>),
}

/// Where a piece of output was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// How a job ended and what it used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub ending: Ending,
    /// From exec to the end of the payload itself, in time the machine is awake.
    pub wall: Duration,
    /// User and system time of every process of the job, where its group counts it.
    ///
    /// Without a group, of those that were waited for, and a payload can hide from that: a process that ignores
    /// SIGCHLD drops its children's time.
    pub cpu: Duration,
    /// The larger of the sampled sum over the tree and the peak of any one process.
    ///
    /// Not what a group counts, even where there is one: that is the page cache and the files in memory as well, so it
    /// grows with what was read and with how much of it the last job had read already.
    pub peak_bytes: u64,
    /// Whether the machine slept while the job ran.
    pub suspended: bool,
    /// How many processes were still alive when the payload itself ended, and were killed then.
    pub stragglers: u32,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    Exited {
        code: i32,
    },
    Signaled {
        signal: i32,
    },
    TimedOut,
    OutOfMemory,
    TooManyProcesses,
    /// What it wrote filled its layer, and it failed.
    LayerFull,
    /// By a [`Killer`](super::Killer).
    Stopped,
    /// The payload never ran: `what` could not be done, for the reason `errno`.
    NotStarted {
        errno: i32,
        what: String,
    },
}

/// What keeps the processes of a job together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Containment {
    /// The init is process 1 of its own namespace; the kernel kills the rest when it ends.
    PidNamespace,
    /// Orphans come back to the init, which finds and kills them through /proc.
    Subreaper,
}

/// What holds each limit of a sandboxed job on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldBy {
    pub memory: Holder,
    pub processes: Holder,
    /// Not a limit: what counts the processor time.
    pub cpu: Holder,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Holder {
    /// The kernel, for the job's control group as a whole.
    Group,
    /// The job's init, which looks again and again: what happens between two looks, or is hidden from it, is not seen.
    Polling { reason: String },
}

impl Report {
    pub(super) fn not_started(errno: i32, what: &str) -> Report {
        let what = what.chars().take(WHAT_LIMIT).collect();
        Report::of(Ending::NotStarted { errno, what }, Duration::ZERO, Duration::ZERO)
    }

    /// Of a job whose init could not tell more.
    pub(super) fn of(ending: Ending, wall: Duration, cpu: Duration) -> Report {
        Report { ending, wall, cpu, peak_bytes: 0, suspended: false, stragglers: 0 }
    }
}
