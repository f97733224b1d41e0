use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::*;

const SURFACE: &str = "\
import os
MATRIX_LR = 0.04
DEPTH: int = 8
warmup = 1e-3  # a comment
DECAY = 0.0
SEED = 42
";

fn surface(text: &str) -> Vec<(String, String)> {
    vec![("train.py".to_owned(), text.to_owned())]
}

fn found(text: &str) -> Vec<(String, String)> {
    literals(text).into_iter().map(|literal| (literal.name, literal.text)).collect()
}

/// Plays a search in which `score` is to be made small; gives every text that was proposed and the best score.
fn play(text: &str, turns: usize, score: impl Fn(&BTreeMap<String, f64>) -> f64) -> (Vec<String>, f64) {
    let value = |text: &str| score(&literals(text).into_iter().map(|l| (l.name, l.value)).collect());
    let mut champion = text.to_owned();
    let (mut history, mut seen) = (Vec::new(), vec![champion.clone()]);
    for _ in 0..turns {
        let known = |files: &[(String, String)]| seen.contains(&files[0].1);
        let Some(idea) = propose(&surface(&champion), &history, 7, &mut { known }) else {
            break;
        };
        let new = idea.files[0].1.clone();
        let kept = value(&new) < value(&champion);
        if kept {
            champion = new.clone();
        }
        let outcome = Some(if kept { Outcome::Kept } else { Outcome::NotBetter });
        history.push(Tried { edits: idea.edits, outcome });
        seen.push(new);
    }
    (seen, value(&champion))
}

fn first(text: &str, history: &[Tried]) -> String {
    propose(&surface(text), history, 1, &mut |_| false).unwrap().description
}

