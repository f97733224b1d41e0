//! Edits as values of literals: a model is asked for JSON by a schema, and cannot change anything else.

use overnight_model::proposal::Contents;
use overnight_model::spec;
use overnight_model::tuner::Value as Setting;
use overnight_model::tuner::found::Literal;
use overnight_model::tuner::space::{Domain, Grain};
use overnight_model::units::short_number;
use serde_json::{Value, json};

use crate::source::Tunable;

/// More at once is no idea any more.
const MOST_CHANGES: usize = 4;
/// Room for a sentence; servers that write by a schema hold a model that does not stop to it.
const MOST_SIGNS: usize = 160;
/// Changes that a title names; the rest is counted.
const NAMED: usize = 4;

/// The literals of a surface under names that are unique.
pub(super) struct Values {
    tunable: Tunable,
    names: Vec<String>,
}

impl Values {
    pub(super) fn of(surface: &spec::Surface, contents: &Contents) -> Values {
        let tunable = Tunable::of(surface, contents);
        let is_alone =
            |literal: &Literal| tunable.literals.iter().filter(|other| other.name == literal.name).count() == 1;
        let name = |literal: &Literal| match is_alone(literal) {
            true => literal.name.clone(),
            false => format!("{}:{}", literal.path, literal.name),
        };
        let names = tunable.literals.iter().map(name).collect();
        Values { tunable, names }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// What an answer has to look like. Every property is required and no other allowed: servers that promise to keep to a
    /// schema want it so. A server of one's own keeps a model that does not stop to one change and a short text; a small model
    /// names the same value over and over otherwise.
    pub(super) fn schema(&self, is_own_server: bool) -> Value {
        let change = |names: Vec<&str>, value: Value| {
            json!({
                "type": "object", "additionalProperties": false, "required": ["name", "value"],
                "properties": { "name": { "type": "string", "enum": names }, "value": value },
            })
        };
        let literals = || self.tunable.literals.iter().zip(&self.names);
        let mut changes = Vec::new();
        for (kind, is_whole) in [("number", false), ("integer", true)] {
            let is_one = |literal: &Literal| matches!(literal.domain, Domain::Number { grain, .. } if (grain != Grain::Any) == is_whole);
            let names: Vec<&str> =
                literals().filter(|(literal, _)| is_one(literal)).map(|(_, name)| name.as_str()).collect();
            if !names.is_empty() {
                changes.push(change(names, json!({ "type": kind })));
            }
        }
        for (literal, name) in literals().filter(|(literal, _)| !literal.options.is_empty()) {
            changes.push(change(vec![name], json!({ "type": "string", "enum": literal.options })));
        }
        let items = match changes.len() {
            1 => changes.remove(0),
            _ => json!({ "anyOf": changes }),
        };
        let most = if is_own_server { 1 } else { MOST_CHANGES };
        let mut hypothesis = json!({ "type": "string" });
        if is_own_server {
            hypothesis["maxLength"] = MOST_SIGNS.into();
        }
        json!({
            "type": "object", "additionalProperties": false, "required": ["changes", "hypothesis"],
            "properties": {
                "changes": { "type": "array", "items": items, "minItems": 1, "maxItems": most },
                "hypothesis": hypothesis,
            },
        })
    }

    /// What may be changed, for the prompt.
    pub(super) fn listed(&self) -> String {
        let mut text = "# Values that you may change\n\n".to_owned();
        for (literal, name) in self.tunable.literals.iter().zip(&self.names) {
            text += &format!("- `{name}` is {}", literal.text);
            text += &match &literal.domain {
                Domain::Choice { .. } => format!("; one of {}\n", literal.options.join(", ")),
                Domain::Number { low, high, grain, .. } => {
                    let whole = if *grain == Grain::Any { "" } else { ", a whole number" };
                    let must = if literal.hinted { "must be" } else { "sensible" };
                    format!("; {must} from {} to {}{whole}\n", short_number(*low), short_number(*high))
                }
            };
        }
        text
    }

    /// The surface that an answer makes, and the title of it; or why it makes none.
    pub(super) fn read(&self, text: &str, contents: &Contents) -> Result<(Contents, String), String> {
        let answer: Value = serde_json::from_str(bare(text)).map_err(|error| format!("this is no JSON: {error}"))?;
        let Some(changes) = answer["changes"].as_array() else {
            return Err("there is no list `changes` in it".to_owned());
        };
        let surface = self.tunable.surface();
        let (mut point, mut words) = (surface.here(), Vec::new());
        for change in changes {
            let name = change["name"].as_str().unwrap_or_default();
            let Some(at) = self.names.iter().position(|known| known == name) else {
                return Err(format!("there is no value `{name}` to be changed"));
            };
            let literal = &self.tunable.literals[at];
            if point[at] != literal.value {
                return Err(format!("`{name}` is changed twice"));
            }
            point[at] = place(literal, &change["value"]).map_err(|why| format!("`{name}` {why}"))?;
            if point[at] != literal.value {
                words.push(format!("{name} {} → {}", literal.text, literal.write(point[at])));
            }
        }
        let more = words.len().saturating_sub(NAMED);
        words.truncate(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let hypothesis = answer["hypothesis"].as_str().unwrap_or_default();
        let title = format!("{}{more}: {hypothesis}", words.join(", "));
        Ok((self.tunable.with(contents, &surface.with(&point)), title))
    }
}

/// Where a value stands among those that a literal may have.
fn place(literal: &Literal, value: &Value) -> Result<f64, String> {
    let setting = match value {
        Value::Number(number) if literal.options.is_empty() => Setting::Number(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => Setting::Text(text.clone()),
        Value::Bool(truth) => Setting::Text(truth.to_string()),
        other => Setting::Text(other.to_string()),
    };
    let number = match (setting, &literal.domain) {
        (Setting::Text(text), Domain::Choice { .. }) => {
            let at = literal.options.iter().position(|option| *option == text);
            return at.map(|at| at as f64).ok_or(format!("must be one of {}", literal.options.join(", ")));
        }
        (Setting::Number(number), Domain::Number { .. }) if number.is_finite() => number,
        _ => return Err(format!("must be a number and is {value}")),
    };
    let Domain::Number { low, high, grain, .. } = literal.domain else { return Ok(number) };
    if grain != Grain::Any && number.fract() != 0.0 {
        return Err(format!("must be a whole number and is {number}"));
    }
    // What nobody said is a guess of ours.
    if literal.hinted && !(low..=high).contains(&number) {
        return Err(format!("must be from {low} to {high} and is {number}"));
    }
    Ok(number)
}

/// JSON out of the fence that models like to put around it.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```json").or(text.strip_prefix("```")).and_then(|text| text.strip_suffix("```"));
    inner.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use overnight_model::spec::{Part, Surface, SurfaceFile};

    const TEXT: &str =
        "lr = 0.1  # overnight: 0.001..1\nlayers = 4\nmode = \"fast\"  # overnight: one of \"fast\", \"slow\"\n";

    fn values() -> (Values, Contents) {
        let files = vec![SurfaceFile { path: "a.py".into(), part: Part::Whole }];
        let contents = Contents(vec![("a.py".into(), TEXT.into())]);
        (Values::of(&Surface { files, max_lines_changed: None }, &contents), contents)
    }

    fn read(changes: Value) -> Result<(String, String), String> {
        let (values, contents) = values();
        let answer = json!({ "changes": changes, "hypothesis": "it is faster" }).to_string();
        let (made, title) = values.read(&answer, &contents)?;
        Ok((String::from_utf8(made.0[0].1.clone()).unwrap(), title))
    }

    #[test]
    fn values_that_may_be_are_written_in_their_place() {
        let (text, title) =
            read(json!([{ "name": "lr", "value": 0.02 }, { "name": "mode", "value": "\"slow\"" }])).unwrap();
        assert_eq!(text, TEXT.replacen("0.1", "0.02", 1).replacen("\"fast\"", "\"slow\"", 1));
        assert_eq!(title, "lr 0.1 → 0.02, mode \"fast\" → \"slow\": it is faster");
    }

    #[test]
    fn values_that_may_not_be_are_refused() {
        for (name, value, why) in [
            ("lr", json!(2.0), "must be from 0.001 to 1 and is 2"),
            ("layers", json!(4.5), "must be a whole number and is 4.5"),
            ("layers", json!("four"), "must be a number and is \"four\""),
            ("mode", json!("\"other\""), "must be one of \"fast\", \"slow\""),
            ("rate", json!(1), "no value `rate`"),
        ] {
            let refused = read(json!([{ "name": name, "value": value }])).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        let twice = json!([{ "name": "lr", "value": 0.2 }, { "name": "lr", "value": 0.3 }]);
        assert!(read(twice).unwrap_err().contains("twice"));
        assert!(values().0.read("I would not", &values().1).unwrap_err().contains("no JSON"));
    }

    #[test]
    fn the_schema_names_what_there_is_and_allows_nothing_else() {
        let schema = values().0.schema(true).to_string();
        assert!(
            schema.contains(r#""type":"integer""#)
                && schema.contains(r#""enum":["lr"]"#)
                && schema.contains(r#""enum":["layers"]"#)
                && schema.contains(r#""enum":["mode"]"#),
            "{schema}"
        );
        assert!(schema.contains("maxLength") && !values().0.schema(false).to_string().contains("maxLength"));
        let listed = values().0.listed();
        assert!(listed.contains("- `lr` is 0.1; must be from 0.001 to 1\n"), "{listed}");
        assert!(listed.contains("- `mode` is \"fast\"; one of \"fast\", \"slow\"\n"), "{listed}");
    }
}
