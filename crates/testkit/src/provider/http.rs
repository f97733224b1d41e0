//! As much of HTTP/1.1 as the clients use: one request to a connection.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;

use serde_json::Value;

/// No prompt of a test is longer.
const LIMIT: usize = 64 * 1024 * 1024;

/// What a client sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub method: String,
    /// With its query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    /// `Null` where there was none, or none that could be read.
    pub body: Value,
}

impl Request {
    pub(crate) fn read(stream: &mut TcpStream) -> Option<Request> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let first = line(&mut reader)?;
        let mut words = first.split_whitespace();
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = Vec::new();
        loop {
            let text = line(&mut reader)?;
            let Some((name, value)) = text.split_once(':') else { break };
            headers.push((name.trim().to_lowercase(), value.trim().to_owned()));
        }
        let mut request = Request { method, path, headers, body: Value::Null };
        if request.header("expect").is_some() {
            let _ = std::io::Write::write_all(stream, b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        let length = request.header("content-length").and_then(|length| length.parse::<usize>().ok());
        let body = match length {
            Some(length) => {
                let mut body = vec![0; length.min(LIMIT)];
                reader.read_exact(&mut body).ok()?;
                body
            }
            None if request.header("transfer-encoding").is_some() => chunks(&mut reader)?,
            None => Vec::new(),
        };
        request.body = serde_json::from_slice(&body).unwrap_or_default();
        Some(request)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A whole answer, after which the connection is closed.
pub(crate) fn plain(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let typed = headers.iter().any(|(name, _)| *name == "content-type");
    let kind = if typed { "" } else { "content-type: application/json\r\n" };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} scripted\r\n{kind}{more}content-length: {length}\r\nconnection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// Events as they would stream in: of no known length, so that one that is cut off is seen to be.
pub(super) fn events(events: &[(Option<&str>, String)]) -> Vec<u8> {
    let mut text = "HTTP/1.1 200 scripted\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\
                    connection: close\r\n\r\n"
        .to_owned();
    for (name, data) in events {
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        let event = format!("{name}data: {data}\n\n");
        text += &format!("{:x}\r\n{event}\r\n", event.len());
    }
    (text + "0\r\n\r\n").into_bytes()
}

fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut text = String::new();
    let read = reader.read_line(&mut text).ok()?;
    (read > 0).then(|| text.trim_end().to_owned())
}

fn chunks(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let length = usize::from_str_radix(line(reader)?.split(';').next()?.trim(), 16).ok()?;
        if length == 0 || body.len() + length > LIMIT {
            return Some(body);
        }
        let from = body.len();
        body.resize(from + length, 0);
        reader.read_exact(&mut body[from..]).ok()?;
        line(reader)?;
    }
}
