//! `overnight mcp`: with the protocol's own client, with a coding agent, and with clients that do not behave.
//!
//! `tests/agents/install mcp claude codex` installs what is needed.

mod http;
mod raw;

use std::path::{Path, PathBuf};
use std::process::Command;

use overnight_testkit::provider::{Idea, Provider, Script};
use rustix::process::Signal;
use serde_json::json;

use self::raw::Raw;
use crate::support::{Ran, Repo, children, is_alive, until};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Path::parent).unwrap().to_owned()
}

fn installed(agent: &str, program: &str) -> PathBuf {
    let path = root().join("target/agents").join(agent).join("bin").join(program);
    assert!(path.exists(), "{agent} is not installed for the tests: tests/agents/install {agent}");
    path
}

/// Plays the script of tests/mcp/client.py, which ends well when everything is as it should be.
fn client(args: &[&str]) {
    let mut command = Command::new(installed("mcp", "python3"));
    command.arg(root().join("tests/mcp/client.py")).args(args);
    Ran::of(command.output().unwrap()).ended(0).says("all as it should be");
}

/// A study whose trials of anything but the baseline wait until they may go on.
struct Gated {
    repo: Repo,
    started: PathBuf,
    go: PathBuf,
}

impl Gated {
    fn new() -> Gated {
        let repo = Repo::new();
        let (started, go) = (repo.beside("started"), repo.beside("go"));
        let gate = format!(
            "grep -q 5 knobs.py || {{ touch {}; while ! test -e {}; do sleep 0.02; done; }}\n",
            started.display(),
            go.display()
        );
        repo.write("score.sh", &(gate + &repo.read("score.sh"))).commit("a gate");
        Gated { repo, started, go }
    }

    fn reached(&self) {
        until("the trial to start", || self.started.exists());
    }

    fn open(&self) {
        std::fs::write(&self.go, "").unwrap();
    }
}

#[test]
fn the_protocols_own_client_reads_proposes_and_sees_verdicts_over_stdio() {
    let (first, second) = (Repo::new(), Repo::new());
    let folder = |repo: &Repo| repo.dir().to_str().unwrap().to_owned();
    client(&["stdio", env!("CARGO_BIN_EXE_overnight"), &folder(&first), &folder(&second)]);
    for repo in [&first, &second] {
        assert_eq!(repo.experiment(1)["agent"], "test-client");
        assert_eq!(std::fs::read_dir(repo.state().join("inbox")).unwrap().count(), 0, "every letter was taken up");
        repo.assert_sound();
    }
}

#[test]
fn claude_code_proposes_through_the_protocol() {
    let repo = Repo::new();
    let proposal = json!({
        "hypothesis": "less of it",
        "edits": [{ "search": "x = 5", "replace": "x = 4" }],
        "wait": true,
    });
    let idea = Idea::Call { tool: "mcp__overnight__propose".into(), input: proposal, say: "It is done.".into() };
    let provider = Provider::start(Script::new(repo.dir().to_str().unwrap(), &[idea]));
    let servers = json!({ "mcpServers": { "overnight": {
        "command": env!("CARGO_BIN_EXE_overnight"), "args": ["-C", repo.dir(), "mcp"],
    } } });
    let mut command = Command::new(installed("claude", "claude"));
    command.current_dir(repo.dir()).env_clear();
    command.envs([("HOME", repo.home()), ("PATH", std::env::var_os("PATH").unwrap().into())]);
    command.envs([("ANTHROPIC_API_KEY", "made-up"), ("ANTHROPIC_BASE_URL", &provider.url())]);
    command.envs([("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")]);
    command.args(["-p", "have a look at program.md and let's go", "--model", "fake-model", "--strict-mcp-config"]);
    command.args(["--mcp-config", &servers.to_string(), "--allowedTools", "mcp__overnight__propose"]);
    let ran = Ran::of(command.stdin(std::process::Stdio::null()).output().unwrap()).ended(0);
    let experiment = repo.experiment(1);
    assert_eq!((&experiment["verdict"], &experiment["agent"]), (&"kept".into(), &"claude-code".into()), "{ran}");
    repo.assert_sound();
}

