//! `check`: what would happen tonight, told before it does, with nothing left behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use insta::internals::SettingsBindDropGuard;
use rustix::process::Signal;

use crate::support::{Json, Ran, Repo, until};

/// Every file of `.git` but the one list that a study adds a line to.
fn everything_of_git(repo: &Repo) -> BTreeMap<PathBuf, Vec<u8>> {
    fn collect(path: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(path).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => collect(&entry.path(), into),
                false => drop(into.insert(entry.path(), fs::read(entry.path()).unwrap())),
            }
        }
    }
    let mut files = BTreeMap::new();
    collect(&repo.dir().join(".git"), &mut files);
    files.remove(&repo.dir().join(".git/info/exclude"));
    files
}

/// Runs a check, which must leave everything as it was.
#[track_caller]
fn checked(repo: &Repo, args: &[&str]) -> Ran {
    let (git, checkout) = (everything_of_git(repo), repo.fingerprint());
    let ran = repo.overnight(&[&["check"], args].concat());
    assert!(everything_of_git(repo) == git, "{ran}");
    assert!(repo.fingerprint() == checkout, "{ran}");
    assert!(!repo.state().join("check").exists(), "{ran}");
    assert_eq!(repo.strays(), Vec::<u32>::new(), "{ran}");
    ran
}

/// What is stored for whoever asks later.
#[track_caller]
fn stored(repo: &Repo) -> Json {
    serde_json::from_str(&fs::read_to_string(repo.state().join("check.json")).unwrap()).unwrap()
}

/// Asserts that the screen says something, wherever it breaks its lines.
#[track_caller]
fn says(ran: Ran, text: &str) -> Ran {
    let screen = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(screen.contains(text), "`{text}` is not in\n{ran}");
    ran
}

/// The one finding of a topic.
#[track_caller]
fn finding<'a>(report: &'a Json, topic: &str) -> (&'a str, &'a str, Option<&'a str>) {
    let all = report["findings"].as_array().unwrap();
    let found = all.iter().find(|finding| finding["topic"] == topic).unwrap_or_else(|| panic!("{report:#}"));
    (found["level"].as_str().unwrap(), found["what"].as_str().unwrap(), found["next"].as_str())
}

/// Hides how long things took, and what follows from it.
fn masks() -> SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    for (pattern, mask) in
        [(r"ended\s+well\s+in\s+[^;]+;", "ended well in [TIME];"), (r"(?s)8h = .*?ten\s+better", "8h = [NIGHT]")]
    {
        settings.add_filter(pattern, mask);
    }
    settings.bind_to_scope()
}

