//! A study goes on under a changed evaluation when its owner asks for it, and only then.

use std::fs;

use crate::support::{Json, Repo, until};

/// Another place where the one knob is best.
const BEST_AT_ONE: &str = "x=$(sed -n \"s/^x = //p\" knobs.py)\necho \"loss: $(( (x - 1) * (x - 1) + 100 ))\"\n";
const REBASE: &[&str] = &["rebase", "--no-tui"];

/// A study whose champion has x = 3, with an evaluation that changed in the last commit.
fn changed(script: &str) -> Repo {
    let repo = Repo::new();
    repo.run(2);
    assert_eq!(repo.status()["champion"]["metric"], 0.0);
    repo.write("score.sh", script).commit("another evaluation");
    repo
}

#[test]
fn the_champion_comes_along_and_is_measured_anew() {
    let repo = changed(BEST_AT_ONE);
    let head = repo.git(&["rev-parse", "HEAD"]);
    let before = repo.git(&["rev-parse", "overnight/main"]);
    repo.run(0).says("`score.sh` changed since the baseline");
    let screen = repo.ok(REBASE).stderr;
    insta::assert_snapshot!(screen, @"
    segment 2 · changed: `score.sh`
    sandbox standard: every command has files, processes and a network of its own
        #  verdict                loss         gain  what (why)
        3  baseline                116            -  baseline of segment 2
        4  kept                    104          +12  champion of segment 1 (experiment 2) carried over (better than the baseline by 12 here, measured 3 times)

    segment 1  loss 4 → 0, gain +4 (under an earlier evaluation)
    segment 2  the present one, gain +12
    baseline   loss 116  ([SHORT])
    champion   loss 104  ([SHORT], experiment 4)
    gain       12 over the baseline
    noise      none seen in 6 repeats
    trials     6 in this segment: 3 calibrate, 3 remeasure
    so far     2 experiments: 1 kept, 1 not better
    trust: cooperative · sandbox standard · 6 seeds, all the same · no holdout
    done
    next       overnight run · git log overnight/main
    ");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
    // The branch went forward, over the old champion and the new commit.
    for ancestor in [before.as_str(), head.as_str()] {
        repo.git(&["merge-base", "--is-ancestor", ancestor, "overnight/main"]);
    }
    assert_eq!(repo.git(&["diff", "--name-only", "HEAD", "overnight/main"]), "knobs.py");
    let status = repo.status();
    assert_eq!((&status["segment"], &status["segments"][0]["gain"]), (&2.into(), &4.0.into()));
    assert_eq!((&status["baseline"]["metric"], &status["champion"]["metric"]), (&116.0.into(), &104.0.into()));
    assert_eq!((&status["experiments"], &status["kept"]), (&2.into(), &1.into()));
    repo.assert_sound();
    repo.run(2);
    assert_eq!(repo.status()["champion"]["metric"], 100.0);
    repo.assert_sound();
    repo.ok(&["show", "4"]).says("+x = 3");
}

#[test]
fn another_evaluation_in_the_triplet_is_refused_until_a_segment_is_asked_for() {
    let repo = Repo::new();
    repo.run(2);
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("sh score.sh", "sh -e score.sh"));
    repo.overnight(&["run", "--no-tui"]).ended(3).says("evaluate.run changed").says("overnight rebase");
    repo.ok(REBASE).says("changed: evaluate.run");
    assert_eq!(repo.status()["segment"], 2);
    // Nothing in the tree changed, so the branch is one line.
    assert_eq!(repo.git(&["log", "--merges", "--oneline", "overnight/main"]), "");
    repo.run(1);
    repo.assert_sound();
}

#[test]
fn other_inputs_are_refused_until_a_segment_is_asked_for() {
    let repo = Repo::new();
    fs::write(repo.outside("data"), "1\n").unwrap();
    repo.triplet("inputs = [\"../data\"]").commit("an input");
    repo.run(2);
    fs::write(repo.outside("data"), "22\n").unwrap();
    repo.overnight(&["run", "--no-tui"]).ended(3).says("what the inputs hold changed").says("overnight rebase");
    repo.ok(REBASE).says("changed: what the inputs hold");
    repo.run(1);
    repo.assert_sound();
}

