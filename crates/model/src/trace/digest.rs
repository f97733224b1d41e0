//! The last calls of a run in a few lines, for whoever has to understand why it failed.

use super::{Answered, Asked, Part, Turn};

/// Long enough for the gist of a message, short enough for several.
const PART_BYTES: usize = 600;

/// The latest calls, oldest first, of at most so many bytes: what was asked last, and what was answered.
pub fn digest<'a>(calls: impl DoubleEndedIterator<Item = &'a (Asked, Answered)>, most: usize) -> String {
    let mut told: Vec<String> = Vec::new();
    let mut bytes = 0;
    for (asked, answered) in calls.rev() {
        let mut text = asked.turns.last().map(turn).unwrap_or_default();
        text.push_str(&turn(&answered.turn()));
        if let Some(error) = &answered.error {
            text.push_str(&format!("error: {}\n", shortened(error)));
        }
        bytes += text.len();
        if bytes > most {
            break;
        }
        told.push(text);
    }
    told.reverse();
    told.join("\n")
}

fn turn(turn: &Turn) -> String {
    let who = turn.who.name();
    let part = |part: &Part| match part {
        Part::Text(text) => format!("{who}: {}\n", shortened(text)),
        Part::Reasoning(text) => format!("{who} (reasoning): {}\n", shortened(text)),
        Part::Call(call) => format!("{who} calls {} {}\n", call.name, shortened(&call.arguments)),
        Part::Result(result) => format!("result: {}\n", shortened(&result.text)),
        Part::Other(what) => format!("{who}: [{what}]\n"),
    };
    turn.parts.iter().map(part).collect()
}

/// Beginning and end: the question is in the one and the request in the other.
fn shortened(text: &str) -> String {
    let text = text.trim();
    if text.len() <= PART_BYTES {
        return text.to_owned();
    }
    let (mut head, mut tail) = (PART_BYTES / 2, text.len() - PART_BYTES / 2);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{} […] {}", &text[..head], &text[tail..])
}
