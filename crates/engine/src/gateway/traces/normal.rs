//! Requests that mean the same have the same key: what differs between two runs of one session is taken out first.
//!
//! What clients were seen to send: Claude Code puts the device and the session into `metadata`, the date into its first
//! message, and the folder, the kernel, the latest commits and a folder of its own for this one into its system prompt; its
//! marks for the cache wander. codex sends `client_metadata`, `prompt_cache_key`, an id of its own for each item, its home, the
//! folder, the date and the time zone, and heads the output of a command with a random name and the time that it took.

use std::sync::LazyLock;

use overnight_model::BlobId;
use overnight_model::call::Protocol;
use regex::{Captures, Regex};
use serde_json::{Map, Value};

use super::rewrite::{Rule, apart, replace, rewrite};

/// Fields of a request about who asks and how, and nothing about what.
const VOLATILE: [&str; 10] = [
    "metadata",
    "client_metadata",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "session_id",
    "user",
    "stream_options",
    "service_tier",
    "serviceTier",
];

/// The same at any depth: marks for a cache, and signs of the provider's own over what it thought.
const MARKS: [&str; 4] = ["cache_control", "signature", "thoughtSignature", "encrypted_content"];

/// A request without what differs from run to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Normal {
    pub(super) protocol: Protocol,
    /// Without its query.
    pub(super) path: String,
    pub(super) body: Value,
}

impl Normal {
    pub(super) fn of(protocol: Protocol, path: &str, body: &[u8], places: &Places, told: &[Told]) -> Normal {
        let normal = |text: &str| {
            // First: what follows would change a part of it.
            let same = told.iter().fold(text.to_owned(), |text, told| told.replaced_in(text));
            places.normal(&same)
        };
        let body = match serde_json::from_slice(body) {
            Ok(body) => tidy(body, protocol, &normal, true),
            Err(_) => Value::from(normal(&String::from_utf8_lossy(body))),
        };
        Normal { protocol, path: path.split('?').next().unwrap_or_default().to_owned(), body }
    }

    pub(super) fn key(&self) -> BlobId {
        BlobId::of(format!("{:?}\n{}\n{}", self.protocol, self.path, self.body).as_bytes())
    }

    /// Where two requests first differ, in words; `None` where they do not.
    pub(super) fn difference(&self, recorded: &Normal) -> Option<String> {
        if self.path != recorded.path {
            return Some(format!("it asks {}, recorded was {}", self.path, recorded.path));
        }
        let (place, asked, known) = first_difference(&self.body, &recorded.body, String::new())?;
        Some(format!("at {place}: {asked}, recorded was {known}"))
    }

    /// How far two requests are the same, in bytes.
    pub(super) fn likeness(&self, other: &Normal) -> usize {
        let (one, other) = (self.body.to_string(), other.body.to_string());
        one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
    }
}

/// What an agent was told that another run would be told otherwise, and what stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) text: String,
    pub(super) instead: String,
}

impl Told {
    fn replaced_in(&self, text: String) -> String {
        if self.text.is_empty() { text } else { text.replace(&self.text, &self.instead) }
    }
}

/// Folders of this machine, by what a recording calls them.
#[derive(Debug, Clone, Default)]
pub(super) struct Places(Vec<(String, &'static str)>);

impl Places {
    /// The longest first, so that a folder within another is found before it.
    pub(super) fn new(places: impl IntoIterator<Item = (String, &'static str)>) -> Places {
        let mut places: Vec<_> = places.into_iter().filter(|(path, _)| path.len() > 1).collect();
        places.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        Places(places)
    }

    fn normal(&self, text: &str) -> String {
        let mut text = text.to_owned();
        replace(&mut [&mut text], self);
        for (pattern, instead) in VARYING.iter() {
            text = pattern.replace_all(&text, *instead).into_owned();
        }
        HASH.replace_all(&text, |found: &Captures<'_>| match is_hash(&found[0]) {
            true => "<hash>".to_owned(),
            false => found[0].to_owned(),
        })
        .into_owned()
    }

    /// The same the other way round: what a recording calls a folder becomes the folder.
    pub(super) fn back(&self, body: &[u8]) -> Vec<u8> {
        rewrite(body, &Back(self)).0
    }
}

impl Rule for Places {
    fn find(&self, text: &str) -> Vec<(std::ops::Range<usize>, String)> {
        // `/tmp/ab` is no part of `/tmp/abc`.
        let ends =
            |at: usize| text[at..].chars().next().is_none_or(|next| !next.is_alphanumeric() && !"_-".contains(next));
        let of = |(path, name): &(String, &'static str)| {
            let forms = [Some(path.clone()), Some(in_xml(path)).filter(|form| form != path)];
            let found = forms
                .into_iter()
                .flatten()
                .flat_map(|form| text.match_indices(&form).map(|(at, found)| at..at + found.len()).collect::<Vec<_>>());
            found.filter(|place| ends(place.end)).map(|place| (place, (*name).to_owned())).collect::<Vec<_>>()
        };
        apart(self.0.iter().flat_map(of).collect())
    }
}

/// As codex tells a model of its folder.
fn in_xml(path: &str) -> String {
    let signs = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&apos;")];
    signs.into_iter().fold(path.to_owned(), |text, (sign, name)| text.replace(sign, name))
}

/// The other way round.
struct Back<'a>(&'a Places);

impl Rule for Back<'_> {
    fn find(&self, text: &str) -> Vec<(std::ops::Range<usize>, String)> {
        let of = |(path, name): &(String, &'static str)| {
            text.match_indices(name).map(|(at, found)| (at..at + found.len(), path.clone())).collect::<Vec<_>>()
        };
        apart(self.0.0.iter().flat_map(of).collect())
    }
}

