//! From a surface to a proposal and back.

use overnight_model::spec::{Part, Surface as SurfaceSpec, SurfaceFile};
use overnight_model::tuner::ask::{Memo, Result as Outcome, Told};
use overnight_model::tuner::{Value, propose};

use super::*;

const TRAIN: &str = "\
LR = 4e-2
DEPTH = 8  # overnight: 4..16
ACT = 'relu'  # overnight: one of 'relu', 'gelu'
SEED = 1
";

fn spec(paths: &[(&str, Part)]) -> SurfaceSpec {
    let file = |(path, part): &(&str, Part)| SurfaceFile { path: (*path).to_owned(), part: part.clone() };
    SurfaceSpec { files: paths.iter().map(file).collect(), max_lines_changed: None }
}

fn whole(text: &str) -> Tunable {
    Tunable::of(&spec(&[("train.py", Part::Whole)]), &contents(&[("train.py", text)]))
}

#[test]
fn a_proposal_changes_values_and_nothing_else_and_says_which() {
    let tunable = whole(TRAIN);
    let surface = tunable.surface();
    let mut told = vec![Told { point: surface.here(), result: Outcome::Value { value: 1.0, error: 0.0 } }];
    let mut described = Vec::new();
    for _ in 0..3 {
        let idea = propose(&surface, &told, 1, &mut |_| false, &mut Memo::default()).unwrap();
        described.push(idea.description.clone());
        let after = whole(&idea.files[0].1);
        assert_eq!(tunable.edits_to(&after).unwrap(), idea.edits, "read back from the text");
        told.push(Told { point: after.surface().here(), result: Outcome::Value { value: 2.0, error: 0.0 } });
    }
    let expected = ["LR 4e-2 → 1e-1", "DEPTH 8 → 10", "ACT 'relu' → 'gelu'"];
    assert_eq!(described, expected.map(|edit| format!("{edit}: not moved before")));
}

#[test]
fn a_change_of_anything_else_is_no_edit_of_values() {
    let before = whole(TRAIN);
    for (text, is_values) in [
        (TRAIN.replace("4e-2", "5e-2").replace("'relu'  #", "'gelu'  #"), true),
        (TRAIN.replace("DEPTH = 8", "DEPTH  = 9"), false),
        (TRAIN.replace("SEED = 1", "SEED = 2"), false),
        (format!("{TRAIN}x()\n"), false),
        (TRAIN.replace("LR", "RATE"), false),
    ] {
        assert_eq!(before.edits_to(&whole(&text)).is_some(), is_values, "{text}");
    }
    let edits = before.edits_to(&whole(&TRAIN.replace("'relu'  #", "'gelu'  #"))).unwrap();
    assert_eq!(edits.len(), 1);
    assert_eq!((&edits[0].from, &edits[0].to), (&Value::Text("'relu'".into()), &Value::Text("'gelu'".into())));
}

#[test]
fn only_the_part_that_may_change_is_looked_at_and_put_back() {
    let text = "A = 3\n# fixed below\nB = 4\n";
    let files = contents(&[("a.py", text), ("data.bin", "\u{0}")]);
    let spec = spec(&[("a.py", Part::Above("# fixed below".to_owned())), ("data.bin", Part::Whole)]);
    let tunable = Tunable::of(&spec, &files);
    assert_eq!(tunable.literals.iter().map(|literal| literal.name.as_str()).collect::<Vec<_>>(), ["A"]);
    let told = [Told { point: vec![3.0], result: Outcome::Value { value: 1.0, error: 0.0 } }];
    let idea = propose(&tunable.surface(), &told, 1, &mut |_| false, &mut Memo::default()).unwrap();
    let after = tunable.with(&files, &idea.files);
    assert_eq!(after.0[0].1, format!("A = {}\n# fixed below\nB = 4\n", written(&idea.edits[0].to)).into_bytes());
    assert_eq!(after.0[1], files.0[1]);
}

fn written(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Text(text) => text.clone(),
    }
}
