//! A client that writes what it likes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::{Repo, until};

pub(super) struct Raw {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
}

impl Raw {
    /// Starts the server and says who it is.
    pub(super) fn start(repo: &Repo) -> Raw {
        let mut child =
            repo.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut raw = Raw { child, stdin, stdout, next: 0 };
        let me = json!({ "name": "raw-client", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": me });
        let info = raw.request("initialize", hello);
        assert_eq!(info["result"]["serverInfo"]["name"], "overnight", "{info}");
        raw.notify("notifications/initialized", json!({}));
        raw
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn line(&mut self, text: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{text}").unwrap();
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) {
        self.line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Asks and does not wait.
    pub(super) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        id
    }

    /// Asks and waits for the answer. Whatever comes has to be protocol.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server ended");
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_eq!(message["jsonrpc"], "2.0", "{message}");
            if message["id"] == id {
                return message;
            }
        }
    }

    #[track_caller]
    pub(super) fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": name, "arguments": arguments }));
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        answer["result"].clone()
    }

    /// What a tool says that does not do it.
    #[track_caller]
    pub(super) fn refused(&mut self, name: &str, arguments: Value) -> String {
        let answer = self.request("tools/call", json!({ "name": name, "arguments": arguments }));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes standard input, which ends the server.
    pub(super) fn close(mut self) {
        self.stdin = None;
        until("the server to end", || self.child.try_wait().unwrap().is_some());
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
