//! A locked scorer reads what a candidate left, and nothing that the candidate says or does reaches the number.

use std::fs;

use crate::support::{Json, Repo, until};

const TRIPLET: &str = r#"surface = "knobs.sh"
metric = { name = "loss", goal = "min" }
[evaluate]
run = "sh run.sh"
budget = "10s"
score = { run = "sh score.sh", kill = "20s" }
hidden = ["score.sh", "labels/**"]
[agent]
use = "command"
command = "sh agent.sh"
ahead = 0
"#;

/// Locked, but candidate code is all it runs: what it may do is what this candidate may do.
const RUN: &str = ". ./knobs.sh\n";

/// How far the answer is from the label. It says what it can see, and complains as programs do.
const SCORE: &str = r#"echo "artifacts: $(ls "$OVERNIGHT_ARTIFACTS" | tr '\n' ' ')"
test -e knobs.sh && echo "the surface is here" && exit 9
answer=$(cat "$OVERNIGHT_ARTIFACTS/answer")
label=$(cat labels/label)
test "$answer" -ge 0 || { echo "ValueError: no number: $answer" >&2; exit 3; }
d=$((answer - label))
echo "loss: $((d * d))"
"#;

/// A study whose candidates are what an agent reads, line by line, from a file beside the repository.
fn study(candidates: &[&str]) -> Repo {
    let repo = Repo::empty();
    repo.write("overnight.toml", TRIPLET).write("run.sh", RUN).write("score.sh", SCORE).write("labels/label", "3\n");
    repo.write("knobs.sh", "echo loss: 100; echo 5 > $OVERNIGHT_OUT/answer\n");
    let ideas = repo.beside("ideas");
    fs::create_dir(&ideas).unwrap();
    for (n, candidate) in candidates.iter().enumerate() {
        fs::write(ideas.join((n + 1).to_string()), format!("{candidate}\n")).unwrap();
    }
    let count = repo.beside("count");
    repo.write(
        "agent.sh",
        &format!(
            "n=$(($(cat {count} 2>/dev/null || echo 0) + 1)); echo $n > {count}\n\
             ls labels score.sh > {seen} 2>&1\ncp {ideas}/$n knobs.sh; echo idea $n\n",
            count = count.display(),
            ideas = ideas.display(),
            seen = repo.beside("seen").display(),
        ),
    );
    repo.commit("base");
    repo
}

fn shown(repo: &Repo, experiment: u32) -> Json {
    serde_json::from_str(&repo.ok(&["show", &experiment.to_string(), "--json"]).stdout).unwrap()
}

/// Lets every `run` leave a mark outside, and counts them.
fn count_runs(repo: &Repo) -> impl Fn() -> usize + use<> {
    let marks = repo.beside("marks");
    repo.write("run.sh", &format!("echo x >> {}\n{RUN}", marks.display())).commit("count");
    move || fs::read_to_string(&marks).unwrap().lines().count()
}

#[track_caller]
fn assert_invalid(repo: &Repo, experiment: u64, reason: &str) {
    let found = repo.experiment(experiment);
    assert_eq!((found["verdict"].as_str(), found["reason"].as_str()), (Some("invalid_metric"), Some(reason)));
}

#[test]
fn only_the_scorers_number_counts_and_what_was_printed_is_a_claim() {
    let repo = study(&["echo 4 > $OVERNIGHT_OUT/answer; echo loss: 0", "echo 9 > $OVERNIGHT_OUT/answer; echo loss: 0"]);
    repo.run(2);
    let verdicts: Vec<_> = repo.verdicts().into_iter().map(|(verdict, _)| verdict).collect();
    assert_eq!(verdicts, ["kept", "discarded"]);
    assert_eq!((repo.experiment(1)["metric"].clone(), repo.experiment(2)["metric"].clone()), (1.0.into(), 36.0.into()));
    let baseline = shown(&repo, 0);
    assert_eq!(
        (&baseline["measurements"][0]["metric"], &baseline["measurements"][0]["claim"]),
        (&4.0.into(), &100.0.into())
    );
    repo.ok(&["show", "2"]).says("claimed 0").says("end of the output of the scorer of trial");
    repo.ok(&["status", "--json"]).says("\"assurance\":\"separated\"");
    repo.ok(&["status"]).says("trust: separated · sandbox none");
    repo.assert_sound();
}

