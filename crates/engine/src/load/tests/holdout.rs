//! What is held out, and what may not be.

use overnight_model::spec::{Holdout, Scorer};
use overnight_model::units::Millis;

use super::{assert_refused, parse_in};

const START: &str = r#"surface = ["train.py", "src/a.py"]
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#;
const SCORED: &str = "score = \"python3 score.py\"\nhidden = \"score.py\"\n";

fn read(evaluate: &str, holdout: &str) -> Holdout {
    parse_in("", &format!("{START}{evaluate}[holdout]\n{holdout}\n")).unwrap().holdout.unwrap()
}

#[track_caller]
fn assert_one(evaluate: &str, holdout: &str, message: &str, hint: &str) {
    let problems = parse_in("", &format!("{START}{evaluate}[holdout]\n{holdout}\n")).expect_err(holdout);
    let said: Vec<_> =
        problems.list.into_iter().map(|problem| (problem.message, problem.hint.unwrap_or_default())).collect();
    assert_eq!(said, [(message.to_owned(), hint.to_owned())], "{holdout}");
}

#[test]
fn a_holdout_has_twenty_openings_and_the_wall_of_what_it_takes_the_place_of() {
    let scorer = |seconds| Scorer { run: "python3 test.py".to_owned(), kill: Millis::seconds(seconds) };
    let line = "score = \"python3 test.py\"";
    let alone = Holdout { score: scorer(600), files: Vec::new(), tracked: Vec::new(), budget: 20 };
    assert_eq!(read("", line), alone, "in place of `run` it has as long as `run`");
    assert_eq!(read(SCORED, line), Holdout { score: scorer(300), ..alone.clone() });
    let files = read(SCORED, &format!("{line}\nfiles = [\"labels\", \"/mnt/corpus\"]"));
    assert_eq!(files.files, ["labels", "/mnt/corpus"]);
    assert_eq!(files.tracked, ["labels/test.csv"], "a folder is held out with all that is tracked in it");
    assert!(parse_in("", START).unwrap().holdout.is_none());
}

#[test]
fn what_is_held_out_is_hidden_from_every_trial() {
    let text = format!("{START}{SCORED}[holdout]\nscore = \"python3 test.py\"\nfiles = \"labels\"\n");
    let spec = parse_in("lab", &text).unwrap();
    assert_eq!(spec.hidden_from_candidates(), ["lab/score.py", "lab/labels/test.csv"]);
    assert_eq!(spec.hidden_from_scorers(), ["lab/train.py", "lab/src/a.py", "lab/labels/test.csv"]);
}

#[test]
fn slips_are_shown_where_they_are() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
[holdout]
scoer = "python3 test.py"
file = "labels"
budget = 0
"#,
        r#"
error: unknown key `scoer` in [holdout]
  --> overnight.toml:7:1
   |
 7 | scoer = "python3 test.py"
   | ^^^^^
   = hint: did you mean `score`?

error: unknown key `file` in [holdout]
  --> overnight.toml:8:1
   |
 8 | file = "labels"
   | ^^^^
   = hint: did you mean `files`?

error: `holdout.budget` must be at least 1
  --> overnight.toml:9:10
   |
 9 | budget = 0
   |          ^
"#,
    );
    assert_one(
        "",
        "files = \"labels\"",
        "`holdout.score` is missing",
        "add `score = \"python3 score.py holdout.csv\"`",
    );
    assert_one(
        "",
        "score = 3",
        "`holdout.score` must be a command or a table, found an integer",
        "write `score = \"python3 score.py holdout.csv\"`",
    );
}

#[test]
fn nothing_that_a_trial_needs_can_be_held_out() {
    let both = |evaluate: &str, files: &str, message: &str, hint: &str| {
        assert_one(evaluate, &format!("score = \"x\"\nfiles = {files}"), message, hint);
    };
    let example = "write `files = [\"holdout.csv\", \"~/data/test\"]`";
    both("", "[\"\"]", "a holdout file is empty", example);
    both("", "[3]", "`holdout.files` must be a path or a list of paths, found an integer", example);
    both(
        "",
        "\"labels/*\"",
        "holdout file `labels/*` does not exist",
        "a holdout file is a path and not a pattern: name the folder",
    );
    both("", "[\"labels\", \"labels\"]", "holdout file `labels` is named twice", "remove one of the two");
    both("", "\"src\"", "`src/a.py` is both surface and held out", "an agent has to see what it edits");
    both("", "\"~\"", "holdout file `~` holds your whole home folder", "name the folders in it that are needed");
    both(
        "score = \"x\"\nhidden = \"labels/**\"\n",
        "\"labels\"",
        "`labels/test.csv` is both hidden and held out",
        "hidden files are for the scorer of every trial: take it out of one of the two",
    );
    both(
        "inputs = \"/mnt/corpus\"\n",
        "\"/mnt/corpus\"",
        "holdout file `/mnt/corpus` and the input `/mnt/corpus` overlap",
        "every trial sees the inputs: keep the two apart",
    );
    both(
        "score = \"cat ./labels/test.csv\"\n",
        "\"labels\"",
        "`evaluate.score` names `labels/test.csv`, which is held out and not there for it",
        "let only `holdout.score` name it",
    );
    assert_one(
        SCORED,
        "score = \"python3 train.py\"",
        "`train.py` is surface, and not there for the scorer",
        "let a locked file make the numbers, from what `run` left in $OVERNIGHT_OUT",
    );
    read("", "score = \"python3 train.py --test\"");
    let outside = format!("{START}[holdout]\nscore = \"x\"\nfiles = \"../labels\"\n");
    let problems = parse_in("lab", &outside).unwrap_err();
    assert_eq!(problems.list[0].message, "holdout file `../labels` leaves the folder of this file");
}
