//! Several agents in one study.

use crate::support::{Json, Repo};

const TEAM: &str = "[agent]\nuse = [\"command\", \"tuner\"]\ncommand = \"sh agent.sh\"\nahead = 0\n";

/// A study of a program that always wants one more, and of the tuner.
fn team(agent: &str, more: &str) -> Repo {
    let repo = Repo::new();
    repo.write("agent.sh", agent);
    repo.triplet(&format!("{TEAM}{more}")).commit("a team");
    repo
}

const ONE_MORE: &str =
    "cat > /dev/null; n=$(sed -n 's/^x = //p' knobs.py); echo \"x = $((n + 1))\" > knobs.py; echo one more\n";

fn agents(repo: &Repo, experiments: u64) -> Vec<String> {
    (1..=experiments).map(|number| repo.experiment(number)["agent"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_program_and_the_tuner_take_turns_and_it_is_said_whose_and_why() {
    let repo = team(ONE_MORE, "");
    let ran = repo.run(4).says("· agents command, tuner ·").says("  command: one more (").says("  tuner: x ");
    let asked = agents(&repo, 4);
    assert_eq!(asked[..2], ["command", "tuner"], "{ran}");
    // What a program changed in values alone is a point for the tuner.
    let body: String = repo
        .ledger()
        .query_row("select body from events where body like '%\"proposed\"%' limit 1", [], |row| row.get(0))
        .unwrap();
    assert!(body.contains("\"agent\":\"command\"") && body.contains("\"edits\":[{"), "{body}");
    assert!(ran.stderr.contains("\nteam       command "), "{ran}");
    let status = repo.ok(&["status"]);
    assert!(status.stdout.contains("\nteam       command ") && status.stdout.contains(" an hour"), "{status}");
    let told: Json = serde_json::from_str(&repo.ok(&["status", "--json"]).stdout).unwrap();
    let team = told["team"].as_array().unwrap();
    assert_eq!(team.iter().map(|row| row["agent"].as_str().unwrap()).collect::<Vec<_>>(), ["command", "tuner"]);
    let shares: f64 = team.iter().map(|row| row["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{told}");
    let log = repo.ok(&["log"]);
    assert!(log.stdout.contains("  command: one more (") && log.stdout.contains("  tuner: x "), "{log}");
    repo.assert_sound();
}

#[test]
fn one_who_always_fails_does_not_end_the_night_of_the_other() {
    let repo = team("echo broken >&2; exit 3\n", "");
    repo.write("knobs.py", "x = 5\ny = 0.5\nz = 0.25\n").commit("more to tune");
    let ran = repo.run(12).says("the agent ended: exit code 3");
    let counted = repo.ok(&["status", "--json"]);
    let told: Json = serde_json::from_str(&counted.stdout).unwrap();
    assert_eq!(told["experiments"], 12, "{ran}");
    let failed = told["team"].as_array().unwrap().iter().find(|row| row["agent"] == "command").unwrap();
    assert!((1..=10).contains(&failed["failed"].as_u64().unwrap()), "{told}");
}

#[test]
fn written_shares_are_kept_to() {
    let repo = team(ONE_MORE, "weights = { command = 1, tuner = 3 }\n");
    repo.write("knobs.py", "x = 5\ny = 0.5\nz = 0.25\n").commit("more to tune");
    repo.run(6).says("command 25 %, tuner 75 %: as `agent.weights` says");
    let asked = agents(&repo, 4);
    assert_eq!(asked.iter().filter(|agent| *agent == "tuner").count(), 3, "{asked:?}");
}
