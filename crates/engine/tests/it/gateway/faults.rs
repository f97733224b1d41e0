//! Providers and clients that stall, break off, hang up, or never come to the point.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

use overnight_engine::gateway::Patience;
use overnight_model::call::CallEnd;
use overnight_model::event::Trouble;

use super::ASK;
use super::common::*;

/// Long enough to connect, and soon over.
const SOON: Duration = Duration::from_millis(200);

/// Waits until the other side has gone.
fn is_hung_up(stream: &mut impl Read) -> bool {
    let mut bytes = [0; 1024];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn whoever_hangs_up_ends_the_call_at_the_provider_too() {
    for first_words in ["", "data: {}\n\n"] {
        let (told, asked) = mpsc::channel();
        let (url, serving) = server(move |mut stream, _| {
            if !first_words.is_empty() {
                stream.write_all((EVENTS.to_owned() + &chunk(first_words)).as_bytes()).unwrap();
            }
            told.send(()).unwrap();
            is_hung_up(&mut stream)
        });
        let mut site = Site::new(&url);
        let mut stream = site.send("/v1/chat/completions", ASK);
        asked.recv().unwrap();
        if !first_words.is_empty() {
            read_until(&mut stream, first_words.trim());
        }
        drop(stream);
        assert!(serving.join().unwrap());
        assert_eq!(site.end(), CallEnd::HungUp);
    }
}

#[test]
fn a_door_that_is_closed_ends_what_is_under_way_and_settles_it() {
    let (told, asked) = mpsc::channel();
    let (url, serving) = server(move |mut stream, _| {
        stream.write_all((EVENTS.to_owned() + &chunk("data: {}\n\n")).as_bytes()).unwrap();
        told.send(()).unwrap();
        is_hung_up(&mut stream)
    });
    let mut site = Site::new(&url);
    let stream = site.send("/v1/chat/completions", ASK);
    asked.recv().unwrap();
    assert_eq!(site.end(), CallEnd::HungUp);
    assert!(serving.join().unwrap());
    rest(stream);
}

#[test]
fn a_provider_that_says_nothing_is_given_up() {
    let (url, serving) = server(|mut stream, _| is_hung_up(&mut stream));
    let mut site = Site::with(&url, Patience { first_byte: SOON, ..patience() });
    let answer = site.ask("/v1/messages", ASK);
    assert!(answer.starts_with("HTTP/1.1 504") && answer.contains("said nothing for"), "{answer}");
    assert!(serving.join().unwrap());
    assert_eq!(site.end(), CallEnd::Broken);
}

#[test]
fn a_provider_that_falls_silent_is_given_up_and_its_client_sees_a_stream_that_is_cut() {
    let (url, serving) = server(|mut stream, _| {
        stream.write_all((EVENTS.to_owned() + &chunk("data: {}\n\n")).as_bytes()).unwrap();
        is_hung_up(&mut stream)
    });
    let mut site = Site::with(&url, Patience { idle: SOON, ..patience() });
    let answer = site.ask("/v1/messages", ASK);
    assert!(answer.contains("data: {}") && !answer.ends_with(LAST), "{answer}");
    assert!(serving.join().unwrap());
    assert_eq!(site.end(), CallEnd::Broken);
}

#[test]
fn a_stream_that_is_cut_is_no_answer_however_it_is_cut() {
    let started = r#"data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":5}}}"#;
    let open = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    for bytes in [format!("{EVENTS}{}", chunk(&format!("{started}\n\n"))), format!("{open}{started}\n\n")] {
        let (url, serving) = server(move |mut stream, _| stream.write_all(bytes.as_bytes()).unwrap());
        let mut site = Site::new(&url);
        assert!(site.ask("/v1/messages", ASK).contains("message_start"));
        serving.join().unwrap();
        assert_eq!(site.end(), CallEnd::Broken);
    }
}

#[test]
fn who_cannot_be_reached_is_tried_again_and_who_has_heard_is_not() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut site = Site::new(&format!("http://127.0.0.1:{port}"));
    let answer = site.ask("/v1/messages", ASK);
    assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("here cannot be reached"), "{answer}");
    let settled = site.close();
    assert_eq!((settled[0].1.end, settled[0].1.trouble), (CallEnd::Unreached, Some(Trouble::Outage)));

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut site = Site::new(&format!("http://{}", listener.local_addr().unwrap()));
    let serving = std::thread::spawn(move || {
        // Takes the request and goes away.
        let mut stream = listener.accept().unwrap().0;
        read_until(&mut stream, "\r\n\r\n");
        drop(stream);
        listener.set_nonblocking(true).unwrap();
        listener
    });
    let answer = site.ask("/v1/messages", ASK);
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    assert_eq!(site.end(), CallEnd::Broken);
    let again = serving.join().unwrap().accept();
    assert_eq!(again.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_provider_that_comes_up_meanwhile_is_asked_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut site = Site::new(&format!("http://{address}"));
    let stream = site.send("/v1/messages", ASK);
    // Admitted before anything is tried.
    while site.books.admitted.lock().unwrap().is_empty() {
        std::thread::yield_now();
    }
    let listener = TcpListener::bind(address).unwrap();
    let mut provider = listener.accept().unwrap().0;
    read_until(&mut provider, "\r\n\r\n");
    provider.write_all(whole(200, "", "{}").as_bytes()).unwrap();
    assert!(rest(stream).starts_with("HTTP/1.1 200"));
    assert_eq!(site.end(), CallEnd::Answered);
    assert_eq!(site.books.admitted.lock().unwrap().len(), 1);
}

