//! Guards, agents, slots, limits, and the look of it all.

use super::assert_refused;

#[test]
fn a_guard_checks_one_thing() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
[[guard]]
[[guard]]
run = "true"
metric = "peak_mb"
[[guard]]
run = "true"
max = 3
"#,
        r#"
error: this guard checks nothing
  --> overnight.toml:6:1
   |
 6 | [[guard]]
   | ^^^^^^^^^
   = hint: add `run = "pytest -q"`, or `metric = "peak_mb"` with `max = 8000`

error: a guard has either `run` or `metric`
  --> overnight.toml:9:1
   |
 9 | metric = "peak_mb"
   | ^^^^^^
   = hint: make it two guards

error: `guard.max` goes with `guard.metric`
   --> overnight.toml:12:1
    |
 12 | max = 3
    | ^^^
"#,
    );
}

#[test]
fn a_guard_on_a_number_needs_a_limit() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
[[guard]]
metric = "peak_mb"
[[guard]]
metric = "instructions"
max = 3
when = "last"
"#,
        r#"
error: guard on `peak_mb` has no limit
  --> overnight.toml:7:1
   |
 7 | metric = "peak_mb"
   | ^^^^^^
   = hint: add `max = 8000`, or `max_regression = 0.05` for five percent

error: guard on `instructions` is not yet supported
  --> overnight.toml:9:10
   |
 9 | metric = "instructions"
   |          ^^^^^^^^^^^^^^
   = hint: print the number under another name

error: `guard.when` must be "first" or "before_keep"
   --> overnight.toml:11:8
    |
 11 | when = "last"
    |        ^^^^^^
"#,
    );
}

#[test]
fn what_only_coding_agents_have_is_refused_elsewhere_and_tools_where_they_cannot_be_chosen() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
[agent]
use = "tuner"
model = "large"
"#,
        r#"
error: `agent.model` is only for coding agents and for `use = "api"`
  --> overnight.toml:8:1
   |
 8 | model = "large"
   | ^^^^^
   = hint: name who is to use it: `use = "claude"` or `use = "api"`, or remove the key
"#,
    );
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
[agent]
use = "codex"
args = "--fast"
tools = ["shell"]
"#,
        r#"
error: `agent.args` must be a list of strings, found a string
  --> overnight.toml:8:8
   |
 8 | args = "--fast"
   |        ^^^^^^^^
   = hint: write `args = ["…"]`

error: the tools of `codex` cannot be chosen
  --> overnight.toml:9:1
   |
 9 | tools = ["shell"]
   | ^^^^^
   = hint: remove the key
"#,
    );
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
[agent]
use = "codex"
tools = ["shell"]
"#,
        r#"
error: the tools of `codex` cannot be chosen
  --> overnight.toml:8:1
   |
 8 | tools = ["shell"]
   | ^^^^^
   = hint: remove the key
"#,
    );
}

#[test]
fn an_unknown_agent_names_the_nearest_one() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
[agent]
use = "tunre"
"#,
        r#"
error: unknown agent `tunre`
  --> overnight.toml:7:7
   |
 7 | use = "tunre"
   |       ^^^^^^^
   = hint: did you mean "tuner"?
"#,
    );
}

#[test]
fn the_agent_command_needs_a_command() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
[agent]
use = ["command"]
timeout = "0s"
"#,
        r#"
error: `agent.command` is missing
  --> overnight.toml:6:2
   |
 6 | [agent]
   |  ^^^^^
   = hint: add `command = "./propose.sh"`

error: a timeout must be more than zero
  --> overnight.toml:8:11
   |
 8 | timeout = "0s"
   |           ^^^^
   = hint: write it as "90s", "5m" or "1h30m"
"#,
    );
}

#[test]
fn a_command_without_its_agent_is_refused() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
[agent]
command = "./propose.sh"
"#,
        r#"
error: `agent.command` is only for `use = "command"`
  --> overnight.toml:7:1
   |
 7 | command = "./propose.sh"
   | ^^^^^^^
   = hint: add `use = "command"`, or remove the command
"#,
    );
}

#[test]
fn ahead_is_a_small_whole_number_and_may_be_none() {
    let refused = |value: &str, problem: &str| {
        let triplet = format!(
            r#"
surface = "train.py"
metric = {{ name = "val_bpb", goal = "min" }}
[evaluate]
run = "python3 train.py"
budget = "5m"
[agent]
ahead = {value}
"#
        );
        let marks = "^".repeat(value.len());
        let problem = format!(
            r#"
error: `agent.ahead` must be {problem}
  --> overnight.toml:7:9
   |
 7 | ahead = {value}
   |         {marks}
"#
        );
        assert_refused(&triplet, &problem);
    };
    refused("-1", "at least 0");
    refused("65", "at most 64");
    refused("99999999999999999999", "at most 64");
    refused("1.5", "an integer, found a float");
    refused("\"two\"", "an integer, found a string");
    refused("true", "an integer, found a boolean");
}

#[test]
fn counts_start_at_one() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
[slots]
count = 0
[limits]
experiments = -3
no_gain_for = 0
[limits.total]
wall = "soon"
experiments = 99999999999999999999
"#,
        r#"
error: `slots.count` must be at least 1
  --> overnight.toml:7:9
   |
 7 | count = 0
   |         ^

error: `limits.experiments` must be at least 1
  --> overnight.toml:9:15
   |
 9 | experiments = -3
   |               ^^

error: `limits.no_gain_for` must be at least 1
   --> overnight.toml:10:15
    |
 10 | no_gain_for = 0
    |               ^

error: `soon` is not a span of time
   --> overnight.toml:12:8
    |
 12 | wall = "soon"
    |        ^^^^^^
    = hint: write it as "90s", "5m" or "1h30m"

error: `limits.total.experiments` must be at most 1000000000
   --> overnight.toml:13:15
    |
 13 | experiments = 99999999999999999999
    |               ^^^^^^^^^^^^^^^^^^^^
"#,
    );
}

#[test]
fn a_program_that_does_not_exist_is_refused() {
    assert_refused(
        r#"
program = "progam.md"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: program `progam.md` does not exist
  --> overnight.toml:1:11
   |
 1 | program = "progam.md"
   |           ^^^^^^^^^^^
   = hint: did you mean `program.md`?
"#,
    );
}

#[test]
fn carets_stand_under_the_text_after_tabs_and_wide_letters() {
    assert_refused(
        r#"
	surface = ["é.py", "tarin.py"] # ü
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: surface `é.py` is not a file tracked by git
  --> overnight.toml:1:13
   |
 1 |     surface = ["é.py", "tarin.py"] # ü
   |                ^^^^^^
   = hint: `git ls-files` shows what is tracked

error: surface `tarin.py` is not a file tracked by git
  --> overnight.toml:1:21
   |
 1 |     surface = ["é.py", "tarin.py"] # ü
   |                        ^^^^^^^^^^
   = hint: did you mean `train.py`?
"#,
    );
}
