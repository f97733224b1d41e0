//! pi.

use serde_json::{Value, json};

use super::{Call, Said, Through, quoted};

const TOOLS: &str = "read,edit,write,grep,find,ls";

pub(super) fn command(call: &Call<'_>) -> String {
    let tools = match call.coding.tools.as_slice() {
        [] => TOOLS.to_owned(),
        named => named.join(","),
    };
    let settings = json!({ "retry": { "enabled": false } });
    let mut files = format!("printf %s {} > \"$HOME/.pi/agent/settings.json\"; ", quoted(&settings.to_string()));
    let mut words = vec!["pi", "--mode", "json", "--no-session", "--tools", &tools, "-p"];
    let (provider, model) = match call.model().map(|model| model.split_once('/').unwrap_or(("", model))) {
        Some((provider, model)) => (provider, Some(model)),
        None => ("", None),
    };
    let compatible = call.variable("OPENAI_BASE_URL").zip(model).filter(|_| ["", "openai"].contains(&provider));
    match compatible {
        // A server of one's own speaks chat completions.
        Some((url, model)) => {
            let models = json!({ "providers": { "compatible": {
                "baseUrl": url, "api": "openai-completions", "apiKey": "OPENAI_API_KEY", "models": [{ "id": model }],
            } } });
            files += &format!("printf %s {} > \"$HOME/.pi/agent/models.json\"; ", quoted(&models.to_string()));
            words.extend(["--provider", "compatible", "--model", model]);
        }
        None => {
            if let Some((name, base)) = call.through.and_then(Through::override_of) {
                // It adds the version of this one itself.
                let base = if name == "anthropic" { base.trim_end_matches("/v1") } else { &base };
                let models = json!({ "providers": { name: { "baseUrl": base } } });
                files += &format!("printf %s {} > \"$HOME/.pi/agent/models.json\"; ", quoted(&models.to_string()));
            }
            words.extend(
                Some(provider).filter(|name| !name.is_empty()).into_iter().flat_map(|name| ["--provider", name]),
            );
            words.extend(model.into_iter().flat_map(|model| ["--model", model]));
        }
    }
    format!("mkdir -p \"$HOME/.pi/agent\"; {files}PI_OFFLINE=1 {}", call.line(words))
}

pub(super) fn hear(said: &mut Said, event: &Value) {
    let message = &event["message"];
    if event["type"] != "message_end" || message["role"] != "assistant" {
        return;
    }
    said.is_answered_by(message["model"].as_str());
    let parts = message["content"].as_array().into_iter().flatten();
    said.says(parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"));
    // It exits with 0 all the same.
    match message["errorMessage"].as_str() {
        Some(what) if message["stopReason"] == "error" => {
            said.refused |= what.contains("content_filter") || what.contains("refusal");
            said.fails(what, None);
        }
        // It tried again by itself, and that went well.
        _ => said.recovers(),
    }
}
