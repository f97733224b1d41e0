//! Numbers in a JSON object: the metrics file, or a stream's last line.

mod node;

use serde_json::Value as Json;

use self::node::Node;
use super::findings::Value;
use super::line;
use crate::units::Score;

/// Reads `{"name": 1}` or `{"metrics": {"name": 1}}`; the error says why it is neither. A name that is there twice is
/// given twice.
pub(super) fn numbers(bytes: &[u8]) -> Result<Vec<(String, Value)>, String> {
    let object = parse(bytes)?;
    let mut numbers = Vec::new();
    for (name, node) in object {
        match node {
            Node::Object(inner) if name == "metrics" => {
                numbers.extend(inner.into_iter().map(|(name, node)| (name, value(node.into()))));
            }
            node => numbers.push((name, value(node.into()))),
        }
    }
    // Anything else would be a name that no guard and no other dialect can say.
    numbers.retain(|(name, _)| line::is_name(name));
    Ok(numbers)
}

fn parse(bytes: &[u8]) -> Result<Vec<(String, Node)>, String> {
    let node = serde_json::from_slice(bytes).or_else(|error| {
        // Python writes NaN and Infinity, which JSON does not have: they must not pass for a missing metric.
        serde_json::from_slice(&quote_not_finite(bytes)).map_err(|_| error.to_string())
    })?;
    match node {
        Node::Object(object) => Ok(object),
        Node::Plain(_) => Err("it holds another kind of value".to_owned()),
    }
}

fn value(json: Json) -> Value {
    match json {
        Json::Number(number) => match number.as_f64().and_then(Score::new) {
            Some(score) => Value::Number(score),
            None => Value::NotFinite(number.to_string()),
        },
        Json::String(text) if line::is_not_finite(text.as_bytes()) => Value::NotFinite(text),
        json => line::not_a_number(json.to_string().as_bytes()),
    }
}

/// Puts bare words such as `NaN` and `-Infinity` into quotes.
fn quote_not_finite(bytes: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(bytes.len() + 8);
    let mut rest = bytes;
    while let Some(&byte) = rest.first() {
        let length = match byte {
            b'"' => string_length(rest),
            b'-' | b'A'..=b'Z' | b'a'..=b'z' => word_length(rest),
            _ => 1,
        };
        let (token, after) = rest.split_at(length);
        match line::is_not_finite(token) {
            true => quoted.extend([b"\"", token, b"\""].concat()),
            false => quoted.extend(token),
        }
        rest = after;
    }
    quoted
}

fn word_length(text: &[u8]) -> usize {
    1 + text[1..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count()
}

fn string_length(text: &[u8]) -> usize {
    let mut escaped = false;
    for (at, &byte) in text.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}