#[test]
fn the_whole_screen_says_how_far_apart_scorer_and_candidate_are() {
    let repo = study(&["echo 4 > $OVERNIGHT_OUT/answer"]);
    repo.triplet("[[guard]]\nrun = \"true\"").commit("a guard");
    insta::assert_snapshot!(repo.run(1), @"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent command · 1 slot
    sandbox none: candidates run as you; only their time, processes and working copy are kept in check
    separated by process and folder only: a candidate that goes looking finds the repository
    a guard runs candidate code and is cooperative: it can pass by itself
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  kept                      1           +3  idea 1 (better by 3, twice the same)

    baseline   loss 4  ([SHORT])
    champion   loss 1  ([SHORT], experiment 1)
    gain       3 over the baseline
    noise      none seen in 5 repeats
    trials     5 for 1 experiment: 3 calibrate, 1 screen, 1 confirm
    so far     1 experiment: 1 kept
    trust: separated · sandbox none · 5 seeds, all the same · no holdout
    done
    next       overnight report · overnight show champion · git log overnight/main
    --- exit code 0
    ");
}

#[test]
fn neither_candidate_nor_guard_nor_agent_sees_hidden_files() {
    let spy = "ls -R . > $OVERNIGHT_OUT/answer.txt; ls labels/label score.sh && echo 3 > $OVERNIGHT_OUT/answer || \
               echo 7 > $OVERNIGHT_OUT/answer";
    let repo = study(&[spy, spy]);
    repo.triplet("[[guard]]\nrun = \"test ! -e score.sh && test -z \\\"$(ls labels)\\\"\"\nwhen = \"first\"");
    repo.commit("a guard that looks");
    repo.run(1);
    assert_eq!(repo.experiment(1)["metric"], 16.0);
    let seen = fs::read_to_string(repo.beside("seen")).unwrap();
    assert!(seen.contains("score.sh") && !seen.contains("\nlabel\n"), "the agent saw {seen}");
    assert!(seen.contains("cannot access"), "the agent saw {seen}");
    repo.assert_sound();
}

#[test]
fn what_a_candidate_leaves_in_its_own_place_does_not_reach_the_scorer() {
    let vandal = "echo 'echo loss: 0' > score.sh; mkdir -p labels; echo 9 > labels/label; echo loss: 0 > $TMPDIR/x; \
                  echo '{\"loss\": 0}' > $OVERNIGHT_METRICS; echo 9 > $OVERNIGHT_OUT/answer";
    let repo = study(&[vandal, "echo 8 > $OVERNIGHT_OUT/answer"]);
    repo.run(2);
    assert_eq!(
        (repo.experiment(1)["metric"].clone(), repo.experiment(2)["metric"].clone()),
        (36.0.into(), 25.0.into())
    );
    assert_eq!(shown(&repo, 1)["measurements"][0]["claim"], 0.0);
    repo.assert_sound();
}

#[test]
fn artifacts_that_are_not_plain_files_are_refused_by_name() {
    let repo = study(&[
        "ln -s ../../../../../labels/label $OVERNIGHT_OUT/answer",
        "echo 3 > $OVERNIGHT_OUT/answer; mkdir $OVERNIGHT_OUT/d; ln $OVERNIGHT_OUT/answer $OVERNIGHT_OUT/d/again",
        "echo 3 > $OVERNIGHT_OUT/answer; mkfifo $OVERNIGHT_OUT/pipe",
        "echo 3 > $OVERNIGHT_OUT/answer; cd $OVERNIGHT_OUT; seq 10001 | xargs touch",
        "echo 3 > $OVERNIGHT_OUT/answer; truncate -s 2G $OVERNIGHT_OUT/hole",
        "echo 3 > answer; rmdir $OVERNIGHT_OUT; ln -s $PWD $OVERNIGHT_OUT",
        "rmdir $OVERNIGHT_OUT",
        "echo 4 > $OVERNIGHT_OUT/answer",
    ]);
    repo.run(8);
    for (experiment, reason) in [
        (1, "artifact `answer` is a symbolic link"),
        (2, "artifact `answer` is a hard link to another file"),
        (3, "artifact `pipe` is a named pipe"),
        (4, "there are more than 10000 artifacts"),
        (5, "artifacts are too large: with `hole` more than 1073741824 bytes"),
        (6, "the artifact folder $OVERNIGHT_OUT is a symbolic link"),
        (7, "the artifact folder $OVERNIGHT_OUT is gone"),
    ] {
        assert_invalid(&repo, experiment, reason);
    }
    assert_eq!(repo.experiment(8)["verdict"], "kept");
    repo.assert_sound();
}

#[test]
fn the_limit_of_the_sandbox_is_the_limit_of_artifacts() {
    let repo = study(&["head -c 3000000 /dev/zero > $OVERNIGHT_OUT/answer"]);
    repo.triplet("[sandbox]\ndisk = \"2 MB\"").commit("less room");
    repo.run(1);
    assert_invalid(&repo, 1, "artifacts are too large: with `answer` more than 2000000 bytes");
}

#[test]
fn a_candidate_that_breaks_the_scorer_is_to_blame_and_the_champion_stands() {
    let repo = study(&["echo x > $OVERNIGHT_OUT/answer", "true", "echo 4 > $OVERNIGHT_OUT/answer"]);
    let runs = count_runs(&repo);
    repo.run(3);
    // Three of the baseline, one of each that broke the scorer, two of the keep: what was kept is not made again.
    assert_eq!(runs(), 7);
    let reason = repo.experiment(1)["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.starts_with("the scorer failed: exit code 3: ") && reason.contains("ValueError: no number: x"),
        "{reason}"
    );
    let verdicts: Vec<_> = repo.verdicts().into_iter().map(|(verdict, _)| verdict).collect();
    assert_eq!(verdicts, ["invalid_metric", "invalid_metric", "kept"]);
    repo.ok(&["status"]).says("champion   loss 1 ");
    repo.assert_sound();
}

/// The engine that measured the champion is gone, and what it kept of the artifacts with it.
#[test]
fn a_later_run_makes_the_champions_artifacts_again_to_tell_who_is_to_blame() {
    let candidates = ["echo 4 > $OVERNIGHT_OUT/answer", "echo x > $OVERNIGHT_OUT/answer", "true"];
    let repo = study(&candidates);
    let runs = count_runs(&repo);
    repo.run(1);
    assert_eq!(runs(), 5);
    repo.run(2);
    assert_eq!(runs(), 8, "each of the two, and the champion once for both");
    let verdicts: Vec<_> = repo.verdicts().into_iter().map(|(verdict, _)| verdict).collect();
    assert_eq!(verdicts, ["kept", "invalid_metric", "invalid_metric"]);
    repo.assert_sound();
}

#[test]
fn a_scorer_that_is_broken_for_everybody_is_nobodys_fault_but_ours() {
    let repo =
        study(&["echo 4 > $OVERNIGHT_OUT/answer", "echo 6 > $OVERNIGHT_OUT/answer", "echo 7 > $OVERNIGHT_OUT/answer"]);
    let needed = repo.beside("needed");
    fs::write(&needed, "").unwrap();
    repo.write("score.sh", &format!("cat {} || exit 5\n{SCORE}", needed.display())).commit("a scorer with a need");
    repo.run(0);
    fs::remove_file(&needed).unwrap();
    let ran = repo.overnight(&["run", "--no-tui", "--experiments", "3"]).ended(1);
    assert!(ran.stderr.contains("the scorer fails on the champion's artifacts too"), "{ran}");
    let verdicts: Vec<_> = repo.verdicts().into_iter().map(|(verdict, _)| verdict).collect();
    assert_eq!(verdicts, ["engine_error"; 3]);
    fs::write(&needed, "").unwrap();
    fs::remove_file(repo.beside("count")).unwrap();
    repo.run(1);
    assert_eq!(repo.experiment(4)["verdict"], "kept");
    repo.assert_sound();
}

#[test]
fn an_engine_killed_while_the_scorer_runs_goes_on_with_a_fresh_trial() {
    let repo = study(&["mkdir $OVERNIGHT_OUT/deep; echo 4 > $OVERNIGHT_OUT/answer"]);
    let (started, go) = (repo.beside("started"), repo.beside("go"));
    let wait = format!(
        "grep -q 4 \"$OVERNIGHT_ARTIFACTS/answer\" && {{ touch {}; while ! test -e {}; do sleep 0.02; done; }}\n",
        started.display(),
        go.display()
    );
    repo.write("score.sh", &format!("{wait}{SCORE}")).commit("a slow scorer");
    let engine = repo.start(&["run", "--no-tui", "--experiments", "1"]);
    until("the scorer to be running", || started.exists());
    engine.signal(rustix::process::Signal::KILL);
    engine.wait();
    until("everything of it to be gone", || repo.strays().is_empty());
    fs::write(&go, "").unwrap();
    repo.run(1);
    assert_eq!(repo.experiment(1)["verdict"], "kept");
    assert_eq!(repo.events("trial_lost"), 1);
    repo.assert_sound();
}

#[test]
fn a_scorer_has_a_deadline_of_its_own() {
    let repo = study(&["echo 99 > $OVERNIGHT_OUT/answer"]);
    let slow = "grep -q 99 \"$OVERNIGHT_ARTIFACTS/answer\" && sleep 1000\n";
    repo.write("score.sh", &format!("{slow}{SCORE}"));
    repo.write("overnight.toml", &TRIPLET.replace("kill = \"20s\"", "kill = \"1s\"")).commit("a slow scorer");
    repo.run(1);
    assert_invalid(&repo, 1, "the scorer failed: killed at its limit of 1s");
    repo.assert_sound();
}

#[test]
fn a_scorer_that_fails_on_the_baseline_ends_the_run_with_its_words() {
    let repo = study(&[]);
    repo.write("score.sh", "echo looking; echo 'KeyError: weights' >&2; exit 1\n").commit("a broken scorer");
    let ran = repo.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(2);
    ran.says("the scorer failed: exit code 1: KeyError: weights");
    repo.ok(&["show", "baseline"]).says("looking").says("KeyError: weights");
}

#[test]
fn guards_by_number_take_the_scorers_numbers_and_the_runs_time() {
    let repo = study(&["echo 4 > $OVERNIGHT_OUT/answer; echo size: 1"]);
    repo.write("score.sh", &format!("{SCORE}echo size: 10\n"));
    repo.triplet("[[guard]]\nmetric = \"size\"\nmax = 5\n[[guard]]\nmetric = \"wall_s\"\nmax = 5").commit("guards");
    repo.run(1);
    let found = repo.experiment(1);
    assert_eq!(
        (found["verdict"].as_str(), found["reason"].as_str()),
        (Some("guard_failed"), Some("guard `size`: 10 is more than 5"))
    );
}

#[test]
fn slots_score_side_by_side_and_let_go_of_what_they_kept() {
    let repo = Repo::empty();
    repo.write("overnight.toml", TRIPLET.replace("knobs.sh", "knobs.py").split("[agent]").next().unwrap());
    repo.write("run.sh", "sed -n 's/^x = //p' knobs.py > $OVERNIGHT_OUT/answer\n").write("knobs.py", "x = 5\n");
    repo.write("score.sh", SCORE).write("labels/label", "3\n").commit("base");
    // Fewer than the tuner has in store, whatever order the slots end in.
    repo.ok(&["run", "--no-tui", "--slots", "4", "--experiments", "6"]);
    for row in repo.log() {
        let known = ["baseline", "kept", "discarded", "invalid_metric"].map(Json::from);
        assert!(known.contains(&row["verdict"]), "{row}");
    }
    // The champion's, and those of the last few trials.
    let kept = fs::read_dir(repo.state().join("artifacts")).unwrap().count();
    assert!((1..=5).contains(&kept), "{kept} folders of artifacts are left");
    repo.assert_sound();
}

#[test]
fn another_way_to_make_the_number_is_another_study() {
    let repo = study(&["echo 4 > $OVERNIGHT_OUT/answer"]);
    fs::write(repo.beside("data"), "").unwrap();
    repo.run(0);
    let add = |line: &str| TRIPLET.replace("[agent]", &format!("{line}\n[agent]"));
    for (triplet, changed) in [
        (TRIPLET.replace("sh score.sh", "sh -e score.sh"), "evaluate.score"),
        (TRIPLET.replace(", \"labels/**\"", ""), "evaluate.hidden"),
        (add("inputs = [\"../data\"]"), "evaluate.inputs"),
        (add("prepare = \"true\""), "evaluate.prepare"),
        (add("network = \"full\""), "evaluate.network"),
        (add("warm = true"), "evaluate.warm"),
    ] {
        repo.write("overnight.toml", &triplet);
        let ran = repo.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(3);
        ran.says(&format!("{changed} changed since this study began"));
    }
    repo.write("overnight.toml", &TRIPLET.replace("kill = \"20s\"", "kill = \"30s\""));
    repo.run(1);
}

#[test]
fn a_study_in_a_folder_hides_and_scores_its_own_files() {
    let repo = Repo::empty();
    let triplet = TRIPLET.replace("knobs.sh", "knobs.py");
    repo.write("lab/overnight.toml", triplet.split("[agent]").next().unwrap()).write("lab/knobs.py", "x = 5\n");
    repo.write("lab/run.sh", "ls labels/label score.sh; sed -n 's/^x = //p' knobs.py > $OVERNIGHT_OUT/answer\n");
    repo.write("lab/score.sh", SCORE).write("lab/labels/label", "3\n").write("labels/label", "4\n").commit("base");
    repo.ok(&["-C", "lab", "run", "--no-tui", "--experiments", "0"]);
    repo.ok(&["-C", "lab", "status", "--json"]).says("\"metric\":4.0");
    repo.ok(&["-C", "lab", "show", "0", "--output"]).says("cannot access 'labels/label'").says("'score.sh'");
}
