//! Metrics that make no sense.

use super::assert_refused;

#[test]
fn a_goal_in_other_words_names_the_right_one() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "down" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `metric.goal` must be "min" or "max"
  --> overnight.toml:2:37
   |
 2 | metric = { name = "val_bpb", goal = "down" }
   |                                     ^^^^^^
   = hint: use "min"
"#,
    );
}

#[test]
fn a_goal_to_maximise_names_max() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "Maximize" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `metric.goal` must be "min" or "max"
  --> overnight.toml:2:37
   |
 2 | metric = { name = "val_bpb", goal = "Maximize" }
   |                                     ^^^^^^^^^^
   = hint: use "max"
"#,
    );
}

#[test]
fn a_metric_with_a_space_in_its_name_is_refused() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `val bpb` is not a name that output can give
  --> overnight.toml:2:19
   |
 2 | metric = { name = "val bpb", goal = "min" }
   |                   ^^^^^^^^^
   = hint: a name is a letter or `_`, then letters, digits and `_ . / -`
"#,
    );
}

#[test]
fn a_range_must_go_upwards() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min", plausible = [3, 0.5] }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `metric.plausible` must go from the lower to the higher number
  --> overnight.toml:2:56
   |
 2 | metric = { name = "val_bpb", goal = "min", plausible = [3, 0.5] }
   |                                                        ^^^^^^^^
   = hint: write `plausible = [0.5, 3.0]`
"#,
    );
}

#[test]
fn a_range_needs_two_numbers() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min", plausible = [3] }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `metric.plausible` must have two numbers, found 1
  --> overnight.toml:2:56
   |
 2 | metric = { name = "val_bpb", goal = "min", plausible = [3] }
   |                                                        ^^^
   = hint: write `plausible = [0.5, 3.0]`
"#,
    );
}

#[test]
fn numbers_must_be_finite_and_gains_positive() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min", min_gain = -0.1, target = inf }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `metric.min_gain` must not be negative
  --> overnight.toml:2:55
   |
 2 | metric = { name = "val_bpb", goal = "min", min_gain = -0.1, target = inf }
   |                                                       ^^^^

error: `metric.target` must be a finite number
  --> overnight.toml:2:70
   |
 2 | metric = { name = "val_bpb", goal = "min", min_gain = -0.1, target = inf }
   |                                                                      ^^^
"#,
    );
}

#[test]
fn a_target_out_of_range_can_never_be_reached() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min", target = 9, plausible = [0, 3] }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `metric.target` is outside `metric.plausible`
  --> overnight.toml:2:53
   |
 2 | metric = { name = "val_bpb", goal = "min", target = 9, plausible = [0, 3] }
   |                                                     ^
   = hint: it could never be reached: widen one of them
"#,
    );
}

#[test]
fn measured_metrics_are_not_supported_yet() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min", source = "wall" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `metric.source = "wall"` is not yet supported
  --> overnight.toml:2:53
   |
 2 | metric = { name = "val_bpb", goal = "min", source = "wall" }
   |                                                     ^^^^^^
   = hint: let the command measure it and print `METRIC name=value`
"#,
    );
}

#[test]
fn another_pick_than_last_is_refused() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min", pick = "first" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `metric.pick` must be "last"
  --> overnight.toml:2:51
   |
 2 | metric = { name = "val_bpb", goal = "min", pick = "first" }
   |                                                   ^^^^^^^
   = hint: leave it out, and two different values are an error
"#,
    );
}
