//! Signals: the first stops gently, the second at once, a closed terminal stops nothing.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{Repo, is_alive, signal, until};

/// An evaluation that says where it is and goes on when it is told to; the baseline does not wait.
pub(crate) struct Gate {
    started: PathBuf,
    go: PathBuf,
    interrupted: PathBuf,
}

pub(crate) fn gated() -> (Repo, Gate) {
    let repo = Repo::new();
    let gate = Gate { started: repo.beside("started"), go: repo.beside("go"), interrupted: repo.beside("interrupted") };
    let script = format!(
        "trap 'touch {}' INT HUP\ngrep -q 5 knobs.py || {{ touch {}; while ! test -e {}; do sleep 0.02; done; }}\n{}",
        gate.interrupted.display(),
        gate.started.display(),
        gate.go.display(),
        repo.read("score.sh"),
    );
    repo.write("score.sh", &script).commit("a gate");
    (repo, gate)
}

impl Gate {
    pub(crate) fn reached(&self) {
        until("the trial to start", || self.started.exists());
    }

    pub(crate) fn open(&self) {
        fs::write(&self.go, "").unwrap();
    }
}

#[test]
fn the_first_signal_lets_the_running_trial_finish() {
    for name in [Signal::INT, Signal::TERM] {
        let (repo, gate) = gated();
        let engine = repo.start(&["run", "--no-tui"]);
        gate.reached();
        engine.signal(name);
        engine
            .said("stopping: nothing new starts, running trials finish (at most 1m 10s each); again to kill them now");
        gate.open();
        let ran = engine.wait().ended(130).says("stopped by a person");
        assert_eq!(repo.verdicts(), [("discarded".to_owned(), "worse by 21".to_owned())], "{ran}");
        repo.assert_sound();
        repo.run(1);
        assert_eq!(repo.experiment(2)["verdict"], "kept");
        repo.assert_sound();
    }
}

#[test]
fn the_second_signal_kills_everything_at_once_and_the_trial_is_run_again() {
    let (repo, gate) = gated();
    let engine = repo.start(&["run", "--no-tui"]);
    gate.reached();
    engine.signal(Signal::INT);
    engine.said("stopping:");
    let second = Instant::now();
    engine.signal(Signal::INT);
    let ran = engine.wait().ended(130);
    assert!(second.elapsed() < Duration::from_secs(4), "{:?}", second.elapsed());
    assert_eq!(repo.strays(), Vec::<u32>::new(), "{ran}");
    assert!(repo.experiment(1)["verdict"].is_null());
    insta::assert_snapshot!(repo.ok(&["show", "1"]), @"
    experiment 1 · no verdict yet
      hypothesis  x 5 → 8: not moved before
      agent       tuner
      started     [TIME]
      commit      [COMMIT]
      parent      [COMMIT]
      1 trial lost before the end, which count for nothing

    --- a/knobs.py
    +++ b/knobs.py
    @@ -1 +1 @@
    -x = 5
    +x = 8

    trust: cooperative · sandbox none · 3 seeds, all the same · no holdout
    --- exit code 0
    ");
    repo.ok(&["verify"]);
    gate.open();
    repo.run(2);
    assert_eq!(repo.experiment(1)["verdict"], "discarded");
    repo.ok(&["show", "1"]).says("1 trial lost before the end, which count for nothing");
    repo.assert_sound();
}

#[test]
fn an_agent_at_work_is_stopped_by_the_first_signal() {
    let repo = Repo::with_agent("touch $STARTED; sleep 1000\n");
    let started = repo.beside("started");
    repo.write("agent.sh", &repo.read("agent.sh").replace("$STARTED", started.to_str().unwrap())).commit("slow");
    let engine = repo.start(&["run", "--no-tui"]);
    until("the agent to start", || started.exists());
    engine.signal(Signal::INT);
    engine.wait().ended(130);
    assert!(repo.experiment(1)["verdict"].is_null());
    repo.assert_sound();
    // Asked again, it has another chance at the same number.
    repo.write("agent.sh", "echo 'x = 3' > knobs.py\n").commit("quick");
    let resumed = repo.start(&["run", "--no-tui", "--experiments", "1"]);
    until("the agent to start again", || repo.events("asked") >= 2);
    drop(resumed);
}

#[test]
fn a_terminal_that_closes_stops_nothing() {
    let (repo, gate) = gated();
    let mut engine = repo.start(&["run", "--no-tui", "--experiments", "1"]);
    gate.reached();
    engine.signal_group(Signal::HUP);
    assert!(!engine.has_ended());
    gate.open();
    engine.wait().ended(0);
    assert!(!gate.interrupted.exists());
    repo.assert_sound();
}

#[test]
fn a_trial_never_sees_the_signals_of_the_terminal() {
    let (repo, gate) = gated();
    let engine = repo.start(&["run", "--no-tui"]);
    gate.reached();
    engine.signal_group(Signal::INT);
    engine.said("stopping:");
    gate.open();
    engine.wait().ended(130);
    assert!(!gate.interrupted.exists());
    assert_eq!(repo.experiment(1)["verdict"], "discarded");
}

#[test]
fn a_detached_run_goes_on_until_it_is_killed() {
    let (repo, gate) = gated();
    let mut command = repo.command(&["run", "--detach"]);
    command.process_group(0).stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    insta::assert_snapshot!(said, @"
    running in the background as process [PID]; its lines go to [TEMP]/repo/.overnight/main/run.log
    look at it with `overnight`, stop it with `kill [PID]`
    ");
    let pid: u32 = said.split("process ").nth(1).unwrap().split(';').next().unwrap().parse().unwrap();
    gate.reached();
    repo.ok(&["status"]).says(&format!("running as process {pid}")).says("running    trial 3 of experiment 1");
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let session = stat.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap().to_owned();
    assert_eq!(session, pid.to_string(), "it has a session of its own");
    signal(Signal::TERM, pid);
    gate.open();
    until("the detached run to end", || !is_alive(pid));
    let log = fs::read_to_string(repo.state().join("run.log")).unwrap();
    assert!(log.contains("stopped by a person") && log.contains("discarded"), "{log}");
    repo.ok(&["status"]).says("last run   stopped by a person");
    repo.assert_sound();
}

#[test]
fn a_detached_run_that_is_refused_says_so_at_once() {
    let repo = Repo::new();
    repo.write("score.sh", "echo loss: 1\n");
    insta::assert_snapshot!(repo.overnight(&["run", "--detach"]).ended(3), @"
    --- to people
    error: `score.sh` differs from the last commit
    hint: commit it, put it back with `git restore`, or take it as it is with --snapshot
    --- exit code 3
    ");
}