#[test]
fn limits_of_a_provider_are_passed_to_the_client_who_knows_best() {
    let headers = "retry-after: 17\r\nx-ratelimit-remaining: 0\r\nset-cookie: a=b\r\nconnection: x-hop\r\nx-hop: 1\r\n";
    let (url, serving) = server(move |mut stream, _| {
        stream.write_all(whole(429, headers, r#"{"error":{"message":"slow down"}}"#).as_bytes()).unwrap();
    });
    let mut site = Site::new(&url);
    let answer = site.ask("/v1/chat/completions", ASK);
    serving.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 429") && answer.contains("slow down"), "{answer}");
    assert!(answer.contains("retry-after: 17") && answer.contains("x-ratelimit-remaining: 0"), "{answer}");
    assert!(!answer.contains("set-cookie") && !answer.contains("x-hop"), "{answer}");
    let settled = site.close();
    assert_eq!(settled[0].1.end, CallEnd::Refused);
    // Who asks may not know until when it is to wait, and the gateway does.
    let now = overnight_engine::clock::now().0;
    let Some(Trouble::RateLimit { retry_at: Some(at) }) = settled[0].1.trouble else { panic!("{settled:?}") };
    assert!((now - 60_000..=now + 17_000).contains(&at.0), "{} of {now}", at.0);
}

#[test]
fn what_is_wrong_at_a_provider_is_recorded_with_the_call() {
    let quota = r#"{"error":{"code":"insufficient_quota","message":"no"}}"#;
    for (status, body, expected) in [
        (500, "{}", Some(Trouble::Outage)),
        (529, "", Some(Trouble::Outage)),
        (429, "<html>slow down</html>", Some(Trouble::RateLimit { retry_at: None })),
        (429, quota, Some(Trouble::Denied)),
        (401, "{}", Some(Trouble::Denied)),
        (400, "{}", None),
        (200, "{}", None),
    ] {
        let (url, serving) = server(move |mut stream, _| stream.write_all(whole(status, "", body).as_bytes()).unwrap());
        let mut site = Site::new(&url);
        site.ask("/v1/messages", ASK);
        serving.join().unwrap();
        assert_eq!(site.close()[0].1.trouble, expected, "{status} {body}");
    }
}

#[test]
fn a_client_that_never_comes_to_the_end_of_its_request_is_sent_away() {
    let mut site = Site::with("http://127.0.0.1:9", Patience { head: SOON, body: SOON, ..patience() });
    let mut slow = site.connect();
    slow.write_all(b"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-slow: ").unwrap();
    assert!(is_hung_up(&mut slow));
    let mut slow = site.connect();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\ncontent-length: 99\r\n\r\n{{",
        site.pass.key
    );
    slow.write_all(head.as_bytes()).unwrap();
    let answer = rest(slow);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert_eq!(site.close(), []);
}

#[test]
fn what_is_longer_than_any_request_is_refused_before_it_has_come_and_while_it_comes() {
    let mut site = Site::new("http://127.0.0.1:9");
    let most = overnight_engine::gateway::MOST_BODY;
    let mut stream = site.connect();
    let key = &site.pass.key;
    let head = format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n");
    stream.write_all(format!("{head}content-length: {}\r\n\r\n", most + 1).as_bytes()).unwrap();
    assert!(rest(stream).starts_with("HTTP/1.1 413"));
    let mut stream = site.connect();
    stream.write_all(format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes()).unwrap();
    let piece = chunk(&"x".repeat(1 << 20));
    // It may be gone before it has heard all of it.
    let sent = (0..most >> 20).try_for_each(|_| stream.write_all(piece.as_bytes()));
    let _ = sent.and_then(|()| stream.write_all(piece.as_bytes()));
    let answer = rest(stream);
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert_eq!(site.close(), []);
}
