//! Whole screens of a study that goes well.

use crate::support::{Json, Repo, until};

#[test]
fn a_study_with_the_tuner_from_the_first_run_to_verify() {
    let repo = Repo::new();
    insta::assert_snapshot!(repo.overnight(&["status"]), @"
    study      main · not run yet
    next       overnight run
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.overnight(&["log"]), @"
    --- to people
    no experiments yet: begin with `overnight run`
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.run(3), @"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent tuner · 1 slot
    sandbox standard: every command has files, processes and a network of its own
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  discarded                25          −21  x 5 → 8: not moved before (worse by 21)
        2  kept                      0           +4  x 5 → 3: the other way was not better (better by 4, twice the same)
        3  discarded                 1           −1  x 3 → 2: little is known there, −1.1 ± 2.2; nothing was tried that way yet (worse by 1)

    baseline   loss 4  ([SHORT])
    champion   loss 0  ([SHORT], experiment 2)
    gain       4 over the baseline
    noise      none seen in 5 repeats
    trials     7 for 3 experiments: 3 calibrate, 3 screen, 1 confirm
    so far     3 experiments: 1 kept, 2 not better
    trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout
    done
    next       overnight report · overnight show champion · git log overnight/main
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["status"]), @"
    study      main · stopped
    baseline   loss 4  ([SHORT])
    champion   loss 0  ([SHORT], experiment 2)
    gain       4 over the baseline
    noise      none seen in 5 repeats
    trials     7 for 3 experiments: 3 calibrate, 3 screen, 1 confirm
    so far     3 experiments: 1 kept, 2 not better
    last run   done
    trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout
    branch     overnight/main · read it with `git log overnight/main`
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["log"]), @"
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  discarded                25          −21  x 5 → 8: not moved before (worse by 21)
        2  kept                      0           +4  x 5 → 3: the other way was not better (better by 4, twice the same)
        3  discarded                 1           −1  x 3 → 2: little is known there, −1.1 ± 2.2; nothing was tried that way yet (worse by 1)
    --- to people
    3 experiments: 1 kept, 2 not better · trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["show", "1"]), @"
    experiment 1 · discarded
      why         worse by 21
      hypothesis  x 5 → 8: not moved before
      agent       tuner
      started     [TIME]
      commit      [COMMIT]
      parent      [COMMIT]
      loss        25
      gain        −21 over the champion of its time
      trial 3     screen              25  seed [SEED] · [S] wall · [S] cpu · [MB] peak

    --- a/knobs.py
    +++ b/knobs.py
    @@ -1 +1 @@
    -x = 5
    +x = 8

    end of the output of trial 3 (9 bytes in all):
      loss: 25

    trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["show", "champion"]), @"
    experiment 2 · kept
      why         better by 4, twice the same
      hypothesis  x 5 → 3: the other way was not better
      agent       tuner
      started     [TIME]
      commit      [COMMIT]
      parent      [COMMIT]
      loss        0
      gain        +4 over the champion of its time
      in all      4 over the baseline
      trial 4     screen               0  seed [SEED] · [S] wall · [S] cpu · [MB] peak
      trial 5     confirm              0  seed [SEED] · [S] wall · [S] cpu · [MB] peak

    --- a/knobs.py
    +++ b/knobs.py
    @@ -1 +1 @@
    -x = 5
    +x = 3

    end of the output of trial 5 (8 bytes in all):
      loss: 0

    trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["show", "baseline"]), @"
    experiment 0 · baseline
      why         measured 3 times
      hypothesis  baseline
      agent       person
      started     [TIME]
      commit      [COMMIT]
      loss        4
      trial 0     baseline             4  seed [SEED] · [S] wall · [S] cpu · [MB] peak
      trial 1     baseline             4  seed [SEED] · [S] wall · [S] cpu · [MB] peak
      trial 2     baseline             4  seed [SEED] · [S] wall · [S] cpu · [MB] peak

    end of the output of trial 2 (8 bytes in all):
      loss: 4

    trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["verify"]), @"
    sound: 30 events in an unbroken chain; 3 experiments, 11 contents and 3 commits agree with them, and so does the branch overnight/main
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["verify", "--json"]), @r#"
    {"blobs":11,"commits":3,"events":30,"experiments":3,"sound":true,"study":"main"}
    --- exit code 0
    "#);
    insta::assert_snapshot!(repo.git(&["log", "--format=%an <%ae>%n%B", "overnight/main"]), @"
    overnight <overnight@localhost>
    x 5 → 3: the other way was not better

    Overnight-Experiment: 2
    Overnight-Metric: loss 4 → 0 (−4, 2 trials)
    Overnight-Verdict: kept (better by 4, twice the same)
    Overnight-Ledger: [HASH]

    Ann <ann@example.org>
    base
    ");
    assert_eq!(repo.ok(&["show", "champion"]).stdout, repo.ok(&["show", "2"]).stdout);
    repo.assert_sound();
}

