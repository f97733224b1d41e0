//! Attempts as trajectories that other tools read: held against the models of those who keep the format, which
//! `tests/atif/install` installs.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use overnight_model::call::{Caller, Protocol};
use overnight_model::{ExperimentId, TrialId};
use serde_json::json;

use crate::costs::{Night, PRICE};
use crate::support::{Json, Ran, Repo, json_lines};
use crate::traces::{keep_in, traced};

/// Has them read by the format's own models, which say how many they are.
fn valid(trajectories: &str, count: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Path::parent).unwrap();
    let installed = root.join("target/atif/installed");
    assert!(installed.exists(), "the format's models are not installed for the tests: tests/atif/install");
    let mut command = Command::new("python3");
    command.arg(root.join("tests/atif/check.py")).env("PYTHONPATH", root.join("target/atif/lib"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(trajectories.as_bytes()).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    ran.ended(0).says(&format!("{count} trajectories are valid"));
}

#[test]
fn attempts_are_exported_as_trajectories() {
    let repo = traced();
    let task = Caller::Task { trial: TrialId(2), experiment: ExperimentId(1) };
    let error = json!({ "type": "error", "error": { "message": "busy" } }).to_string();
    keep_in(Protocol::Messages, &repo, 3, &task, &json!({ "messages": [] }), &error);
    let written = repo.ok(&["export", "--atif"]).stdout;
    let made: Vec<Json> = json_lines(&written);
    assert_eq!(made.len(), 2);
    assert_eq!((&made[0]["schema_version"], &made[0]["session_id"]), (&json!("ATIF-v1.7"), &json!("main/1/agent")));
    let sources: Vec<&str> =
        made[0]["steps"].as_array().unwrap().iter().map(|step| step["source"].as_str().unwrap()).collect();
    assert_eq!(sources, ["system", "user", "agent", "agent"]);
    let observed = &made[0]["steps"][2]["observation"]["results"][0];
    assert_eq!(observed["source_call_id"], "t1");
    assert_eq!(made[0]["extra"]["verdict"], "kept");
    assert_eq!((&made[1]["session_id"], &made[1]["agent"]["name"]), (&json!("main/1/trial/2"), &json!("task")));
    valid(&written, 2);
    repo.ok(&["export", "--atif", "-o", "attempts.jsonl"]).says("wrote 2 attempts to attempts.jsonl as ATIF-v1.7");
    Repo::new().overnight(&["export", "--atif"]).ended(2);
}

/// What the gateway itself recorded of a night, with what it cost.
#[test]
fn a_night_through_the_gateway_is_exported_with_its_tokens_and_costs() {
    let night = Night::new(PRICE, &[("5", "4"), ("4", "3")]);
    night.overnight(&["run", "--no-tui", "--experiments", "2"]).ended(0);
    let written = night.repo.ok(&["export", "--atif"]).stdout;
    let made = json_lines(&written);
    assert_eq!(made.len(), 2);
    let total = &made[0]["final_metrics"];
    assert_eq!((&total["total_prompt_tokens"], &total["total_completion_tokens"]), (&json!(100), &json!(10)));
    assert!((total["total_cost_usd"].as_f64().unwrap() - 0.11).abs() < 1e-9, "{total}");
    valid(&written, 2);
}

/// Each protocol with its own ways: several calls at once, tools that fail, calls without a name, words of before, a story
/// that is told anew, an answer that is no JSON, and a conversation beside the first.
#[test]
fn whatever_clients_and_providers_do_is_a_valid_trajectory() {
    let repo = traced();
    let anyone = |experiment| Caller::Agent { name: "agent".to_owned(), experiment: ExperimentId(experiment) };
    let chat_call = |id: &str| json!({ "id": id, "function": { "name": "read", "arguments": "not json" } });
    let chat = [
        json!({ "role": "assistant", "content": "before", "tool_calls": [chat_call(""), chat_call(""), chat_call("x")] }),
        json!({ "role": "tool", "tool_call_id": "", "content": "one" }),
        json!({ "role": "tool", "tool_call_id": "x", "content": "three" }),
        json!({ "role": "tool", "tool_call_id": "of nobody", "content": "four" }),
        json!({ "role": "user", "content": [{ "type": "image_url", "image_url": {} }, { "type": "text", "text": "go on" }] }),
    ];
    let answer = json!({ "choices": [{ "finish_reason": "length",
        "message": { "content": null, "reasoning_content": "hm", "tool_calls": [chat_call("x"), chat_call("x")] } }] });
    let mut id = 10;
    let mut keep = |protocol, experiment: u64, request: Json, answer: &str| {
        id += 1;
        keep_in(protocol, &repo, id, &anyone(experiment), &request, answer);
    };
    keep(
        Protocol::Chat,
        0,
        json!({ "messages": chat, "tools": [{ "function": { "name": "read" } }] }),
        &answer.to_string(),
    );
    keep(Protocol::Chat, 0, json!({ "messages": chat }), "<h1>502</h1>");
    keep(Protocol::Chat, 0, json!({ "messages": [{ "role": "user", "content": "a title" }] }), &answer.to_string());
    keep(Protocol::Chat, 0, json!([]), "");
    let gemini = json!({ "candidates": [{ "content": { "parts": [
        { "functionCall": { "name": "read", "args": [1] } }, { "functionCall": { "name": "read" } } ] } }] });
    let contents = json!([{ "role": "user", "parts": [{ "text": "go" }, { "inlineData": {} }] }]);
    keep(Protocol::Gemini, 0, json!({ "contents": contents }), &gemini.to_string());
    let output = json!([{ "type": "reasoning", "summary": [] }, { "type": "web_search_call" },
        { "type": "custom_tool_call", "call_id": "p", "name": "apply_patch", "input": "*** Begin Patch" }]);
    let tools = json!([{ "type": "web_search" }, { "type": "custom", "name": "apply_patch" }]);
    keep(
        Protocol::Responses,
        0,
        json!({ "input": "go", "tools": tools }),
        &json!({ "object": "response", "output": output }).to_string(),
    );
    let written = repo.ok(&["export", "--atif"]).stdout;
    assert_eq!(json_lines(&written)[0]["steps"][0]["is_copied_context"], true, "{written}");
    valid(&written, 2);
}