#[test]
fn a_study_that_is_ready() {
    let repo = Repo::new();
    let _masks = masks();
    insta::assert_snapshot!(checked(&repo, &[]), @"
    overnight check · study main · the working tree as it is · Ctrl-C keeps what was learned so far
    loss (lower is better) · budget 10s · agent tuner · 7 runs: 1m 10s by the budget, at most 8m 10s
    ok    tree     every tracked file is as it was committed
    ok    machine  sandbox standard: every command has files, processes and a network of its own
    ok    surface  knobs.py has 1 number to tune; nothing in it looks like part of the evaluation
    ok    runs     `sh score.sh` ended well in [TIME]; its budget is 10s, it is killed at 1m 10s
    ok    metric   loss is 4, from the line `loss: 4`
    ok    repeats  the same in 5 trials with 4 seeds: no noise; OVERNIGHT_SEED is read nowhere and need
                   not be
    ok    null     an empty knobs.py is worse (9); one more line end changes nothing
    ok    night    8h = [NIGHT]
    note  trust    cooperative · sandbox standard · 4 seeds, all the same · no holdout
                   → candidate code says its own number; a locked `score` in [evaluate] that reads what
                     `run` leaves in $OVERNIGHT_OUT makes it `separated`
    ready: overnight run
    --- exit code 0
    ");
    let report = stored(&repo);
    assert_eq!((&report["complete"], &report["ready"]), (&true.into(), &true.into()));
    let triplet = repo.outside("hash");
    repo.shell(&format!("sha256sum < overnight.toml | cut -c 1-64 > {}", triplet.display()));
    assert_eq!(report["triplet"], fs::read_to_string(triplet).unwrap().trim());
    assert_eq!((&report["noise"]["sd"], &report["metric"]["value"]), (&0.0.into(), &4.0.into()));
    let night = &report["night"];
    assert_eq!((&night["smallest_gain"], &night["trials_per_smallest_gain"]), (&0.0.into(), &2.0.into()));
    // Every idea takes one trial, every better one a second.
    let spent = |part: &str| night["spent"][part].as_u64().unwrap();
    assert_eq!((spent("calibrate"), spent("remeasure"), spent("sentinel")), (3, 0, 0), "{night}");
    assert!(spent("screen") > 8 * spent("confirm") && spent("confirm") > 0, "{night}");
    assert_eq!((&report["seed_read"], &report["same_twice"]), (&Json::Null, &true.into()));
    // The same object for programs, and no word beside it.
    let ran = checked(&repo, &["--json"]).ended(0);
    let said: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((said["complete"].as_bool(), ran.stderr.as_str()), (Some(true), ""));
    repo.ok(&["status"]).says("not run yet");
}

#[test]
fn noise_that_the_seed_governs_is_measured_and_priced() {
    let repo = Repo::scored_by("echo \"loss: $((100 + OVERNIGHT_SEED * 7 % 5))\"\n");
    repo.triplet("[agent]\nuse = \"command\"\ncommand = \"true\"\n[limits]\nwall = \"1h\"").commit("an hour");
    let ran = says(checked(&repo, &[]).ended(0), "OVERNIGHT_SEED is read (score.sh:1)").says("1h = ");
    let report = stored(&repo);
    assert_eq!(report["seed_read"], true, "{ran}");
    // Seeds 1 to 4 give 102, 104, 101 and 103.
    let sd = (5f64 / 3.0).sqrt();
    assert!((report["noise"]["sd"].as_f64().unwrap() - sd).abs() < 1e-9, "{report:#}");
    let night = &report["night"];
    let gain = night["smallest_gain"].as_f64().unwrap();
    assert!((sd..6.0 * sd).contains(&gain), "{night:#}");
    assert!((1.0..8.0).contains(&night["trials_per_smallest_gain"].as_f64().unwrap()), "{night:#}");
    let spent = |part: &str| night["spent"][part].as_u64().unwrap();
    assert!(spent("calibrate") == 2 && spent("sentinel") > 0 && spent("screen") > spent("confirm"), "{night:#}");
    says(says(ran, "smallest sure gain"), "of machine time");
    // This evaluation never looks at the surface.
    let (level, what, _) = finding(&report, "null");
    assert!(level == "warn" && what.starts_with("an empty knobs.py gives the very same number"), "{what}");
}

#[test]
fn noise_that_no_seed_governs_comes_with_the_line_that_mends_it() {
    let repo = Repo::new();
    let train = "import random\nx = 5\nprint('loss:', x + random.random())\n";
    repo.write("train.py", train);
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("sh score.sh", "python3 train.py")).commit("py");
    checked(&repo, &["--trials", "3"]).ended(0).says("not the same twice with one seed");
    let report = stored(&repo);
    let line = "add `import os; random.seed(int(os.environ.get(\"OVERNIGHT_SEED\", \"0\")))` to train.py";
    assert_eq!((&report["seed_read"], finding(&report, "repeats").2), (&false.into(), Some(line)));
    assert_eq!(report["trials"].as_array().unwrap().iter().filter(|row| row["surface"] == "as it is").count(), 3);
    // The line does mend it.
    let line = line.strip_prefix("add `").unwrap().strip_suffix("` to train.py").unwrap();
    repo.write("train.py", &train.replace("x = 5", &format!("{line}\nx = 5"))).commit("seeded");
    let ran = says(checked(&repo, &["--trials", "3"]).ended(0), "OVERNIGHT_SEED is read (train.py:2)");
    // And what nothing reads is no surface.
    says(ran, "an empty knobs.py gives the very same number");
}

