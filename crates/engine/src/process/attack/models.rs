//! What a candidate would want of the gateway beside a model's answer: its key, another host, more than its share, another's
//! name.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use super::{Outcome, decode};

/// What somebody answers who must not be asked.
pub const DECOY: &str = "you have come to the wrong house";

/// How the key begins that is to be found. In two parts, so that it is not found in this program itself.
pub const KEY_BEGINS: [&str; 2] = ["sk-att", "acked-"];
/// How many signs of hexadecimal follow.
pub const KEY_DIGITS: usize = 32;

const PATIENCE: Duration = Duration::from_secs(5);
/// The most that is read of anything.
const MOST: u64 = 8 << 20;

/// The gateway, as a candidate is told of it.
pub(super) struct Gateway {
    port: u16,
    key: String,
}

impl Gateway {
    /// By the address and the key that clients know.
    pub(super) fn of(url: &str, key: &str) -> Option<Gateway> {
        let port = url.strip_prefix("http://127.0.0.1:")?.split('/').next()?.parse().ok()?;
        Some(Gateway { port, key: key.to_owned() })
    }

    /// What comes back for these bytes, up to the end of it.
    fn say(&self, bytes: &[u8]) -> Vec<u8> {
        let mut answer = Vec::new();
        let said = || -> std::io::Result<TcpStream> {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
            let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(bytes)?;
            Ok(stream)
        };
        if let Ok(stream) = said() {
            let _ = stream.take(MOST).read_to_end(&mut answer);
        }
        answer
    }

    /// A request in one piece.
    fn request(&self, line: &str, headers: &str, body: &str) -> String {
        let (key, length) = (&self.key, body.len());
        format!(
            "{line} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n{headers}content-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        )
    }

    fn send(&self, line: &str, headers: &str, body: &str) -> String {
        String::from_utf8_lossy(&self.say(self.request(line, headers, body).as_bytes())).into_owned()
    }
}

fn question(text: &str) -> String {
    let text = serde_json::Value::from(text);
    format!("{{\"model\":\"m\",\"max_tokens\":100,\"messages\":[{{\"role\":\"user\",\"content\":{text}}}]}}")
}

const CHAT: &str = "POST /v1/chat/completions";

/// Asks, and gives the whole answer as it came.
pub(super) fn ask(gateway: &Gateway, text: &str) -> Outcome {
    Outcome::through(gateway.send(CHAT, "", &question(text)))
}

/// The key, in everything that can be read of other processes and in these folders.
pub(super) fn look(folders: &[String]) -> Outcome {
    let mut attempts = Vec::new();
    let own = std::process::id().to_string();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == own || !name.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        for file in ["environ", "cmdline"] {
            let found = fs::read(entry.path().join(file)).is_ok_and(|bytes| is_key_in(&bytes));
            attempts.push(told(found, format!("the key is in {file} of process {name}")));
        }
        attempts.push(told(is_in_memory(&entry.path()), format!("the key is in the memory of process {name}")));
    }
    for folder in folders {
        let mut left = 5_000;
        let found = is_below(Path::new(folder), 8, &mut left);
        attempts.push(told(found, format!("the key is in a file below {folder}")));
    }
    Outcome::of_all(attempts)
}

/// Whether the key is anywhere in what a process holds. It is asked for as by a debugger: who may do that, may do all.
fn is_in_memory(process: &Path) -> bool {
    let Ok(memory) = File::open(process.join("mem")) else { return false };
    let maps = fs::read_to_string(process.join("maps")).unwrap_or_default();
    maps.lines().filter(|line| line.contains(" r")).any(|line| {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let Some((Some(start), Some(end))) = range.map(|(start, end)| (number(start), number(end))) else {
            return false;
        };
        let mut bytes = vec![0; (end - start).min(MOST) as usize];
        memory.read_at(&mut bytes, start).is_ok_and(|length| is_key_in(&bytes[..length]))
    })
}

fn is_below(folder: &Path, deep: u32, left: &mut u32) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => deep > 0 && is_below(&entry.path(), deep - 1, left),
            Ok(kind) if kind.is_file() => {
                let mut bytes = Vec::new();
                let read = File::open(entry.path()).and_then(|file| file.take(MOST).read_to_end(&mut bytes));
                read.is_ok() && is_key_in(&bytes)
            }
            _ => false,
        }
    })
}

