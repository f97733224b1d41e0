//! mini-swe-agent, which has no events: what it prints is read.

use super::{Call, Said, aider};

pub(super) fn command(call: &Call<'_>) -> String {
    let mut words = vec!["mini", "-y", "--exit-immediately", "-l", "0"];
    words.extend(call.model().into_iter().flat_map(|model| ["-m", model]));
    format!(
        "MSWEA_CONFIGURED=true MSWEA_COST_TRACKING=ignore_errors MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT=1 {} {} \
         -o \"$TMPDIR/trajectory.json\" -t \"$(cat)\"",
        aider::quiet(call),
        call.line(words)
    )
}

/// It shows the whole conversation; only the latest part of it is the model's word.
pub(super) fn hear_line(said: &mut Said, line: &str) {
    let text = line.trim();
    let speaks = |name: &str| text.starts_with(name) && text.ends_with(':');
    if text.starts_with("This is mini-swe-agent version") {
        // All that comes before its first step is about itself.
        said.listens(false);
    } else if speaks("mini-swe-agent (step") {
        said.begins_anew();
        // Whatever went wrong before was not the end.
        said.recovers();
        said.listens(true);
    } else if text.starts_with("```") || ["System", "User", "Tool", "Exit"].into_iter().any(speaks) {
        // Commands are no words, and the words of others are not its own.
        said.listens(false);
    } else if text.starts_with("litellm.") && (text.contains("Error") || text.contains("Exception")) {
        said.fails(text, None);
    } else {
        said.adds_if_listening(line);
    }
}
