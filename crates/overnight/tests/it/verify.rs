//! `verify` names the first thing that does not agree.

use std::fs;

use crate::support::{Ran, Repo};

/// A study with a keep and a few discards, damaged in one way.
#[track_caller]
fn damaged(damage: impl FnOnce(&Repo)) -> (Repo, Ran) {
    let repo = Repo::new();
    repo.run(3);
    repo.assert_sound();
    damage(&repo);
    let ran = repo.overnight(&["verify"]);
    (repo, ran.ended(5))
}

fn sql(repo: &Repo, statement: &str) {
    assert!(repo.ledger().execute(statement, []).unwrap() > 0, "{statement}");
}

#[test]
fn an_event_whose_body_was_edited() {
    let (_repo, ran) = damaged(|repo| {
        sql(
            repo,
            "UPDATE events SET body = replace(body, '25', '24') WHERE body LIKE '%\"judged\"%' AND experiment = 1",
        )
    });
    insta::assert_snapshot!(ran, @"
    --- to people
    error: the ledger is damaged: event 16: its hash does not fit its contents and the event before it
    --- exit code 5
    ");
}

#[test]
fn an_event_that_was_taken_out() {
    let (_repo, ran) = damaged(|repo| sql(repo, "DELETE FROM events WHERE seq = 7"));
    insta::assert_snapshot!(ran, @"
    --- to people
    error: the ledger is damaged: event 7: it is missing; the next one is 8
    --- exit code 5
    ");
}

#[test]
fn a_row_that_says_otherwise() {
    let (repo, ran) = damaged(|repo| sql(repo, "UPDATE experiments SET metric = -1 WHERE experiment = 1"));
    insta::assert_snapshot!(ran, @"
    --- to people
    error: experiment 1: the stored row differs from what the events say
    --- exit code 5
    ");
    insta::assert_snapshot!(repo.overnight(&["verify", "--json"]).ended(5), @r#"
    {"mismatch":"experiment 1: the stored row differs from what the events say","sound":false,"study":"main"}
    --- to people
    error: experiment 1: the stored row differs from what the events say
    --- exit code 5
    "#);
}

#[test]
fn a_row_without_a_history() {
    let copy = "INSERT INTO experiments SELECT 77, segment, parent, commit_id, agent, description, verdict, reason, metric, gain, gain_low, gain_high, trials, seconds, started_at, cost_usd FROM experiments WHERE experiment = 2";
    let (_repo, ran) = damaged(|repo| sql(repo, copy));
    insta::assert_snapshot!(ran, @"
    --- to people
    error: experiment 77 has a row but no events
    --- exit code 5
    ");
}

#[test]
fn a_summary_that_says_otherwise() {
    let (_repo, ran) = damaged(|repo| sql(repo, "UPDATE summary SET body = replace(body, '\"kept\":1', '\"kept\":2')"));
    insta::assert_snapshot!(ran, @"
    --- to people
    error: the stored summary differs from what the events say
    --- exit code 5
    ");
}

#[test]
fn contents_that_were_changed_or_lost() {
    let (_repo, ran) = damaged(|repo| {
        sql(repo, "UPDATE blobs SET bytes = CAST('x = 1' AS BLOB) WHERE bytes = CAST('x = 8' || char(10) AS BLOB)")
    });
    insta::assert_snapshot!(ran, @"
    --- to people
    error: event 13: the contents [HASH] it names are missing or damaged
    --- exit code 5
    ");
    let (_repo, ran) = damaged(|repo| sql(repo, "DELETE FROM blobs WHERE bytes = CAST('x = 8' || char(10) AS BLOB)"));
    ran.says("it names are missing or damaged");
}

#[test]
fn a_branch_that_is_elsewhere() {
    let (repo, ran) = damaged(|repo| {
        repo.git(&["branch", "-f", "overnight/main", "main"]);
    });
    insta::assert_snapshot!(ran, @"
    --- to people
    error: the branch overnight/main is at [COMMIT], the ledger says [COMMIT]
    --- exit code 5
    ");
    repo.git(&["branch", "-D", "overnight/main"]);
    repo.overnight(&["verify"]).ended(5).says("the branch overnight/main is gone, the ledger says");
}

#[test]
fn a_ref_of_the_store_that_is_elsewhere() {
    let (repo, ran) = damaged(|repo| {
        let store = repo.state().join("store.git");
        let head = repo.experiment(2)["commit"].as_str().unwrap().to_owned();
        repo.git(&["-C", store.to_str().unwrap(), "update-ref", "refs/overnight/1", &head]);
    });
    insta::assert_snapshot!(ran, @"
    --- to people
    error: experiment 1: its ref in the store is [COMMIT], the ledger says [COMMIT]
    --- exit code 5
    ");
    let store = repo.state().join("store.git");
    repo.git(&["-C", store.to_str().unwrap(), "update-ref", "-d", "refs/overnight/1"]);
    repo.overnight(&["verify"]).ended(5).says("experiment 1: its ref in the store is gone");
}

#[test]
fn an_object_of_the_store_that_is_gone_or_short() {
    let object = |repo: &Repo| {
        let commit = repo.experiment(1)["commit"].as_str().unwrap().to_owned();
        repo.state().join(format!("store.git/objects/{}/{}", &commit[..2], &commit[2..]))
    };
    let (_repo, ran) = damaged(|repo| fs::remove_file(object(repo)).unwrap());
    insta::assert_snapshot!(ran, @"
    --- to people
    error: experiment 1: commit [COMMIT] is missing from the store or damaged
    --- exit code 5
    ");
    let (_repo, ran) = damaged(|repo| {
        fs::remove_file(object(repo)).unwrap();
        fs::write(object(repo), "").unwrap();
    });
    ran.says("is missing from the store or damaged");
}

#[test]
fn a_run_mends_what_it_can_make_again() {
    let repo = Repo::new();
    repo.run(3);
    let store = repo.state().join("store.git");
    fs::remove_dir_all(&store).unwrap();
    repo.run(1);
    repo.assert_sound();
}

#[test]
fn a_damaged_ledger_is_not_written_to() {
    let (repo, _) = damaged(|repo| sql(repo, "UPDATE events SET at = at + 1 WHERE seq = 9"));
    insta::assert_snapshot!(repo.overnight(&["run"]).ended(1), @"
    --- to people
    error: the ledger is damaged: event 9: its hash does not fit its contents and the event before it
    hint: run `overnight verify`; nothing was changed
    --- exit code 1
    ");
}

/// Found by a reviewer: every proposal was written again, loose, and an engine's staging folder was cleared.
#[test]
fn verify_looks_and_does_not_touch() {
    let repo = Repo::new();
    repo.run(3);
    let store = repo.state().join("store.git");
    std::fs::create_dir_all(store.join("packing/pack-of-a-running-engine")).unwrap();
    let listed = || {
        let mut files = Vec::new();
        let mut folders = vec![store.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = path.symlink_metadata().unwrap();
                if metadata.is_dir() {
                    folders.push(path.clone());
                }
                files.push((path, metadata.modified().unwrap()));
            }
        }
        files.sort();
        files
    };
    let before = listed();
    repo.ok(&["verify"]);
    assert_eq!(listed(), before);
}
