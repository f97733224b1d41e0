//! Anthropic's messages.

use serde_json::{Value, json};

use super::{Answered, Asked, Part, ToolCall, ToolResult, Turn, Who, add, arguments, kind, list, text, tool, words};

pub(super) fn asked(body: &Value) -> Asked {
    let mut turns: Vec<Turn> = Vec::new();
    add(&mut turns, Who::System, [Part::Text(words(&body["system"]))]);
    for message in list(body, "messages") {
        let parts = match &message["content"] {
            Value::Array(blocks) => blocks.iter().filter_map(block).collect(),
            content => vec![Part::Text(words(content))],
        };
        let who = match text(message, "role") {
            "assistant" => Who::Assistant,
            "system" => Who::System,
            _ if parts.iter().all(|part| matches!(part, Part::Result(_))) => Who::Tool,
            _ => Who::User,
        };
        add(&mut turns, who, parts);
    }
    let tools = list(body, "tools").iter().map(|told| tool(told, &["input_schema"])).collect();
    Asked { tools, turns }
}

pub(super) fn answered(events: &[Value]) -> Answered {
    let mut answered = Answered::default();
    let mut blocks: Vec<Value> = Vec::new();
    for event in events {
        match text(event, "type") {
            "message" => {
                blocks.extend(list(event, "content").iter().cloned());
                answered.finish = event["stop_reason"].as_str().map(ToOwned::to_owned);
            }
            "content_block_start" => blocks.push(event["content_block"].clone()),
            "content_block_delta" => {
                if let Some(block) = blocks.last_mut() {
                    grow(block, &event["delta"]);
                }
            }
            "message_delta" => {
                answered.finish = event["delta"]["stop_reason"].as_str().map(ToOwned::to_owned).or(answered.finish);
            }
            _ => {}
        }
    }
    answered.parts = blocks.iter().filter_map(block).collect();
    answered
}

/// Adds a piece to the block that is being streamed. Arguments come as text, and a block begins with none.
fn grow(block: &mut Value, delta: &Value) {
    let (key, more) = match text(delta, "type") {
        "text_delta" => ("text", text(delta, "text")),
        "thinking_delta" => ("thinking", text(delta, "thinking")),
        "input_json_delta" => ("input", text(delta, "partial_json")),
        _ => return,
    };
    if !block.is_object() {
        return;
    }
    let known = block[key].as_str().unwrap_or_default().to_owned();
    block[key] = json!(known + more);
}

fn block(block: &Value) -> Option<Part> {
    Some(match text(block, "type") {
        "text" => Part::Text(text(block, "text").to_owned()),
        "thinking" => Part::Reasoning(text(block, "thinking").to_owned()),
        "tool_use" | "server_tool_use" => Part::Call(ToolCall {
            id: text(block, "id").to_owned(),
            name: text(block, "name").to_owned(),
            arguments: arguments(&block["input"]),
        }),
        "tool_result" => Part::Result(ToolResult {
            id: text(block, "tool_use_id").to_owned(),
            text: words(&block["content"]),
            failed: block["is_error"] == true,
        }),
        "redacted_thinking" => Part::Other("reasoning that the provider keeps to itself".to_owned()),
        "" => return None,
        _ => Part::Other(kind(block).to_owned()),
    })
}
