//! What reaches a run by letter beside words: a person's own try, and a wish to pause.

use std::path::PathBuf;

use rustix::process::Signal;

use crate::support::{Json, Repo, until};

/// A study whose agent waits until it may answer, so that the slot is free meanwhile.
fn thinking() -> (Repo, PathBuf, PathBuf) {
    let repo = Repo::new();
    let (asked, answer) = (repo.beside("asked"), repo.beside("answer"));
    let agent = format!(
        "touch '{}'; until test -e '{}'; do sleep 0.02; done\n\
         echo \"x = $(( $(sed -n 's/^x = //p' knobs.py) + 1 ))\" > knobs.py; echo more\n",
        asked.display(),
        answer.display()
    );
    repo.write("agent.sh", &agent);
    repo.triplet("[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"\nahead = 0").commit("an agent");
    (repo, asked, answer)
}

fn status(repo: &Repo) -> Json {
    serde_json::from_str(&repo.ok(&["status", "--json"]).stdout).unwrap()
}

#[test]
fn a_try_is_handed_over_to_the_run_that_has_the_study() {
    let (repo, asked, answer) = thinking();
    let engine = repo.start(&["run", "--no-tui", "--experiments", "2"]);
    until("the first question", || asked.exists());
    repo.write("knobs.py", "x = 4\n");
    let mine = ["try", "--from-worktree", "-m", "my own", "--json"];
    repo.overnight(&mine).ended(3).says("this study is being run by process").says("--wait");
    // It is judged while the agent still thinks.
    let tried: Json = serde_json::from_str(&repo.ok(&[&mine[..], &["--wait"]].concat()).stdout).unwrap();
    assert_eq!((&tried["verdict"], &tried["agent"]), (&"kept".into(), &"person".into()));
    assert_eq!(tried["commit"], repo.git(&["rev-parse", "overnight/main"]).as_str());
    std::fs::write(&answer, "").unwrap();
    engine.wait().ended(0);
    assert_eq!(repo.experiment(1)["agent"], "command");
    repo.assert_sound();
    // Where nobody runs the study, it is the same as without.
    repo.write("knobs.py", "x = 3\n");
    repo.ok(&["try", "--from-worktree", "-m", "mine again", "--wait"]).says("kept");
    repo.assert_sound();
}

#[test]
fn a_paused_run_begins_nothing_new_until_it_is_resumed() {
    let (repo, asked, answer) = thinking();
    let engine = repo.start(&["run", "--no-tui"]);
    until("the first question", || asked.exists());
    repo.ok(&["pause"]).says("what runs finishes, nothing new begins");
    engine.said("paused: nothing new begins");
    repo.ok(&["pause"]).says("it is paused already");
    assert_eq!((&status(&repo)["state"], &status(&repo)["paused"]), (&"paused".into(), &true.into()));
    repo.ok(&["status"]).says("paused; process ");
    std::fs::write(&answer, "").unwrap();
    until("the answer", || repo.log().len() == 2);
    assert!(repo.experiment(1)["verdict"].is_null(), "it is not measured");
    // It outlasts the run.
    engine.signal(Signal::INT);
    engine.wait().ended(130);
    repo.ok(&["status"]).says("paused     nothing new begins before `overnight resume`");
    repo.write("knobs.py", "x = 4\n");
    repo.overnight(&["try", "--from-worktree", "-m", "mine"]).ended(3).says("the study is paused");
    let engine = repo.start(&["run", "--no-tui", "--experiments", "1"]);
    engine.said("paused: nothing new begins");
    until("the run to be there", || status(&repo)["state"] == "paused");
    assert!(repo.experiment(1)["verdict"].is_null());
    repo.ok(&["resume"]).says("the run goes on");
    engine.wait().ended(0);
    assert_eq!(repo.experiment(1)["verdict"], "discarded");
    assert!(status(&repo)["paused"].is_null());
    repo.ok(&["resume"]).says("it is not paused");
    repo.assert_sound();
}

#[test]
fn a_pause_before_the_first_run_waits_for_it() {
    let repo = Repo::new();
    repo.ok(&["pause"]).says("nobody runs the study");
    let engine = repo.start(&["run", "--no-tui", "--experiments", "1"]);
    engine.said("paused: nothing new begins");
    repo.ok(&["resume"]);
    engine.wait().ended(0);
    repo.assert_sound();
}
