//! Whoever wants more of the gateway than a model's answer.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use overnight_engine::gateway::Upstream;
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
        (format!("POST http://x@{there}/v1/messages HTTP/1.1\r\nhost: x\r\n"), 404),
        (format!("POST /@{there}/v1/messages HTTP/1.1\r\nhost: x\r\n"), 404),
        (format!("POST /\\{there}/v1/messages HTTP/1.1\r\nhost: x\r\n"), 404),
        (format!("POST /%2f%2f{there}/v1/messages HTTP/1.1\r\nhost: x\r\n"), 404),
        (format!("POST /v1/..%2f..%2f{there} HTTP/1.1\r\nhost: x\r\n"), 404),
        (format!("POST /elsewhere/v1/messages HTTP/1.1\r\nhost: {there}\r\n"), 404),
        (format!("POST {there} HTTP/1.1\r\nhost: x\r\n"), 404),
        (format!("TRACE /v1/messages HTTP/1.1\r\nhost: {there}\r\n"), 404),
        ("GET /v1/files HTTP/1.1\r\nhost: x\r\n".to_owned(), 404),
        // These go where all go.
        (format!("POST /v1/messages HTTP/1.1\r\nhost: {there}\r\nx-forwarded-host: {there}\r\n"), 200),
        (format!("POST /v1/messages?url=http://{there} HTTP/1.1\r\nhost: x\r\n"), 200),
        (
            format!(
                "POST /v1/messages HTTP/1.1\r\nhost: {there}\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n"
            ),
            200,
        ),
    ] {
        let mut stream = site.connect();
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let answer = rest(stream);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{head}{answer}");
    }
    // Another version of HTTP is not spoken at all.
    let mut stream = site.connect();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    assert_eq!(rest(stream), "");
    assert_eq!(other.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    let seen = provider.seen();
    assert_eq!(seen.len(), 3);
    for request in seen {
        assert_eq!(request.header("upgrade"), None);
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

#[test]
fn a_provider_that_sends_us_elsewhere_is_not_followed() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let port = other.local_addr().unwrap().port();
    let (url, serving) = server(move |mut stream, _| {
        let there = format!("location: http://127.0.0.1:{port}/v1/messages\r\n");
        stream.write_all(whole(307, &there, "").as_bytes()).unwrap();
    });
    let mut site = Site::new(&url);
    let answer = site.ask("/v1/messages", ASK);
    serving.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 307"), "{answer}");
    assert_eq!(other.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(site.end(), CallEnd::Refused);
}

#[test]
fn whose_money_it_is_and_how_a_request_is_read_are_not_the_clients_to_say() {
    let provider = Provider::start(Script::new("/", [Idea::Say("hm".into())]));
    let site = Site::new(&provider.url());
    let told = [
        ("openai-organization", "org-of-another"),
        ("openai-project", "proj-of-another"),
        ("x-goog-user-project", "another"),
        ("x-http-method-override", "DELETE"),
        ("x-method-override", "DELETE"),
        ("x-original-url", "/v1/files"),
        ("content-encoding", "deflate"),
        ("cookie", "session=1"),
        ("proxy-authorization", "Basic eA=="),
    ];
    let headers: String = told.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let (key, length) = (&site.pass.key, ASK.len());
    let mut stream = site.connect();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n{headers}content-type: text/json; \
         charset=utf-16\r\nx-harmless: yes\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{ASK}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    assert!(rest(stream).starts_with("HTTP/1.1 200"));
    let seen = provider.seen().remove(0);
    for (name, _) in told {
        assert_eq!(seen.header(name), None, "{name}");
    }
    assert_eq!((seen.header("content-type"), seen.header("x-harmless")), (Some("application/json"), Some("yes")));
}

#[test]
fn a_provider_that_repeats_the_key_in_another_form_is_not_passed_on_with_it() {
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02X}")).collect();
    let escaped: String = KEY.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let forms = [hex, "c2stcmVhbC0wMTIzNDU2Nzg5YWJjZGVm".to_owned(), escaped];
    for form in forms {
        let echoed = form.clone();
        let (url, serving) = server(move |mut stream, _| {
            stream.write_all(whole(400, &format!("x-echo: {echoed}\r\n"), &format!("[{echoed}]")).as_bytes()).unwrap();
        });
        let mut site = Site::new(&url);
        let answer = site.ask("/v1/chat/completions", ASK);
        serving.join().unwrap();
        assert!(answer.contains("[[key]]") && !answer.contains(&form) && !answer.contains("x-echo"), "{answer}");
        site.close();
        assert!(!format!("{:?}", site.books.kept.lock().unwrap()[0]).contains(&form));
    }
}

#[test]
fn a_provider_without_its_key_is_not_asked_and_only_the_person_is_told_why() {
    let provider = Provider::start(Script::new("/", [Idea::Say("hm".into())]));
    let why = || Some("there is no key for `here`: `pass show here` gave no key: exit code 7".to_owned());
    let url = provider.url();
    let change = |upstream| Upstream { url: url.clone(), key: None, no_key: why(), ..upstream };
    let mut site = Site::of(&[], patience(), change);
    assert_eq!(site.missed(), None);
    let answer = site.ask("/v1/messages", ASK);
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("there is no key for `here`"), "{answer}");
    assert!(!answer.contains("pass show"), "{answer}");
    assert_eq!(site.missed(), why());
    assert_eq!((provider.seen().len(), site.close().len()), (0, 0));
}

#[test]
fn whoever_holds_a_key_leaves_no_core_file_and_is_looked_into_by_nobody() {
    use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};
    let _site = Site::new("http://127.0.0.1:9");
    assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    assert_eq!(getrlimit(Resource::Core).current, Some(0));
}

#[test]
fn calls_that_come_to_nothing_are_written_down_up_to_a_number_and_refused_beyond_it() {
    const MOST: usize = 10_000;
    let site = Site::new("http://127.0.0.1:9");
    let refusal = overnight_engine::gateway::Refusal { what: "a dollar is spent".into(), limit: "limits".into() };
    *site.books.refusal.lock().unwrap() = Some(refusal);
    let key = &site.pass.key;
    let head = format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n");
    let one = format!("{head}content-length: {}\r\n\r\n{ASK}", ASK.len());
    let last = format!("{head}content-length: {}\r\nconnection: close\r\n\r\n{ASK}", ASK.len());
    let stream = site.connect();
    let mut writer = stream.try_clone().unwrap();
    let writing = std::thread::spawn(move || {
        writer.write_all(one.repeat(MOST).as_bytes()).unwrap();
        writer.write_all(last.as_bytes()).unwrap();
    });
    let answers = rest(stream);
    writing.join().unwrap();
    assert_eq!(answers.matches("a dollar is spent").count(), MOST);
    assert!(
        answers.ends_with("no more are passed on\",\"type\":\"invalid_request_error\"},\"type\":\"error\"}"),
        "{}",
        &answers[answers.len() - 200..]
    );
}
