//! A night with a real coding agent, recorded, and had again elsewhere with nobody to ask: this is how it is reproduced.

use overnight_testkit::provider::{Provider, Script};

use crate::coding::{KEY, edit, environment, installed};
use crate::support::{Json, Ran, Repo};

/// The metric of the knob, and a little noise: no two nights measure the same.
const NOISY: &str = r#"x=$(sed -n "s/^x = //p" knobs.py)
echo "loss: $(( (x - 3) * (x - 3) )).0$(date +%N)"
"#;

const RUN: [&str; 4] = ["run", "--no-tui", "--experiments", "3"];

/// What came of each attempt: its verdict, its words, and what it changed.
fn came_of(repo: &Repo) -> Vec<[Json; 3]> {
    let rows = repo.log().into_iter().skip(1);
    rows.map(|row| {
        let shown = repo.ok(&["show", &row["experiment"].to_string(), "--json"]).stdout;
        let shown: Json = serde_json::from_str(&shown).unwrap();
        assert!(shown["diff"].as_str().is_some_and(|diff| diff.contains("+x = ")), "{shown}");
        ["verdict", "description", "diff"].map(|name| shown[name].clone())
    })
    .collect()
}

fn calls(repo: &Repo) -> Vec<Json> {
    repo.bodies("called").iter().map(|body| serde_json::from_str(body).unwrap()).collect()
}

/// `agent` is a coding agent by its name, or a model that the engine asks itself.
fn a_night_is_had_again(agent: &str) {
    let repo = Repo::scored_by(NOISY);
    let ideas = [
        edit("knobs.py", "x = 5", "x = 4", "a little less"),
        edit("knobs.py", "x = 4", "x = 9", "much more"),
        edit("knobs.py", "x = 4", "x = 3", "just right"),
    ];
    // A model without tools names files as it was told them.
    let folder = if agent == "api" { ".".into() } else { repo.dir().to_str().unwrap().to_owned() };
    let provider = Provider::start(Script::new(folder, ideas));
    let own = match agent {
        "api" => format!("provider = \"anthropic\"\nbase_url = \"{}\"\n", provider.url()),
        _ => String::new(),
    };
    let lines = format!("[agent]\nuse = \"{agent}\"\nmodel = \"fake-model\"\nahead = 0\n{own}");
    repo.write("program.md", "Turn the knob.\n");
    repo.triplet(&format!("{lines}[gateway]\nrecord = \"recordings\"")).commit("an agent");
    let set = match agent {
        "api" => vec![("ANTHROPIC_API_KEY".to_owned(), KEY.to_owned())],
        _ => environment(agent, &provider),
    };
    let ran = Ran::of(repo.command(&RUN).envs(set).output().unwrap()).ended(0);
    let first = came_of(&repo);
    let verdicts: Vec<&Json> = first.iter().map(|[verdict, ..]| verdict).collect();
    assert_eq!(verdicts, ["kept", "discarded", "kept"], "{ran}");
    let asked = calls(&repo).len();
    drop(provider);
    // It is shared as everything is, and had again by somebody whose folders have other names.
    let triplet = repo.read("overnight.toml").replace("record =", "replay =");
    repo.write("overnight.toml", &triplet).commit("the night, recorded");
    // A model's command line holds the path as a shell reads it: no name that would have to be quoted there.
    let folder = repo.outside(if agent == "codex" { "elsewhere" } else { "somebody's \"own\" folder" });
    std::fs::create_dir(&folder).unwrap();
    let other = Repo::at(folder, None);
    other.git(&["pull", "-q", repo.dir().to_str().unwrap(), "main"]);
    let own = if agent == "api" { String::new() } else { format!("{}:", installed(agent).display()) };
    let path = format!("{own}{}", std::env::var("PATH").unwrap());
    let overnight = |args: &[&str]| Ran::of(other.command(args).env("PATH", &path).output().unwrap());
    let ran = overnight(&RUN).ended(0);
    let again = came_of(&other);
    let traced = || (1..=3).map(|id: u32| other.ok(&["show", &id.to_string(), "--trace"]).stdout).collect::<String>();
    assert_eq!(again, first, "{ran}\n{}", traced());
    assert!(!ran.stderr.contains("no key"), "nobody misses one: {ran}");
    let metric = |repo: &Repo| repo.experiment(1)["metric"].as_f64().unwrap();
    assert_ne!(metric(&repo), metric(&other), "it was measured anew");
    let calls = calls(&other);
    assert!(calls.len() >= asked && calls.iter().all(|call| call["outcome"]["replayed"] == true), "{calls:?}");
    // Only proposals are replayed.
    assert!(!other.ok(&["status"]).stdout.contains("replayed"));
    other.assert_sound();
    // What was not recorded is said, and nobody is asked.
    other.write("program.md", "Turn another knob.\n");
    let ran = overnight(&["check", "--agent", agent]).ended(2);
    assert!(format!("{ran}").contains("nothing like it is recorded"), "{ran}");
}

#[test]
fn a_night_with_claude_code_is_had_again_without_its_provider() {
    a_night_is_had_again("claude");
}

#[test]
fn a_night_with_codex_is_had_again_without_its_provider() {
    a_night_is_had_again("codex");
}

#[test]
fn a_night_with_a_model_over_its_api_is_had_again_without_its_provider() {
    a_night_is_had_again("api");
}
