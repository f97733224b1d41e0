use serde_json::{Value, json};

use super::*;
use crate::call::Tokens;

const ALL: [Protocol; 4] = [Protocol::Messages, Protocol::Chat, Protocol::Responses, Protocol::Gemini];

fn schema() -> Value {
    json!({ "type": "object", "properties": { "path": { "type": "string" } } })
}

fn read_tool() -> Tool {
    Tool { name: "read".to_owned(), description: "reads".to_owned(), schema: schema() }
}

/// The same little conversation in each protocol: asked, thought about, a file read, and said.
fn request(protocol: Protocol) -> Value {
    match protocol {
        Protocol::Messages => json!({
            "system": [{ "type": "text", "text": "be brief", "cache_control": { "type": "ephemeral" } }],
            "tools": [{ "name": "read", "description": "reads", "input_schema": schema() }],
            "messages": [
                { "role": "user", "content": "what is x" },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "look" },
                    { "type": "text", "text": "reading" },
                    { "type": "tool_use", "id": "c1", "name": "read", "input": { "path": "a" } }] },
                { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c1", "content": [{ "type": "text", "text": "x = 5" }] }] },
            ],
        }),
        Protocol::Chat => json!({
            "tools": [{ "type": "function", "function": { "name": "read", "description": "reads", "parameters": schema() } }],
            "messages": [
                { "role": "system", "content": "be brief" },
                { "role": "user", "content": [{ "type": "text", "text": "what is x" }] },
                { "role": "assistant", "reasoning_content": "look", "content": "reading",
                  "tool_calls": [{ "id": "c1", "function": { "name": "read", "arguments": "{\"path\":\"a\"}" } }] },
                { "role": "tool", "tool_call_id": "c1", "content": "x = 5" },
            ],
        }),
        Protocol::Responses => json!({
            "instructions": "be brief",
            "tools": [{ "type": "function", "name": "read", "description": "reads", "parameters": schema() }],
            "input": [
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "what is x" }] },
                { "type": "reasoning", "summary": [{ "type": "summary_text", "text": "look" }] },
                { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "reading" }] },
                { "type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"a\"}" },
                { "type": "function_call_output", "call_id": "c1", "output": "x = 5" },
            ],
        }),
        Protocol::Gemini => json!({
            "systemInstruction": { "parts": [{ "text": "be brief" }] },
            "tools": [{ "functionDeclarations": [{ "name": "read", "description": "reads", "parametersJsonSchema": schema() }] }],
            "contents": [
                { "role": "user", "parts": [{ "text": "what is x" }] },
                { "role": "model", "parts": [{ "text": "look", "thought": true }, { "text": "reading" }, { "functionCall": { "id": "c1", "name": "read", "args": { "path": "a" } } }] },
                { "role": "user", "parts": [{ "functionResponse": { "id": "c1", "name": "read", "response": { "output": "x = 5" } } }] },
            ],
        }),
    }
}

