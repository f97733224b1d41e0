//! The same edit in the words of each client, known by the tools that it offers.

use serde_json::{Value, json};

use super::script::Answer;
use super::seen::Conversation;

const SUBMIT: &str = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";

/// The next turn of a conversation that is to replace `old` by `new` in the file at `path`.
pub(super) fn turn(conversation: &Conversation, path: &str, (old, new): (&str, &str), say: &str) -> Answer {
    let steps = steps(conversation, path, (old, new));
    match steps.into_iter().nth(conversation.calls) {
        Some((tool, arguments)) => Answer::Call { tool: tool.to_owned(), arguments, say: say.to_owned() },
        // No tools at all: aider, which reads its edits out of the text.
        None if conversation.tools.is_empty() => {
            let file = path.rsplit('/').next().unwrap_or(path);
            Answer::Text(format!(
                "{say}\n\n{file}\n```python\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n```\n"
            ))
        }
        None => Answer::Text(say.to_owned()),
    }
}

/// The next turn of a conversation that is to write these files below a folder.
pub(super) fn write(conversation: &Conversation, folder: &str, files: &[(String, String)], say: &str) -> Answer {
    let Some((path, text)) = files.get(conversation.calls) else { return Answer::Text(say.to_owned()) };
    let path = format!("{folder}/{path}");
    let (tool, arguments) = match conversation.tool("Write") {
        // Claude Code.
        Some(_) => ("Write", json!({ "file_path": path, "content": text })),
        // Codex.
        None => {
            let command = format!("mkdir -p \"$(dirname {path})\" && cat > {path} <<'END'\n{text}END\n");
            ("exec_command", json!({ "cmd": command }))
        }
    };
    Answer::Call { tool: tool.to_owned(), arguments, say: say.to_owned() }
}

/// Says something and changes nothing. One client takes no answer without a call, and ends by a word of its own.
pub(super) fn say(conversation: &Conversation, text: &str) -> Answer {
    match conversation.tools.as_slice() {
        [(tool, _)] if tool == "bash" => {
            Answer::Call { tool: tool.clone(), arguments: json!({ "command": SUBMIT }), say: text.to_owned() }
        }
        // Whoever may only answer by a call is answered by it.
        [(tool, _)] if tool == "propose" => {
            let arguments = serde_json::from_str(text).unwrap_or_default();
            Answer::Call { tool: tool.clone(), arguments, say: String::new() }
        }
        _ => Answer::Text(text.to_owned()),
    }
}

/// Reading comes first where a client refuses to edit what was not read.
fn steps(conversation: &Conversation, path: &str, (old, new): (&str, &str)) -> Vec<(&'static str, Value)> {
    let offers = |tool: &str, argument: &str| {
        conversation.tool(tool).is_some_and(|schema| schema["properties"].get(argument).is_some())
    };
    let sed = format!("sed -i 's/{old}/{new}/' {path}");
    if offers("Edit", "old_string") {
        // Claude Code.
        vec![
            ("Read", json!({ "file_path": path })),
            ("Edit", json!({ "file_path": path, "old_string": old, "new_string": new })),
        ]
    } else if offers("replace", "old_string") {
        // Gemini CLI.
        let instruction = "change the value";
        vec![
            ("read_file", json!({ "file_path": path })),
            ("replace", json!({ "file_path": path, "instruction": instruction, "old_string": old, "new_string": new })),
        ]
    } else if offers("edit", "filePath") {
        // opencode.
        vec![
            ("read", json!({ "filePath": path })),
            ("edit", json!({ "filePath": path, "oldString": old, "newString": new })),
        ]
    } else if offers("edit", "path") {
        // pi.
        let edit = match offers("edit", "edits") {
            true => json!({ "path": path, "edits": [{ "oldText": old, "newText": new }] }),
            false => json!({ "path": path, "oldText": old, "newText": new }),
        };
        vec![("read", json!({ "path": path })), ("edit", edit)]
    } else if offers("exec_command", "cmd") {
        // Codex.
        vec![("exec_command", json!({ "cmd": sed }))]
    } else if offers("shell_command", "command") {
        vec![("shell_command", json!({ "command": sed }))]
    } else if offers("shell", "command") {
        vec![("shell", json!({ "command": ["sh", "-c", sed] }))]
    } else if offers("bash", "command") {
        // mini-swe-agent.
        vec![("bash", json!({ "command": sed })), ("bash", json!({ "command": SUBMIT }))]
    } else {
        Vec::new()
    }
}
