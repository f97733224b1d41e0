//! How a command ended.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Millis};

/// The end of one command and of everything it started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Exited {
        code: i32,
    },
    Signaled {
        signal: i32,
    },
    TimedOut {
        after: Millis,
    },
    /// What it left filled the disk, or all it may write, and was taken away.
    DiskFilled,
    /// It took more memory than it may, in bytes.
    OutOfMemory {
        limit: u64,
    },
    /// It had more processes and threads than it may.
    TooManyProcesses {
        limit: u64,
    },
    /// It printed more bytes than it may.
    TooMuchOutput {
        limit: u64,
    },
}

impl Ending {
    pub fn succeeded(&self) -> bool {
        *self == Ending::Exited { code: 0 }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Exited { code: 127 } => f.write_str("exit code 127 (command not found)"),
            // How a shell passes on that its program was killed.
            Ending::Exited { code } => match code.checked_sub(128).and_then(signal_name) {
                Some(name) => write!(f, "exit code {code} ({name})"),
                None => write!(f, "exit code {code}"),
            },
            Ending::Signaled { signal } => match signal_name(*signal) {
                Some(name) => write!(f, "killed by {name}"),
                None => write!(f, "killed by signal {signal}"),
            },
            Ending::TimedOut { after } => write!(f, "killed at its limit of {after}"),
            Ending::DiskFilled => f.write_str("filled the disk"),
            Ending::OutOfMemory { limit } => write!(f, "took more than {} of memory", Bytes(*limit)),
            Ending::TooManyProcesses { limit } => write!(f, "had more than {limit} processes and threads"),
            Ending::TooMuchOutput { limit } => write!(f, "printed more than {}", Bytes(*limit)),
        }
    }
}

/// The signals that end programs in practice.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        _ => return None,
    })
}
