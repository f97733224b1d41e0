//! docs/brief.schema.json says what a brief is: everything that is in one, and nothing that is in none.

use std::collections::BTreeSet;

use serde_json::Value;

use super::text_tests::brief;
use super::{Brief, Editable, Stuck};
use crate::tuner;
use crate::tuner::report::{Change, CurvePoint, PointReport};
use crate::units::Score;

const SCHEMA: &str = include_str!("../../../../docs/brief.schema.json");

/// A brief in which every field is there.
fn whole() -> Brief {
    let mut brief = brief();
    brief.min_gain = Score::new(0.1);
    brief.limits.parts.push(Editable { path: "f.py".to_owned(), side: "above", marker: "# ---".to_owned() });
    brief.files[0].cut_from_bytes = Some(9_999);
    brief.failures[0].no_diff = Some("too long".to_owned());
    brief.recent[0].undecided = true;
    brief.plateau =
        Some(Stuck { experiments: 31, usual: 10, looked_at: 31, untouched: vec!["f.py:1 def f():".to_owned()] });
    let number = || tuner::Value::Number(1.0);
    let change = || Change { path: "f.py".to_owned(), name: "mode".to_owned(), to: tuner::Value::Text("a".to_owned()) };
    let report = brief.tuning.as_mut().unwrap();
    report.literals[0].curve.push(CurvePoint { value: number(), gain: 1.0, sd: 0.1 });
    for points in [&mut report.best, &mut report.recent] {
        points.push(PointReport { changes: vec![change()], gain: Some(1.0), failed: false });
        points.push(PointReport { changes: vec![change()], gain: None, failed: true });
    }
    brief
}

/// Holds a value against its schema; `seen` gathers the properties that were there.
fn check(at: &str, value: &Value, schema: &Value, seen: &mut BTreeSet<String>) {
    if let Some(options) = schema["enum"].as_array() {
        assert!(options.contains(value), "{at}: {value}");
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is = |name: &Value| name == kind || (name == "number" && kind == "integer");
    match &schema["type"] {
        Value::Array(kinds) => assert!(kinds.iter().any(is), "{at}: {value}"),
        Value::Null => {}
        kind => assert!(is(kind), "{at}: {value} is no {kind}"),
    }
    if let Value::Array(items) = value {
        items.iter().for_each(|item| check(at, item, &schema["items"], seen));
    }
    if let Value::Object(fields) = value {
        for (name, value) in fields {
            let known =
                schema["properties"].get(name).unwrap_or_else(|| panic!("{at} has `{name}`: not in the schema"));
            seen.insert(format!("{at}.{name}"));
            check(&format!("{at}.{name}"), value, known, seen);
        }
        let required = schema["required"].as_array().unwrap();
        required.iter().for_each(|name| assert!(fields.contains_key(name.as_str().unwrap()), "{at} has no {name}"));
    }
}

/// Every property that a schema names.
fn named(at: &str, schema: &Value, all: &mut BTreeSet<String>) {
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let at = format!("{at}.{name}");
        named(&at, schema, all);
        all.insert(at);
    }
    if schema["items"].is_object() {
        named(at, &schema["items"], all);
    }
}

#[test]
fn every_brief_is_what_its_schema_says() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let (mut seen, mut all) = (BTreeSet::new(), BTreeSet::new());
    check("brief", &serde_json::to_value(whole()).unwrap(), &schema, &mut seen);
    named("brief", &schema, &mut all);
    assert_eq!(all.difference(&seen).collect::<Vec<_>>(), Vec::<&String>::new(), "named, and in no brief");
    let least = Brief {
        min_gain: None,
        program: None,
        program_left_out: Vec::new(),
        noise_sd: None,
        smallest_sure_gain: None,
        kept: Vec::new(),
        kept_before: 0,
        failures: Vec::new(),
        near_misses: Vec::new(),
        recent: Vec::new(),
        repeats: Vec::new(),
        redo: Vec::new(),
        open: Vec::new(),
        said: Vec::new(),
        tuning: None,
        ..brief()
    };
    check("brief", &serde_json::to_value(least).unwrap(), &schema, &mut seen);
}
