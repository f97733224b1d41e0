//! opencode.

use serde_json::{Value, json};

use super::{Call, Said, Through, quoted};

/// It talks to many providers, and so do pi and those who use its variables.
pub(super) const VARIABLES: [&str; 14] = [
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "OPENROUTER_API_KEY",
    "OPENCODE_API_KEY",
    "DEEPSEEK_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "XAI_API_KEY",
    "CEREBRAS_API_KEY",
    "ZAI_API_KEY",
    "MOONSHOT_API_KEY",
];

pub(super) fn command(call: &Call<'_>) -> String {
    let mut settings =
        json!({ "share": "disabled", "autoupdate": false, "permission": { "edit": "allow", "bash": "deny" } });
    let tools = &call.coding.tools;
    if !tools.is_empty() {
        settings["permission"] = tools.iter().map(|tool| (tool.clone(), json!("allow"))).collect();
        settings["tools"] = std::iter::once(("*".to_owned(), json!(false)))
            .chain(tools.iter().map(|tool| (tool.clone(), json!(true))))
            .collect();
    }
    // A server of one's own speaks chat completions, whatever the name of its model.
    let compatible = call.variable("OPENAI_BASE_URL").zip(call.model().and_then(|model| model.strip_prefix("openai/")));
    if let Some((url, model)) = compatible {
        settings["provider"]["compatible"] = json!({
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": url, "apiKey": "{env:OPENAI_API_KEY}" },
            "models": { model: {} },
        });
    }
    if let Some((name, base)) = call.through.filter(|_| compatible.is_none()).and_then(Through::override_of) {
        settings["provider"][name]["options"] = json!({ "baseURL": base });
    }
    let model = match compatible {
        Some((_, model)) => Some(format!("compatible/{model}")),
        None => call.model().map(ToOwned::to_owned),
    };
    let mut words = vec!["opencode", "run", "--format", "json"];
    words.extend(model.iter().flat_map(|model| ["-m", model.as_str()]));
    format!(
        "OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_CONFIG_CONTENT={} {}",
        quoted(&settings.to_string()),
        call.line(words)
    )
}

pub(super) fn hear(said: &mut Said, event: &Value) {
    match event["type"].as_str() {
        Some("text") => said.says(event["part"]["text"].as_str().unwrap_or_default().to_owned()),
        Some("step_finish") => said.refused |= event["part"]["reason"] == "content-filter",
        Some("error") => {
            let data = &event["error"]["data"];
            let what =
                data["message"].as_str().or(event["error"]["name"].as_str()).unwrap_or("an error without a word");
            said.refused |= event["error"]["name"] == "ContentFilterError";
            said.fails(what, data["statusCode"].as_u64());
            said.asks_to_wait(&data["responseHeaders"].to_string());
        }
        _ => {}
    }
}