#[test]
fn codex_proposes_through_the_protocol() {
    let repo = Repo::new();
    let proposal = json!({
        "hypothesis": "less of it",
        "edits": [{ "search": "x = 5", "replace": "x = 4" }],
        "wait": true,
    });
    let idea = Idea::Call { tool: "mcp__overnight__propose".into(), input: proposal, say: "It is done.".into() };
    let provider = Provider::start(Script::new(repo.dir().to_str().unwrap(), &[idea]));
    // As `init --agent-doc` says it, on the command line.
    let (program, args) = (json!(env!("CARGO_BIN_EXE_overnight")), json!(["-C", repo.dir(), "mcp"]));
    let base = json!(format!("{}/v1", provider.url()));
    let mut command = Command::new(installed("codex", "codex"));
    command.current_dir(repo.dir()).env_clear();
    command.envs([("HOME", repo.home()), ("CODEX_HOME", repo.home()), ("OPENAI_API_KEY", "made-up".into())]);
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.args(["exec", "--skip-git-repo-check", "--ephemeral", "--dangerously-bypass-approvals-and-sandbox"]);
    let settings = [
        "model=\"fake-model\"".to_owned(),
        "model_provider=\"scripted\"".to_owned(),
        format!(
            "model_providers.scripted={{name=\"scripted\",base_url={base},env_key=\"OPENAI_API_KEY\",wire_api=\"responses\"}}"
        ),
        format!("mcp_servers.overnight.command={program}"),
        format!("mcp_servers.overnight.args={args}"),
        "mcp_servers.overnight.tool_timeout_sec=600".to_owned(),
    ];
    command.args(settings.iter().flat_map(|setting| ["-c", setting]));
    command.arg("have a look at program.md and let's go");
    let ran = Ran::of(command.stdin(std::process::Stdio::null()).output().unwrap()).ended(0);
    let experiment = repo.experiment(1);
    assert_eq!((&experiment["verdict"], &experiment["agent"]), (&"kept".into(), &"codex-mcp-client".into()), "{ran}");
    repo.assert_sound();
}

#[test]
fn input_that_is_no_protocol_is_passed_over_and_nothing_but_protocol_comes_out() {
    let repo = Repo::new();
    let mut raw = Raw::start(&repo);
    raw.line("this is no JSON");
    raw.line("{\"jsonrpc\": \"2.0\"");
    raw.line("[]");
    raw.line("{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"tools/call\",\"params\":{\"name\":3}}");
    // More than any message may have, on one line and in many.
    raw.line(&format!("{{\"jsonrpc\":\"2.0\",\"id\":78,\"method\":\"{}\"}}", "x".repeat(20_000_000)));
    assert!(raw.request("no/such/method", json!({}))["error"]["code"].is_i64());
    assert_eq!(raw.tool("status", json!({}))["structuredContent"]["state"], "new");
    let large = json!({ "hypothesis": "large", "files": { "knobs.py": "#".repeat(5_000_000) } });
    assert!(raw.refused("propose", large).contains("larger than"));
    let names = json!({ "hypothesis": "elsewhere", "files": { "../../etc/passwd": "x" } });
    assert!(raw.refused("propose", names).contains("not part of the surface"));
    assert!(raw.refused("show", json!({ "experiment": "1; rm -rf /" })).contains("not been run yet"));
    let pid = raw.pid();
    raw.close();
    assert!(!is_alive(pid));
    assert!(!repo.state().join("ledger.db").exists(), "nothing was run");
}

/// What the scorer prints may quote the answers.
#[test]
fn what_a_scorer_said_is_in_no_answer() {
    let repo = Repo::with_agent("echo 'x = 9' > knobs.py; echo idea\n");
    repo.write(
        "judge.sh",
        "test \"$(cat $OVERNIGHT_ARTIFACTS/x)\" = 5 || { echo the secret answer is 42 >&2; exit 3; }; echo 'loss: 4'\n",
    );
    repo.write("score.sh", "sed -n 's/^x = //p' knobs.py > $OVERNIGHT_OUT/x; echo made it\n");
    let triplet =
        repo.read("overnight.toml").replace("run = \"sh score.sh\"", "run = \"sh score.sh\"\nscore = \"sh judge.sh\"");
    repo.write("overnight.toml", &triplet).commit("a scorer");
    repo.overnight(&["run", "--no-tui", "--experiments", "1"]);
    repo.ok(&["show", "1", "--output"]).says("the secret answer is 42");
    let mut raw = Raw::start(&repo);
    let one = json!({ "experiment": 1 });
    for (tool, arguments) in [("output", one.clone()), ("show", one), ("log", json!({})), ("status", json!({}))] {
        let answer = raw.tool(tool, arguments).to_string();
        assert!(!answer.contains("secret answer"), "{tool}: {answer}");
    }
    let output = raw.tool("output", json!({ "experiment": 1 })).to_string();
    assert!(output.contains("made it"), "{output}");
    raw.close();
}

