//! Anthropic's messages.

use overnight_model::event::ModelUse;
use serde_json::{Value, json};

use super::{Question, Reply, Sheet, model_of, texts};

const VERSION: &str = "2023-06-01";
/// It has to be said. Beyond this a provider wants to answer in a stream.
const MOST: u64 = 16_000;
/// The tool that is to be called, where an answer has to keep to a schema: every model has tools.
const TOOL: &str = "propose";

pub(super) fn write(question: &Question<'_>, key: Option<&str>) -> Sheet {
    let Question { api, system, parts, schema } = question;
    let cached = |text: &str| json!({ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } });
    // All but the last part are the same for the next question, or until something is kept.
    let last = parts.len().saturating_sub(1);
    let content: Vec<Value> = (parts.iter().enumerate())
        .map(|(at, part)| if at < last { cached(part) } else { json!({ "type": "text", "text": part }) })
        .collect();
    let mut body = json!({
        "model": api.model,
        "max_tokens": api.max_tokens.unwrap_or(MOST),
        "system": [cached(system)],
        "messages": [{ "role": "user", "content": content }],
    });
    if let Some(temperature) = api.temperature {
        body["temperature"] = temperature.get().into();
    }
    if let Some(schema) = schema {
        let about = "Proposes other values.";
        body["tools"] = json!([{ "name": TOOL, "description": about, "input_schema": schema }]);
        body["tool_choice"] = json!({ "type": "tool", "name": TOOL });
    }
    let key = key.map(|key| ("x-api-key", key.to_owned()));
    let headers = [("anthropic-version", VERSION.to_owned())].into_iter().chain(key).collect();
    Sheet { url: format!("{}/messages", api.base_url), headers, body }
}

pub(super) fn read(body: &Value) -> Option<Reply> {
    let content = body["content"].as_array()?;
    let call = content.iter().find(|part| part["type"] == "tool_use").map(|part| part["input"].to_string());
    let usage = &body["usage"];
    // What came out of the cache and what went into it is counted besides.
    let cached = usage["cache_read_input_tokens"].as_u64();
    let beside = cached.unwrap_or(0) + usage["cache_creation_input_tokens"].as_u64().unwrap_or(0);
    Some(Reply {
        text: call.unwrap_or_else(|| texts(&body["content"], "text", "text")),
        refused: body["stop_reason"] == "refusal",
        is_cut: body["stop_reason"] == "max_tokens",
        used: ModelUse {
            model: model_of(&body["model"]),
            calls: 1,
            input: usage["input_tokens"].as_u64().map(|fresh| fresh + beside),
            output: usage["output_tokens"].as_u64(),
            cached,
            reasoning: None,
            cost_usd: None,
        },
    })
}
