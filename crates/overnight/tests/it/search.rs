//! `overnight log --search`.

use crate::support::{Json, Repo};

/// Three ideas: one is kept, one is worse, one crashes.
fn tried() -> Repo {
    let agent = r#"n=$(sed -n 's/.*"experiment":\([0-9]*\),"metric".*/\1/p')
test -f ideas/$n && . ./ideas/$n
"#;
    let repo = Repo::with_agent(agent);
    repo.triplet("ahead = 0");
    for (at, idea) in [
        "echo 'x = 4' > knobs.py; echo lower the learning_rate",
        "echo 'x = 8 ' > knobs.py; echo 'echo widen_the_layer' >> knobs.py; echo the \\\"second\\\" idea NEAR it",
        "echo 'x = 9 / Boom' > knobs.py; echo dropout",
    ]
    .iter()
    .enumerate()
    {
        repo.write(&format!("ideas/{}", at + 1), idea);
    }
    repo.commit("a plan");
    repo
}

fn found(repo: &Repo, words: &str) -> Vec<u64> {
    let shown = repo.ok(&["log", "--search", words, "--json"]).stdout;
    shown.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()["experiment"].as_u64().unwrap()).collect()
}

#[test]
fn what_was_tried_is_found_by_its_idea_its_reason_its_agent_and_its_lines() {
    let repo = tried();
    repo.run(3);
    assert_eq!(found(&repo, "learning rate"), [1], "the words of an idea");
    assert_eq!(found(&repo, "learn"), [1], "a word may go on");
    assert_eq!(found(&repo, "widen_the_layer"), [2], "a line that was changed");
    assert_eq!(found(&repo, "command"), [1, 2, 3], "an agent");
    assert_eq!(found(&repo, "worse by"), [2], "a reason");
    assert_eq!(found(&repo, "widen dropout"), [0u64; 0], "all of the words");
    for odd in
        ["\"second\"", "NEAR", "second AND*", "\"", "*", "(second", "x:y", "col^umn", "second NOT", "-second", "{a"]
    {
        let ran = repo.overnight(&["log", &format!("--search={odd}")]);
        assert!(matches!(ran.code, Some(0 | 2)) && !ran.stderr.contains("syntax"), "{odd}: {ran}");
    }
    assert_eq!(found(&repo, "\"second\" NEAR"), [2]);
    let row = repo.ok(&["log", "--json"]).stdout.lines().nth(1).unwrap().to_owned();
    assert_eq!(repo.ok(&["log", "--search", "learning", "--json"]).stdout.trim_end(), row, "the same object as in log");
    insta::assert_snapshot!(repo.ok(&["log", "--search", "dropout"]), @"
        #  verdict                loss         gain  what (why)
        3  crashed                   -            -  dropout (exit code 2)
    --- exit code 0
    ");
    repo.ok(&["log", "--search", "nowhere"]).says("nothing that was tried has all of these words");
    repo.overnight(&["log", "--search", "**"]).ended(2).says("there is no word to search for");
    repo.assert_sound();
}

#[test]
fn the_index_follows_the_ledger_and_is_made_anew_where_it_is_lost_or_foreign() {
    let repo = tried();
    repo.run(1);
    assert_eq!(found(&repo, "learning"), [1]);
    repo.run(1);
    assert_eq!((found(&repo, "second"), found(&repo, "kept")), (vec![2], vec![]), "what came since is found");
    let index = repo.state().join("search.db");
    let before = std::fs::read(&index).unwrap();
    std::fs::write(&index, "no database at all").unwrap();
    assert_eq!(found(&repo, "second"), [2]);
    std::fs::remove_file(&index).unwrap();
    assert_eq!(found(&repo, "second"), [2]);
    // The index of another ledger, which has as many events.
    let other = tried();
    other.run(2);
    std::fs::write(other.state().join("search.db"), before).unwrap();
    assert_eq!(found(&other, "second"), [2]);
    repo.assert_sound();
}

#[test]
fn all_looks_into_every_study_of_the_repository() {
    let repo = Repo::empty();
    let one = Repo::new();
    for name in ["fast", "small"] {
        repo.write(&format!("overnight/{name}.toml"), &one.read("overnight.toml"));
    }
    for file in ["knobs.py", "score.sh"] {
        repo.write(file, &one.read(file));
    }
    repo.commit("two studies");
    repo.ok(&["run", "--study", "fast", "--no-tui", "--experiments", "1"]);
    repo.ok(&["log", "--search", "tuner", "--study", "small"]).says("--all looks into the other studies");
    repo.ok(&["run", "--study", "small", "--no-tui", "--experiments", "1"]);
    let shown = repo.ok(&["log", "--search", "tuner", "--all", "--json"]).stdout;
    let studies: Vec<String> =
        shown.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()["study"].to_string()).collect();
    assert_eq!(studies, ["\"fast\"", "\"small\""]);
    repo.ok(&["log", "--search", "tuner", "--all"]).says("study fast\n").says("study small\n");
}
