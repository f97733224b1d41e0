//! `kill -9` at any moment, then `run` again: nothing is lost, nothing is done twice, nothing stays behind.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::{Repo, signal, until};

/// Leaves a grandchild in a session of its own, now and then; sometimes better, mostly not.
const SCORE: &str = r#"setsid sleep 1000 > /dev/null 2>&1 &
sh -c 'sleep 1000 & sleep 1000' > /dev/null 2>&1 &
sleep 0.01
a=$(sed -n "s/^a = //p" knobs.py); b=$(sed -n "s/^b = //p" knobs.py)
echo "$a $b" | awk '{ print "loss: " ($1-30)*($1-30) + ($2-40)*($2-40) }'
"#;

/// Proposes anything, and forgets a child.
const AGENT: &str = r#"sleep 1000 > /dev/null 2>&1 &
n=$(od -An -N2 -tu2 /dev/urandom)
sed "s/^a = .*/a = $((n % 60))/; s/^c = .*/c = $n/" knobs.py > $TMPDIR/new; cat $TMPDIR/new > knobs.py; echo "a is $((n % 60))"
"#;

/// A small generator: the same seed gives the same storm.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// One storm; `STORM_SEED` has another one, or a failed one again.
fn storm(seed: u64, slots: &str, rounds: u32, more: &str) {
    let seed = std::env::var("STORM_SEED").map_or(seed, |seed| seed.parse().unwrap());
    let mut dice = Dice(seed);
    let repo = Repo::scored_by(SCORE);
    repo.write("knobs.py", "a = 10\nb = 90\nc = 0.5\nd = 0.25\n").write("notes.txt", "mine\n");
    repo.write("agent.sh", AGENT).triplet(more).commit("knobs");
    repo.write("notes.txt", "stashed\n").git(&["stash", "-q"]);
    repo.program(".git/hooks/post-commit", "#!/bin/sh\ntouch hooked\n");
    repo.program(".git/hooks/reference-transaction", "#!/bin/sh\ntouch hooked\n");
    let untouched = repo.fingerprint();
    let mut seen: BTreeMap<u64, String> = BTreeMap::new();
    for round in 0..rounds {
        let engine = repo.start(&["run", "--no-tui", "--slots", slots]);
        let keeper = || {
            let mut found = None;
            until("the keeper to be there", || {
                found = engine.keeper();
                found.is_some()
            });
            found.unwrap()
        };
        let keeper = keeper();
        std::thread::sleep(Duration::from_millis(dice.roll(250)));
        match dice.roll(3) {
            0 => engine.signal(Signal::KILL),
            1 => signal(Signal::KILL, keeper),
            _ => {
                engine.signal(Signal::KILL);
                signal(Signal::KILL, keeper);
            }
        }
        let ran = engine.wait();
        assert!(ran.code.is_none() || ran.code == Some(1), "round {round} of seed {seed}\n{ran}");
        until("the trials to be gone", || repo.strays().is_empty());
        // Sound at any moment, also half-way through a keep; or not begun.
        let verified = repo.overnight(&["verify"]);
        assert!(matches!(verified.code, Some(0 | 2)), "round {round} of seed {seed}\n{verified}");
        // What was acknowledged stays as it was.
        for row in repo.log() {
            let Some(verdict) = row["verdict"].as_str() else { continue };
            let number = row["experiment"].as_u64().unwrap();
            let before = seen.insert(number, verdict.to_owned());
            assert!(before.is_none_or(|before| before == verdict), "seed {seed}, round {round}: {row}");
        }
    }
    repo.ok(&["run", "--no-tui", "--slots", slots, "--experiments", "10"]);
    let log = repo.log();
    for (at, row) in log.iter().enumerate() {
        assert_eq!(row["experiment"], at as u64, "seed {seed}: a number is missing");
        assert!(row["verdict"].is_string(), "seed {seed}: {row}");
        if let Some(verdict) = seen.get(&(at as u64)) {
            assert_eq!(row["verdict"], verdict.as_str(), "seed {seed}");
        }
    }
    assert!(log.len() > 10, "seed {seed}: only {} experiments", log.len());
    let db = repo.ledger();
    let twice = "SELECT count(*) FROM (SELECT experiment FROM events WHERE body LIKE '%\"judged\"%' GROUP BY experiment HAVING count(*) > 1)";
    assert_eq!(db.query_row(twice, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "seed {seed}: two verdicts");
    drop(db);
    repo.assert_sound();
    assert_eq!(repo.fingerprint(), untouched, "seed {seed}");
}

#[test]
fn one_slot() {
    storm(1, "1", 25, "");
}

#[test]
fn three_slots() {
    storm(2, "3", 25, "");
}

#[test]
fn two_slots_with_an_agent_and_guards() {
    let more = "[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"\n\
                [[guard]]\nrun = \"sleep 0.01\"\nwhen = \"first\"\n[[guard]]\nrun = \"setsid sleep 1000 & sleep 0.01\"";
    storm(3, "2", 20, more);
}

#[test]
fn a_keeper_that_dies_is_named_and_the_run_can_go_on() {
    let repo = Repo::scored_by("sleep 1000\n");
    let engine = repo.start(&["run", "--no-tui"]);
    until("a trial to run", || !repo.strays().is_empty());
    signal(Signal::KILL, engine.keeper().unwrap());
    insta::assert_snapshot!(engine.wait().ended(1), @"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent tuner · 1 slot
    sandbox standard: every command has files, processes and a network of its own
        #  verdict                loss         gain  what (why)
    error: the keeper or the job's init ended without a report
    hint: run `overnight run` again: it goes on where it was
    --- exit code 1
    ");
    assert_eq!(repo.strays(), Vec::<u32>::new());
    repo.write("score.sh", "echo loss: 1\n").commit("quick");
    repo.run(1);
    repo.assert_sound();
}

#[test]
fn an_engine_that_was_killed_is_seen_as_such() {
    let repo = Repo::scored_by("grep -q 5 knobs.py || sleep 1000\necho loss: 4\n");
    let engine = repo.start(&["run", "--no-tui"]);
    until("the first experiment", || repo.events("trial_started") > 3);
    engine.signal(Signal::KILL);
    engine.wait();
    until("the trials to be gone", || repo.strays().is_empty());
    insta::assert_snapshot!(repo.ok(&["status"]), @"
    study      main · the last run was killed; `overnight run` goes on where it was
    baseline   loss 4  ([SHORT])
    champion   loss 4  ([SHORT], the baseline, nothing better yet)
    noise      none seen in 3 repeats
    trials     3 for 0 experiments: 3 calibrate
    so far     0 experiments: 1 open
    trust: cooperative · sandbox standard · 3 seeds, all the same · no holdout
    branch     overnight/main · read it with `git log overnight/main`
    --- exit code 0
    ");
    assert_eq!((&repo.status()["state"], &repo.status()["running"]), (&"interrupted".into(), &0.into()));
    insta::assert_snapshot!(repo.ok(&["log"]), @"
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  open                      -            -  x 5 → 8: not moved before
    --- to people
    0 experiments: 1 open · trust: cooperative · sandbox standard · 3 seeds, all the same · no holdout
    --- exit code 0
    ");
}

#[test]
fn an_engine_killed_as_it_began_has_not_run_yet() {
    let repo = Repo::new();
    std::fs::create_dir_all(repo.state()).unwrap();
    for blank in ["", "PRAGMA journal_mode = WAL"] {
        std::fs::write(repo.state().join("ledger.db"), "").unwrap();
        repo.ledger().execute_batch(blank).unwrap();
        assert_eq!(repo.status()["state"], "new");
        repo.ok(&["log"]).says("no experiments yet");
        repo.overnight(&["verify"]).ended(2).says("has not been run yet");
    }
    repo.run(1);
    repo.assert_sound();
}
