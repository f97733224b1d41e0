//! An agent under evaluation that asks a real model: `examples/questions`, tuned, guarded, limited, and had again without
//! the model.

use std::path::{Path, PathBuf};

use overnight_testkit::model::{Counted, Server};

use crate::support::{Json, Repo};

const FILES: [&str; 6] = ["agent.py", "score.py", "questions.json", "solutions.json", "overnight.toml", "program.md"];

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/questions")
}

/// The example as it is, but for where its server is, and with more at its end.
fn study(url: &str, more: &str) -> Repo {
    let repo = Repo::empty();
    for file in FILES {
        repo.write(file, &std::fs::read_to_string(example().join(file)).unwrap());
    }
    let triplet = repo.read("overnight.toml").replace("http://127.0.0.1:8080", url);
    assert!(triplet.contains(url), "{triplet}");
    repo.write("overnight.toml", &format!("{triplet}{more}")).commit("an agent by guesswork");
    repo
}

/// The agent with something of it replaced.
fn edited(repo: &Repo, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(repo.read("agent.py"), |text, (old, new)| {
        assert!(text.contains(old), "{old} is not in {text}");
        text.replace(old, new)
    })
}

fn tried(repo: &Repo, text: &str, idea: &str) -> Json {
    let file = repo.outside("edited.py");
    std::fs::write(&file, text).unwrap();
    let ran = repo.overnight(&["try", "--file", file.to_str().unwrap(), "-m", idea, "--json"]);
    serde_json::from_str(ran.stdout.lines().last().unwrap_or_else(|| panic!("{ran}"))).unwrap()
}

/// The same three ideas in every night: one that is right and too long, one that is right, one that has no end.
fn night(repo: &Repo) -> [Json; 3] {
    let wording = "WORDING = \"{}\"";
    let short = (wording, "WORDING = \"{} Answer:\"");
    let long = format!("WORDING = \"{}{{}} Answer:\"", "You know the capitals of all countries. ".repeat(6));
    let length = ("MAX_TOKENS = 4", "MAX_TOKENS = 16");
    let endless = (
        "def ask(question):",
        "def ask(question):\n    while True:\n        ask_once(question)\n\n\ndef ask_once(question):",
    );
    [
        tried(repo, &edited(repo, &[(wording, &long), length]), "long-winded"),
        tried(repo, &edited(repo, &[short, length]), "to the point"),
        tried(repo, &edited(repo, &[endless]), "again and again"),
    ]
}

fn calls(repo: &Repo) -> Vec<Json> {
    repo.bodies("called").iter().map(|body| serde_json::from_str(body).unwrap()).collect()
}

fn sum(calls: &[Json], what: &str) -> u64 {
    calls.iter().filter_map(|call| call["outcome"]["tokens"][what].as_u64()).sum()
}

#[test]
fn an_agent_that_asks_a_real_model_is_judged_guarded_limited_and_had_again_without_the_model() {
    let server = Server::start();
    let repo = study(&server.url(), "[gateway]\nrecord = \"recordings\"\n");
    let rows = night(&repo);
    let [long, better, endless] = &rows;
    assert_eq!(better["verdict"], "kept", "{better}");
    let right = |repo: &Repo, number: u64| repo.experiment(number)["metric"].as_f64().unwrap();
    assert!(right(&repo, 0) < 3.0 && right(&repo, 2) >= 3.0, "{better}");
    assert_eq!(long["verdict"], "guard_failed", "{long}");
    let reason = long["reason"].as_str().unwrap();
    assert!(reason.contains("tokens"), "{reason}");
    assert_eq!(endless["verdict"], "crashed", "{endless}");
    // The tuner finds both literals, and tries one.
    repo.run(1);
    assert_eq!(repo.experiment(4)["agent"], "tuner");
    // Every token that the server read and wrote is in the ledger, as asked by the task.
    let all = calls(&repo);
    assert!(all.iter().all(|call| call["call"]["caller"]["is"] == "task"), "{}", all[0]);
    let counted = Counted { input: sum(&all, "input"), cached: sum(&all, "cached"), output: sum(&all, "output") };
    assert_eq!(counted, server.counted());
    let status = repo.status();
    let costs = &status["costs"];
    let tokens = counted.input + counted.cached + counted.output;
    assert_eq!((&costs["tokens"], &costs["task"]["tokens"]), (&tokens.into(), &tokens.into()), "{costs}");
    assert!(costs["other_models"].as_array().is_none_or(Vec::is_empty), "{costs}");
    // No trial went beyond its limit, and the endless one is why.
    let limited: Vec<&Json> = all.iter().filter(|call| call["outcome"]["end"] == "limited").collect();
    assert!(!limited.is_empty() && limited.iter().all(|call| call["call"]["caller"]["experiment"] == 3));
    for trial in all.iter().map(|call| &call["call"]["caller"]["trial"]) {
        let of: Vec<Json> = all.iter().filter(|call| call["call"]["caller"]["trial"] == *trial).cloned().collect();
        assert!(sum(&of, "input") + sum(&of, "cached") + sum(&of, "output") <= 1000, "trial {trial}");
    }
    let said = repo.ok(&["show", "3", "--output"]).stdout;
    assert!(
        said.contains("overnight: a call to a model did not go out: ") && said.contains("limits.trial.tokens"),
        "{said}"
    );
    let trace = repo.ok(&["show", "2", "--trace"]).stdout;
    assert!(trace.contains("What is the capital of Japan? Answer:") && trace.contains("Tokyo"), "{trace}");
    let brief = repo.ok(&["check", "--brief"]).stdout;
    assert!(brief.contains("what it asked a model last, and what it was answered:"), "{brief}");
    repo.assert_sound();
    drop(server);

    // The same night with nobody to ask.
    let again = study("http://127.0.0.1:9", "[gateway]\nreplay = \"recordings\"\n");
    std::fs::rename(repo.dir().join("recordings"), again.dir().join("recordings")).unwrap();
    again.commit("what was recorded");
    for (row, live) in night(&again).iter().zip(&rows) {
        assert_eq!((&row["verdict"], &row["metric"]), (&live["verdict"], &live["metric"]), "{row}\n{live}");
    }
    let all = calls(&again);
    assert!(all.iter().all(|call| call["outcome"]["replayed"] == true || call["outcome"]["end"] == "not_recorded"));
    let status = again.status();
    assert!(status["assurance"].as_str().unwrap().ends_with(", replayed"), "{status}");
    assert_eq!(status["noise"]["sd"], Json::Null, "equal numbers out of a recording are no proof: {status}");
    again.ok(&["show", "2"]).says(" · replayed");
    again.ok(&["show", "3", "--output"]).says("overnight: a call to a model did not go out: it was recorded ");
    again.assert_sound();
}
