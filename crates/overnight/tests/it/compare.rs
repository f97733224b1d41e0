//! `compare`: better, equal or worse, with an exit code for each and nothing left behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::support::{Json, Ran, Repo, until};

/// Noise that is another for each seed and for each `y`.
const NOISY: &str = "x=$(sed -n 's/^x = //p' knobs.py)\ny=$(sed -n 's/^y = //p' knobs.py)\n\
                     echo \"loss: $(( x * 10 + OVERNIGHT_SEED / y % 7 ))\"\n";

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

/// Compares, which must leave everything as it was.
#[track_caller]
fn compared(repo: &Repo, args: &[&str]) -> Ran {
    let (git, checkout) = (everything_of_git(repo), repo.fingerprint());
    let had_state = repo.dir().join(".overnight").exists();
    let ran = repo.overnight(&[&["compare"], args].concat());
    assert!(everything_of_git(repo) == git, "{ran}");
    assert!(repo.fingerprint() == checkout, "{ran}");
    assert_eq!(repo.dir().join(".overnight").exists(), had_state, "{ran}");
    assert!(!repo.state().join("check").exists(), "{ran}");
    assert_eq!(repo.strays(), Vec::<u32>::new(), "{ran}");
    ran
}

#[track_caller]
fn json(ran: &Ran) -> Json {
    assert_eq!(ran.stderr, "", "{ran}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"))
}

/// A commit with `x = 5`, tagged `five`, and one with `x = 4`.
fn two_commits() -> Repo {
    let repo = Repo::new();
    repo.git(&["tag", "five"]);
    repo.write("knobs.py", "x = 4\n").commit("four");
    repo
}

/// The same where the metric is noisy: `HEAD~1` is better than `HEAD~2`, and `HEAD` as good as `HEAD~1`.
fn three_noisy_commits() -> Repo {
    let repo = Repo::scored_by(NOISY);
    repo.write("knobs.py", "x = 5\ny = 1\n").commit("five");
    repo.write("knobs.py", "x = 4\ny = 3\n").commit("four");
    repo.write("knobs.py", "x = 4\ny = 11\n").commit("four, with other noise");
    repo
}

