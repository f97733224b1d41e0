//! How many tokens a request can be, by what its provider counted before.
//!
//! A client that goes on with a conversation sends all of it again. A request that says the same as one that was counted, and
//! more at the end of its lists (messages, tools, blocks of a system prompt), is no more tokens than that one was and the new
//! parts have bytes: between whole parts no model reads across. One that differs in anything else is not compared: a field may
//! make a provider leave out what it would else read. No ratio is learned: it would be a guess, and no bound.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use overnight_model::call::Tokens;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Agents hold few conversations at once, and the next turn begins as the last one did.
const MOST_KNOWN: usize = 64;
/// A longer request, or one of more parts, is not worth the memory.
const MOST_BYTES: usize = 8 << 20;
const MOST_PARTS: usize = 20_000;
/// What marks where a cache begins, is not read by the model, and wanders from message to message.
const MARK: &str = "cache_control";
/// What says who asks, and is not read by the model either.
const WHO: [&str; 4] = ["metadata", "client_metadata", "prompt_cache_key", "user"];

/// What was counted lately, by whoever made the calls.
#[derive(Debug, Default)]
pub(super) struct Counted(Mutex<VecDeque<Arc<Known>>>);

#[derive(Debug)]
struct Known {
    sketch: Sketch,
    tokens: u64,
}

/// A request in parts: its lists, and its other fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sketch {
    to: Name,
    lists: BTreeMap<String, Vec<Part>>,
    fields: BTreeMap<String, Name>,
    /// The bytes that are in no part: signs between them, or what another reader would take for a part.
    beside: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    name: Name,
    bytes: u64,
}

/// Long enough that nobody finds two of the same.
type Name = [u8; 16];

impl Sketch {
    /// `None` where it is no object, or too long to be worth it.
    pub(super) fn of(provider: &str, model: &str, body: &[u8]) -> Option<Sketch> {
        if body.len() > MOST_BYTES {
            return None;
        }
        let Ok(Value::Object(all)) = serde_json::from_slice(body) else { return None };
        let (mut lists, mut fields) = (BTreeMap::new(), BTreeMap::new());
        let mut within = 0;
        for (field, value) in all {
            match value {
                Value::Array(items) if items.len() > MOST_PARTS => return None,
                Value::Array(items) => {
                    let parts: Vec<Part> = items.into_iter().map(part).collect();
                    within += parts.iter().map(|part| part.bytes).sum::<u64>();
                    lists.insert(field, parts);
                }
                value => {
                    let Part { name, bytes } = part(value);
                    within += bytes;
                    if !WHO.contains(&field.as_str()) {
                        fields.insert(field, name);
                    }
                }
            }
        }
        let beside = (body.len() as u64).saturating_sub(within);
        Some(Sketch { to: name(&[provider, model]), lists, fields, beside })
    }
}

impl Counted {
    /// The most tokens that a request can be; `None` where nothing that it goes on from was counted.
    pub(super) fn most(&self, sketch: &Sketch) -> Option<u64> {
        let known: Vec<Arc<Known>> = self.lock().iter().cloned().collect();
        known.iter().filter_map(|known| known.most(sketch)).min()
    }

