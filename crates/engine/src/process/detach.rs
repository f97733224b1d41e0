//! Leaving the terminal behind.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, getpgid, getpgrp, getppid, getsid};

/// A process that goes on when this one ends.
#[derive(Debug)]
pub struct Detached(Child);

impl Detached {
    /// Starts a program that goes on when the terminal is gone, with its words in `log`.
    pub fn start(program: &Path, arguments: &[impl AsRef<OsStr>], log: std::fs::File) -> io::Result<Detached> {
        let errors = log.try_clone()?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(log).stderr(errors);
        command.spawn().map(Detached)
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.wait()
    }
}

/// A process beside this one that outlives it by a moment.
#[derive(Debug)]
pub struct Restorer(Child);

impl Restorer {
    /// Starts `program` with its standard error on the same terminal, and waits until it says over its standard output that
    /// it is ready. Its standard input closes when this process lets go of it, or is killed.
    pub fn start(program: &Path, arguments: &[impl AsRef<OsStr>]) -> io::Result<Restorer> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut restorer = Restorer(command.spawn()?);
        if let Some(said) = restorer.0.stdout.as_mut() {
            said.read_exact(&mut [0; 1])?;
        }
        Ok(restorer)
    }

    /// Tells it whether there is something to put in order.
    pub fn tell(&mut self, is_taken: bool) {
        if let Some(input) = self.0.stdin.as_mut() {
            let _ = input.write_all(if is_taken { b"+" } else { b"-" });
        }
    }

    /// What the process that was started does: reads what it is told until nobody is there any more, and gives whether
    /// there is something to put in order.
    pub fn listen(mut told: impl Read) -> bool {
        let (mut is_taken, mut bytes) = (false, [0; 64]);
        while let Ok(read @ 1..) = told.read(&mut bytes) {
            is_taken = bytes[read - 1] == b'+';
        }
        is_taken
    }
}

impl Drop for Restorer {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Whether somebody is there to continue this process when it is stopped: a shell of its session, outside of its group.
pub fn can_be_stopped() -> bool {
    let (group, session) = (getpgrp(), getsid(None).ok());
    let mut above = getppid();
    while let Some(pid) = above {
        match getpgid(Some(pid)) {
            Ok(other) if other != group => return getsid(Some(pid)).ok() == session,
            Ok(_) => above = parent(pid),
            Err(_) => return false,
        }
    }
    false
}

fn parent(pid: Pid) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    Pid::from_raw(stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?)
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
