//! The holdout: a second opinion that is counted, shown to people only, and out of everybody else's reach.

use std::fs;

use rustix::process::Signal;

use crate::support::{Json, Repo, until};

/// The answer is scored by its distance to 3, and on the holdout to 9.
const TRIPLET: &str = r#"surface = "knobs.sh"
metric = { name = "loss", goal = "min" }
[evaluate]
run = "sh run.sh"
budget = "10s"
score = "sh score.sh label"
hidden = ["score.sh", "label"]
[holdout]
score = "sh score.sh held/label"
files = "held"
budget = 3
"#;
const SCORE: &str = "d=$(($(cat \"$OVERNIGHT_ARTIFACTS/answer\") - $(cat $1)))\necho \"loss: $((d * d))\"\n";

/// Commits that answer 20, 12, 5 and 4: each is better by the evaluation, and the last two are worse by the holdout.
fn separated() -> Repo {
    let repo = Repo::empty();
    repo.write("overnight.toml", TRIPLET).write("run.sh", ". ./knobs.sh\n").write("score.sh", SCORE);
    repo.write("label", "3\n").write("held/label", "9\n");
    for answer in [20, 12, 5, 4] {
        repo.write("knobs.sh", &format!("echo {answer} > $OVERNIGHT_OUT/answer\n")).commit(&answer.to_string());
    }
    repo
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn openings(repo: &Repo) -> Json {
    json(&repo.ok(&["status", "--json"]).stdout)["holdout"].clone()
}

/// A file of the study in which commands wait until there is another one.
fn wait(repo: &Repo, at: &str) -> String {
    let (here, go) = (repo.beside(at), repo.beside("go"));
    fs::create_dir_all(&here).unwrap();
    format!("mktemp {}/XXXXXX\nwhile ! test -e {}; do sleep 0.02; done\n", here.display(), go.display())
}

#[test]
fn the_holdout_has_the_last_word_and_both_are_shown() {
    let repo = separated();
    insta::assert_snapshot!(repo.overnight(&["compare", "HEAD~1", "HEAD", "--holdout"]), @"
    overnight compare · study main · Ctrl-C tells what is known so far
    loss (lower is better) · budget 10s · at most 20 pairs: 6m 40s by the budget
    sandbox standard: every command has files, processes and a network of its own
    this opens the holdout: one opening of the 3 that are left, whatever comes of it
      pair            A            B  B better by
         1            4            1           +3
      held           16           25           −9
         2            4            1           +3
      held           16           25           −9
         3            4            1           +3
      held           16           25           −9
         4            4            1           +3
      held           16           25           −9

    A           loss 4  (HEAD~1, e09fc50649)
    B           loss 1  (HEAD, c591d1ad3c)
    difference  +3
    pairs       4 (seed [SEED]): the same number each time, with as many seeds
    holdout A   loss 16
    holdout B   loss 25
    difference  −9
    pairs       4: the same number each time, with as many seeds
    opening     1 of 3
    trust: separated · sandbox standard · 4 seeds, all the same · holdout opened 1 of 3
    by the evaluation: B is better than A by 3
    by the holdout: B is worse than A by 9
    they disagree: what was gained was gained on the evaluation's data, and lost beyond it
    --- exit code 11
    ");
    let said = repo.overnight(&["compare", "HEAD~3", "HEAD~2", "--holdout", "--json"]).ended(0);
    let said = json(&said.stdout);
    assert_eq!((&said["result"], &said["difference"]), (&"better".into(), &208.0.into()), "{said:#}");
    let held = &said["holdout"];
    assert_eq!((&held["result"], &held["difference"]), (&"better".into(), &112.0.into()), "{said:#}");
    assert_eq!((&held["a"], &held["b"], &held["opening"]), (&121.0.into(), &9.0.into(), &2.into()), "{said:#}");
    assert_eq!((&held["opened"], &held["budget"]), (&2.into(), &3.into()), "{said:#}");
    assert_eq!(held["pairs"].as_array().unwrap().len(), 4, "{said:#}");
    assert!(repo.strays().is_empty() && !repo.state().join("check").exists());
}

#[test]
fn openings_are_counted_once_for_each_comparison_and_refused_when_they_are_spent() {
    let repo = separated();
    repo.overnight(&["compare", "HEAD~3", "HEAD~2"])
        .ended(0)
        .says("holdout     not opened (3 of 3 openings left): --holdout opens it")
        .says("· holdout unopened\n");
    for opening in 1..=3 {
        let said = repo.overnight(&["compare", "HEAD~3", "HEAD~2", "--holdout"]).ended(0);
        said.says(&format!("opening     {opening} of 3\n")).says(&format!("· holdout opened {opening} of 3\n"));
    }
    let refused = repo.overnight(&["compare", "HEAD~3", "HEAD~2", "--holdout"]).ended(3);
    assert!(!refused.stdout.contains("pair"), "nothing is run: {refused}");
    refused.says("no opening of the holdout is left: 3 of 3 are spent").says("hint: hold out data");
    repo.overnight(&["compare", "HEAD~3", "HEAD~2"]).ended(0).says("not opened, and none of 3 openings is left");
    assert_eq!(openings(&repo), serde_json::json!({ "opened": 3, "budget": 3 }));
    // Who did what, and what came of it.
    let book = fs::read_to_string(repo.state().join("holdout.jsonl")).unwrap();
    let lines: Vec<Json> = book.lines().map(json).collect();
    assert_eq!(lines.len(), 6, "{book}");
    assert_eq!((&lines[0]["opening"], &lines[0]["for"]["a"]["name"]), (&1.into(), &"HEAD~3".into()), "{book}");
    assert_eq!(lines[0]["for"]["b"]["commit"], repo.git(&["rev-parse", "HEAD~2"]).as_str());
    assert_eq!((&lines[1]["outcome"], &lines[1]["was"]["result"]), (&1.into(), &"better".into()), "{book}");
    // What was looked at is written down, so that other data would show.
    assert_eq!(lines[0]["for"]["files"], lines[4]["for"]["files"], "{book}");
}

#[test]
fn without_a_holdout_there_is_none_to_open() {
    let repo = Repo::new();
    repo.overnight(&["compare", "HEAD", ".", "--holdout"])
        .ended(2)
        .says("the triplet has no holdout")
        .says("[holdout]");
    assert!(!repo.dir().join(".overnight").exists());
}

#[test]
fn an_opening_counts_although_it_was_killed() {
    for signal in [Signal::KILL, Signal::INT] {
        let repo = separated();
        let stuck = wait(&repo, "stuck");
        repo.write("score.sh", &format!("test $1 = label || {{\n{stuck}}}\n{SCORE}")).commit("a holdout that hangs");
        let engine = repo.start(&["compare", "HEAD", "HEAD", "--holdout"]);
        until("the holdout to be opened", || fs::read_dir(repo.beside("stuck")).unwrap().count() == 1);
        engine.signal(signal);
        let ran = engine.wait();
        until("everything to be gone", || repo.strays().is_empty());
        assert_eq!(openings(&repo)["opened"], 1, "{ran}");
        let book = fs::read_to_string(repo.state().join("holdout.jsonl")).unwrap();
        let outcome = if signal == Signal::INT { "\"result\":\"interrupted\"" } else { "\"opening\":1" };
        assert!(book.contains(outcome), "{book}");
    }
}

#[test]
fn two_at_once_do_not_both_have_the_last_opening() {
    let repo = separated();
    repo.write("overnight.toml", &TRIPLET.replace("budget = 3", "budget = 1"));
    let waits = wait(&repo, "waiting");
    repo.write("run.sh", &format!("{waits}. ./knobs.sh\n")).commit("both begin before either has opened it");
    let mut engines = [(); 2].map(|()| repo.start(&["compare", "HEAD", ".", "--holdout"]));
    let are_waiting = || fs::read_dir(repo.beside("waiting")).unwrap().count() == 2;
    until("both to run", || are_waiting() || engines.iter_mut().any(|engine| engine.has_ended()));
    fs::write(repo.beside("go"), "").unwrap();
    let mut ran = engines.map(|engine| engine.wait());
    ran.sort_by_key(|ran| ran.code);
    let [refused, opened] = ran;
    refused.ended(3).says("no opening of the holdout is left: 1 of 1 are spent");
    opened.ended(10).says("opening     1 of 1");
    assert_eq!(openings(&repo), serde_json::json!({ "opened": 1, "budget": 1 }));
}

#[test]
fn where_candidate_code_gives_its_own_number_the_holdout_is_run_in_place_of_run() {
    let repo = Repo::new();
    repo.write("test.sh", "x=$(sed -n 's/^x = //p' knobs.py)\necho \"loss: $(( x + $(cat held.txt) ))\"\n");
    fs::create_dir(repo.outside("far")).unwrap();
    fs::write(repo.outside("far/held"), "3").unwrap();
    // One of them is not tracked, and one is not in the repository at all.
    repo.write("held.txt", "100\n");
    let far = repo.outside("far/held");
    repo.triplet(&format!(
        "[holdout]\nscore = \"test $(cat {0}) = 3 && sh test.sh\"\nfiles = [\"test.sh\", \"held.txt\", \"{0}\"]",
        far.display()
    ));
    repo.git(&["add", "overnight.toml", "test.sh"]);
    repo.git(&["commit", "-qm", "a holdout"]);
    repo.write("knobs.py", "x = 2\n");
    for tier in ["standard", "landlock", "none"] {
        let said = repo.overnight(&["compare", "HEAD", ".", "--holdout", "--sandbox", tier]).ended(0);
        let said = said.says("by the evaluation: B is better than A by 3\n").says("holdout A   loss 105\n");
        said.says("at most 20 pairs: 13m 20s by the budget").says("by the holdout: B is better than A by 3\n");
    }
}

#[test]
fn every_tier_and_every_user_opens_it() {
    for repo in Repo::everybodys() {
        repo.write("overnight.toml", TRIPLET).write("run.sh", ". ./knobs.sh\n").write("score.sh", SCORE);
        repo.write("label", "3\n").write("held/label", "9\n").write("held/deep/er/x", "");
        repo.write("knobs.sh", "echo 5 > $OVERNIGHT_OUT/answer\n").commit("five");
        repo.write("knobs.sh", "echo 4 > $OVERNIGHT_OUT/answer\n");
        for tier in ["standard", "landlock", "none"] {
            let ran = repo.overnight(&["compare", "HEAD", ".", "--holdout", "--sandbox", tier]);
            assert_eq!(ran.code, Some(11), "{} {ran}", repo.whose());
            ran.says("by the holdout: B is worse than A by 9\n");
        }
    }
}

/// Whoever finds what is held out says so in the number, or fails.
#[test]
fn nobody_else_can_read_what_is_held_out() {
    for repo in Repo::everybodys() {
        let secret = "the-answer-is-9";
        fs::create_dir(repo.outside("far")).unwrap();
        fs::write(repo.outside("far/held"), secret).unwrap();
        std::os::unix::fs::chown(repo.outside("far/held"), repo.user(), repo.user()).unwrap();
        let (checkout, far) = (repo.dir(), repo.outside("far"));
        let look = format!(
            "found() {{ cat held/label untracked {0}/held/label {0}/untracked {1}/held /proc/*/root{1}/held \
             /proc/*/cwd/held/label 2>/dev/null; grep -rs {secret} {0} {1} .git .overnight $TMPDIR 2>/dev/null; }}\n\
             if found | grep -q {secret}; then saw=1; else saw=0; fi\n",
            checkout.display(),
            far.display(),
        );
        repo.write("look.sh", &look).write("label", "3\n").write("held/label", secret).write("untracked", secret);
        // By the way it is written here the text itself is nothing to be found.
        let hide = |text: &str| text.replace(secret, "the-answer-''is-9");
        repo.write("look.sh", &hide(&look));
        repo.write("run.sh", ". ./look.sh\n. ./knobs.sh\ntest $saw = 0 || echo 1000 > $OVERNIGHT_OUT/answer\n");
        repo.write("score.sh", &format!(". ./look.sh\ntest $saw = 0 || {{ echo loss: 999999; exit; }}\n{SCORE}"));
        repo.write("guard.sh", ". ./look.sh\nexit $saw\n");
        repo.write(
            "agent.sh",
            ". ./look.sh\necho 4 > n; echo 'echo 4 > $OVERNIGHT_OUT/answer' > knobs.sh\necho \"saw $saw\"\n",
        );
        repo.write("test.sh", ". ./look.sh\necho \"loss: $saw\"\n");
        repo.write("knobs.sh", "echo 5 > $OVERNIGHT_OUT/answer\n");
        let holdout = format!("score = \"sh test.sh\"\nfiles = [\"held\", \"untracked\", \"{}/held\"]", far.display());
        let triplet = TRIPLET.replace("score = \"sh score.sh held/label\"\nfiles = \"held\"", &holdout);
        repo.write("overnight.toml", &triplet);
        repo.triplet(
            "[[guard]]\nrun = \"sh guard.sh\"\n[agent]\nuse = \"command\"\ncommand = \"sh agent.sh untracked\"",
        );
        repo.write(".gitignore", "untracked\n").commit("everybody looks");
        for tier in ["standard", "landlock"] {
            // A study of its own for each.
            fs::remove_dir_all(repo.dir().join(".overnight")).ok();
            repo.git_ran(&["branch", "-D", "overnight/main"]);
            repo.git_ran(&["update-ref", "-d", "refs/overnight/main/baseline"]);
            let ran = repo.ok(&["run", "--no-tui", "--experiments", "1", "--sandbox", tier]);
            let kept = repo.experiment(1);
            assert_eq!(
                (&kept["verdict"], &kept["metric"], &kept["description"]),
                (&"kept".into(), &1.0.into(), &"saw 0".into()),
                "{} {tier}: {kept:#}\n{ran}",
                repo.whose()
            );
            assert_eq!(repo.experiment(0)["metric"], 4.0);
            // And it is there to be found, where it should be.
            repo.overnight(&["compare", "HEAD", "champion", "--holdout", "--sandbox", tier])
                .says("holdout A   loss 1\n");
        }
    }
}

#[test]
fn without_a_sandbox_it_is_in_no_working_copy() {
    let repo = separated().without_sandbox();
    let look = "test -z \"$(ls held)\" || exit 1\n";
    repo.write("run.sh", &format!("{look}. ./knobs.sh\n")).write("guard.sh", look);
    repo.write("score.sh", &format!("test $1 != label || {{ {look} }}\n{SCORE}"));
    repo.write("agent.sh", &format!("{look}echo 'echo 3 > $OVERNIGHT_OUT/answer' > knobs.sh\n"));
    repo.triplet("[[guard]]\nrun = \"sh guard.sh\"\n[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"");
    repo.commit("everybody looks");
    repo.run(1);
    assert_eq!(repo.experiment(1)["verdict"], "kept");
    repo.overnight(&["compare", "baseline", "champion", "--holdout"]).ended(11).says("holdout B   loss 36\n");
    repo.assert_sound();
}

#[test]
fn nothing_that_an_agent_is_told_says_what_the_holdout_said() {
    let repo = separated();
    // A number that nothing else gives.
    repo.write("held/label", "7777\n");
    let brief = repo.beside("brief");
    repo.write("agent.sh", &format!("cat >> {}\necho 'echo 3 > $OVERNIGHT_OUT/answer' > knobs.sh\n", brief.display()));
    repo.triplet("[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"").commit("an agent");
    repo.run(0);
    let said = repo.overnight(&["compare", "HEAD~1", ".", "--holdout"]);
    said.says("60419529").says("holdout A   loss");
    repo.run(1);
    let told = fs::read_to_string(&brief).unwrap();
    assert!(told.contains("\"metric\"") && !told.contains("60419529") && !told.contains("held"), "{told}");
    for entry in fs::read_dir(repo.state()).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let has = fs::read(entry.path()).unwrap_or_default().windows(8).any(|window| window == b"60419529");
        assert_eq!(has, name == "holdout.jsonl", "{name}");
    }
    let shown = repo.ok(&["show", "1", "--json"]).stdout + &repo.ok(&["log", "--json"]).stdout;
    assert!(!shown.contains("60419529"), "{shown}");
    repo.assert_sound();
}

#[test]
fn check_tries_it_without_showing_or_counting_anything() {
    let repo = separated();
    repo.write("held/label", "7777\n").commit("a number that nothing else gives");
    let ran = repo.ok(&["check"]);
    assert!(!format!("{ran}").contains("60419529"), "{ran}");
    assert!(!fs::read_to_string(repo.state().join("check.json")).unwrap().contains("60419529"));
    let ran =
        ran.says("ok    holdout  `sh score.sh held/label` gives a number, which is not shown; unopened, with 3\n");
    ran.says("4 seeds, all the same · holdout unopened\n");
    assert_eq!(openings(&repo)["opened"], 0);
    repo.write("held/label", "8 *\n");
    let ran = repo.ok(&["check"]).says("warn  holdout  `sh score.sh held/label` gave no number");
    ran.says("an opening that fails counts as well");
}

#[test]
fn a_holdout_may_come_and_change_while_a_study_goes_on() {
    let repo = Repo::new();
    repo.run(2);
    repo.write("test.sh", "x=$(sed -n 's/^x = //p' knobs.py)\necho \"loss: $(( x * x ))\"\n");
    repo.triplet("[holdout]\nscore = \"sh test.sh\"\nfiles = \"test.sh\"").commit("a holdout, later");
    let ran = repo.run(1);
    assert!(!ran.stderr.contains("changed since the baseline"), "{ran}");
    ran.says("· holdout unopened\n");
    repo.write("test.sh", &repo.read("test.sh").replace("x * x", "x * x * x"));
    repo.run(1);
    // Neither of the two has the file, and both are scored by the one that is there now.
    let ran = repo.overnight(&["compare", "baseline", "champion", "--holdout"]).ended(0);
    let ran = ran.says("holdout A   loss 125\n").says("holdout B   loss 27\n");
    assert!(!ran.stdout.contains("more than the surface differs"), "{ran}");
    repo.ok(&["status"]).says("· holdout opened 1 of 20\n");
    repo.ok(&["log"]).says("· holdout opened 1 of 20\n");
    repo.ok(&["show", "champion"]).says("· holdout opened 1 of 20\n");
    repo.overnight(&["audit", "baseline..champion"]).says("· holdout opened 1 of 20\n");
    repo.assert_sound();
}

#[test]
fn a_side_that_the_holdout_cannot_score_does_not_run() {
    let repo = separated();
    repo.write("score.sh", &format!("{SCORE}test $1 = label || test $(cat $OVERNIGHT_ARTIFACTS/answer) != 4\n"));
    repo.commit("a holdout that one answer breaks");
    let ran = repo.overnight(&["compare", "HEAD~2", ".", "--surface-only", "--holdout"]).ended(11);
    ran.says("B gave no number on the holdout: the scorer failed: exit code 1; it is tried once more")
        .says("B is worse: A runs, and B gave no number on the holdout");
    let ran = repo.overnight(&["compare", ".", "HEAD~2", "--holdout", "--json"]).ended(1);
    let said = json(&ran.stdout);
    assert_eq!((&said["result"], &said["holdout"]["opened"]), (&"a_does_not_run".into(), &2.into()), "{ran}");
}

/// Whoever asks for it by name is not told that it is there, nor how to get it.
#[test]
fn a_trial_that_misses_what_is_held_out_gets_no_hint() {
    let repo = Repo::scored_by("cat ./held.csv || exit 1\necho loss: 4\n");
    repo.write(".gitignore", "held.csv\n").commit("ignored");
    repo.write("held.csv", "1\n");
    repo.overnight(&["check"]).ended(2).says("`inputs = [\"held.csv\"]`");
    repo.triplet("[holdout]\nscore = \"cat held.csv\"\nfiles = \"held.csv\"");
    let ran = repo.overnight(&["check"]).ended(2);
    assert!(!ran.stderr.contains("inputs") && !ran.stdout.contains("inputs"), "{ran}");
}

#[test]
fn what_every_command_can_read_cannot_be_held_out() {
    let repo = Repo::new();
    repo.triplet("[holdout]\nscore = \"cat /usr/bin/env\"\nfiles = \"/usr/bin/env\"");
    for tier in ["standard", "landlock"] {
        let ran = repo.overnight(&["compare", "HEAD", ".", "--sandbox", tier]).ended(3);
        ran.says("holdout file /usr/bin/env lies where every command can read it").says("move it out of");
    }
}