#[test]
fn a_client_that_leaves_in_the_middle_loses_nothing_and_leaves_nobody_behind() {
    let gated = Gated::new();
    let mut raw = Raw::start(&gated.repo);
    let answer = raw.tool("propose", json!({ "hypothesis": "less", "files": { "knobs.py": "x = 4\n" } }));
    let ticket = answer["structuredContent"]["ticket"].as_str().unwrap().to_owned();
    gated.reached();
    let beside = children(raw.pid());
    assert_eq!(beside.len(), 1);
    raw.close();
    until("the run beside it to end", || !is_alive(beside[0]) && gated.repo.strays().is_empty());
    assert!(gated.repo.experiment(1)["verdict"].is_null());
    gated.open();
    let mut raw = Raw::start(&gated.repo);
    let judged = raw.tool("verdict", json!({ "ticket": ticket, "wait": true }));
    assert_eq!(judged["structuredContent"]["verdict"], "kept");
    raw.close();
    gated.repo.assert_sound();
}

#[test]
fn a_server_that_is_killed_in_the_middle_of_a_proposal_has_lost_nothing() {
    let gated = Gated::new();
    let mut raw = Raw::start(&gated.repo);
    let answer = raw.tool("propose", json!({ "hypothesis": "less", "files": { "knobs.py": "x = 4\n" } }));
    let ticket = answer["structuredContent"]["ticket"].as_str().unwrap().to_owned();
    gated.reached();
    let beside = children(raw.pid());
    crate::support::signal(Signal::KILL, raw.pid());
    until("everything to end", || beside.iter().all(|pid| !is_alive(*pid)) && gated.repo.strays().is_empty());
    gated.open();
    // Any run goes on with it.
    gated.repo.run(1);
    let mut raw = Raw::start(&gated.repo);
    let judged = raw.tool("verdict", json!({ "ticket": ticket }));
    assert_eq!(judged["structuredContent"]["verdict"], "kept");
    assert_eq!(judged["structuredContent"]["experiment"], 1);
    raw.close();
    gated.repo.assert_sound();
}

#[test]
fn a_call_that_is_cancelled_goes_on_without_its_client() {
    let gated = Gated::new();
    let mut raw = Raw::start(&gated.repo);
    let proposal = json!({ "hypothesis": "less", "files": { "knobs.py": "x = 4\n" }, "wait": true });
    let id = raw.send("tools/call", json!({ "name": "propose", "arguments": proposal }));
    gated.reached();
    raw.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" }));
    assert_eq!(raw.tool("status", json!({}))["structuredContent"]["state"], "running");
    gated.open();
    until("the verdict", || gated.repo.experiment(1)["verdict"] == "kept");
    raw.close();
    gated.repo.assert_sound();
}

#[test]
fn a_run_that_is_going_on_takes_a_proposal_up() {
    let gated = Gated::new();
    let engine = gated.repo.start(&["run", "--no-tui", "--experiments", "2"]);
    gated.reached();
    let mut raw = Raw::start(&gated.repo);
    let proposal = json!({ "hypothesis": "from outside", "files": { "knobs.py": "x = 3\n" } });
    let waiting = raw.tool("propose", proposal);
    assert!(waiting["structuredContent"]["state"].as_str().unwrap().contains("waits to be taken up"));
    assert!(children(raw.pid()).is_empty(), "the run has the study");
    gated.open();
    let ticket = &waiting["structuredContent"]["ticket"];
    let judged = raw.tool("verdict", json!({ "ticket": ticket, "wait": true }));
    assert_eq!(judged["structuredContent"]["verdict"], "kept");
    engine.wait().ended(0);
    raw.close();
    let whose: Vec<_> = [1, 2].map(|id| gated.repo.experiment(id)["agent"].clone()).into();
    assert_eq!(whose, ["tuner", "raw-client"]);
    gated.repo.assert_sound();
}

#[test]
fn what_a_client_wrote_does_not_run_on_a_weak_tier() {
    let repo = Repo::new();
    repo.triplet("[sandbox]\nmin = \"strong\"").commit("a high bar");
    let mut raw = Raw::start(&repo);
    let proposal = json!({ "hypothesis": "less", "files": { "knobs.py": "x = 4\n" }, "wait": true });
    let why = raw.refused("propose", proposal);
    assert!(why.contains("what a model wrote needs `strong`") && why.contains("overnight mcp --sandbox"), "{why}");
    assert!(why.contains("it was withdrawn, so that no later run takes it up: propose it again"), "{why}");
    assert_eq!(std::fs::read_dir(repo.state().join("inbox")).unwrap().count(), 0, "it does not wait for a later night");
    raw.close();
}

#[test]
fn a_study_that_does_not_run_says_so_to_the_client() {
    let repo = Repo::scored_by("echo broken; exit 3\n");
    let mut raw = Raw::start(&repo);
    let proposal = json!({ "hypothesis": "less", "files": { "knobs.py": "x = 4\n" }, "wait": true });
    let why = raw.refused("propose", proposal);
    assert!(why.contains("the baseline itself fails") || why.contains("baseline"), "{why}");
    raw.close();
}
