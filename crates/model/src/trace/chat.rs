//! OpenAI's chat completions, and what is compatible with them.

use serde_json::Value;

use super::{Answered, Asked, Part, ToolCall, ToolResult, Turn, Who, add, arguments, list, text, tool, words};

pub(super) fn asked(body: &Value) -> Asked {
    let mut turns: Vec<Turn> = Vec::new();
    for message in list(body, "messages") {
        let content = words(&message["content"]);
        match text(message, "role") {
            "system" | "developer" => add(&mut turns, Who::System, [Part::Text(content)]),
            "tool" | "function" => {
                let id = text(message, "tool_call_id").to_owned();
                add(&mut turns, Who::Tool, [Part::Result(ToolResult { id, text: content, failed: false })]);
            }
            "assistant" => {
                let mut parts = reasoning(message);
                parts.push(Part::Text(content));
                parts.extend(list(message, "tool_calls").iter().map(|call| Part::Call(call_of(call))));
                add(&mut turns, Who::Assistant, parts);
            }
            _ => add(&mut turns, Who::User, [Part::Text(content)]),
        }
    }
    let tools = list(body, "tools").iter().map(|told| tool(&told["function"], &["parameters"])).collect();
    Asked { tools, turns }
}

pub(super) fn answered(events: &[Value]) -> Answered {
    let (mut thought, mut said, mut finish) = (String::new(), String::new(), None);
    let mut calls: Vec<(u64, ToolCall)> = Vec::new();
    for choice in events.iter().filter_map(|event| list(event, "choices").first()) {
        let message = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
        for part in reasoning(message) {
            if let Part::Reasoning(more) = part {
                thought.push_str(&more);
            }
        }
        said.push_str(&words(&message["content"]));
        if said.is_empty() {
            said.push_str(text(message, "refusal"));
        }
        for (at, call) in list(message, "tool_calls").iter().enumerate() {
            let index = call["index"].as_u64().unwrap_or(at as u64);
            let ToolCall { id, name, arguments } = call_of(call);
            match calls.iter_mut().find(|(known, _)| *known == index) {
                Some((_, known)) => known.arguments.push_str(&arguments),
                None => calls.push((index, ToolCall { id, name, arguments })),
            }
        }
        finish = choice["finish_reason"].as_str().map(ToOwned::to_owned).or(finish);
    }
    let mut parts = Vec::new();
    parts.extend((!thought.is_empty()).then_some(Part::Reasoning(thought)));
    parts.extend((!said.is_empty()).then_some(Part::Text(said)));
    parts.extend(calls.into_iter().map(|(_, call)| Part::Call(call)));
    Answered { parts, finish, error: None }
}

/// What no standard names: servers differ in where they put it.
fn reasoning(message: &Value) -> Vec<Part> {
    let found = ["reasoning_content", "reasoning"].iter().map(|key| text(message, key)).find(|text| !text.is_empty());
    found.map(|text| Part::Reasoning(text.to_owned())).into_iter().collect()
}

fn call_of(call: &Value) -> ToolCall {
    let function = &call["function"];
    let arguments = arguments(&function["arguments"]);
    ToolCall { id: text(call, "id").to_owned(), name: text(function, "name").to_owned(), arguments }
}
