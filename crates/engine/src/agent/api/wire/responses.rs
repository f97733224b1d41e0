//! OpenAI's responses.

use overnight_model::event::ModelUse;
use serde_json::{Value, json};

use super::{Question, Reply, Sheet, bearer, model_of, texts};

pub(super) fn write(question: &Question<'_>, key: Option<&str>) -> Sheet {
    let Question { api, system, parts, schema } = question;
    let content: Vec<Value> = parts.iter().map(|part| json!({ "type": "input_text", "text": part })).collect();
    let mut body = json!({
        "model": api.model,
        "instructions": system,
        "input": [{ "role": "user", "content": content }],
        // Nothing is asked about it later.
        "store": false,
    });
    if let Some(most) = api.max_tokens {
        body["max_output_tokens"] = most.into();
    }
    if let Some(temperature) = api.temperature {
        body["temperature"] = temperature.get().into();
    }
    if let Some(schema) = schema {
        body["text"] =
            json!({ "format": { "type": "json_schema", "name": "proposal", "strict": true, "schema": schema } });
    }
    Sheet { url: format!("{}/responses", api.base_url), headers: bearer(key), body }
}

pub(super) fn read(body: &Value) -> Option<Reply> {
    let messages = || body["output"].as_array().into_iter().flatten().filter(|item| item["type"] == "message");
    body["output"].as_array()?;
    let text: String = messages().map(|item| texts(&item["content"], "output_text", "text")).collect();
    let refusal: String = messages().map(|item| texts(&item["content"], "refusal", "refusal")).collect();
    let why = &body["incomplete_details"]["reason"];
    let usage = &body["usage"];
    Some(Reply {
        refused: !refusal.is_empty() || *why == "content_filter",
        text: if text.is_empty() { refusal } else { text },
        is_cut: *why == "max_output_tokens",
        used: ModelUse {
            model: model_of(&body["model"]),
            calls: 1,
            input: usage["input_tokens"].as_u64(),
            output: usage["output_tokens"].as_u64(),
            cached: usage["input_tokens_details"]["cached_tokens"].as_u64(),
            reasoning: usage["output_tokens_details"]["reasoning_tokens"].as_u64(),
            cost_usd: None,
        },
    })
}
