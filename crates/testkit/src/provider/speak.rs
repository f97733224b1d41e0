//! Answers in the words of each protocol.

use serde_json::{Value, json};

use super::http::{Request, events, plain};
use super::script::{Answer, Failure};
use super::seen::{Conversation, Protocol};

type Events = Vec<(Option<&'static str>, String)>;

/// The whole answer, head and all.
pub(super) fn answer(conversation: &Conversation, answer: &Answer) -> Vec<u8> {
    let nothing = Answer::Text(String::new());
    let half = Answer::Text("it was a dark and stormy night ".repeat(20));
    let said = match answer {
        Answer::Fail(Failure::Empty) => &nothing,
        Answer::Fail(Failure::Cut) => &half,
        Answer::Fail(Failure::Malformed) => return plain(200, &[], b"{\"choices\": [ <!doctype html>"),
        Answer::Fail(Failure::Redirect { port }) => {
            let there = format!("http://127.0.0.1:{port}/v1/chat/completions");
            return plain(307, &[("location", &there)], b"{}");
        }
        Answer::Fail(failure) => return fail(conversation, *failure),
        said => said,
    };
    let (streamed, whole) = match conversation.protocol {
        Protocol::Chat => (chat_events(conversation, said), chat(conversation, said)),
        Protocol::Responses => (response_events(conversation, said), response(conversation, said)),
        Protocol::Messages => (message_events(conversation, said), message(conversation, said)),
        Protocol::Gemini => (vec![(None, candidates(conversation, said).to_string())], candidates(conversation, said)),
    };
    match conversation.streams {
        true => events(&streamed),
        false => plain(200, &[], whole.to_string().as_bytes()),
    }
}

/// What clients ask besides: which models there are, how many tokens a text has.
pub(super) fn besides(request: &Request) -> String {
    match request.path.contains("countTokens") || request.path.contains("count_tokens") {
        true => json!({ "totalTokens": 100, "input_tokens": 100 }).to_string(),
        false => json!({ "object": "list", "data": [], "models": [] }).to_string(),
    }
}

fn fail(conversation: &Conversation, failure: Failure) -> Vec<u8> {
    let model = &conversation.model;
    let (status, kind, message) = match failure {
        Failure::RateLimit { .. } => (429, "rate_limit_error", "Rate limit reached for requests".to_owned()),
        Failure::UsageLimit { .. } => (429, "rate_limit_error", "This request would exceed your limit".to_owned()),
        Failure::Denied => (401, "authentication_error", "invalid x-api-key".to_owned()),
        Failure::UnknownModel => (404, "not_found_error", format!("model: {model} does not exist")),
        Failure::Overflow => {
            (400, "invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum".to_owned())
        }
        Failure::NoSchema => (400, "invalid_request_error", "'response_format' is not supported here".to_owned()),
        _ => (500, "api_error", "Internal server error".to_owned()),
    };
    let wait = match failure {
        Failure::RateLimit { retry_after } => retry_after.map(|seconds| seconds.to_string()),
        _ => None,
    };
    let code = if failure == Failure::Overflow { "context_length_exceeded" } else { kind };
    let body = match conversation.protocol {
        Protocol::Messages => json!({ "type": "error", "error": { "type": kind, "message": message } }),
        Protocol::Gemini => {
            let status_name = if status == 429 { "RESOURCE_EXHAUSTED" } else { "INTERNAL" };
            json!({ "error": { "code": status, "message": message, "status": status_name } })
        }
        _ => json!({ "error": { "type": kind, "code": code, "message": message, "param": null } }),
    };
    let mut headers: Vec<(&str, &str)> = wait.iter().map(|wait| ("retry-after", wait.as_str())).collect();
    let resets = match failure {
        Failure::UsageLimit { resets_at } => Some((resets_at.to_string(), (resets_at + 5 * 24 * 3600).to_string())),
        _ => None,
    };
    if let Some((five_hours, a_week)) = &resets {
        // As Anthropic tells whoever has a subscription.
        headers.extend([
            ("anthropic-ratelimit-unified-status", "rejected"),
            ("anthropic-ratelimit-unified-reset", five_hours),
            ("anthropic-ratelimit-unified-representative-claim", "five_hour"),
            ("anthropic-ratelimit-unified-5h-status", "rejected"),
            ("anthropic-ratelimit-unified-5h-reset", five_hours),
            ("anthropic-ratelimit-unified-7d-status", "allowed"),
            ("anthropic-ratelimit-unified-7d-reset", a_week),
        ]);
    }
    plain(status, &headers, body.to_string().as_bytes())
}

fn chat(conversation: &Conversation, answer: &Answer) -> Value {
    let (message, finish) = chat_message(answer, conversation.calls);
    json!({
        "id": "chat-1", "object": "chat.completion", "created": 1, "model": conversation.model,
        "choices": [{ "index": 0, "message": message, "finish_reason": finish }], "usage": chat_usage(conversation),
    })
}

// Clients take two calls of one name for the same.
fn chat_message(answer: &Answer, number: usize) -> (Value, &'static str) {
    match answer {
        Answer::Call { tool, arguments, say } => {
            let function = json!({ "name": tool, "arguments": arguments.to_string() });
            let calls =
                json!([{ "index": 0, "id": format!("call_{number}"), "type": "function", "function": function }]);
            (json!({ "role": "assistant", "content": say, "tool_calls": calls }), "tool_calls")
        }
        Answer::Refusal(text) => (json!({ "role": "assistant", "content": text, "refusal": text }), "content_filter"),
        Answer::Text(text) => (json!({ "role": "assistant", "content": text }), "stop"),
        Answer::Fail(_) => (json!({ "role": "assistant", "content": "" }), "stop"),
    }
}

fn chat_usage(conversation: &Conversation) -> Value {
    let (input, output) = conversation.usage;
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}

fn chat_events(conversation: &Conversation, answer: &Answer) -> Events {
    let (delta, finish) = chat_message(answer, conversation.calls);
    let chunk = |choices: Value, usage: Value| {
        let model = &conversation.model;
        let chunk = json!({
            "id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices,
            "usage": usage,
        });
        (None, chunk.to_string())
    };
    vec![
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), Value::Null),
        chunk(json!([{ "index": 0, "delta": {}, "finish_reason": finish }]), Value::Null),
        chunk(json!([]), chat_usage(conversation)),
        (None, "[DONE]".to_owned()),
    ]
}

