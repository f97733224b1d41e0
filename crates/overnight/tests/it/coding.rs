//! Coding agents, the real ones, against a provider on the loopback that plays a script. Keys are made up.
//!
//! `tests/agents/install claude codex` installs the two that every run of the tests has, `tests/agents/all` the others.

use std::path::{Path, PathBuf};

use overnight_testkit::provider::{Failure, Idea, Provider, Script};
use rustix::process::Signal;

use crate::support::{Ran, Repo};

pub(crate) const KEY: &str = "made-up-key-that-opens-nothing";

/// The program's folder, where the tests' own installation is.
pub(crate) fn installed(agent: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Path::parent).unwrap();
    let folder = root.join("target/agents").join(agent).join("bin");
    assert!(folder.join(agent).exists(), "{agent} is not installed for the tests: tests/agents/install {agent}");
    folder
}

/// A study whose agent is this one, with nobody to ask but the provider.
struct Night {
    repo: Repo,
    provider: Provider,
    agent: &'static str,
}

impl Night {
    fn new(agent: &'static str, more: &str, ideas: &[Idea]) -> Night {
        let repo = Repo::new();
        let model = match agent {
            "claude" | "codex" => "fake-model",
            "gemini" => "gemini-2.5-pro",
            _ => "openai/fake-model",
        };
        repo.write("program.md", "Turn the knob.\n");
        repo.triplet(&format!("[agent]\nuse = \"{agent}\"\nmodel = \"{model}\"\nahead = 0\n{more}")).commit("an agent");
        let provider = Provider::start(Script::new(repo.dir().to_str().unwrap(), ideas));
        Night { repo, provider, agent }
    }

    /// The variables that a person would have set.
    fn environment(&self) -> Vec<(String, String)> {
        environment(self.agent, &self.provider)
    }

    fn overnight(&self, args: &[&str]) -> Ran {
        Ran::of(self.repo.command(args).envs(self.environment()).output().unwrap())
    }

    /// One proposal that is not recorded.
    fn try_it(&self) -> Ran {
        self.overnight(&["check", "--agent", self.agent])
    }
}

