//! OpenAI's chat completions, which most other servers speak as well.

use overnight_model::event::ModelUse;
use overnight_model::spec::Provider;
use serde_json::{Value, json};

use super::{Question, Reply, Sheet, bearer, model_of, texts};

/// A server of one's own may have no limit but the patience of whoever asks.
const OWN_SERVER_MOST: u64 = 8192;

pub(super) fn write(question: &Question<'_>, key: Option<&str>) -> Sheet {
    let Question { api, system, parts, schema } = question;
    let mut body = json!({
        "model": api.model,
        "messages": [{ "role": "system", "content": system }, { "role": "user", "content": parts.join("\n") }],
    });
    let is_own = matches!(api.provider, Provider::Ollama | Provider::Compatible);
    if let Some(most) = api.max_tokens.or(is_own.then_some(OWN_SERVER_MOST)) {
        // OpenAI renamed it for models that reason; others know the first name only.
        let name = if api.provider == Provider::Openai { "max_completion_tokens" } else { "max_tokens" };
        body[name] = most.into();
    }
    if let Some(temperature) = api.temperature {
        body["temperature"] = temperature.get().into();
    }
    if let Some(schema) = schema {
        let named = json!({ "name": "proposal", "strict": true, "schema": schema });
        body["response_format"] = json!({ "type": "json_schema", "json_schema": named });
    }
    Sheet { url: format!("{}/chat/completions", api.base_url), headers: bearer(key), body }
}

pub(super) fn read(body: &Value) -> Option<Reply> {
    let choice = body["choices"].as_array()?.first()?;
    let message = choice.get("message")?;
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        parts => texts(parts, "text", "text"),
    };
    let refusal = message["refusal"].as_str().filter(|text| !text.is_empty());
    let usage = &body["usage"];
    Some(Reply {
        refused: refusal.is_some() || choice["finish_reason"] == "content_filter",
        text: refusal.map(ToOwned::to_owned).filter(|_| text.is_empty()).unwrap_or(text),
        is_cut: choice["finish_reason"] == "length",
        used: ModelUse {
            model: model_of(&body["model"]),
            calls: 1,
            input: usage["prompt_tokens"].as_u64(),
            output: usage["completion_tokens"].as_u64(),
            cached: usage["prompt_tokens_details"]["cached_tokens"].as_u64(),
            reasoning: usage["completion_tokens_details"]["reasoning_tokens"].as_u64(),
            cost_usd: None,
        },
    })
}
