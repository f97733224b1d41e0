use overnight_model::spec::{Edits, KeySource};
use serde_json::json;

use super::*;

fn api(provider: Provider) -> Api {
    let base_url = provider.base_url().unwrap_or("http://127.0.0.1:8080/v1").to_owned();
    let (model, key, edits) = ("m-1".to_owned(), KeySource::None, Edits::Blocks);
    Api { provider, model, base_url, key, edits, max_tokens: Some(100), temperature: None }
}

fn sheet(provider: Provider, schema: Option<&Value>) -> Sheet {
    let parts = ["stable".to_owned(), "surface".to_owned(), "question".to_owned()];
    write(&Question { api: &api(provider), system: "how", parts: &parts, schema }, Some("key-1"))
}

#[test]
fn each_provider_is_asked_where_it_is_and_with_its_own_header() {
    let asked: Vec<(String, &str, String)> = Provider::ALL
        .into_iter()
        .map(|provider| sheet(provider, None))
        .map(|sheet| (sheet.url, sheet.headers.last().unwrap().0, sheet.headers.last().unwrap().1.clone()))
        .collect();
    let expected = [
        ("https://api.anthropic.com/v1/messages", "x-api-key", "key-1"),
        ("https://api.openai.com/v1/chat/completions", "authorization", "Bearer key-1"),
        ("https://api.openai.com/v1/responses", "authorization", "Bearer key-1"),
        ("https://generativelanguage.googleapis.com/v1beta/models/m-1:generateContent", "x-goog-api-key", "key-1"),
        ("http://127.0.0.1:11434/v1/chat/completions", "authorization", "Bearer key-1"),
        ("https://openrouter.ai/api/v1/chat/completions", "authorization", "Bearer key-1"),
        ("http://127.0.0.1:8080/v1/chat/completions", "authorization", "Bearer key-1"),
    ];
    assert_eq!(asked, expected.map(|(url, header, value)| (url.to_owned(), header, value.to_owned())));
    for provider in Provider::ALL {
        let body = sheet(provider, None).body.to_string();
        let places = ["how", "stable", "surface", "question"].map(|part| body.find(part).unwrap());
        assert!(!body.contains("key-1"), "{body}");
        // Keys of JSON are in the order of the alphabet; within a message the order is ours.
        assert!(places[1] < places[2] && places[2] < places[3], "{body}");
    }
}

#[test]
fn what_stays_the_same_is_marked_for_the_cache_where_a_provider_wants_to_be_told() {
    let body = sheet(Provider::Anthropic, None).body;
    let marked: Vec<bool> = body["messages"][0]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part.get("cache_control").is_some())
        .collect();
    assert_eq!(marked, [true, true, false]);
    assert!(body["system"][0].get("cache_control").is_some());
}

#[test]
fn a_schema_goes_where_each_provider_keeps_to_it() {
    let schema = json!({ "type": "object" });
    let asked = |provider: Provider| sheet(provider, Some(&schema)).body;
    assert_eq!(asked(Provider::Anthropic)["tools"][0]["input_schema"], schema);
    assert_eq!(asked(Provider::Anthropic)["tool_choice"]["type"], "tool");
    assert_eq!(asked(Provider::Compatible)["response_format"]["json_schema"]["schema"], schema);
    assert_eq!(asked(Provider::OpenaiResponses)["text"]["format"]["schema"], schema);
    assert_eq!(asked(Provider::Gemini)["generationConfig"]["responseJsonSchema"], schema);
}

fn used(input: u64, output: u64, cached: u64, reasoning: Option<u64>) -> ModelUse {
    let (input, output, cached) = (Some(input), Some(output), Some(cached));
    ModelUse { model: "m-1".into(), calls: 1, input, output, cached, reasoning, cost_usd: None }
}

#[test]
fn answers_are_read_with_what_they_cost() {
    let chat = json!({
        "model": "m-1", "choices": [{ "message": { "content": "an idea" }, "finish_reason": "length" }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": { "cached_tokens": 8 },
                   "completion_tokens_details": { "reasoning_tokens": 2 } },
    });
    let responses = json!({
        "model": "m-1", "output": [{ "type": "reasoning" },
            { "type": "message", "content": [{ "type": "output_text", "text": "an idea" }] }],
        "incomplete_details": { "reason": "max_output_tokens" },
        "usage": { "input_tokens": 10, "output_tokens": 5, "input_tokens_details": { "cached_tokens": 8 },
                   "output_tokens_details": { "reasoning_tokens": 2 } },
    });
    let messages = json!({
        "model": "m-1", "content": [{ "type": "thinking" }, { "type": "text", "text": "an idea" }],
        "stop_reason": "max_tokens",
        "usage": { "input_tokens": 1, "cache_read_input_tokens": 8, "cache_creation_input_tokens": 1, "output_tokens": 5 },
    });
    let gemini = json!({
        "modelVersion": "m-1",
        "candidates": [{ "content": { "parts": [{ "text": "hm", "thought": true }, { "text": "an idea" }] },
                         "finishReason": "MAX_TOKENS" }],
        "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 2,
                           "cachedContentTokenCount": 8 },
    });
    for (provider, body, reasoning) in [
        (Provider::Openai, chat, Some(2)),
        (Provider::OpenaiResponses, responses, Some(2)),
        (Provider::Anthropic, messages, None),
        (Provider::Gemini, gemini, Some(2)),
    ] {
        let expected = Reply { text: "an idea".into(), refused: false, is_cut: true, used: used(10, 5, 8, reasoning) };
        assert_eq!(read(provider, &body), Some(expected), "{provider:?}");
    }
}

#[test]
fn refusals_are_told_from_answers() {
    let chat = json!({ "choices": [{ "message": { "content": null, "refusal": "no" }, "finish_reason": "stop" }] });
    let filtered = json!({ "choices": [{ "message": { "content": "" }, "finish_reason": "content_filter" }] });
    let responses = json!({ "output": [{ "type": "message", "content": [{ "type": "refusal", "refusal": "no" }] }] });
    let messages = json!({ "content": [], "stop_reason": "refusal" });
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" } });
    let unsafe_answer = json!({ "candidates": [{ "finishReason": "PROHIBITED_CONTENT" }] });
    for (provider, body) in [
        (Provider::Openai, chat),
        (Provider::Openai, filtered),
        (Provider::OpenaiResponses, responses),
        (Provider::Anthropic, messages),
        (Provider::Gemini, blocked),
        (Provider::Gemini, unsafe_answer),
    ] {
        assert!(read(provider, &body).unwrap().refused, "{body}");
    }
}

#[test]
fn what_is_no_answer_is_not_taken_for_an_empty_one() {
    for provider in Provider::ALL {
        for body in
            [json!({}), json!([]), json!("x"), json!({ "error": { "message": "no" } }), json!({ "choices": [] })]
        {
            assert_eq!(read(provider, &body), None, "{provider:?} {body}");
        }
    }
}
