//! Takes secrets out of what is told, whoever wrote it.

use serde_json::Value;

use super::Notice;
use crate::agent::Secrets;
use crate::load;

/// The person's secrets, as far as their names give them away.
#[derive(Clone)]
pub(super) struct Mask(Secrets);

impl Mask {
    pub(super) fn of_environment() -> Mask {
        Mask(Secrets::of(&load::whole_environment()))
    }

    /// The same, and one more.
    pub(super) fn with(self, secret: Option<String>) -> Mask {
        Mask(self.0.and(secret.iter().flat_map(|address| parts(address))))
    }

    pub(super) fn text(&self, text: &str) -> String {
        self.0.mask(text)
    }

    pub(super) fn notice(&self, mut notice: Notice) -> Notice {
        notice.title = self.text(&notice.title);
        notice.text = self.text(&notice.text);
        notice.facts.values_mut().for_each(|value| self.value(value));
        notice
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            Value::Object(object) => object.values_mut().for_each(|value| self.value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// An address, and what it has behind its host: that alone opens the door, too.
fn parts(address: &str) -> Vec<String> {
    let path = address.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map(|(_, path)| path.to_owned());
    [Some(address.to_owned()), path].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_taken_out_of_every_text_of_a_notice_and_addresses_out_of_errors() {
        let mask = Mask(Secrets::of(&[("MY_TOKEN".to_owned(), "made-up-token".to_owned())]));
        let facts = json!({ "a": ["x made-up-token"], "b": { "c": "made-up-token" }, "d": 1 });
        let facts = facts.as_object().unwrap().clone();
        let told = mask.notice(Notice::new("end", "s", "made-up-token!".into(), "a made-up-token".into(), facts));
        assert_eq!((told.title.as_str(), told.text.as_str()), ("[key]!", "a [key]"));
        assert_eq!(Value::Object(told.facts), json!({ "a": ["x [key]"], "b": { "c": "[key]" }, "d": 1 }));
        let mask = mask.with(Some("https://example.org/services/T0/B0".to_owned()));
        assert_eq!(mask.text("no https://example.org/services/T0/B0: /services/T0/B0"), "no [key]: /[key]");
    }
}
