//! Codex.

use serde_json::{Value, json};

use super::{Call, Said};

pub(super) const VARIABLES: [&str; 5] =
    ["OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT"];

const OPENAI: &str = "https://api.openai.com/v1";

pub(super) fn command(call: &Call<'_>) -> String {
    // Its login lies in a home that it does not see; a provider of our own takes the key from a variable.
    let key = ["OPENAI_API_KEY", "CODEX_API_KEY"].into_iter().find(|name| call.variable(name).is_some());
    // A string of JSON is one of TOML too.
    let text = |value: &str| json!(value).to_string();
    let provider = format!(
        "model_providers.overnight={{name=\"overnight\",base_url={},env_key={},wire_api=\"responses\",\
         request_max_retries=0,stream_max_retries=0}}",
        text(call.variable("OPENAI_BASE_URL").unwrap_or(OPENAI)),
        text(key.unwrap_or("OPENAI_API_KEY")),
    );
    let model = call.model().map(|model| format!("model={}", text(model)));
    let mut words = vec!["codex", "exec", "--json", "--skip-git-repo-check", "--ephemeral", "--ignore-user-config"];
    // Its own sandbox cannot be made inside ours; where there is none of ours it is better than nothing.
    match call.is_kept_in {
        true => words.push("--dangerously-bypass-approvals-and-sandbox"),
        false => words.extend(["-s", "workspace-write"]),
    }
    words.extend(["-c", "model_provider=overnight", "-c", &provider]);
    words.extend(model.iter().flat_map(|model| ["-c", model.as_str()]));
    // Where it is told no folder it looks for one that does not exist yet.
    format!("export CODEX_HOME=\"$HOME/.codex\"; mkdir -p \"$CODEX_HOME\"; {} -", call.line(words))
}

pub(super) fn hear(said: &mut Said, event: &Value) {
    match event["type"].as_str() {
        Some("item.completed") if event["item"]["type"] == "agent_message" => {
            said.says(event["item"]["text"].as_str().unwrap_or_default().to_owned());
        }
        // Items of the type `error` are only warnings. It exits with 0 after some of these.
        Some("error") => said.fails(event["message"].as_str().unwrap_or("an error without a word"), None),
        Some("turn.failed") => {
            said.fails(event["error"]["message"].as_str().unwrap_or("the turn failed without a word"), None);
        }
        _ => {}
    }
}
