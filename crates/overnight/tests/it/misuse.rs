//! What a person gets wrong, and what they are told.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::support::Repo;

#[test]
fn misspelt_commands_and_flags_are_met_with_the_nearest() {
    let repo = Repo::new();
    insta::assert_snapshot!(repo.overnight(&["rnu"]).ended(2), @"
    --- to people
    error: unrecognized subcommand 'rnu'

      tip: a similar subcommand exists: 'run'

    Usage: overnight [OPTIONS] [COMMAND]

    For more information, try '--help'.
    --- exit code 2
    ");
    insta::assert_snapshot!(repo.overnight(&["run", "--experiment", "3"]).ended(2), @"
    --- to people
    error: unexpected argument '--experiment' found

      tip: a similar argument exists: '--experiments'

    Usage: overnight run --experiments <N>

    For more information, try '--help'.
    --- exit code 2
    ");
    insta::assert_snapshot!(repo.overnight(&["run", "--slots", "0"]).ended(2), @"
    --- to people
    error: invalid value '0' for '--slots <N>': 0 is not in 1..=1024

    For more information, try '--help'.
    --- exit code 2
    ");
    insta::assert_snapshot!(repo.overnight(&["run", "--experiments", "-1"]).ended(2), @"
    --- to people
    error: unexpected argument '-1' found

    Usage: overnight run [OPTIONS]

    For more information, try '--help'.
    --- exit code 2
    ");
    insta::assert_snapshot!(repo.overnight(&["try", "-m", "idea"]).ended(2), @"
    --- to people
    error: the following required arguments were not provided:
      <--from-worktree|--patch <FILE>|--file <FILE>>

    Usage: overnight try --message <IDEA> <--from-worktree|--patch <FILE>|--file <FILE>>

    For more information, try '--help'.
    --- exit code 2
    ");
}

#[test]
fn experiments_that_are_not_there() {
    let repo = Repo::new();
    insta::assert_snapshot!(repo.overnight(&["show", "1"]).ended(2), @"
    --- to people
    error: the study `main` has not been run yet
    hint: begin with `overnight run`
    --- exit code 2
    ");
    insta::assert_snapshot!(repo.overnight(&["verify"]).ended(2), @"
    --- to people
    error: the study `main` has not been run yet
    hint: begin with `overnight run`
    --- exit code 2
    ");
    repo.run(1);
    insta::assert_snapshot!(repo.overnight(&["show", "999"]).ended(2), @"
    --- to people
    error: there is no experiment 999
    hint: `overnight log` lists them
    --- exit code 2
    ");
    insta::assert_snapshot!(repo.overnight(&["show", "foo"]).ended(2), @"
    --- to people
    error: `foo` is not an experiment
    hint: use a number, `champion`, `baseline` or `literals`
    --- exit code 2
    ");
}

#[test]
fn folders_without_a_study() {
    let repo = Repo::empty();
    for command in [&["run"][..], &["status"], &["log"], &["show", "1"], &["verify"]] {
        repo.overnight(command).ended(2).says("no overnight.toml in").says("hint:");
    }
    insta::assert_snapshot!(repo.overnight(&["-C", "nowhere", "run"]).ended(2), @"
    --- to people
    error: the folder nowhere does not exist
    --- exit code 2
    ");
}

#[test]
fn patches_that_cannot_be_tried() {
    let repo = Repo::new();
    let patch = repo.beside("idea.diff");
    let path = patch.to_str().unwrap();
    let attempt = |text: &str| {
        fs::write(&patch, text).unwrap();
        repo.overnight(&["try", "--patch", path, "-m", "idea"]).ended(2)
    };
    insta::assert_snapshot!(attempt("--- a/knobs.py\n+++ b/knobs.py\n@@ -1 +1 @@\n-x = 7\n+x = 3\n"), @"
    --- to people
    error: the diff does not apply to the champion's `knobs.py`
    cause: error applying hunk #1
    hint: make it against the champion: `overnight show champion`, or use --from-worktree
    --- exit code 2
    ");
    insta::assert_snapshot!(attempt("--- a/score.sh\n+++ b/score.sh\n@@ -1 +1 @@\n-a\n+b\n"), @"
    --- to people
    error: [TEMP]/idea.diff changes `score.sh`, which is not part of the surface
    --- exit code 2
    ");
    insta::assert_snapshot!(attempt("make it faster, please\n"), @"
    --- to people
    error: [TEMP]/idea.diff is not a diff that can be read
    cause: error parsing patches at byte 0: no valid patches found
    --- exit code 2
    ");
    insta::assert_snapshot!(attempt(""), @"
    --- to people
    error: [TEMP]/idea.diff is not a diff that can be read
    cause: error parsing patches at byte 0: no valid patches found
    --- exit code 2
    ");
    fs::remove_file(&patch).unwrap();
    insta::assert_snapshot!(repo.overnight(&["try", "--patch", path, "-m", "idea"]).ended(2), @"
    --- to people
    error: could not read [TEMP]/idea.diff
    cause: No such file or directory (os error 2)
    --- exit code 2
    ");
    // None of it became an experiment.
    assert_eq!(repo.log().len(), 0);
}

#[test]
fn trying_what_is_there_already() {
    let repo = Repo::new();
    insta::assert_snapshot!(repo.overnight(&["try", "--from-worktree", "-m", "nothing"]), @"
    --- to people
    taking the surface as it is in the working tree
    sandbox standard: every command has files, processes and a network of its own
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  no_change                 -            -  the surface is the champion's
    next       overnight show 1
    --- exit code 0
    ");
    repo.write("knobs.py", "");
    repo.ok(&["try", "--from-worktree", "-m", "all gone"]);
    fs::remove_file(repo.dir().join("knobs.py")).unwrap();
    insta::assert_snapshot!(repo.overnight(&["try", "--from-worktree", "-m", "removed"]).ended(2), @"
    --- to people
    taking the surface as it is in the working tree
    error: could not read [TEMP]/repo/knobs.py
    cause: No such file or directory (os error 2)
    --- exit code 2
    ");
    repo.assert_sound();
}

#[test]
fn a_surface_of_two_files_takes_a_patch_for_both() {
    let repo = Repo::new();
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("\"knobs.py\"", "[\"knobs.py\", \"more.py\"]"));
    repo.write("more.py", "y = 1\n").commit("two files");
    insta::assert_snapshot!(repo.overnight(&["try", "--file", "knobs.py", "-m", "one of two"]).ended(2), @"
    --- to people
    error: --file is for a surface of one file; this one has 2
    hint: use --from-worktree or --patch
    --- exit code 2
    ");
    repo.write("knobs.py", "x = 3\n").write("more.py", "y = 2\n");
    let patch = repo.beside("both.diff");
    fs::write(&patch, repo.git(&["diff"]) + "\n").unwrap();
    repo.git(&["checkout", "-q", "."]);
    repo.ok(&["try", "--patch", patch.to_str().unwrap(), "-m", "both"]);
    assert_eq!(repo.git(&["show", "overnight/main:more.py"]), "y = 2");
    repo.assert_sound();
}

#[test]
fn a_reader_who_has_seen_enough_ends_nothing_badly() {
    let repo = Repo::new();
    repo.run(2);
    for command in [&["log"][..], &["log", "--json"], &["show", "1"], &["status"], &["verify"]] {
        let mut child = repo.command(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(!said.contains("panicked"), "{said}");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{command:?}: {said}");
    }
}

#[test]
fn a_run_goes_on_when_nobody_reads_its_lines() {
    let repo = Repo::new();
    let mut command = repo.command(&["run", "--no-tui", "--experiments", "3"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(repo.status()["experiments"], 3);
    repo.assert_sound();
}

#[test]
fn a_log_is_a_page_unless_more_is_asked_for() {
    let repo = Repo::scored_by("echo loss: 4\n");
    repo.write("knobs.py", "a = 0.5\nb = 0.25\n").commit("enough to tune");
    repo.run(22);
    let lines = |args: &[&str]| repo.ok(args).stdout.lines().count();
    let page = repo.ok(&["log"]).says("`overnight log --all` shows all of them");
    assert_eq!(page.stdout.lines().count(), 21);
    assert_eq!((lines(&["log", "-n", "3"]), lines(&["log", "--all"])), (4, 24));
    repo.overnight(&["log", "-n", "0"]).ended(2).says("-n 0 would show nothing");
    assert_eq!((lines(&["log", "--json"]), lines(&["log", "--json", "-n", "5"])), (23, 5));
    repo.overnight(&["log", "-n", "3", "--all"]).ended(2).says("cannot be used with");
}

#[test]
fn what_agents_and_programs_say_cannot_move_the_cursor() {
    let repo =
        Repo::with_agent("echo 'x = 3' > knobs.py; printf 'a \\033[31mred\\033[0m idea\\007\\n' > $OVERNIGHT_NOTE\n");
    repo.write("score.sh", "printf '\\033[2J\\033]0;title\\007loss: 4\\n'; printf 'loss: 4\\n'\n").commit("escapes");
    let ran = repo.run(1);
    let screens = [ran, repo.ok(&["log"]), repo.ok(&["show", "1"]), repo.ok(&["show", "1", "--output"])];
    for screen in screens {
        assert!(!screen.to_string().contains(['\x1b', '\x07']), "{screen}");
    }
    assert_eq!(repo.experiment(1)["description"], "a red idea");
}

#[test]
fn a_folder_that_cannot_be_written() {
    let repo = Repo::new();
    // Root writes everywhere, so something is in the way instead.
    repo.git(&["config", "core.excludesFile", "/dev/null"]);
    fs::write(repo.dir().join(".overnight"), "").unwrap();
    insta::assert_snapshot!(repo.overnight(&["run"]).ended(1), @"
    --- to people
    error: could not make the folder [TEMP]/repo/.overnight/main
    cause: Not a directory (os error 20)
    --- exit code 1
    ");
    fs::remove_file(repo.dir().join(".overnight")).unwrap();
    repo.run(1);
}

#[test]
fn a_ledger_that_is_none() {
    let repo = Repo::new();
    fs::create_dir_all(repo.state()).unwrap();
    fs::write(repo.state().join("ledger.db"), "not a database, and long enough to be looked at".repeat(100)).unwrap();
    insta::assert_snapshot!(repo.overnight(&["run"]).ended(1), @"
    --- to people
    error: [TEMP]/repo/.overnight/main/ledger.db is not a ledger of overnight
    hint: move it out of the way, or begin a study of another name
    --- exit code 1
    ");
    insta::assert_snapshot!(repo.overnight(&["status"]).ended(1), @"
    --- to people
    error: [TEMP]/repo/.overnight/main/ledger.db is not a ledger of overnight
    hint: move it out of the way, or begin a study of another name
    --- exit code 1
    ");
}

#[test]
fn a_marker_that_is_not_in_the_file_is_told_before_anything_runs() {
    let repo = Repo::new();
    let triplet = repo.read("overnight.toml");
    let surface = "surface = { path = \"knobs.py\", above = \"# no such line\" }";
    let (_, rest) = triplet.split_once('\n').unwrap();
    repo.write("overnight.toml", &format!("{surface}\n{rest}")).commit("a typo");
    repo.overnight(&["run", "--no-tui"]).ended(2).says("must hold the line `# no such line` exactly once");
}

#[test]
fn an_environment_that_is_not_text_is_passed_over() {
    use std::os::unix::ffi::OsStrExt;
    let repo = Repo::new();
    let mut command = repo.command(&["run", "--no-tui", "--experiments", "1"]);
    command.env("NOISE", std::ffi::OsStr::from_bytes(b"\xff\xfe"));
    crate::support::Ran::of(command.output().unwrap()).ended(0);
}

#[test]
fn a_guard_that_the_baseline_fails_ends_the_run_before_it_refuses_everybody() {
    let repo = Repo::new();
    repo.triplet("[[guard]]\nrun = \"no-such-checker -q\"\n").commit("a guard");
    let ran = repo.overnight(&["run", "--no-tui"]).ended(2);
    ran.says("the baseline failed (guard_failed): guard `no-such-checker -q`: exit code 127 (command not found)");
}

#[test]
fn a_folder_called_overnight_beside_the_repository_is_nobodys_study() {
    let repo = Repo::empty();
    std::fs::create_dir_all(repo.beside("overnight")).unwrap();
    std::fs::write(repo.beside("overnight/Cargo.toml"), "").unwrap();
    repo.overnight(&["status"]).ended(2).says("no overnight.toml");
}