#[test]
fn a_dirty_evaluation_is_refused_or_taken_as_it_is() {
    let repo = Repo::new();
    repo.run(2);
    repo.write("score.sh", BEST_AT_ONE);
    repo.overnight(&["run", "--no-tui"]).ended(3).says("overnight rebase --snapshot");
    repo.overnight(REBASE).ended(3).says("--snapshot");
    repo.ok(&["rebase", "--no-tui", "--snapshot"]).says("changed: `score.sh`");
    assert_eq!(repo.status()["baseline"]["metric"], 116.0);
    repo.run(1);
    repo.assert_sound();
}

#[test]
fn there_has_to_be_something_to_take_and_somewhere_to_take_it() {
    let repo = Repo::new();
    repo.overnight(REBASE).ended(2).says("the study has no champion yet");
    repo.run(2);
    repo.overnight(REBASE).ended(3).says("nothing changed since segment 1 began");
    assert_eq!(repo.status().get("segments"), None);
    repo.assert_sound();
}

#[test]
fn a_champion_that_is_worse_there_is_left_behind_and_can_be_found_again() {
    let repo = changed("x=$(sed -n \"s/^x = //p\" knobs.py)\necho \"loss: $(( 100 - x ))\"\n");
    repo.ok(REBASE).says("worse by 2");
    assert_eq!(repo.git(&["diff", "--name-only", "HEAD", "overnight/main"]), "");
    assert_eq!(repo.status()["champion"]["metric"], 95.0);
    assert!(repo.git(&["log", "--format=%s", "overnight/main"]).contains("x 5 → 3"));
    repo.run(1);
    repo.assert_sound();
}

#[test]
fn a_champion_that_breaks_there_is_left_behind() {
    let repo = changed("x=$(sed -n \"s/^x = //p\" knobs.py)\ntest $x = 5 || exit 7\necho \"loss: 1\"\n");
    repo.ok(REBASE).says("crashed");
    assert_eq!(repo.git(&["diff", "--name-only", "HEAD", "overnight/main"]), "");
    repo.assert_sound();
}

#[test]
fn a_baseline_that_fails_there_loses_nothing() {
    let repo = changed("exit 7\n");
    let before = repo.git(&["rev-parse", "overnight/main"]);
    repo.overnight(REBASE).ended(2).says("exit code 7");
    assert_eq!(repo.git(&["rev-parse", "overnight/main"]), before);
    repo.assert_sound();
    // Mended, it goes on by itself.
    repo.write("score.sh", BEST_AT_ONE).commit("mended");
    repo.run(1);
    let status = repo.status();
    assert_eq!((&status["baseline"]["metric"], &status["segments"][0]["gain"]), (&116.0.into(), &4.0.into()));
    repo.ok(&["log"]).says("carried over");
    repo.assert_sound();
}

#[test]
fn an_engine_that_is_killed_in_the_middle_goes_on() {
    let repo = Repo::new().without_sandbox();
    repo.run(2);
    let (here, go) = (repo.beside("here"), repo.beside("go"));
    let wait = format!("touch {}; while ! test -e {}; do sleep 0.01; done\n", here.display(), go.display());
    repo.write("score.sh", &format!("grep -q '^x = 5' knobs.py || {{ {wait} }}\n{BEST_AT_ONE}")).commit("waits");
    let engine = repo.start(REBASE);
    until("the champion is on trial", || here.exists());
    drop(engine);
    until("nothing of it is left", || repo.strays().is_empty());
    fs::write(&go, "").unwrap();
    assert!(repo.status()["champion"]["metric"] == 116.0, "the new baseline holds the branch meanwhile");
    repo.overnight(REBASE).ended(3).says("nothing changed");
    repo.run(0);
    assert_eq!(repo.status()["champion"]["metric"], 104.0);
    repo.assert_sound();
}

#[test]
fn the_locked_part_of_a_surface_file_is_the_new_one() {
    let repo = Repo::new();
    let triplet = repo.read("overnight.toml");
    let part = triplet.replace("\"knobs.py\"", "{ path = \"knobs.py\", above = \"# locked\" }");
    let score = |offset: u32| format!("x = 5\n# locked\n# offset {offset}\n");
    let script = "x=$(sed -n 's/^x = //p' knobs.py)\no=$(sed -n 's/^# offset //p' knobs.py)\n\
                  echo \"loss: $(( (x - 3) * (x - 3) + o ))\"\n";
    repo.write("overnight.toml", &part).write("score.sh", script).write("knobs.py", &score(0)).commit("parts");
    repo.run(2);
    repo.write("knobs.py", &score(50)).commit("another locked part");
    repo.ok(REBASE).says("knobs.py");
    let status = repo.status();
    assert_eq!((&status["baseline"]["metric"], &status["champion"]["metric"]), (&54.0.into(), &50.0.into()));
    assert_eq!(repo.git(&["show", "overnight/main:knobs.py"]), "x = 3\n# locked\n# offset 50");
    repo.assert_sound();
}

