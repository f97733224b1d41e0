//! Every verdict that this stage can reach, by name and with its reason.

use crate::support::{Repo, until};
use rustix::process::Signal;

/// Proposes what the file `ideas/<experiment>` says, which may be any shell script.
const PLAN: &str = r#"n=$(sed -n 's/.*"experiment":\([0-9]*\),"metric".*/\1/p')
test -f ideas/$n && . ./ideas/$n; echo idea $n
"#;

/// A study whose agent works through a plan of shell scripts, one for each experiment.
fn planned(plan: &[&str]) -> Repo {
    let repo = Repo::with_agent(PLAN);
    // What a crash comes to is the point here, and not what is made of it.
    repo.triplet("repairs = 0");
    for (at, idea) in plan.iter().enumerate() {
        repo.write(&format!("ideas/{}", at + 1), idea);
    }
    repo.commit("a plan");
    repo
}

/// Runs a plan with one slot and gives verdict and reason of each step.
#[track_caller]
fn outcome(repo: &Repo, experiments: u32) -> Vec<(String, String)> {
    repo.run(experiments);
    repo.assert_sound();
    repo.verdicts()
}

fn pairs(verdicts: &[(String, String)]) -> Vec<(&str, &str)> {
    verdicts.iter().map(|(verdict, reason)| (verdict.as_str(), reason.as_str())).collect()
}

