//! Google's `generateContent`.

use serde_json::Value;

use super::{Answered, Asked, Part, ToolCall, ToolResult, Turn, Who, add, arguments, list, text, tool, words};

pub(super) fn asked(body: &Value) -> Asked {
    let mut turns: Vec<Turn> = Vec::new();
    for key in ["systemInstruction", "system_instruction"] {
        add(&mut turns, Who::System, [Part::Text(words(&body[key]["parts"]))]);
    }
    for content in list(body, "contents") {
        let parts: Vec<Part> = list(content, "parts").iter().map(part).collect();
        let who = match text(content, "role") {
            "model" => Who::Assistant,
            _ if !parts.is_empty() && parts.iter().all(|part| matches!(part, Part::Result(_))) => Who::Tool,
            _ => Who::User,
        };
        add(&mut turns, who, parts);
    }
    let declared = list(body, "tools").iter().flat_map(|tool| list(tool, "functionDeclarations"));
    Asked { tools: declared.map(|told| tool(told, &["parametersJsonSchema", "parameters"])).collect(), turns }
}

pub(super) fn answered(events: &[Value]) -> Answered {
    let mut answered = Answered::default();
    for candidate in events.iter().filter_map(|event| list(event, "candidates").first()) {
        for more in list(&candidate["content"], "parts").iter().map(part) {
            match (answered.parts.last_mut(), more) {
                // A stream gives a text in pieces.
                (Some(Part::Text(known)), Part::Text(more)) | (Some(Part::Reasoning(known)), Part::Reasoning(more)) => {
                    known.push_str(&more);
                }
                (_, more) => answered.parts.push(more),
            }
        }
        answered.finish = candidate["finishReason"].as_str().map(ToOwned::to_owned).or(answered.finish);
    }
    answered
}

fn part(part: &Value) -> Part {
    if let Some(call) = part.get("functionCall") {
        let (id, name) = (text(call, "id").to_owned(), text(call, "name").to_owned());
        return Part::Call(ToolCall {
            id: if id.is_empty() { name.clone() } else { id },
            name,
            arguments: arguments(&call["args"]),
        });
    }
    if let Some(result) = part.get("functionResponse") {
        let id = [text(result, "id"), text(result, "name")].into_iter().find(|id| !id.is_empty());
        let response = &result["response"];
        let said = ["output", "result", "error"].iter().find_map(|key| response.get(key)).unwrap_or(response);
        let failed = response.get("error").is_some();
        return Part::Result(ToolResult { id: id.unwrap_or_default().to_owned(), text: words(said), failed });
    }
    match part.get("text").and_then(Value::as_str) {
        Some(text) if part["thought"] == true => Part::Reasoning(text.to_owned()),
        Some(text) => Part::Text(text.to_owned()),
        None => {
            Part::Other(part.as_object().and_then(|keys| keys.keys().next()).map_or_else(String::new, Clone::clone))
        }
    }
}