#[test]
fn a_surface_that_its_owner_changed_is_said_and_not_taken() {
    let repo = changed(BEST_AT_ONE);
    repo.write("knobs.py", "x = 40\n").commit("my own");
    repo.ok(REBASE).says("`knobs.py` in the commit is neither the baseline's nor the champion's");
    assert_eq!(repo.status()["baseline"]["metric"], 116.0);
    repo.assert_sound();
}

#[test]
fn what_was_open_is_not_judged_by_another_evaluation() {
    let repo = Repo::new().without_sandbox();
    let here = repo.beside("here");
    let waits = format!("grep -q '^x = 5' knobs.py || {{ touch {}; exec sleep 60; }}\n", here.display());
    repo.write("score.sh", &format!("{waits}{}", repo.read("score.sh"))).commit("a candidate hangs");
    let engine = repo.start(&["run", "--no-tui"]);
    until("a candidate is on trial", || here.exists());
    drop(engine);
    until("nothing of it is left", || repo.strays().is_empty());
    repo.write("score.sh", BEST_AT_ONE).commit("it does not");
    repo.ok(REBASE);
    let rows = repo.log();
    assert_eq!((&rows[1]["verdict"], &rows[1]["segment"]), (&"interrupted".into(), &1.into()));
    assert_eq!(rows[1]["reason"], "the evaluation changed before its verdict");
    assert_eq!((&rows[2]["verdict"], &rows[2]["segment"]), (&"baseline".into(), &2.into()));
    assert_eq!(rows.len(), 3, "the champion was the baseline: there is nothing else to carry over");
    repo.run(1);
    repo.assert_sound();
}

#[test]
fn a_rebase_of_a_rebase_shows_every_segment() {
    let repo = changed(BEST_AT_ONE);
    repo.ok(REBASE);
    repo.run(2);
    repo.write("score.sh", &BEST_AT_ONE.replace("100", "500")).commit("and again");
    repo.ok(REBASE);
    let status = repo.status();
    let gains: Vec<&Json> = status["segments"].as_array().unwrap().iter().map(|segment| &segment["gain"]).collect();
    assert_eq!(gains, [&Json::from(4.0), &Json::from(16.0)]);
    assert_eq!(status["champion"]["metric"], 500.0);
    repo.ok(&["status"]).says("segment 1  loss 4 → 0, gain +4 (under an earlier evaluation)");
    repo.assert_sound();
}

#[test]
fn what_a_model_wrote_does_not_run_on_a_weaker_tier_by_way_of_a_new_segment() {
    let repo = Repo::with_agent("sed -i 's/x = .*/x = 4/' knobs.py; echo idea\n");
    repo.triplet("[sandbox]\nmin = \"strong\"").commit("a high bar");
    repo.ok(&["run", "--no-tui", "--experiments", "1", "--sandbox", "standard"]);
    repo.write("score.sh", "exit 7\n").commit("broken");
    repo.overnight(REBASE).ended(3).says("overnight rebase --sandbox standard");
    repo.overnight(&["rebase", "--no-tui", "--sandbox", "standard"]).ended(2);
    repo.write("score.sh", BEST_AT_ONE).commit("mended");
    repo.write("knobs.py", "x = 2\n");
    let mine = ["try", "--from-worktree", "-m", "mine"];
    repo.overnight(&mine).ended(3).says("what a model wrote needs `strong`").says("overnight try --sandbox standard");
    repo.ok(&["try", "--from-worktree", "-m", "mine", "--sandbox", "standard"]);
    // With the champion settled, a person's own idea runs anywhere.
    repo.write("knobs.py", "x = 1\n");
    repo.ok(&mine);
}

