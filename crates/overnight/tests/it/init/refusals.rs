//! Where `init` has nothing to write, it says what to do.

use super::fixtures;
use crate::support::Repo;

#[test]
fn a_folder_without_git_and_a_repository_without_commits() {
    let repo = Repo::empty();
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"
    --- to people
    error: the repository [TEMP]/repo has no commits yet
    hint: commit the files first; the first commit is the baseline; then run `overnight init` again
    --- exit code 2
    ");
    std::fs::create_dir(repo.outside("bare")).unwrap();
    insta::assert_snapshot!(repo.overnight(&["-C", "../bare", "init", "--yes"]), @"
    --- to people
    error: [TEMP]/bare is not inside a git repository
    hint: run `git init`, add the files and commit them; kept edits become commits; then run `overnight init` again
    --- exit code 2
    ");
    insta::assert_snapshot!(repo.overnight(&["-C", "../nowhere", "init"]), @"
    --- to people
    error: the folder ../nowhere does not exist
    --- exit code 2
    ");
}

#[test]
fn nothing_that_could_be_measured() {
    let repo = fixtures::repo(&[("README.md", "# nothing\n")]);
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @r#"
    --- to people
    error: nothing in [TEMP]/repo looks like a benchmark or prints a number
    hint: write a script that prints a line such as `time_ms: 12.3` (bench.py, bench.mjs or examples/bench.rs), commit it, and run `overnight init` again; or say it: overnight init --surface FILE --metric val_loss --goal min --run "python3 train.py"
    --- exit code 2
    "#);
    let empty = fixtures::repo(&[]);
    insta::assert_snapshot!(empty.overnight(&["init", "--yes"]), @"
    --- to people
    error: git has no files in [TEMP]/repo
    hint: add the files with `git add`, commit them, and run `overnight init` again
    --- exit code 2
    ");
    assert!(!repo.dir().join("overnight.toml").exists() && !empty.dir().join("program.md").exists());
}

#[test]
fn a_triplet_that_is_there_is_never_touched() {
    let repo = Repo::new();
    let before = repo.fingerprint();
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"
    --- to people
    error: [TEMP]/repo/overnight.toml is there already
    hint: edit it, or begin another study beside it with `overnight init --study NAME`
    --- exit code 3
    ");
    repo.write("sub/x", "");
    repo.overnight(&["-C", "sub", "init", "--yes"]).ended(3);
    repo.shell("rm -r sub");
    assert_eq!(repo.fingerprint(), before);
    repo.overnight(&["init", "--yes", "--study", "a b"]).ended(2).says("cannot be the name of a study");
}

#[test]
fn answers_that_are_no_triplet_are_shown_in_their_place() {
    let repo = fixtures::script();
    insta::assert_snapshot!(repo.overnight(&["init", "--yes", "--surface", "solvr.py", "--budget", "5 min"]), @r#"
    --- to people
    recognised  the script evaluate.py
      surface   solvr.py (as you said)
      metric    ratio (evaluate.py, line 7, prints it)
      goal      min (by what is written about it)
      run       python3 evaluate.py (evaluate.py prints `ratio`)
      budget    5 min (as you said)
      inputs    data (git does not bring data: evaluate.py names it)
    error: surface `solvr.py` is not a file tracked by git
      --> overnight.toml:1:11
       |
     1 | surface = "solvr.py"
       |           ^^^^^^^^^^
       = hint: did you mean `solver.py`?

    error: unknown unit `min` in `5 min`
      --> overnight.toml:5:10
       |
     5 | budget = "5 min"
       |          ^^^^^^^
       = hint: units are ms, s, m, h and d, as in "1h30m"
    --- exit code 2
    "#);
    repo.overnight(&["init", "--goal", "up"]).ended(2).says("a goal is min or max");
    assert!(!repo.dir().join("overnight.toml").exists());
}

#[test]
fn the_checkout_is_left_as_it_was_but_for_the_two_files() {
    let repo = fixtures::pi();
    let before = repo.fingerprint();
    repo.overnight(&["init"]).ended(2);
    assert_eq!(repo.fingerprint(), before);
    repo.ok(&["init", "--yes"]);
    assert_eq!(repo.git(&["status", "--porcelain"]), "?? overnight.toml\n?? program.md");
}

#[test]
fn whoever_gives_the_number_is_not_proposed_as_what_may_be_edited() {
    let scorer = "truth = open('truth/labels').read()\nprint(f'accuracy: {len(truth)}')\n";
    for name in ["score.py", "scorer.py", "evaluate.py", "my_eval.py", "metrics.py", "grade.py", "bench.py"] {
        let repo = fixtures::repo(&[(name, scorer), ("truth/labels", "1\n")]);
        let ran = repo.overnight(&["init", "--yes"]).ended(2);
        let ran = ran.says(&format!("could not guess surface: {name} gives the number"));
        ran.says("hint: say it: overnight init --surface FILE");
        assert!(!repo.dir().join("overnight.toml").exists());
        // A person may know better.
        repo.ok(&["init", "--yes", "--surface", name]);
    }
    let work = ("lib/deep/work.rb", "def work = 1\n");
    let repo = fixtures::repo(&[("score.py", scorer), work, ("lib/a.rb", ""), ("tests/longest.rb", &"#\n".repeat(99))]);
    repo.overnight(&["init", "--yes"]).ended(2).says("overnight init --surface lib/deep/work.rb");
}

#[test]
fn a_file_of_any_name_that_prints_something_is_no_benchmark() {
    let long = format!("console.log(`bytes: ${{1}}`);{}\n", "x();".repeat(500));
    for (name, text) in [
        ("papaparse.min.js", "console.log(`bytes: ${1}`)\n"),
        ("bundle.js", long.as_str()),
        ("inheritance.js", "console.log(`got: ${1}`)\n"),
    ] {
        let repo = fixtures::repo(&[(name, text)]);
        repo.overnight(&["init", "--yes"]).ended(2).says("looks like a benchmark");
    }
    for text in ["console.log(`bytes: ${1}`)\n", "console.log(`METRIC got=${1}`)\n"] {
        fixtures::repo(&[("inheritance.js", text)]).ok(&["init", "--yes"]);
    }
}