#[test]
fn a_program_that_fixes_its_own_seed_is_not_called_free_of_noise() {
    let repo = Repo::new();
    repo.write("data.py", "import random\n\nrandom.seed(11)\nx = random.random()\n");
    repo.write("train.py", "import data\nfrom knobs import x\nprint('loss:', x + data.x)\n");
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("sh score.sh", "python3 train.py")).commit("py");
    let ran = says(checked(&repo, &["--trials", "3"]).ended(0), "any gain is sure, for that one seed");
    let report = stored(&repo);
    let (level, what, next) = finding(&report, "repeats");
    assert!(
        level == "warn" && what.ends_with("fixes its own seed (data.py:3): every claim is about that one seed"),
        "{ran}"
    );
    let seed = "int(os.environ.get(\"OVERNIGHT_SEED\", \"11\"))";
    assert_eq!(next.unwrap(), format!("in data.py:3, write `{seed}` instead of `11`, and `import os`"));
    // What it says does mend it, in one line of the file and in the command line.
    repo.write(
        "data.py",
        &repo.read("data.py").replace("11", seed).replace("import random", "import os\nimport random"),
    );
    repo.commit("as it said");
    says(checked(&repo, &["--trials", "3"]).ended(0), "OVERNIGHT_SEED is read (data.py:4)");
    repo.write(
        "train.py",
        "import random, sys\nfrom knobs import x\nrandom.seed(int(sys.argv[2]))\n\
                            print('loss:', x + random.random())\n",
    );
    let triplet = repo.read("overnight.toml");
    repo.write("data.py", "")
        .write("overnight.toml", &triplet.replace("train.py", "train.py --seed 5"))
        .commit("in `run`");
    checked(&repo, &["--trials", "3"]).ended(0);
    assert_eq!(finding(&stored(&repo), "repeats").2, Some("in `run`, write `$OVERNIGHT_SEED` instead of `5`"));
    repo.write("overnight.toml", &triplet.replace("train.py", "train.py --seed $OVERNIGHT_SEED")).commit("as it said");
    says(checked(&repo, &["--trials", "3"]).ended(0), "OVERNIGHT_SEED is read (overnight.toml:");
}

#[test]
fn a_metric_that_is_missing_doubtful_or_no_number_is_told_with_what_to_print() {
    for (script, what, next) in [
        ("echo val_loss: 4", "only `val_loss`", "set `name = \"val_loss\"` in metric"),
        ("echo loss: 4; echo loss: 5", "`loss` has two values, 4 and 5", "pick = \"last\""),
        ("echo loss: nan", "`loss` is not finite: `nan`", "find out why"),
        ("echo loss: good", "`loss` is not a number: `good`", "print a line `loss: 0.123`"),
        ("exit 3", "`sh score.sh`: exit code 3", "run `sh score.sh` yourself"),
    ] {
        let repo = Repo::scored_by(&format!("{script}\n"));
        checked(&repo, &[]).ended(2).says("not ready: mend");
        let report = stored(&repo);
        assert_eq!((&report["complete"], &report["ready"]), (&false.into(), &false.into()));
        let topic = if script.starts_with("exit") { "runs" } else { "metric" };
        let (level, told, step) = finding(&report, topic);
        assert!(level == "fail" && told.contains(what), "{told}");
        assert!(step.unwrap().contains(next), "{step:?}");
        assert!(report["night"].is_null() && report["noise"]["sd"].is_null() && report["seconds"].is_null());
    }
}

