//! The contract of `[agent] use = "command"`.

use crate::support::{Json, Repo, keys};

#[test]
fn the_brief_is_one_json_object_on_standard_input() {
    let agent = r#"cat > "$TMPDIR/brief"; cp "$TMPDIR/brief" "$BRIEFS/$(ls "$BRIEFS" | wc -l)"
n=$(sed -n "s/^x = //p" knobs.py); echo "x = $((n - 1))" > knobs.py
echo thinking aloud; echo; echo "less by one"; echo
"#;
    let repo = Repo::new();
    let briefs = repo.beside("briefs");
    std::fs::create_dir(&briefs).unwrap();
    repo.write("agent.sh", &agent.replace("$BRIEFS", briefs.to_str().unwrap()));
    repo.write("program.md", "Try less.\n");
    repo.triplet("[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"\nahead = 0").commit("an agent");
    repo.run(3);
    let text = std::fs::read_to_string(briefs.join("0")).unwrap();
    assert_eq!(
        keys(&text),
        [
            "study",
            "experiment",
            "metric",
            "goal",
            "budget_seconds",
            "surface",
            "limits",
            "program",
            "files",
            "baseline",
            "champion",
            "noise_sd",
            "smallest_sure_gain",
            "recent",
            "open",
            "brief_tokens",
        ]
    );
    let brief: Json = serde_json::from_str(&text).unwrap();
    let baseline = repo.git(&["rev-parse", "main"]);
    let standing = serde_json::json!({ "experiment": 0, "commit": baseline, "metric": 4.0 });
    let expected = serde_json::json!({
        "study": "main", "experiment": 1, "metric": "loss", "goal": "min", "budget_seconds": 10.0,
        "surface": ["knobs.py"], "program": "Try less.\n", "baseline": standing, "champion": standing,
        "limits": {
            "run": "sh score.sh", "kill_seconds": 70, "guards": [],
            "locked": "every file but the surface is locked; a proposal that changes or removes another is refused and not run, \
                       and files that are added are not taken along",
            "gain": "`loss` is lower than the champion's, surely enough for the noise of the measurement; the engine repeats close \
                     ones and decides",
        },
        "files": [{ "path": "knobs.py", "text": "x = 5\n" }],
        "noise_sd": 0.0, "smallest_sure_gain": 0.0, "recent": [], "open": [], "brief_tokens": 24_000,
    });
    assert_eq!(brief, expected);
    let last: Json = serde_json::from_str(&std::fs::read_to_string(briefs.join("2")).unwrap()).unwrap();
    assert_eq!(last["champion"]["metric"], 0.0);
    assert_eq!(last["champion"]["commit"], repo.experiment(2)["commit"]);
    assert_eq!(last["baseline"], standing);
    let recent = serde_json::json!([
        { "experiment": 1, "description": "less by one", "verdict": "kept",
          "reason": "better by 3, twice the same", "metric": 1.0, "gain": 3.0 },
        { "experiment": 2, "description": "less by one", "verdict": "kept",
          "reason": "better by 1, twice the same", "metric": 0.0, "gain": 1.0 },
    ]);
    assert_eq!(last["recent"], recent);
    repo.assert_sound();
}

/// Each trial ends only when the agent has answered for the next experiment, or the run wants no more.
#[test]
fn the_next_proposal_is_made_while_a_trial_runs_and_its_agent_knows_of_it() {
    let repo = Repo::new();
    let answers = repo.beside("answers");
    std::fs::create_dir(&answers).unwrap();
    let agent = r#"cat > "$TMPDIR/brief"; n=$(ls "$ANSWERS" | wc -l)
echo "x = $((n + 10))" > knobs.py; echo "idea $n" > "$OVERNIGHT_NOTE"
mv "$TMPDIR/brief" "$ANSWERS/$n"
"#;
    let gate = r#"n=$(sed -n "s/^x = //p" knobs.py)
test "$n" -lt 10 || test "$n" -ge 12 || until test -e "$ANSWERS/$((n - 9))"; do sleep 0.02; done
"#;
    let told = |script: &str| script.replace("$ANSWERS", answers.to_str().unwrap());
    repo.write("agent.sh", &told(agent)).write("score.sh", &format!("{}{}", told(gate), repo.read("score.sh")));
    repo.triplet("[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"").commit("an agent");
    repo.run(3);
    let not_better = |n: u64| ("discarded".to_owned(), format!("worse by {n}"));
    assert_eq!(repo.verdicts(), [not_better(45), not_better(60), not_better(77)]);
    let second: Json = serde_json::from_str(&std::fs::read_to_string(answers.join("1")).unwrap()).unwrap();
    assert_eq!(second["open"], serde_json::json!([{ "experiment": 1, "description": "idea 0" }]));
    assert_eq!(second["recent"], serde_json::json!([]));
    assert_eq!(std::fs::read_dir(&answers).unwrap().count(), 3, "nobody is asked for a fourth");
    repo.assert_sound();
}

/// The second answer is given while the first is being measured, from the champion of that moment.
fn two_at_once(knobs: &str, score: &str, first: &str, second: &str) -> Repo {
    let repo = Repo::new();
    let (one, two) = (repo.beside("first"), repo.beside("second"));
    let agent = format!(
        "cat > BRIEF\nif test -e SECOND; then echo 'x = 2' > knobs.py; echo the third\n\
         elif test -e FIRST; then {second}; echo the second; touch SECOND\n\
         else {first}; echo the first; touch FIRST; fi\n"
    );
    let gate = "until grep -q 'x = 5' knobs.py || test -e SECOND; do sleep 0.02; done\n";
    let told = |script: &str| {
        let script = script.replace("BRIEF", repo.beside("brief").to_str().unwrap());
        script.replace("FIRST", one.to_str().unwrap()).replace("SECOND", two.to_str().unwrap())
    };
    repo.write("agent.sh", &told(&agent)).write("score.sh", &told(&format!("{gate}{score}")));
    repo.write("knobs.py", knobs);
    repo.triplet("[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"").commit("an agent");
    repo
}

#[test]
fn an_idea_that_does_not_merge_with_the_new_champion_is_given_back_to_be_done_again() {
    let score = Repo::new().read("score.sh");
    let repo = two_at_once("x = 5\n", &score, "sed -i 's/x = 5/x = 4/' knobs.py", "sed -i 's/x = 5/x = 3/' knobs.py");
    repo.run(2);
    let given_back = "made for a champion that has moved on; it does not merge with the new one";
    assert_eq!(repo.verdicts().pop().unwrap(), ("discarded".to_owned(), given_back.to_owned()));
    assert_eq!(repo.experiment(2)["trials"], 0);
    repo.run(1);
    let brief: Json = serde_json::from_str(&std::fs::read_to_string(repo.beside("brief")).unwrap()).unwrap();
    assert_eq!(brief["redo"], serde_json::json!([{ "experiment": 2, "description": "the second" }]));
    repo.assert_sound();
}

#[test]
fn a_proposal_whose_champion_moved_is_put_on_the_new_one_and_show_says_so() {
    let score = "x=$(sed -n 's/^x = //p' knobs.py); y=$(sed -n 's/^y = //p' knobs.py)\necho \"loss: $((x + y))\"\n";
    let knobs = "x = 5\n\n\n\n\n\ny = 5\n";
    let repo = two_at_once(knobs, score, "sed -i 's/x = 5/x = 4/' knobs.py", "sed -i 's/y = 5/y = 3/' knobs.py");
    repo.run(2);
    let verdicts: Vec<String> = repo.verdicts().into_iter().map(|(verdict, _)| verdict).collect();
    assert_eq!(verdicts, ["kept", "kept"]);
    assert_eq!(repo.status()["champion"]["metric"], 7.0, "the change of both is in it");
    let onto = repo.git(&["rev-parse", "overnight/main~1"]);
    let said = format!("  restacked   onto {} (experiment 1), which had become the champion meanwhile", &onto[..10]);
    // The diff is against the champion that it was put on.
    let shown = repo.ok(&["show", "2"]).says(&said).says("+y = 3\n");
    assert!(!shown.stdout.contains("x = 5"), "{shown}");
    let json: Json = serde_json::from_str(&repo.ok(&["show", "2", "--json"]).stdout).unwrap();
    assert_eq!(json["restacked"], serde_json::json!([{ "parent": onto, "champion": 1 }]));
    assert!(!repo.ok(&["show", "1"]).stdout.contains("restacked"));
    repo.assert_sound();
}

#[test]
fn the_note_wins_over_what_was_printed() {
    let repo = Repo::with_agent("echo 'x = 4' > knobs.py; echo printed; printf 'the note\nmore\n' > $OVERNIGHT_NOTE\n");
    repo.run(1);
    let row = repo.experiment(1);
    assert_eq!((&row["description"], &row["agent"]), (&"the note".into(), &"command".into()));
    insta::assert_snapshot!(repo.ok(&["show", "1"]), @"
    experiment 1 · kept
      why         better by 3, twice the same
      hypothesis  the note
      agent       command
      started     [TIME]
      commit      [COMMIT]
      parent      [COMMIT]
      loss        1
      gain        +3 over the champion of its time
      in all      3 over the baseline
      trial 3     screen               1  seed [SEED] · [S] wall · [S] cpu · [MB] peak
      trial 4     confirm              1  seed [SEED] · [S] wall · [S] cpu · [MB] peak

    --- a/knobs.py
    +++ b/knobs.py
    @@ -1 +1 @@
    -x = 5
    +x = 4

    end of the output of trial 4 (8 bytes in all):
      loss: 1

    trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout
    --- exit code 0
    ");
}

#[test]
fn an_agent_that_says_nothing_still_proposes() {
    let repo = Repo::with_agent("echo 'x = 4' > knobs.py\n");
    repo.run(1);
    assert_eq!(repo.experiment(1)["description"], "(no description)");
}

#[test]
fn an_agent_of_a_study_in_a_subfolder_works_there() {
    let repo = Repo::empty();
    let with_agent = Repo::with_agent("test -f ../README && echo 'x = 4' > knobs.py; cat > /dev/null\n");
    for file in ["overnight.toml", "knobs.py", "score.sh", "agent.sh"] {
        repo.write(&format!("sub/{file}"), &with_agent.read(file));
    }
    repo.write("README", "").commit("base");
    repo.ok(&["-C", "sub", "run", "--experiments", "1", "--no-tui"]);
    assert_eq!(repo.git(&["show", "overnight/main:sub/knobs.py"]), "x = 4");
}

#[test]
fn an_agent_that_reads_nothing_of_its_brief_is_fine() {
    let repo = Repo::with_agent("exec < /dev/null; echo 'x = 3' > knobs.py; echo done\n");
    repo.run(1);
    assert_eq!(repo.experiment(1)["verdict"], "kept");
}

#[test]
fn traces_of_an_agent_are_shown_whole_on_request() {
    let repo = Repo::with_agent("echo 'x = 3' > knobs.py; echo one; echo two; echo and complaints >&2\n");
    repo.run(1);
    repo.ok(&["show", "1", "--output"])
        .says("== the agent\n")
        .says("one\ntwo\n")
        .says("and complaints")
        .says("== trial 3\n");
}

#[test]
fn the_agents_own_program_is_taken_as_it_is_now_wherever_it_lies() {
    let repo = Repo::with_agent("exit 7\n");
    repo.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(4);
    repo.write("agent.sh", "sed -i 's/x = .*/x = 4/' knobs.py; echo mended\n").commit("mended");
    repo.run(1);
    assert_eq!(repo.verdicts().last().unwrap().0, "kept");
    let outside = repo.outside("elsewhere.sh");
    std::fs::write(&outside, "sed -i 's/x = .*/x = 3/' knobs.py; echo from elsewhere\n").unwrap();
    let triplet = repo.read("overnight.toml").replace("sh agent.sh", &format!("sh {}", outside.display()));
    repo.write("overnight.toml", &triplet);
    repo.run(1);
    assert_eq!(repo.verdicts().last().unwrap().0, "kept");
    repo.assert_sound();
}
