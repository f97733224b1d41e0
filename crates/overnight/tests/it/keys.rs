//! Where a key is while a run goes on, and what becomes of a run that cannot have one.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use overnight_testkit::provider::{Failure, Idea, Provider, Script};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};

use crate::support::{Ran, Repo, children, until};

const KEY: &str = "sk-planted-0123456789abcdef0123456789";

const ASKS: &str = r#"
import json, os, sys, urllib.request
def ask(path):
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "which x?"}]}).encode()
    headers = {"x-api-key": os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
    url = os.environ["ANTHROPIC_BASE_URL"] + path
    return json.load(urllib.request.urlopen(urllib.request.Request(url, body, headers)))
"#;

fn below(pid: u32) -> Vec<u32> {
    children(pid).into_iter().flat_map(|child| [vec![child], below(child)].concat()).collect()
}

fn has_key(bytes: &[u8]) -> bool {
    bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes())
}

/// Whether the key is anywhere in what a process has; `None` where nobody may look at it.
fn holds_key(pid: u32) -> Option<bool> {
    let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let Ok(memory) = File::open(format!("/proc/{pid}/mem")) else { return None };
    let maps = String::from_utf8(read("maps")).unwrap();
    let held = maps.lines().filter(|line| line.contains(" rw")).any(|line| {
        let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).unwrap());
        let mut bytes = vec![0; (end - start) as usize];
        memory.read_at(&mut bytes, start).is_ok_and(|length| has_key(&bytes[..length]))
    });
    Some(held || has_key(&read("environ")) || has_key(&read("cmdline")))
}

fn most_core(pid: u32) -> u64 {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    line.split_whitespace().nth(4).unwrap().parse().unwrap_or(u64::MAX)
}

#[test]
fn a_key_is_in_the_memory_of_the_engine_alone_which_leaves_no_core_file() {
    // As somebody has it who looks for a bug; all that is started here has it too.
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    setrlimit(Resource::Core, Rlimit { current: maximum, maximum }).unwrap();
    for tier in ["standard", "landlock", "none"] {
        let repo = Repo::new();
        let provider = Provider::start(Script::new(".", [Idea::Fail(Failure::Stall)]));
        repo.write("task.py", &format!("{ASKS}ask('/v1/chat/completions')\n"));
        let command = "run = \"python3 task.py\"\nnetwork = \"models\"";
        repo.write("overnight.toml", &repo.read("overnight.toml").replace("run = \"sh score.sh\"", command));
        repo.commit("a task");
        let environment = vec![
            ("OPENAI_API_KEY".to_owned(), KEY.to_owned()),
            ("OPENAI_BASE_URL".to_owned(), format!("{}/v1", provider.url())),
        ];
        let mut engine = repo.start_with(&["run", "--no-tui", "--sandbox", tier], environment);
        until("the model to be asked", || engine.has_ended() || !provider.questions().is_empty());
        assert!(!engine.has_ended(), "{tier}: {}", engine.so_far());
        let bearer = format!("Bearer {KEY}");
        assert_eq!(provider.questions()[0].header("authorization"), Some(bearer.as_str()), "{}", engine.so_far());
        // Root may look into everybody, unless even that was taken from it.
        assert_ne!(holds_key(engine.pid()), Some(false), "{tier}: where else would it be");
        let others = below(engine.pid());
        assert_eq!(holds_key(engine.keeper().unwrap()), Some(false), "{tier}");
        assert!(others.len() >= 3, "a keeper, an init and a command: {others:?}");
        for pid in others {
            assert_ne!(
                holds_key(pid),
                Some(true),
                "{tier}: {}",
                fs::read_to_string(format!("/proc/{pid}/status")).unwrap()
            );
            assert!(most_core(pid) <= 1, "{tier} {pid}");
        }
        assert_eq!(most_core(engine.pid()), 0);
        engine.signal(Signal::ABORT);
        engine.wait();
        let names = fs::read_dir(repo.dir()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let cores: Vec<_> = names.filter(|name| name.starts_with("core")).collect();
        assert_eq!(cores, Vec::<String>::new());
    }
}

/// A study with two providers, of which the key of the second cannot be had.
fn locked(repo: &Repo, provider: &Provider) {
    let (url, vault) = (provider.url(), repo.outside("vault"));
    fs::write(&vault, KEY).unwrap();
    let vault = vault.display();
    repo.triplet(&format!(
        "[gateway.here]\nurl = \"{url}\"\nprotocol = \"chat\"\nkey_env = \"HERE_KEY\"\n\
         [gateway.vault]\nurl = \"{url}\"\nprotocol = \"messages\"\n\
         key_command = \"cat {vault}; echo the vault is locked to $(cat {vault}) and $VAULT_TOKEN >&2; exit 7\"\n"
    ));
}

fn run(repo: &Repo) -> Ran {
    let mut command = repo.command(&["run", "--no-tui", "--experiments", "1"]);
    command.env("HERE_KEY", KEY).env("VAULT_TOKEN", "a-token-of-the-vault");
    Ran::of(command.output().unwrap())
}

#[test]
fn a_key_that_cannot_be_had_holds_up_nobody_who_does_not_need_it() {
    let repo = Repo::new();
    let provider = Provider::start(Script::new(".", [Idea::Say("3".into())]));
    locked(&repo, &provider);
    repo.write(
        "agent.py",
        &format!(
            "{ASKS}x = ask('/v1/chat/completions')['choices'][0]['message']['content']\nopen('knobs.py', 'w').write('x = ' + x + '\\n')\n"
        ),
    );
    repo.triplet("[agent]\nuse = \"command\"\ncommand = \"python3 agent.py\"\nnetwork = \"models\"").commit("an agent");
    let ran = run(&repo).ended(0);
    assert_eq!(repo.experiment(1)["verdict"], "kept", "{ran}");
    assert_eq!(provider.questions()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
}

#[test]
fn whoever_needs_a_key_that_cannot_be_had_is_not_blamed_and_the_person_is_told_what_to_do() {
    let repo = Repo::new();
    let provider = Provider::start(Script::new(".", [Idea::Say("3".into())]));
    repo.write("task.py", &format!("{ASKS}ask('/vault/v1/messages')\nprint('loss: 1')\n"));
    let command = "run = \"python3 task.py\"\nnetwork = \"models\"";
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("run = \"sh score.sh\"", command));
    locked(&repo, &provider);
    repo.commit("a task");
    let ran = run(&repo);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    let dir = repo.dir().display().to_string();
    assert!(said.contains("there is no key for `vault`: `cat "), "{ran}");
    assert!(
        said.contains(
            "gave no key: exit code 7, and said: the vault is locked to [key] and [key]; type it yourself in "
        ),
        "{ran}"
    );
    assert!(said.contains(&dir), "{ran}");
    assert!(!said.contains("a-token-of-the-vault"), "{ran}");
    assert_eq!(provider.seen().len(), 0);
}
