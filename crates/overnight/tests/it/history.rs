//! What other tools recorded, taken in and given back: shown as theirs, and never taken for our own.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Json, Repo, json_lines, keys, until};

const RESULTS: &str = "commit\tloss\tmemory_gb\tstatus\tdescription\n\
                       baseline\t0.997900\t44.0\tkeep\tbaseline\n\
                       b2c3d4e\t-0.500000\t44.2\tkeep\tincrease LR to 0.04\n\
                       c3d4e5f\t1.005000\t44.0\tdiscard\tswitch to GeLU\n\
                       d4e5f6a\t0.000000\t0.0\tcrash\tdouble model width (OOM)\n";

/// A study and a history of somebody else's, which git does not know.
fn repo() -> Repo {
    let repo = Repo::new();
    repo.write(".gitignore", "results.tsv\n*.jsonl\n*.csv\n").write("results.tsv", RESULTS).commit("ignore histories");
    repo
}

#[test]
fn a_history_is_taken_in_before_the_first_run_and_shown_as_what_it_is() {
    let repo = repo();
    let before = repo.fingerprint();
    insta::assert_snapshot!(repo.ok(&["import", "results.tsv"]), @"
    --- to people
    reading results.tsv as results-tsv
    imported   4 rows from results.tsv: 2 kept, 1 crashed, 1 without a number
    claimed    loss -0.5 at best: another tool says so, it was not measured here
    next       overnight log --imported
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["import", "results.tsv"]), @"
    --- to people
    reading results.tsv as results-tsv
    the same file was imported on [TIME], as results.tsv: nothing was done
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["log"]), @"
    --- to people
    no experiments yet: begin with `overnight run`
    imported   4 rows from results.tsv · overnight log --imported shows them
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["status"]), @"
    study      main · not run yet
    imported   4 rows from results.tsv · not measured here
    next       overnight run
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["log", "--imported"]), @"
    imported from results.tsv (4 rows, not measured here)
        #  verdict                loss         gain  what (why)
        ~  kept                 0.9979            -  baseline
        ~  kept                   -0.5            -  increase LR to 0.04
        ~  discarded             1.005            -  switch to GeLU
        ~  crashed                   -            -  double model width (OOM)
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["verify"]), @"
    sound: 1 events in an unbroken chain; 0 experiments, 1 contents and 0 commits agree with them, and so does the branch overnight/main
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.overnight(&["show", "champion"]), @"
    --- to people
    error: there is no experiment 0
    hint: `overnight log` lists them
    --- exit code 2
    ");
    assert_eq!(repo.fingerprint(), before);
    assert_eq!(repo.events("imported"), 1);
}

#[test]
fn a_run_does_not_know_of_what_was_imported() {
    let (with, without) = (repo(), repo());
    with.ok(&["import", "results.tsv"]);
    with.run(3);
    without.run(3);
    let told = |repo: &Repo| -> Vec<Json> {
        let keep = ["experiment", "segment", "description", "verdict", "reason", "metric", "gain", "trials"];
        repo.log().iter().map(|row| keep.iter().map(|key| row[*key].clone()).collect()).collect()
    };
    assert_eq!(told(&with), told(&without));
    let (one, other) = (with.status(), without.status());
    for key in ["state", "experiments", "kept", "noise", "assurance", "sandbox"] {
        assert_eq!(one[key], other[key], "{key}");
    }
    assert_eq!(one["champion"]["metric"], 0.0, "a claim of -0.5 is nobody's champion");
    with.assert_sound();
    insta::assert_snapshot!(with.ok(&["status"]), @"
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
    imported   4 rows from results.tsv · not measured here
    --- exit code 0
    ");
    insta::assert_snapshot!(with.ok(&["log", "-n", "1"]), @"
        #  verdict                loss         gain  what (why)
        3  discarded                 1           −1  x 3 → 2: little is known there, −1.1 ± 2.2; nothing was tried that way yet (worse by 1)
    --- to people
    imported   4 rows from results.tsv · overnight log --imported shows them
    3 experiments: 1 kept, 2 not better · trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout
    --- exit code 0
    ");
    // And afterwards just the same.
    without.ok(&["import", "results.tsv"]);
    without.assert_sound();
    without.run(1);
    without.assert_sound();
}

#[test]
fn imported_rows_are_lines_of_the_contract_with_their_source() {
    let repo = repo();
    repo.ok(&["import", "results.tsv"]);
    repo.run(1);
    let plain = repo.ok(&["log", "--json"]).stdout;
    assert!(json_lines(&plain).iter().all(|row| row["experiment"].is_u64() && row["imported"].is_null()), "{plain}");
    let text = repo.ok(&["log", "--imported", "--json"]).stdout;
    let contract = keys(plain.lines().next().unwrap());
    for line in text.lines() {
        assert_eq!(keys(line)[..contract.len()], contract);
    }
    let rows = json_lines(&text);
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row["experiment"].is_null() && row["imported"] == "results.tsv"), "{text}");
    assert_eq!((&rows[0]["verdict"], &rows[0]["metric"]), (&Json::from("kept"), &Json::from(0.9979)));
    assert_eq!((&rows[3]["verdict"], &rows[3]["metric"]), (&Json::from("crashed"), &Json::Null));
}