#[test]
fn a_missing_input_is_told_with_the_line_to_add() {
    let repo = Repo::scored_by("cat data/train.bin || exit\necho loss: 4\n");
    repo.write(".gitignore", "data\n").commit("ignored").write("data/train.bin", "1\n");
    insta::assert_snapshot!(checked(&repo, &[]).ended(2), @r#"
    overnight check · study main · the working tree as it is · Ctrl-C keeps what was learned so far
    loss (lower is better) · budget 10s · agent tuner · 7 runs: 1m 10s by the budget, at most 8m 10s
    ok    tree     every tracked file is as it was committed
    ok    machine  sandbox standard: every command has files, processes and a network of its own
    ok    surface  knobs.py has 1 number to tune; nothing in it looks like part of the evaluation
    fail  runs     `sh score.sh`: exit code 1; nothing else was measured
                   | cat: data/train.bin: No such file or directory
                   → `data/train.bin` is in the checkout, but neither tracked nor an input: add
                     `inputs = ["data"]` to [evaluate]
    not ready: mend `runs` as it says above, then check again
    --- exit code 2
    "#);
    for tier in ["landlock", "none"] {
        says(checked(&repo, &["--sandbox", tier]).ended(2), "add `inputs = [\"data\"]` to [evaluate]");
    }
    repo.triplet("inputs = [\"data\"]").commit("added");
    checked(&repo, &[]).ended(0);
}

#[test]
fn a_separated_study_is_checked_with_its_scorer_and_its_guard() {
    let repo = Repo::empty();
    repo.write(
        "overnight.toml",
        "surface = \"knobs.sh\"\nmetric = { name = \"loss\", goal = \"min\" }\n[evaluate]\nrun = \"sh knobs.sh\"\n\
         budget = \"10s\"\nscore = \"sh score.sh\"\nhidden = [\"score.sh\"]\n[[guard]]\nrun = \"test -e knobs.sh\"\n",
    );
    repo.write("knobs.sh", "answer=5\necho $answer > $OVERNIGHT_OUT/answer\n");
    repo.write("score.sh", "echo loss: $(cat $OVERNIGHT_ARTIFACTS/answer 2>/dev/null || echo 0)\n").commit("base");
    let _masks = masks();
    insta::assert_snapshot!(checked(&repo, &[]), @"
    overnight check · study main · the working tree as it is · Ctrl-C keeps what was learned so far
    loss (lower is better) · budget 10s · agent tuner · 8 runs: 1m 20s by the budget, at most 17m
    ok    tree     every tracked file is as it was committed
    ok    machine  sandbox standard: every command has files, processes and a network of its own
    ok    surface  knobs.sh has 1 number to tune; nothing in it looks like part of the evaluation
    ok    runs     `sh knobs.sh` ended well in [TIME]; its budget is 10s, it is killed at 1m 10s
    ok    metric   loss is 5, from the scorer's line `loss: 5`
    ok    guard    passed: `test -e knobs.sh`
    ok    repeats  the same in 5 trials with 4 seeds: no noise; OVERNIGHT_SEED is read nowhere and need
                   not be
    warn  null     an empty knobs.sh wins: 0 against 5; one more line end changes nothing; an empty
                   $OVERNIGHT_OUT wins: 0 against 5
                   → see that `run` uses the surface, and let it fail or score worst where there is no
                     answer
    ok    night    8h = [NIGHT]
    ok    trust    separated · sandbox standard · 4 seeds, all the same · no holdout
    ready: overnight run
    but first (null): see that `run` uses the surface, and let it fail or score worst where there is no
    answer
    --- exit code 0
    ");
    // A scorer that wants an answer, and a guard that fails.
    repo.write("score.sh", "a=$(cat $OVERNIGHT_ARTIFACTS/answer) || exit 1\necho loss: $a\n").commit("strict");
    says(checked(&repo, &[]).ended(0), "an empty $OVERNIGHT_OUT is refused by the scorer");
    // A metric that one answer for everything beats.
    repo.write("score.sh", "echo loss: $(tail -n 1 $OVERNIGHT_ARTIFACTS/answer)1\n").commit("the last counts");
    repo.write("knobs.sh", "printf '1\\n0\\n5\\n' > $OVERNIGHT_OUT/answer\n").commit("a bad last one");
    says(checked(&repo, &[]).ended(0), "one answer for everything wins: 1 against 51");
    repo.triplet("[[guard]]\nrun = \"test -e nothing\"").commit("a guard");
    says(checked(&repo, &[]).ended(2), "`test -e nothing`: exit code 1; every candidate would fail it");
}

#[test]
fn the_working_tree_is_measured_as_it_is() {
    let repo = Repo::new();
    repo.write("knobs.py", "x = 7\n").write("score.sh", &repo.read("score.sh").replace("- 3", "- 4"));
    repo.git(&["add", "score.sh"]);
    let ran = checked(&repo, &[]).ended(0);
    assert_eq!(stored(&repo)["metric"]["value"], 9.0, "{ran}");
    assert_eq!(stored(&repo)["dirty"], serde_json::json!(["knobs.py", "score.sh"]));
    says(ran, "`knobs.py`, `score.sh` differ from the last commit").says("ready: overnight run --snapshot");
    // And that is how the night begins then.
    repo.ok(&["run", "--no-tui", "--experiments", "0", "--snapshot"]).says("baseline                  9");
    says(checked(&repo, &[]).ended(0), "the study goes on from its champion").says("ready: overnight run\n");
}

#[test]
fn a_study_that_would_be_refused_tonight_is_told_why() {
    let repo = Repo::new();
    repo.run(1);
    says(checked(&repo, &[]).ended(0), "the study has begun, and goes on from its champion");
    repo.write("knobs.py", "x = 9\n");
    says(checked(&repo, &[]).ended(0), "`overnight try --from-worktree -m IDEA`").says("ready: overnight run\n");
    repo.write("score.sh", "echo loss: 1\n");
    let night = ["run", "--no-tui", "--experiments", "1"];
    for what in ["`score.sh` differs from the last commit", "evaluate.run changed since this study began"] {
        says(checked(&repo, &[]).ended(3), what);
        repo.overnight(&night).ended(3).says(what);
        repo.git(&["restore", "."]);
        repo.write("overnight.toml", &repo.read("overnight.toml").replace("sh score.sh", "sh ./score.sh"));
    }
}

#[test]
fn after_a_rebase_that_failed_nothing_is_refused_that_the_night_would_take() {
    let repo = Repo::new();
    repo.run(1);
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("sh score.sh", "sh other.sh"));
    repo.write("other.sh", "exit 7\n").commit("an evaluation that fails");
    says(checked(&repo, &[]).ended(2), "evaluate.run changed since this study began");
    repo.overnight(&["rebase", "--no-tui"]).ended(2).says("exit code 7");
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("sh other.sh", "sh score.sh")).commit("mended");
    checked(&repo, &["--trials", "2"]).ended(0).says("ready: overnight run\n");
    repo.run(1);
}

