//! What must not be stored: what a person's rules find, and keys in every form in which a text may hold them.

use std::ops::Range;

use overnight_model::id::hex;
use regex::{Regex, RegexBuilder};

use super::rewrite::{Rule, apart, rewrite};

const REDACTED: &str = "[redacted]";
const KEY: &str = "[key]";
/// Shorter ones are found in any text.
const SHORTEST: usize = 8;
/// A rule is compiled once and is a person's own; this is far beyond what one needs.
const MOST_RULE_BYTES: usize = 4 << 20;

/// Takes secrets out of bodies.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    rules: Vec<Regex>,
    /// Every form of every key.
    keys: Vec<String>,
}

impl Redactor {
    /// Refuses what is no regular expression, in the words of whoever reads them.
    pub fn new(rules: &[String], keys: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Redactor, regex::Error> {
        let rules = rules.iter().map(|rule| compile(rule)).collect::<Result<_, _>>()?;
        let mut redactor = Redactor { rules, keys: Vec::new() };
        keys.into_iter().for_each(|key| redactor.hide(key.as_ref()));
        Ok(redactor)
    }

    /// One more key.
    pub fn hide(&mut self, key: &str) {
        self.keys.extend(forms(key));
        // The longest first: a form may be a part of another.
        self.keys.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        self.keys.dedup();
    }

    /// Whether it knows this key, or takes it for none.
    pub(super) fn holds(&self, key: &str) -> bool {
        forms(key).iter().all(|form| self.keys.contains(form))
    }

    /// The body as it may be stored, and how much was taken out.
    pub fn body(&self, body: &[u8]) -> (Vec<u8>, u64) {
        let (body, found) = rewrite(body, self);
        // A key need not be in a text at all: as it stands, anywhere.
        let (body, more) = self.keys.iter().fold((body, 0), |(body, found), key| {
            let (body, more) = without(body, key.as_bytes());
            (body, found + more)
        });
        (body, found + more)
    }

    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        super::rewrite::replace(&mut [&mut text], self);
        text
    }
}

/// Checks a rule without keeping it.
pub(crate) fn compile(rule: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(rule).size_limit(MOST_RULE_BYTES).build()
}

impl Rule for Redactor {
    fn find(&self, text: &str) -> Vec<(Range<usize>, String)> {
        let found =
            self.rules.iter().flat_map(|rule| rule.find_iter(text).map(|found| (found.range(), REDACTED.to_owned())));
        let keys = self
            .keys
            .iter()
            .flat_map(|key| text.match_indices(key.as_str()).map(|(at, found)| (at..at + found.len(), KEY.to_owned())));
        apart(keys.chain(found).collect())
    }
}

fn without(body: Vec<u8>, key: &[u8]) -> (Vec<u8>, u64) {
    let is_here = |at: usize| body[at..].starts_with(key);
    let (mut made, mut at, mut found) = (Vec::new(), 0, 0);
    while let Some(next) = (at..body.len()).find(|at| body[*at] == key[0] && is_here(*at)) {
        made.extend_from_slice(&body[at..next]);
        made.extend_from_slice(KEY.as_bytes());
        (at, found) = (next + key.len(), found + 1);
    }
    if found == 0 {
        return (body, 0);
    }
    made.extend_from_slice(&body[at..]);
    (made, found)
}

/// A key as it is, and as common encodings write it: hexadecimal, in an address, in JSON of any writer, and in base 64 at any
/// place of what was encoded.
pub(crate) fn forms(key: &str) -> Vec<String> {
    let key = key.trim();
    if key.len() < SHORTEST {
        return Vec::new();
    }
    let bytes = key.as_bytes();
    let json = serde_json::Value::from(key).to_string();
    let json = &json[1..json.len() - 1];
    let mut forms =
        vec![key.to_owned(), hex(bytes), hex(bytes).to_uppercase(), json.to_owned(), json.replace('/', "\\/")];
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let spelled = |is_plain: &dyn Fn(u8) -> bool, other: &dyn Fn(u8) -> String| -> String {
        bytes.iter().map(|byte| if is_plain(*byte) { (*byte as char).to_string() } else { other(*byte) }).collect()
    };
    forms.push(spelled(&is_plain, &|byte| format!("%{byte:02X}")));
    forms.push(spelled(&is_plain, &|byte| format!("%{byte:02x}")));
    forms.push(spelled(&|_| false, &|byte| format!("%{byte:02X}")));
    forms.push(spelled(&|_| false, &|byte| format!("%{byte:02x}")));
    // Careful writers of JSON escape what HTML knows, or all of it.
    forms.push(spelled(&|byte| is_plain(byte) || b"/+=: ".contains(&byte), &|byte| format!("\\u{byte:04x}")));
    forms.push(spelled(&is_plain, &|byte| format!("\\u{byte:04x}")));
    forms.push(spelled(&|_| false, &|byte| format!("\\u{byte:04x}")));
    forms.push(spelled(&|_| false, &|byte| format!("\\u{byte:04X}")));
    for alphabet in [STANDARD, FOR_ADDRESSES] {
        forms.extend((0..3).map(|offset| base64_inside(bytes, offset, alphabet)).filter(|form| form.len() >= SHORTEST));
    }
    forms.sort();
    forms.dedup();
    forms
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOR_ADDRESSES: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The signs of base 64 that depend on these bytes alone, where so many others come before them.
fn base64_inside(bytes: &[u8], offset: usize, alphabet: &[u8; 64]) -> String {
    let bit = |at: usize| {
        (at >= offset * 8).then(|| at - offset * 8).and_then(|at| Some(bytes.get(at / 8)? >> (7 - at % 8) & 1))
    };
    let sign = |nth: usize| {
        let bits: Option<Vec<u8>> = (nth * 6..nth * 6 + 6).map(bit).collect();
        bits.map(|bits| alphabet[bits.iter().fold(0_usize, |sum, bit| sum * 2 + usize::from(*bit))] as char)
    };
    (0..(bytes.len() + offset) * 8 / 6 + 1).filter_map(sign).collect()
}
