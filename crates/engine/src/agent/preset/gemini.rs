//! Gemini CLI.

use serde_json::{Value, json};

use super::{Call, Said, quoted};

pub(super) const VARIABLES: [&str; 6] = [
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_GENAI_USE_VERTEXAI",
];

const TOOLS: [&str; 7] =
    ["read_file", "read_many_files", "list_directory", "glob", "search_file_content", "replace", "write_file"];

pub(super) fn command(call: &Call<'_>) -> String {
    let by = if call.variable("GOOGLE_GENAI_USE_VERTEXAI").is_some() { "vertex-ai" } else { "gemini-api-key" };
    let tools = match call.coding.tools.as_slice() {
        [] => TOOLS.map(ToOwned::to_owned).to_vec(),
        named => named.to_vec(),
    };
    let settings = json!({
        "security": { "auth": { "selectedType": by } },
        "general": { "disableAutoUpdate": true, "enableAutoUpdate": false, "maxAttempts": 1 },
        "privacy": { "usageStatisticsEnabled": false },
        "tools": { "core": tools },
    });
    let mut words = vec!["gemini", "--output-format", "stream-json", "--approval-mode", "auto_edit", "--skip-trust"];
    words.extend(call.model().into_iter().flat_map(|model| ["-m", model]));
    let settings = quoted(&settings.to_string());
    format!(
        "mkdir -p \"$HOME/.gemini\" && printf %s {settings} > \"$HOME/.gemini/settings.json\"; {}",
        call.line(words)
    )
}

pub(super) fn hear(said: &mut Said, event: &Value) {
    match event["type"].as_str() {
        // It comes in pieces.
        Some("message") if event["role"] == "assistant" => said.adds(event["content"].as_str().unwrap_or_default()),
        Some("tool_use") => said.begins_anew(),
        Some("error") => said.fails(event["message"].as_str().unwrap_or("an error without a word"), None),
        Some("result") if event["status"] == "success" => {
            let models = event["stats"]["models"].as_object();
            said.is_answered_by(models.and_then(|models| models.keys().next()).map(String::as_str));
        }
        Some("result") if event["status"] == "error" => {
            if let Some(what) = event["error"]["message"].as_str() {
                said.fails(what, None);
            }
        }
        _ => {}
    }
}
