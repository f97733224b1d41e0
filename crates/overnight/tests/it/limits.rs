//! Runs that a limit or repeated failure ends, with exit code 4.

use crate::support::Repo;

#[test]
fn a_limit_of_experiments_is_for_the_night_and_a_total_for_the_study() {
    let repo = Repo::new();
    repo.triplet("[limits]\nexperiments = 2").commit("a limit");
    insta::assert_snapshot!(repo.overnight(&["run", "--no-tui"]).ended(4), @"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent tuner · 1 slot
    sandbox standard: every command has files, processes and a network of its own
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  discarded                25          −21  x 5 → 8: not moved before (worse by 21)
        2  kept                      0           +4  x 5 → 3: the other way was not better (better by 4, twice the same)

    baseline   loss 4  ([SHORT])
    champion   loss 0  ([SHORT], experiment 2)
    gain       4 over the baseline
    noise      none seen in 5 repeats
    trials     6 for 2 experiments: 3 calibrate, 2 screen, 1 confirm
    so far     2 experiments: 1 kept, 1 not better
    trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout
    stopped: limits.experiments is reached
    next       overnight report · overnight show champion · git log overnight/main
    --- exit code 4
    ");
    repo.overnight(&["run", "--no-tui"]).ended(4);
    assert_eq!(repo.status()["experiments"], 4);
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("[limits]", "[limits.total]"));
    repo.overnight(&["run", "--no-tui"]).ended(4).says("stopped: limits.total.experiments is reached");
    assert_eq!(repo.status()["experiments"], 4);
}

#[test]
fn fewer_experiments_than_the_limit_are_done_and_not_stopped() {
    let repo = Repo::new();
    repo.triplet("[limits]\nexperiments = 2").commit("a limit");
    repo.run(2);
}