#[test]
fn a_better_commit() {
    let repo = two_commits();
    insta::assert_snapshot!(compared(&repo, &["five", "HEAD"]), @"
    overnight compare · study main · Ctrl-C tells what is known so far
    loss (lower is better) · budget 10s · at most 20 pairs: 6m 40s by the budget
    sandbox standard: every command has files, processes and a network of its own
      pair            A            B  B better by
         1            4            1           +3
         2            4            1           +3
         3            4            1           +3
         4            4            1           +3

    A           loss 4  (five, 0c26129992)
    B           loss 1  (HEAD, e17dc5bae4)
    difference  +3
    pairs       4 (seed [SEED]): the same number each time, with as many seeds
    trust: cooperative · sandbox standard · 4 seeds, all the same · no holdout
    B is better than A by 3
    --- exit code 0
    ");
}

#[test]
fn a_worse_an_equal_and_an_uncommitted_one() {
    let repo = two_commits();
    compared(&repo, &["HEAD", "HEAD~1"]).ended(11).says("B is worse than A by 3\n");
    compared(&repo, &["main", "HEAD"])
        .ended(10)
        .says("A and B hold the same files")
        .says("A and B are equal: no noise");
    repo.write("knobs.py", "x = 3\n");
    for name in [".", "worktree"] {
        let ran = compared(&repo, &["HEAD", name]).ended(0);
        ran.says("B           loss 0  (the working tree)").says("B is better than A by 1\n");
    }
    compared(&repo, &["HEAD", ".", "--margin", "1"]).ended(10).says("a difference beyond ±1 can be ruled out");
    let whole = repo.git(&["rev-parse", "five"]);
    compared(&repo, &[".", &whole[..9]]).ended(11).says("B is worse than A by 4\n");
    repo.ok(&["status"]).says("not run yet");
}

#[test]
fn a_noisy_metric_is_decided_by_its_odds() {
    let repo = three_noisy_commits();
    let better = json(&compared(&repo, &["HEAD~2", "HEAD~1", "--seed", "3", "--json"]).ended(0));
    assert_eq!((&better["result"], &better["deterministic"]), (&"better".into(), &false.into()), "{better:#}");
    assert!(better["odds"].as_f64().unwrap() >= 24.0 && better["low"].as_f64().unwrap() > 0.0, "{better:#}");
    let pairs = better["pairs"].as_array().unwrap();
    assert!((6..=8).contains(&pairs.len()), "{better:#}");
    assert!(pairs.iter().any(|pair| pair["b_first"] == true) && pairs.iter().any(|pair| pair["b_first"] == false));
    let mean = |side: &str| pairs.iter().map(|pair| pair[side].as_f64().unwrap()).sum::<f64>() / pairs.len() as f64;
    assert!((better["a"]["level"].as_f64().unwrap() - mean("a")).abs() < 1e-9, "{better:#}");
    assert!((better["difference"].as_f64().unwrap() - (mean("a") - mean("b"))).abs() < 1e-9, "{better:#}");
    assert_eq!(better["b"]["commit"], repo.git(&["rev-parse", "HEAD~1"]).as_str());
    // The same seed gives the same pairs, another gives others.
    let again = json(&compared(&repo, &["HEAD~2", "HEAD~1", "--seed", "3", "--json"]).ended(0));
    assert_eq!(again, better);
    let other = json(&compared(&repo, &["HEAD~2", "HEAD~1", "--json"]).ended(0));
    assert_ne!(other["pairs"], better["pairs"]);
    compared(&repo, &["HEAD~1", "HEAD~2"]).ended(11).says("B is worse than A by");
}

#[test]
fn what_cannot_be_told_apart_comes_with_what_can_be_ruled_out() {
    let repo = three_noisy_commits();
    let ran = compared(&repo, &["HEAD~1", "HEAD", "--seed", "3", "--pairs", "8"]).ended(10);
    let ran = ran.says("A and B cannot be told apart: a difference beyond ±").says("     8 ");
    assert!(!ran.stdout.contains("     9 "), "{ran}");
    // A margin ends it as soon as it can.
    let known = json(&compared(&repo, &["HEAD~1", "HEAD", "--seed", "3", "--margin", "9", "--json"]).ended(10));
    assert_eq!(known["result"], "equal");
    assert!(known["pairs"].as_array().unwrap().len() < 20, "{known:#}");
    // So does the gain that the triplet asks for.
    let triplet = repo.read("overnight.toml").replace("goal = \"min\"", "goal = \"min\", min_gain = 9");
    repo.write("overnight.toml", &triplet);
    let same = json(&compared(&repo, &["HEAD~1", "HEAD", "--seed", "3", "--json"]).ended(10));
    assert_eq!((&same["pairs"], &same["margin"]), (&known["pairs"], &9.0.into()));
    compared(&repo, &["HEAD~1", "HEAD", "--seed", "3", "--pairs", "4"]).ended(10).says("takes 6 pairs or more");
}

#[test]
fn each_runs_as_a_whole_and_what_else_differs_is_told() {
    let repo = two_commits();
    repo.write("score.sh", "echo loss: 7\n").write("extra", "").commit("another evaluation");
    let ran = compared(&repo, &["five", "HEAD"]).ended(11).says("more than the surface differs: `extra` and 1 more");
    ran.says("A           loss 4").says("B           loss 7");
    let ran = compared(&repo, &["five", "HEAD", "--surface-only"]).ended(10);
    ran.says("`extra` and 1 more differs as well; both run with B's").says("A           loss 7");
    // The triplet is that of the working tree, whatever was committed.
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("sh score.sh", "sed 's/x =/loss:/' knobs.py"));
    let known = json(&compared(&repo, &["five", "HEAD", "--json"]).ended(0));
    assert_eq!((&known["a"]["level"], &known["b"]["level"]), (&5.0.into(), &4.0.into()));
    assert_eq!(known["also_differ"], serde_json::json!(["extra", "score.sh"]));
}

#[test]
fn only_what_may_change_is_taken_onto_the_other_tree() {
    let repo = Repo::new();
    let triplet = repo.read("overnight.toml").replace("\"knobs.py\"", "{ path = \"knobs.py\", above = \"# end\" }");
    repo.write("overnight.toml", &triplet);
    repo.write("score.sh", "awk '/ = / { sum += $3 } END { print \"loss: \" sum }' knobs.py\n");
    repo.write("knobs.py", "x = 5\n# end\ny = 100\n").commit("a locked part");
    repo.write("knobs.py", "x = 4\n# end\ny = 200\n").commit("both parts changed");
    let ran = compared(&repo, &["HEAD~1", "HEAD"]).ended(11);
    ran.says("more than the surface differs: `knobs.py`").says("B is worse than A by 99\n");
    compared(&repo, &["HEAD~1", "HEAD", "--surface-only"]).ended(0).says("B is better than A by 1\n");
}

#[test]
fn a_side_that_does_not_run_is_never_a_number() {
    let repo = two_commits();
    repo.write("score.sh", "grep -q 'x = 4' knobs.py && { echo no module; exit 3; }\necho loss: 4\n").commit("picky");
    repo.write("knobs.py", "x = 5\n").commit("five again");
    let ran = compared(&repo, &["HEAD", "HEAD~1"]).ended(11);
    let ran = ran.says("B gave no number: exit code 3; it is tried once more").says("| no module");
    ran.says("B is worse: A runs, and B gave no number: exit code 3");
    let ran = compared(&repo, &["HEAD~1", "HEAD"]).ended(1);
    ran.says("A does not run, so nothing can be said of B: it gave no number: exit code 3");
    compared(&repo, &["HEAD~1", "HEAD~1"]).ended(1).says("A does not run");
    let known = json(&compared(&repo, &["HEAD", "HEAD~1", "--json"]).ended(11));
    assert_eq!((&known["result"], &known["difference"]), (&"b_does_not_run".into(), &Json::Null), "{known:#}");
    repo.write("score.sh", "grep -q 'x = 5' knobs.py && echo loss: 1\ntrue\n").write("knobs.py", "x = 4\n");
    compared(&repo, &["HEAD", "."]).ended(11).says("and B gave no number: the output does not give `loss`");
}

