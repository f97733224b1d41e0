//! A provider that streams, a client that measures, and between them nothing, a copier of bytes, or the gateway.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a benchmark measures time and prints it")]

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use overnight_engine::gateway::{Gateway, Guest, Key, Plain, Upstream};
use overnight_model::ExperimentId;
use overnight_model::call::{Caller, Protocol};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// Calls one after another, for the first byte; each way in turns, so that a busy machine is busy for all alike.
const CALLS: usize = 300;
const STREAMS: usize = 200;
/// A stream is as long as an answer of some 400 tokens.
const PIECES: usize = 400;
const PAUSE: Duration = Duration::from_millis(5);

fn main() {
    // The provider and the clients have threads of their own, as they have processes of their own elsewhere.
    let outside = runtime();
    let (steady, streaming) = (provider(&outside, 1, Duration::ZERO), provider(&outside, PIECES, PAUSE));
    let beside = runtime();
    println!("first byte, {CALLS} calls one after another, in ms: median and 95 %");
    let held = door(steady);
    let doors = [
        ("direct", steady, "x".to_owned()),
        ("byte copier", copier(&beside, steady), "x".to_owned()),
        ("gateway", held.0, held.1.clone()),
    ];
    let mut times = vec![Vec::new(); doors.len()];
    for _ in 0..CALLS {
        for (at, (_, port, key)) in doors.iter().enumerate() {
            times[at].push(outside.block_on(call(*port, key.clone())).0);
        }
    }
    let mut medians = Vec::new();
    for ((name, ..), times) in doors.iter().zip(&mut times) {
        times.sort();
        let at = |share: f64| times[(times.len() as f64 * share) as usize].as_secs_f64() * 1000.0;
        medians.push(at(0.5));
        println!("  {name:<12} {:6.2} {:6.2}", at(0.5), at(0.95));
    }
    println!("  the gateway adds {:.2} ms, the copier {:.2} ms", medians[2] - medians[0], medians[1] - medians[0]);

    println!("{STREAMS} streams at once, {PIECES} pieces each, one every {} ms", PAUSE.as_millis());
    println!("  {:<12} {:>8} {:>10} {:>10} {:>12}", "", "wall s", "MB/s", "cpu s", "memory MiB");
    let mut walls = Vec::new();
    for name in ["direct", "byte copier", "gateway"] {
        let held;
        let (port, key) = match name {
            "direct" => (streaming, "x".to_owned()),
            "byte copier" => (copier(&beside, streaming), "x".to_owned()),
            _ => {
                held = door(streaming);
                (held.0, held.1.clone())
            }
        };
        let (before, cpu) = (memory(), cpu());
        let watch = Instant::now();
        let (bytes, peak) = outside.block_on(async {
            let calls: Vec<_> = (0..STREAMS).map(|_| tokio::spawn(call(port, key.clone()))).collect();
            tokio::time::sleep(PAUSE * (PIECES / 2) as u32).await;
            let peak = memory();
            let mut bytes = 0;
            for call in calls {
                bytes += call.await.expect("a call ends").1;
            }
            (bytes, peak)
        });
        let wall = watch.elapsed().as_secs_f64();
        walls.push(wall);
        let rate = bytes as f64 / wall / 1e6;
        let used = self::cpu() - cpu;
        println!(
            "  {name:<12} {wall:8.2} {rate:10.2} {used:10.2} {:12.1}",
            peak.saturating_sub(before) as f64 / 1048576.0
        );
    }
    println!("  wall beside the copier's: {:.2}; cpu and memory are of everybody in this process", walls[2] / walls[1]);
    std::process::exit(0);
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads")
}