#[test]
fn a_log_of_pi_is_known_by_its_lines() {
    let repo = repo();
    let log = r#"{"type":"config","name":"speed","metricName":"total_ms","metricUnit":"ms","bestDirection":"lower"}
{"run":1,"commit":"abc1234","metric":15.5,"metrics":{},"status":"keep","description":"baseline","timestamp":1772964000000,"segment":0,"confidence":null}
{"type":"config","name":"speed","metricName":"ops","metricUnit":"","bestDirection":"higher"}
{"run":2,"commit":"abc1234","metric":100,"metrics":{},"status":"keep","description":"again","timestamp":1772964000000,"segment":1,"confidence":null}
{"run":3,"commit":"def5678","metric":120,"metrics":{},"status":"keep","description":"unroll","timestamp":1772964000000,"segment":1,"confidence":1.5}
{"run":4,"commit":"def5678","met"#;
    repo.write("autoresearch.jsonl", log);
    insta::assert_snapshot!(repo.ok(&["import", "autoresearch.jsonl"]), @"
    --- to people
    reading autoresearch.jsonl as pi
    imported   3 rows from autoresearch.jsonl: 3 kept, 0 crashed, 0 without a number
    claimed    ops 120 at best in the last of 2 segments: another tool says so, it was not measured here
    note: line 6 is cut off and was left out
    note: its metric is called ops, that of this study loss
    next       overnight log --imported
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["log", "--imported"]), @"
    imported from autoresearch.jsonl (3 rows, not measured here)
        #  verdict            total_ms         gain  what (why)
        ~  kept                   15.5            -  baseline
        #  verdict                 ops         gain  what (why)
        ~  kept                    100            -  again
        ~  kept                    120            -  unroll
    --- exit code 0
    ");
    let segments: Vec<Json> = json_lines(&repo.ok(&["log", "--imported", "--json"]).stdout)
        .iter()
        .map(|row| row["segment"].clone())
        .collect();
    assert_eq!(segments, [1, 2, 2]);
    repo.run(1);
    // What goes out again as pi's has its own segments, and ours after them.
    let out = repo.ok(&["export", "--format", "pi", "--imported"]).stdout;
    let kinds: Vec<String> =
        json_lines(&out).iter().map(|line| line["type"].as_str().unwrap_or("run").to_owned()).collect();
    assert_eq!(kinds, ["config", "run", "config", "run", "run", "config", "run", "run"]);
    assert_eq!(json_lines(&out)[7]["segment"], 2);
    // Rows of another file are a segment of their own.
    repo.write("theirs.csv", "verdict,metric\nkept,1\n").ok(&["import", "theirs.csv"]);
    repo.ok(&["status"]).says("imported   4 rows from 2 files · not measured here");
    let out = json_lines(&repo.ok(&["export", "--format", "pi", "--imported"]).stdout);
    assert_eq!((&out[5]["type"], &out[6]["segment"]), (&Json::from("config"), &Json::from(2)));
}

#[test]
fn what_cannot_be_read_is_told_with_its_line_and_nothing_is_made() {
    let repo = repo();
    repo.write("results.tsv", &RESULTS.replace("discard", "discrad"));
    insta::assert_snapshot!(repo.overnight(&["import", "results.tsv"]), @"
    --- to people
    reading results.tsv as results-tsv
    error: results.tsv, line 4: `status` is `discrad`, which is no verdict
    cause: the line is: c3d4e5f	1.005000	44.0	discrad	switch to GeLU
    hint: a status is keep, discard or crash; an unknown number is nan
    --- exit code 2
    ");
    insta::assert_snapshot!(repo.overnight(&["import", "score.sh"]), @"
    --- to people
    error: score.sh looks like none of the formats that can be imported
    hint: say which it is: --format results-tsv, pi, csv or jsonl
    --- exit code 2
    ");
    insta::assert_snapshot!(repo.overnight(&["import", "nowhere.tsv"]), @"
    --- to people
    error: could not read nowhere.tsv
    cause: No such file or directory (os error 2)
    --- exit code 2
    ");
    repo.write("results.tsv", RESULTS.lines().next().unwrap());
    insta::assert_snapshot!(repo.overnight(&["import", "results.tsv"]), @"
    --- to people
    reading results.tsv as results-tsv
    error: results.tsv holds no experiments
    --- exit code 2
    ");
    assert!(!repo.dir().join(".overnight").exists());
}

#[test]
fn a_file_that_has_grown_brings_only_what_is_new() {
    let repo = repo();
    repo.ok(&["import", "results.tsv"]);
    let grown = format!("{RESULTS}e5f6a7b\t0.900000\t44.0\tkeep\twarm-up\n");
    repo.write("results.tsv", &grown);
    insta::assert_snapshot!(repo.ok(&["import", "results.tsv"]), @"
    --- to people
    reading results.tsv as results-tsv
    imported   1 row more from results.tsv, 4 were imported before; in all 3 kept, 1 crashed, 1 without a number
    claimed    loss -0.5 at best: another tool says so, it was not measured here
    next       overnight log --imported
    --- exit code 0
    ");
    // Line ends are no news.
    repo.write("results.tsv", &grown.replace('\n', "\r\n")).ok(&["import", "results.tsv"]).says("nothing was done");
    repo.write("results.tsv", &format!("{grown}f6a7b8c\t0.950000\t44.0\tdiscard\tlonger warm-up\n"));
    repo.ok(&["import", "results.tsv"]).says("1 row more from results.tsv, 5 were imported before");
    insta::assert_snapshot!(repo.ok(&["log", "--imported"]), @"
    imported from results.tsv (4 rows, not measured here)
        #  verdict                loss         gain  what (why)
        ~  kept                 0.9979            -  baseline
        ~  kept                   -0.5            -  increase LR to 0.04
        ~  discarded             1.005            -  switch to GeLU
        ~  crashed                   -            -  double model width (OOM)
    imported from results.tsv (1 row, not measured here)
        #  verdict                loss         gain  what (why)
        ~  kept                    0.9            -  warm-up
    imported from results.tsv (1 row, not measured here)
        #  verdict                loss         gain  what (why)
        ~  discarded              0.95            -  longer warm-up
    --- exit code 0
    ");
    assert_eq!(repo.ok(&["export", "--imported", "--format", "results-tsv"]).stdout, repo.read("results.tsv"));
}

#[test]
fn a_study_that_is_running_takes_nothing_in() {
    let repo = repo();
    let marker = repo.beside("started");
    repo.write("score.sh", &format!("touch {}; sleep 1000\n", marker.display())).commit("slow");
    let first = repo.start(&["run", "--no-tui"]);
    until("the run to be at work", || marker.exists());
    let pid = format!("this study is being run by process {} ", first.pid());
    repo.overnight(&["import", "results.tsv"]).ended(3).says(&pid);
}

#[test]
fn our_own_experiments_go_out_as_results_tsv_and_come_in_again() {
    let repo = Repo::with_agent("echo 'x = boom' > knobs.py; echo 'an\tidea'");
    repo.triplet("[limits]\nexperiments = 2").commit("limits");
    repo.overnight(&["run", "--no-tui", "--experiments", "2"]);
    let out = repo.ok(&["export", "--format", "results-tsv"]).stdout;
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines[0], ["commit", "loss", "memory_gb", "status", "description"]);
    assert_eq!((lines[1][1], lines[1][3], lines[1][4]), ("4.000000", "keep", "baseline"));
    assert_eq!((lines[2][1], lines[2][3]), ("0.000000", "crash"), "{out}");
    assert!(lines.iter().all(|cells| cells.len() == 5), "{out}");
    assert!(lines[1][2].parse::<f64>().unwrap() > 0.0, "{out}");
    repo.write("out.tsv", &out);
    repo.ok(&["import", "out.tsv"]);
    let rows = json_lines(&repo.ok(&["log", "--imported", "--json"]).stdout);
    assert_eq!((&rows[1]["verdict"], &rows[1]["metric"]), (&Json::from("crashed"), &Json::Null));
}

#[test]
fn jsonl_is_what_log_prints_and_csv_has_the_same_columns() {
    let repo = repo();
    repo.run(3);
    let log = repo.ok(&["log", "--json"]).stdout;
    assert_eq!(repo.ok(&["export"]).stdout, log);
    let csv = repo.ok(&["export", "--format", "csv"]).stdout;
    assert_eq!(csv.lines().next().unwrap().split(',').collect::<Vec<_>>(), keys(log.lines().next().unwrap()));
    // Through either file and back in, a row says the same.
    for format in ["csv", "jsonl"] {
        let other = repo_with(&repo.ok(&["export", "--format", format]).stdout, format);
        let rows = json_lines(&other.ok(&["log", "--imported", "--json"]).stdout);
        for (row, ours) in rows.iter().zip(repo.log()) {
            for key in [
                "segment",
                "parent",
                "commit",
                "agent",
                "description",
                "verdict",
                "reason",
                "metric",
                "gain",
                "trials",
                "seconds",
                "started_at",
            ] {
                assert_eq!(row[key], ours[key], "{format} {key}");
            }
        }
        assert_eq!(rows.len(), 4);
    }
}

fn repo_with(text: &str, format: &str) -> Repo {
    let repo = repo();
    repo.write(&format!("theirs.{format}"), text).ok(&["import", &format!("theirs.{format}")]);
    repo
}

#[test]
fn a_file_is_replaced_only_when_told_so_and_left_whole() {
    let repo = repo();
    repo.run(1);
    insta::assert_snapshot!(repo.overnight(&["export", "--output", "results.tsv"]), @"
    --- to people
    error: results.tsv exists already
    hint: --force replaces it
    --- exit code 3
    ");
    assert_eq!(repo.read("results.tsv"), RESULTS);
    insta::assert_snapshot!(repo.overnight(&["export", "--output", "results.tsv", "--force"]), @"
    --- to people
    wrote 2 rows to results.tsv as results-tsv
    --- exit code 0
    ");
    assert!(repo.read("results.tsv").contains("\tkeep\tbaseline\n"));
    insta::assert_snapshot!(repo.overnight(&["export", "--output", "results.txt"]), @"
    --- to people
    error: the name results.txt does not say which format is meant
    hint: add --format results-tsv, pi, csv or jsonl
    --- exit code 2
    ");
    insta::assert_snapshot!(repo.overnight(&["export", "--output", "no/such/folder.csv"]), @"
    --- to people
    error: could not write no/such/folder.csv
    cause: No such file or directory (os error 2)
    --- exit code 1
    ");
    // A link stays a link, and a device is written to.
    symlink("results.tsv", repo.dir().join("link.csv")).unwrap();
    repo.ok(&["export", "--output", "link.csv", "--force"]);
    assert!(fs::symlink_metadata(repo.dir().join("link.csv")).unwrap().is_symlink());
    assert!(repo.read("results.tsv").starts_with("experiment,study,"));
    let piped = repo.ok(&["export", "--format", "csv", "--output", "/dev/stdout"]);
    assert!(piped.stdout.starts_with("experiment,study,"));
    let left: Vec<_> = fs::read_dir(repo.dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".new")), "{left:?}");
}

#[test]
fn a_history_of_very_many_rows_is_kept_beside_the_database() {
    let repo = repo();
    let row = RESULTS.lines().nth(2).unwrap().to_owned() + "\n";
    let text = RESULTS.lines().next().unwrap().to_owned() + "\n" + &row.repeat(20_000);
    repo.write("results.tsv", &text);
    repo.ok(&["import", "results.tsv"]).says("20000 rows");
    assert!(repo.state().join("blobs").exists());
    assert_eq!(repo.ok(&["log", "--imported", "--json"]).stdout.lines().count(), 20_000);
    assert_eq!(repo.ok(&["log", "--imported", "-n", "5"]).stdout.lines().count(), 7);
    repo.ok(&["verify"]);
}