static VARYING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", "<id>"),
        (r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?", "<date>"),
        // A folder of one run.
        (r"/tmp/[A-Za-z0-9._-]+", "<tmp>"),
        (r"(?m)^(\s*- OS Version:).*$", "$1 <os>"),
        (r"<timezone>[^<]*</timezone>", "<timezone/>"),
        // Where Claude Code keeps what it remembers of a folder, by the folder's name.
        (r"(\.claude/projects/)[^/\s`]+", "$1<project>"),
        // How codex heads the output of a command.
        (r"Chunk ID: [0-9a-f]+", "Chunk ID: <id>"),
        (r"Wall time: [0-9.]+ seconds", "Wall time: <time>"),
    ]
    .into_iter()
    .map(|(pattern, instead)| (Regex::new(pattern).expect("they are"), instead))
    .collect()
});

static HASH: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b[0-9a-f]{7,64}\b").expect("it is one"));

/// Commits and contents have both digits and letters; what has not may be a number or a word.
fn is_hash(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit()) && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

fn tidy(value: Value, protocol: Protocol, normal: &dyn Fn(&str) -> String, is_top: bool) -> Value {
    match value {
        Value::String(text) => Value::String(normal(&text)),
        Value::Array(items) => items.into_iter().map(|item| tidy(item, protocol, normal, false)).collect(),
        Value::Object(fields) => {
            // Items of a conversation have names of the client's own making; calls are told apart by `call_id`.
            let is_item = protocol == Protocol::Responses && !is_top && fields.contains_key("type");
            let is_kept = |name: &str| {
                let is_made_up = is_item && matches!(name, "id" | "status");
                let is_volatile = MARKS.contains(&name) || is_top && VOLATILE.contains(&name);
                !is_made_up && !is_volatile
            };
            let mut fields: Vec<(String, Value)> = fields.into_iter().filter(|(name, _)| is_kept(name)).collect();
            fields.sort_by(|(one, _), (other, _)| one.cmp(other));
            fields
                .into_iter()
                .map(|(name, field)| (name, tidy(field, protocol, normal, false)))
                .collect::<Map<_, _>>()
                .into()
        }
        other => other,
    }
}

fn first_difference(one: &Value, other: &Value, path: String) -> Option<(String, String, String)> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
            names.into_iter().find_map(|name| {
                let field = |fields: &Map<String, Value>| fields.get(name).cloned().unwrap_or_default();
                first_difference(&field(one), &field(other), format!("{path}/{name}"))
            })
        }
        (Value::Array(one), Value::Array(other)) => {
            let item = |items: &[Value], at: usize| items.get(at).cloned().unwrap_or_default();
            (0..one.len().max(other.len()))
                .find_map(|at| first_difference(&item(one, at), &item(other, at), format!("{path}/{at}")))
        }
        (Value::String(one), Value::String(other)) if one != other => {
            let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
            Some((path, around(one, same), around(other, same)))
        }
        (one, other) if one != other => Some((path, around(&one.to_string(), 0), around(&other.to_string(), 0))),
        _ => None,
    }
}

/// A few words around the place where they part.
fn around(text: &str, at: usize) -> String {
    let shown: String = text.chars().skip(at.saturating_sub(20)).take(80).collect();
    format!("`{}`", shown.escape_debug())
}