#[test]
fn an_evaluation_that_was_committed_since_is_measured_here_and_not_tonight() {
    let repo = Repo::with_agent("echo 'x = 3' > knobs.py\n");
    repo.run(0);
    repo.write("agent.sh", "echo 'x = 2' > knobs.py\n").write("program.md", "Be bold.\n").commit("another agent");
    says(checked(&repo, &["--trials", "2"]).ended(0), "goes on from its champion").says("ready: overnight run\n");
    assert!(stored(&repo)["first"].is_null());
    repo.write("score.sh", "echo loss: 100\n").commit("another evaluation");
    let ran = checked(&repo, &["--trials", "2"]).ended(0);
    let ran = says(ran, "warn tree `score.sh` changed since the baseline: tonight the study goes on with its own");
    says(ran, "loss is 100").says("but first (tree): `overnight rebase` takes the new one");
    repo.run(0).says("changed since the baseline; the study goes on with the baseline's");
}

#[test]
fn an_empty_answer_that_wins_is_told() {
    let repo = Repo::scored_by("echo loss: $(wc -c < knobs.py)\n");
    checked(&repo, &[]).ended(0).says("but first (null): see that `run` uses the surface");
    let report = stored(&repo);
    let (level, what, _) = finding(&report, "null");
    assert_eq!(level, "warn");
    assert_eq!(what, "an empty knobs.py wins: 0 against 6; one more line end alone changes 6 to 7");
}

#[test]
fn a_surface_that_reports_its_own_metric_is_told_by_line() {
    let repo = Repo::new();
    repo.write("knobs.py", "x = 5\nif __name__ == '__main__':\n    print('loss:', (x - 3) ** 2)\n");
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("sh score.sh", "python3 knobs.py")).commit("own");
    checked(&repo, &["--trials", "2"]).ended(0).says("ready: overnight run\nbetter first (surface): move it");
    let report = stored(&repo);
    let (level, what, next) = finding(&report, "surface");
    assert_eq!((level, what), ("warn", "knobs.py:3 prints `loss` itself: agents may change that"));
    assert!(next.unwrap().contains("`score`"));
    let (_, what, _) = finding(&report, "repeats");
    assert_eq!(what, "the same twice with one seed; no other was tried");
}

