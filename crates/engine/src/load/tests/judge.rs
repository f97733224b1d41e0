//! `[judge]`, and what is said of it.

use overnight_model::spec::{JudgeSpec, Mode, StepGain};
use overnight_model::units::Score;

use super::{assert_refused, parse_in};

const SHORT: &str = "surface = \"train.py\"\nmetric = { name = \"val_bpb\", goal = \"min\" }\n\
                     [evaluate]\nrun = \"python3 train.py\"\nbudget = \"5m\"\n";

fn judge(lines: &str) -> JudgeSpec {
    parse_in("", &format!("{SHORT}{lines}")).unwrap().judge
}

#[test]
fn a_triplet_that_says_nothing_of_the_judge_has_a_balanced_one() {
    let expected = JudgeSpec { mode: Mode::Balanced, max_share: 0.1, max_step_gain: None };
    assert_eq!([judge(""), judge("[judge]\n")], [expected; 2]);
}

#[test]
fn a_believable_gain_is_a_number_of_the_metric_or_a_share_of_the_champion() {
    assert_eq!(judge("[judge]\nmax_step_gain = 2").max_step_gain, Score::new(2.0).map(StepGain::Absolute));
    assert_eq!(judge("[judge]\nmax_step_gain = \" 12.5 % \"").max_step_gain, Some(StepGain::Share(0.125)));
}

#[test]
fn what_the_judge_cannot_take_is_refused_in_its_place() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
judge = { mode = "strikt", max_share = 0, max_step_gain = "a third", max_shares = 3 }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `judge.mode` must be "explore" or "balanced" or "strict"
  --> overnight.toml:3:18
   |
 3 | judge = { mode = "strikt", max_share = 0, max_step_gain = "a third", max_shares = 3 }
   |                  ^^^^^^^^
   = hint: did you mean "strict"?

error: `judge.max_share` must be more than 0 and at most 1
  --> overnight.toml:3:40
   |
 3 | judge = { mode = "strikt", max_share = 0, max_step_gain = "a third", max_shares = 3 }
   |                                        ^
   = hint: it is the share of a night's trials that one candidate may get: 0.1 for a tenth

error: `judge.max_step_gain` cannot be read from `a third`
  --> overnight.toml:3:59
   |
 3 | judge = { mode = "strikt", max_share = 0, max_step_gain = "a third", max_shares = 3 }
   |                                                           ^^^^^^^^^
   = hint: write a number in the metric's own unit, or a share of the champion's level such as "30%"

error: unknown key `max_shares` in [judge]
  --> overnight.toml:3:70
   |
 3 | judge = { mode = "strikt", max_share = 0, max_step_gain = "a third", max_shares = 3 }
   |                                                                      ^^^^^^^^^^
   = hint: did you mean `max_share`?
"#,
    );
}

#[test]
fn no_gain_at_all_is_not_a_limit_on_gains() {
    for gain in ["0", "-1", "\"0%\"", "\"-5%\"", "\"nan%\"", "\"inf%\""] {
        let problems = parse_in("", &format!("{SHORT}[judge]\nmax_step_gain = {gain}\n")).unwrap_err().to_string();
        assert!(problems.contains("`judge.max_step_gain` must be more than 0"), "{gain}: {problems}");
    }
}
