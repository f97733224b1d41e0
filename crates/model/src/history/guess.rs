//! Which format a file has.

use serde_json::{Map, Value};

use super::Format;

/// How many lines are looked at: headers stand at the beginning, comments before them.
const LOOK: usize = 50;

pub(super) fn by_name(name: &str) -> Option<Format> {
    let name = name.to_lowercase();
    let name = name.rsplit('/').next().unwrap_or(&name);
    match name.rsplit_once('.')?.1 {
        "tsv" => Some(Format::ResultsTsv),
        "csv" => Some(Format::Csv),
        "jsonl" if name == "log.jsonl" || name == "autoresearch.jsonl" => Some(Format::Pi),
        "jsonl" | "ndjson" => Some(Format::Jsonl),
        _ => None,
    }
}

pub(super) fn by_contents(bytes: &[u8]) -> Option<Format> {
    let bytes = super::lines::without_mark(bytes).ok()?;
    let mut lines = super::lines::lines(bytes).take(LOOK).filter(|line| !line.bytes.starts_with(b"#")).peekable();
    let first = lines.peek()?.bytes;
    match first {
        _ if first.trim_ascii_start().starts_with(b"{") => {
            let object = |bytes: &[u8]| serde_json::from_slice::<Map<String, Value>>(bytes).ok();
            let is_pi = lines.filter_map(|line| object(line.bytes)).any(|object| {
                object.get("type").is_some_and(|kind| kind == "config")
                    || object.contains_key("run") && object.contains_key("status")
            });
            Some(if is_pi { Format::Pi } else { Format::Jsonl })
        }
        _ if first.contains(&b'\t') => Some(Format::ResultsTsv),
        _ if first.contains(&b',') => Some(Format::Csv),
        _ => None,
    }
}
