//! Whoever wants more of the gateway than a model's answer.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use overnight_model::call::CallEnd;
use overnight_testkit::provider::{Idea, Provider, Script};

use super::ASK;
use super::common::*;

#[test]
fn nothing_that_a_client_says_makes_it_fetch_another_host() {
    let provider = Provider::start(Script::new("/", [Idea::Say("hm".into())]));
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let there = other.local_addr().unwrap();
    let site = Site::new(&provider.url());
    let key = &site.pass.key;
    let body = format!("x-api-key: {key}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{ASK}", ASK.len());
    for (head, status) in [
        (format!("POST http://{there}/v1/messages HTTP/1.1\r\nhost: {there}\r\n"), 404),
        (format!("CONNECT {there} HTTP/1.1\r\nhost: {there}\r\n"), 404),
        (format!("POST //{there}/v1/messages HTTP/1.1\r\nhost: x\r\n"), 404),
        (format!("POST /{there}/v1/messages HTTP/1.1\r\nhost: x\r\n"), 404),
        (format!("POST /v1/messages/../../{there} HTTP/1.1\r\nhost: x\r\n"), 404),
        ("GET /v1/files HTTP/1.1\r\nhost: x\r\n".to_owned(), 404),
        // These go where all go.
        (format!("POST /v1/messages HTTP/1.1\r\nhost: {there}\r\nx-forwarded-host: {there}\r\n"), 200),
        (format!("POST /v1/messages?url=http://{there} HTTP/1.1\r\nhost: x\r\n"), 200),
    ] {
        let mut stream = site.connect();
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let answer = rest(stream);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{head}{answer}");
    }
    assert_eq!(other.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    let seen = provider.seen();
    assert_eq!(seen.len(), 2);
    for request in seen {
        let host = provider.url().replace("http://", "");
        assert_eq!(request.header("host"), Some(host.as_str()));
        assert_eq!(request.header("x-forwarded-host"), None);
    }
}

#[test]
fn where_others_could_knock_only_the_key_of_the_door_opens_it() {
    let provider = Provider::start(Script::new("/", [Idea::Say("hm".into())]));
    let mut site = Site::new(&provider.url());
    let key = site.pass.key.clone();
    let ask = |header: &str, query: &str| {
        let mut stream = site.connect();
        let length = ASK.len();
        let head = format!("POST /v1/messages{query} HTTP/1.1\r\nhost: x\r\n{header}\r\ncontent-length: {length}");
        stream.write_all(format!("{head}\r\nconnection: close\r\n\r\n{ASK}").as_bytes()).unwrap();
        rest(stream)[9..12].to_owned()
    };
    assert_eq!(ask("x-none: 1", ""), "401");
    assert_eq!(ask(&format!("x-api-key: {KEY}"), ""), "401");
    assert_eq!(ask(&format!("x-api-key: {}", &key[..key.len() - 1]), ""), "401");
    assert_eq!(ask("authorization: Bearer ", ""), "401");
    assert_eq!(provider.seen().len(), 0);
    assert_eq!(ask(&format!("x-api-key: {key}"), ""), "200");
    assert_eq!(ask(&format!("authorization: Bearer {key}"), ""), "200");
    assert_eq!(ask(&format!("x-goog-api-key: {key}"), ""), "200");
    assert_eq!(ask("x-none: 1", &format!("?key={key}")), "200");
    assert_eq!(site.close().len(), 4);
    assert!(TcpStream::connect(("127.0.0.1", site.pass.port)).is_err() || provider.seen().len() == 4);
}

#[test]
fn a_provider_that_repeats_the_key_is_not_passed_on_with_it() {
    for status in [401, 200] {
        let (url, serving) = server(move |mut stream, _| {
            let body = format!("{{\"error\":\"Incorrect API key provided: {KEY}.\"}}");
            let echo = format!("x-echo: {KEY}\r\nx-plain: yes\r\n");
            stream.write_all(whole(status, &echo, &body).as_bytes()).unwrap();
        });
        let mut site = Site::new(&url);
        let answer = site.ask("/v1/chat/completions", ASK);
        serving.join().unwrap();
        assert!(answer.contains("Incorrect API key provided: [key]."), "{answer}");
        assert!(answer.contains("x-plain: yes") && !answer.contains("x-echo") && !answer.contains(KEY), "{answer}");
        assert_eq!(site.end(), if status == 200 { CallEnd::Answered } else { CallEnd::Refused });
        assert!(!format!("{:?}", site.books.kept.lock().unwrap()[0]).contains(KEY));
    }
}

#[test]
fn a_key_that_a_stream_repeats_in_two_pieces_is_found() {
    let (url, serving) = server(move |mut stream, _| {
        let (one, two) = KEY.split_at(9);
        stream
            .write_all(
                format!("{EVENTS}{}{}{LAST}", chunk(&format!("data: {one}")), chunk(&format!("{two}\n\n"))).as_bytes(),
            )
            .unwrap();
    });
    let site = Site::new(&url);
    let answer = site.ask("/v1/messages", ASK);
    serving.join().unwrap();
    assert!(answer.contains("[key]") && !answer.contains("sk-real"), "{answer}");
}

#[test]
fn two_requests_on_one_connection_are_two_calls_and_none_hides_in_another() {
    let provider = Provider::start(Script::new("/", [Idea::Say("hm".into())]));
    let mut site = Site::new(&provider.url());
    let key = &site.pass.key;
    let head = format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n");
    let one = format!("{head}content-length: {}\r\n\r\n{ASK}", ASK.len());
    let last = format!("{head}content-length: {}\r\nconnection: close\r\n\r\n{ASK}", ASK.len());
    let mut stream = site.connect();
    stream.write_all(format!("{one}{last}").as_bytes()).unwrap();
    assert_eq!(rest(stream).matches("HTTP/1.1 200").count(), 2);
    // Two lengths are no length.
    let mut stream = site.connect();
    let smuggled = format!("{head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{one}");
    stream.write_all(smuggled.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    rest(stream);
    let settled = site.close();
    assert_eq!(settled.len(), provider.seen().len());
    assert!(settled.iter().all(|(call, _)| call.bytes == ASK.len() as u64), "{settled:?}");
}
