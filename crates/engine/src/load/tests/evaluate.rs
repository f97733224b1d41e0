//! Commands, spans of time and environments.

use super::assert_refused;

#[test]
fn a_negative_budget_is_refused() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "-5m"
"#,
        r#"
error: a budget must be more than zero
  --> overnight.toml:5:10
   |
 5 | budget = "-5m"
   |          ^^^^^
   = hint: write it as "90s", "5m" or "1h30m"
"#,
    );
}

#[test]
fn a_budget_of_zero_seconds_is_refused() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = 0
"#,
        r#"
error: a budget must be more than zero
  --> overnight.toml:5:10
   |
 5 | budget = 0
   |          ^
   = hint: write it as "90s", "5m" or "1h30m"
"#,
    );
}

#[test]
fn a_number_in_quotes_needs_a_unit() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "300"
"#,
        r#"
error: `300` has no unit
  --> overnight.toml:5:10
   |
 5 | budget = "300"
   |          ^^^^^
   = hint: write "300s" for seconds, "300m" for minutes
"#,
    );
}

#[test]
fn an_unknown_unit_names_the_known_ones() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5min"
"#,
        r#"
error: unknown unit `min` in `5min`
  --> overnight.toml:5:10
   |
 5 | budget = "5min"
   |          ^^^^^^
   = hint: units are ms, s, m, h and d, as in "1h30m"
"#,
    );
}

#[test]
fn the_hard_wall_must_not_be_below_the_budget() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
kill = "1m"
"#,
        r#"
error: `evaluate.kill` must not be less than `evaluate.budget`
  --> overnight.toml:6:8
   |
 6 | kill = "1m"
   |        ^^^^
   = hint: leave it out for 10m
"#,
    );
}

#[test]
fn secrets_are_refused_and_never_shown() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
env = { OPENAI_API_KEY = "sk-abcdefghijklmnop", A = 1 }
"#,
        r#"
error: `OPENAI_API_KEY` looks like a secret: env holds values, never secrets
  --> overnight.toml:6:9
   |
 6 | env = { OPENAI_API_KEY = *********************, A = 1 }
   |         ^^^^^^^^^^^^^^
   = hint: take it out: this file is in git, for everyone to read

error: `evaluate.env.A` must be a string, found an integer
  --> overnight.toml:6:53
   |
 6 | env = { OPENAI_API_KEY = *********************, A = 1 }
   |                                                     ^
   = hint: put the value in quotes
"#,
    );
}

#[test]
fn env_names_are_checked() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
[evaluate.env]
"A B" = "x"
OVERNIGHT_SEED = "1"
HOST = "ghp_abcdefghijklmnop"
"#,
        r#"
error: `A B` is not a name for an environment variable
  --> overnight.toml:7:1
   |
 7 | "A B" = "x"
   | ^^^^^
   = hint: names are letters, digits and `_`, and do not start with a digit

error: `OVERNIGHT_SEED` is set by overnight itself
  --> overnight.toml:8:1
   |
 8 | OVERNIGHT_SEED = "1"
   | ^^^^^^^^^^^^^^
   = hint: choose a name that does not start with OVERNIGHT_

error: `HOST` looks like a secret: env holds values, never secrets
  --> overnight.toml:9:1
   |
 9 | HOST = **********************
   | ^^^^
   = hint: take it out: this file is in git, for everyone to read
"#,
    );
}
