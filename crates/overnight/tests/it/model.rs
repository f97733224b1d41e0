//! A real model, SmolLM2 with 135 million parameters, behind llama.cpp's own server. Its skill is not the point; that
//! nothing on the way is pretended is. `tests/models/install` installs both.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::Repo;

/// The server, gone with the value: it ends when nobody holds its standard input any more.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start() -> Server {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Path::parent).unwrap();
        let installed = root.join("target/models/installed");
        assert!(installed.exists(), "there is no model for the tests: tests/models/install");
        let mut child = Command::new("python3")
            .arg(root.join("tests/models/serve"))
            .env("HOME", root.join("target/models"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address =
            address.trim().strip_prefix("http://").unwrap_or_else(|| panic!("no server: {address:?}")).to_owned();
        Server { child, address }
    }

    /// How many tokens the server itself says that the model has written.
    fn written(&self) -> f64 {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET /metrics HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("llamacpp:tokens_predicted_total "));
        line.unwrap_or_else(|| panic!("{text}")).trim().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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
        "[agent]\nuse = \"api\"\nprovider = \"compatible\"\nmodel = \"smollm2\"\nbase_url = \"http://{}/v1\"\n\
         edits = \"values\"\nbrief_tokens = 2000\nahead = 0\n",
        server.address
    ));
    assert_eq!(server.written(), 0.0);
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
    assert_eq!(server.written(), counted as f64, "{ran}");
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
