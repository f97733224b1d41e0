//! A person's word on what was not believed.

use overnight_engine::load::locate;
use overnight_engine::lock::Holder;
use overnight_engine::review;
use overnight_model::event::Reviewed;
use overnight_model::{ExperimentId, Verdict};
use rustix::process::Signal;

use crate::support::{Repo, signal, until};

/// A study that believes a loss of 1 to 10: `x = 3` gives 0, which waits for a person.
fn suspicious(plan: &[&str]) -> Repo {
    let agent = r#"n=$(sed -n 's/.*"experiment":\([0-9]*\),"metric".*/\1/p')
test -f ideas/$n && . ./ideas/$n; echo idea $n
"#;
    let repo = Repo::with_agent(agent);
    let triplet = repo.read("overnight.toml").replace("goal = \"min\"", "goal = \"min\", plausible = [1, 1000]");
    repo.write("overnight.toml", &format!("{triplet}ahead = 0\n"));
    for (at, idea) in plan.iter().enumerate() {
        repo.write(&format!("ideas/{}", at + 1), idea);
    }
    repo.commit("a plan");
    repo
}

const HONEST: &str = "echo 'x = 4' > knobs.py";
const BOLD: &str = "echo 'x = 3' > knobs.py";

#[test]
fn what_waits_is_named_first_and_listed_with_its_claim() {
    let repo = suspicious(&[BOLD]);
    let ran = repo.run(1);
    let end = ran.stderr.split("\n\n").last().unwrap().to_owned();
    assert!(end.starts_with("review     1 suspect waits for your word: overnight review\n"), "{ran}");
    let bare = repo.ok(&[]);
    assert!(bare.stdout.lines().nth(1).unwrap().starts_with("review     1 suspect waits"), "{bare}");
    bare.says("next       overnight review");
    insta::assert_snapshot!(repo.ok(&["review"]), @"
        1  idea 1
           claims     loss 0, a gain of +4
           suspect    0 is outside the plausible range 1 to 1000
    next       overnight show 1, then overnight review 1 --keep -m WHY, or --discard
    --- exit code 0
    ");
    assert_eq!(repo.status()["suspects"], 1);
    let listed: serde_json::Value = serde_json::from_str(repo.ok(&["review", "--json"]).stdout.trim()).unwrap();
    assert_eq!((&listed["experiment"], &listed["verdict"]), (&1.into(), &"suspect".into()));
}

#[test]
fn what_a_person_keeps_is_the_champion_and_the_study_goes_on_from_it() {
    let repo = suspicious(&[BOLD, HONEST]);
    repo.run(1);
    repo.ok(&["review", "1", "--keep", "-m", "3 is\nthe optimum"]).says("experiment 1 is the champion");
    assert_eq!(repo.git(&["show", "overnight/main:knobs.py"]), "x = 3");
    let message = repo.git(&["log", "-1", "--format=%B", "overnight/main"]);
    assert!(
        message.contains("Overnight-Verdict: kept (by a person: 3 is the optimum; it was suspect: 0 is"),
        "{message}"
    );
    assert!(message.contains("Overnight-Metric: loss 0\n"), "{message}");
    repo.assert_sound();
    let status = repo.status();
    assert_eq!((&status["kept"], &status["suspects"]), (&1.into(), &serde_json::Value::Null));
    assert_eq!(status["champion"]["metric"], 0.0);
    repo.ok(&["status"]).says("1 experiment: 1 kept");
    repo.run(1);
    assert_eq!(repo.verdicts()[1].0, "discarded", "it is compared with what was kept");
    repo.assert_sound();
}

#[test]
fn what_a_person_discards_is_discarded_and_moves_nothing() {
    let repo = suspicious(&[BOLD]);
    repo.run(1);
    let before = repo.git(&["rev-parse", "overnight/main"]);
    repo.ok(&["review", "1", "--discard"]);
    assert_eq!(repo.git(&["rev-parse", "overnight/main"]), before);
    let (verdict, reason) = repo.verdicts().remove(0);
    assert_eq!(verdict, "discarded");
    assert_eq!(reason, "by a person; it was suspect: 0 is outside the plausible range 1 to 1000");
    repo.ok(&["status"]).says("1 experiment: 1 not better");
    repo.ok(&["review"]).says("nothing waits for your word");
    repo.assert_sound();
}

#[test]
fn only_a_suspect_can_be_reviewed_and_only_once() {
    let repo = suspicious(&[HONEST, BOLD]);
    let never_run = repo.overnight(&["review"]);
    assert_eq!(never_run.code, Some(2), "{never_run}");
    repo.run(2);
    let refused = |args: &[&str], said: &str| {
        let ran = repo.overnight(args);
        assert_eq!(ran.code, Some(2), "{ran}");
        ran.says(said);
    };
    refused(&["review", "1", "--keep"], "experiment 1 is not suspect: it has the verdict `kept`");
    refused(&["review", "0", "--discard"], "experiment 0 is not suspect: it has the verdict `baseline`");
    refused(&["review", "7", "--keep"], "there is no experiment 7");
    refused(&["review", "2", "--keep", "--discard"], "cannot be used with");
    refused(&["review", "2", "-m", "why"], "add --keep or --discard");
    repo.ok(&["review", "2", "--keep"]);
    refused(&["review", "2", "--keep"], "experiment 2 is not suspect: it has the verdict `kept`");
    refused(&["review", "2", "--discard"], "experiment 2 is not suspect: it has the verdict `kept`");
    repo.assert_sound();
}

#[test]
fn a_suspect_of_an_older_champion_is_tried_again_with_the_command_that_is_named() {
    let repo = suspicious(&[BOLD, HONEST]);
    repo.run(2);
    assert_eq!(repo.verdicts()[1].0, "kept");
    let ran = repo.overnight(&["review", "1", "--keep"]);
    assert_eq!(ran.code, Some(3), "{ran}");
    let command = ran.stderr.split('`').find(|part| part.starts_with("git ")).unwrap().to_owned();
    repo.terminal(&command);
    assert_eq!(repo.verdicts()[2].0, "suspect", "it is no duplicate, and as odd as it was: {command}");
    repo.ok(&["review", "3", "--keep"]);
    assert_eq!(repo.git(&["show", "overnight/main:knobs.py"]), "x = 3");
    repo.ok(&["review", "1", "--discard"]);
    repo.assert_sound();
}

#[test]
fn nobody_reviews_while_a_run_is_going_on() {
    let repo = suspicious(&[BOLD, "sleep 600"]);
    let mut run = repo.command(&["run", "--no-tui", "--experiments", "2"]).spawn().unwrap();
    until("the first verdict", || {
        repo.state().join("ledger.db").exists()
            && repo.overnight(&["log", "--json"]).stdout.contains("\"verdict\":\"suspect\"")
    });
    let ran = repo.overnight(&["review", "1", "--keep"]);
    assert_eq!(ran.code, Some(3), "{ran}");
    repo.ok(&["review"]).says("idea 1");
    ran.says("wait for it, or stop it with `kill");
    signal(Signal::INT, run.id());
    run.wait().unwrap();
    repo.ok(&["review", "1", "--keep"]);
    repo.assert_sound();
}

/// Records a person's word and gets no further, as a command that was killed there.
fn killed_after_its_record(repo: &Repo) {
    let site = locate(&repo.dir(), None).unwrap();
    let me = Holder { pid: std::process::id(), what: "a test".to_owned(), dir: repo.dir() };
    let word = Reviewed { experiment: ExperimentId(1), verdict: Verdict::Kept, why: String::new() };
    let mut review = review::Review::open(&site, &me).unwrap();
    review.record(word, overnight_engine::clock::now()).unwrap();
}

#[test]
fn a_word_that_was_recorded_and_not_carried_out_is_carried_out_by_whoever_comes_next() {
    for next in [["review", "1", "--keep"].as_slice(), &["run", "--no-tui", "--experiments", "0"]] {
        let repo = suspicious(&[BOLD]);
        repo.run(1);
        killed_after_its_record(&repo);
        assert_eq!(repo.git(&["show", "overnight/main:knobs.py"]), "x = 5");
        repo.assert_sound();
        repo.ok(next);
        assert_eq!(repo.git(&["show", "overnight/main:knobs.py"]), "x = 3", "{next:?}");
        assert_eq!(repo.verdicts()[0].0, "kept");
        repo.assert_sound();
    }
}
