//! A run in the background, and the processes around it.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::{Ran, Repo};

/// Far more than anything here takes on a busy machine; only a hang gets there.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);

/// Waits for a condition, never for a time.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "waited too long for {what}");
        std::thread::sleep(POLL);
    }
}

/// Sends a signal to a process; one that is gone already is fine.
pub(crate) fn signal(signal: Signal, pid: u32) {
    let _ = kill_process(Pid::from_raw(pid as i32).unwrap(), signal);
}

/// Whether a process runs; a zombie does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// The running binary, in a process group of its own; killed when dropped.
pub(crate) struct Engine {
    child: Child,
    stdout: Stream,
    stderr: Stream,
}

/// What was printed so far.
struct Stream {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Repo {
    /// Starts the binary and comes back at once.
    pub(crate) fn start(&self, args: &[&str]) -> Engine {
        self.start_with(args, Vec::new())
    }

    /// The same, with more of an environment.
    pub(crate) fn start_with(&self, args: &[&str], environment: Vec<(String, String)>) -> Engine {
        let mut command = self.command(args);
        command.envs(environment);
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdout, stderr) = (Stream::new(child.stdout.take().unwrap()), Stream::new(child.stderr.take().unwrap()));
        Engine { child, stdout, stderr }
    }

    /// Processes of trials and agents of this repository: every one of them is told a budget, and where its home is.
    pub(crate) fn strays(&self) -> Vec<u32> {
        let home = format!("HOME={}", self.home().display()).into_bytes();
        let ours = |pid: &u32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let has = |is: &dyn Fn(&[u8]) -> bool| environ.split(|byte| *byte == 0).any(is);
            has(&|pair| pair == home) && has(&|pair| pair.starts_with(b"OVERNIGHT_BUDGET_SECONDS="))
        };
        pids().filter(|pid| ours(pid) && is_alive(*pid)).collect()
    }
}

impl Engine {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The engine's one child.
    pub(crate) fn keeper(&self) -> Option<u32> {
        pids().find(|pid| parent(*pid) == Some(self.pid()))
    }

    pub(crate) fn signal(&self, name: Signal) {
        signal(name, self.pid());
    }

    /// As the terminal does it: to everything in the group.
    pub(crate) fn signal_group(&self, name: Signal) {
        let _ = kill_process_group(Pid::from_raw(self.pid() as i32).unwrap(), name);
    }

    /// Waits until people were told something.
    #[track_caller]
    pub(crate) fn said(&self, text: &str) {
        until(text, || self.stderr.so_far().contains(text));
    }

    /// What people were told so far.
    pub(crate) fn so_far(&self) -> String {
        self.stderr.so_far()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn wait(mut self) -> Ran {
        let mut status = None;
        until("the engine to end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        Ran { code: status.unwrap().code(), stdout: self.stdout.whole(), stderr: self.stderr.whole() }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // The keeper ends everything else when its engine is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Stream {
    fn new(mut from: impl Read + Send + 'static) -> Stream {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let into = bytes.clone();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut buffer) {
                into.lock().unwrap().extend_from_slice(&buffer[..n]);
            }
        });
        Stream { bytes, reader: Some(reader) }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    fn whole(&mut self) -> String {
        self.reader.take().unwrap().join().unwrap();
        self.so_far()
    }
}

/// The processes that one has started.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    pids().filter(|child| parent(*child) == Some(pid)).collect()
}

fn pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}