/// Streams so many pieces to whoever asks; the port.
fn provider(runtime: &Runtime, pieces: usize, pause: Duration) -> u16 {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            tokio::spawn(async move {
                let mut head = Vec::new();
                // Connections are kept: one request after another.
                while read_request(&stream, &mut head).await {
                    let answer =
                        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                    let event = r#"data: {"choices":[{"index":0,"delta":{"content":"word "}}],"model":"m"}"#;
                    let piece = format!("{:x}\r\n{event}\n\n\r\n", event.len() + 2);
                    if write_all(&stream, answer.as_bytes()).await.is_err() {
                        return;
                    }
                    for _ in 0..pieces {
                        if write_all(&stream, piece.as_bytes()).await.is_err() {
                            return;
                        }
                        if !pause.is_zero() {
                            tokio::time::sleep(pause).await;
                        }
                    }
                    if write_all(&stream, b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n").await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

async fn read_request(stream: &TcpStream, bytes: &mut Vec<u8>) -> bool {
    bytes.clear();
    let mut piece = [0; 4096];
    loop {
        match read(stream, &mut piece).await {
            Ok(length) if length > 0 => bytes.extend_from_slice(&piece[..length]),
            _ => return false,
        }
        let text = String::from_utf8_lossy(bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return true;
            }
        }
    }
}

async fn copy(from: &TcpStream, to: &TcpStream) {
    let mut piece = [0; 8 * 1024];
    loop {
        match read(from, &mut piece).await {
            Ok(length) if length > 0 && write_all(to, &piece[..length]).await.is_ok() => {}
            _ => return,
        }
    }
}

async fn read(stream: &TcpStream, piece: &mut [u8]) -> std::io::Result<usize> {
    loop {
        stream.readable().await?;
        match stream.try_read(piece) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            read => return read,
        }
    }
}

async fn write_all(stream: &TcpStream, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            written => bytes = &bytes[written?..],
        }
    }
    Ok(())
}

/// A proxy that looks at nothing; the port.
fn copier(runtime: &Runtime, to: u16) -> u16 {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    runtime.spawn(async move {
        while let Ok((from, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = from.set_nodelay(true);
                if let Ok(there) = TcpStream::connect(("127.0.0.1", to)).await {
                    let _ = there.set_nodelay(true);
                    tokio::join!(copy(&from, &there), copy(&there, &from));
                }
            });
        }
    });
    port
}

/// A door of the gateway; it stays open as long as what is returned beside its port and key.
fn door(to: u16) -> (u16, String, overnight_engine::gateway::Door, Gateway) {
    let plain = Arc::new(Plain::default());
    let gateway = Gateway::new(plain.clone(), plain, Vec::new());
    let pass = gateway.pass_beside().expect("a port");
    let upstream = Upstream {
        name: "here".into(),
        url: format!("http://127.0.0.1:{to}"),
        protocols: vec![Protocol::Chat],
        key: Some(Key::new("sk-0123456789abcdef")),
        headers: Vec::new(),
        no_key: None,
    };
    let caller = Caller::Agent { name: "bench".into(), experiment: ExperimentId(1) };
    let door = gateway.open(&pass, None, Guest { caller, upstreams: vec![upstream] }).expect("a door");
    (pass.port, pass.key.clone(), door, gateway)
}

/// Until the first byte of the body, and how many bytes came.
async fn call(port: u16, key: String) -> (Duration, usize) {
    let watch = Instant::now();
    let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a connection");
    let _ = stream.set_nodelay(true);
    let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}"#;
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    write_all(&stream, head.as_bytes()).await.expect("it is sent");
    let (mut first, mut bytes, mut tail, mut piece) = (None, 0, Vec::new(), [0; 16 * 1024]);
    loop {
        let length = read(&stream, &mut piece).await.expect("it answers");
        assert!(length > 0, "the answer broke off");
        bytes += length;
        tail.extend_from_slice(&piece[..length]);
        if first.is_none() && tail.windows(5).any(|window| window == b"data:") {
            first = Some(watch.elapsed());
        }
        if tail.windows(6).any(|window| window == b"[DONE]") && tail.ends_with(b"0\r\n\r\n") {
            return (first.unwrap_or_default(), bytes);
        }
        let keep = tail.len().saturating_sub(64);
        tail.drain(..keep);
    }
}

/// What this process has in memory, in bytes.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// The processor time that this process has used, in seconds.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}