#[test]
fn ten_attempts_that_gave_nothing_end_the_run() {
    let repo = Repo::with_agent("echo I cannot do that >&2; exit 1\n");
    insta::assert_snapshot!(repo.overnight(&["run", "--no-tui", "--experiments", "50"]).ended(4), @"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent command · 1 slot
    sandbox standard: every command has files, processes and a network of its own
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  agent_error               -            -  the agent ended: exit code 1
        2  agent_error               -            -  the agent ended: exit code 1
        3  agent_error               -            -  the agent ended: exit code 1
        4  agent_error               -            -  the agent ended: exit code 1
        5  agent_error               -            -  the agent ended: exit code 1
        6  agent_error               -            -  the agent ended: exit code 1
        7  agent_error               -            -  the agent ended: exit code 1
        8  agent_error               -            -  the agent ended: exit code 1
        9  agent_error               -            -  the agent ended: exit code 1
       10  agent_error               -            -  the agent ended: exit code 1

    baseline   loss 4  ([SHORT])
    champion   loss 4  ([SHORT], the baseline, nothing better yet)
    noise      none seen in 3 repeats
    trials     3 for 0 experiments: 3 calibrate
    so far     0 experiments: 10 not counted
    trust: cooperative · sandbox standard · 3 seeds, all the same · no holdout
    stopped: 10 attempts in a row gave nothing to try; the last: the agent ended: exit code 1
    next       overnight log, then overnight show N for what the agent said
    --- exit code 4
    ");
    assert_eq!(repo.status()["experiments"], 0);
    repo.assert_sound();
    // The next run begins to count again.
    repo.overnight(&["run", "--no-tui"]).ended(4);
    assert_eq!(repo.log().len(), 21);
}

#[test]
fn a_champion_that_no_longer_runs_ends_the_night_before_more_ideas_are_lost() {
    let repo = Repo::new();
    let (data, count) = (repo.beside("data"), repo.beside("count"));
    std::fs::write(&data, "").unwrap();
    std::fs::write(&count, "").unwrap();
    // With its second idea the data is gone.
    let agent = format!(
        "echo >> {count}; n=$(wc -l < {count}); echo \"x = $((n + 5))\" > knobs.py; echo idea $n\n\
         test $n != 2 || rm {data}\n",
        count = count.display(),
        data = data.display()
    );
    let needs = format!("test -e {} || {{ echo the data is gone; exit 1; }}\n", data.display());
    repo.write("agent.sh", &agent).write("score.sh", &format!("{needs}{}", repo.read("score.sh")));
    repo.triplet("[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"\nahead = 0\nrepairs = 0").commit("an agent");
    insta::assert_snapshot!(repo.overnight(&["run", "--no-tui", "--experiments", "50"]).ended(4), @"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent command · 1 slot
    sandbox none: candidates run as you; only their time, processes and working copy are kept in check
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  discarded                 9           −5  idea 1 (worse by 5)
        2  crashed                   -            -  idea 2 (exit code 1)
        3  crashed                   -            -  idea 3 (exit code 1)
        4  crashed                   -            -  idea 4 (exit code 1)
        5  crashed                   -            -  idea 5 (exit code 1)
        6  crashed                   -            -  idea 6 (exit code 1)

    baseline   loss 4  ([SHORT])
    champion   loss 4  ([SHORT], the baseline, nothing better yet)
    noise      none seen in 3 repeats
    trials     10 for 6 experiments: 3 calibrate, 6 screen, 1 sentinel
    so far     6 experiments: 1 not better, 5 broken
    trust: cooperative · sandbox none · 3 seeds, all the same · no holdout
    stopped: the champion itself no longer runs (crashed): exit code 1
    next       overnight show champion, mend what broke, then overnight run
    --- exit code 4
    ");
    assert_eq!(repo.log().len(), 7);
    insta::assert_snapshot!(repo.ok(&["status"]), @"
    study      main · stopped
    baseline   loss 4  ([SHORT])
    champion   loss 4  ([SHORT], the baseline, nothing better yet)
    noise      none seen in 3 repeats
    trials     10 for 6 experiments: 3 calibrate, 6 screen, 1 sentinel
    so far     6 experiments: 1 not better, 5 broken
    last run   stopped: the champion itself no longer runs (crashed): exit code 1
    trust: cooperative · sandbox none · 3 seeds, all the same · no holdout
    branch     overnight/main · read it with `git log overnight/main`
    --- exit code 0
    ");
    repo.ok(&["show", "champion"]).says("check").says("the data is gone");
    repo.assert_sound();
    // Nobody mended it: the next run finds that out before it asks anybody.
    repo.overnight(&["run", "--no-tui"]).ended(4).says("the champion itself no longer runs");
    assert_eq!(repo.log().len(), 7);
    std::fs::write(&data, "").unwrap();
    repo.run(1);
    assert_eq!(repo.experiment(7)["verdict"], "discarded");
    repo.assert_sound();
}

#[test]
fn a_silent_agent_ends_the_run_too() {
    let repo = Repo::with_agent("cat > /dev/null\n");
    let ran = repo.overnight(&["run", "--no-tui"]).ended(4);
    ran.says("stopped: 10 attempts in a row gave nothing to try; the last: the surface is the champion's");
}

#[test]
fn an_agent_that_is_not_there_is_named() {
    let repo = Repo::with_agent("");
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("sh agent.sh", "no-such-agent")).commit("typo");
    let ran = repo.overnight(&["run", "--no-tui"]).ended(4);
    let ran = ran.says("exit code 127 (command not found)");
    drop(ran);
    repo.ok(&["show", "1"]).says("no-such-agent");
}

#[test]
fn patience_ends_after_experiments_without_a_gain() {
    let repo = Repo::scored_by("echo loss: 4\n");
    repo.triplet("[limits]\nno_gain_for = 3").commit("impatient");
    let ran = repo.overnight(&["run", "--no-tui"]).ended(4);
    ran.says("stopped: nothing was kept for as long as no_gain_for allows");
    assert_eq!(repo.status()["experiments"], 3);
}

#[test]
fn a_target_that_is_reached_ends_the_run_well() {
    let repo = Repo::new();
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("\"min\" }", "\"min\", target = 1 }"));
    repo.commit("a target");
    let ran = repo.ok(&["run", "--no-tui"]);
    ran.says("the target is reached: 0");
}

#[test]
fn a_wall_ends_the_night() {
    let repo = Repo::scored_by("echo loss: 4\n");
    repo.write("knobs.py", "x = 0.5\n").triplet("[limits]\nwall = \"1s\"").commit("a short night");
    repo.overnight(&["run", "--no-tui"]).ended(4).says("stopped: limits.wall is reached");
    repo.assert_sound();
}

#[test]
fn a_surface_without_numbers_leaves_the_tuner_nothing() {
    let repo = Repo::scored_by("echo loss: 4\n");
    repo.write("knobs.py", "print('hello')\n").commit("nothing to tune");
    insta::assert_snapshot!(repo.overnight(&["run", "--no-tui"]).ended(4), @r#"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent tuner · 1 slot
    sandbox standard: every command has files, processes and a network of its own
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  agent_error               -            -  the tuner finds nothing left to try in the surface

    baseline   loss 4  ([SHORT])
    champion   loss 4  ([SHORT], the baseline, nothing better yet)
    noise      none seen in 3 repeats
    trials     3 for 0 experiments: 3 calibrate
    so far     0 experiments: 1 not counted
    trust: cooperative · sandbox standard · 3 seeds, all the same · no holdout
    stopped: the tuner finds nothing left to try in the surface
    next       name a surface with numbers to tune, or an agent of your own: [agent] use = "command"
    --- exit code 4
    "#);
}
