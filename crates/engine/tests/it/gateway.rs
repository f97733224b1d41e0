//! The gateway between clients and providers that behave, and that do not.

mod common;
mod faults;
mod many;
mod model;
mod proxy;
mod tapes;
mod tricks;

use overnight_engine::gateway::{Recorded, Refusal};
use overnight_model::ExperimentId;
use overnight_model::call::{CallEnd, Caller, Protocol};
use overnight_testkit::provider::{Idea, Provider, Script};
use serde_json::Value;

use common::*;

const ASK: &str = r#"{"model":"m","max_tokens":50,"messages":[{"role":"user","content":"hello"}]}"#;

#[test]
fn every_protocol_is_passed_on_with_the_real_key_streamed_or_not_and_counted() {
    let provider = Provider::start(Script::new("/", [Idea::Say("a good idea".into())]));
    let mut site = Site::new(&provider.url());
    let chat = r#""messages":[{"role":"user","content":"hello"}]"#;
    let user = r#"[{"role":"user","content":[{"type":"input_text","text":"hello"}]}]"#;
    let parts = r#"{"contents":[{"role":"user","parts":[{"text":"hello"}]}]}"#.to_owned();
    let asked = [
        (Protocol::Messages, "/v1/messages?beta=true", ASK.to_owned()),
        (Protocol::Messages, "/v1/messages", format!(r#"{{"model":"m","stream":true,{chat}}}"#)),
        (Protocol::Chat, "/v1/chat/completions", format!(r#"{{"model":"m",{chat}}}"#)),
        (Protocol::Chat, "/here/v1/chat/completions", format!(r#"{{"model":"m","stream":true,{chat}}}"#)),
        (Protocol::Responses, "/v1/responses", format!(r#"{{"model":"m","input":{user}}}"#)),
        (Protocol::Responses, "/v1/responses", format!(r#"{{"model":"m","stream":true,"input":{user}}}"#)),
        (Protocol::Gemini, "/v1beta/models/m:generateContent", parts.clone()),
        (Protocol::Gemini, "/v1beta/models/m:streamGenerateContent?alt=sse&key=made-up", parts),
    ];
    for (protocol, path, body) in &asked {
        let answer = site.ask(path, body);
        assert!(answer.starts_with("HTTP/1.1 200"), "{protocol:?} {answer}");
        assert!(answer.contains("m"), "{answer}");
    }
    let made_up = site.pass.key.clone();
    let seen = provider.seen();
    assert_eq!(seen.len(), asked.len());
    for ((protocol, ..), request) in asked.iter().zip(&seen) {
        let (name, value) = match protocol {
            Protocol::Messages => ("x-api-key", KEY.to_owned()),
            Protocol::Gemini => ("x-goog-api-key", KEY.to_owned()),
            Protocol::Chat | Protocol::Responses => ("authorization", format!("Bearer {KEY}")),
        };
        assert_eq!(request.header(name), Some(value.as_str()), "{request:?}");
        assert!(!format!("{request:?}").contains(&made_up), "{request:?}");
    }
    assert_eq!(seen[0].path, "/v1/messages?beta=true");
    assert_eq!(seen[7].path, "/v1beta/models/m:streamGenerateContent?alt=sse");
    let settled = site.close();
    assert_eq!(settled.len(), asked.len());
    let caller = Caller::Agent { name: "ada".into(), experiment: ExperimentId(7) };
    for ((protocol, ..), (call, outcome)) in asked.iter().zip(&settled) {
        assert_eq!((call.protocol, &call.caller, call.provider.as_str()), (*protocol, &caller, "here"));
        assert_eq!((outcome.end, outcome.status), (CallEnd::Answered, Some(200)), "{call:?} {outcome:?}");
        assert_eq!((outcome.tokens.input, outcome.tokens.output), (Some(100), Some(10)), "{call:?} {outcome:?}");
        assert_eq!(outcome.model.as_deref(), Some("m"));
        assert!(outcome.first_byte.is_some_and(|first| first <= outcome.wall), "{outcome:?}");
    }
    assert_eq!(settled[0].0.most_output, Some(50));
    assert_eq!(*site.books.admitted.lock().unwrap(), settled.iter().map(|(call, _)| call.clone()).collect::<Vec<_>>());
    let kept = site.books.kept.lock().unwrap();
    assert_eq!(kept[0].path, "/v1/messages?beta=true");
    assert_eq!(kept[0].request, ASK.as_bytes());
    assert!(!kept[0].cut && !kept[0].chunks.is_empty());
    assert_eq!(kept[3].content_type, "text/event-stream");
}

#[test]
fn a_piece_goes_on_before_the_next_one_has_come() {
    let (ready, go) = std::sync::mpsc::channel();
    let (url, serving) = server(move |mut stream, _| {
        use std::io::Write;
        stream.write_all((EVENTS.to_owned() + &chunk("data: {\"one\":1}\n\n")).as_bytes()).unwrap();
        go.recv().unwrap();
        stream.write_all((chunk("data: [DONE]\n\n") + LAST).as_bytes()).unwrap();
    });
    let mut site = Site::new(&url);
    let mut stream = site.send("/v1/chat/completions", ASK);
    read_until(&mut stream, "one");
    ready.send(()).unwrap();
    assert!(rest(stream).contains("[DONE]"));
    serving.join().unwrap();
    assert_eq!(site.end(), CallEnd::Answered);
}

#[test]
fn what_costs_nothing_is_passed_on_and_not_counted() {
    let provider = Provider::start(Script::new("/", [Idea::Say("hm".into())]));
    let mut site = Site::new(&provider.url());
    assert!(site.ask("/v1/messages/count_tokens", ASK).contains("input_tokens"));
    assert_eq!(provider.seen()[0].header("x-api-key"), Some(KEY));
    assert_eq!(site.close(), []);
    let head = "HEAD / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let site = Site::new(&provider.url());
    let mut stream = site.connect();
    std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
    assert!(rest(stream).starts_with("HTTP/1.1 200"));
    assert_eq!(provider.seen().len(), 1);
}

#[test]
fn a_call_that_is_not_admitted_never_goes_out_and_its_client_is_told_in_its_own_words() {
    let provider = Provider::start(Script::new("/", [Idea::Say("hm".into())]));
    for (path, body, shape) in [
        ("/v1/messages", ASK, "/error/message"),
        ("/v1/chat/completions", ASK, "/error/message"),
        ("/v1/responses", r#"{"model":"m"}"#, "/error/message"),
        ("/v1beta/models/m:generateContent", "{}", "/error/message"),
    ] {
        let mut site = Site::new(&provider.url());
        let refusal = Refusal { what: "a dollar is spent".into(), limit: "limits.cost_usd".into() };
        *site.books.refusal.lock().unwrap() = Some(refusal);
        let answer = site.ask(path, body);
        // Not tried again by any client.
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        let expected = "overnight: a dollar is spent (limits.cost_usd)";
        assert_eq!(body.pointer(shape).and_then(Value::as_str), Some(expected), "{body}");
        assert_eq!(site.end(), CallEnd::Limited);
    }
    assert_eq!(provider.seen().len(), 0);
}

#[test]
fn a_recording_answers_in_the_place_of_a_provider_or_says_that_it_cannot() {
    let mut site = Site::new("http://127.0.0.1:9");
    let usage = r#"{"model":"m","usage":{"prompt_tokens":3,"completion_tokens":4}}"#;
    *site.books.recorded.lock().unwrap() = Some(recorded(usage));
    assert!(site.ask("/v1/chat/completions", ASK).contains(r#""prompt_tokens":3"#));
    *site.books.recorded.lock().unwrap() = Some(Recorded::Miss { what: "nothing like it was recorded".into() });
    let answer = site.ask("/v1/chat/completions", ASK);
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("nothing like it was recorded"), "{answer}");
    assert!(site.ask("/v1/messages/count_tokens", ASK).starts_with("HTTP/1.1 404"));
    let settled = site.close();
    let ends: Vec<_> = settled.iter().map(|(_, outcome)| (outcome.end, outcome.replayed)).collect();
    assert_eq!(ends, [(CallEnd::Answered, true), (CallEnd::NotRecorded, false)]);
    assert_eq!(settled[0].1.tokens.input, Some(3));
    assert_eq!(site.books.admitted.lock().unwrap().len(), 0);
}
