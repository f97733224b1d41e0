//! Quick looks before a slot, repairs of what crashed at once, and files that agents may read besides.

use std::fs;

use rustix::process::Signal;

use crate::support::{Json, Repo, until};

/// A study whose program breaks without its knob, and whose agent is this script.
fn study(agent: &str, triplet: &str) -> Repo {
    let score = "x=$(sed -n 's/^x = //p' knobs.py)\ntest -n \"$x\" || { echo 'NameError: x' >&2; exit 1; }\n\
                 echo \"loss: $(( (x - 3) * (x - 3) ))\"\n";
    let repo = Repo::scored_by(score);
    repo.write("agent.sh", agent);
    repo.triplet(&format!("{triplet}\n[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"\nahead = 0"));
    repo.commit("an agent");
    repo
}

/// Leaves out the knob, and puts it in when it is told of it.
const SLIPS: &str = r#"brief=$(cat)
case $brief in
*'"repair":{'*) printf '%s\n' "$brief" >&2; test "$(cat knobs.py)" = 'y = 4' && echo 'x = 4' > knobs.py; echo name it x ;;
*) echo 'y = 4' > knobs.py; echo a bit less ;;
esac
"#;

fn show(repo: &Repo, experiment: &str) -> Json {
    serde_json::from_str(&repo.ok(&["show", experiment, "--json"]).stdout).unwrap()
}

#[test]
fn a_candidate_that_fails_the_smoke_takes_no_slot_and_show_says_why() {
    let repo = study("echo 'x = 4 broken' > knobs.py; echo broken\n", "smoke = \"sh look.sh\"");
    let look = "! grep -q broken knobs.py || { echo 'SyntaxError: broken' >&2; exit 1; }\n";
    repo.write("look.sh", look).triplet("repairs = 0").commit("a quick look");
    repo.ok(&["check"]).says("smoke").says("passed in");
    repo.run(1);
    let why = "smoke failed: `sh look.sh`: exit code 1";
    assert_eq!(repo.verdicts(), [("crashed".to_owned(), why.to_owned())]);
    assert_eq!(repo.experiment(1)["trials"], 0);
    let shown = repo.ok(&["show", "1"]).says("smoke `sh look.sh`: exit code 1");
    shown.says("smoke `sh look.sh` on the champion: passed").says("SyntaxError: broken");
    assert_eq!(show(&repo, "1")["smokes"][0]["passed"], false);
    repo.assert_sound();
}

#[test]
fn a_smoke_that_the_tree_itself_does_not_pass_is_a_fault_of_the_triplet() {
    let repo = Repo::new();
    let smoke = "smoke = \"echo no such compiler >&2; exit 3\"";
    repo.triplet(smoke).commit("a quick look");
    let ran = repo.overnight(&["check"]).ended(2).says("exit code 3; every candidate would fail it");
    ran.says("no such compiler");
    repo.overnight(&["run", "--no-tui"]).ended(2).says("the baseline failed (crashed): smoke failed: ");
    assert_eq!(repo.events("trial_started"), 0);
}

#[test]
fn a_crash_at_once_goes_back_and_what_is_made_of_it_is_measured() {
    let repo = study(SLIPS, "");
    repo.run(1);
    let row = repo.experiment(1);
    assert_eq!((&row["verdict"], &row["metric"]), (&"kept".into(), &1.0.into()));
    assert_eq!(row["description"], "a bit less (repaired: name it x)");
    assert_eq!(repo.git(&["show", "overnight/main:knobs.py"]), "x = 4");
    assert_eq!(repo.git(&["log", "-1", "--format=%s", "overnight/main"]), "a bit less (repaired: name it x)");
    let shown = repo.ok(&["show", "1"]).says("  repaired    ").says("crashed at once; command made ");
    assert!(shown.stdout.contains("-x = 5\n+x = 4"), "{shown}");
    let repairs = show(&repo, "1")["repairs"].clone();
    assert_eq!((repairs.as_array().unwrap().len(), &repairs[0]["failed"]), (1, &Json::Null));
    assert_eq!(
        repo.git(&[
            "--git-dir",
            ".overnight/main/store.git",
            "show",
            &format!("{}:knobs.py", repairs[0]["from"].as_str().unwrap())
        ]),
        "y = 4"
    );
    // What it was told of its slip.
    let output = repo.ok(&["show", "1", "--output"]).stdout;
    let brief = output.lines().find(|line| line.starts_with("{\"study\"")).unwrap();
    let brief: Json = serde_json::from_str(brief).unwrap();
    let repair = &brief["repair"];
    assert_eq!(repair["description"], "a bit less");
    assert!(repair["reason"].as_str().unwrap().starts_with("exit code 1 after "), "{repair}");
    assert_eq!(repair["output"], "NameError: x");
    assert!(repair["diff"].as_str().unwrap().contains("-x = 5\n+y = 4"), "{repair}");
    assert_eq!(brief["files"], serde_json::json!([{ "path": "knobs.py", "text": "y = 4\n" }]));
    assert_eq!(brief["open"], serde_json::json!([]));
    repo.assert_sound();
}