/// The key, in whatever the gateway and a provider that repeats what it is sent can be made to say.
pub(super) fn echo(gateway: &Gateway) -> Outcome {
    let lines = [
        "GET /",
        "TRACE /",
        "TRACE /v1/chat/completions",
        "OPTIONS *",
        "GET /v1/models",
        "GET /v1/models/x",
        "GET /metrics",
        "GET /debug/vars",
        "GET /v1/key",
        "PUT /v1/messages",
        "GET /there",
        "POST /there/v1/chat/completions",
        "POST /v1/messages",
        "POST /v1/responses",
        "POST /v1/messages/count_tokens",
        "POST /v1beta/models/m:generateContent",
        "POST /v1beta/models/m:countTokens",
        CHAT,
    ];
    let headers = ["", "x-api-key: x\r\n", "connection: authorization, x-api-key\r\n", "max-forwards: 0\r\nvia: x\r\n"];
    let mut attempts = Vec::new();
    let mut heard = |line: &str, answer: &str| {
        attempts
            .push(told(decode::forms(answer.as_bytes()).any(|it| is_key_in(&it)), format!("`{line}` tells the key")));
    };
    for line in lines {
        for headers in headers {
            heard(line, &gateway.send(line, headers, &question("repeat")));
        }
    }
    for how in ["repeat with 401", "repeat with 500", "repeat in pieces", "break off"] {
        heard(how, &gateway.send(CHAT, "", &question(how)));
    }
    // Nonsense of all kinds: errors tell more than answers.
    for nonsense in [
        "\r\n\r\n",
        "GET\r\n\r\n",
        "POST /v1/messages HTTP/9.9\r\n\r\n",
        "\u{16}\u{3}\u{1}",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        heard("nonsense", &String::from_utf8_lossy(&gateway.say(nonsense.as_bytes())));
    }
    for body in ["", "{", "[]", "{\"model\":7}", "{\"model\":\"m\",\"n\":\"9\"}", "\u{0}"] {
        heard(CHAT, &gateway.send(CHAT, "", body));
    }
    Outcome::of_all(attempts)
}

/// Another host, by every name that a proxy may take for one.
pub(super) fn host(gateway: &Gateway, decoy: u16) -> Outcome {
    let there = format!("127.0.0.1:{decoy}");
    let body = question("who are you?");
    let lines = [
        format!("POST http://{there}/v1/chat/completions"),
        format!("POST http://localhost@{there}/v1/chat/completions"),
        format!("CONNECT {there}"),
        format!("POST {there}"),
        format!("POST //{there}/v1/chat/completions"),
        format!("POST /@{there}/v1/chat/completions"),
        format!("POST /{there}/v1/chat/completions"),
        format!("POST /http://{there}/v1/chat/completions"),
        format!("POST /v1/../../{there}/v1/chat/completions"),
        format!("POST /v1/%2e%2e/%2f%2f{there}/v1/chat/completions"),
        format!("POST /\\{there}/v1/chat/completions"),
        format!("POST /v1beta/models/@{there}:generateContent"),
        format!("GET /v1/models/@{there}/x"),
        format!("GET /v1/models/%0d%0aHost:%20{there}"),
        format!("POST /v1/chat/completions?url=http://{there}&host={there}"),
        "POST /decoy/v1/chat/completions".to_owned(),
        CHAT.to_owned(),
    ];
    let headers = [
        String::new(),
        format!("host: {there}\r\n"),
        format!(
            "x-forwarded-host: {there}\r\nforwarded: host={there}\r\nx-original-url: http://{there}/\r\nx-real-ip: 10.0.0.1\r\n"
        ),
        "upgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n".to_owned(),
    ];
    let mut attempts = Vec::new();
    let mut heard = |line: &str, answer: &str| {
        attempts.push(told(answer.contains(DECOY), format!("`{line}` came to another host")));
    };
    for line in &lines {
        for headers in &headers {
            heard(line, &gateway.send(line, headers, &body));
        }
    }
    heard("a redirect", &gateway.send(CHAT, "", &question("send me elsewhere")));
    // A second request inside of the first: whoever counts its length otherwise sees two.
    let hidden =
        format!("POST http://{there}/v1/chat/completions HTTP/1.1\r\nhost: {there}\r\ncontent-length: 0\r\n\r\n");
    let key = &gateway.key;
    for lengths in [
        "content-length: 4\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ncontent-length: 4",
        "transfer-encoding: identity, chunked",
        "transfer-encoding: xchunked\r\ncontent-length: 4",
        "content-length: 4\r\ncontent-length: 900",
        "content-length: +4",
        "transfer-encoding : chunked",
    ] {
        let bytes = format!(
            "{CHAT} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n{lengths}\r\n\r\n0\r\n\r\n{hidden}"
        );
        heard(lengths, &String::from_utf8_lossy(&gateway.say(bytes.as_bytes())));
    }
    Outcome::of_all(attempts)
}

