//! Models over their API: against a provider on the loopback that plays a script. Keys are made up.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use overnight_testkit::provider::{Failure, Idea, Provider, Script};
use rustix::process::Signal;

use crate::support::{Ran, Repo};

const KEY: &str = "made-up-key-that-opens-nothing";

/// Providers, with the variable of their key.
const PROTOCOLS: [(&str, &str); 4] = [
    ("openai", "OPENAI_API_KEY"),
    ("openai-responses", "OPENAI_API_KEY"),
    ("anthropic", "ANTHROPIC_API_KEY"),
    ("gemini", "GEMINI_API_KEY"),
];

/// A study whose agent is a model, with nobody to ask but the script.
struct Night {
    repo: Repo,
    provider: Provider,
    key: &'static str,
}

impl Night {
    fn new((name, key): (&str, &'static str), more: &str, ideas: &[Idea]) -> Night {
        Night::with((name, key), more, Script::new(".", ideas))
    }

    fn with((name, key): (&str, &'static str), more: &str, script: Script) -> Night {
        let repo = Repo::new();
        let provider = Provider::start(script);
        repo.write("program.md", "Turn the knob.\n");
        let url = provider.url();
        let url = if name.starts_with("openai") { format!("{url}/v1") } else { url };
        repo.triplet(&format!(
            "[agent]\nuse = \"api\"\nprovider = \"{name}\"\nmodel = \"fake-model\"\nbase_url = \"{url}\"\nahead = 0\n{more}"
        ))
        .commit("an agent");
        Night { repo, provider, key }
    }

    fn overnight(&self, args: &[&str]) -> Ran {
        Ran::of(self.repo.command(args).env(self.key, KEY).output().unwrap())
    }

    /// One proposal that is not recorded.
    fn try_it(&self) -> Ran {
        self.overnight(&["check", "--agent", "api"])
    }

    fn verdicts(&self, count: u64) -> Vec<String> {
        (1..=count).map(|number| self.repo.experiment(number)["verdict"].as_str().unwrap().to_owned()).collect()
    }
}

fn edit(old: &str, new: &str, say: &str) -> Idea {
    Idea::Edit { path: "knobs.py".into(), old: old.into(), new: new.into(), say: say.into() }
}

/// Better, worse, misplaced and mended, too much, idle, better, worse.
#[test]
fn each_protocol_has_a_night_of_keeps_and_refusals() {
    let ideas = [
        edit("x = 5", "x = 4", "a little less"),
        edit("x = 4", "x = 9", "much more"),
        edit("x = 7", "x = 8", "from where it is not"),
        edit("x = 4", "x = 8", "from where it is"),
        edit("x = 4", "x = 4\\ny = 1\\nz = 2", "more lines than may be"),
        Idea::Say("I have no idea.".into()),
        edit("x = 4", "x = 3", "just right"),
        edit("x = 3", "x = 7", "more after all"),
    ]
    .map(|idea| match idea {
        Idea::Edit { path, old, new, say } => Idea::Edit { path, old, new: new.replace("\\n", "\n"), say },
        other => other,
    });
    for protocol in PROTOCOLS {
        let night = Night::new(protocol, "", &ideas);
        let triplet = night.repo.read("overnight.toml");
        night.repo.write(
            "overnight.toml",
            &triplet.replace("surface = \"knobs.py\"", "surface = { path = \"knobs.py\", max_lines_changed = 1 }"),
        );
        night.repo.commit("a smaller surface");
        let ran = night.overnight(&["run", "--no-tui", "--experiments", "6"]).ended(0);
        let expected = ["kept", "discarded", "discarded", "policy", "no_change", "kept", "discarded"];
        assert_eq!(night.verdicts(7), expected, "{protocol:?}: {ran}");
        let titles: Vec<String> =
            [1, 3, 6].map(|n| night.repo.experiment(n)["description"].as_str().unwrap().to_owned()).to_vec();
        assert_eq!(titles, ["a little less", "from where it is not", "just right"], "{ran}");
        assert_eq!(night.repo.experiment(1)["agent"], "api");
        let said = format!("agent      api {} fake-model at {}", protocol.0, night.provider.url());
        assert!(ran.stderr.contains(&said), "{ran}");
        // What was used is on record, also of two questions for one proposal.
        let bodies: Vec<String> = night.repo.bodies("proposed");
        assert!(
            bodies[0].contains(r#""used":{"model":"fake-model","calls":1,"input":100,"output":10"#),
            "{}",
            bodies[0]
        );
        assert!(bodies[2].contains(r#""calls":2,"input":200,"output":20"#), "{}", bodies[2]);
        // It was told what came of its ideas; the second question about one of them carries what failed, and no brief.
        let questions = night.provider.questions();
        let text = |at: usize| questions[at].body.to_string();
        assert!(text(0).contains("Turn the knob.") && text(7).contains("#1 kept") && text(7).contains(": much more"));
        assert!(
            text(3).contains("letter by letter") && text(3).contains("x = 7") && !text(3).contains("Turn the knob.")
        );
        // What stays the same comes first, up to where the surface changed with a keep.
        let shared = text(1).bytes().zip(text(2).bytes()).take_while(|(a, b)| a == b).count();
        let (rules, surface) = (text(1).find("# Rules").unwrap(), text(1).find("# The champion's surface").unwrap());
        assert!(shared > rules && shared > surface, "{protocol:?}: {shared} of {}", text(1));
        assert!(questions.iter().all(|request| request.headers.iter().any(|(_, value)| value.contains(KEY))));
        assert!(
            !questions.iter().any(|request| request.body.to_string().contains(KEY)),
            "the key is no part of a prompt"
        );
        night.repo.assert_sound();
        night.repo.assert_nowhere(KEY);
    }
}

#[test]
fn what_goes_wrong_at_the_provider_is_told_as_what_it_is() {
    let failures = [
        (Failure::Broken, "provider outage: 500 Internal server error"),
        (Failure::Cut, "provider outage: "),
        (Failure::Malformed, "provider outage: an answer that cannot be read"),
        (Failure::Denied, "access denied: 401 invalid x-api-key"),
        (Failure::UnknownModel, "unknown model: 404 "),
        (Failure::Overflow, "context overflow: 400 "),
        (Failure::Empty, "empty answer: "),
        (Failure::RateLimit { retry_after: Some(3600) }, "rate limit: 429 "),
    ];
    for protocol in PROTOCOLS {
        for (failure, told) in failures {
            let night = Night::new(protocol, "", &[Idea::Fail(failure)]);
            night.try_it().ended(2).says(&format!("api made no proposal: {told}"));
            let asked = night.provider.questions().len();
            let expected = if failure == Failure::Overflow { 2 } else { 1 };
            assert_eq!(asked, expected, "{protocol:?} {failure:?}");
        }
        let night = Night::new(protocol, "", &[Idea::Refuse("I would rather not.".into())]);
        night.try_it().ended(2).says("api made no proposal: refusal: I would rather not.");
    }
}

#[test]
fn a_brief_that_is_too_long_is_cut_once() {
    let night =
        Night::new(PROTOCOLS[0], "", &[Idea::Fail(Failure::Overflow), edit("x = 5", "x = 4", "with less to read")]);
    night.repo.write("program.md", &"Turn the knob, a little at a time.\n".repeat(400)).commit("a long program");
    night.try_it().ended(0).says("with less to read");
    let lengths: Vec<usize> =
        night.provider.questions().iter().map(|question| question.body.to_string().len()).collect();
    assert!(lengths.len() == 2 && lengths[1] < lengths[0] * 3 / 4, "{lengths:?}");
}

#[test]
fn a_stranger_who_does_not_stop_or_sends_us_elsewhere_gets_nowhere() {
    let night = Night::new(PROTOCOLS[0], "", &[Idea::Fail(Failure::Endless)]);
    night.try_it().ended(2).says("provider outage: an answer of more than 16 MiB");
    let night = Night::new(PROTOCOLS[0], "timeout = \"1s\"", &[Idea::Fail(Failure::Stall)]);
    night.try_it().ended(2).says("out of time: no answer within ");
    let other = Provider::start(Script::new(".", [edit("x = 5", "x = 4", "from somewhere else")]));
    let port = other.url().rsplit(':').next().unwrap().parse().unwrap();
    let night = Night::new(PROTOCOLS[0], "", &[Idea::Fail(Failure::Redirect { port })]);
    night.try_it().ended(2).says("it sends us to http://127.0.0.1:").says("mend `agent.base_url`");
    assert_eq!(other.seen().len(), 0, "nobody is followed with a key");
    // Nobody is there at all.
    let Night { repo, provider, key } = Night::new(PROTOCOLS[0], "", &[]);
    drop(provider);
    Ran::of(repo.command(&["check", "--agent", "api"]).env(key, KEY).output().unwrap())
        .ended(2)
        .says("api made no proposal: provider outage: ");
}

#[test]
fn an_answer_that_cannot_be_taken_twice_is_malformed_and_a_whole_file_is_taken() {
    let misplaced = edit("x = 7", "x = 8", "from where it is not");
    let night = Night::new(PROTOCOLS[2], "", &[misplaced.clone(), misplaced.clone()]);
    night.try_it().ended(2).says("api made no proposal: malformed answer: its SEARCH lines are not in `knobs.py`");
    assert_eq!(night.provider.questions().len(), 2);
    let night =
        Night::new(PROTOCOLS[2], "edits = \"whole\"", &[Idea::Say("all new\n\nknobs.py\n````\nx = 4\n````\n".into())]);
    night.try_it().ended(0).says("api proposes, after ").says(": all new").says("+x = 4");
}

#[test]
fn values_are_proposed_by_a_schema_in_every_protocol_and_without_one_where_there_is_none() {
    let idea = Idea::Say(r#"{"changes": [{"name": "x", "value": 4}], "hypothesis": "less is more"}"#.into());
    for protocol in PROTOCOLS {
        let night = Night::new(protocol, "edits = \"values\"", std::slice::from_ref(&idea));
        night.try_it().ended(0).says("x 5 → 4: less is more").says("+x = 4");
        let body = night.provider.questions()[0].body.to_string();
        assert!(body.contains(r#""enum":["x"]"#) && body.contains("- `x` is 5"), "{body}");
    }
    let night = Night::new(PROTOCOLS[0], "edits = \"values\"", &[Idea::Fail(Failure::NoSchema)]);
    night.try_it().ended(2).says("'response_format' is not supported here");
    let asked: Vec<bool> =
        night.provider.questions().iter().map(|question| question.body.get("response_format").is_some()).collect();
    assert_eq!(asked, [true, false]);
    let wrong = Idea::Say(r#"{"changes": [{"name": "z", "value": 4}], "hypothesis": "no such thing"}"#.into());
    let night = Night::new(PROTOCOLS[1], "edits = \"values\"", &[wrong, idea]);
    night.try_it().ended(0).says("x 5 → 4: less is more");
}

#[test]
fn another_model_than_was_asked_for_is_noted() {
    let script = Script::new(".", [edit("x = 5", "x = 4", "a little less")]).answered_by("small-model-2");
    let night = Night::with(PROTOCOLS[2], "", script);
    night.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(0);
    let shown = night.repo.ok(&["show", "1"]);
    let line = "  model       small-model-2, asked once: 100 tokens read, 10 written\n";
    assert!(shown.stdout.contains(line), "{shown}");
    let said: Vec<u8> = night
        .repo
        .ledger()
        .query_row("SELECT bytes FROM blobs WHERE instr(bytes, 'answered by')", [], |row| row.get(0))
        .unwrap();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("asked for the model `fake-model`, answered by `small-model-2`"), "{said}");
}

#[test]
fn a_rate_limit_is_waited_for_and_a_signal_ends_a_call_and_a_wait_at_once() {
    let night = Night::new(PROTOCOLS[0], "", &[Idea::Fail(Failure::RateLimit { retry_after: Some(3600) })]);
    let engine = night.repo.start_with(&["run", "--no-tui"], vec![(night.key.into(), KEY.into())]);
    engine.said("waiting for api until ");
    engine.signal(Signal::INT);
    engine.wait().ended(130).says("rate limit: 429 ").says("stopped by a person");
    assert_eq!(night.provider.questions().len(), 1, "nobody is asked while it is waited for");
    night.repo.assert_sound();
    let night = Night::new(PROTOCOLS[0], "timeout = \"10m\"", &[Idea::Fail(Failure::Stall)]);
    let engine = night.repo.start_with(&["run", "--no-tui"], vec![(night.key.into(), KEY.into())]);
    crate::support::until("the model to be asked", || night.provider.questions().len() == 1);
    engine.signal(Signal::INT);
    engine.wait().ended(130).says("stopped by a person");
    night.repo.assert_sound();
}

#[test]
fn a_key_is_missed_before_anything_is_spent_and_may_come_from_a_command() {
    let night = Night::new(PROTOCOLS[2], "", &[edit("x = 5", "x = 4", "a little less")]);
    for args in [&["run", "--no-tui"][..], &["check"], &["check", "--agent", "api"]] {
        let ran = night.repo.overnight(args).ended(2);
        ran.says("`ANTHROPIC_API_KEY` is not set: anthropic would not answer without a key").says("`key_command`");
    }
    assert_eq!((night.repo.events("trial_started"), night.provider.seen().len()), (0, 0));
    let listed = night.repo.ok(&["check", "--agent"]);
    let url = night.provider.url();
    let line = format!("api       anthropic fake-model at {url}/v1, the agent of this study\n");
    assert!(listed.stdout.contains(&line), "{listed}");
    assert!(listed.stdout.contains("          key from ANTHROPIC_API_KEY, which is NOT set\n"), "{listed}");
    let listed = night.overnight(&["check", "--agent"]).ended(0);
    assert!(listed.stdout.contains("key from ANTHROPIC_API_KEY, which is set\n") && !listed.stdout.contains(KEY));
    // Its first line is the key; a password store keeps notes below.
    let kept = night.repo.outside("store");
    std::fs::write(&kept, format!("{KEY}\nuser: ann\n")).unwrap();
    let command = format!("key_command = \"cat {}\"", kept.display());
    let night = Night::new(PROTOCOLS[2], &command, &[edit("x = 5", "x = 4", "a little less")]);
    let ran = night.repo.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(0);
    assert_eq!(night.verdicts(1), ["kept"], "{ran}");
    assert_eq!(night.provider.questions()[0].header("x-api-key"), Some(KEY));
    night.repo.assert_nowhere(KEY);
    std::fs::remove_file(kept).unwrap();
    let ran = night.repo.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(2);
    ran.says("gave no key: exit code 1").says("key_env");
}

#[test]
fn a_model_that_repeats_its_key_does_not_get_it_into_anything_that_is_kept() {
    let leaks = [
        edit("x = 5", &format!("x = 4  # {KEY}"), &format!("as {KEY} says")),
        edit("x = 5", "x = 4", &format!("as {KEY} says")),
    ];
    let night = Night::new(PROTOCOLS[3], "", &leaks);
    let ran = night.overnight(&["run", "--no-tui", "--experiments", "2"]).ended(0);
    // The gateway has taken it out before it could become a part of the surface.
    assert_eq!(night.verdicts(2), ["crashed", "kept"], "{ran}");
    assert_eq!(night.repo.experiment(2)["description"], "as [key] says");
    night.repo.assert_nowhere(KEY);
}

/// One answer over TLS, from a certificate that this machine has never heard of.
const TLS: &str = r#"
import json, socket, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("server.pem", "server.key")
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
text = "a little less\n\nknobs.py\n<<<<<<< SEARCH\nx = 5\n=======\nx = 4\n>>>>>>> REPLACE\n"
body = json.dumps({"model": "fake-model", "choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).encode()
while True:
    try:
        with context.wrap_socket(listener.accept()[0], server_side=True) as stream:
            asked = b""
            while b"Make your proposal now" not in asked:
                asked += stream.recv(65536)
            stream.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
    except OSError:
        pass
"#;

#[test]
fn a_provider_is_asked_over_tls_and_only_where_its_certificate_is_good() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls");
    let mut server = Command::new("python3")
        .args(["-c", TLS])
        .current_dir(&fixtures)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut port = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let repo = Repo::new();
    repo.triplet(&format!(
        "[agent]\nuse = \"api\"\nprovider = \"compatible\"\nmodel = \"fake-model\"\nkey_env = \"SOME_KEY\"\n\
         base_url = \"https://localhost:{}/v1\"",
        port.trim()
    ))
    .commit("an agent");
    let ask = |certificates: &str| {
        let mut command = repo.command(&["check", "--agent", "api"]);
        Ran::of(command.env("SOME_KEY", KEY).env("SSL_CERT_FILE", certificates).output().unwrap())
    };
    let (good, bad) = (ask(fixtures.join("ca.pem").to_str().unwrap()), ask("/etc/ssl/certs/ca-certificates.crt"));
    server.kill().unwrap();
    server.wait().unwrap();
    good.ended(0).says(": a little less").says("+x = 4");
    bad.ended(2).says("provider outage: ").says("certificate");
}
