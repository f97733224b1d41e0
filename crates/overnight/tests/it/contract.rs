//! The JSON that other tools rely on: names, order, nulls.

use crate::support::{Repo, json_lines, keys};

const EXPERIMENT: [&str; 17] = [
    "experiment",
    "study",
    "segment",
    "parent",
    "commit",
    "agent",
    "description",
    "verdict",
    "reason",
    "metric",
    "gain",
    "gain_low",
    "gain_high",
    "trials",
    "seconds",
    "cost_usd",
    "started_at",
];
const STATUS: [&str; 14] = [
    "study",
    "state",
    "baseline",
    "champion",
    "experiments",
    "kept",
    "running",
    "noise",
    "assurance",
    "sandbox",
    "cost_usd",
    "over_baseline",
    "spent",
    "trial_seconds",
];

#[test]
fn log_has_one_object_per_line_with_these_keys_in_this_order() {
    let repo = Repo::new();
    assert_eq!(repo.ok(&["log", "--json"]).stdout, "");
    repo.run(3);
    let log = repo.ok(&["log", "--json"]).stdout;
    assert_eq!(log.lines().count(), 4);
    for line in log.lines() {
        assert_eq!(keys(line), EXPERIMENT);
    }
    let rows = json_lines(&log);
    for row in &rows {
        // The tuner asks no model, and nobody else could have.
        assert!(row["cost_usd"] == 0.0 && row["study"] == "main" && row["segment"] == 1, "{row}");
        assert!(row["started_at"].as_str().unwrap().ends_with('Z'), "{row}");
        assert!(row["seconds"].as_f64().unwrap() >= 0.0, "{row}");
    }
    let (baseline, kept) = (&rows[0], &rows[2]);
    assert!(["parent", "gain", "gain_low", "gain_high"].iter().all(|key| baseline[key].is_null()), "{baseline}");
    assert_eq!(kept["commit"], repo.git(&["rev-parse", "overnight/main"]).as_str());
    assert_eq!(kept["parent"], baseline["commit"]);
    // A proposal that was not kept lives in the engine's own store.
    let proposal = rows[1]["commit"].as_str().unwrap();
    assert_ne!(repo.git_ran(&["cat-file", "-e", proposal]).code, Some(0));
    let store = repo.state().join("store.git");
    let stored = repo.git(&["-C", store.to_str().unwrap(), "show", &format!("{proposal}:knobs.py")]);
    assert_eq!(stored, "x = 8");
}

#[test]
fn what_is_not_known_is_null_and_never_zero() {
    let repo = Repo::with_agent("echo 'x = y' > knobs.py; echo broken\n");
    repo.write("score.sh", "grep -q 5 knobs.py && echo loss: 4\n").commit("fails on anything else");
    repo.run(1);
    let row = repo.experiment(1);
    for key in ["metric", "gain", "gain_low", "gain_high", "cost_usd"] {
        assert!(row[key].is_null(), "{key} in {row}");
    }
    let failed = Repo::with_agent("exit 1\n");
    failed.overnight(&["run", "--no-tui"]).ended(4);
    let row = failed.experiment(1);
    for key in ["commit", "metric", "gain", "gain_low", "gain_high", "seconds", "cost_usd"] {
        assert!(row[key].is_null(), "{key} in {row}");
    }
    assert_eq!(row["trials"], 0);
}

#[test]
fn status_has_these_keys_in_this_order_before_and_after_a_run() {
    let repo = Repo::new();
    let before = repo.ok(&["status", "--json"]).stdout;
    assert_eq!(keys(&before), STATUS);
    let nothing = r#"{"study":"main","state":"new","baseline":{"commit":null,"metric":null},"champion":{"commit":null,"metric":null},"experiments":0,"kept":0,"running":0,"noise":{"sd":null,"trials":0,"seed":"unknown","smallest_sure_gain":null,"trials_per_sure_gain":null},"assurance":"cooperative","sandbox":"none","cost_usd":null,"over_baseline":null,"spent":{"calibrate":0,"screen":0,"confirm":0,"remeasure":0,"sentinel":0},"trial_seconds":null}"#;
    assert_eq!(before.trim_end(), nothing);
    repo.run(2);
    let line = repo.ok(&["status", "--json"]).stdout;
    assert_eq!(keys(&line), STATUS);
    let status = repo.status();
    assert_eq!(status["state"], "stopped");
    assert_eq!((&status["experiments"], &status["kept"], &status["running"]), (&2.into(), &1.into(), &0.into()));
    assert_eq!((&status["baseline"]["metric"], &status["champion"]["metric"]), (&4.0.into(), &0.0.into()));
    let noise = serde_json::json!({
        "sd": 0.0, "trials": 5, "seed": "ignored", "smallest_sure_gain": 0.0, "trials_per_sure_gain": 2.0,
    });
    assert_eq!(status["noise"], noise);
    assert_eq!(status["over_baseline"], serde_json::json!({ "gain": 4.0, "low": 4.0, "high": 4.0 }));
    let spent = serde_json::json!({ "calibrate": 3, "screen": 2, "confirm": 1, "remeasure": 0, "sentinel": 0 });
    assert_eq!(status["spent"], spent);
}

#[test]
fn try_prints_its_object_as_log_would() {
    let repo = Repo::new();
    repo.write("knobs.py", "x = 4\n");
    let tried = repo.ok(&["try", "--from-worktree", "-m", "less", "--json"]).stdout;
    assert_eq!(tried.lines().count(), 1);
    assert_eq!(keys(&tried), EXPERIMENT);
    let logged = repo.ok(&["log", "--json", "-n", "1"]).stdout;
    assert_eq!(tried, logged);
    // Also where there was nothing to run.
    let again = repo.ok(&["try", "--from-worktree", "-m", "again", "--json"]).stdout;
    assert_eq!(json_lines(&again)[0]["verdict"], "no_change");
}

#[test]
fn show_json_adds_measurements_and_diff_to_the_same_object() {
    let repo = Repo::new();
    repo.run(2);
    let shown = json_lines(&repo.ok(&["show", "champion", "--json"]).stdout).remove(0);
    let logged = repo.experiment(2);
    for key in EXPERIMENT {
        assert_eq!(shown[key], logged[key], "{key}");
    }
    assert_eq!(shown["measurements"][0]["metric"], 0.0);
    assert!(shown["diff"].as_str().unwrap().contains("+x = 3"));
}
