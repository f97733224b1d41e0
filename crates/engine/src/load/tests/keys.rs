//! Keys that are unknown, missing, or not yet supported.

use super::assert_refused;

#[test]
fn a_misspelt_key_names_the_nearest_one() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
bugdet = "5m"
"#,
        r#"
error: unknown key `bugdet` in [evaluate]
  --> overnight.toml:5:1
   |
 5 | bugdet = "5m"
   | ^^^^^^
   = hint: did you mean `budget`?
"#,
    );
}

#[test]
fn a_misspelt_section_names_the_nearest_one() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
[limts]
wall = "8h"
"#,
        r#"
error: unknown key `limts`
  --> overnight.toml:6:2
   |
 6 | [limts]
   |  ^^^^^
   = hint: did you mean `limits`?
"#,
    );
}

#[test]
fn a_key_in_the_wrong_section_is_sent_home() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
program = "program.md"
goal = "min"
"#,
        r#"
error: unknown key `program` in [evaluate]
  --> overnight.toml:6:1
   |
 6 | program = "program.md"
   | ^^^^^^^
   = hint: `program` belongs at the top of the file, before the first [section]

error: unknown key `goal` in [evaluate]
  --> overnight.toml:7:1
   |
 7 | goal = "min"
   | ^^^^
   = hint: `goal` belongs in [metric]
"#,
    );
}

#[test]
fn an_unknown_key_lists_the_known_ones() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
[slots]
flavour = 3
"#,
        r#"
error: unknown key `flavour` in [slots]
  --> overnight.toml:7:1
   |
 7 | flavour = 3
   | ^^^^^^^
   = hint: known keys are count, gpus, usd_per_hour
"#,
    );
}

#[test]
fn what_later_versions_will_do_is_refused_by_name() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
answer = "python3 serve.py"
[cases]
file = "cases.jsonl"
[slots]
usd_per_hour = 5
"#,
        r#"
error: `evaluate.answer` is not yet supported
  --> overnight.toml:6:1
   |
 6 | answer = "python3 serve.py"
   | ^^^^^^
   = hint: let `run` leave its answers in $OVERNIGHT_OUT, and `score` read them there

error: `[cases]` is not yet supported
  --> overnight.toml:7:2
   |
 7 | [cases]
   |  ^^^^^
   = hint: let `evaluate.run` go through all cases and print their mean

error: `slots.usd_per_hour` is not yet supported
   --> overnight.toml:10:1
    |
 10 | usd_per_hour = 5
    | ^^^^^^^^^^^^
    = hint: leave it out
"#,
    );
}

#[test]
fn an_empty_file_says_which_lines_to_add() {
    assert_refused(
        r#"
"#,
        r#"
error: `surface` is missing
  --> overnight.toml:1:1
   = hint: add `surface = "train.py"`

error: `metric` is missing
  --> overnight.toml:1:1
   = hint: add `metric = { name = "val_loss", goal = "min" }`

error: `evaluate.run` is missing
  --> overnight.toml:1:1
   = hint: add `[evaluate]` with `run = "python3 train.py"`

error: `evaluate.budget` is missing
  --> overnight.toml:1:1
   = hint: add `budget = "5m"` to `[evaluate]`
"#,
    );
}

#[test]
fn missing_keys_are_asked_for_in_their_section() {
    assert_refused(
        r#"
surface = "train.py"
[metric]
[evaluate]
"#,
        r#"
error: `metric.name` is missing
  --> overnight.toml:2:2
   |
 2 | [metric]
   |  ^^^^^^
   = hint: add `name = "val_loss"`

error: `metric.goal` is missing
  --> overnight.toml:2:2
   |
 2 | [metric]
   |  ^^^^^^
   = hint: add `goal = "min"` or `goal = "max"`

error: `evaluate.run` is missing
  --> overnight.toml:3:2
   |
 3 | [evaluate]
   |  ^^^^^^^^
   = hint: add `run = "python3 train.py"`

error: `evaluate.budget` is missing
  --> overnight.toml:3:2
   |
 3 | [evaluate]
   |  ^^^^^^^^
   = hint: add `budget = "5m"`
"#,
    );
}

#[test]
fn wrong_types_say_what_was_expected_and_found() {
    assert_refused(
        r#"
surface = 3
metric = "val_bpb"
program = ["a"]
guard = { run = "x" }
slots = 4
[evaluate]
run = true
budget = [5]
"#,
        r#"
error: `surface` must be a path, a list of paths or a table, found an integer
  --> overnight.toml:1:11
   |
 1 | surface = 3
   |           ^
   = hint: write `surface = "train.py"`

error: `metric` must be a table, found a string
  --> overnight.toml:2:10
   |
 2 | metric = "val_bpb"
   |          ^^^^^^^^^
   = hint: write `metric = { name = "val_bpb", goal = "min" }`

error: `program` must be a string, found a list
  --> overnight.toml:3:11
   |
 3 | program = ["a"]
   |           ^^^^^

error: `guard` must be a list of tables, found a table
  --> overnight.toml:4:9
   |
 4 | guard = { run = "x" }
   |         ^^^^^^^^^^^^^
   = hint: write `[[guard]]`, with two brackets

error: `slots` must be a table, found an integer
  --> overnight.toml:5:9
   |
 5 | slots = 4
   |         ^
   = hint: write `[slots]`, and its keys below it

error: `evaluate.run` must be a string, found a boolean
  --> overnight.toml:7:7
   |
 7 | run = true
   |       ^^^^

error: `evaluate.budget` must be a span of time, found a list
  --> overnight.toml:8:10
   |
 8 | budget = [5]
   |          ^^^
   = hint: write it as "90s", "5m" or "1h30m"
"#,
    );
}

#[test]
fn a_misspelt_section_is_not_missing_too() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evalute]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: unknown key `evalute`
  --> overnight.toml:3:2
   |
 3 | [evalute]
   |  ^^^^^^^
   = hint: did you mean `evaluate`?
"#,
    );
}