#[test]
fn what_nobody_repairs_crashed_and_costs_one_experiment() {
    let repo = study("cat > /dev/null; echo 'y = 4' > knobs.py; echo less\n", "");
    repo.run(1);
    assert_eq!(repo.verdicts(), [("crashed".to_owned(), "exit code 1".to_owned())]);
    repo.ok(&["show", "1"]).says("it crashed at once, and was not repaired: nothing was changed");
    assert_eq!((repo.events("repair_asked"), repo.events("not_repaired"), repo.events("trial_started")), (1, 1, 4));
    let repo = study(&SLIPS.replace("x = 4", "z = 4"), "");
    repo.run(1);
    assert_eq!(repo.verdicts(), [("crashed".to_owned(), "exit code 1".to_owned())], "a second crash is the verdict");
    assert_eq!((repo.events("repair_asked"), repo.events("repaired"), repo.events("trial_started")), (1, 1, 5));
    repo.assert_sound();
}

#[test]
fn an_engine_that_is_killed_during_a_repair_asks_for_it_again() {
    let repo = study("", "");
    let (asked, go) = (repo.beside("asked"), repo.beside("go"));
    let wait = format!("touch '{}'; until test -e '{}'; do sleep 0.02; done; printf", asked.display(), go.display());
    repo.write("agent.sh", &SLIPS.replacen("printf", &wait, 1)).commit("an agent that waits");
    let engine = repo.start(&["run", "--no-tui", "--experiments", "1"]);
    until("the repair to be asked for", || asked.exists());
    engine.signal(Signal::KILL);
    engine.wait();
    until("nothing to be left of it", || repo.strays().is_empty());
    fs::write(&go, "").unwrap();
    repo.run(1);
    assert_eq!(repo.experiment(1)["description"], "a bit less (repaired: name it x)");
    assert_eq!((repo.events("repair_asked"), repo.events("attempt_lost"), repo.events("repaired")), (2, 1, 1));
    repo.assert_sound();
}

#[test]
fn context_is_there_for_agents_and_for_no_trial() {
    let agent = "cat >&2; echo 'x = 4' > knobs.py\n(echo more >> papers/a.md) 2> /dev/null && echo writable >&2\n\
                 test ! -e papers/out.md && test ! -e papers/.env && head -1 papers/a.md; cat papers/a.md > knobs.txt\n";
    for tier in ["standard", "landlock", "none"] {
        let repo = Repo::scored_by("test ! -e papers || exit 9\necho \"loss: $(wc -c < knobs.py)\"\n");
        repo.write("agent.sh", agent).write(".gitignore", "papers\n");
        let context = "context = [\"papers/*.md\", \"papers/.e*\", \"notes/*\"]";
        repo.triplet(&format!("[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"\n{context}")).commit("an agent");
        repo.write("papers/a.md", "Attention is most of what you need\n").write("papers/.env", "KEY=1\n");
        fs::write(repo.outside("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(repo.outside("secret"), repo.dir().join("papers/out.md")).unwrap();
        let before = repo.fingerprint();
        repo.overnight(&["run", "--no-tui", "--experiments", "1", "--sandbox", tier]).ended(0);
        let row = repo.experiment(1);
        assert_eq!(row["description"], "Attention is most of what you need", "{tier}");
        assert_eq!(row["verdict"], "discarded", "{tier}: {row}");
        assert_eq!(repo.fingerprint(), before, "{tier}");
        let output = repo.ok(&["show", "1", "--output"]);
        assert!(tier == "none" || !output.stdout.contains("\nwritable"), "{tier}: {output}");
        assert!(output.stdout.contains("\"context\":[{\"path\":\"papers/a.md\",\"bytes\":35}]"), "{tier}: {output}");
        repo.ok(&["check", "--brief"]).says("# To read").says("papers/a.md (35 bytes)");
        repo.assert_sound();
    }
}

#[test]
fn check_says_which_pattern_leads_nowhere_and_what_is_not_shown() {
    let repo = Repo::new();
    repo.write("papers/a.md", "x").triplet("[agent]\nuse = \"command\"\ncommand = \"true\"\n");
    repo.triplet("context = [\"papers/*.md\", \"notes/*\", \"score.sh\"]").commit("context");
    std::os::unix::fs::symlink("/etc/hostname", repo.dir().join("papers/out.md")).unwrap();
    let ran = repo.overnight(&["check"]).says("`notes/*` in `context` matches no file");
    ran.says("`papers/out.md` is not shown to agents: it leads out of the repository").says("agents may read 2 files");
    for (pattern, why) in
        [("../*", "below the triplet's folder"), ("/etc/*", "below the triplet's folder"), (".ssh/*", "keys")]
    {
        let triplet = repo.read("overnight.toml").replace("notes/*", pattern);
        let other = Repo::new();
        other.write("overnight.toml", &triplet);
        other.overnight(&["check"]).ended(2).says(why);
    }
}
