//! A body as the JSON values that it holds: one, a list of them, or a stream of server-sent events.

use serde_json::Value;

/// What can be read of a body, in its order. What cannot is left out: a stream may break off in the middle of a line.
pub fn events(body: &[u8]) -> Vec<Value> {
    match serde_json::from_slice(body) {
        Ok(Value::Array(values)) => values,
        Ok(value) => vec![value],
        Err(_) => streamed(&String::from_utf8_lossy(body)),
    }
}

fn streamed(body: &str) -> Vec<Value> {
    let (mut events, mut data) = (Vec::new(), String::new());
    for line in body.lines().chain([""]) {
        match line.strip_prefix("data:") {
            Some(rest) => {
                if !data.is_empty() {
                    data.push('\n');
                }
                data.push_str(rest.strip_prefix(' ').unwrap_or(rest));
            }
            None if line.is_empty() => {
                events.extend(serde_json::from_str::<Value>(&data));
                data.clear();
            }
            None => {}
        }
    }
    events
}