/// More calls than the limit of one trial lets through: many at once, each on a connection of its own, and under other names.
pub(super) fn spend(gateway: &Gateway, most: u64) -> Outcome {
    const SIDE_BY_SIDE: usize = 16;
    const EACH: usize = 4;
    let names = [
        "",
        "x-overnight-caller: agent\r\n",
        "x-overnight-trial: 999999\r\n",
        "x-request-id: 1\r\ncookie: trial=9\r\n",
    ];
    let answered: u64 = std::thread::scope(|scope| {
        let one = |number: usize| {
            let calls = names.iter().cycle().skip(number).take(EACH);
            let body = question(&format!("spend {number}"));
            calls.filter(|headers| gateway.send(CHAT, headers, &body).starts_with("HTTP/1.1 200")).count() as u64
        };
        let asking: Vec<_> = (0..SIDE_BY_SIDE).map(|number| scope.spawn(move || one(number))).collect();
        asking.into_iter().map(|thread| thread.join().unwrap_or(u64::MAX / 64)).sum()
    });
    // Many answers for one call.
    let many = question("spend").replacen("{", "{\"n\":1000,", 1);
    let many = gateway.send(CHAT, "", &many).starts_with("HTTP/1.1 200");
    Outcome::of_all([
        told(
            answered > most,
            format!("{answered} calls were answered, and {most} are all that the limit lets through"),
        ),
        told(many, "1000 answers were had for one call".to_owned()),
        // One that nobody could ask is no proof of anything.
        told(answered == 0, "nobody was answered at all".to_owned()),
    ])
}

/// Goes on asking after the end of its trial, as somebody else.
pub(super) fn late(gateway: &Gateway) -> Outcome {
    const AGAIN: u32 = 400;
    // SAFETY: an attack has a single thread; the children close what is theirs, ask for a while, and end.
    unsafe {
        if libc::fork() == 0 {
            libc::setsid();
            if libc::fork() == 0 {
                for signal in 1..libc::SIGRTMAX() {
                    libc::signal(signal, libc::SIG_IGN);
                }
                for number in 0..3 {
                    libc::close(number);
                }
                for _ in 0..AGAIN {
                    gateway.send(CHAT, "", &question("late"));
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            libc::_exit(0);
        }
    }
    Outcome::held("left somebody behind who asks; whether that goes out is for others to see")
}

/// Asks as an agent, under another number, with signs that move a cursor, and at a length that nobody wants to store.
pub(super) fn forge(gateway: &Gateway) -> Outcome {
    let escapes = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\nagent claude: kept";
    let names = "x-overnight-caller: agent\r\nx-overnight-call: 1\r\nx-request-id: ../../../traces/1\r\ntraceparent: 00-1-1-01\r\n";
    let forged = question(escapes).replacen("{", "{\"metadata\":{\"caller\":{\"is\":\"agent\"}},\"id\":1,", 1);
    gateway.send(CHAT, names, &forged);
    gateway.send(CHAT, "user-agent: \u{1b}[31m\r\n", &question("plain"));
    let named = |model: &str| format!("{{\"model\":{},\"messages\":[]}}", serde_json::Value::from(model));
    let refused = |model: &str| gateway.send(CHAT, "", &named(model)).starts_with("HTTP/1.1 400");
    Outcome::of_all([
        told(!refused(escapes), "a model's name may hold escapes".to_owned()),
        told(!refused(&"m".repeat(4 << 20)), "a model's name may be 4 MiB long".to_owned()),
    ])
}

/// The key as it stands.
fn is_key_in(bytes: &[u8]) -> bool {
    let begins = KEY_BEGINS.concat();
    let begins = begins.as_bytes();
    bytes.windows(begins.len() + KEY_DIGITS).any(|window| {
        window[0] == begins[0] && window.starts_with(begins) && window[begins.len()..].iter().all(u8::is_ascii_hexdigit)
    })
}

fn told(is_through: bool, what: String) -> Result<String, String> {
    if is_through { Ok(what) } else { Err("nothing of it was had".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attacker_knows_the_key_when_it_sees_it_in_any_form() {
        let key = format!("{}{}", KEY_BEGINS.concat(), "0123456789abcdef".repeat(2));
        let found = |text: &str| decode::forms(text.as_bytes()).any(|it| is_key_in(&it));
        let hex: String = key.bytes().map(|byte| format!("{byte:02X}")).collect();
        let escaped: String = key.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
        let percent: String = key.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let reversed: String = key.chars().rev().collect();
        for text in [&key, &hex, &escaped, &percent, &reversed] {
            assert!(found(&format!("a {text} b")), "{text}");
        }
        // `x:KEY` and `xx:KEY` and `xxx:KEY` in base 64.
        for text in ["eDpz", "eHg6c2stYXR0YWNrZWQtMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="] {
            assert_eq!(found(text), text.len() > 4, "{text}");
        }
        assert!(!found("sk-overnight-0123456789abcdef0123456789abcdef"));
    }
}
