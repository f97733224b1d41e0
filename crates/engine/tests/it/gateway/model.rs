//! A real model behind llama.cpp's server, asked through the gateway in every protocol that the server speaks.

use std::io::{Read, Write};

use overnight_model::call::{CallEnd, Protocol};
use overnight_model::trace::{Part, answered};
use overnight_testkit::model::{Counted, Server};
use serde_json::{Value, json};

use super::common::*;

/// As llama.cpp's server does after a stream: the connection is said to be kept, and who uses it again is not answered.
#[test]
fn a_server_that_ends_its_connections_without_a_word_loses_no_call() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        for _ in 0..3 {
            let mut stream = listener.accept().unwrap().0;
            // Waits for a second request, or for the client to hang up, before it closes.
            std::thread::spawn(move || {
                let body = r#"{"model":"m","choices":[{"finish_reason":"stop","message":{"content":"hi"}}]}"#;
                read_until(&mut stream, "hello");
                let head = "HTTP/1.1 200 OK\r\nkeep-alive: timeout=5, max=100\r\ncontent-type: application/json";
                write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
                let _ = stream.read(&mut [0; 1]);
            });
        }
    });
    let mut site = Site::new(&url);
    for _ in 0..3 {
        let answer = site.ask("/v1/chat/completions", r#"{"model":"m","messages":[{"content":"hello"}]}"#);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    assert!(site.close().iter().all(|(_, outcome)| outcome.end == CallEnd::Answered));
    serving.join().unwrap();
}

/// What the server knows its model by.
const MODEL: &str = "smollm2";

fn question(protocol: Protocol, is_stream: bool) -> (&'static str, Value) {
    let messages = json!([{ "role": "user", "content": "Name a colour." }]);
    match protocol {
        Protocol::Chat => (
            "/v1/chat/completions",
            json!({ "model": MODEL, "max_tokens": 4, "stream": is_stream, "messages": messages }),
        ),
        Protocol::Messages => {
            ("/v1/messages", json!({ "model": MODEL, "max_tokens": 4, "stream": is_stream, "messages": messages }))
        }
        Protocol::Responses => {
            ("/v1/responses", json!({ "model": MODEL, "max_output_tokens": 4, "stream": is_stream, "input": messages }))
        }
        Protocol::Gemini => (
            "/v1beta/models/smollm2:generateContent",
            json!({ "contents": [{ "role": "user", "parts": [{ "text": "Name a colour." }] }] }),
        ),
    }
}

#[test]
fn a_real_model_answers_in_every_protocol_of_its_server_and_is_counted_by_its_own_word() {
    let server = Server::start();
    let mut site = Site::new(&server.url());
    let mut asked = Vec::new();
    let mut before = server.counted();
    let mut counted = |asked: &mut Vec<(Protocol, Counted)>, protocol| {
        let now = server.counted();
        asked.push((protocol, now - before));
        before = now;
    };
    for protocol in [Protocol::Chat, Protocol::Responses, Protocol::Messages] {
        for is_stream in [false, true] {
            let (path, body) = question(protocol, is_stream);
            let answer = site.ask(path, &body.to_string());
            assert!(answer.starts_with("HTTP/1.1 200"), "{protocol:?} {answer}");
            assert_eq!(answer.contains("text/event-stream"), is_stream, "{protocol:?} {answer}");
            counted(&mut asked, protocol);
        }
    }
    // A client of chat that asks for usage is told it twice, and it counts once.
    let (path, mut body) = question(Protocol::Chat, true);
    body["stream_options"] = json!({ "include_usage": true });
    assert!(site.ask(path, &body.to_string()).contains("\"usage\":{"));
    counted(&mut asked, Protocol::Chat);
    // What costs nothing is passed on, and is no call.
    let (path, body) = question(Protocol::Messages, false);
    let tokens = site.ask(&format!("{path}/count_tokens"), &body.to_string());
    let read = asked[4].1.input + asked[4].1.cached;
    assert!(tokens.contains(&format!("{{\"input_tokens\":{read}}}")), "{read} {tokens}");
    // Gemini's it does not speak, and says so itself.
    let (path, body) = question(Protocol::Gemini, false);
    let refused = site.ask(path, &body.to_string());
    assert!(refused.starts_with("HTTP/1.1 404") && refused.contains("File Not Found"), "{refused}");
    assert_eq!(server.counted(), before, "neither wrote a word");
    let settled = site.close();
    assert_eq!(settled.len(), asked.len() + 1);
    let kept = site.books.kept.lock().unwrap();
    for (((protocol, counted), (call, outcome)), exchange) in asked.iter().zip(&settled).zip(kept.iter()) {
        let seen = || format!("{protocol:?} {outcome:?}\n{exchange:?}");
        assert_eq!((call.protocol, outcome.end), (*protocol, CallEnd::Answered), "{}", seen());
        assert_eq!(outcome.model.as_deref(), Some(MODEL), "{}", seen());
        let Counted { input, cached, output } = *counted;
        assert!((1..=4).contains(&output) && input >= 1, "{counted:?}");
        let tokens = outcome.tokens;
        assert_eq!((tokens.input, tokens.cached.unwrap_or(0), tokens.output), (Some(input), cached, Some(output)));
        let body: Vec<u8> = exchange.chunks.iter().flat_map(|(_, bytes)| bytes).copied().collect();
        let said = answered(*protocol, &body);
        let is_said = |part: &Part| matches!(part, Part::Text(text) if !text.trim().is_empty());
        assert!(said.parts.iter().any(is_said), "{said:?}\n{}", seen());
    }
    let (_, refused) = settled.last().unwrap();
    assert_eq!((refused.end, refused.status, refused.tokens.output), (CallEnd::Refused, Some(404), None));
}