#[test]
fn tests_at_the_end_of_a_rust_file_come_with_the_line_that_locks_them() {
    let repo = Repo::new();
    repo.write("knobs.py", "x = 5\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn works() {}\n}\n");
    repo.write("score.sh", "sed -n 's/^x = /loss: /p' knobs.py\n").commit("tests inside");
    checked(&repo, &["--trials", "2"]).ended(0);
    let report = stored(&repo);
    let (level, _, next) = finding(&report, "surface");
    let line = "{ path = \"knobs.py\", above = \"#[cfg(test)]\" }";
    assert_eq!((level, next), ("warn", Some(format!("lock them: `surface = {line}`").as_str())));
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("\"knobs.py\"", line)).commit("as it said");
    checked(&repo, &["--trials", "2"]).ended(0);
    assert_eq!(finding(&stored(&repo), "surface").0, "ok");
}

#[test]
fn a_surface_without_numbers_is_measured_all_the_same_since_others_have_ideas() {
    let repo = Repo::scored_by("echo loss: 4\n");
    repo.write("knobs.py", "x = 'a'\n").commit("no numbers");
    let ran = says(checked(&repo, &[]).ended(0), "the tuner has nothing to change in knobs.py");
    ran.says("ready: edit knobs.py, then overnight try --from-worktree -m IDEA");
    let report = stored(&repo);
    assert_eq!((&report["complete"], &report["ready"]), (&true.into(), &true.into()));
    let (level, _, next) = finding(&report, "agent");
    assert!(level == "warn" && next.unwrap().contains("[agent] use = \"command\""), "{report:#}");
    repo.overnight(&[]).ended(0).says("next       edit the surface, then overnight try --from-worktree -m IDEA");
    repo.write("knobs.py", "x = 'b'\n");
    repo.ok(&["try", "--from-worktree", "-m", "IDEA"]);
}

#[test]
fn a_prepare_that_fails_is_a_finding_like_any_other() {
    let repo = Repo::new();
    repo.triplet("prepare = \"echo no wheel; exit 4\"").commit("prepare");
    checked(&repo, &[]).ended(2).says("fail  prepare").says("| no wheel").says("not ready: mend `prepare`");
    let report = stored(&repo);
    assert!(finding(&report, "prepare").2.unwrap().contains("evaluate.inputs"), "{report:#}");
}

#[test]
fn a_program_that_hangs_is_killed_and_told() {
    let repo = Repo::scored_by("echo begun\nsleep 1000\n");
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("\"10s\"", "\"200ms\"\nkill = \"300ms\""));
    repo.commit("short");
    checked(&repo, &[]).ended(2).says("killed at its limit of 300ms").says("| begun").says("OVERNIGHT_BUDGET_SECONDS");
}

/// The first trial ends well, the second says where it is and stays there.
fn stuck_in_the_second_trial() -> (Repo, PathBuf) {
    let repo = Repo::new();
    let (first, second) = (repo.beside("first"), repo.beside("second"));
    repo.write(
        "score.sh",
        &format!(
            "test -e {first} && {{ touch {second}; sleep 1000; }}\ntouch {first}\necho loss: 4\n",
            first = first.display(),
            second = second.display()
        ),
    );
    repo.commit("stuck");
    (repo, second)
}

#[test]
fn a_signal_ends_it_at_once_and_what_was_learned_stays() {
    for name in [Signal::INT, Signal::TERM] {
        let (repo, second) = stuck_in_the_second_trial();
        let git = everything_of_git(&repo);
        let engine = repo.start(&["check"]);
        until("the second trial", || second.exists());
        engine.signal(name);
        let ran = engine.wait().ended(130).says("what was learned so far is above").says("metric   loss is 4");
        assert_eq!(repo.strays(), Vec::<u32>::new(), "{ran}");
        assert!(!repo.state().join("check").exists() && everything_of_git(&repo) == git, "{ran}");
        let report = stored(&repo);
        assert_eq!((&report["complete"], &report["ready"]), (&false.into(), &false.into()));
        assert_eq!(report["trials"].as_array().unwrap().len(), 1);
        assert_eq!(finding(&report, "runs").0, "ok");
        assert!(report["noise"]["sd"].is_null() && report["night"].is_null(), "{report:#}");
    }
}

