//! `overnight` alone, at every stage of a study: where it stands, and one next step.

use std::fs;

use rustix::process::Signal;

use crate::support::{Ran, Repo, until};

fn bare(repo: &Repo) -> Ran {
    let ran = repo.ok(&[]);
    assert_eq!(ran.stdout.matches("next  ").count(), 1, "exactly one next step\n{ran}");
    ran
}

/// What `overnight check` leaves when it went through.
fn checked(repo: &Repo, study: &str, triplet: &str) {
    let hash = overnight_model::BlobId::of(repo.read(triplet).as_bytes()).0;
    let note = format!("{{\"complete\":true,\"triplet\":\"{hash}\"}}");
    repo.write(&format!(".overnight/{study}/check.json"), &note);
}

#[test]
fn a_folder_without_git_without_commits_and_without_a_triplet() {
    let repo = Repo::empty();
    fs::create_dir(repo.dir().join("src")).unwrap();
    insta::assert_snapshot!(bare(&repo), @"
    no study here, and [TEMP]/repo has no commit yet: the first one is the baseline
    next       write the code that is to become better, then git add -A && git commit -m baseline
    --- exit code 0
    ");
    repo.write("src/a", "1\n");
    insta::assert_snapshot!(bare(&repo), @"
    no study here, and [TEMP]/repo has no commit yet: the first one is the baseline
    next       git add -A && git commit -m baseline
    --- exit code 0
    ");
    repo.commit("one");
    insta::assert_snapshot!(bare(&repo), @"
    no study here: there is no overnight.toml in [TEMP]/repo or above it
    next       overnight init
    --- exit code 0
    ");
    fs::remove_dir_all(repo.dir().join(".git")).unwrap();
    insta::assert_snapshot!(bare(&repo), @"
    no study here, and [TEMP]/repo is not in a git repository: kept edits become commits
    next       git init
    --- exit code 0
    ");
}

#[test]
fn a_study_from_its_triplet_to_its_result() {
    let repo = Repo::new();
    insta::assert_snapshot!(bare(&repo), @"
    study      main · not checked yet
    surface    knobs.py
    metric     loss · lower is better
    budget     10s · agent tuner
    next       overnight check
    --- exit code 0
    ");
    checked(&repo, "main", "overnight.toml");
    insta::assert_snapshot!(bare(&repo), @"
    study      main · checked, ready to run
    surface    knobs.py
    metric     loss · lower is better
    budget     10s · agent tuner
    next       overnight run
    --- exit code 0
    ");
    repo.triplet("[limits]\nwall = \"8h\"");
    insta::assert_snapshot!(bare(&repo), @"
    study      main · overnight.toml was changed since it was checked
    surface    knobs.py
    metric     loss · lower is better
    budget     10s · agent tuner
    next       overnight check
    --- exit code 0
    ");
    repo.run(1);
    insta::assert_snapshot!(bare(&repo), @"
    study      main · stopped
    baseline   loss 4  ([SHORT])
    champion   loss 4  ([SHORT], the baseline, nothing better yet)
    noise      none seen in 3 repeats
    trials     4 for 1 experiment: 3 calibrate, 1 screen
    so far     1 experiment: 1 not better
    last run   done
    trust: cooperative · sandbox standard · 3 seeds, all the same · no holdout
    branch     overnight/main · read it with `git log overnight/main`
    next       overnight report
    --- exit code 0
    ");
    repo.run(1);
    insta::assert_snapshot!(bare(&repo), @"
    study      main · stopped
    baseline   loss 4  ([SHORT])
    champion   loss 0  ([SHORT], experiment 2)
    gain       4 over the baseline
    noise      none seen in 5 repeats
    trials     6 for 2 experiments: 3 calibrate, 2 screen, 1 confirm
    so far     2 experiments: 1 kept, 1 not better
    last run   done
    trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout
    branch     overnight/main · read it with `git log overnight/main`
    next       overnight report
    --- exit code 0
    ");
}

#[test]
fn a_check_that_found_it_not_ready_is_not_called_ready() {
    let repo = Repo::scored_by("exit 3");
    repo.overnight(&["check"]).ended(2).says("not ready");
    let ran =
        bare(&repo).says("study      main · checked, not ready: ").says("next       mend it, then overnight check");
    assert!(!ran.stdout.contains("ready to run"), "{ran}");
    // One that went through, and refuses the night.
    let hash = overnight_model::BlobId::of(repo.read("overnight.toml").as_bytes()).0;
    let findings = r#"[{"topic":"noise","level":"warn"},{"topic":"sandbox","level":"refused"}]"#;
    let note = format!(
        "{{\"complete\":true,\"ready\":false,\"triplet\":\"{hash}\",\"findings\":{findings},\"first\":\"allow it\"}}"
    );
    repo.write(".overnight/main/check.json", &note);
    insta::assert_snapshot!(bare(&repo), @"
    study      main · checked, not ready: sandbox
    surface    knobs.py
    metric     loss · lower is better
    budget     10s · agent tuner
    to mend    allow it
    next       mend it, then overnight check
    --- exit code 0
    ");
    repo.triplet("[limits]\nwall = \"8h\"");
    bare(&repo).says("overnight.toml was changed since it was checked");
}

#[test]
fn a_folder_of_that_name_with_other_files_in_it_holds_no_study() {
    let repo = Repo::empty();
    repo.write("overnight/settings.toml", "debug = true\n").write("overnight/__init__.py", "");
    repo.write("bench.py", "import work\nprint(f'time_ms: {work.X}')\n")
        .write("work.py", "X = 1\n")
        .commit("a package");
    bare(&repo).says("no study here").says("next       overnight init");
    repo.ok(&["init", "--yes"]).says("wrote       overnight.toml");
    bare(&repo).says("study      main");
}

#[test]
fn a_triplet_with_problems_is_told_as_run_tells_it() {
    let repo = Repo::new();
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("goal = \"min\"", "gaol = \"min\""));
    insta::assert_snapshot!(bare(&repo), @r#"
    study      main · overnight.toml has problems

    error: unknown key `gaol` in [metric]
      --> overnight.toml:2:27
       |
     2 | metric = { name = "loss", gaol = "min" }
       |                           ^^^^
       = hint: did you mean `goal`?

    next       mend overnight.toml, then overnight check
    --- exit code 0
    "#);
    let told = repo.overnight(&["run"]).ended(2).stderr;
    assert!(bare(&repo).stdout.contains(told.trim_end()), "{told}");
}

#[test]
fn a_running_a_killed_and_a_stopped_run() {
    let repo = Repo::new();
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("sh score.sh", "sleep 100; sh score.sh"));
    repo.commit("a long evaluation");
    let engine = repo.start(&["run", "--no-tui"]);
    until("a trial", || repo.events("trial_started") > 0);
    insta::assert_snapshot!(bare(&repo), @"
    study      main · running as process [PID]
    baseline   loss not measured yet  ([SHORT])
    noise      unknown so far
    so far     0 experiments
    running    trial 0 of the baseline since [TIME]
    trust: cooperative · sandbox standard · no repeats yet · no holdout
    next       overnight status
    --- exit code 0
    ");
    engine.signal(Signal::KILL);
    engine.wait();
    until("the processes of the killed engine to be gone", || repo.strays().is_empty());
    insta::assert_snapshot!(bare(&repo), @"
    study      main · the last run was killed; `overnight run` goes on where it was
    baseline   loss not measured yet  ([SHORT])
    noise      unknown so far
    so far     0 experiments
    trust: cooperative · sandbox standard · no repeats yet · no holdout
    next       overnight run
    --- exit code 0
    ");
    let engine = repo.start(&["run", "--no-tui"]);
    until("another trial", || repo.events("trial_started") > 1);
    engine.signal(Signal::INT);
    engine.said("stopping:");
    engine.signal(Signal::INT);
    engine.wait().ended(130);
    bare(&repo).says("next       overnight run");
}

#[test]
fn a_baseline_that_fails_is_to_be_looked_at() {
    let repo = Repo::scored_by("exit 3");
    repo.overnight(&["run", "--no-tui"]).ended(2);
    insta::assert_snapshot!(bare(&repo), @"
    study      main · stopped
    baseline   loss not measured yet  ([SHORT])
    noise      unknown so far
    trials     1 for 0 experiments: 1 calibrate
    so far     0 experiments
    last run   stopped: the baseline failed (crashed): exit code 3
    trust: cooperative · sandbox standard · no repeats yet · no holdout
    next       overnight show baseline
    --- exit code 0
    ");
}

#[test]
fn several_studies_are_listed_and_the_one_that_needs_something_comes_next() {
    let repo = Repo::new();
    let triplet = repo.read("overnight.toml");
    fs::remove_file(repo.dir().join("overnight.toml")).unwrap();
    repo.write("overnight/quick.toml", &triplet).write("overnight/small.toml", &triplet);
    repo.write("overnight/wrong.toml", "surface = 3\n").commit("three");
    repo.ok(&["run", "--no-tui", "--experiments", "2", "--study", "quick"]);
    checked(&repo, "small", "overnight/small.toml");
    insta::assert_snapshot!(bare(&repo), @"
    studies    quick  stopped · 2 experiments: 1 kept, 1 not better
               small  checked, ready to run
               wrong  overnight/wrong.toml has problems
    next       mend overnight/wrong.toml, then overnight check --study wrong
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["--study", "small"]), @"
    study      small · checked, ready to run
    surface    knobs.py
    metric     loss · lower is better
    budget     10s · agent tuner
    next       overnight run --study small
    --- exit code 0
    ");
}

#[test]
fn the_next_step_can_be_copied_from_another_folder() {
    let repo = Repo::new();
    let dir = repo.dir();
    let command = repo.command(&["-C", dir.to_str().unwrap()]).current_dir("/").output().unwrap();
    insta::assert_snapshot!(Ran::of(command), @"
    study      main · not checked yet
    surface    knobs.py
    metric     loss · lower is better
    budget     10s · agent tuner
    next       overnight -C [TEMP]/repo check
    --- exit code 0
    ");
    repo.overnight(&["-C", "nowhere"]).ended(2).says("the folder nowhere does not exist");
}

#[test]
fn a_study_whose_triplet_is_gone_says_so() {
    let repo = Repo::new();
    repo.run(1);
    fs::remove_file(repo.dir().join("overnight.toml")).unwrap();
    bare(&repo).says("overnight.toml is gone").says("put it back, then overnight run");
}