/// What somebody has set who uses this agent, with nobody to ask but the provider.
pub(crate) fn environment(agent: &str, provider: &Provider) -> Vec<(String, String)> {
    let path = std::env::var("PATH").unwrap();
    let url = provider.url();
    [
        ("PATH", format!("{}:{path}", installed(agent).display())),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        ("ANTHROPIC_BASE_URL", url.clone()),
        ("OPENAI_API_KEY", KEY.to_owned()),
        ("OPENAI_BASE_URL", format!("{url}/v1")),
        ("GEMINI_API_KEY", KEY.to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", url),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

pub(crate) fn edit(path: &str, old: &str, new: &str, say: &str) -> Idea {
    Idea::Edit { path: path.into(), old: old.into(), new: new.into(), say: say.into() }
}

/// Better, worse, cheating, idle, better, worse: five experiments that count.
fn a_night_with(agent: &'static str) {
    let ideas = [
        edit("knobs.py", "x = 5", "x = 4", "a little less"),
        edit("knobs.py", "x = 4", "x = 9", "much more"),
        edit("program.md", "Turn the knob.", "Do nothing.", "another program"),
        Idea::Say("I have no idea.".into()),
        edit("knobs.py", "x = 4", "x = 3", "just right"),
        edit("knobs.py", "x = 3", "x = 8", "more after all"),
    ];
    let night = Night::new(agent, "", &ideas);
    let ran = night.overnight(&["run", "--no-tui", "--experiments", "5"]).ended(0);
    let log: Vec<(String, String)> = (1..=6)
        .map(|number| night.repo.experiment(number))
        .map(|row| (row["verdict"].as_str().unwrap().to_owned(), row["description"].as_str().unwrap().to_owned()))
        .collect();
    let verdicts: Vec<&str> = log.iter().map(|(verdict, _)| verdict.as_str()).collect();
    assert_eq!(verdicts, ["kept", "discarded", "policy", "no_change", "kept", "discarded"], "{ran}");
    assert_eq!((log[0].1.as_str(), log[4].1.as_str()), ("a little less", "just right"), "{ran}");
    assert_eq!(night.repo.experiment(1)["agent"], agent);
    let locked = night.repo.experiment(3)["reason"].as_str().unwrap().to_owned();
    assert!(locked.contains("it changed `program.md`, which is locked"), "{locked}");
    // Which program it was is on record.
    let version = ran.stderr.lines().find_map(|line| line.strip_prefix(&format!("agent      {agent} "))).unwrap();
    let facts: String = night
        .repo
        .ledger()
        .query_row("select body from events where body like '%run_started%'", [], |row| row.get(0))
        .unwrap();
    assert!(facts.contains(&format!("\"agent\":\"{agent} {version}\"")), "{facts}");
    // It was asked with the key and with the instructions, and told what came of its ideas.
    let questions = night.provider.questions();
    let has = |text: &str| questions.iter().any(|request| request.body.to_string().contains(text));
    let was_told = has("#1 kept") && has("#2 discarded") && has(": much more");
    assert!(has("Turn the knob.") && was_told, "{} questions", questions.len());
    let carries_key = |value: &str| value.contains(KEY);
    assert!(questions.iter().all(|request| request.headers.iter().any(|(_, value)| carries_key(value))));
    assert!(!questions.iter().any(|request| carries_key(&request.body.to_string())), "the key is no part of a prompt");
    // Nothing of it stays: neither the key in the study's own folder, nor a file in the person's home.
    assert_eq!(files_with(&night.repo.dir(), KEY.as_bytes()), Vec::<PathBuf>::new());
    for store in [night.repo.state().join("store.git"), night.repo.dir().join(".git")] {
        let objects = objects_of(&store);
        assert!(objects.contains("x = 5"), "the surface is among them");
        assert!(!objects.contains(KEY), "{}", store.display());
    }
    assert_eq!(std::fs::read_dir(night.repo.home()).unwrap().count(), 0, "the person's home is not touched");
    night.repo.assert_sound();
}

/// Every object of a repository as text; git keeps them deflated.
fn objects_of(store: &Path) -> String {
    let mut git = std::process::Command::new("git");
    git.arg("--git-dir").arg(store).args(["cat-file", "--batch-all-objects", "--batch"]);
    let output = git.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn files_with(folder: &Path, text: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(files_with(&path, text));
        } else if kind.is_file() && std::fs::read(&path).unwrap().windows(text.len()).any(|window| window == text) {
            found.push(path);
        }
    }
    found
}

#[test]
fn claude_has_a_night_of_keeps_and_refusals() {
    a_night_with("claude");
}

#[test]
fn codex_has_a_night_of_keeps_and_refusals() {
    a_night_with("codex");
}

#[test]
#[ignore = "tests/agents/all runs it"]
fn gemini_has_a_night_of_keeps_and_refusals() {
    a_night_with("gemini");
}

#[test]
#[ignore = "tests/agents/all runs it"]
fn opencode_has_a_night_of_keeps_and_refusals() {
    a_night_with("opencode");
}

#[test]
#[ignore = "tests/agents/all runs it"]
fn pi_has_a_night_of_keeps_and_refusals() {
    a_night_with("pi");
}

#[test]
#[ignore = "tests/agents/all runs it"]
fn aider_has_a_night_of_keeps_and_refusals() {
    a_night_with("aider");
}

#[test]
#[ignore = "tests/agents/all runs it"]
fn mini_has_a_night_of_keeps_and_refusals() {
    a_night_with("mini");
}

/// Whatever goes wrong at the provider is told as what it is, by an agent that says "success" and by one that exits with 0.
#[test]
fn what_goes_wrong_at_the_provider_is_told_as_what_it_is() {
    let failures = [
        (Failure::Broken, "provider outage"),
        (Failure::Cut, "provider outage"),
        (Failure::Malformed, "provider outage"),
        (Failure::Denied, "access denied"),
        (Failure::UnknownModel, "unknown model"),
        (Failure::Overflow, "context overflow"),
        (Failure::Empty, "empty answer"),
        (Failure::RateLimit { retry_after: Some(3600) }, "rate limit"),
    ];
    for agent in ["claude", "codex"] {
        for (failure, told) in failures {
            let night = Night::new(agent, "timeout = \"60s\"", &[Idea::Fail(failure)]);
            night.try_it().ended(2).says(&format!("{agent} made no proposal: {told}: "));
        }
    }
    let night = Night::new("claude", "", &[Idea::Refuse("I would rather not.".into())]);
    night.try_it().ended(2).says("claude made no proposal: refusal: ");
}

#[test]
fn an_agent_that_hangs_is_ended_at_its_time() {
    let night = Night::new("claude", "timeout = \"6s\"", &[Idea::Fail(Failure::Stall)]);
    night.try_it().ended(2).says("claude made no proposal: out of time: ");
}

#[test]
fn a_rate_limit_is_waited_for_and_a_signal_ends_the_wait_at_once() {
    let night = Night::new("claude", "", &[Idea::Fail(Failure::RateLimit { retry_after: None })]);
    let engine = night.repo.start_with(&["run", "--no-tui"], night.environment());
    engine.said("waiting for claude until ");
    engine.signal(Signal::INT);
    let ran = engine.wait().ended(130).says("rate limit: ").says("stopped by a person");
    assert_eq!(night.provider.begun(), 1, "nobody is asked while it is waited for: {ran}");
    night.repo.assert_sound();
}

#[test]
fn while_one_of_a_team_is_waited_for_the_other_has_the_slot() {
    let limit = Idea::Fail(Failure::RateLimit { retry_after: Some(3600) });
    let night = Night::new("claude", "", &[limit]);
    let triplet = night.repo.read("overnight.toml").replace("use = \"claude\"", "use = [\"claude\", \"tuner\"]");
    night.repo.write("overnight.toml", &triplet).write("knobs.py", "x = 5\ny = 0.5\n").commit("a team");
    let ran = night.overnight(&["run", "--no-tui", "--experiments", "3"]).ended(0);
    let ran = ran.says("· agents claude, tuner ·").says("waiting for claude until ").says("; tuner has the slot\n");
    let agents = (1..=4).map(|number| night.repo.experiment(number)["agent"].as_str().unwrap().to_owned());
    assert_eq!(agents.collect::<Vec<_>>(), ["claude", "tuner", "tuner", "tuner"], "{ran}");
    assert_eq!(night.provider.begun(), 1, "nobody is asked while it is waited for: {ran}");
    night.repo.assert_sound();
}

#[test]
fn one_proposal_is_shown_and_nothing_is_recorded() {
    let night = Night::new("claude", "", &[edit("knobs.py", "x = 5", "x = 4", "a little less")]);
    let ran = night.try_it().ended(0);
    assert!(
        ran.stdout.contains(": a little less\n--- a/knobs.py\n+++ b/knobs.py\n@@ -1 +1 @@\n-x = 5\n+x = 4\n"),
        "{ran}"
    );
    assert!(!night.repo.state().join("ledger.db").exists());
    assert_eq!(night.repo.read("knobs.py"), "x = 5\n");
}

#[test]
fn an_agent_without_a_sandbox_has_a_home_of_its_own_all_the_same() {
    // Where it works it cannot know beforehand.
    let script = Script::new(".", [edit("knobs.py", "x = 5", "x = 4", "a little less")]);
    let night = Night { provider: Provider::start(script), ..Night::new("claude", "", &[]) };
    night.overnight(&["check", "--agent", "claude", "--sandbox", "none"]).ended(0).says("a little less");
    assert_eq!(std::fs::read_dir(night.repo.home()).unwrap().count(), 0, "the person's home is not touched");
}

#[test]
fn an_agent_that_is_not_installed_is_missed_before_anything_is_spent() {
    let repo = Repo::new();
    repo.triplet("[agent]\nuse = \"claude\"").commit("an agent");
    let on_path = |args: &[&str]| Ran::of(repo.command(args).env("PATH", "/usr/bin:/bin").output().unwrap());
    for args in [&["run", "--no-tui"][..], &["check"], &["check", "--agent", "claude"]] {
        on_path(args)
            .ended(2)
            .says("there is no program `claude` on the PATH: Claude Code is not installed")
            .says("npm install -g @anthropic-ai/claude-code");
    }
    assert_eq!(repo.events("trial_started"), 0);
    let listed = on_path(&["check", "--agent"]).ended(0);
    assert!(listed.stdout.contains("claude    not here; npm install -g @anthropic-ai/claude-code\n"), "{listed}");
}

#[test]
fn keys_that_are_not_set_are_missed_before_a_night() {
    let repo = Repo::new();
    repo.triplet("[agent]\nuse = \"claude\"").commit("an agent");
    let path = format!("{}:/usr/bin:/bin", installed("claude").display());
    let with = |key: &str| Ran::of(repo.command(&["check"]).env("PATH", &path).env(key, KEY).output().unwrap());
    let told = "claude gets no key from your environment: none of ANTHROPIC_API_KEY";
    with("OPENAI_API_KEY").says(told);
    let ran = with("ANTHROPIC_API_KEY");
    assert!(!format!("{ran}").contains(told), "{ran}");
}

#[test]
fn init_proposes_what_it_finds_with_the_tuner_as_partner() {
    let repo = Repo::empty();
    repo.write("train.py", "lr = 0.1\nprint('loss:', lr)\n").commit("a program");
    let path = format!("{}:/usr/bin:/bin", installed("claude").display());
    let ran = Ran::of(repo.command(&["init", "--yes"]).env("PATH", &path).output().unwrap()).ended(0);
    let ran = ran.says("agents      claude is here: try it: overnight check --agent claude\n");
    assert!(
        ran.stderr.contains("agent     claude, tuner (`claude` is on the PATH; the tuner needs no model)"),
        "{ran}"
    );
    let triplet = repo.read("overnight.toml");
    assert!(triplet.ends_with("[agent]\nuse = [\"claude\", \"tuner\"]\n"), "{triplet}");
    let alone = Repo::empty();
    alone.write("train.py", "lr = 0.1\nprint('loss:', lr)\n").commit("a program");
    let ran =
        Ran::of(alone.command(&["init", "--yes", "--agent", "tuner"]).env("PATH", &path).output().unwrap()).ended(0);
    ran.says("agents      claude is here; `use = [\"claude\", \"tuner\"]` under [agent] asks it too\n");
    assert!(!alone.read("overnight.toml").contains("agent"));
}

#[test]
fn agents_that_are_here_are_listed_with_their_version_and_their_command() {
    let night = Night::new("claude", "", &[]);
    let listed = night.overnight(&["check", "--agent"]).ended(0);
    let program = installed("claude").join("claude");
    assert!(listed.stdout.contains(&format!("at {}, the agent of this study\n", program.display())), "{listed}");
    assert!(listed.stdout.contains("          the gateway gets ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL\n"), "{listed}");
    assert!(
        listed.stdout.contains("claude -p --output-format stream-json") && !listed.stdout.contains(KEY),
        "{listed}"
    );
}
