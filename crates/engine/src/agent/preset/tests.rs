//! What agents really printed, cut short, and what is made of it.

use overnight_model::Timestamp;
use overnight_model::call::Protocol;
use overnight_model::event::Trouble;
use overnight_model::spec::{Coding, Preset};

use super::*;
use crate::process::Stream;

const NOW: Timestamp = Timestamp(1_000_000);

fn heard(preset: Preset, lines: &[&str]) -> (String, Option<String>, Option<Trouble>) {
    let mut listener = Listener::new(preset);
    // In pieces, as pipes give them.
    for bytes in (lines.join("\n") + "\n").as_bytes().chunks(7) {
        listener.feed(Stream::Stdout, bytes);
    }
    let (said, _) = listener.finish();
    (said.title(), said.error.clone(), said.trouble(NOW))
}

fn trouble(preset: Preset, line: &str) -> Option<Trouble> {
    heard(preset, &[line]).2
}

#[test]
fn the_last_words_of_each_agent_are_the_title() {
    let title = |preset, lines: &[&str]| {
        let (title, error, trouble) = heard(preset, lines);
        assert_eq!((error, trouble), (None, None), "{preset:?}");
        title
    };
    let claude = [
        r#"{"type":"system","subtype":"init","model":"fake-model"}"#,
        r#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"Let me see."}]}}"#,
        r#"{"type":"result","subtype":"success","is_error":false,"result":"\n**Halve** the `rate`\n\nIt is noisy."}"#,
    ];
    assert_eq!(title(Preset::Claude, &claude), "Halve the rate");
    let codex = [
        r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata not found."}}"#,
        r#"{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"smaller is better"}}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":200}}"#,
    ];
    assert_eq!(title(Preset::Codex, &codex), "smaller is better");
    let gemini = [
        r#"{"type":"message","role":"user","content":"Make x smaller"}"#,
        r#"{"type":"message","role":"assistant","content":"I will look.","delta":true}"#,
        r#"{"type":"tool_use","tool_name":"replace"}"#,
        r#"{"type":"message","role":"assistant","content":"smaller ","delta":true}"#,
        r#"{"type":"message","role":"assistant","content":"is better","delta":true}"#,
        r#"{"type":"result","status":"success"}"#,
    ];
    assert_eq!(title(Preset::Gemini, &gemini), "smaller is better");
    let opencode =
        [r#"{"type":"text","part":{"type":"text","text":"smaller is better"}}"#, r#"{"type":"step_finish"}"#];
    assert_eq!(title(Preset::Opencode, &opencode), "smaller is better");
    let pi = [r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"- less"}]}}"#];
    assert_eq!(title(Preset::Pi, &pi), "less");
    let aider = ["Aider v0.86.2", "Added knobs.py to the chat.", "", "smaller is better", "```python", "x = 4", "```"];
    assert_eq!(title(Preset::Aider, &aider), "smaller is better");
    let mini = [
        "This is mini-swe-agent version 2.4.6.",
        "User:",
        "Please solve this issue",
        "mini-swe-agent (step 1, $0.00):",
        "smaller is better",
        "```",
        "sed -i s/5/4/ knobs.py",
        "```",
        "Tool:",
        "<returncode>",
        "mini-swe-agent (step 2, $0.00):",
        "```",
        "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
    ];
    assert_eq!(title(Preset::Mini, &mini), "smaller is better");
}

