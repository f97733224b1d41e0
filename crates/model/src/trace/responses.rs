//! OpenAI's responses.

use serde_json::Value;

use super::{
    Answered, Asked, Part, Tool, ToolCall, ToolResult, Turn, Who, add, arguments, kind, list, text, tool, words,
};

pub(super) fn asked(body: &Value) -> Asked {
    let mut turns: Vec<Turn> = Vec::new();
    add(&mut turns, Who::System, [Part::Text(text(body, "instructions").to_owned())]);
    if let Some(input) = body["input"].as_str() {
        add(&mut turns, Who::User, [Part::Text(input.to_owned())]);
    }
    for item in list(body, "input") {
        let who = match text(item, "role") {
            "system" | "developer" => Who::System,
            "assistant" => Who::Assistant,
            "user" => Who::User,
            _ if text(item, "type").ends_with("_output") => Who::Tool,
            _ => Who::Assistant,
        };
        add(&mut turns, who, part(item));
    }
    // What the provider runs itself has a kind and no name.
    let of = |told: &Value| match tool(told, &["parameters"]) {
        unnamed if unnamed.name.is_empty() => Tool { name: kind(told).to_owned(), ..unnamed },
        named => named,
    };
    Asked { tools: list(body, "tools").iter().map(of).collect(), turns }
}

pub(super) fn answered(events: &[Value]) -> Answered {
    let (mut answered, mut items, mut said) = (Answered::default(), Vec::new(), String::new());
    for event in events {
        let response = match text(event, "type") {
            "response.output_item.done" => {
                items.push(event["item"].clone());
                said.clear();
                continue;
            }
            "response.output_text.delta" => {
                said.push_str(text(event, "delta"));
                continue;
            }
            "response.completed" | "response.incomplete" | "response.failed" => &event["response"],
            _ if text(event, "object") == "response" => event,
            _ => continue,
        };
        if !list(response, "output").is_empty() {
            items = list(response, "output").to_vec();
        }
        let why = response["incomplete_details"]["reason"].as_str().or_else(|| response["status"].as_str());
        answered.finish = why.map(ToOwned::to_owned);
        answered.error = super::error(response);
    }
    answered.parts = items.iter().flat_map(part).collect();
    // Broken off in the middle of an item.
    answered.parts.extend((!said.is_empty()).then_some(Part::Text(said)));
    answered
}

fn part(item: &Value) -> Vec<Part> {
    let call = |name: &str, given: &Value| {
        let id = text(item, "call_id").to_owned();
        vec![Part::Call(ToolCall { id, name: name.to_owned(), arguments: arguments(given) })]
    };
    match text(item, "type") {
        "" | "message" => vec![Part::Text(words(&item["content"]))],
        "function_call" => call(text(item, "name"), &item["arguments"]),
        "custom_tool_call" => call(text(item, "name"), &item["input"]),
        "local_shell_call" => call("local_shell", &item["action"]),
        "reasoning" => {
            let said = [words(&item["summary"]), words(&item["content"])].join("\n").trim().to_owned();
            match said.is_empty() {
                true => vec![Part::Other("reasoning that the provider keeps to itself".to_owned())],
                false => vec![Part::Reasoning(said)],
            }
        }
        output if output.ends_with("_output") => {
            let id = text(item, "call_id").to_owned();
            vec![Part::Result(ToolResult { id, text: words(&item["output"]), failed: false })]
        }
        _ => vec![Part::Other(kind(item).to_owned())],
    }
}
