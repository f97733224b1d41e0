//! How numbers are read, and what a trial is told.

use crate::support::Repo;

/// The metric of a baseline whose evaluation is this script.
#[track_caller]
fn read_from(script: &str) -> f64 {
    let repo = Repo::scored_by(script);
    repo.run(0);
    repo.experiment(0)["metric"].as_f64().unwrap()
}

#[test]
fn every_dialect_is_read() {
    assert_eq!(read_from("echo '{\"loss\": 1.5, \"other\": 2}' > $OVERNIGHT_METRICS; echo loss: 9\n"), 1.5);
    assert_eq!(read_from("echo loss: 9; echo METRIC loss=2.5\n"), 2.5);
    assert_eq!(read_from("echo '  loss: 9'; echo loss: 3.5e0\n"), 3.5);
    assert_eq!(read_from("echo loss=4.5\n"), 4.5);
    assert_eq!(read_from("echo done; echo '{\"loss\": 5.5}'\n"), 5.5);
    assert_eq!(read_from("printf 'step 1\\rloss: 6.5\\r'\n"), 6.5);
    assert_eq!(read_from("echo loss: 7.5 >&2\n"), 7.5);
}

#[test]
fn the_last_block_counts_and_pick_takes_the_last_value() {
    assert_eq!(read_from("echo loss: 9; echo training; echo loss: 8\n"), 8.0);
    let repo = Repo::scored_by("for i in 9 8 7; do echo loss: $i; done\n");
    repo.overnight(&["run", "--no-tui"]).ended(2).says("`loss` has two values, 9 and 8");
    let triplet = repo.read("overnight.toml").replace("\"min\" }", "\"min\", pick = \"last\" }");
    repo.write("overnight.toml", &triplet).commit("pick the last");
    repo.run(0);
    assert_eq!(repo.experiment(0)["metric"], 7.0);
}

#[test]
fn a_program_that_fails_has_measured_nothing() {
    let repo = Repo::scored_by("echo loss: 1; exit 3\n");
    repo.overnight(&["run", "--no-tui"]).ended(2).says("the baseline failed (crashed): exit code 3");
    assert!(repo.status()["baseline"]["metric"].is_null());
}

#[test]
fn a_trial_is_told_its_budget_seed_and_folders_and_nothing_of_the_engines_secrets() {
    let repo = Repo::with_agent("env > $TMPDIR/env; cp $TMPDIR/env $BESIDE/agent.env; echo 'x = 3' > knobs.py\n");
    let agent = repo.read("agent.sh").replace("$BESIDE", repo.beside("").to_str().unwrap());
    repo.write("agent.sh", &agent);
    let trial = repo.beside("trial.env");
    let probe = format!(
        "env > {}; test -d $OVERNIGHT_OUT && touch $OVERNIGHT_OUT/x && test -d $TMPDIR && read line || echo loss: 4\n",
        trial.display()
    );
    repo.write("score.sh", &probe);
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("\"10s\"", "\"10s\"\nenv = { DEPTH = \"7\" }"));
    repo.commit("probes");
    let mut command = repo.command(&["run", "--no-tui", "--experiments", "1"]);
    command.env("SECRET_TOKEN", "hunter2").env("LD_PRELOAD_X", "1").env("OPENAI_API_KEY", "sk-1").env("LANG", "C");
    assert!(command.output().unwrap().status.success());
    let names = |path: &str| {
        let text = std::fs::read_to_string(repo.beside(path)).unwrap();
        assert!(!text.contains("hunter2") && !text.contains("sk-1"), "{text}");
        let mut names: Vec<_> = text.lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect();
        names.retain(|name| !matches!(name.as_str(), "PWD" | "OLDPWD" | "SHLVL" | "_"));
        names.sort();
        names.join(" ")
    };
    insta::assert_snapshot!(names("trial.env"), @"DEPTH GIT_CEILING_DIRECTORIES HOME LANG LC_ALL OVERNIGHT_BUDGET_SECONDS OVERNIGHT_METRICS OVERNIGHT_OUT OVERNIGHT_SEED PATH TMPDIR TZ");
    insta::assert_snapshot!(names("agent.env"), @"GIT_CEILING_DIRECTORIES HOME LANG LC_ALL OVERNIGHT_BUDGET_SECONDS OVERNIGHT_NOTE PATH TMPDIR TZ");
    let text = std::fs::read_to_string(trial).unwrap();
    assert!(text.contains("OVERNIGHT_BUDGET_SECONDS=10\n") && text.contains("DEPTH=7\n"), "{text}");
}

#[test]
fn every_trial_has_a_seed_of_its_own() {
    let repo = Repo::new();
    let seeds = repo.beside("seeds");
    repo.write("score.sh", &format!("echo $OVERNIGHT_SEED >> {}; echo loss: 4\n", seeds.display())).commit("seeds");
    repo.run(2);
    let text = std::fs::read_to_string(seeds).unwrap();
    let mut seeds: Vec<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 5);
}
