//! Claude Code.

use serde_json::Value;

use super::{Call, Said};

pub(super) const VARIABLES: [&str; 12] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_REGION",
    "MAX_THINKING_TOKENS",
];

/// No shell: nothing has to be run to make a proposal.
const TOOLS: &str = "Read,Edit,Write,Glob,Grep";

pub(super) fn command(call: &Call<'_>) -> String {
    let tools = match call.coding.tools.as_slice() {
        [] => TOOLS.to_owned(),
        named => named.join(","),
    };
    let mut words = vec!["claude", "-p", "--output-format", "stream-json", "--verbose", "--no-session-persistence"];
    // Edits are accepted by the mode, other tools by name: nobody is there to be asked.
    words.extend(["--permission-mode", "acceptEdits", "--tools", &tools, "--allowedTools", &tools]);
    words.extend(call.model().into_iter().flat_map(|model| ["--model", model]));
    // We wait ourselves where there is something to wait for, and say so.
    let quiet = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 CLAUDE_CODE_MAX_RETRIES=0";
    format!("{quiet} {}", call.line(words))
}

pub(super) fn hear(said: &mut Said, event: &Value) {
    match event["type"].as_str() {
        // What it makes up itself to tell of an error is no word of a model.
        Some("assistant") if event["message"]["model"] != "<synthetic>" => {
            said.is_answered_by(event["message"]["model"].as_str());
            let parts = event["message"]["content"].as_array().into_iter().flatten();
            said.says(parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"));
        }
        // It tells of limits that are far away, too.
        Some("rate_limit_event") if event["rate_limit_info"]["status"] == "rejected" => {
            said.resets_at(event["rate_limit_info"]["resetsAt"].as_i64())
        }
        // `subtype` says "success" here as well.
        Some("result") if event["is_error"] == true => {
            said.refused |= event["stop_reason"] == "refusal";
            let what = event["result"].as_str().or(event["subtype"].as_str()).unwrap_or("an error without a word");
            said.fails(what, event["api_error_status"].as_u64());
        }
        Some("result") => said.says(event["result"].as_str().unwrap_or_default().to_owned()),
        _ => {}
    }
}