#[test]
fn kept_discarded_no_change_and_duplicate() {
    let repo = planned(&[
        "echo 'x = 9' > knobs.py",
        ":",
        "echo 'x = 9' > knobs.py",
        "echo 'x = 1' > knobs.py",
        "echo 'x = 4' > knobs.py",
    ]);
    let found = outcome(&repo, 3);
    assert_eq!(
        pairs(&found),
        [
            ("discarded", "worse by 32"),
            ("no_change", "the surface is the champion's"),
            ("duplicate", "the same surface as experiment 1"),
            ("discarded", "equal to the champion"),
            ("kept", "better by 3, twice the same"),
        ]
    );
    insta::assert_snapshot!(repo.ok(&["log"]), @"
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  discarded                36          −32  idea 1 (worse by 32)
        2  no_change                 -            -  the surface is the champion's
        3  duplicate                 -            -  idea 3 (the same surface as experiment 1)
        4  discarded                 4            0  idea 4 (equal to the champion)
        5  kept                      1           +3  idea 5 (better by 3, twice the same)
    --- to people
    3 experiments: 1 kept, 2 not better, 2 not counted · trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout
    --- exit code 0
    ");
}

#[test]
fn a_comment_makes_no_other_program_of_the_champion_or_of_what_was_tried() {
    let repo = Repo::new();
    let attempt = |text: &str| {
        repo.write("knobs.py", text);
        repo.ok(&["try", "--from-worktree", "-m", "an idea"]);
        repo.verdicts().pop().unwrap()
    };
    let pair = |verdict: &str, reason: &str| (verdict.to_owned(), reason.to_owned());
    let aside = "whitespace and comments aside";
    assert_eq!(attempt("# a knob\n\nx = 5\n"), pair("no_change", &format!("the surface is the champion's, {aside}")));
    assert_eq!(attempt("x = 9\n"), pair("discarded", "worse by 32"));
    let again = format!("the same surface as experiment 2, {aside}");
    assert_eq!(attempt("x = 9  # nine\n"), pair("duplicate", &again));
    assert_eq!(attempt("x = 9\n"), pair("duplicate", "the same surface as experiment 2"));
    assert_eq!(attempt("x = 8\n"), pair("discarded", "worse by 21"));
    repo.assert_sound();
}

#[test]
fn an_edit_of_a_seed_alone_is_said_to_be_one() {
    let repo = Repo::new();
    repo.write("knobs.py", "x = 5\nseed = 1\n").commit("a seed");
    repo.write("knobs.py", "x = 5\nseed = 2\n");
    repo.ok(&["try", "--from-worktree", "-m", "another seed"]);
    let note = "note        only a seed-like literal was changed";
    assert!(repo.ok(&["show", "1"]).stdout.contains(note));
    repo.write("knobs.py", "x = 6\nseed = 1\n");
    repo.ok(&["try", "--from-worktree", "-m", "another x"]);
    assert!(!repo.ok(&["show", "2"]).stdout.contains(note));
}

#[test]
fn a_gain_below_min_gain_is_discarded() {
    let repo = Repo::new();
    let triplet = repo.read("overnight.toml").replace("\"min\" }", "\"min\", min_gain = 3.5 }");
    repo.write("overnight.toml", &triplet).commit("ask for more");
    repo.write("knobs.py", "x = 4\n");
    repo.ok(&["try", "--from-worktree", "-m", "a little"]);
    assert_eq!(pairs(&repo.verdicts()), [("discarded", "better by 3, less than min_gain 3.5")]);
}

#[test]
fn crashed_and_timed_out() {
    let ideas = ["oops", "slow", "kill", "stubborn", "stopped"].map(|idea| format!("echo 'x = {idea}' > knobs.py"));
    let repo = planned(&ideas.each_ref().map(String::as_str));
    repo.write(
        "score.sh",
        "grep -q oops knobs.py && { echo Traceback; exit 7; }\ngrep -q slow knobs.py && sleep 1000\n\
         grep -q kill knobs.py && kill -SEGV $$\n\
         grep -q stubborn knobs.py && { trap '' TERM INT; while :; do sleep 1000; done; }\n\
         grep -q stopped knobs.py && kill -STOP $$\necho loss: 4\n",
    );
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("\"10s\"", "\"1s\"\nkill = \"2s\""));
    repo.commit("fragile");
    let found = outcome(&repo, 5);
    assert_eq!(
        pairs(&found),
        [
            ("crashed", "exit code 7"),
            ("timed_out", "killed at its limit of 2s"),
            ("crashed", "exit code 139 (SIGSEGV)"),
            ("timed_out", "killed at its limit of 2s"),
            ("timed_out", "killed at its limit of 2s"),
        ]
    );
    insta::assert_snapshot!(repo.ok(&["show", "1"]), @"
    experiment 1 · crashed
      why         exit code 7
      hypothesis  idea 1
      agent       command
      started     [TIME]
      commit      [COMMIT]
      parent      [COMMIT]
      trial 3     screen     exit code 7  seed [SEED] · [S] wall · [S] cpu · [MB] peak

    --- a/knobs.py
    +++ b/knobs.py
    @@ -1 +1 @@
    -x = 5
    +x = oops

    end of the output of trial 3 (10 bytes in all):
      Traceback

    trust: cooperative · sandbox standard · 3 seeds, all the same · no holdout
    --- exit code 0
    ");
}

#[test]
fn invalid_metric_when_it_is_missing_not_a_number_or_in_conflict() {
    let repo = planned(&[
        "echo 'echo hello' > knobs.py",
        "echo 'echo loss: nan' > knobs.py",
        "printf 'echo loss: 1\necho loss: 2\n' > knobs.py",
        "echo 'echo lost: 1' > knobs.py",
    ]);
    repo.write("score.sh", ". ./knobs.py\n").write("knobs.py", "echo loss: 4\n").commit("the surface prints");
    let found = outcome(&repo, 4);
    assert!(found.iter().all(|(verdict, _)| verdict == "invalid_metric"), "{found:?}");
    let reasons: Vec<_> = found.iter().map(|(_, reason)| reason.as_str()).collect();
    insta::assert_snapshot!(reasons.join("\n"), @"
    the output does not give `loss`
    `loss` is not finite: `nan`
    `loss` has two values, 1 and 2
    the output does not give `loss`, only `lost`
    ");
}

#[test]
fn guard_failed_by_a_command_by_a_limit_and_by_a_regression() {
    let repo = planned(&[
        "printf 'x = 4\nbad = 1\n' > knobs.py",
        "printf 'x = 4\nsize = 2000\n' > knobs.py",
        "printf 'x = 4\nsize = 120\n' > knobs.py",
        "printf 'x = 4\nsize = 105\n' > knobs.py",
    ]);
    repo.write("knobs.py", "x = 5\nsize = 100\n");
    let score = format!("{}echo \"size: $(sed -n 's/^size = //p' knobs.py)\"\n", repo.read("score.sh"));
    repo.write("score.sh", &score);
    repo.triplet(
        "[[guard]]\nrun = \"! grep bad knobs.py\"\n[[guard]]\nmetric = \"size\"\nmax = 1000\nmax_regression = 0.1",
    );
    repo.commit("guards");
    let found = outcome(&repo, 4);
    insta::assert_snapshot!(format!("{:#?}", pairs(&found)), @r#"
    [
        (
            "guard_failed",
            "guard `! grep bad knobs.py`: exit code 1",
        ),
        (
            "guard_failed",
            "guard `size`: 2000 is more than 110",
        ),
        (
            "guard_failed",
            "guard `size`: 120 is more than 110",
        ),
        (
            "kept",
            "better by 3, twice the same",
        ),
    ]
    "#);
}

#[test]
fn a_guard_that_comes_first_spares_the_trial() {
    let repo = planned(&["echo 'x = bad' > knobs.py"]);
    repo.triplet("[[guard]]\nrun = \"! grep bad knobs.py\"\nwhen = \"first\"").commit("a quick check");
    let found = outcome(&repo, 1);
    assert_eq!(pairs(&found), [("guard_failed", "guard `! grep bad knobs.py`: exit code 1")]);
    assert_eq!(repo.experiment(1)["trials"], 0);
    repo.ok(&["show", "1"]).says("x = bad");
}

#[test]
fn policy_when_anything_but_the_surface_is_changed() {
    let repo = planned(&[
        "echo 'echo loss: 0' > score.sh",
        "rm knobs.py; ln -s /etc/passwd knobs.py",
        "rm knobs.py",
        "rm knobs.py; mkdir knobs.py",
        "rm -rf ideas; echo 'x = 3' > knobs.py",
        "chmod +x score.sh; echo 'x = 3' > knobs.py",
        "rm knobs.py; mkfifo knobs.py",
        "ln knobs.py other; echo 'x = 3' > knobs.py",
        "echo 'x = 3' > knobs.py; chmod +x knobs.py",
        "echo 'x = 3' > knobs.py; chmod u+s knobs.py",
        "echo 'x = 3' > knobs.py; echo > Knobs.py",
        "echo 'x = 3' > knobs.py; mkdir IDEAS",
        "head -c 5000000 /dev/zero > knobs.py",
    ]);
    let found = outcome(&repo, 13);
    assert!(found.iter().all(|(verdict, _)| verdict == "policy"), "{found:?}");
    let reasons: Vec<_> = found.iter().map(|(_, reason)| reason.as_str()).collect();
    insta::assert_snapshot!(reasons.join("\n"), @"
    it changed `score.sh`, which is locked
    it left a symbolic link in place of `knobs.py`
    it removed `knobs.py`
    it left a folder in place of `knobs.py`
    it removed `ideas`, which is locked
    it changed `score.sh`, which is locked
    it left a FIFO in place of `knobs.py`
    it left a file with a second name in place of `knobs.py`
    it changed the mode of `knobs.py`
    it changed the mode of `knobs.py`
    it made `Knobs.py`, which others take for `knobs.py`
    it made `IDEAS`, which others take for `ideas`
    it made `knobs.py` 5000000 bytes long, the limit is 4194304
    ");
}

#[test]
fn policy_when_too_much_or_the_wrong_part_of_the_surface_is_changed() {
    let repo = planned(&[
        "printf 'x = 3\n# --- locked below\nsecret = 2\n' > knobs.py",
        "printf 'x = 3\n' > knobs.py",
        "printf 'x = 3\ny = 1\nz = 1\n# --- locked below\nsecret = 1\n' > knobs.py",
        "printf 'x = 3\n# --- locked below\nsecret = 1\n' > knobs.py",
    ]);
    repo.write("knobs.py", "x = 5\n# --- locked below\nsecret = 1\n");
    let surface = r##"surface = { path = "knobs.py", above = "# --- locked below", max_lines_changed = 2 }"##;
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("surface = \"knobs.py\"", surface));
    repo.commit("a part only");
    let found = outcome(&repo, 4);
    insta::assert_snapshot!(format!("{:#?}", pairs(&found)), @r#"
    [
        (
            "policy",
            "`knobs.py`: the part locked by the line `# --- locked below` was changed",
        ),
        (
            "policy",
            "`knobs.py`: the line `# --- locked below` must be there exactly once",
        ),
        (
            "policy",
            "3 lines changed, max_lines_changed is 2",
        ),
        (
            "kept",
            "better by 4, twice the same",
        ),
    ]
    "#);
    let below = planned(&["printf 'x = 3\ny = 2\n' > knobs.py", "printf 'y = 1\nx = 3\n' > knobs.py"]);
    below.write("knobs.py", "y = 1\nx = 5\n");
    let surface = "surface = { path = \"knobs.py\", below = \"y = 1\" }";
    below.write("overnight.toml", &below.read("overnight.toml").replace("surface = \"knobs.py\"", surface));
    below.commit("a part only");
    let found = outcome(&below, 2);
    insta::assert_snapshot!(format!("{:#?}", pairs(&found)), @r#"
    [
        (
            "policy",
            "`knobs.py`: the line `y = 1` must be there exactly once",
        ),
        (
            "kept",
            "better by 4, twice the same",
        ),
    ]
    "#);
}

#[test]
fn suspect_when_the_number_is_not_plausible() {
    let repo = Repo::new();
    let triplet = repo.read("overnight.toml").replace("\"min\" }", "\"min\", plausible = [0.5, 100] }");
    repo.write("overnight.toml", &triplet).commit("plausible");
    repo.write("knobs.py", "x = 3\n");
    repo.ok(&["try", "--from-worktree", "-m", "too good"]);
    assert_eq!(pairs(&repo.verdicts()), [("suspect", "0 is outside the plausible range 0.5 to 100")]);
    assert_eq!(repo.status()["champion"]["metric"], 4.0);
    repo.assert_sound();
}

#[test]
fn agent_error_when_it_is_dead_hung_or_unhappy() {
    let repo =
        planned(&["kill -9 $$", "sleep 1000 & sleep 1000", "echo no ideas >&2; exit 1", "echo 'x = 3' > knobs.py"]);
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("[agent]", "[agent]\ntimeout = \"2s\""));
    repo.commit("impatient");
    let found = outcome(&repo, 1);
    insta::assert_snapshot!(format!("{:#?}", pairs(&found)), @r#"
    [
        (
            "agent_error",
            "the agent ended: exit code 137 (SIGKILL)",
        ),
        (
            "agent_error",
            "the agent ended: killed at its limit of 2s",
        ),
        (
            "agent_error",
            "the agent ended: exit code 1",
        ),
        (
            "kept",
            "better by 4, twice the same",
        ),
    ]
    "#);
    // None of these was an experiment.
    assert_eq!(repo.status()["experiments"], 1);
    repo.ok(&["show", "3"]).says("no ideas");
}

#[test]
fn a_person_who_leaves_in_the_middle_is_interrupted() {
    let repo = Repo::new();
    let marker = repo.beside("started");
    repo.write(
        "score.sh",
        &format!("grep -q 5 knobs.py || {{ touch {}; sleep 1000; }}\necho loss: 4\n", marker.display()),
    );
    repo.commit("slow on anything new");
    repo.run(0);
    repo.write("knobs.py", "x = 3\n");
    let engine = repo.start(&["try", "--from-worktree", "-m", "slow", "--json"]);
    until("the trial to start", || marker.exists());
    engine.signal(Signal::INT);
    engine.said("stopping:");
    engine.signal(Signal::INT);
    let ran = engine.wait().ended(130);
    assert_eq!(repo.verdicts(), [("interrupted".to_owned(), "stopped by a person".to_owned())], "{ran}");
    repo.assert_sound();
    // Nothing was learned of that surface: it may be tried again.
    std::fs::remove_file(&marker).unwrap();
    let engine = repo.start(&["try", "--from-worktree", "-m", "slow again"]);
    until("the trial to start again", || marker.exists());
    drop(engine);
}

#[test]
fn a_baseline_that_fails_ends_the_run_and_can_be_mended() {
    let repo = Repo::scored_by("echo no numbers here\n");
    insta::assert_snapshot!(repo.overnight(&["run", "--no-tui"]).ended(2), @"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent tuner · 1 slot
    sandbox standard: every command has files, processes and a network of its own
        #  verdict                loss         gain  what (why)

    baseline   loss not measured yet  ([SHORT])
    noise      unknown so far
    trials     1 for 0 experiments: 1 calibrate
    so far     0 experiments
    trust: cooperative · sandbox standard · no repeats yet · no holdout
    stopped: the baseline failed (invalid_metric): the output does not give `loss`
    next       overnight show baseline
    --- exit code 2
    ");
    insta::assert_snapshot!(repo.ok(&["show", "baseline"]), @"
    experiment 0 · no verdict yet
      hypothesis  baseline
      agent       person
      started     [TIME]
      commit      [COMMIT]
      trial 0     baseline  the output does not give `loss`  seed [SEED] · [S] wall · [S] cpu · [MB] peak

    end of the output of trial 0 (16 bytes in all):
      no numbers here

    trust: cooperative · sandbox standard · no repeats yet · no holdout
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["status"]), @"
    study      main · stopped
    baseline   loss not measured yet  ([SHORT])
    noise      unknown so far
    trials     1 for 0 experiments: 1 calibrate
    so far     0 experiments
    last run   stopped: the baseline failed (invalid_metric): the output does not give `loss`
    trust: cooperative · sandbox standard · no repeats yet · no holdout
    --- exit code 0
    ");
    repo.write("score.sh", "echo loss: 4\n").commit("mended");
    repo.run(1);
    repo.assert_sound();
}
