//! The questions, on a terminal.

use std::process::{Command, Stdio};

use super::fixtures;
use crate::support::{Ran, Repo};

/// Holds a terminal, waits for each text in turn, types the answer to it, and tells what was shown.
const TYPIST: &str = r#"
import json, os, pty, sys
pairs, command = json.loads(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execv(command[0], command)
shown, seen = b"", 0
def more():
    global shown
    try:
        chunk = os.read(terminal, 4096)
    except OSError:
        chunk = b""
    shown += chunk
    return chunk
for wanted, answer in pairs:
    while wanted.encode() not in shown[seen:]:
        if not more():
            sys.exit("ended before it said " + wanted + "\n" + shown.decode())
    seen = shown.index(wanted.encode(), seen) + len(wanted.encode())
    os.write(terminal, answer.encode())
while more():
    pass
sys.stdout.write(shown.decode().replace("\r\n", "\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) % 256)
"#;

#[track_caller]
fn typed(repo: &Repo, answers: &[(&str, &str)], args: &[&str]) -> Ran {
    typed_with(repo, answers, args, Vec::new())
}

/// The same, with more of an environment.
#[track_caller]
pub(crate) fn typed_with(
    repo: &Repo,
    answers: &[(&str, &str)],
    args: &[&str],
    environment: Vec<(String, String)>,
) -> Ran {
    let pairs = serde_json::to_string(answers).unwrap();
    let inner = repo.command(args);
    let mut command = Command::new("python3");
    command.args(["-c", TYPIST, &pairs]).arg(inner.get_program()).args(inner.get_args());
    command.current_dir(repo.dir()).env_clear().stdin(Stdio::null());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.envs(environment);
    Ran::of(command.output().unwrap())
}

#[test]
fn enter_takes_every_guess() {
    let repo = fixtures::pi();
    let enter = |question| (question, "\n");
    let answers = ["may change?", "measures it?", "called?", "min or max?", "take?", "write it?"].map(enter);
    insta::assert_snapshot!(typed(&repo, &answers, &["init"]), @r#"
    recognised  a folder of pi-autoresearch (.auto/measure.sh)
      surface: the files in scope, by .auto/prompt.md
    which file may change? (several: a, b) [src/work.py] 
      run: what pi runs
    which command measures it? [bash .auto/measure.sh] 
      metric: .auto/log.jsonl was begun with it
    what is the number called? [total_us] 
      goal: by the same line
    which is better, min or max? [min] 
      budget: pi ends a run after 10 minutes, which is the wall that comes with this
    how long may one run take? [5m] 

    overnight.toml:

        surface = "src/work.py"  # the files in scope, by .auto/prompt.md
        metric = { name = "total_us", goal = "min" }  # .auto/log.jsonl was begun with it
        [evaluate]
        run = "bash .auto/measure.sh"
        budget = "5m"  # pi ends a run after 10 minutes, which is the wall that comes with this
        [[guard]]
        run = "bash .auto/checks.sh"

    write it? [Y/n] 
    wrote       overnight.toml
    wrote       program.md: your words to the agent; add what you know
    next        overnight check · overnight run
    --- exit code 0
    "#);
    assert!(repo.read("overnight.toml").contains("name = \"total_us\""));
    assert!(repo.read("program.md").contains("Make `total_us` smaller"));
}

#[test]
fn an_answer_replaces_a_guess_and_a_wrong_one_is_asked_for_again() {
    let repo = fixtures::repo(&[("knobs.py", "x = 5\n"), ("what.sh", "sed -n 's/^x = /depth: /p' knobs.py\n")]);
    let answers = [
        ("may change?", "\n"),
        ("may change?", "knob.py\n"),
        ("did you mean `knobs.py`?", ""),
        ("may change?", "knobs.py\n"),
        ("measures it?", "sh what.sh\n"),
        ("called?", "depth\n"),
        ("min or max?", "more\n"),
        ("min or max?", "max\n"),
        ("take?", "soon\n"),
        ("take?", "10s\n"),
        ("write it?", "y\n"),
    ];
    typed(&repo, &answers, &["init"]).ended(0);
    insta::assert_snapshot!(repo.read("overnight.toml"), @r#"
    surface = "knobs.py"
    metric = { name = "depth", goal = "max" }
    [evaluate]
    run = "sh what.sh"
    budget = "10s"
    "#);
}

#[test]
fn who_says_no_or_goes_away_finds_everything_as_it_was() {
    let repo = fixtures::pi();
    let before = repo.fingerprint();
    let enter = |question| (question, "\n");
    let all = ["may change?", "measures it?", "called?", "min or max?", "take?"].map(enter);
    let with = |last: (&'static str, &'static str)| [&all[..], &[last]].concat();
    typed(&repo, &with(("write it?", "n\n")), &["init"]).ended(130).says("nothing was written");
    // The end of input, and Ctrl-C in the middle of the questions.
    typed(&repo, &with(("write it?", "\u{4}")), &["init"]).ended(130).says("nothing was written");
    let interrupted = typed(&repo, &[enter("may change?"), ("measures it?", "\u{3}")], &["init"]);
    assert_ne!(interrupted.code, Some(0), "{interrupted}");
    assert_eq!(repo.fingerprint(), before);
}

#[test]
fn with_yes_a_terminal_is_asked_nothing() {
    let repo = fixtures::pi();
    typed(&repo, &[], &["init", "--yes"]).ended(0).says("wrote       overnight.toml");
}
