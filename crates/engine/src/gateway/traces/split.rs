//! A request in pieces that come again: its system prompt, its tools and each message, byte for byte.

use std::ops::Range;

/// Smaller fields of a request are one piece together.
const SMALL: usize = 256;

/// The pieces of a JSON object, whose sequence is the whole; of anything else, the whole.
pub(super) fn pieces(body: &[u8]) -> Vec<&[u8]> {
    if serde_json::from_slice::<serde::de::IgnoredAny>(body).is_err() {
        return vec![body];
    }
    let cuts = cuts(body);
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut is_small = false;
    for ((from, _), (to, is_field)) in cuts.iter().zip(cuts.iter().skip(1)) {
        let is_next_small = *is_field && to - from < SMALL;
        match pieces.last_mut() {
            Some(last) if is_small && is_next_small => last.end = *to,
            _ => pieces.push(*from..*to),
        }
        is_small = is_next_small;
    }
    pieces.into_iter().map(|piece| &body[piece]).collect()
}

/// Where to cut, and whether what ends there is a field of the request and no part of a list in it.
fn cuts(body: &[u8]) -> Vec<(usize, bool)> {
    let mut cuts = vec![(0, true)];
    let (mut open, mut in_string, mut is_escaped) = (Vec::new(), false, false);
    for (at, byte) in body.iter().enumerate() {
        if in_string {
            (in_string, is_escaped) = (is_escaped || *byte != b'"', !is_escaped && *byte == b'\\');
            continue;
        }
        let is_in_list = open == [b'{', b'['];
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                open.push(*byte);
                if open == [b'{', b'['] {
                    cuts.push((at + 1, true));
                }
            }
            b'}' | b']' => {
                if is_in_list {
                    cuts.push((at, false));
                }
                open.pop();
            }
            b',' if open.len() == 1 => cuts.push((at, true)),
            b',' if is_in_list => cuts.push((at, false)),
            _ => {}
        }
    }
    cuts.push((body.len(), true));
    cuts.dedup_by_key(|(at, _)| *at);
    cuts
}
