//! Scorers, hidden files, inputs, and what the sandbox may use.

use overnight_model::spec::{Devices, Network, Scorer};
use overnight_model::units::Millis;

use super::{assert_refused, parse_in};

const START: &str = r#"surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#;

/// What is said of lines below `[evaluate]`: message and hint of each problem.
fn refused(lines: &str) -> Vec<(String, String)> {
    let problems = parse_in("", &format!("{START}{lines}\n")).expect_err("the file should be refused");
    problems.list.into_iter().map(|problem| (problem.message, problem.hint.unwrap_or_default())).collect()
}

#[track_caller]
fn assert_one(lines: &str, message: &str, hint: &str) {
    assert_eq!(refused(lines), [(message.to_owned(), hint.to_owned())], "{lines}");
}

#[test]
fn a_scorer_is_a_command_with_a_wall_of_its_own() {
    let read = |line: &str| parse_in("", &format!("{START}{line}\n")).unwrap().evaluate.score;
    let scorer = |seconds| Some(Scorer { run: "python3 score.py".to_owned(), kill: Millis::seconds(seconds) });
    assert_eq!(read("score = \"python3 score.py\""), scorer(300));
    assert_eq!(read("score = { run = \"python3 score.py\", kill = \"2m\" }"), scorer(120));
    assert_eq!(read(""), None);
}

#[test]
fn a_scorer_that_is_no_command_is_refused_in_its_place() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
score = { kil = "2m" }
prepare = 3
warm = "yes"
"#,
        r#"
error: `evaluate.score.run` is missing
  --> overnight.toml:6:1
   |
 6 | score = { kil = "2m" }
   | ^^^^^
   = hint: add `run = "python3 score.py"`

error: unknown key `kil` in [evaluate.score]
  --> overnight.toml:6:11
   |
 6 | score = { kil = "2m" }
   |           ^^^
   = hint: did you mean `kill`?

error: `evaluate.prepare` must be a command or a table, found an integer
  --> overnight.toml:7:11
   |
 7 | prepare = 3
   |           ^
   = hint: write `prepare = "python3 prepare.py"`

error: `evaluate.warm` must be a boolean, found a string
  --> overnight.toml:8:8
   |
 8 | warm = "yes"
   |        ^^^^^
   = hint: write `true` or `false`, without quotes
"#,
    );
}

#[test]
fn a_scorer_does_not_run_what_it_scores() {
    assert_one(
        "score = \"python3 ./train.py --score\"",
        "`train.py` is surface, and not there for the scorer",
        "let a locked file make the numbers, from what `run` left in $OVERNIGHT_OUT",
    );
}

#[test]
fn hidden_files_are_tracked_and_no_part_of_the_surface() {
    let score = "score = \"python3 score.py\"\n";
    let with_score = |hidden: &str| format!("{score}hidden = {hidden}");
    assert_one(
        &with_score("[\"train.py\"]"),
        "`train.py` is both surface and hidden",
        "an agent has to see what it edits: take it out of one of the two",
    );
    assert_one(
        &with_score("\"*.py\""),
        "`train.py` is both surface and hidden",
        "an agent has to see what it edits: take it out of one of the two",
    );
    assert_one(
        &with_score("\"answers/**\""),
        "hidden `answers/**` matches no file tracked by git",
        "`git ls-files` shows what is tracked",
    );
    assert_one(
        &with_score("\"scorer.py\""),
        "hidden `scorer.py` is not a file tracked by git",
        "did you mean `score.py`?",
    );
    assert_one(
        &with_score("\"labels\""),
        "hidden `labels` is not a file tracked by git",
        "it is a folder: write \"labels/**\" for all files below it",
    );
    assert_one(
        &with_score("\"/etc/passwd\""),
        "hidden `/etc/passwd` is absolute",
        "write it relative to the folder of this file",
    );
    assert_one(
        "hidden = \"labels/**\"",
        "`evaluate.hidden` needs `evaluate.score`: without a scorer nobody could see these files",
        "add `score = \"python3 score.py\"`, or commit nothing that `run` may not see",
    );
}