    /// A provider has counted what it read.
    pub(super) fn learn(&self, sketch: Sketch, tokens: &Tokens) {
        let Some(input) = tokens.input else { return };
        let more = tokens.cached.unwrap_or(0).saturating_add(tokens.written.unwrap_or(0));
        let mut known = self.lock();
        known.push_back(Arc::new(Known { sketch, tokens: input.saturating_add(more) }));
        if known.len() > MOST_KNOWN {
            known.pop_front();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Arc<Known>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn most(&self, sketch: &Sketch) -> Option<u64> {
        let Sketch { to, lists, fields, .. } = &self.sketch;
        if *to != sketch.to || *fields != sketch.fields || lists.len() != sketch.lists.len() {
            return None;
        }
        let mut most = self.tokens.saturating_add(sketch.beside);
        for ((field, before), (same, now)) in lists.iter().zip(&sketch.lists) {
            if field != same || !now.starts_with(before) {
                return None;
            }
            let new = now[before.len()..].iter().map(|part| part.bytes);
            most = new.fold(most, u64::saturating_add);
        }
        Some(most)
    }
}

/// A part as the model is given it. Its length is that of its text with the signs around it, as JSON has them.
fn part(mut value: Value) -> Part {
    unmark(&mut value);
    let text = value.to_string();
    Part { name: name(&[&text]), bytes: text.len() as u64 }
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

    fn said(text: &str) -> Value {
        json!({ "role": "user", "content": text })
    }

    /// The signs between parts and the names of fields: few.
    const BESIDE: std::ops::Range<u64> = 0..100;

    #[test]
    fn a_conversation_that_goes_on_is_bounded_by_what_was_counted_and_by_what_is_new() {
        let counted = Counted::default();
        let (one, new) = (said(&"a".repeat(4000)), said("new"));
        let first = sketch(&body(std::slice::from_ref(&one)));
        assert_eq!(counted.most(&first), None);
        counted.learn(first.clone(), &read(1000, 2000));
        let more = |body: &Value| counted.most(&sketch(body)).map(|most| most - 3000);
        assert!(
            more(&body(std::slice::from_ref(&one))).is_some_and(|more| BESIDE.contains(&more)),
            "the same once more"
        );
        let longer = more(&body(&[one.clone(), new.clone()])).unwrap() - new.to_string().len() as u64;
        assert!(BESIDE.contains(&longer), "{longer}");
        // A part that comes twice was counted once.
        assert!(more(&body(&[one.clone(), one.clone()])).unwrap() > 4000);
        for other in [body(&[said("b")]), body(&[]), body(&[new, one])] {
            assert_eq!(counted.most(&sketch(&other)), None, "{other}");
        }
    }

    /// Whoever has a provider read little of a request must not have the rest for nothing afterwards.
    #[test]
    fn what_was_counted_with_another_field_bounds_nothing() {
        let counted = Counted::default();
        let whole = body(&[said(&"a".repeat(4000))]);
        let mut cleared = whole.clone();
        cleared["context_management"] = json!({ "edits": [{ "type": "clear" }] });
        counted.learn(sketch(&cleared), &read(10, 0));
        assert_eq!(counted.most(&sketch(&whole)), None);
        let short = body(&[said(&"a".repeat(4000)), said("b")]);
        counted.learn(sketch(&whole), &read(900, 0));
        let mut longer = short.clone();
        longer["options"] = json!({ "num_ctx": 200_000 });
        assert_eq!(counted.most(&sketch(&longer)), None);
        assert!(counted.most(&sketch(&short)).is_some());
        longer = short.clone();
        longer["metadata"] = json!({ "user_id": "somebody" });
        assert!(counted.most(&sketch(&longer)).is_some(), "who asks is not read");
    }

    /// Of two fields of one name some servers read the first.
    #[test]
    fn what_a_reader_passes_over_counts_by_its_bytes() {
        let counted = Counted::default();
        let small = r#"{"model":"m","messages":["a"]}"#;
        let of = |text: &str| Sketch::of("there", "m", text.as_bytes()).unwrap();
        counted.learn(of(small), &read(5, 0));
        let twice = format!(r#"{{"model":"m","messages":["{}"],"messages":["a"]}}"#, "x".repeat(9000));
        assert!(counted.most(&of(&twice)).unwrap() > 9000);
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
        assert!(counted.most(&sketch(&plain)).is_some());
        let other = Sketch::of("there", "another", plain.to_string().as_bytes()).unwrap();
        assert_eq!(counted.most(&other), None);
    }

    #[test]
    fn the_least_of_what_is_known_counts_and_the_oldest_is_forgotten() {
        let counted = Counted::default();
        let turns = |upto: u64| (0..upto).map(|turn| json!(turn)).collect::<Vec<_>>();
        for turn in 0..2 * MOST_KNOWN as u64 {
            counted.learn(sketch(&body(&turns(turn))), &read(5000 - turn, 0));
        }
        assert_eq!(counted.lock().len(), MOST_KNOWN);
        counted.learn(sketch(&body(&turns(999))), &Tokens::default());
        assert_eq!(counted.most(&sketch(&body(&[]))), None, "it is forgotten");
        let last = 2 * MOST_KNOWN as u64 - 1;
        let most = counted.most(&sketch(&body(&turns(last)))).unwrap();
        assert!(most >= 5000 - last && most < 5000 - last + 600, "{most}");
        assert_eq!(Sketch::of("there", "m", b"[]"), None);
        let many = format!("[{}0]", "0,".repeat(MOST_PARTS));
        assert_eq!(Sketch::of("there", "m", format!(r#"{{"messages":{many}}}"#).as_bytes()), None);
    }
}
