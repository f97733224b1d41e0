//! Replaces parts of a body whatever they are wrapped in: escapes of JSON are undone first, and a text that a stream gives
//! in pieces is looked at as a whole, and so is JSON in a text, as arguments of tools are. What is not touched stays as it came, byte for byte.

use std::ops::Range;

use serde_json::Value;

/// What to replace in a text: places in their order, none of which overlap, and what comes instead.
pub(super) trait Rule {
    fn find(&self, text: &str) -> Vec<(Range<usize>, String)>;
}

/// The body with everything replaced that a rule finds, and how often it did.
pub(super) fn rewrite(body: &[u8], rule: &dyn Rule) -> (Vec<u8>, u64) {
    if let Ok(mut value) = serde_json::from_slice::<Value>(body) {
        return match rewrite_values(std::slice::from_mut(&mut value), rule, false) {
            0 => (body.to_vec(), 0),
            found => (value.to_string().into_bytes(), found),
        };
    }
    let text = String::from_utf8_lossy(body);
    let mut lines: Vec<Line<'_>> = text.split_inclusive('\n').map(Line::of).collect();
    let mut data: Vec<&mut Value> = lines.iter_mut().filter_map(|line| line.data.as_mut()).collect();
    let mut values: Vec<Value> = data.iter_mut().map(|value| value.take()).collect();
    let mut found = rewrite_values(&mut values, rule, true);
    for (place, value) in data.into_iter().zip(values) {
        *place = value;
    }
    let is_plain = found == 0;
    let mut made = String::with_capacity(text.len());
    for line in &lines {
        match &line.data {
            Some(value) if !is_plain => made.push_str(&format!("data: {value}{}", line.end)),
            // What is no JSON is taken as it stands.
            Some(_) => made.push_str(line.whole),
            None => {
                let mut one = line.whole.to_owned();
                found += replace(&mut [&mut one], rule);
                made.push_str(&one);
            }
        }
    }
    if found == 0 { (body.to_vec(), 0) } else { (made.into_bytes(), found) }
}

struct Line<'a> {
    whole: &'a str,
    end: &'a str,
    data: Option<Value>,
}

impl Line<'_> {
    fn of(whole: &str) -> Line<'_> {
        let data = whole.strip_prefix("data:").and_then(|data| serde_json::from_str(data.trim()).ok());
        let end = &whole[whole.trim_end_matches(['\r', '\n']).len()..];
        Line { whole, end, data }
    }
}

/// Replaces in all strings and names. In a stream, strings at the same place of events of the same kind are pieces of one.
fn rewrite_values(values: &mut [Value], rule: &dyn Rule, is_stream: bool) -> u64 {
    let mut found = 0;
    let mut strings: Vec<(String, &mut String)> = Vec::new();
    for (at, value) in values.iter_mut().enumerate() {
        found += rename(value, rule);
        let mut path = if is_stream { kind(value) } else { at.to_string() };
        collect(value, &mut path, &mut strings);
    }
    // Stable: pieces stay in their order.
    strings.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut rest = strings.as_mut_slice();
    while let Some((path, _)) = rest.first() {
        let end = rest.iter().position(|(other, _)| other != path).unwrap_or(rest.len());
        let (group, after) = rest.split_at_mut(end);
        let mut pieces: Vec<&mut String> = group.iter_mut().map(|(_, text)| &mut **text).collect();
        found += replace(&mut pieces, rule);
        rest = after;
    }
    found
}

/// What tells the strands of a stream apart, in any of the protocols.
fn kind(event: &Value) -> String {
    let of = |key: &str| event.get(key).map_or_else(String::new, ToString::to_string);
    let delta = event["delta"]["type"].as_str().unwrap_or_default().to_owned();
    [of("type"), of("index"), of("output_index"), of("content_index"), of("item_id"), delta].join(" ")
}

fn collect<'a>(value: &'a mut Value, path: &mut String, strings: &mut Vec<(String, &'a mut String)>) {
    let length = path.len();
    match value {
        Value::String(text) => strings.push((path.clone(), text)),
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                path.push_str(&format!("/{at}"));
                collect(item, path, strings);
                path.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                path.push('/');
                path.push_str(name);
                collect(field, path, strings);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

/// Replaces in the names of fields.
fn rename(value: &mut Value, rule: &dyn Rule) -> u64 {
    match value {
        Value::Array(items) => items.iter_mut().map(|item| rename(item, rule)).sum(),
        Value::Object(fields) => {
            let mut found: u64 = fields.values_mut().map(|field| rename(field, rule)).sum();
            let named: Vec<String> = fields.keys().filter(|name| !rule.find(name).is_empty()).cloned().collect();
            for mut name in named {
                let Some(field) = fields.remove(&name) else { continue };
                found += replace(&mut [&mut name], rule);
                fields.insert(name, field);
            }
            found
        }
        _ => 0,
    }
}

/// Replaces in a text that comes in pieces. What is put in stands in the piece in which the old began; a text that is JSON
/// itself stands in the first piece once something in it was replaced.
pub(super) fn replace(pieces: &mut [&mut String], rule: &dyn Rule) -> u64 {
    let mut whole: String = pieces.iter().map(|piece| piece.as_str()).collect();
    let mut inside = 0;
    if let Some((made, found)) = replace_inside(&whole, rule) {
        for piece in pieces.iter_mut() {
            piece.clear();
        }
        if let Some(first) = pieces.first_mut() {
            **first = made.clone();
        }
        (whole, inside) = (made, found);
    }
    let places = rule.find(&whole);
    if places.is_empty() {
        return inside;
    }
    let mut start = 0;
    for piece in pieces.iter_mut() {
        let end = start + piece.len();
        let mut made = String::new();
        let mut at = start;
        for (place, new) in &places {
            if place.end <= start || place.start >= end {
                continue;
            }
            made.push_str(&whole[at..place.start.max(at)]);
            if place.start >= start {
                made.push_str(new);
            }
            at = place.end.min(end);
        }
        made.push_str(&whole[at..end]);
        **piece = made;
        start = end;
    }
    places.len() as u64 + inside
}

/// The same in a text that is JSON, one document or several, where its strings have escapes of their own; `None` where it is
/// not, or where there is nothing to replace.
fn replace_inside(text: &str, rule: &dyn Rule) -> Option<(String, u64)> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut values = documents.collect::<Result<Vec<Value>, _>>().ok()?;
    let found = rewrite_values(&mut values, rule, false);
    let made: String = values.iter().map(ToString::to_string).collect();
    (found > 0).then_some((made, found))
}

/// Sorted, and without those that begin before the one before them has ended.
pub(super) fn apart(mut places: Vec<(Range<usize>, String)>) -> Vec<(Range<usize>, String)> {
    places.retain(|(place, _)| !place.is_empty());
    places.sort_by_key(|(place, _)| (place.start, std::cmp::Reverse(place.end)));
    let mut kept: Vec<(Range<usize>, String)> = Vec::new();
    for (place, new) in places {
        match kept.last_mut() {
            // Both are to go: the first one's word stands for them.
            Some((last, _)) if place.start < last.end => last.end = last.end.max(place.end),
            _ => kept.push((place, new)),
        }
    }
    kept
}