#[test]
fn a_signal_while_it_prepares_leaves_nothing_either() {
    let repo = Repo::new();
    repo.triplet("prepare = \"sleep 1000\"").commit("slow to prepare");
    let engine = repo.start(&["check"]);
    let preparing = repo.state().join(format!("check/{}-0/layers/preparing", engine.pid()));
    until("prepare to begin", || preparing.exists());
    engine.signal(Signal::INT);
    let ran = engine.wait().ended(130);
    assert!(!repo.state().join("check").exists(), "{ran}");
    until("prepare to be gone", || repo.strays().is_empty());
    assert_eq!(stored(&repo)["complete"], false);
}

#[test]
fn what_a_killed_check_left_is_taken_away_by_the_next() {
    let (repo, second) = stuck_in_the_second_trial();
    let engine = repo.start(&["check"]);
    until("the second trial", || second.exists());
    engine.signal(Signal::KILL);
    engine.wait();
    until("the trial to be gone", || repo.strays().is_empty());
    assert!(repo.state().join("check").exists());
    fs::remove_file(second.with_file_name("first")).unwrap();
    repo.write("score.sh", "echo loss: 4\n");
    checked(&repo, &[]).ended(0);
}

#[test]
fn a_run_that_is_going_on_is_not_in_the_way() {
    let repo = Repo::new();
    let (started, go) = (repo.beside("started"), repo.beside("go"));
    let gate = format!(
        "grep -q 'x = 8' knobs.py && {{ touch {}; while ! test -e {}; do sleep 0.02; done; }}\n{}",
        started.display(),
        go.display(),
        repo.read("score.sh")
    );
    repo.write("score.sh", &gate).commit("a gate");
    let engine = repo.start(&["run", "--no-tui", "--experiments", "1"]);
    until("the run to be at work", || started.exists());
    let ran = repo.overnight(&["check"]).ended(0).says("`overnight run` is going on as process");
    assert_eq!(stored(&repo)["complete"], true, "{ran}");
    fs::write(&go, "").unwrap();
    engine.wait().ended(0);
    assert_eq!(repo.log().len(), 2);
    repo.assert_sound();
}

#[test]
fn every_tier_and_every_user_gets_an_answer() {
    for repo in Repo::everybodys() {
        let score = "x=$(sed -n \"s/^x = //p\" knobs.py)\necho \"loss: $(( (x - 3) * (x - 3) ))\"\n";
        let triplet = "surface = \"knobs.py\"\nmetric = { name = \"loss\", goal = \"min\" }\n\
                       [evaluate]\nrun = \"sh score.sh\"\nbudget = \"10s\"\n";
        repo.write("knobs.py", "x = 5\n").write("score.sh", score).write("overnight.toml", triplet).commit("base");
        for tier in ["standard", "landlock", "none"] {
            let ran = checked(&repo, &["--sandbox", tier]);
            assert_eq!(ran.code, Some(0), "{} {ran}", repo.whose());
            let ran = ran.says(&format!("ready: overnight run --sandbox {tier}"));
            let report = stored(&repo);
            assert_eq!((&report["sandbox"], &report["metric"]["value"]), (&tier.into(), &4.0.into()), "{ran}");
        }
    }
}

#[test]
fn a_tier_that_is_too_weak_for_a_model_is_refused_tonight_and_told_now() {
    let repo = Repo::with_agent("true\n");
    repo.triplet("[sandbox]\nmin = \"strong\"").commit("strong");
    let ran = says(checked(&repo, &[]).ended(3), "what a model wrote needs `strong`");
    says(ran, "to accept it: `overnight run --sandbox standard`");
    let report = stored(&repo);
    assert_eq!((&report["complete"], &report["ready"]), (&true.into(), &false.into()));
    checked(&repo, &["--sandbox", "standard"]).ended(0).says("ready: overnight run --sandbox standard");
}

