//! A real model, SmolLM2 with 135 million parameters, behind llama.cpp's own server. Its skill is not the point; that
//! nothing on the way is pretended is. `tests/models/install` installs both.

use std::path::PathBuf;

use overnight_testkit::model::Server;

use crate::support::Repo;

/// The study of `overnight demo`, with a short budget.
fn demo(agent: &str) -> Repo {
    let repo = Repo::empty();
    let demo: PathBuf = [env!("CARGO_MANIFEST_DIR"), "demo"].iter().collect();
    for file in ["train.py", "score.py", "collect.py"] {
        repo.write(file, &std::fs::read_to_string(demo.join(file)).unwrap());
    }
    repo.shell("python3 collect.py > /dev/null");
    let triplet = std::fs::read_to_string(demo.join("overnight.toml")).unwrap();
    let (triplet, _) = triplet.split_once("[agent]").unwrap();
    let triplet = triplet.replace("budget = \"1s\"", "budget = \"200ms\"").replace("kill = \"10s\"", "kill = \"5s\"");
    repo.write("overnight.toml", &format!("{triplet}{agent}")).commit("a study");
    repo
}

#[test]
fn a_real_model_proposes_values_for_the_literals_of_the_demo() {
    let server = Server::start();
    let repo = demo(&format!(
        "[agent]\nuse = \"api\"\nprovider = \"compatible\"\nmodel = \"smollm2\"\nbase_url = \"{}/v1\"\n\
         edits = \"values\"\nbrief_tokens = 2000\nahead = 0\n",
        server.url()
    ));
    assert_eq!(server.counted().output, 0);
    let ran = repo.run(2);
    // What the model wrote, what the ledger says that it wrote, and what became of the surface are one and the same.
    let events = |kind: &str| -> Vec<serde_json::Value> {
        repo.bodies(kind).iter().map(|body| serde_json::from_str(body).unwrap()).collect()
    };
    let proposed = events("proposed");
    assert!(proposed.len() >= 2, "{ran}");
    // What crashes at once goes back to it, and is asked for again.
    let turns = ["proposed", "attempt_failed", "repaired", "not_repaired"].map(events).concat();
    let counted: u64 = turns.iter().filter_map(|event| event["used"]["output"].as_u64()).sum();
    assert_eq!(server.counted().output, counted, "{ran}");
    let metered: u64 = events("called").iter().filter_map(|event| event["outcome"]["tokens"]["output"].as_u64()).sum();
    assert_eq!(counted, metered, "{ran}");
    for event in &proposed {
        assert!(event["used"]["input"].as_u64().unwrap() > 500, "{event}");
        assert_eq!(event["agent"], "api");
        assert!(
            !event["edits"].as_array().unwrap().is_empty(),
            "values of literals were changed, and nothing else: {event}"
        );
        let row = repo.experiment(event["experiment"].as_u64().unwrap());
        assert!(row["verdict"].is_string(), "{row}");
    }
    repo.assert_sound();
}
