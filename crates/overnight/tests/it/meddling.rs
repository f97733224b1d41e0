//! A person uses git while a study runs.

use std::fs;

use crate::support::{Engine, Repo, until};

/// A run whose trials wait for a file between experiments, so that hands can be laid on git meanwhile.
struct Slow {
    repo: Repo,
    engine: Engine,
}

fn slow() -> Slow {
    let repo = Repo::new();
    let (started, go) = (repo.beside("started"), repo.beside("go"));
    let script = format!(
        "grep -q 'x = [58]' knobs.py || {{ touch {}; while ! test -e {}; do sleep 0.02; done; }}\n{}",
        started.display(),
        go.display(),
        repo.read("score.sh")
    );
    repo.write("score.sh", &script).commit("slow");
    let engine = repo.start(&["run", "--no-tui", "--experiments", "3"]);
    until("the second experiment to be running", || started.exists());
    Slow { repo, engine }
}

fn go(repo: &Repo) {
    fs::write(repo.beside("go"), "").unwrap();
}

#[test]
fn gc_and_a_rewritten_branch_of_the_user_lose_nothing() {
    let Slow { repo, engine } = slow();
    repo.write("extra.txt", "a file\n").commit("more");
    repo.git(&["commit", "-q", "--amend", "-m", "the same again"]);
    repo.git(&["reset", "-q", "--hard", "HEAD~2"]);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "another history"]);
    repo.git(&["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    go(&repo);
    engine.wait().ended(0);
    repo.git(&["gc", "-q", "--prune=now"]);
    repo.assert_sound();
    assert_eq!(repo.experiment(2)["verdict"], "kept");
    repo.run(1);
    repo.assert_sound();
}

#[test]
fn a_study_branch_that_someone_else_moved_is_not_overwritten() {
    let Slow { repo, engine } = slow();
    repo.git(&["branch", "mine", "main"]);
    let mine = repo.git(&["commit-tree", "-m", "mine", "-p", "main", "main^{tree}"]);
    repo.git(&["branch", "-f", "overnight/main", &mine]);
    go(&repo);
    insta::assert_snapshot!(engine.wait().ended(3), @"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent tuner · 1 slot
    sandbox none: candidates run as you; only their time, processes and working copy are kept in check
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  discarded                25          −21  x 5 → 8: not moved before (worse by 21)
        2  kept                      0           +4  x 5 → 3: the other way was not better (better by 4, twice the same)
    error: the branch overnight/main was moved by someone else: the study's champion is [COMMIT], the branch is at [COMMIT]
    hint: keep what is there with `git branch NAME overnight/main`, then put it back with `git branch -f overnight/main [COMMIT]`
    --- exit code 3
    ");
    assert_eq!(repo.git(&["rev-parse", "overnight/main"]), mine);
    // The verdict stands, and the next run says the same.
    assert_eq!(repo.experiment(2)["verdict"], "kept");
    let again = repo.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(3);
    insta::assert_snapshot!(again, @"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent tuner · 1 slot
    sandbox none: candidates run as you; only their time, processes and working copy are kept in check
        #  verdict                loss         gain  what (why)
    error: the branch overnight/main was moved by someone else: the study's champion is [COMMIT], the branch is at [COMMIT]
    hint: keep what is there with `git branch NAME overnight/main`, then put it back with `git branch -f overnight/main [COMMIT]`
    --- exit code 3
    ");
    assert_eq!(repo.git(&["rev-parse", "overnight/main"]), mine);
    follow_hint(&repo, &again.stderr);
    repo.run(1);
    repo.assert_sound();
}

#[test]
fn a_study_branch_that_was_deleted_comes_back_by_the_hints_command() {
    let Slow { repo, engine } = slow();
    repo.git(&["branch", "-D", "overnight/main"]);
    go(&repo);
    let ran = engine.wait().ended(3);
    insta::assert_snapshot!(ran, @"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent tuner · 1 slot
    sandbox none: candidates run as you; only their time, processes and working copy are kept in check
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  discarded                25          −21  x 5 → 8: not moved before (worse by 21)
        2  kept                      0           +4  x 5 → 3: the other way was not better (better by 4, twice the same)
    error: the branch overnight/main was deleted; the study's champion is [COMMIT]
    hint: bring it back with `git branch overnight/main [COMMIT]`
    --- exit code 3
    ");
    follow_hint(&repo, &ran.stderr);
    repo.run(1);
    repo.assert_sound();
}

#[test]
fn a_study_branch_that_was_deleted_and_collected_comes_back_too() {
    let repo = Repo::new();
    let (started, go) = (repo.beside("started"), repo.beside("go"));
    // Two keeps: the branch goes while the second is measured.
    let agent = "n=$(sed -n 's/^x = //p' knobs.py); echo \"x = $((n - 1))\" > knobs.py\n";
    let gate = format!(
        "grep -q 'x = 3' knobs.py && {{ touch {}; while ! test -e {}; do sleep 0.02; done; }}\n",
        started.display(),
        go.display()
    );
    repo.write("agent.sh", agent).write("score.sh", &format!("{gate}{}", repo.read("score.sh")));
    repo.triplet("[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"\nahead = 0").commit("an agent");
    let engine = repo.start(&["run", "--no-tui", "--experiments", "2"]);
    until("the second keep to be measured", || started.exists());
    repo.git(&["branch", "-D", "overnight/main"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    fs::write(go, "").unwrap();
    let ran = engine.wait().ended(3);
    insta::assert_snapshot!(ran, @"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent command · 1 slot
    sandbox none: candidates run as you; only their time, processes and working copy are kept in check
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  kept                      1           +3  (no description) (better by 3, twice the same)
        2  kept                      0           +1  (no description) (better by 1, twice the same)
    error: the branch overnight/main was deleted; the study's champion is [COMMIT]
    hint: bring it back with `git fetch [TEMP]/repo/.overnight/main/store.git refs/overnight/1:refs/heads/overnight/main`
    --- exit code 3
    ");
    follow_hint(&repo, &ran.stderr);
    repo.run(0);
    repo.assert_sound();
    assert_eq!(repo.git(&["rev-list", "--count", "main..overnight/main"]), "2");
}

#[test]
fn a_branch_that_moved_or_went_between_runs_stops_the_next_one() {
    let repo = Repo::new();
    repo.run(2);
    repo.git(&["branch", "-f", "overnight/main", "main"]);
    let moved = repo.overnight(&["run"]).ended(3);
    insta::assert_snapshot!(moved, @"
    --- to people
    error: the branch overnight/main was moved by someone else: the study's champion is [COMMIT], the branch is at [COMMIT]
    hint: keep what is there with `git branch NAME overnight/main`, then put it back with `git branch -f overnight/main [COMMIT]`
    --- exit code 3
    ");
    follow_hint(&repo, &moved.stderr);
    repo.run(1);
    repo.git(&["branch", "-D", "overnight/main"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    let deleted = repo.overnight(&["run"]).ended(3);
    insta::assert_snapshot!(deleted, @"
    --- to people
    error: the branch overnight/main was deleted; the study's champion is [COMMIT]
    hint: bring it back with `git fetch [TEMP]/repo/.overnight/main/store.git refs/overnight/2:refs/heads/overnight/main`
    --- exit code 3
    ");
    follow_hint(&repo, &deleted.stderr);
    repo.run(1);
    repo.assert_sound();
}

#[test]
fn a_baseline_branch_that_was_deleted_comes_back_too() {
    let repo = Repo::new();
    repo.run(1);
    repo.git(&["branch", "-D", "overnight/main"]);
    let deleted = repo.overnight(&["run"]).ended(3);
    follow_hint(&repo, &deleted.stderr);
    repo.run(1);
    repo.assert_sound();
}

#[test]
fn a_folder_with_spaces_in_its_name_makes_hints_that_can_be_pasted() {
    let temp = tempfile::tempdir().unwrap();
    let repo = Repo::at(temp.path().canonicalize().unwrap().join("it's a folder"), Some(temp));
    for file in ["overnight.toml", "knobs.py", "score.sh"] {
        repo.write(file, &Repo::new().read(file));
    }
    repo.commit("base").run(2);
    repo.git(&["branch", "-D", "overnight/main"]);
    let deleted = repo.overnight(&["run"]).ended(3);
    follow_hint(&repo, &deleted.stderr);
    repo.run(1);
    repo.assert_sound();
}

#[test]
fn a_lock_of_another_git_command_at_the_moment_of_a_keep() {
    let Slow { repo, engine } = slow();
    let lock = repo.dir().join(".git/refs/heads/overnight/main.lock");
    fs::write(&lock, "").unwrap();
    go(&repo);
    engine.wait().ended(3).says("main.lock is locked by another program");
    assert!(lock.exists());
    fs::remove_file(lock).unwrap();
    repo.run(1);
    repo.assert_sound();
    assert_eq!(repo.experiment(2)["commit"], repo.git(&["rev-parse", "overnight/main"]).as_str());
}

/// Does what the last command of a hint says, as a person would paste it.
#[track_caller]
fn follow_hint(repo: &Repo, said: &str) {
    let hint = said.lines().find(|line| line.starts_with("hint:")).unwrap_or_else(|| panic!("no hint in {said}"));
    let command = hint.split('`').nth_back(1).unwrap();
    assert!(command.starts_with("git "), "{command}");
    repo.shell(command);
}

/// Found by a newcomer: a branch checked out during a run was moved under the checkout, which then looked edited.
#[test]
fn a_study_branch_that_is_checked_out_during_a_run_is_not_moved() {
    let Slow { repo, engine } = slow();
    repo.git(&["checkout", "-q", "overnight/main"]);
    go(&repo);
    engine.wait().ended(3).says("the branch overnight/main is checked out in");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    repo.git(&["checkout", "-q", "main"]);
    repo.run(1);
    repo.assert_sound();
}
