//! Agents and evaluations that ask models through the gateway. The key is planted, and searched for everywhere.

use std::path::{Path, PathBuf};

use overnight_testkit::provider::{Idea, Provider, Script};

use crate::support::{Ran, Repo};

/// With signs that every way of writing it down writes in another way.
const KEY: &str = "sk-planted/+\"0123456789'abcdef==";

/// Asks the model that it is told of by the environment, tries every way out, and tells what it found.
const ASKS: &str = r#"
import glob, hashlib, json, os, socket, sys, urllib.error, urllib.request
def ask():
    body = json.dumps({"model": "fake-model", "messages": [{"role": "user", "content": "which x?"}]}).encode()
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]
def reaches(port):
    try: socket.create_connection(("127.0.0.1", port), 5).close(); return True
    except OSError: return False
# The key by its hash, in the environment of every process that can be seen.
def environments():
    # Without walls the person's own processes are seen as well.
    for path in glob.glob("/proc/[0-9]*/environ") if sys.argv[-1] != "1" else ["/proc/self/environ"]:
        try: yield from open(path, "rb").read().split(b"\0")
        except OSError: pass
for pair in environments():
    value = pair.split(b"=", 1)[-1]
    assert hashlib.sha256(value).hexdigest() != "9f2f80891e0c93f8cff995bb046a0ea88851b8691f6b3fe96117aed17ce55072", pair
assert os.environ["OPENAI_API_KEY"].startswith("sk-overnight-")
assert os.environ["OPENAI_BASE_URL"].startswith("http://127.0.0.1:")
"#;

struct Night {
    repo: Repo,
    provider: Provider,
}

impl Night {
    fn new(triplet: &str, scripts: &[(&str, &str)], say: &str) -> Night {
        let repo = Repo::new();
        let provider = Provider::start(Script::new(".", [Idea::Say(say.into())]));
        for (name, text) in scripts {
            repo.write(name, &format!("{ASKS}{text}"));
        }
        repo.write("overnight.toml", &repo.read("overnight.toml").replace("run = \"sh score.sh\"", triplet));
        repo.commit("a model");
        Night { repo, provider }
    }

    fn overnight(&self, args: &[&str]) -> Ran {
        let mut command = self.repo.command(args);
        command.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", format!("{}/v1", self.provider.url()));
        Ran::of(command.output().unwrap())
    }

    fn port(&self) -> String {
        self.provider.url().rsplit(':').next().unwrap().to_owned()
    }

    /// Nobody but the provider has the key, however it is written.
    fn assert_no_key(&self, ran: &Ran) {
        let seen = self.provider.questions();
        let bearer = format!("Bearer {KEY}");
        assert!(
            !seen.is_empty() && seen.iter().all(|request| request.header("authorization") == Some(&bearer)),
            "{ran}"
        );
        let stored = self.stored();
        for form in forms() {
            for text in [&ran.stdout, &ran.stderr, &stored] {
                assert!(!has(text.as_bytes(), &form), "{ran}");
            }
            assert_eq!(files_with(&self.repo.dir(), &form), Vec::<PathBuf>::new());
            assert_eq!(files_with(&self.repo.home(), &form), Vec::<PathBuf>::new());
        }
    }

    /// All events and contents of the study, as the program itself reads them.
    fn stored(&self) -> String {
        let ledger = self.repo.ledger();
        let mut statement = ledger.prepare("select body from events").unwrap();
        let bodies = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let bodies: String = bodies.map(Result::unwrap).collect();
        // What is compressed is read as people read it.
        let exported = self.overnight(&["export", "--atif"]);
        let mut stored = format!("{bodies}{}{}", exported.stdout, exported.stderr);
        for row in self.repo.log() {
            let number = row["experiment"].to_string();
            for how in [&["--output"][..], &["--trace", "--full"], &["--trace", "--json"], &["--json"]] {
                let shown = self.overnight(&[&["show", number.as_str()], how].concat());
                stored.push_str(&format!("{}{}", shown.stdout, shown.stderr));
            }
        }
        stored
    }
}