/// The answer in the middle of it, whole and as a stream.
fn answers(protocol: Protocol) -> [String; 2] {
    let stream =
        |events: &[Value]| events.iter().map(|event| format!("event: e\ndata: {event}\n\n")).collect::<String>();
    match protocol {
        Protocol::Messages => [
            json!({ "type": "message", "stop_reason": "tool_use", "content": [{ "type": "thinking", "thinking": "look" }, { "type": "text", "text": "reading" }, { "type": "tool_use", "id": "c1", "name": "read", "input": { "path": "a" } }] }).to_string(),
            stream(&[
                json!({ "type": "message_start", "message": { "role": "assistant" } }),
                json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "" } }),
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "lo" } }),
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "ok" } }),
                json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "text", "text": "" } }),
                json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "reading" } }),
                json!({ "type": "content_block_start", "index": 2, "content_block": { "type": "tool_use", "id": "c1", "name": "read", "input": {} } }),
                json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "input_json_delta", "partial_json": "{\"path\":" } }),
                json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "input_json_delta", "partial_json": "\"a\"}" } }),
                json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
            ]),
        ],
        Protocol::Chat => [
            json!({ "choices": [{ "finish_reason": "tool_use", "message": { "reasoning_content": "look", "content": "reading", "tool_calls": [{ "id": "c1", "function": { "name": "read", "arguments": "{\"path\":\"a\"}" } }] } }] }).to_string(),
            stream(&[
                json!({ "choices": [{ "delta": { "role": "assistant", "reasoning_content": "look" } }] }),
                json!({ "choices": [{ "delta": { "content": "read" } }] }),
                json!({ "choices": [{ "delta": { "content": "ing" } }] }),
                json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "c1", "function": { "name": "read", "arguments": "" } }] } }] }),
                json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "function": { "arguments": "{\"path\":\"a\"}" } }] } }] }),
                json!({ "choices": [{ "delta": {}, "finish_reason": "tool_use" }] }),
                json!({ "choices": [], "usage": { "prompt_tokens": 5 } }),
            ]) + "data: [DONE]\n\n",
        ],
        Protocol::Responses => {
            let items = request(protocol)["input"].as_array().unwrap()[1..4].to_vec();
            let mut events: Vec<Value> =
                items.iter().map(|item| json!({ "type": "response.output_item.done", "item": item })).collect();
            events.insert(1, json!({ "type": "response.output_text.delta", "delta": "reading" }));
            events.push(json!({ "type": "response.completed", "response": { "status": "tool_use", "output": [] } }));
            [json!({ "object": "response", "status": "tool_use", "output": items }).to_string(), stream(&events)]
        }
        Protocol::Gemini => {
            let part = |part: Value| json!({ "candidates": [{ "content": { "parts": [part] } }] });
            let call = json!({ "functionCall": { "id": "c1", "name": "read", "args": { "path": "a" } } });
            let last = json!({ "candidates": [{ "content": { "parts": [call] }, "finishReason": "tool_use" }] });
            let events = [part(json!({ "text": "look", "thought": true })), part(json!({ "text": "rea" })), part(json!({ "text": "ding" })), last];
            [Value::Array(events.to_vec()).to_string(), stream(&events)]
        }
    }
}

fn turn(who: Who, parts: Vec<Part>) -> Turn {
    Turn { who, parts }
}

