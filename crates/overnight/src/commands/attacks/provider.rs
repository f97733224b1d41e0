//! A provider of models to be attacked through the gateway: it repeats what it is sent, in every form, sends others
//! elsewhere, and remembers who came. Elsewhere is a house where nobody must arrive.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use overnight_engine::process::attack::DECOY;

/// What every call takes, in tokens.
pub(super) const TOKENS: u64 = READ + WRITTEN;
const READ: u64 = 100;
const WRITTEN: u64 = 10;

/// No request of an attack is longer.
const MOST: u64 = 16 << 20;
const PATIENCE: Duration = Duration::from_secs(30);

/// Listens until it is dropped.
pub(super) struct Provider {
    pub(super) port: u16,
    pub(super) decoy: u16,
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    seen: Mutex<Vec<Seen>>,
    strays: AtomicU64,
    over: AtomicBool,
}

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) line: String,
    pub(super) headers: Vec<(String, String)>,
    body: String,
}

impl Provider {
    pub(super) fn start() -> io::Result<Provider> {
        let inner: Arc<Inner> = Arc::default();
        let (here, there) =
            (TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?, TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?);
        let (port, decoy) = (here.local_addr()?.port(), there.local_addr()?.port());
        for (listener, is_decoy) in [(here, false), (there, true)] {
            let inner = inner.clone();
            std::thread::spawn(move || inner.listen(&listener, is_decoy, decoy));
        }
        Ok(Provider { port, decoy, inner })
    }

    /// Every request so far.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.inner.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many came to the wrong house.
    pub(super) fn strays(&self) -> u64 {
        self.inner.strays.load(Ordering::SeqCst)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.inner.over.store(true, Ordering::SeqCst);
        // Both sit in `accept`, and look up once more.
        for port in [self.port, self.decoy] {
            let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        }
    }
}

impl Seen {
    /// Whether a model was asked, which has to be counted.
    pub(super) fn is_call(&self) -> bool {
        let path = self.line.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default();
        self.line.starts_with("POST ") && !path.ends_with("count_tokens") && !path.ends_with(":countTokens")
    }

    /// The key that it came with.
    pub(super) fn key(&self) -> Option<&str> {
        let value = |name: &str| self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let bearer = value("authorization").map(|value| value.strip_prefix("Bearer ").unwrap_or(value));
        value("x-api-key").or(value("x-goog-api-key")).or(bearer)
    }

    fn read(stream: &TcpStream) -> io::Result<Seen> {
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut reader = BufReader::new(stream.take(MOST));
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let (mut headers, mut next) = (Vec::new(), String::new());
        while reader.read_line(&mut next)? > 2 {
            let (name, value) = next.split_once(':').unwrap_or_default();
            headers.push((name.trim().to_lowercase(), value.trim().to_owned()));
            next.clear();
        }
        let length =
            headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        Ok(Seen { line: line.trim().to_owned(), headers, body: String::from_utf8_lossy(&body).into_owned() })
    }
}

impl Inner {
    fn listen(self: Arc<Self>, listener: &TcpListener, is_decoy: bool, decoy: u16) {
        for stream in listener.incoming().flatten() {
            if self.over.load(Ordering::SeqCst) {
                return;
            }
            let inner = self.clone();
            if is_decoy {
                inner.strays.fetch_add(1, Ordering::SeqCst);
            }
            // Whoever goes away in the middle of it is no trouble of ours.
            std::thread::spawn(move || match is_decoy {
                true => drop((&stream).write_all(&whole(200, "", DECOY))),
                false => drop(inner.serve(&stream, decoy)),
            });
        }
    }

    fn serve(&self, stream: &TcpStream, decoy: u16) -> io::Result<()> {
        let mut stream = stream;
        let seen = Seen::read(stream)?;
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(seen.clone());
        let is = |words: &str| seen.body.contains(words);
        let echo = echo(&seen);
        let header = format!("x-echo: {}\r\nx-echo-again: {}\r\n", seen.key().unwrap_or_default(), hex(seen.key()));
        if is("send me elsewhere") {
            return stream.write_all(&whole(307, &format!("location: http://127.0.0.1:{decoy}/v1/x\r\n"), &echo));
        }
        if is("repeat with 401") || is("repeat with 500") {
            return stream.write_all(&whole(
                if is("401") { 401 } else { 500 },
                &header,
                &format!("{{\"error\":{echo}}}"),
            ));
        }
        if is("break off") {
            stream.write_all(&whole(200, &header, &echo)[..400])?;
            return stream.shutdown(Shutdown::Both);
        }
        if is("repeat in pieces") {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
            let events = format!("data: {{\"said\":{echo}}}\n\ndata: [DONE]\n\n");
            // A piece ends in the middle of every key that is longer than this.
            for piece in events.as_bytes().chunks(7) {
                stream.write_all(piece)?;
            }
            return Ok(());
        }
        stream.write_all(&whole(200, &header, &answer(&seen, &echo)))
    }
}

/// As a model answers, in a way that clients of all protocols find what they look for.
fn answer(seen: &Seen, echo: &str) -> String {
    let usage = match seen.line.contains("/chat/completions") {
        true => format!("{{\"prompt_tokens\":{READ},\"completion_tokens\":{WRITTEN}}}"),
        false => format!("{{\"input_tokens\":{READ},\"output_tokens\":{WRITTEN}}}"),
    };
    format!(
        "{{\"model\":\"m\",\"usage\":{usage},\"usageMetadata\":{{\"promptTokenCount\":{READ},\"candidatesTokenCount\":{WRITTEN}}},\
         \"choices\":[{{\"message\":{{\"role\":\"assistant\",\"content\":{echo}}},\"finish_reason\":\"stop\"}}]}}"
    )
}

/// Everything that came in the head, and the key in every form that servers write: a text of JSON.
fn echo(seen: &Seen) -> String {
    let key = seen.key().unwrap_or_default();
    let percent: String = key.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let escaped: String = key.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let base64: Vec<String> =
        ["", "x", "xx"].iter().map(|before| base64(format!("{before}{key}").as_bytes())).collect();
    let told = format!(
        "{:?} {} {} {percent} {}",
        seen.headers,
        hex(Some(key)),
        hex(Some(key)).to_uppercase(),
        base64.join(" ")
    );
    let told = serde_json::Value::from(told).to_string();
    // The escapes stand as they are: a reader of JSON would undo them.
    format!("{} {escaped}\"", &told[..told.len() - 1])
}

fn hex(key: Option<&str>) -> String {
    key.unwrap_or_default().bytes().fold(String::new(), |mut made, byte| {
        let _ = write!(made, "{byte:02x}");
        made
    })
}

/// Without what the end is filled up with.
pub(super) fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |group: &[u8]| -> Vec<char> {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        (0..=group.len()).map(|at| SIGNS[(bits >> (18 - 6 * at) & 63) as usize] as char).collect()
    };
    bytes.chunks(3).flat_map(group).collect()
}

fn whole(status: u16, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    )
    .into_bytes()
}