#[test]
fn one_crash_is_the_machine_s_and_two_are_not() {
    let repo = two_commits();
    let crashed = repo.beside("crashed");
    let script = format!(
        "grep -q 'x = 4' knobs.py && ! test -e {0} && {{ touch {0}; exit 1; }}\n{1}",
        crashed.display(),
        repo.read("score.sh")
    );
    repo.write("score.sh", &script).commit("fails once");
    repo.write("knobs.py", "x = 5\n");
    let ran = compared(&repo, &["HEAD", "."]).ended(11);
    ran.says("A gave no number: exit code 1; it is tried once more").says("B is worse than A by 3");
}

#[test]
fn the_champion_and_the_baseline_of_a_study_have_names() {
    let repo = Repo::new();
    compared(&repo, &["baseline", "HEAD"]).ended(2).says("`baseline` is no commit of this repository");
    repo.run(2);
    let champion = repo.git(&["rev-parse", "--short=10", "overnight/main"]);
    let ran = compared(&repo, &["baseline", "champion"]).ended(0).says(&format!("(champion, {champion})"));
    ran.says("B is better than A");
    repo.assert_sound();
}

#[test]
fn a_commit_that_the_triplet_does_not_fit_is_told_by_name() {
    let repo = two_commits();
    repo.git(&["mv", "knobs.py", "dials.py"]);
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("knobs", "dials")).commit("renamed");
    compared(&repo, &["five", "HEAD"]).ended(2).says("was held against A, which is `five`");
    compared(&repo, &["HEAD", "nothing"]).ended(2).says("`nothing` is no commit of this repository");
    compared(&repo, &["HEAD", "HEAD", "--pairs", "3"]).ended(2);
    compared(&repo, &["HEAD", "HEAD", "--margin", "-1"]).ended(2);
    Repo::empty().overnight(&["compare", "HEAD", "."]).ended(2).says("begin with `overnight init`");
}

#[test]
fn a_signal_ends_it_at_once_and_what_is_known_is_told() {
    for name in [Signal::INT, Signal::TERM] {
        let repo = two_commits();
        let (count, stuck) = (repo.beside("count"), repo.beside("stuck"));
        let script = format!(
            "echo >> {0}\ntest $(wc -l < {0}) = 5 && {{ touch {1}; sleep 1000; }}\n{2}",
            count.display(),
            stuck.display(),
            repo.read("score.sh")
        );
        repo.write("score.sh", &script).commit("stuck in the third pair");
        let git = everything_of_git(&repo);
        let engine = repo.start(&["compare", "HEAD", "."]);
        until("the third pair", || stuck.exists());
        engine.signal(name);
        let ran =
            engine.wait().ended(130).says("stopped after 2 pairs: nothing is settled yet").says("A           loss 1");
        assert_eq!(repo.strays(), Vec::<u32>::new(), "{ran}");
        assert!(!repo.dir().join(".overnight").exists() && everything_of_git(&repo) == git, "{ran}");
    }
}

#[test]
fn a_signal_while_it_prepares_leaves_nothing_either() {
    let repo = two_commits();
    repo.triplet("prepare = \"sleep 1000\"").commit("slow to prepare");
    let engine = repo.start(&["compare", "HEAD", "."]);
    let preparing = repo.state().join(format!("check/{}-0/layers/preparing", engine.pid()));
    until("prepare to begin", || preparing.exists());
    engine.signal(Signal::INT);
    let ran = engine.wait().ended(130).says("stopped before the first pair was complete");
    assert!(!repo.dir().join(".overnight").exists(), "{ran}");
    until("prepare to be gone", || repo.strays().is_empty());
}

#[test]
fn every_tier_and_every_user_gets_an_answer() {
    for repo in Repo::everybodys() {
        let triplet = "surface = \"knobs.py\"\nmetric = { name = \"loss\", goal = \"min\" }\n\
                       [evaluate]\nrun = \"sed 's/x =/loss:/' knobs.py\"\nbudget = \"10s\"\n";
        repo.write("knobs.py", "x = 5\n").write("overnight.toml", triplet).commit("base");
        repo.write("knobs.py", "x = 4\n");
        for tier in ["standard", "landlock", "none"] {
            let ran = compared(&repo, &["HEAD", ".", "--sandbox", tier]);
            assert_eq!(ran.code, Some(0), "{} {ran}", repo.whose());
            ran.says(&format!("· sandbox {tier} · 4 seeds")).says("B is better than A by 1\n");
        }
    }
}
