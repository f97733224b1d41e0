//! Keeps the machine from going to sleep while a run lasts.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const PROGRAM: &str = "systemd-inhibit";
/// What it runs once the machine is held: it says so, and ends when its standard input does, also where we are killed.
const HOLD: &str = "echo held >&2; exec cat >/dev/null";
const HELD: &str = "held";
/// It asks one question over a bus of this machine; where nobody answers, a run does not wait for it.
const LIMIT: Duration = Duration::from_secs(2);
/// What it says of a failure is a sentence.
const MOST_BYTES: u64 = 4096;

/// A machine that is kept awake for as long as this lives.
#[derive(Debug)]
pub struct Awake {
    child: Child,
    /// Why only idleness does not put it to sleep, where somebody's wish still does.
    pub only_idle: Option<String>,
}

impl Awake {
    /// Holds the machine; otherwise says why it cannot be held.
    pub fn hold(why: &str) -> Result<Awake, String> {
        match start("idle:sleep", why) {
            Ok(child) => Ok(Awake { child, only_idle: None }),
            Err(Refused::Missing) => Err(format!("there is no {PROGRAM} here")),
            Err(Refused::Silent) => Err(format!("{PROGRAM} did not answer within {} s", LIMIT.as_secs())),
            // Who is not at the machine itself may often not keep others from putting it to sleep.
            Err(Refused::Said(said)) => match start("idle", why) {
                Ok(child) => Ok(Awake { child, only_idle: Some(said) }),
                Err(_) => Err(said),
            },
        }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        // What it runs ends by itself; the program has no say in how long this takes.
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

enum Refused {
    Missing,
    Silent,
    Said(String),
}

fn start(what: &str, why: &str) -> Result<Child, Refused> {
    let mut command = Command::new(PROGRAM);
    command.args([&format!("--what={what}"), "--who=overnight", &format!("--why={why}"), "--mode=block"]);
    command.args(["sh", "-c", HOLD]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    // Ctrl-C is for the run, which may take hours to finish what it began.
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Refused::Missing,
        _ => Refused::Said(format!("{PROGRAM}: {error}")),
    })?;
    let (say, heard) = mpsc::channel();
    let errors = child.stderr.take();
    std::thread::spawn(move || {
        let lines =
            errors.into_iter().flat_map(|errors| BufReader::new(errors.take(MOST_BYTES)).lines().map_while(Result::ok));
        let mut last = format!("{PROGRAM} ended at once");
        for line in lines {
            if line == HELD {
                let _ = say.send(Ok(()));
                return;
            }
            last = line;
        }
        let _ = say.send(Err(last));
    });
    let refused = match heard.recv_timeout(LIMIT) {
        Ok(Ok(())) => return Ok(child),
        Ok(Err(said)) => Refused::Said(said),
        Err(_) => Refused::Silent,
    };
    let _ = child.kill();
    let _ = child.wait();
    Err(refused)
}