fn text_of(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn result() -> Part {
    Part::Result(ToolResult { id: "c1".to_owned(), text: "x = 5".to_owned(), failed: false })
}

fn call() -> Part {
    Part::Call(ToolCall { id: "c1".to_owned(), name: "read".to_owned(), arguments: r#"{"path":"a"}"#.to_owned() })
}

fn whole(protocol: Protocol) -> Asked {
    asked(protocol, request(protocol).to_string().as_bytes()).unwrap()
}

#[test]
fn a_request_reads_the_same_in_every_protocol() {
    for protocol in ALL {
        let said = vec![Part::Reasoning("look".to_owned()), text_of("reading"), call()];
        let turns = vec![
            turn(Who::System, vec![text_of("be brief")]),
            turn(Who::User, vec![text_of("what is x")]),
            turn(Who::Assistant, said),
            turn(Who::Tool, vec![result()]),
        ];
        assert_eq!(whole(protocol), Asked { tools: vec![read_tool()], turns }, "{protocol:?}");
    }
}

#[test]
fn an_answer_reads_the_same_whole_and_streamed_in_every_protocol() {
    for protocol in ALL {
        let parts = vec![Part::Reasoning("look".to_owned()), text_of("reading"), call()];
        let expected = Answered { parts, finish: Some("tool_use".to_owned()), error: None };
        for body in answers(protocol) {
            assert_eq!(answered(protocol, body.as_bytes()), expected, "{protocol:?}: {body}");
        }
    }
}

#[test]
fn a_stream_that_breaks_off_anywhere_is_read_as_far_as_it_goes() {
    for protocol in ALL {
        for body in answers(protocol) {
            for end in 0..body.len() {
                let read = answered(protocol, &body.as_bytes()[..end]);
                assert!(read.parts.len() <= 4, "{protocol:?} {end}");
            }
        }
    }
}

#[test]
fn errors_are_told_in_the_providers_words() {
    let body = br#"{"type":"error","error":{"type":"overloaded_error","message":"try later"}}"#;
    for protocol in ALL {
        assert_eq!(answered(protocol, body).error.as_deref(), Some("try later"));
        assert_eq!(answered(protocol, b"<h1>502</h1>").parts, [text_of("<h1>502</h1>")]);
        assert_eq!(answered(protocol, br#"{"error":"no such model"}"#).error.as_deref(), Some("no such model"));
    }
}

#[test]
fn what_is_no_conversation_is_read_as_nothing() {
    let hostile = [
        "",
        "[]",
        "null",
        "{",
        "{\"messages\":5,\"input\":{},\"contents\":\"x\",\"tools\":[1,null]}",
        "{\"messages\":[null,5,{\"content\":[null,[],{\"type\":5}]}],\"input\":[null,{\"type\":{}}],\"contents\":[{\"parts\":[1]}]}",
    ];
    for protocol in ALL {
        for body in hostile {
            let _ = asked(protocol, body.as_bytes());
            let _ = answered(protocol, body.as_bytes());
            let _ = answered(
                protocol,
                format!("data: {body}\n\ndata: {{\"type\":\"content_block_delta\"}}\n\n").as_bytes(),
            );
        }
    }
}

#[test]
fn only_what_is_new_in_a_call_is_shown() {
    for protocol in ALL {
        let whole = whole(protocol);
        let first = Asked { turns: whole.turns[..2].to_vec(), ..whole.clone() };
        let said = answered(protocol, answers(protocol)[1].as_bytes());
        let mut fold = Fold::default();
        let step = fold.add(&first, said);
        assert_eq!((step.thread, step.known, step.new.len()), (0, 0, 2));
        let last = Answered { parts: vec![text_of("5")], ..Answered::default() };
        let step = fold.add(&whole, last);
        assert_eq!((step.thread, step.known), (0, 3), "{protocol:?}");
        assert_eq!(step.new, [turn(Who::Tool, vec![result()])]);
        // The same system prompt with another question is another conversation, and the prompt is not shown again.
        let other = vec![whole.turns[0].clone(), turn(Who::User, vec![text_of("a title, please")])];
        let step = fold.add(&Asked { turns: other.clone(), tools: Vec::new() }, Answered::default());
        assert_eq!((step.thread, step.known, step.new.as_slice()), (1, 1, &other[1..]));
    }
}

fn told(asked: Asked, answered: Answered) -> Told {
    Told {
        asked,
        answered,
        at: "2026-01-01T00:00:00Z".to_owned(),
        model: "m".to_owned(),
        tokens: Tokens { input: Some(10), cached: Some(5), output: Some(2), ..Tokens::default() },
        cost_usd: None,
        replayed: false,
    }
}

/// Gemini knows a call by the name of its tool alone.
#[test]
fn calls_of_one_tool_have_names_of_their_own_and_each_its_result() {
    let call = |path: &str| json!({ "functionCall": { "name": "read", "args": { "path": path } } });
    let gave = |response: Value| json!({ "functionResponse": { "name": "read", "response": response } });
    let question = json!({ "role": "user", "parts": [{ "text": "both" }] });
    let model = json!({ "role": "model", "parts": [call("a"), call("b")] });
    let results =
        json!({ "role": "user", "parts": [gave(json!({ "output": "1" })), gave(json!({ "error": "none" }))] });
    let again = json!({ "role": "model", "parts": [call("c")] });
    let last = json!({ "role": "user", "parts": [gave(json!({ "output": "1" }))] });
    let asked = |contents: &[&Value]| {
        super::asked(Protocol::Gemini, json!({ "contents": contents }).to_string().as_bytes()).unwrap()
    };
    let said = |content: &Value| {
        answered(Protocol::Gemini, json!({ "candidates": [{ "content": content }] }).to_string().as_bytes())
    };
    let calls = [
        told(asked(&[&question]), said(&model)),
        told(asked(&[&question, &model, &results]), said(&again)),
        told(asked(&[&question, &model, &results, &again, &last]), Answered::default()),
    ];
    let made = trajectory("s", "gemini", "1", &calls);
    let ids: Vec<&Value> =
        [(1, 0), (1, 1), (2, 0)].map(|(step, call)| &made["steps"][step]["tool_calls"][call]["tool_call_id"]).to_vec();
    assert_eq!(ids, ["read", "read#2", "read#3"]);
    let results = |step: usize| made["steps"][step]["observation"]["results"].clone();
    let failed = json!({ "source_call_id": "read#2", "content": "none", "extra": { "is_error": true } });
    assert_eq!(results(1), json!([{ "source_call_id": "read", "content": "1" }, failed]));
    assert_eq!(results(2), json!([{ "source_call_id": "read#3", "content": "1" }]));
    assert_eq!(made["steps"].as_array().unwrap().len(), 4);
}

#[test]
fn what_an_agent_said_before_anybody_listened_is_marked_as_copied() {
    let made = trajectory("s", "a", "1", &[told(whole(Protocol::Chat), Answered::default())]);
    let steps = made["steps"].as_array().unwrap();
    let sources: Vec<&str> = steps.iter().map(|step| step["source"].as_str().unwrap()).collect();
    assert_eq!(sources, ["system", "user", "agent", "agent"]);
    assert_eq!((&steps[2]["is_copied_context"], &steps[3]["llm_call_count"]), (&json!(true), &json!(1)));
    assert_eq!(steps[2]["observation"]["results"][0]["source_call_id"], "c1");
    assert!(steps[2].get("metrics").is_none() && steps[3].get("is_copied_context").is_none());
}

#[test]
fn an_attempt_is_a_trajectory_whose_results_are_where_their_calls_are() {
    let whole = whole(Protocol::Chat);
    let first = Asked { turns: whole.turns[..2].to_vec(), ..whole.clone() };
    let answer = answered(Protocol::Chat, answers(Protocol::Chat)[0].as_bytes());
    let last = Answered { parts: vec![text_of("5")], ..Answered::default() };
    let made = trajectory("study/1", "claude", "2.1", &[told(first, answer), told(whole, last)]);
    let steps = made["steps"].as_array().unwrap();
    let sources: Vec<&str> = steps.iter().map(|step| step["source"].as_str().unwrap()).collect();
    assert_eq!(sources, ["system", "user", "agent", "agent"]);
    assert_eq!(steps[2]["reasoning_content"], "look");
    assert_eq!(
        steps[2]["tool_calls"][0],
        json!({ "tool_call_id": "c1", "function_name": "read", "arguments": { "path": "a" } })
    );
    assert_eq!(steps[2]["observation"]["results"][0], json!({ "source_call_id": "c1", "content": "x = 5" }));
    assert_eq!(steps[3]["metrics"], json!({ "prompt_tokens": 15, "completion_tokens": 2, "cached_tokens": 5 }));
    let ids: Vec<u64> = steps.iter().map(|step| step["step_id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
    let total =
        json!({ "total_prompt_tokens": 30, "total_completion_tokens": 4, "total_cached_tokens": 10, "total_steps": 4 });
    assert_eq!(made["final_metrics"], total, "a cost that is not known is absent");
    let read = json!({ "name": "read", "description": "reads", "parameters": schema() });
    let tools = json!([{ "type": "function", "function": read }]);
    assert_eq!(
        made["agent"],
        json!({ "name": "claude", "version": "2.1", "model_name": "m", "tool_definitions": tools })
    );
}

#[test]
fn a_digest_holds_the_latest_calls_and_is_bounded() {
    let ask = |text: &str| Asked { turns: vec![turn(Who::User, vec![text_of(text)])], ..Asked::default() };
    let say = |text: &str| Answered { parts: vec![text_of(text)], ..Answered::default() };
    let calls: Vec<_> = (0..50).map(|n| (ask(&format!("question {n}")), say(&"ü".repeat(2000)))).collect();
    let told = digest(calls.iter(), 3000);
    assert!(told.len() <= 3000 && told.contains("question 49") && !told.contains("question 0\n"), "{told}");
    assert!(told.contains("[…]"));
    assert_eq!(digest([].iter(), 3000), "");
}