#[test]
fn plain_numbers_at_the_top_level_are_found() {
    let expected = [("MATRIX_LR", "0.04"), ("DEPTH", "8"), ("warmup", "1e-3"), ("DECAY", "0.0")];
    let found = found(SURFACE);
    let found: Vec<_> = found.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_span_holds_exactly_the_number() {
    for literal in literals("é = 1\nx: float = -2.5 # ü\r\ny=3") {
        assert_eq!(literal.text, &"é = 1\nx: float = -2.5 # ü\r\ny=3"[literal.span]);
    }
}

#[test]
fn what_is_not_a_plain_number_is_left_alone() {
    for line in [
        "a = 3 * x",
        "a = b = 3",
        "a, b = 3, 4",
        "a = 1_000",
        "a = 0x40",
        "a = 2**14",
        "a = 007",
        "a = 1j",
        "a = nan",
        "  a = 3",
        "a == 3",
        "a += 3",
        "a: = 3",
        "a[0] = 3",
        "a.b = 3",
        "a = 3; b = 4",
        "a = '3'",
        "# a = 3",
        "a = ",
        "a = 3 # overnight: fixed",
        "a = -",
        "a = 1e999",
        "a = 3,",
        "a = 12345678901234567890",
    ] {
        assert_eq!(found(line), [], "{line}");
    }
}

#[test]
fn seeds_versions_ports_and_budgets_are_left_alone() {
    for name in ["SEED", "random_state", "__version__", "PORT", "TIME_BUDGET", "trainSeed", "data_seed", "TIMEOUT"] {
        assert_eq!(found(&format!("{name} = 3")), [], "{name}");
    }
    assert_eq!(found("support = 3").len(), 1);
}

#[test]
fn a_name_that_is_given_twice_is_left_alone() {
    assert_eq!(found("a = 1\nb = 2\na = 3\n").len(), 1);
}

#[test]
fn text_in_a_docstring_is_no_code() {
    let text = "s = \"it's\" # '''\n\"\"\"\na = 1\n'''\n\"\"\"\nb = '''x\nc = 2\n'''; d = 3\ne = 4\n";
    assert_eq!(found(text), [("e".to_owned(), "4".to_owned())]);
}

#[test]
fn a_number_keeps_its_form() {
    let write = |text: &str, value| literals(&format!("a = {text}"))[0].write(value);
    assert_eq!(write("8", 12.4), "12");
    assert_eq!(write("0.04", 0.06), "0.06");
    assert_eq!(write("3.0", 2.0), "2.0");
    assert_eq!(write("1e-3", 0.0015), "1.5e-3");
    assert_eq!(write("1E3", 1500.0), "1.5E3");
    assert_eq!(write("0.1", 0.123456789), "0.123457");
}

#[test]
fn the_sweep_goes_up_and_down_and_on_where_it_was_kept() {
    let mut history = Vec::new();
    let mut text = SURFACE.to_owned();
    let mut turn = |outcome| {
        let idea = propose(&surface(&text), &history, 1, &mut |_| false).unwrap();
        if outcome == Outcome::Kept {
            text = idea.files[0].1.clone();
        }
        history.push(Tried { edits: idea.edits, outcome: Some(outcome) });
        idea.description
    };
    assert_eq!(turn(Outcome::Kept), "MATRIX_LR 0.04 → 0.06");
    assert_eq!(turn(Outcome::Kept), "MATRIX_LR 0.06 → 0.09");
    assert_eq!(turn(Outcome::Failed), "MATRIX_LR 0.09 → 0.135");
    assert_eq!(turn(Outcome::NotBetter), "MATRIX_LR 0.09 → 0.06");
    assert_eq!(turn(Outcome::NotBetter), "DEPTH 8 → 12");
    assert_eq!(turn(Outcome::NotBetter), "DEPTH 8 → 5");
    assert_eq!(turn(Outcome::NotBetter), "warmup 1e-3 → 1.5e-3");
    assert_eq!(turn(Outcome::NotBetter), "warmup 1e-3 → 6.67e-4");
    assert_eq!(turn(Outcome::NotBetter), "DECAY 0.0 → 0.005");
}

#[test]
fn what_is_still_pending_is_not_proposed_again() {
    let edit = Edit { path: "train.py".to_owned(), name: "MATRIX_LR".to_owned(), from: 0.04, to: 0.06 };
    let pending = Tried { edits: vec![edit], outcome: None };
    assert_eq!(first(SURFACE, &[pending]), "MATRIX_LR 0.04 → 0.0267");
}

#[test]
fn the_sign_is_kept_and_small_integers_move_by_one() {
    assert_eq!(first("a = -0.5", &[]), "a -0.5 → -0.75");
    assert_eq!(first("a = 1", &[]), "a 1 → 2");
    assert_eq!(first("a = 0", &[]), "a 0 → 1");
    for text in ["a = 1", "a = -1", "a = 0", "a = 0.0", "a = 0.5"] {
        let start = literals(text)[0].value;
        for text in play(text, 100, |_| 0.0).0 {
            let value = literals(&text)[0].value;
            assert!(value * start > 0.0 || start == 0.0 && value >= 0.0, "{text}");
        }
    }
}

#[test]
fn without_numbers_or_without_anything_new_there_is_no_idea() {
    assert_eq!(propose(&surface("import os\n"), &[], 1, &mut |_| false), None);
    assert_eq!(propose(&surface(SURFACE), &[], 1, &mut |_| true), None);
}

#[test]
fn several_files_are_one_surface_and_only_changed_ones_come_back() {
    let files = vec![("a.py".to_owned(), "x = 1\n".to_owned()), ("b.py".to_owned(), "y = 2\n".to_owned())];
    let edit = |to| Edit { path: "a.py".to_owned(), name: "x".to_owned(), from: 1.0, to };
    let tried = |to| Tried { edits: vec![edit(to)], outcome: Some(Outcome::NotBetter) };
    let mut shown = 0;
    let idea = propose(&files, &[tried(2.0), tried(0.5)], 1, &mut |files| {
        shown = files.len();
        false
    });
    assert_eq!(idea.unwrap().files, [("b.py".to_owned(), "y = 3\n".to_owned())]);
    assert_eq!(shown, 2);
}

#[test]
fn three_hundred_turns_never_repeat_a_surface() {
    let (seen, _) = play(SURFACE, 300, |values| values["MATRIX_LR"] + values["DEPTH"]);
    assert_eq!(seen.len(), 301);
    assert_eq!(seen.iter().collect::<HashSet<_>>().len(), 301);
}

#[test]
fn a_quadratic_in_two_numbers_is_improved_within_forty_turns() {
    let far = |values: &BTreeMap<String, f64>| (values["a"].ln() - 0.1f64.ln()).powi(2) + (values["b"] - 40.0).powi(2);
    let (_, best) = play("a = 0.02\nb = 9\n", 40, far);
    assert!(best < 3.0, "{best}");
}

/// An assignment of a number, or anything at all.
const LINE: &str = "(a|b|c|lr|n) ?(: int)? ?= ?-?[0-9]{1,3}(\\.[0-9]{0,3})?(e-?[0-9])?( # é)?|.{0,12}";

proptest! {
    #[test]
    fn an_edit_changes_nothing_but_the_numbers(
        lines in prop::collection::vec(LINE, 0..12),
        seed: u64,
        turn in 0usize..30,
    ) {
        let text = lines.join("\n");
        let history = vec![Tried { edits: vec![], outcome: None }; turn];
        if let Some(idea) = propose(&surface(&text), &history, seed, &mut |_| false) {
            prop_assert_eq!(propose(&surface(&text), &history, seed, &mut |_| false), Some(idea.clone()));
            let new = &idea.files[0].1;
            prop_assert_ne!(new, &text);
            let (old_literals, new_literals) = (literals(&text), literals(new));
            prop_assert_eq!(without(&text, &old_literals), without(new, &new_literals));
            for (old, new) in old_literals.iter().zip(&new_literals) {
                let edit = idea.edits.iter().find(|edit| edit.name == old.name);
                prop_assert_eq!(&new.name, &old.name);
                prop_assert_eq!(new.form, old.form);
                prop_assert_eq!(new.value, edit.map_or(old.value, |edit| edit.to));
            }
        }
    }

    #[test]
    fn no_text_is_too_strange(text in any::<String>()) {
        literals(&text);
    }
}

fn without(text: &str, literals: &[Literal]) -> String {
    let mut text = text.to_owned();
    for literal in literals.iter().rev() {
        text.replace_range(literal.span.clone(), "·");
    }
    text
}