#[test]
fn what_a_model_wrote_in_an_earlier_night_needs_its_tier_tonight_whoever_the_agent_is() {
    let repo = Repo::with_agent("echo 'x = 3' > knobs.py\n");
    repo.run(1);
    assert_eq!(repo.status()["kept"], 1);
    let by_tuner =
        repo.read("overnight.toml").replace("use = \"command\"\ncommand = \"sh agent.sh\"", "use = \"tuner\"");
    repo.write("overnight.toml", &format!("{by_tuner}\n[sandbox]\nmin = \"strong\"\n")).commit("the tuner, and strong");
    repo.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(3).says("what a model wrote needs `strong`");
    says(checked(&repo, &["--trials", "2"]).ended(3), "what a model wrote needs `strong`");
}

#[test]
fn an_agent_whose_program_is_missing_is_told_before_the_night_fails_with_it() {
    let repo = Repo::with_agent("true\n");
    checked(&repo, &["--trials", "2"]).ended(0);
    fs::rename(repo.dir().join("agent.sh"), repo.dir().join("moved.sh")).unwrap();
    repo.commit("moved");
    checked(&repo, &["--trials", "2"]).ended(2).says("not ready: mend `agent`");
    let report = stored(&repo);
    let (level, what, next) = finding(&report, "agent");
    assert_eq!((level, what), ("fail", "`sh agent.sh`: there is no `agent.sh`; every attempt would fail"));
    assert_eq!(next, Some("write `agent.sh`, or mend `command` in [agent]"));
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("sh agent.sh", "no-such-agent -x"))
        .commit("none");
    says(checked(&repo, &["--trials", "2"]).ended(2), "there is no program `no-such-agent` on the PATH");
}

#[test]
fn a_branch_in_the_way_of_tonight_is_told_now() {
    let repo = Repo::new();
    repo.git(&["branch", "overnight"]);
    checked(&repo, &[]).ended(3).says("fail  tree");
}

#[test]
fn without_a_study_or_with_a_slip_in_it_the_next_step_is_told() {
    let repo = Repo::empty();
    repo.overnight(&["check"]).ended(2).says("no overnight.toml").says("begin with `overnight init`");
    let repo = Repo::new();
    repo.triplet("bugdet = \"5s\"").commit("a slip");
    repo.overnight(&["check"]).ended(2).says("bugdet");
    assert!(!repo.dir().join(".overnight").exists());
}

#[test]
fn tests_that_no_guard_runs_are_told() {
    let repo = Repo::new();
    repo.write("requirements.txt", "pytest\n").write("tests/test_knobs.py", "import knobs\n").commit("tests");
    checked(&repo, &[]).ended(0);
    let report = stored(&repo);
    let (level, what, next) = finding(&report, "guard");
    assert_eq!((level, what), ("note", "nothing but loss is asked for, and there are tests"));
    assert!(next.unwrap().contains("run = \"python3 -m pytest -q\""), "{report:#}");
}

#[test]
fn a_budget_far_beyond_what_a_trial_takes_and_a_build_for_every_trial_are_told() {
    let repo = Repo::new();
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("\"10s\"", "\"10m\"")).commit("a long budget");
    let ran = checked(&repo, &[]).ended(0);
    let report = stored(&repo);
    // Trials that are quick for their budget are made more often.
    assert_eq!(report["trials"].as_array().unwrap().len(), 7);
    ran.says("4 to 7 runs: 40m by the budget, at most 1h 20m");
    let (level, _, next) = finding(&report, "runs");
    assert_eq!((level, next), ("note", Some("`budget = \"5s\"` would do: a candidate that hangs costs 20m each time")));
    let repo = Repo::new();
    let triplet = repo.read("overnight.toml").replace("sh score.sh", "cargo=1 sh score.sh cargo");
    repo.write("overnight.toml", &triplet).commit("builds");
    checked(&repo, &[]).ended(0);
    assert!(finding(&stored(&repo), "runs").2.unwrap().contains("`warm = true`"));
}
