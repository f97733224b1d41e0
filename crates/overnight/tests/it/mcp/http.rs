//! The same over streamable HTTP, where strangers may knock.

use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::process::Signal;

use crate::support::{Engine, Repo, until};

const TOKEN: &str = "a-token-that-opens-nothing-else";

/// A server and its address.
fn serve(repo: &Repo, more: &[&str]) -> (Engine, String) {
    let engine = repo.start(&[&["mcp", "--http", "127.0.0.1:0"], more].concat());
    engine.said("serving    http://");
    let said = engine.so_far();
    let address = said.split("serving    http://").nth(1).unwrap().split("/mcp").next().unwrap().to_owned();
    (engine, address)
}

/// What the server answers to these headers: the number of its status.
fn knock(address: &str, path: &str, headers: &str, body: &str) -> u32 {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, \
         text/event-stream\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    // One that says no before it has heard everything closes the connection.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[9..]).parse().unwrap()
}

#[test]
fn the_protocols_own_client_does_the_same_over_streamable_http() {
    let (first, second) = (Repo::new(), Repo::new());
    let token = first.outside("token");
    std::fs::write(&token, format!("{TOKEN}\n")).unwrap();
    let token = token.to_str().unwrap();
    let servers = [&first, &second].map(|repo| serve(repo, &["--token-file", token]));
    let url = |index: usize| format!("http://{}/mcp", servers[index].1);
    super::client(&["http", &url(0), &url(1), TOKEN]);
    for (engine, _) in servers {
        engine.signal(Signal::TERM);
        engine.wait().ended(0);
    }
    [first, second].iter().for_each(Repo::assert_sound);
}

#[test]
fn pages_of_elsewhere_and_clients_without_the_token_are_turned_away() {
    let repo = Repo::new();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",
        "capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let (engine, address) = serve(&repo, &[]);
    let host = format!("Host: {address}\r\n");
    assert_eq!(knock(&address, "/mcp", &host, hello), 200);
    assert_eq!(knock(&address, "/mcp", "Host: rebound.example\r\n", hello), 403, "another name for this machine");
    assert_eq!(knock(&address, "/mcp", &format!("{host}Origin: https://page.example\r\n"), hello), 403);
    assert_eq!(
        knock(&address, "/mcp", &format!("{host}Origin: http://{address}\r\n"), hello),
        403,
        "no page is answered"
    );
    assert_eq!(knock(&address, "/elsewhere", &host, hello), 404);
    assert_eq!(knock(&address, "/mcp", &host, &"x".repeat(9 * 1024 * 1024)), 413);
    drop(engine);
    let token = repo.outside("token");
    std::fs::write(&token, TOKEN).unwrap();
    let (_engine, address) = serve(&repo, &["--token-file", token.to_str().unwrap()]);
    let knock = |header: &str| knock(&address, "/mcp", &format!("Host: {address}\r\n{header}"), hello);
    assert_eq!(knock(&format!("Authorization: Bearer {TOKEN}\r\n")), 200);
    for header in ["", "Authorization: Bearer \r\n", "Authorization: Bearer a-token-that-opens-nothing-elsE\r\n"] {
        assert_eq!(knock(header), 401, "{header}");
    }
}

#[test]
fn an_address_that_others_can_reach_needs_a_token() {
    let repo = Repo::new();
    repo.overnight(&["mcp", "--http", "0.0.0.0:0"]).ended(3).says("can be reached from other machines");
    let token = repo.outside("token");
    std::fs::write(&token, "short").unwrap();
    let token = token.to_str().unwrap();
    repo.overnight(&["mcp", "--http", "0.0.0.0:0", "--token-file", token]).ended(2).says("at least 16 plain signs");
    repo.overnight(&["mcp", "--token-file", token]).ended(2);
    until("nothing to be left", || !repo.state().join("ledger.db").exists());
}

#[test]
fn connections_beyond_the_limit_are_told_so_and_find_room_again() {
    let repo = Repo::new();
    let (_engine, address) = serve(&repo, &[]);
    let host = format!("Host: {address}\r\n");
    let silent: Vec<TcpStream> = (0..64).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.write_all(format!("GET /mcp HTTP/1.1\r\n{host}\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{answer}");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, "64 connections are open already: close one of them and try again");
    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
    drop(silent);
    until("room", || knock(&address, "/elsewhere", &host, "") == 404);
}

/// Both call themselves the same, as two windows of one program do.
#[test]
fn clients_of_one_name_are_told_apart_by_their_sessions() {
    let repo = Repo::new();
    repo.run(0);
    let (engine, address) = serve(&repo, &[]);
    let (one, other) = (Session::open(&address), Session::open(&address));
    assert_ne!(one.id, other.id);
    // Both are shown the baseline, and one of them finds something better.
    one.call("brief", "{}");
    other.call("brief", "{}");
    let better = r#"{"hypothesis":"less","files":{"knobs.py":"x = 4\n"},"wait":true}"#;
    assert!(one.call("propose", better).contains("kept"));
    // What the other proposes was made from what it saw, and is a change of that alone.
    other.call("propose", r#"{"hypothesis":"more","edits":[{"search":"x = 5","replace":"x = 8"}],"wait":true}"#);
    assert_eq!(repo.experiment(2)["description"], "more");
    // The first goes on from its own.
    one.call("propose", r#"{"hypothesis":"on","edits":[{"search":"x = 4","replace":"x = 3"}],"wait":true}"#);
    assert_eq!(repo.experiment(3)["verdict"], "kept");
    drop(engine);
}

/// A client with a session, as plain as it can be.
struct Session<'a> {
    address: &'a str,
    id: String,
}

impl Session<'_> {
    fn open(address: &str) -> Session<'_> {
        let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"twin","version":"1"}}}"#;
        let answer = exchange(address, "", hello);
        let id =
            answer.lines().find_map(|line| line.to_lowercase().strip_prefix("mcp-session-id: ").map(str::to_owned));
        let session = Session { address, id: id.unwrap_or_else(|| panic!("{answer}")) };
        exchange(address, &session.header(), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        session
    }

    fn header(&self) -> String {
        format!("Mcp-Session-Id: {}\r\nMCP-Protocol-Version: 2025-06-18\r\n", self.id)
    }

    fn call(&self, tool: &str, arguments: &str) -> String {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        );
        let answer = exchange(self.address, &self.header(), &body);
        assert!(!answer.contains(r#""isError":true"#), "{tool} {arguments}: {answer}");
        answer
    }
}

/// One request on a connection of its own, to the end of the answer.
fn exchange(address: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: \
         application/json, text/event-stream\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
