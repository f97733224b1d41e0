//! Gemini's `generateContent`.

use overnight_model::event::ModelUse;
use serde_json::{Value, json};

use super::{Question, Reply, Sheet, model_of};

/// Ends that somebody wanted, and not the model.
const REFUSALS: [&str; 7] =
    ["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"];

pub(super) fn write(question: &Question<'_>, key: Option<&str>) -> Sheet {
    let Question { api, system, parts, schema } = question;
    let parts: Vec<Value> = parts.iter().map(|part| json!({ "text": part })).collect();
    let mut config = json!({});
    if let Some(most) = api.max_tokens {
        config["maxOutputTokens"] = most.into();
    }
    if let Some(temperature) = api.temperature {
        config["temperature"] = temperature.get().into();
    }
    if let Some(schema) = schema {
        config["responseMimeType"] = "application/json".into();
        config["responseJsonSchema"] = (*schema).clone();
    }
    let body = json!({
        "systemInstruction": { "parts": [{ "text": system }] },
        "contents": [{ "role": "user", "parts": parts }],
        "generationConfig": config,
    });
    let model = api.model.strip_prefix("models/").unwrap_or(&api.model);
    let headers = key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect();
    Sheet { url: format!("{}/models/{model}:generateContent", api.base_url), headers, body }
}

pub(super) fn read(body: &Value) -> Option<Reply> {
    let candidate = body["candidates"].as_array().and_then(|candidates| candidates.first());
    let block = body["promptFeedback"]["blockReason"].as_str();
    if candidate.is_none() && block.is_none() {
        return None;
    }
    let candidate = candidate.unwrap_or(&Value::Null);
    let parts = candidate["content"]["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let spoken = parts.iter().filter(|part| part["thought"] != true);
    let finish = candidate["finishReason"].as_str().unwrap_or_default();
    let refused = block.or(REFUSALS.contains(&finish).then_some(finish));
    let text: String = spoken.filter_map(|part| part["text"].as_str()).collect();
    let usage = &body["usageMetadata"];
    let (said, thought) = (usage["candidatesTokenCount"].as_u64(), usage["thoughtsTokenCount"].as_u64());
    Some(Reply {
        refused: refused.is_some(),
        text: refused.filter(|_| text.is_empty()).map(ToOwned::to_owned).unwrap_or(text),
        is_cut: finish == "MAX_TOKENS",
        used: ModelUse {
            model: model_of(&body["modelVersion"]),
            calls: 1,
            input: usage["promptTokenCount"].as_u64(),
            // What it thought is counted besides.
            output: said.map(|said| said + thought.unwrap_or(0)),
            cached: usage["cachedContentTokenCount"].as_u64(),
            reasoning: thought,
            cost_usd: None,
        },
    })
}