#[test]
fn an_input_exists_and_is_neither_tracked_nor_too_much() {
    for (input, message, hint) in [
        (".venw", "input `.venw` does not exist", "did you mean `.venv`?"),
        ("~/dat", "input `~/dat` does not exist", "did you mean `~/data`?"),
        ("/nowhere/x", "input `/nowhere/x` does not exist", "make it before the study begins, or take it out"),
        ("data/*", "input `data/*` does not exist", "an input is a path and not a pattern: name the folder"),
        ("~", "input `~` holds your whole home folder", "name the folders in it that are needed"),
        ("/home", "input `/home` holds your whole home folder", "name the folders in it that are needed"),
        ("/", "input `/` is the whole machine", "name the folders that are needed"),
        ("src/..", "input `src/..` holds the study itself", "name the folders in it that are needed"),
        (".git/config", "input `.git/config` lies in what overnight itself keeps", "name another path"),
        (".overnight", "input `.overnight` lies in what overnight itself keeps", "name another path"),
        ("", "an input is empty", "write `inputs = [\".venv\", { path = \"~/data/corpus\", content = true }]`"),
    ] {
        assert_one(&format!("inputs = [\"{input}\"]"), message, hint);
    }
    for secret in ["~/.ssh", "~/.aws/credentials", "~/.netrc", ".env", "config/.env.local"] {
        let name = secret.trim_start_matches("~/").trim_start_matches("config/").trim_end_matches("/credentials");
        let message = format!("input `{secret}`: `{name}` is where secrets are kept");
        let hint = "a candidate could carry it off: name only the data that the evaluation reads";
        assert_one(&format!("inputs = \"{secret}\""), &message, hint);
    }
}

#[test]
fn an_input_leaves_the_surface_and_hidden_files_alone() {
    let text = START.replace("\"train.py\"\n", "[\"train.py\", \"src/a.py\"]\n");
    let problems =
        parse_in("", &format!("{text}inputs = [\"src\", \"train.py\", \".venv\", \".venv\"]\n")).unwrap_err();
    let messages: Vec<_> = problems.list.into_iter().map(|problem| problem.message).collect();
    // `train.py` does not exist in this made-up checkout, so that is what is said of it.
    assert_eq!(
        messages,
        [
            "input `src` holds `src/a.py` of the surface",
            "input `train.py` does not exist",
            "input `.venv` is named twice"
        ]
    );
    let hidden = "score = \"x\"\nhidden = \"labels/**\"\ninputs = \"/repo/labels\"";
    assert_one(hidden, "input `/repo/labels` holds `labels/test.csv`, which is hidden", "name the other files in it");
    let problems = parse_in("lab", &format!("{START}inputs = \"prepare.py\"\n")).unwrap_err();
    assert_eq!(problems.list[0].message, "input `prepare.py` is tracked by git");
    assert_eq!(problems.list[0].hint.as_deref(), Some("take it out: tracked files are there anyway"));
}

#[test]
fn networks_and_tiers_are_words_of_a_short_list() {
    assert_one(
        "network = \"ful\"",
        "`evaluate.network` must be \"none\" or \"models\" or \"full\"",
        "did you mean \"full\"?",
    );
    assert_one(
        "prepare = { run = \"make\", network = \"models\" }",
        "`evaluate.prepare.network` must be \"none\" or \"full\"",
        "a model can be asked in `run` alone",
    );
    let spec = parse_in("", &format!("{START}network = \"models\"\n")).unwrap();
    assert_eq!(spec.evaluate.network, Network::Models);
    assert_one(
        "[sandbox]\nmin = \"standart\"",
        "`sandbox.min` must be \"none\" or \"landlock\" or \"standard\" or \"strong\"",
        "did you mean \"standard\"?",
    );
    let spec = parse_in("", &format!("{START}[agent]\nnetwork = \"none\"\n")).unwrap();
    assert_eq!((spec.agent.members[0].network, spec.evaluate.network), (Network::None, Network::None));
}

#[test]
fn limits_of_the_sandbox_have_units_and_bounds() {
    let size = "write it as \"8 GiB\", \"500 MB\" or \"2G\"";
    assert_one("[sandbox]\nmemory = 8", "`sandbox.memory` must be a size, found an integer", size);
    assert_one("[sandbox]\nmemory = \"8\"", "`8` has no unit", "write \"8 MiB\" or \"8 GiB\"");
    assert_one("[sandbox]\ndisk = \"1 KB\"", "`sandbox.disk` must be at least 1 MiB", size);
    assert_one("[sandbox]\npids = 0", "`sandbox.pids` must be at least 1", "");
    let devices = "write \"auto\", \"none\", or a list such as [\"/dev/nvidia0\"]";
    assert_one("[sandbox]\ndevices = [\"/etc/x\"]", "`/etc/x` is not a path below /dev", devices);
    assert_one("[sandbox]\ndevices = \"gpu\"", "`sandbox.devices` must be \"auto\", \"none\" or a list", devices);
    let spec = parse_in("", &format!("{START}[sandbox]\ndevices = \"none\"\n")).unwrap();
    assert_eq!(spec.sandbox.devices, Devices::None);
}
