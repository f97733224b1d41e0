//! A network that lets nobody out but through its own proxy.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;

use overnight_model::call::CallEnd;
use overnight_testkit::provider::{Idea, Provider, Script};

use super::ASK;
use super::common::*;

/// How a client greets that wants to speak TLS.
const HELLO: [u8; 2] = [0x16, 0x03];

/// A proxy that tells what was said to it: the head of each request, and what comes first through the tunnel, which is closed
/// then.
fn proxy() -> (String, mpsc::Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let head = read_until(&mut stream, "\r\n\r\n");
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            if tell.send((head, first(&mut stream))).is_err() {
                return;
            }
        }
    });
    (address, told)
}

/// What comes first, as long as one piece of it is.
fn first(stream: &mut TcpStream) -> Vec<u8> {
    let mut piece = vec![0; 4096];
    let length = stream.read(&mut piece).unwrap();
    piece.truncate(length);
    piece
}

#[test]
fn a_provider_is_asked_through_the_proxy_which_sees_its_name_and_no_key() {
    let (proxy, told) = proxy();
    let address = format!("http://someone:a-password@{proxy}");
    let environment = [("HTTPS_PROXY", address.as_str()), ("NO_PROXY", "127.0.0.1,other.invalid")];
    let mut site = Site::with_environment("https://provider.invalid", patience(), &environment);
    let answer = site.ask("/v1/messages", ASK);
    let (head, through) = told.try_recv().expect("the proxy was told something before it closed the tunnel");
    assert!(head.starts_with("CONNECT provider.invalid:443 HTTP/1.1\r\n"), "{head}");
    assert!(head.to_lowercase().contains("proxy-authorization: basic "), "{head}");
    // From here on it is between us and the provider.
    assert_eq!(through[..2], HELLO);
    for bytes in [head.as_bytes(), &through] {
        let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        assert!(!has(KEY.as_bytes()) && !has(b"x-api-key") && !has(b"hello"), "{head}");
    }
    assert!(answer.starts_with("HTTP/1.1 502"), "the tunnel was closed: {answer}");
    assert!(!answer.contains("a-password"), "{answer}");
    assert_eq!(site.end(), CallEnd::Unreached);
}

#[test]
fn who_is_excepted_and_who_is_on_this_machine_are_asked_directly() {
    let (proxy, told) = proxy();
    let address = format!("http://{proxy}");
    // Without encryption there is this machine alone: a proxy would read the key.
    let provider = Provider::start(Script::new("/", [Idea::Say("hm".into())]));
    let site = Site::with_environment(&provider.url(), patience(), &[("HTTPS_PROXY", &address)]);
    assert!(site.ask("/v1/messages", ASK).starts_with("HTTP/1.1 200"));
    assert_eq!(provider.seen()[0].header("x-api-key"), Some(KEY));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let environment = [("https_proxy", address.as_str()), ("no_proxy", "127.0.0.1")];
    let site = Site::with_environment(&url, patience(), &environment);
    let asking = site.send("/v1/messages", ASK);
    assert_eq!(first(&mut listener.accept().unwrap().0)[..2], HELLO);
    drop((asking, listener));
    assert_eq!(told.try_recv(), Err(mpsc::TryRecvError::Empty));
}