#[test]
fn claude_says_success_when_it_failed_and_is_not_believed() {
    let result = |status: &str, result: &str| {
        let head =
            r#"{"type":"result","subtype":"success","is_error":true,"stop_reason":"stop_sequence","api_error_status":"#;
        trouble(Preset::Claude, &format!(r#"{head}{status},"result":"{result}"}}"#))
    };
    let limit = |retry_at| Some(Trouble::RateLimit { retry_at });
    assert_eq!(result("429", "API Error: Request rejected (429) · Rate limit reached"), limit(None));
    assert_eq!(result("429", "Claude AI usage limit reached|1760000000"), limit(Some(Timestamp(1_760_000_000_000))));
    assert_eq!(result("500", "API Error: 500 Internal server error."), Some(Trouble::Outage));
    assert_eq!(result("null", "API Error: Connection to the API was lost (ECONNRESET)."), Some(Trouble::Outage));
    assert_eq!(result("401", "Invalid API key · Fix external API key"), Some(Trouble::Denied));
    assert_eq!(result("null", "Not logged in · Please run /login"), Some(Trouble::Denied));
    assert_eq!(result("404", "There's an issue with the selected model (fake-model)."), Some(Trouble::UnknownModel));
    assert_eq!(result("400", "Prompt is too long · the request is ~300000 tokens"), Some(Trouble::ContextOverflow));
    let refusal =
        r#"{"type":"result","subtype":"success","is_error":true,"stop_reason":"refusal","result":"API Error"}"#;
    assert_eq!(trouble(Preset::Claude, refusal), Some(Trouble::Refusal));
}

#[test]
fn errors_of_the_others_are_known_by_their_words() {
    let limit = |seconds: Option<i64>| {
        Some(Trouble::RateLimit { retry_at: seconds.map(|seconds| Timestamp(NOW.0 + seconds * 1000)) })
    };
    let codex = |message: &str| {
        let error = serde_json::json!({ "type": "turn.failed", "error": { "message": message } });
        trouble(Preset::Codex, &error.to_string())
    };
    assert_eq!(codex("exceeded retry limit, last status: 429 Too Many Requests"), limit(None));
    assert_eq!(codex("Rate limit reached. Please try again in 1.2s."), limit(Some(2)));
    assert_eq!(codex("We’re currently experiencing high demand, which may cause"), Some(Trouble::Outage));
    assert_eq!(codex("unexpected status 401 Unauthorized: invalid x-api-key"), Some(Trouble::Denied));
    assert_eq!(codex("unexpected status 404 Not Found: model: fake-model does not"), Some(Trouble::UnknownModel));
    assert_eq!(codex(r#"{"error":{"code":"context_length_exceeded"}}"#), Some(Trouble::ContextOverflow));
    assert_eq!(codex("stream disconnected before completion"), Some(Trouble::Outage));
    assert_eq!(codex("the cat sat on port 14290"), None, "a number within another is none");
    let opencode = r#"{"type":"error","error":{"name":"APIError","data":{"message":"slow down","statusCode":429,
        "responseHeaders":{"retry-after":"1200"}}}}"#
        .replace('\n', "");
    assert_eq!(trouble(Preset::Opencode, &opencode), limit(Some(1200)));
    let gemini = r#"{"type":"result","status":"error","error":{"message":"[API Error: {\"error\":{\"code\":401,\"status\":\"X\"}}]"}}"#;
    assert_eq!(trouble(Preset::Gemini, gemini), Some(Trouble::Denied));
    let aider = "litellm.RateLimitError: RateLimitError: OpenAIException - Rate limit reached for";
    assert_eq!(trouble(Preset::Aider, aider), limit(None));
    assert_eq!(trouble::complains_of("hello\nstatus: 503\n  at x.js\n"), Some(Trouble::Outage));
}

#[test]
fn an_error_that_an_agent_got_over_is_none() {
    let failed = r#"{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"500 x"}}"#;
    let well = r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"ok"}],"stopReason":"stop"}}"#;
    assert_eq!(heard(Preset::Pi, &[failed]).2, Some(Trouble::Outage));
    assert_eq!(heard(Preset::Pi, &[failed, well]), ("ok".to_owned(), None, None));
}

#[test]
fn a_model_that_was_not_asked_for_is_noticed() {
    let mut listener = Listener::new(Preset::Claude);
    let line = r#"{"type":"assistant","message":{"model":"claude-haiku-4-5-20251001","content":[]}}"#;
    listener.feed(Stream::Stdout, line.as_bytes());
    let (said, _) = listener.finish();
    assert_eq!(said.other_model(Some("claude-sonnet-4-5")), Some("claude-haiku-4-5-20251001"));
    for same in ["claude-haiku-4-5", "haiku", "anthropic/claude-haiku-4-5-20251001"] {
        assert_eq!(said.other_model(Some(same)), None, "{same}");
    }
    assert_eq!(said.other_model(None), None);
}

#[test]
fn a_model_that_talks_of_errors_has_none() {
    let said =
        r#"{"type":"item.completed","item":{"type":"agent_message","text":"HTTP 429: rate limit, retry after 9 s"}}"#;
    assert_eq!(heard(Preset::Codex, &[said]).2, None);
}