#[test]
fn what_is_locked_in_the_new_segment_does_not_come_along_unsaid() {
    let repo = Repo::new();
    repo.write("other.py", "y = 1\n").commit("another file");
    repo.run(2);
    repo.git(&["mv", "knobs.py", "moved.py"]);
    let triplet = repo.read("overnight.toml").replace("knobs.py", "moved.py");
    let script = repo.read("score.sh").replace("knobs.py", "moved.py");
    repo.write("overnight.toml", &triplet).write("score.sh", &script).commit("moved");
    repo.ok(REBASE).says("what the champion had changed in `knobs.py` is locked now and does not come along");
    repo.assert_sound();
}

#[test]
fn a_state_folder_that_came_with_the_repository_is_refused() {
    let repo = Repo::new();
    let victim = repo.outside("victim");
    fs::create_dir_all(victim.join("main/check")).unwrap();
    fs::write(victim.join("main/check/precious"), "").unwrap();
    std::os::unix::fs::symlink(&victim, repo.dir().join(".overnight")).unwrap();
    repo.git(&["add", "-f", ".overnight"]);
    repo.commit("a trap");
    for command in [&["check"][..], &["run", "--no-tui"], &["rebase", "--no-tui"]] {
        repo.overnight(command).ended(3).says("`.overnight` is tracked by git").says("git rm --cached .overnight");
    }
    for command in [&["say", "faster"][..], &["pause"]] {
        repo.overnight(command).ended(3).says("`.overnight` is tracked by git");
    }
    assert!(victim.join("main/check/precious").exists() && !victim.join("main/inbox").exists());
}

#[test]
fn an_agents_own_program_may_change_at_any_time() {
    let repo = Repo::with_agent("sed -i 's/x = .*/x = 4/' knobs.py; echo idea\n");
    repo.run(1);
    repo.write("agent.sh", "sed -i 's/x = .*/x = 3/' knobs.py; echo another\n");
    repo.run(1);
    repo.commit("another agent");
    let ran = repo.run(0);
    assert!(!ran.stderr.contains("changed since the baseline"), "{ran}");
    assert_eq!(repo.experiment(2)["description"], "another");
}

#[test]
fn a_surface_that_its_owner_committed_is_said_by_a_run_too() {
    let repo = Repo::new();
    repo.run(2);
    repo.write("knobs.py", "x = 40\n").commit("my own");
    repo.run(0).says("`knobs.py` in the last commit is neither the baseline's nor the champion's");
    repo.git(&["checkout", "-q", "overnight/main", "--", "knobs.py"]);
    repo.commit("the champion's");
    let ran = repo.run(0);
    assert!(!ran.stderr.contains("neither"), "{ran}");
}

#[test]
fn numbers_keep_the_name_they_were_measured_under() {
    let repo = Repo::new();
    repo.run(2);
    let triplet = repo.read("overnight.toml").replace("\"loss\", goal = \"min\"", "\"wins\", goal = \"max\"");
    repo.write("overnight.toml", &triplet).write("score.sh", "echo wins: $(sed -n 's/^x = //p' knobs.py)\n");
    repo.commit("another metric");
    repo.ok(REBASE);
    insta::assert_snapshot!(repo.ok(&["log"]).stdout, @"
    segment 1 of 2
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  discarded                25          −21  x 5 → 8: not moved before (worse by 21)
        2  kept                      0           +4  x 5 → 3: the other way was not better (better by 4, twice the same)
    segment 2 of 2
        #  verdict                wins         gain  what (why)
        3  baseline                  5            -  baseline of segment 2
        4  discarded                 3           −2  champion of segment 1 (experiment 2) carried over (worse by 2)
    ");
    repo.ok(&["show", "1"]).says("  loss ");
    repo.ok(&["show", "3"]).says("  wins ");
    let pi = repo.ok(&["export", "--format", "pi"]).stdout;
    let headings: Vec<Json> = crate::support::json_lines(&pi).into_iter().filter(|l| l["type"] == "config").collect();
    assert_eq!(headings.len(), 2, "{pi}");
    assert_eq!((&headings[0]["metricName"], &headings[0]["bestDirection"]), (&"loss".into(), &"lower".into()));
    assert_eq!((&headings[1]["metricName"], &headings[1]["bestDirection"]), (&"wins".into(), &"higher".into()));
    repo.ok(&["export", "--format", "results-tsv"]).says("3 rows are of another metric than wins");
}
