//! What somebody is told.

use serde_json::{Map, Value, json};

/// One piece of news. Its texts may be a stranger's: whoever sends them on makes them safe.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// `champion`, `suspect`, `stop`, `fault`, `end` or `test`.
    pub event: &'static str,
    pub study: String,
    /// On one line.
    pub title: String,
    pub text: String,
    /// The same as data.
    pub facts: Map<String, Value>,
    /// How many there are in this one.
    pub count: u64,
    /// Whether others of its kind may come in one with it.
    pub can_wait: bool,
}

impl Notice {
    pub fn new(event: &'static str, study: &str, title: String, text: String, facts: Map<String, Value>) -> Notice {
        Notice { event, study: study.to_owned(), title, text, facts, count: 1, can_wait: event == "champion" }
    }

    /// This one, with others that came before it.
    pub(super) fn after(mut self, earlier: u64) -> Notice {
        if earlier > 0 {
            let changes = if earlier == 1 { "change" } else { "changes" };
            self.text += &format!("\n{earlier} earlier {changes} of the champion since the last notice");
            self.count += earlier;
        }
        self
    }

    /// All of it as one object.
    pub(super) fn as_json(&self) -> Value {
        let mut object = Map::new();
        let known = [
            ("event", json!(self.event)),
            ("study", json!(self.study)),
            ("title", json!(self.title)),
            ("text", json!(self.text)),
            ("count", json!(self.count)),
        ];
        object.extend(known.map(|(name, value)| (name.to_owned(), value)));
        object.extend(self.facts.clone());
        Value::Object(object)
    }
}
