//! Real clients, recorded with a provider and replayed without one. `tests/agents/install claude codex` installs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use overnight_engine::gateway::traces::{Found, Setup, Store, Tape, TraceError};
use overnight_engine::gateway::{Gateway, Guest, Key, Upstream};
use overnight_model::call::{CallEnd, CallOutcome, Caller, Protocol};
use overnight_model::spec::TapeSpec;
use overnight_model::{ExperimentId, Timestamp, trace};
use overnight_testkit::provider::{Idea, Provider, Script};

use super::common::{Books, KEY};

/// A project that an agent works on, and a home.
struct Project {
    _temp: tempfile::TempDir,
    root: PathBuf,
}

impl Project {
    fn new() -> Project {
        let temp = tempfile::Builder::new().prefix("overnight-tape-").tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for folder in ["project", "home"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        fs::write(root.join("project/knobs.py"), "x = 5\n").unwrap();
        Project { _temp: temp, root }
    }

    fn dir(&self) -> PathBuf {
        self.root.join("project")
    }

    fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    fn tape(&self, spec: &TapeSpec) -> Result<Tape, TraceError> {
        let (state, dir, home) = (self.state(), self.dir(), self.root.join("home"));
        Tape::open(Setup { spec, state: &state, dir: &dir, home: Some(&home), keys: &[] }, Timestamp(0))
    }

    /// One turn of an agent through a gateway with this tape, and what came of its calls.
    fn turn(&self, agent: &str, spec: &TapeSpec, url: &str, prompt: &str) -> (Output, Vec<CallOutcome>) {
        let books = Arc::new(Books::default());
        let gateway = Gateway::new(books.clone(), Arc::new(self.tape(spec).unwrap()), Vec::new());
        let pass = gateway.pass_beside().unwrap();
        let upstream = Upstream {
            name: "here".into(),
            url: url.to_owned(),
            protocols: Protocol::ALL.to_vec(),
            key: Some(Key::new(KEY)),
            headers: Vec::new(),
            no_key: None,
        };
        let caller = Caller::Agent { name: agent.to_owned(), experiment: ExperimentId(1) };
        let door = gateway.open(&pass, None, Guest { caller, upstreams: vec![upstream] }).unwrap();
        let output = self.run(agent, &format!("http://127.0.0.1:{}", pass.port), &pass.key, prompt);
        drop(door);
        let settled = books.settled.lock().unwrap();
        (output, settled.iter().map(|(_, outcome)| outcome.clone()).collect())
    }

    fn run(&self, agent: &str, url: &str, key: &str, prompt: &str) -> Output {
        let tools = "Read,Edit,Write,Glob,Grep";
        let provider = format!(
            "model_providers.here={{name=\"here\",base_url=\"{url}/v1\",env_key=\"OPENAI_API_KEY\",wire_api=\"responses\",\
             request_max_retries=0,stream_max_retries=0}}"
        );
        let words: Vec<&str> = match agent {
            "claude" => vec![
                "-p",
                "--output-format",
                "stream-json",
                "--verbose",
                "--no-session-persistence",
                "--permission-mode",
                "acceptEdits",
                "--tools",
                tools,
                "--allowedTools",
                tools,
                "--model",
                "fake-model",
                prompt,
            ],
            _ => vec![
                "exec",
                "--json",
                "--skip-git-repo-check",
                "--ephemeral",
                "--ignore-user-config",
                "--dangerously-bypass-approvals-and-sandbox",
                "-c",
                "model_provider=here",
                "-c",
                &provider,
                "-c",
                "model=\"fake-model\"",
                prompt,
            ],
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Path::parent).unwrap();
        let folder = root.join("target/agents").join(agent).join("bin");
        assert!(folder.join(agent).exists(), "{agent} is not installed for the tests: tests/agents/install {agent}");
        let home = self.root.join("home");
        fs::create_dir_all(home.join(".codex")).unwrap();
        Command::new(folder.join(agent))
            .args(words)
            .current_dir(self.dir())
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").unwrap()))
            .env("HOME", &home)
            .env("CODEX_HOME", home.join(".codex"))
            .env("ANTHROPIC_API_KEY", key)
            .env("ANTHROPIC_BASE_URL", url)
            .env("OPENAI_API_KEY", key)
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("CLAUDE_CODE_MAX_RETRIES", "0")
            .env("DISABLE_AUTOUPDATER", "1")
            .output()
            .unwrap()
    }

    fn surface(&self) -> String {
        fs::read_to_string(self.dir().join("knobs.py")).unwrap()
    }
}

fn a_session_is_replayed_without_its_provider(agent: &str) {
    let first = Project::new();
    let edit = Idea::Edit { path: "knobs.py".into(), old: "x = 5".into(), new: "x = 4".into(), say: "less".into() };
    let provider = Provider::start(Script::new(first.dir().to_str().unwrap(), [edit]));
    let recording = TapeSpec { record: Some("recordings".to_owned()), ..TapeSpec::default() };
    let prompt = "Turn the knob in knobs.py.";
    let (output, calls) = first.turn(agent, &recording, &provider.url(), prompt);
    assert_eq!(first.surface(), "x = 4\n", "{output:?}");
    let asked = calls.iter().filter(|call| call.end == CallEnd::Answered).count();
    assert!(asked >= 2 && calls.iter().all(|call| !call.replayed), "{calls:?}");
    // It is traced, too, and reads as what it was.
    let store = Store::find(&first.state()).unwrap().unwrap();
    let traces: Vec<_> = store.of(ExperimentId(1)).unwrap().iter().map(|id| store.get(id).unwrap()).collect();
    assert_eq!(traces.len(), calls.len());
    let mut fold = trace::Fold::default();
    let mut told = String::new();
    for found in &traces {
        let Found::Whole(found) = found else { panic!("{found:?}") };
        let asked = trace::asked(found.call.protocol, &found.request).unwrap();
        let step = fold.add(&asked, trace::answered(found.call.protocol, &found.answer));
        told.push_str(&format!("{:?}{:?}", step.new, step.answered));
    }
    assert_eq!(told.matches("Turn the knob in knobs.py.").count(), 1, "said once, shown once: {told}");
    assert!(told.contains("x = 4") && told.contains("less"), "{told}");
    // Elsewhere, with nobody to ask.
    let url = provider.url();
    drop(provider);
    let second = Project::new();
    fs::rename(first.dir().join("recordings"), second.dir().join("recordings")).unwrap();
    let replaying = TapeSpec { replay: Some("recordings".to_owned()), ..TapeSpec::default() };
    let (output, calls) = second.turn(agent, &replaying, &url, prompt);
    let seen = || format!("{calls:?}\n{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(second.surface(), "x = 4\n", "{}", seen());
    assert!(calls.len() >= asked && calls.iter().all(|call| call.replayed), "{}", seen());
    // What was not recorded is refused, and not asked for again.
    fs::write(second.dir().join("knobs.py"), "x = 5\n").unwrap();
    let (output, calls) = second.turn(agent, &replaying, &url, "Turn another knob.");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(second.surface(), "x = 5\n", "{said}");
    let missed = calls.iter().filter(|call| call.end == CallEnd::NotRecorded).count();
    assert!((1..=2).contains(&missed), "{missed} {said}");
    assert!(said.contains("nothing like it is recorded; the nearest differs at"), "{said}");
}

#[test]
fn a_session_of_claude_code_is_replayed_without_its_provider() {
    a_session_is_replayed_without_its_provider("claude");
}

#[test]
fn a_session_of_codex_is_replayed_without_its_provider() {
    a_session_is_replayed_without_its_provider("codex");
}