fn response_item(conversation: &Conversation, answer: &Answer) -> Value {
    let number = conversation.calls;
    let message = |content: Value| json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [content] });
    match answer {
        Answer::Call { tool, arguments, .. } => {
            let (namespace, name) = conversation.apart(tool);
            let mut call = json!({
                "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"), "name": name,
                "status": "completed", "arguments": arguments.to_string(),
            });
            if let Some(namespace) = namespace {
                call["namespace"] = namespace.into();
            }
            call
        }
        Answer::Refusal(text) => message(json!({ "type": "refusal", "refusal": text })),
        Answer::Text(text) => message(json!({ "type": "output_text", "text": text, "annotations": [] })),
        Answer::Fail(_) => message(json!({ "type": "output_text", "text": "", "annotations": [] })),
    }
}

fn response(conversation: &Conversation, answer: &Answer) -> Value {
    let (input, output) = conversation.usage;
    json!({
        "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": conversation.model,
        "output": [response_item(conversation, answer)],
        "usage": {
            "input_tokens": input, "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": output, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": input + output,
        },
    })
}

fn response_events(conversation: &Conversation, answer: &Answer) -> Events {
    let event = |name: &'static str, more: Value| {
        let mut data = more;
        data["type"] = name.into();
        (Some(name), data.to_string())
    };
    let begun =
        json!({ "id": "resp_1", "object": "response", "created_at": 1, "model": conversation.model, "output": [] });
    let item = response_item(conversation, answer);
    let mut events = vec![
        event("response.created", json!({ "response": begun })),
        event("response.output_item.added", json!({ "output_index": 0, "item": item })),
    ];
    if let Answer::Text(text) = answer {
        let delta = json!({ "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text });
        events.push(event("response.output_text.delta", delta));
    }
    events.push(event("response.output_item.done", json!({ "output_index": 0, "item": item })));
    events.push(event("response.completed", json!({ "response": response(conversation, answer) })));
    events
}

fn message_parts(answer: &Answer, number: usize) -> (Value, &'static str) {
    match answer {
        Answer::Call { tool, arguments, .. } => (
            json!({ "type": "tool_use", "id": format!("toolu_{number}"), "name": tool, "input": arguments }),
            "tool_use",
        ),
        Answer::Refusal(text) => (json!({ "type": "text", "text": text }), "refusal"),
        Answer::Text(text) => (json!({ "type": "text", "text": text }), "end_turn"),
        Answer::Fail(_) => (json!({ "type": "text", "text": "" }), "end_turn"),
    }
}

fn message(conversation: &Conversation, answer: &Answer) -> Value {
    let (block, stop) = message_parts(answer, conversation.calls);
    let (input, output) = conversation.usage;
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": conversation.model, "content": [block],
        "stop_reason": stop, "stop_sequence": null, "usage": { "input_tokens": input, "output_tokens": output },
    })
}

fn message_events(conversation: &Conversation, answer: &Answer) -> Events {
    let event = |name: &'static str, more: Value| {
        let mut data = more;
        data["type"] = name.into();
        (Some(name), data.to_string())
    };
    let (mut block, stop) = message_parts(answer, conversation.calls);
    let mut begun = message(conversation, answer);
    (begun["content"], begun["stop_reason"]) = (json!([]), Value::Null);
    let delta = match answer {
        Answer::Call { arguments, .. } => {
            block["input"] = json!({});
            json!({ "type": "input_json_delta", "partial_json": arguments.to_string() })
        }
        _ => {
            let text = std::mem::replace(&mut block["text"], "".into());
            json!({ "type": "text_delta", "text": text })
        }
    };
    let end = json!({ "delta": { "stop_reason": stop, "stop_sequence": null }, "usage": { "output_tokens": conversation.usage.1 } });
    let mut events = vec![event("message_start", json!({ "message": begun }))];
    if delta["text"] != "" {
        events.push(event("content_block_start", json!({ "index": 0, "content_block": block })));
        events.push(event("content_block_delta", json!({ "index": 0, "delta": delta })));
        events.push(event("content_block_stop", json!({ "index": 0 })));
    }
    events.push(event("message_delta", end));
    events.push(event("message_stop", json!({})));
    events
}

fn candidates(conversation: &Conversation, answer: &Answer) -> Value {
    let (part, finish) = match answer {
        Answer::Call { tool, arguments, .. } => {
            (json!({ "functionCall": { "name": tool, "args": arguments } }), "STOP")
        }
        Answer::Refusal(text) => (json!({ "text": text }), "SAFETY"),
        Answer::Text(text) => (json!({ "text": text }), "STOP"),
        Answer::Fail(_) => (json!({ "text": "" }), "STOP"),
    };
    let (input, output) = conversation.usage;
    json!({
        "candidates": [{ "index": 0, "content": { "role": "model", "parts": [part] }, "finishReason": finish }],
        "usageMetadata": {
            "promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output,
        },
        "modelVersion": conversation.model,
    })
}
