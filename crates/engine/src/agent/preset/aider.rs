//! aider, which has no events: what it prints is read.

use super::{Call, Said};

pub(super) const VARIABLES: [&str; 12] = [
    "OPENAI_API_KEY",
    "OPENAI_API_BASE",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_API_BASE",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "DEEPSEEK_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "XAI_API_KEY",
    "OLLAMA_API_BASE",
];

pub(super) fn command(call: &Call<'_>) -> String {
    // Without an edit format of its own, a model that aider does not know rewrites whole files.
    let mut words = vec!["aider", "--edit-format", "diff", "--yes-always", "--no-git", "--no-check-update"];
    words.extend(["--analytics-disable", "--no-show-model-warnings", "--no-show-release-notes", "--no-stream"]);
    words.extend(["--no-pretty", "--no-fancy-input", "--no-suggest-shell-commands", "--no-detect-urls"]);
    words.extend(["--map-tokens", "0"]);
    words.extend(call.model().into_iter().flat_map(|model| ["--model", model]));
    let files = call.surface.iter().map(|path| super::quoted(path)).collect::<Vec<_>>().join(" ");
    format!("cat > \"$TMPDIR/prompt\"; {} {} --message-file \"$TMPDIR/prompt\" {files}", quiet(call), call.line(words))
}

/// What its library is told: not to fetch a list of prices, and where the server is, by the name that it knows.
pub(super) fn quiet(call: &Call<'_>) -> String {
    let base = call.variable("OPENAI_BASE_URL").filter(|_| call.variable("OPENAI_API_BASE").is_none());
    let base = base.map(|url| format!(" OPENAI_API_BASE={}", super::quoted(url))).unwrap_or_default();
    format!("LITELLM_LOCAL_MODEL_COST_MAP=True{base}")
}

pub(super) fn hear_line(said: &mut Said, line: &str) {
    const EDIT: [&str; 4] = ["<<<<<<<", "=======", ">>>>>>>", "```"];
    let line = line.trim_end();
    if line.contains("litellm.") && (line.contains("Error") || line.contains("Exception")) {
        said.fails(line, None);
    } else if line.contains("Empty response received from LLM")
        || (line.starts_with("Added ") && line.ends_with(" to the chat."))
    {
        // All that came before is about itself.
        said.forgets();
    } else if line.starts_with("Applied edit to ") || line.starts_with("Tokens: ") {
        said.recovers();
    } else if !EDIT.iter().any(|mark| line.starts_with(mark)) {
        said.adds(line);
        said.adds("\n");
    }
}
