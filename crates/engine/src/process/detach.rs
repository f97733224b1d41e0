//! Leaving the terminal behind.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Starts a program that goes on when the terminal is gone, with its words in `log`.
pub fn start_detached(program: &Path, arguments: &[impl AsRef<OsStr>], log: std::fs::File) -> io::Result<Child> {
    let errors = log.try_clone()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(log).stderr(errors);
    command.spawn()
}

/// Starts `program` beside this process: it ends when its standard input closes, also where this process is killed. What
/// it says comes over its standard error.
pub fn start_beside(program: &Path, arguments: &[impl AsRef<OsStr>]) -> io::Result<Child> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn()
}

/// Makes this process the head of a session of its own, which no terminal's signals reach.
pub fn leave_terminal() {
    // Fails only for the head of a process group, which is out of the terminal's reach already.
    let _ = rustix::process::setsid();
}