/// The key as others may write it.
fn forms() -> Vec<Vec<u8>> {
    let spelled = |of: &dyn Fn(u8) -> String| KEY.bytes().map(of).collect::<String>();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let json = serde_json::json!(KEY).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let mut forms = vec![
        KEY.to_owned(),
        json.replace('/', "\\/"),
        json,
        KEY.chars().rev().collect(),
        spelled(&|byte| format!("{byte:02x}")),
        spelled(&|byte| format!("{byte:02X}")),
        spelled(&|byte| format!("%{byte:02x}")),
        spelled(&|byte| if is_plain(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") }),
        spelled(&|byte| if is_plain(byte) { (byte as char).to_string() } else { format!("%{byte:02x}") }),
        spelled(&|byte| format!("\\u{byte:04x}")),
        spelled(&|byte| format!("\\u{byte:04X}")),
        spelled(&|byte| format!("{byte} ")),
        // Two bytes a sign; the other order is found in it as well.
        spelled(&|byte| format!("{}\0", byte as char)).trim_end_matches('\0').to_owned(),
    ];
    for before in ["", "x", "xx"] {
        // The first and the last signs depend on what is around.
        let written = base64(format!("{before}{KEY}").as_bytes());
        let inner = written[4..].to_owned();
        forms.extend([inner.replace('+', "-").replace('/', "_"), inner]);
    }
    forms.into_iter().map(String::into_bytes).collect()
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // Whole groups only: the last one depends on what follows.
    let groups = bytes.chunks_exact(3).map(|it| u32::from_be_bytes([0, it[0], it[1], it[2]]));
    groups.flat_map(|bits| [18, 12, 6, 0].map(|at| SIGNS[(bits >> at & 63) as usize] as char)).collect()
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn files_with(folder: &Path, text: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(files_with(&path, text));
        } else if kind.is_file() && has(&std::fs::read(&path).unwrap(), text) {
            found.push(path);
        }
    }
    found
}

#[test]
fn an_evaluation_asks_a_model_without_a_key_or_a_network() {
    let night = Night::new("run = \"python3 task.py PORT\"\nnetwork = \"models\"", &[], "3");
    let task = format!(
        "{ASKS}\nx = int(open('knobs.py').read().split()[-1])\n\
                        assert not reaches({}), 'the provider itself can be reached'\nprint('loss:', (x - int(ask())) ** 2)\n",
        night.port()
    );
    let triplet = night.repo.read("overnight.toml").replace(" PORT", "");
    night.repo.write("task.py", &task).write("overnight.toml", &triplet).commit("a task");
    let ran = night.overnight(&["run", "--no-tui", "--experiments", "3"]).ended(0);
    assert!(ran.stderr.contains("baseline   loss 4 "), "{ran}");
    let asked = night.provider.questions().len();
    assert!(asked >= 4, "{asked} questions: {ran}");
    night.assert_no_key(&ran);
    night.repo.assert_sound();
}

#[test]
fn a_provider_that_repeats_the_key_in_every_way_puts_it_nowhere() {
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02X}")).collect();
    let url: String = KEY.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let said = format!(
        "{KEY} {hex} {} {url} {} {}",
        hex.to_lowercase(),
        base64(format!("{KEY}xx").as_bytes()),
        base64(format!("x:{KEY}xx").as_bytes())
    );
    let night = Night::new("run = \"python3 task.py\"\nnetwork = \"models\"", &[], &said);
    let task = format!(
        "{ASKS}\nx = int(open('knobs.py').read().split()[-1])\nsaid = ask()\nprint(said)\nprint(said, file=sys.stderr)\n\
         open(os.environ['OVERNIGHT_OUT'] + '/said', 'w').write(said)\nprint('loss:', x)\nassert x > 3, said\n"
    );
    night.repo.write("task.py", &task).triplet("[gateway]\nrecord = \"recordings\"").commit("a task");
    let ran = night.overnight(&["run", "--no-tui", "--experiments", "3"]).ended(0);
    night.assert_no_key(&ran);
    let shown = night.overnight(&["show", "1", "--trace", "--full"]);
    assert!(shown.stdout.contains("[key]"), "it did come, and was taken out: {shown}");
    night.repo.assert_sound();
}

