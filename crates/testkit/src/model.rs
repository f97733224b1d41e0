//! A real model, SmolLM2 with 135 million parameters, behind llama.cpp's own server. Its skill is not the point; that nothing
//! on the way is pretended is. `tests/models/install` installs both.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The server, gone with the value: it ends when nobody holds its standard input any more.
pub struct Server {
    child: Child,
    address: String,
}

/// What the server itself says that it has read and written, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Read anew.
    pub input: u64,
    /// Known from before.
    pub cached: u64,
    pub output: u64,
}

impl Server {
    /// Panics where it is not installed, or does not start.
    pub fn start() -> Server {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let installed = root.join("target/models/installed");
        assert!(installed.exists(), "there is no model for the tests: tests/models/install");
        let mut child = Command::new("python3")
            .arg(root.join("tests/models/serve"))
            .env("HOME", root.join("target/models"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3 starts");
        let mut address = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut address).expect("it can be read");
        let address =
            address.trim().strip_prefix("http://").unwrap_or_else(|| panic!("no server: {address:?}")).to_owned();
        Server { child, address }
    }

    /// `http://127.0.0.1:40851`
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Since it was started.
    pub fn counted(&self) -> Counted {
        let text = self.metrics();
        let count = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("llamacpp:{name} ")));
            // Whole numbers, written as the shortest of their kind.
            line.and_then(|count| count.trim().parse::<f64>().ok()).unwrap_or_else(|| panic!("{text}")) as u64
        };
        Counted {
            input: count("prompt_tokens_total"),
            cached: count("prompt_tokens_cached_total"),
            output: count("tokens_predicted_total"),
        }
    }

    fn metrics(&self) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        write!(stream, "GET /metrics HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address)
            .expect("it is there");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl std::ops::Sub for Counted {
    type Output = Counted;

    fn sub(self, before: Counted) -> Counted {
        Counted {
            input: self.input - before.input,
            cached: self.cached - before.cached,
            output: self.output - before.output,
        }
    }
}
