//! A person's words to the agents.

use crate::support::{Json, Repo, until};

fn lines(text: &str) -> Vec<Json> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn told(repo: &Repo) -> Vec<String> {
    let brief: Json = serde_json::from_str(&repo.ok(&["check", "--brief", "--json"]).stdout).unwrap();
    let said = brief["said"].as_array().cloned().unwrap_or_default();
    said.iter().map(|word| word["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_word_is_told_until_it_is_taken_back() {
    let repo = Repo::with_agent("echo \"x = $(( $(sed -n 's/^x = //p' knobs.py) - 1 ))\" > knobs.py; echo less\n");
    repo.ok(&["say", "look at", "the\ncache"]).says("said       word 1: the first run takes it up");
    assert_eq!(told(&repo), ["look at the cache"], "also before it was taken up");
    repo.ok(&["say", "--list"]).says("    1  look at the cache\n").says("waits to be taken up");
    repo.run(1);
    assert!(!repo.ok(&["say", "--list"]).stdout.contains("waits"));
    repo.ok(&["say", "no new dependencies"]).says("said       word 2: agents are told from the next brief on");
    assert_eq!(told(&repo), ["look at the cache", "no new dependencies"]);
    repo.ok(&["check", "--brief"]).says("# The person says, latest last\n\n- look at the cache\n- no new dependencies");
    repo.ok(&["say", "--done", "1"]).says("taken back word 1: agents are not told any more, from the next brief on");
    repo.ok(&["say"]).says("    2  no new dependencies\n");
    assert_eq!(told(&repo), ["no new dependencies"]);
    let said = lines(&repo.ok(&["say", "a third", "--json"]).stdout);
    assert_eq!((&said[0]["word"], &said[0]["state"]), (&3.into(), &"recorded".into()));
    assert_eq!(lines(&repo.ok(&["say", "--list", "--json"]).stdout).len(), 2);
    repo.run(1);
    repo.assert_sound();
}

/// The agent asks for its second answer only once the person has spoken.
#[test]
fn a_word_reaches_a_run_that_is_going_on() {
    let repo = Repo::new();
    let (asked, spoken, got) = (repo.beside("asked"), repo.beside("spoken"), repo.beside("got"));
    let agent = format!(
        "cat > '{got}'; n=$(sed -n 's/^x = //p' knobs.py); echo \"x = $((n - 1))\" > knobs.py; echo less\n\
         touch '{asked}'; until test -e '{spoken}'; do sleep 0.02; done\n",
        got = got.display(),
        asked = asked.display(),
        spoken = spoken.display()
    );
    repo.write("agent.sh", &agent);
    repo.triplet("[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"\nahead = 0").commit("an agent");
    let engine = repo.start(&["run", "--no-tui", "--experiments", "2"]);
    until("the first question", || asked.exists());
    repo.ok(&["say", "wider"]).says("said       word 1: process ").says("takes it up before the next brief");
    repo.ok(&["say", "--done", "1"]).says("taken back word 1");
    repo.ok(&["say", "deeper"]).says("word 2");
    std::fs::write(&spoken, "").unwrap();
    engine.wait().ended(0);
    let brief: Json = serde_json::from_str(&std::fs::read_to_string(&got).unwrap()).unwrap();
    assert_eq!(brief["said"], serde_json::json!([{ "word": 2, "text": "deeper" }]));
    assert_eq!(std::fs::read_dir(repo.state().join("inbox")).unwrap().count(), 0, "every letter was taken up");
    repo.assert_sound();
}

#[test]
fn what_cannot_be_said_is_refused_with_a_reason() {
    let repo = Repo::new();
    repo.overnight(&["say", " "]).ended(2).says("there is nothing to say");
    repo.overnight(&["say", &"long ".repeat(300)]).ended(2).says("write it into the program");
    repo.overnight(&["say", "--done", "7"]).ended(2).says("agents are told no word 7");
    repo.ok(&["say"]).says("agents are told nothing but their brief").says("overnight say \"no new dependencies\"");
    repo.ok(&["say", "wider"]).says("nobody reads it: the tuner is the only agent of this study");
    repo.ok(&["say", "--done", "1"]);
    for word in 0..20 {
        repo.ok(&["say", &format!("word {word}")]).says("said");
    }
    repo.overnight(&["say", "one more"]).ended(2).says("agents are told 20 words already");
    repo.ok(&["say", "--list"]).says("   21  word 19");
    assert_eq!(repo.git(&["status", "--porcelain"]), "", "nothing of it shows in the checkout");
}

#[test]
fn escapes_in_a_word_reach_neither_screen_nor_brief() {
    let repo = Repo::new();
    repo.ok(&["say", "red \u{1b}[31m \u{202e}turned"]);
    for args in [&["say", "--list"][..], &["check", "--brief"], &["check", "--brief", "--json"]] {
        let shown = repo.ok(args).stdout;
        assert!(shown.contains("turned") && !shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
    }
}