#[test]
fn nothing_of_a_triplet_is_read_by_a_shell() {
    const KEY: &str = "made-up-key-that-opens-nothing";
    let nasty = "a'; touch /tmp/x; echo \"$HOME\" `id` #";
    for preset in Preset::ALL {
        let coding = Coding {
            model: Some(nasty.to_owned()),
            args: vec![nasty.to_owned()],
            tools: if preset.has_tools() { vec![nasty.to_owned()] } else { Vec::new() },
            ..Coding::new(preset)
        };
        let surface = [nasty.to_owned()];
        let url = [("OPENAI_BASE_URL".to_owned(), nasty.to_owned()), ("OPENAI_API_KEY".to_owned(), KEY.to_owned())];
        let command =
            command(&Call { coding: &coding, surface: &surface, environment: &url, is_kept_in: true, through: None });
        // Each quote is closed where it should be: outside of quotes none of it is left.
        let mut outside = String::new();
        let mut is_quoted = false;
        let mut letters = command.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\'' => is_quoted = !is_quoted,
                '\\' if !is_quoted => drop(letters.next()),
                letter if !is_quoted => outside.push(letter),
                _ => {}
            }
        }
        assert!(!is_quoted && !outside.contains("touch") && !outside.contains("`id`"), "{preset:?}: {command}");
        assert!(!command.contains(KEY), "no key is part of a command line: {command}");
    }
}

#[test]
fn an_agent_is_given_its_own_keys_and_no_others() {
    assert!(!variables(Preset::Claude).contains(&"OPENAI_API_KEY"));
    assert!(!variables(Preset::Codex).contains(&"ANTHROPIC_API_KEY"));
    assert!(!variables(Preset::Gemini).contains(&"OPENAI_API_KEY"));
    for preset in Preset::ALL {
        assert!(
            !variables(preset)
                .iter()
                .any(|name| ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK"].contains(name))
        );
    }
}

#[test]
fn an_agent_whose_provider_has_no_key_is_told_why_and_others_are_not_held_up() {
    let upstream = |name: &str, protocol, no_key: Option<&str>| crate::gateway::Upstream {
        name: name.to_owned(),
        url: "https://a.example".to_owned(),
        protocols: vec![protocol],
        key: None,
        headers: Vec::new(),
        no_key: no_key.map(ToOwned::to_owned),
    };
    let why = "there is no key for `anthropic`: `pass` gave no key: exit code 1";
    let upstreams =
        vec![upstream("anthropic", Protocol::Messages, Some(why)), upstream("openai", Protocol::Responses, None)];
    let through = |preset| Through::new(&Coding::new(preset), upstreams.clone(), "http://x", "k");
    assert_eq!(through(Preset::Claude).err().as_deref(), Some(why));
    assert_eq!(through(Preset::Codex).unwrap().upstream().name, "openai");
}

#[test]
fn versions_are_found_in_what_programs_say() {
    for (said, version) in [
        ("2.1.197 (Claude Code)", "2.1.197"),
        ("codex-cli 0.166.0\n", "0.166.0"),
        ("This is mini-swe-agent version 2.4.6.\n", "2.4.6"),
        ("v1.18.33", "1.18.33"),
        ("aider 0.86.2", "0.86.2"),
    ] {
        assert_eq!(version_in(said).as_deref(), Some(version));
    }
    assert_eq!(version_in("command not found"), None);
}

#[test]
fn a_program_brings_the_package_that_it_is_part_of() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let package = root.join("x/node_modules/@a/b/node_modules/c");
    std::fs::create_dir_all(&package).unwrap();
    std::fs::create_dir_all(root.join("bin")).unwrap();
    std::fs::write(package.join("cli.js"), "").unwrap();
    let link = root.join("bin/claude");
    std::os::unix::fs::symlink(package.join("cli.js"), &link).unwrap();
    assert_eq!(folders(&link), [link.clone(), root.join("x/node_modules")]);
    std::fs::write(root.join("alone"), "").unwrap();
    assert_eq!(folders(&root.join("alone")), [root.join("alone")]);
}

#[test]
fn an_address_is_shown_without_who_logs_in_there() {
    for (text, shown) in [
        ("x --url https://ann:secret@host:8080/v1 y", "x --url https://***@host:8080/v1 y"),
        ("'http://a@b@host' https://plain/p@q", "'http://***@host' https://plain/p@q"),
        ("no address", "no address"),
    ] {
        assert_eq!(without_passwords(text), shown);
    }
    let base = [("OPENAI_BASE_URL".to_owned(), "https://ann:secret@host/v1".to_owned())];
    for preset in Preset::ALL {
        assert!(!described(&Coding::new(preset), &["f.py".to_owned()], &base).contains("secret"), "{preset:?}");
    }
}
