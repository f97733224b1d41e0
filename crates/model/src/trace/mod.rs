//! An exchange with a model as people read it: turns, whatever the protocol, and only what is new in each call.
//!
//! What comes in is a stranger's text. What cannot be read is left out or said, and nothing here fails.

mod atif;
mod chat;
mod digest;
mod fold;
mod gemini;
mod messages;
mod responses;
mod stream;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use atif::{Told, VERSION as ATIF_VERSION, trajectory};
pub use digest::digest;
pub use fold::{Fold, Step};
pub use stream::events;

use crate::call::Protocol;

/// One contribution to a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub who: Who,
    pub parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    System,
    User,
    Assistant,
    /// What tools gave.
    Tool,
}

impl Who {
    pub fn name(self) -> &'static str {
        match self {
            Who::System => "system",
            Who::User => "user",
            Who::Assistant => "assistant",
            Who::Tool => "tool",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Text(String),
    Reasoning(String),
    Call(ToolCall),
    Result(ToolResult),
    /// Something that is no text: what kind of thing it is.
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// JSON where the protocol says so, else text as it is.
    pub arguments: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    pub id: String,
    pub text: String,
    pub failed: bool,
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// The JSON schema of its arguments; null where none is given.
    pub schema: Value,
}

/// What a request says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    /// The tools on offer.
    pub tools: Vec<Tool>,
    pub turns: Vec<Turn>,
}

/// What an answer says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answered {
    pub parts: Vec<Part>,
    /// Why the model stopped, in the provider's words.
    pub finish: Option<String>,
    /// What went wrong, in the provider's words.
    pub error: Option<String>,
}

impl Answered {
    pub fn turn(&self) -> Turn {
        Turn { who: Who::Assistant, parts: self.parts.clone() }
    }
}

/// Reads a request; `None` where it is no JSON object.
pub fn asked(protocol: Protocol, body: &[u8]) -> Option<Asked> {
    let body: Value = serde_json::from_slice(body).ok().filter(Value::is_object)?;
    Some(match protocol {
        Protocol::Messages => messages::asked(&body),
        Protocol::Chat => chat::asked(&body),
        Protocol::Responses => responses::asked(&body),
        Protocol::Gemini => gemini::asked(&body),
    })
}

/// Reads an answer, streamed or not, as far as it goes.
pub fn answered(protocol: Protocol, body: &[u8]) -> Answered {
    let events = events(body);
    let mut answered = match protocol {
        Protocol::Messages => messages::answered(&events),
        Protocol::Chat => chat::answered(&events),
        Protocol::Responses => responses::answered(&events),
        Protocol::Gemini => gemini::answered(&events),
    };
    answered.error = events.iter().find_map(error).or(answered.error);
    if events.is_empty() && !body.is_empty() {
        // A proxy's page, or plain words: as they are.
        answered.parts.push(Part::Text(String::from_utf8_lossy(body).into_owned()));
    }
    answered
}

/// The error of any of the four: an object with a message, or a text.
fn error(event: &Value) -> Option<String> {
    let error = event.get("error").filter(|error| !error.is_null())?;
    let message = error.get("message").and_then(Value::as_str).or_else(|| error.as_str());
    Some(message.map_or_else(|| error.to_string(), ToOwned::to_owned))
}

/// A tool whose arguments are described under one of these keys.
fn tool(value: &Value, schema: &[&str]) -> Tool {
    let schema = schema.iter().find_map(|key| value.get(key)).cloned().unwrap_or_default();
    Tool { name: text(value, "name").to_owned(), description: text(value, "description").to_owned(), schema }
}

/// A list of the value, or nothing.
fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The text of a field that is a text, or a list of things with a text.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let of = |part: &Value| match part {
                Value::String(text) => text.clone(),
                part if part.get("text").is_some() => text(part, "text").to_owned(),
                part => format!("[{}]", kind(part)),
            };
            parts.iter().map(of).collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn kind(part: &Value) -> &str {
    match text(part, "type") {
        "" => "something else",
        kind => kind,
    }
}

/// Arguments as text: JSON in a string is left as it is.
fn arguments(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Adds to the latest turn where it is of the same side: some protocols make a turn of every part.
fn add(turns: &mut Vec<Turn>, who: Who, parts: impl IntoIterator<Item = Part>) {
    let parts = parts.into_iter().filter(|part| !matches!(part, Part::Text(text) if text.is_empty()));
    match turns.last_mut() {
        Some(last) if last.who == who && matches!(who, Who::Assistant | Who::Tool) => last.parts.extend(parts),
        _ => {
            let parts: Vec<Part> = parts.collect();
            if !parts.is_empty() {
                turns.push(Turn { who, parts });
            }
        }
    }
}