#[test]
fn an_agent_of_ones_own_asks_a_model_without_a_key_or_a_network() {
    let agent = "[agent]\nuse = \"command\"\ncommand = \"python3 agent.py\"\nnetwork = \"models\"\nahead = 0";
    let script = "
assert not reaches(int(sys.argv[1])), 'the provider itself can be reached'
open('knobs.py', 'w').write('x = ' + ask() + '\\n')
";
    for tier in ["standard", "landlock", "none"] {
        let night = Night::new("run = \"sh score.sh\"", &[("agent.py", script)], "3");
        // Only where there are walls can it be kept from anything.
        let port = if tier == "none" { "1".to_owned() } else { night.port() };
        night.repo.triplet(&agent.replace("agent.py", &format!("agent.py {port}"))).commit("an agent");
        let ran = night.overnight(&["run", "--no-tui", "--experiments", "1", "--sandbox", tier]).ended(0);
        assert_eq!(night.repo.experiment(1)["verdict"], "kept", "{tier}: {ran}");
        night.assert_no_key(&ran);
    }
}

#[test]
fn an_agent_that_the_gateway_cannot_speak_for_is_told_what_to_do() {
    let repo = Repo::new();
    repo.triplet("[agent]\nuse = \"codex\"").commit("an agent");
    let path = format!("{}:/usr/bin:/bin", crate::coding::installed("codex").display());
    let ran = Ran::of(repo.command(&["check", "--agent", "codex"]).env("PATH", &path).output().unwrap()).ended(2);
    ran.says("codex has no key: set OPENAI_API_KEY");
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("codex", "claude")).commit("another");
    let path = format!("{}:/usr/bin:/bin", crate::coding::installed("claude").display());
    let with = |name: &str| {
        Ran::of(repo.command(&["check", "--agent", "claude"]).env("PATH", &path).env(name, "1").output().unwrap())
            .ended(2)
    };
    with("X").says("type `claude setup-token` and set CLAUDE_CODE_OAUTH_TOKEN");
    with("CLAUDE_CODE_USE_BEDROCK").says("`CLAUDE_CODE_USE_BEDROCK` is set").says("write `network = \"full\"`");
}

#[test]
fn the_token_of_a_subscription_is_sent_as_its_own_client_sends_it() {
    let repo = Repo::new();
    repo.triplet("[agent]\nuse = \"claude\"\nmodel = \"fake-model\"").commit("an agent");
    let edit = Idea::Edit { path: "knobs.py".into(), old: "x = 5".into(), new: "x = 4".into(), say: "less".into() };
    let provider = Provider::start(Script::new(repo.dir().to_str().unwrap(), [edit]));
    let path = format!("{}:{}", crate::coding::installed("claude").display(), std::env::var("PATH").unwrap());
    let mut command = repo.command(&["check", "--agent", "claude"]);
    command
        .env("PATH", path)
        .env("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-planted")
        .env("ANTHROPIC_BASE_URL", provider.url());
    let ran = Ran::of(command.output().unwrap()).ended(0);
    let asked = provider.questions();
    assert!(!asked.is_empty(), "{ran}");
    for request in asked {
        assert_eq!(request.header("authorization"), Some("Bearer sk-ant-oat01-planted"));
        assert_eq!(request.header("x-api-key"), None);
        assert!(
            request.headers.iter().any(|(name, value)| name == "anthropic-beta" && value.contains("oauth-")),
            "{request:?}"
        );
    }
}