#[test]
fn two_runs_one_after_the_other_are_one_study() {
    let repo = Repo::new();
    repo.run(2);
    insta::assert_snapshot!(repo.run(1), @"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent tuner · 1 slot
    sandbox standard: every command has files, processes and a network of its own
        #  verdict                loss         gain  what (why)
        3  discarded                 1           −1  x 3 → 2: little is known there, −1.1 ± 2.2; nothing was tried that way yet (worse by 1)

    baseline   loss 4  ([SHORT])
    champion   loss 0  ([SHORT], experiment 2)
    gain       4 over the baseline
    noise      none seen in 5 repeats
    trials     7 for 3 experiments: 3 calibrate, 3 screen, 1 confirm
    so far     3 experiments: 1 kept, 2 not better
    trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout
    done
    next       overnight report · overnight show champion · git log overnight/main
    --- exit code 0
    ");
    let numbers: Vec<_> = repo.log().iter().map(|row| row["experiment"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    repo.assert_sound();
}

#[test]
fn no_experiments_are_the_baseline_alone() {
    let repo = Repo::new();
    insta::assert_snapshot!(repo.run(0), @"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent tuner · 1 slot
    sandbox standard: every command has files, processes and a network of its own
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline

    baseline   loss 4  ([SHORT])
    champion   loss 4  ([SHORT], the baseline, nothing better yet)
    noise      none seen in 3 repeats
    trials     3 for 0 experiments: 3 calibrate
    so far     0 experiments
    trust: cooperative · sandbox standard · 3 seeds, all the same · no holdout
    done
    next       overnight report · overnight show champion · git log overnight/main
    --- exit code 0
    ");
    repo.assert_sound();
}

#[test]
fn a_gain_far_beyond_the_noise_is_kept_at_once_and_show_says_how_sure_it_is() {
    // Noise that is the same in every run of this test: 3 of 10, on average, whatever the seeds are.
    let noisy = r#"x=$(sed -n "s/^x = //p" knobs.py); n=$(cat COUNT); echo $((n + 1)) > COUNT
noise=$(echo 3 9 1 7 5 8 2 6 4 0 | cut -d ' ' -f $((n % 10 + 1)))
echo "loss: $(( (x - 3) * (x - 3) * 125 + noise ))"
"#;
    let repo = Repo::new();
    let count = repo.beside("count");
    std::fs::write(&count, "0\n").unwrap();
    repo.write("score.sh", &noisy.replace("COUNT", count.to_str().unwrap())).commit("noise");
    repo.write("knobs.py", "x = 3\n");
    repo.ok(&["try", "--from-worktree", "-m", "less"]);
    let log = repo.log();
    assert_eq!(log[0]["trials"], 2, "two that differ are enough to begin with");
    let kept = &log[1];
    assert_eq!(kept["verdict"], "kept", "{kept}");
    let number = |key: &str| kept[key].as_f64().unwrap();
    assert!(number("gain_low") < number("gain") && number("gain") < number("gain_high"), "{kept}");
    assert!(kept["reason"].as_str().unwrap().contains(" % sure, "), "{kept}");
    let status = repo.status();
    let noise = &status["noise"];
    assert!(noise["sd"].as_f64().unwrap() > 0.0, "{status}");
    assert!(noise["smallest_sure_gain"].as_f64().unwrap() > noise["sd"].as_f64().unwrap(), "{status}");
    assert_eq!((&status["spent"]["calibrate"], &status["spent"]["screen"]), (&2.into(), &1.into()), "{status}");
    repo.ok(&["status"])
        .says("sd ")
        .says("is kept nine times in ten, after ")
        .says(" for 1 experiment: 2 calibrate, 1 screen")
        .says("repeats, seed not probed");
    repo.ok(&["show", "champion"])
        .says("expected over the champion of its time, 95 % interval")
        .says(" % that it is better than that champion")
        .says("  next trial  one more of it was worth ")
        .says("  in all      ");
    let shown: Json = serde_json::from_str(&repo.ok(&["show", "champion", "--json"]).stdout).unwrap();
    assert!(shown["opinion"]["chance"].as_f64().unwrap() > 0.9, "{shown}");
    assert!(shown["over_baseline"]["low"].as_f64().unwrap() < shown["over_baseline"]["high"].as_f64().unwrap());
    repo.assert_sound();
}

#[test]
fn what_check_found_of_the_seed_is_said_with_every_claim() {
    let seeded = "echo \"loss: $(( OVERNIGHT_SEED % 1000 )).5\"\n";
    let repo = Repo::scored_by(seeded);
    repo.run(1);
    repo.ok(&["status"]).says("repeats, seed not probed");
    repo.ok(&["check"]);
    assert_eq!(repo.status()["noise"]["seed"], "settles");
    repo.ok(&["log"]).says(" seeds · no holdout");
    repo.write("overnight.toml", &format!("{}# another\n", repo.read("overnight.toml")));
    repo.ok(&["status"]).says("repeats, seed not probed");
}

#[test]
fn help_fits_on_one_screen() {
    let repo = Repo::empty();
    insta::assert_snapshot!(repo.ok(&["--help"]), @"
    Runs the Karpathy loop on anything that can be scored: an agent proposes edits to one file, each is
    measured, and only what is really better is kept, as a commit on the branch overnight/<study>

    Usage: overnight [OPTIONS] [COMMAND]

    Commands:
      demo    A complete study in a scratch folder, offline, in two minutes, with villains refused on
              screen
      init    Look at the repository and write the triplet
      check   What would happen tonight, and what to fix first
      run     Run the loop; Ctrl-C stops it cleanly, and running it again resumes
      show    One experiment in full: hypothesis, diff, trials, verdict, output
      report  The morning report: what is better and how sure, what it cost, what needs you
      log     The experiments so far, the latest last
      try     Run one experiment of your own

    Options:
      -C <DIR>            Work on the study in DIR
          --study <NAME>  Pick a study where the repository holds several
      -h, --help          Print help
      -V, --version       Print version

    Exit codes: 0 done, 1 fault, 2 usage or configuration, 3 refused (tier, lock, dirty tree, moved
    branch), 4 stopped by a limit or by repeated failure, 5 `verify` failed, 130 interrupted.

    `overnight` alone says where things stand, `overnight help more` shows the other commands.
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["run", "--help"]), @"
    Run the loop; Ctrl-C stops it cleanly, and running it again resumes

    Usage: overnight run [OPTIONS]

    Options:
          --experiments <N>  Run N more experiments, then exit
          --slots <N>        Run N trials side by side
          --snapshot         Take the working tree as the baseline, uncommitted changes included
          --no-tui           Print plain lines, also on a terminal
          --sandbox <TIER>   Run at this tier (standard, landlock or none) instead of the strongest, and
                             accept it
          --no-awake         Let the machine go to sleep while the run lasts
          --detach           Leave the run going in the background; its lines go to
                             .overnight/<study>/run.log
      -C <DIR>               Work on the study in DIR
          --study <NAME>     Pick a study where the repository holds several
      -h, --help             Print help
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["try", "--help"]), @"
    Run one experiment of your own

    Usage: overnight try [OPTIONS] --message <IDEA> <--from-worktree|--patch <FILE>|--file <FILE>>

    Options:
          --from-worktree   Take the surface as it is in the working tree
          --patch <FILE>    Apply a unified diff to the champion's surface
          --file <FILE>     Take the contents of FILE, for a surface of one file
          --sandbox <TIER>  Run at this tier (standard, landlock or none) instead of the strongest, and
                            accept it
          --wait            Where a run is going on, hand it over to that and wait for the verdict
      -m, --message <IDEA>  The idea in one line
          --json            Print the experiment as `log --json` would
      -C <DIR>              Work on the study in DIR
          --study <NAME>    Pick a study where the repository holds several
      -h, --help            Print help
    --- exit code 0
    ");
}

#[test]
fn a_person_tries_ideas_from_the_worktree_from_a_patch_and_from_a_file() {
    let repo = Repo::new();
    repo.write("knobs.py", "x = 4\n");
    insta::assert_snapshot!(repo.ok(&["try", "--from-worktree", "-m", "a little less"]), @"
    --- to people
    taking the surface as it is in the working tree
    sandbox standard: every command has files, processes and a network of its own
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  kept                      1           +3  a little less (better by 3, twice the same)
    next       overnight show 1
    --- exit code 0
    ");
    assert_eq!(repo.read("knobs.py"), "x = 4\n");
    let patch = repo.beside("idea.diff");
    std::fs::write(&patch, "--- a/knobs.py\n+++ b/knobs.py\n@@ -1 +1 @@\n-x = 4\n+x = 3\n").unwrap();
    insta::assert_snapshot!(repo.ok(&["try", "--patch", patch.to_str().unwrap(), "-m", "all the way"]), @"
    --- to people
    sandbox none: candidates run as you; only their time, processes and working copy are kept in check
        #  verdict                loss         gain  what (why)
        2  kept                      0           +1  all the way (better by 1, twice the same)
    next       overnight show 2
    --- exit code 0
    ");
    let file = repo.beside("knobs");
    std::fs::write(&file, "x = 9\n").unwrap();
    insta::assert_snapshot!(repo.ok(&["try", "--file", file.to_str().unwrap(), "-m", "the other way", "--json"]), @r#"
    {"experiment":3,"study":"main","segment":1,"parent":"[COMMIT]","commit":"[COMMIT]","agent":"person","description":"the other way","verdict":"discarded","reason":"worse by 36","metric":36.0,"gain":-36.0,"gain_low":-36.0,"gain_high":-36.0,"trials":1,"seconds":[S],"cost_usd":0.0,"started_at":"[TIME]"}
    --- to people
    sandbox none: candidates run as you; only their time, processes and working copy are kept in check
        #  verdict                loss         gain  what (why)
        3  discarded                36          −36  the other way (worse by 36)
    --- exit code 0
    "#);
    insta::assert_snapshot!(repo.ok(&["log"]), @"
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  kept                      1           +3  a little less (better by 3, twice the same)
        2  kept                      0           +1  all the way (better by 1, twice the same)
        3  discarded                36          −36  the other way (worse by 36)
    --- to people
    3 experiments: 2 kept, 1 not better · trust: cooperative · sandbox none · 7 seeds, all the same · no holdout
    --- exit code 0
    ");
    repo.assert_sound();
}

#[test]
fn git_diff_makes_a_patch_that_can_be_tried() {
    let repo = Repo::new();
    repo.write("knobs.py", "x = 3\n");
    let patch = repo.beside("idea.diff");
    std::fs::write(&patch, repo.git(&["diff"]) + "\n").unwrap();
    repo.write("knobs.py", "x = 5\n");
    repo.ok(&["try", "--patch", patch.to_str().unwrap(), "-m", "from git"]);
    assert_eq!(repo.experiment(1)["verdict"], "kept");
}

#[test]
fn a_study_in_a_subfolder_is_found_from_below_and_from_elsewhere() {
    let repo = Repo::empty();
    for (file, text) in [("overnight.toml", "overnight.toml"), ("knobs.py", "knobs.py"), ("score.sh", "score.sh")] {
        repo.write(&format!("models/small/{file}"), &Repo::new().read(text));
    }
    repo.write("models/small/deep/er/x", "").write("README", "").commit("base");
    let beside = repo.dir().join("models/small");
    repo.ok(&["-C", beside.to_str().unwrap(), "run", "--experiments", "2", "--no-tui"]);
    let below = beside.join("deep/er");
    insta::assert_snapshot!(repo.ok(&["-C", below.to_str().unwrap(), "show", "2"]), @"
    experiment 2 · kept
      why         better by 4, twice the same
      hypothesis  x 5 → 3: the other way was not better
      agent       tuner
      started     [TIME]
      commit      [COMMIT]
      parent      [COMMIT]
      loss        0
      gain        +4 over the champion of its time
      in all      4 over the baseline
      trial 4     screen               0  seed [SEED] · [S] wall · [S] cpu · [MB] peak
      trial 5     confirm              0  seed [SEED] · [S] wall · [S] cpu · [MB] peak

    --- a/models/small/knobs.py
    +++ b/models/small/knobs.py
    @@ -1 +1 @@
    -x = 5
    +x = 3

    end of the output of trial 5 (8 bytes in all):
      loss: 0

    trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout
    --- exit code 0
    ");
    repo.ok(&["-C", below.to_str().unwrap(), "verify"]);
    assert_eq!(repo.git(&["status", "--porcelain"]), "", "the state is kept out of git");
    assert_eq!(repo.git(&["diff", "--name-only", "main", "overnight/main"]), "models/small/knobs.py");
    insta::assert_snapshot!(repo.overnight(&["status"]), @"
    --- to people
    error: no overnight.toml in [TEMP]/repo or in a folder above it
    hint: begin with `overnight init`: it looks at the repository and writes the triplet; or work in another folder with -C DIR
    --- exit code 2
    ");
}

#[test]
fn several_studies_live_side_by_side() {
    let repo = Repo::new();
    let triplet = repo.read("overnight.toml");
    repo.git(&["rm", "-q", "overnight.toml"]);
    repo.write("overnight/fast.toml", &triplet).write("overnight/small.toml", &triplet).commit("two studies");
    insta::assert_snapshot!(repo.overnight(&["run"]), @"
    --- to people
    error: there are several studies here: fast, small
    hint: pick one: --study fast
    --- exit code 2
    ");
    insta::assert_snapshot!(repo.overnight(&["--study", "big", "run"]), @"
    --- to people
    error: there is no study `big` here, only fast, small
    hint: pick one: --study fast
    --- exit code 2
    ");
    repo.overnight(&["--study", "smal", "run"]).ended(2).says("hint: did you mean --study small?");
    repo.ok(&["--study", "fast", "status"]).says("next       overnight run --study fast");
    repo.ok(&["--study", "fast", "check"]).says("ready: overnight run --study fast");
    let next = "overnight report --study fast · overnight show --study fast champion";
    repo.ok(&["--study", "fast", "run", "--experiments", "2"]).says(next);
    repo.ok(&["run", "--study", "small", "--experiments", "1"]);
    assert_eq!(
        repo.git(&["branch", "--list", "overnight/*", "--format=%(refname:short)"]),
        "overnight/fast\novernight/small"
    );
    repo.ok(&["--study", "fast", "verify"]);
    repo.ok(&["verify", "--study", "small"]);
    assert_eq!(repo.ok(&["--study", "fast", "log", "--json"]).stdout.lines().count(), 3);
}

#[test]
fn several_slots_run_side_by_side() {
    let repo = Repo::new();
    insta::assert_snapshot!(repo.ok(&["run", "--slots", "3", "--experiments", "6", "--no-tui"]).stderr.lines().next().unwrap(), @"overnight · study main · loss (lower is better) · budget 10s · agent tuner · 3 slots");
    assert_eq!(repo.status()["experiments"], 6);
    repo.assert_sound();
}

#[test]
fn a_run_can_be_looked_at_while_it_goes_on() {
    let repo = Repo::new();
    repo.write("knobs.py", "x = 1000\ny = 0.5\n").commit("far from the best");
    let mut engine = repo.start(&["run", "--no-tui", "--slots", "2", "--experiments", "40"]);
    until("the first verdict", || repo.events("judged") > 0);
    while !engine.has_ended() {
        repo.ok(&["status"]);
        repo.ok(&["log"]);
        repo.ok(&["show", "champion"]);
        repo.ok(&["verify"]);
    }
    engine.wait().ended(0);
    assert!(repo.status()["kept"].as_u64().unwrap() > 5, "a study without keeps shows little");
    repo.assert_sound();
}

#[test]
fn a_study_in_a_linked_worktree_has_its_state_there_and_its_branch_with_the_others() {
    let repo = Repo::new();
    let linked = repo.beside("linked");
    let path = linked.to_str().unwrap();
    repo.git(&["worktree", "add", "-q", "-b", "side", path]);
    repo.ok(&["-C", path, "run", "--experiments", "2", "--no-tui"]);
    repo.ok(&["-C", path, "verify"]);
    assert!(linked.join(".overnight/main/ledger.db").exists() && !repo.dir().join(".overnight").exists());
    assert_eq!(repo.git(&["-C", path, "status", "--porcelain"]), "");
    repo.overnight(&["run"]).ended(3).says("the branch overnight/main exists already");
}

#[test]
fn sixteen_slots_get_sixteen_different_ideas() {
    let repo = Repo::new();
    let numbers: String = (0..20).map(|i| format!("y{i} = {i}.5\n")).collect();
    let surface = format!("{}{numbers}", repo.read("knobs.py"));
    repo.write("knobs.py", &surface).commit("more numbers");
    repo.ok(&["run", "--slots", "16", "--experiments", "16", "--no-tui"]);
    assert!(repo.verdicts().iter().all(|(verdict, _)| verdict != "duplicate"));
}
