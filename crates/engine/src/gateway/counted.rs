//! How many tokens a request can be, by what its provider counted before.
//!
//! A client that goes on with a conversation sends all of it again. What was in a request that was counted is no more tokens
//! than that request was, and the rest no more than it has bytes. Compared are whole parts (a message, a tool, a block of the
//! system prompt), between which no model reads across. No ratio is learned: it would be a guess, and no bound.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use overnight_model::call::Tokens;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Agents hold few conversations at once, and the next turn begins as the last one did.
const MOST_KNOWN: usize = 64;
/// A request of more parts is not worth the memory.
const MOST_PARTS: usize = 20_000;
/// What marks where a cache begins, is not read by the model, and wanders from message to message.
const MARK: &str = "cache_control";

/// What was counted lately, by whoever made the calls.
#[derive(Debug, Default)]
pub(super) struct Counted(Mutex<VecDeque<Known>>);

#[derive(Debug)]
struct Known {
    to: Name,
    /// How often each part is in it.
    parts: HashMap<Name, u32>,
    tokens: u64,
}

/// A request in parts, by name and length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sketch {
    to: Name,
    parts: Vec<(Name, u64)>,
}

/// Long enough that nobody finds two of the same.
type Name = [u8; 16];

impl Sketch {
    /// `None` where it is no object, or has too many parts.
    pub(super) fn of(provider: &str, model: &str, body: &[u8]) -> Option<Sketch> {
        let Ok(Value::Object(mut fields)) = serde_json::from_slice(body) else { return None };
        let mut parts = Vec::new();
        for (field, value) in &mut fields {
            match value {
                Value::Array(items) => items.iter_mut().for_each(|item| parts.push(part(field, item))),
                value => parts.push(part(field, value)),
            }
        }
        (parts.len() <= MOST_PARTS).then(|| Sketch { to: name(&[provider, model]), parts })
    }
}

impl Counted {
    /// The most tokens that a request can be; `None` where nothing like it was counted.
    pub(super) fn most(&self, sketch: &Sketch) -> Option<u64> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().filter(|known| known.to == sketch.to).map(|known| known.most(sketch)).min()
    }

    /// A provider has counted what it read.
    pub(super) fn learn(&self, sketch: Sketch, tokens: &Tokens) {
        let Some(input) = tokens.input else { return };
        let more = tokens.cached.unwrap_or(0).saturating_add(tokens.written.unwrap_or(0));
        let mut parts = HashMap::new();
        for (part, _) in &sketch.parts {
            *parts.entry(*part).or_insert(0) += 1;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.push_back(Known { to: sketch.to, parts, tokens: input.saturating_add(more) });
        if known.len() > MOST_KNOWN {
            known.pop_front();
        }
    }
}

impl Known {
    fn most(&self, sketch: &Sketch) -> u64 {
        let mut left = self.parts.clone();
        let new = |(part, bytes): &(Name, u64)| match left.get_mut(part).filter(|left| **left > 0) {
            Some(left) => {
                *left -= 1;
                0
            }
            None => *bytes,
        };
        sketch.parts.iter().map(new).fold(self.tokens, u64::saturating_add)
    }
}

/// A part as the model is given it. Its length is that of its text with the signs around it, as JSON has them.
fn part(field: &str, value: &mut Value) -> (Name, u64) {
    unmark(value);
    let text = value.to_string();
    (name(&[field, &text]), (field.len() + text.len()) as u64)
}

fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove(MARK);
            fields.values_mut().for_each(unmark);
        }
        Value::Array(items) => items.iter_mut().for_each(unmark),
        _ => {}
    }
}

fn name(words: &[&str]) -> Name {
    let mut hash = Sha256::new();
    for word in words {
        hash.update((word.len() as u64).to_le_bytes());
        hash.update(word);
    }
    let mut name = Name::default();
    name.copy_from_slice(&hash.finalize()[..16]);
    name
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sketch(body: &Value) -> Sketch {
        Sketch::of("there", "m", body.to_string().as_bytes()).unwrap()
    }

    fn read(input: u64, cached: u64) -> Tokens {
        Tokens { input: Some(input), cached: Some(cached), ..Tokens::default() }
    }

    fn body(messages: &[Value]) -> Value {
        json!({ "model": "m", "system": "s".repeat(5000), "tools": [{ "name": "t".repeat(3000) }], "messages": messages })
    }

    #[test]
    fn what_was_counted_before_is_not_bounded_by_its_bytes_again() {
        let counted = Counted::default();
        let (one, two) = (json!({ "role": "user", "content": "a".repeat(4000) }), json!({ "content": "new" }));
        let first = sketch(&body(std::slice::from_ref(&one)));
        assert_eq!(counted.most(&first), None);
        counted.learn(first.clone(), &read(1000, 2000));
        assert_eq!(counted.most(&first), Some(3000), "the same once more");
        let longer = sketch(&body(&[one.clone(), two.clone()]));
        assert_eq!(counted.most(&longer), Some(3000 + "messages".len() as u64 + two.to_string().len() as u64));
        // A part that comes twice was counted once.
        let twice = sketch(&body(&[one.clone(), one.clone()]));
        assert!(counted.most(&twice).unwrap() > 3000 + 4000);
        let changed = json!({ "role": "user", "content": "b".repeat(4000) });
        assert!(counted.most(&sketch(&body(&[changed]))).unwrap() > 3000 + 4000);
    }

    #[test]
    fn a_mark_for_a_cache_makes_no_other_message_and_another_model_counts_otherwise() {
        let counted = Counted::default();
        let message = |mark: bool| match mark {
            true => {
                json!({ "role": "user", "content": [{ "type": "text", "text": "x", "cache_control": { "type": "ephemeral" } }] })
            }
            false => json!({ "role": "user", "content": [{ "type": "text", "text": "x" }] }),
        };
        counted.learn(sketch(&body(&[message(true)])), &read(70, 0));
        let plain = body(&[message(false)]);
        assert_eq!(counted.most(&sketch(&plain)), Some(70));
        let other = Sketch::of("there", "another", plain.to_string().as_bytes()).unwrap();
        assert_eq!(counted.most(&other), None);
    }

    #[test]
    fn the_least_of_what_is_known_counts_and_the_oldest_is_forgotten() {
        let counted = Counted::default();
        for turn in 0..2 * MOST_KNOWN as u64 {
            counted.learn(sketch(&body(&[json!({ "content": turn })])), &read(100 + turn, 0));
        }
        assert_eq!(counted.0.lock().unwrap().len(), MOST_KNOWN);
        let none = Tokens::default();
        counted.learn(sketch(&body(&[])), &none);
        assert!(
            counted.most(&sketch(&body(&[]))).unwrap() >= 100 + MOST_KNOWN as u64,
            "what is not known is not learned"
        );
        assert_eq!(Sketch::of("there", "m", b"[]"), None);
    }
}
