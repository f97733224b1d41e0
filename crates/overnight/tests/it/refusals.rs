//! What is refused, by name, before anything is lost.

use std::fs;

use crate::support::{Repo, until};

#[test]
fn a_triplet_with_a_slip_is_shown_with_its_line() {
    let repo = Repo::new();
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("goal = \"min\"", "gaol = \"min\""));
    insta::assert_snapshot!(repo.overnight(&["run"]).ended(2), @r#"
    --- to people
    error: unknown key `gaol` in [metric]
      --> overnight.toml:2:27
       |
     2 | metric = { name = "loss", gaol = "min" }
       |                           ^^^^
       = hint: did you mean `goal`?
    --- exit code 2
    "#);
    assert!(!repo.dir().join(".overnight").exists());
}

#[test]
fn a_key_whose_part_is_still_to_come_is_refused() {
    let repo = Repo::new();
    repo.triplet("[cases]\nscreen = 30");
    insta::assert_snapshot!(repo.overnight(&["run"]).ended(2), @r#"
    --- to people
    error: `[cases]` is not yet supported
      --> overnight.toml:6:2
       |
     6 | [cases]
       |  ^^^^^
       = hint: let `evaluate.run` go through all cases and print their mean
    --- exit code 2
    "#);
}

#[test]
fn a_dirty_locked_file_is_refused_by_name_and_taken_by_snapshot() {
    let repo = Repo::new();
    let before = repo.git(&["rev-parse", "HEAD"]);
    repo.write("score.sh", "echo loss: 17\n");
    insta::assert_snapshot!(repo.overnight(&["run"]).ended(3), @"
    --- to people
    error: `score.sh` differs from the last commit
    hint: commit it, put it back with `git restore`, or take it as it is with --snapshot
    --- exit code 3
    ");
    let untouched = repo.fingerprint();
    repo.ok(&["run", "--snapshot", "--experiments", "1", "--no-tui"]);
    assert_eq!(repo.fingerprint(), untouched);
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), before);
    assert_eq!(repo.experiment(0)["metric"], 17.0);
    assert_ne!(repo.experiment(0)["commit"], before.as_str());
    // It goes on with or without the flag, as long as the files are what they were.
    repo.run(1);
    repo.ok(&["run", "--snapshot", "--experiments", "1", "--no-tui"]);
    repo.write("score.sh", "echo loss: 18\n");
    insta::assert_snapshot!(repo.overnight(&["run", "--snapshot"]).ended(3), @"
    --- to people
    error: `score.sh` differs from the last commit
    hint: the study goes on from its own baseline: commit it or put it back with `git restore`; to have it measured, `overnight rebase --snapshot` begins a new segment with it
    --- exit code 3
    ");
    repo.assert_sound();
}

#[test]
fn a_dirty_surface_is_refused_for_a_baseline_and_left_alone_later() {
    let repo = Repo::new();
    repo.write("knobs.py", "x = 4\n");
    repo.overnight(&["run"]).ended(3).says("`knobs.py` differs from the last commit");
    repo.write("knobs.py", "x = 5\n");
    repo.run(1);
    // A person's next idea is none of the loop's business.
    repo.write("knobs.py", "x = 4\n");
    repo.run(1);
    assert_eq!(repo.read("knobs.py"), "x = 4\n");
}

#[test]
fn the_program_is_never_locked_whatever_it_is_called() {
    let repo = Repo::new();
    repo.write("plan.md", "one\n");
    repo.write("overnight.toml", &format!("program = \"plan.md\"\n{}", repo.read("overnight.toml"))).commit("a plan");
    repo.write("plan.md", "two\n");
    repo.run(1);
}

#[test]
fn git_repositories_that_cannot_hold_a_study() {
    let outside = Repo::new();
    fs::remove_dir_all(outside.dir().join(".git")).unwrap();
    insta::assert_snapshot!(outside.overnight(&["run"]).ended(3), @"
    --- to people
    error: [TEMP]/repo is not inside a git repository
    hint: run `git init`, add the files and commit them; kept edits become commits
    --- exit code 3
    ");

    let young = Repo::empty();
    young.write("overnight.toml", &Repo::new().read("overnight.toml"));
    insta::assert_snapshot!(young.overnight(&["run"]).ended(3), @"
    --- to people
    error: the repository [TEMP]/repo has no commits yet
    hint: commit the files first; the first commit is the baseline
    --- exit code 3
    ");

    let bare = Repo::new();
    bare.git(&["config", "core.bare", "true"]);
    insta::assert_snapshot!(bare.overnight(&["run"]).ended(3), @"
    --- to people
    error: the repository [TEMP]/repo/.git is bare
    hint: run overnight in a clone with a working tree
    --- exit code 3
    ");

    let reftable = Repo::new();
    fs::remove_dir_all(reftable.dir().join(".git")).unwrap();
    // Git has known this format since 2.45.
    if reftable.git_ran(&["init", "-q", "--ref-format=reftable", "."]).code == Some(0) {
        reftable.commit("base");
        insta::assert_snapshot!(reftable.overnight(&["run"]).ended(3), @"
        --- to people
        error: the repository [TEMP]/repo/.git keeps its refs in a reftable
        hint: work in a clone: `git clone --ref-format=files [TEMP]/repo/.git NEW`
        --- exit code 3
        ");
    }
}

#[test]
fn branches_and_locks_in_the_way() {
    let repo = Repo::new();
    repo.git(&["branch", "overnight"]);
    insta::assert_snapshot!(repo.overnight(&["run"]).ended(3), @"
    --- to people
    error: the branch overnight makes overnight/main impossible
    hint: rename it with `git branch -m overnight <another name>`
    --- exit code 3
    ");
    repo.git(&["branch", "-D", "overnight"]);

    fs::create_dir_all(repo.dir().join(".git/refs/heads/overnight")).unwrap();
    let lock = repo.dir().join(".git/refs/heads/overnight/main.lock");
    fs::write(&lock, "").unwrap();
    insta::assert_snapshot!(repo.overnight(&["run"]).ended(3), @"
    --- to people
    error: [TEMP]/repo/.git/refs/heads/overnight/main.lock is locked by another program
    hint: wait for the other git command; if none is running, a crashed one left it: remove [TEMP]/repo/.git/refs/heads/overnight/main.lock
    --- exit code 3
    ");
    assert!(lock.exists(), "a foreign lock is left alone");
    fs::remove_file(lock).unwrap();

    repo.git(&["branch", "overnight/main"]);
    insta::assert_snapshot!(repo.overnight(&["run"]).ended(3), @"
    --- to people
    error: the branch overnight/main exists already, but [TEMP]/repo/.overnight/main has no record of it
    hint: rename it with `git branch -m overnight/main NAME`, or delete it, or begin a study of another name
    --- exit code 3
    ");
    assert!(!repo.dir().join(".overnight").exists(), "nothing was made");
    repo.git(&["branch", "-D", "overnight/main"]);
    repo.run(1);
    repo.assert_sound();
}

#[test]
fn the_study_branch_checked_out_here_or_in_a_linked_worktree() {
    let repo = Repo::new();
    repo.run(1);
    repo.git(&["switch", "-q", "overnight/main"]);
    insta::assert_snapshot!(repo.overnight(&["run"]).ended(3), @"
    --- to people
    error: the branch overnight/main is checked out in [TEMP]/repo
    hint: switch to another branch with `git -C [TEMP]/repo switch <branch>`
    --- exit code 3
    ");
    repo.git(&["switch", "-q", "main"]);
    let linked = repo.beside("linked");
    repo.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "overnight/main"]);
    insta::assert_snapshot!(repo.overnight(&["run"]).ended(3), @"
    --- to people
    error: the branch overnight/main is checked out in [TEMP]/linked
    hint: switch to another branch with `git -C [TEMP]/linked switch <branch>`
    --- exit code 3
    ");
    // Looking is always possible.
    repo.ok(&["status"]);
    repo.ok(&["verify"]);
}

#[test]
fn an_evaluation_that_changed_since_the_study_began() {
    let repo = Repo::new();
    repo.run(1);
    let triplet = repo.read("overnight.toml");
    repo.write("overnight.toml", &triplet.replace("\"10s\"", "\"20s\""));
    insta::assert_snapshot!(repo.overnight(&["run"]).ended(3), @"
    --- to people
    error: evaluate.budget changed since this study began: it was `10s`, now it is `20s`
    hint: numbers from before and after cannot be compared: put it back, or go on in a new segment, with the champion carried over and measured anew: `overnight rebase`
    --- exit code 3
    ");
    repo.write("overnight.toml", &triplet.replace("\"min\"", "\"max\""));
    repo.overnight(&["run"]).ended(3).says("metric.goal changed since this study began: it was `min`, now it is `max`");
    // What compares nothing may change.
    repo.write("overnight.toml", &triplet).triplet("[limits]\nexperiments = 1");
    repo.overnight(&["run", "--no-tui"]).ended(4);
}

#[test]
fn locked_files_that_were_committed_since_are_worth_a_word() {
    let repo = Repo::new();
    repo.run(1);
    repo.write("score.sh", "echo loss: 0\n").commit("another evaluation");
    repo.run(1).says("note: `score.sh` changed since the baseline; the study goes on with the baseline's");
    repo.assert_sound();
}

#[test]
fn a_second_engine_is_told_who_is_first_also_in_a_linked_worktree() {
    let repo = Repo::new();
    let marker = repo.beside("started");
    repo.write("score.sh", &format!("touch {}; sleep 1000\n", marker.display())).commit("slow");
    let linked = repo.beside("linked");
    repo.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let first = repo.start(&["run", "--no-tui"]);
    until("the first to be at work", || marker.exists());
    let pid = format!("this study is being run by process {} ", first.pid());
    insta::assert_snapshot!(repo.overnight(&["run"]).ended(3).says(&pid), @"
    --- to people
    error: this study is being run by process [PID] (`overnight run` in [TEMP]/repo)
    hint: wait for it, or stop it with `kill [PID]`
    --- exit code 3
    ");
    repo.overnight(&["try", "--from-worktree", "-m", "me too"]).ended(3).says(&pid);
    repo.overnight(&["-C", linked.to_str().unwrap(), "run"]).ended(3).says(&pid);
    let status = repo.ok(&["status"]).says(&format!("running as process {}", first.pid()));
    insta::assert_snapshot!(status, @"
    study      main · running as process [PID]
    baseline   loss not measured yet  ([SHORT])
    noise      unknown so far
    so far     0 experiments
    running    trial 0 of the baseline since [TIME]
    trust: cooperative · sandbox none · no repeats yet · no holdout
    --- exit code 0
    ");
    assert_eq!((&repo.status()["state"], &repo.status()["running"]), (&"running".into(), &1.into()));
}
