//! A machine that is kept awake: with a `systemd-inhibit` that is none, and writes down what it was asked for. The real one
//! needs a system manager, which is in no container.

use std::fs;

use rustix::process::Signal;

use crate::support::{Engine, Repo, is_alive, until};

/// Writes down its arguments and its own number, and does what the real one does: run a command, and end with it.
fn fake(repo: &Repo) -> String {
    let (asked, pid) = (repo.outside("asked"), repo.outside("pid"));
    format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" >> {}\necho $$ > {}\nwhile case $1 in --*) true;; *) false;; esac; do shift; done\n\"$@\"\n",
        asked.display(),
        pid.display()
    )
}

fn start(repo: &Repo, inhibit: Option<&str>, more: &[&str]) -> Engine {
    let path = repo.kept_awake(inhibit);
    let args = [&["run", "--no-tui", "--experiments", "1"], more].concat();
    repo.start_with(&args, vec![("PATH".to_owned(), path)])
}

const LINE: &str = "kept awake: this machine does not go to sleep while the run lasts";

#[test]
fn a_run_holds_the_machine_says_so_and_lets_it_go() {
    let repo = Repo::new();
    let fake = fake(&repo);
    start(&repo, Some(&fake), &[]).wait().ended(0).says(LINE);
    let asked = fs::read_to_string(repo.outside("asked")).unwrap();
    let expected =
        ["--what=idle:sleep", "--who=overnight", "--why=overnight runs the study main", "--mode=block", "sh"];
    assert_eq!(asked.lines().take(5).collect::<Vec<_>>(), expected);
    let pid: u32 = fs::read_to_string(repo.outside("pid")).unwrap().trim().parse().unwrap();
    assert!(!is_alive(pid));
    // Who does not want it is not told of it.
    fs::remove_file(repo.outside("asked")).unwrap();
    let ran = start(&repo, Some(&fake), &["--no-awake"]).wait().ended(0);
    assert!(!ran.stderr.contains("awake") && !repo.outside("asked").exists(), "{ran}");
}

/// A run that is killed, or stopped by a terminal's Ctrl-C, which goes to everything that the terminal started.
#[test]
fn the_machine_is_held_until_the_run_is_gone_however_it_goes() {
    let repo = Repo::new();
    let (started, go) = (repo.beside("started"), repo.beside("go"));
    let score = repo.read("score.sh");
    let gate = format!(
        "grep -q 5 knobs.py || {{ touch {}; while ! test -e {}; do sleep 0.02; done; }}\n{score}",
        started.display(),
        go.display()
    );
    repo.write("score.sh", &gate).commit("a gate");
    let fake = fake(&repo);
    let engine = start(&repo, Some(&fake), &[]);
    engine.said(LINE);
    until("the trial to start", || started.exists());
    let holder = || -> u32 { fs::read_to_string(repo.outside("pid")).unwrap().trim().parse().unwrap() };
    engine.signal_group(Signal::INT);
    engine.said("stopping: nothing new starts");
    assert!(is_alive(holder()), "what is finished by a run that stops is finished awake");
    engine.signal(Signal::KILL);
    let pid = holder();
    until("the machine to be let go", || !is_alive(pid));
    drop(engine);
}

#[test]
fn a_machine_that_cannot_be_held_is_no_trouble_and_that_is_said() {
    let repo = Repo::new();
    let refuses = "#!/bin/sh\necho 'Failed to inhibit: Access denied' >&2\nexit 1\n";
    start(&repo, Some(refuses), &[]).wait().ended(0).says("not kept awake: Failed to inhibit: Access denied");
    // From afar idleness may be held off, and sleep may not.
    let only_idle = format!(
        "#!/bin/sh\ncase $1 in *sleep*) echo 'Access denied' >&2; exit 1;; esac\n{}",
        fake(&repo).trim_start_matches("#!/bin/sh\n")
    );
    let ran = start(&repo, Some(&only_idle), &[]).wait().ended(0);
    ran.says("kept awake: this machine does not go to sleep by itself while the run lasts").says("(Access denied)");
    // It may also hang.
    let hangs = "#!/bin/sh\nexec sleep 600\n";
    start(&repo, Some(hangs), &[]).wait().ended(0).says("not kept awake: systemd-inhibit did not answer within 2 s");
    repo.assert_sound();
}

#[test]
fn without_the_program_the_run_says_so() {
    let repo = Repo::new();
    // A PATH with the tools that a study needs, and no other.
    let programs = repo.outside("tools");
    fs::create_dir_all(&programs).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for name in ["sh", "sed", "git", "cat"] {
        let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.exists());
        std::os::unix::fs::symlink(found.unwrap(), programs.join(name)).unwrap();
    }
    repo.kept_awake(None);
    let path = vec![("PATH".to_owned(), programs.to_str().unwrap().to_owned())];
    let ran = repo.start_with(&["run", "--no-tui", "--experiments", "1"], path).wait().ended(0);
    ran.says("not kept awake: there is no systemd-inhibit here");
}
