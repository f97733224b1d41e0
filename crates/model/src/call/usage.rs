//! What an answer says of itself while it streams by: tokens, who answered, why it ended. Four protocols, as one document
//! or as a stream of events, in memory that does not grow with the answer. What is not said, or said in a way that cannot
//! be, is not known.

mod lines;
mod scan;

use self::lines::{Lines, Piece};
use self::scan::{Scan, Seen};
use super::{Protocol, Tokens};

/// More tokens than any answer has: a number beyond it is no count.
const MOST: u64 = 1_000_000_000_000;
/// What ends a stream of OpenAI's.
const DONE: &[u8] = b"[DONE]";

/// Reads the usage out of an answer.
#[derive(Debug, Clone)]
pub struct Meter {
    protocol: Protocol,
    form: Form,
    lines: Lines,
    scan: Scan,
    /// The document that is being read.
    now: Said,
    /// The first bytes of the data of an event.
    first: Vec<u8>,
    found: Found,
}

/// What an answer said of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metered {
    pub tokens: Tokens,
    /// Who answered, by the provider's name for it.
    pub model: Option<String>,
    /// Why it ended, in the provider's word.
    pub finish: Option<String>,
    /// Whether it said that this was all.
    pub is_whole: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The first byte will tell.
    Unknown,
    Document,
    Events,
}

/// A count as it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Count {
    #[default]
    Unsaid,
    Said(u64),
    /// There, and no count.
    Odd,
}

/// What one document says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Said {
    kind: Option<String>,
    model: Option<String>,
    finish: Option<String>,
    counts: [Count; COUNTS],
}

/// What all of them say together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Found {
    model: Option<String>,
    finish: Option<String>,
    counts: [Count; COUNTS],
    is_whole: bool,
}

const COUNTS: usize = 11;
const INPUT: usize = 0;
const CACHED: usize = 1;
const WRITTEN: usize = 2;
const WRITTEN_HOUR: usize = 3;
const OUTPUT: usize = 4;
const REASONING: usize = 5;
const TOOL_INPUT: usize = 6;
const TOTAL: usize = 7;
const TIMED_INPUT: usize = 8;
const TIMED_CACHED: usize = 9;
const TIMED_OUTPUT: usize = 10;

enum Slot {
    Kind,
    Model,
    Finish,
    Count(usize),
}

impl Meter {
    /// `is_stream`: whether the answer may be a stream of events; a document is taken for one all the same.
    pub fn new(protocol: Protocol, is_stream: bool) -> Meter {
        let form = if is_stream { Form::Unknown } else { Form::Document };
        let (lines, scan) = (Lines::default(), Scan::new());
        let (now, first, found) = (Said::default(), Vec::new(), Found::default());
        Meter { protocol, form, lines, scan, now, first, found }
    }

    /// Takes the next piece of the body, as the provider sent it.
    pub fn feed(&mut self, bytes: &[u8]) {
        let bytes = match self.form {
            Form::Unknown => {
                let blank = |byte: &u8| byte.is_ascii_whitespace();
                let Some(start) = bytes.iter().position(|byte| !blank(byte)) else { return };
                let is_document = matches!(bytes[start], b'{' | b'[');
                self.form = if is_document { Form::Document } else { Form::Events };
                &bytes[start..]
            }
            _ => bytes,
        };
        match self.form {
            Form::Events => self.feed_events(bytes),
            _ => self.read(bytes),
        }
    }

    pub fn finish(mut self) -> Metered {
        // The last event of a stream may lack its empty line.
        if self.form == Form::Events {
            self.end_event();
        }
        let Found { model, finish, counts, is_whole } = self.found;
        Metered { tokens: tokens(self.protocol, &counts, is_whole), model, finish, is_whole }
    }

    fn feed_events(&mut self, bytes: &[u8]) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.feed(bytes, &mut |piece| match piece {
            Piece::Data(data) => {
                let room = DONE.len().saturating_sub(self.first.len());
                self.first.extend_from_slice(&data[..room.min(data.len())]);
                self.read(data);
            }
            Piece::End => self.end_event(),
        });
        self.lines = lines;
    }

    fn end_event(&mut self) {
        self.found.is_whole |= self.first == DONE;
        self.first.clear();
        self.scan.reset();
        self.now = Said::default();
    }

    fn read(&mut self, bytes: &[u8]) {
        let Meter { protocol, form, scan, now, found, .. } = self;
        let is_event = *form == Form::Events;
        scan.feed(bytes, &mut |seen| match seen {
            Seen::Text { path, text } => match slot(*protocol, path) {
                Some(Slot::Kind) => now.kind = Some(text.to_owned()),
                Some(Slot::Model) => now.model = Some(text.to_owned()),
                Some(Slot::Finish) => now.finish = Some(text.to_owned()),
                Some(Slot::Count(at)) => now.counts[at] = Count::Odd,
                None => {}
            },
            Seen::Word { path, word } => {
                if let Some(Slot::Count(at)) = slot(*protocol, path) {
                    let count = match word.parse() {
                        _ if word == "null" => Count::Unsaid,
                        Ok(count) if count <= MOST => Count::Said(count),
                        _ => Count::Odd,
                    };
                    now.counts[at] = match (now.counts[at], count) {
                        (Count::Unsaid, count) => count,
                        (known, count) if known == count => known,
                        // Twice in one document, and not the same: nobody knows which of them was meant.
                        _ => Count::Odd,
                    };
                }
            }
            Seen::Other { path } => {
                if let Some(Slot::Count(at)) = slot(*protocol, path) {
                    now.counts[at] = Count::Odd;
                }
            }
            Seen::Document { in_list } => found.take(*protocol, std::mem::take(now), is_event || in_list),
        });
    }
}

impl Found {
    /// Counts grow in the course of a stream: the largest is the last, and one that says 0 at its end says nothing new.
    fn take(&mut self, protocol: Protocol, said: Said, is_part: bool) {
        let Said { kind, model, finish, counts } = said;
        let kind = kind.as_deref().unwrap_or_default();
        self.model = self.model.take().or(model.filter(|model| !model.is_empty()));
        let ends = match protocol {
            // At its start it says how much it read, and of what it writes only that it begins.
            Protocol::Messages => kind == "message_delta",
            Protocol::Responses => matches!(kind, "response.completed" | "response.incomplete" | "response.failed"),
            Protocol::Chat | Protocol::Gemini => finish.is_some(),
        };
        let is_last = !is_part || ends;
        self.is_whole |= is_last;
        // Of a response that goes on, its status is no end.
        if finish.is_some() && (is_last || protocol != Protocol::Responses) {
            self.finish = finish;
        }
        for (at, (known, count)) in self.counts.iter_mut().zip(counts).enumerate() {
            if at == OUTPUT && protocol == Protocol::Messages && !is_last {
                continue;
            }
            *known = match (*known, count) {
                (Count::Odd, _) | (_, Count::Odd) => Count::Odd,
                (Count::Said(a), Count::Said(b)) => Count::Said(a.max(b)),
                (known, Count::Unsaid) => known,
                (Count::Unsaid, count) => count,
            };
        }
    }
}

/// What a path means. A stream may wrap what a document says in an object.
fn slot(protocol: Protocol, path: &str) -> Option<Slot> {
    let wrapped = match protocol {
        Protocol::Messages => path.strip_prefix("message."),
        Protocol::Responses => path.strip_prefix("response."),
        Protocol::Chat | Protocol::Gemini => None,
    };
    let count = |at| Some(Slot::Count(at));
    match (protocol, wrapped.unwrap_or(path)) {
        (Protocol::Messages | Protocol::Responses, "type") if wrapped.is_none() => Some(Slot::Kind),
        (Protocol::Messages | Protocol::Responses | Protocol::Chat, "model") => Some(Slot::Model),
        (Protocol::Gemini, "modelVersion") => Some(Slot::Model),
        (Protocol::Messages, "stop_reason" | "delta.stop_reason")
        | (Protocol::Chat, "choices.[].finish_reason")
        | (Protocol::Responses, "status")
        | (Protocol::Gemini, "candidates.[].finishReason" | "promptFeedback.blockReason") => Some(Slot::Finish),
        (Protocol::Messages | Protocol::Responses, "usage.input_tokens")
        | (Protocol::Chat, "usage.prompt_tokens")
        | (Protocol::Gemini, "usageMetadata.promptTokenCount") => count(INPUT),
        (Protocol::Messages, "usage.cache_read_input_tokens")
        | (Protocol::Responses, "usage.input_tokens_details.cached_tokens")
        | (Protocol::Chat, "usage.prompt_tokens_details.cached_tokens")
        | (Protocol::Gemini, "usageMetadata.cachedContentTokenCount") => count(CACHED),
        (Protocol::Messages, "usage.cache_creation_input_tokens")
        | (Protocol::Responses, "usage.input_tokens_details.cache_write_tokens")
        | (Protocol::Chat, "usage.prompt_tokens_details.cache_write_tokens") => count(WRITTEN),
        (Protocol::Messages, "usage.cache_creation.ephemeral_1h_input_tokens") => count(WRITTEN_HOUR),
        (Protocol::Messages | Protocol::Responses, "usage.output_tokens")
        | (Protocol::Chat, "usage.completion_tokens")
        | (Protocol::Gemini, "usageMetadata.candidatesTokenCount") => count(OUTPUT),
        (Protocol::Responses, "usage.output_tokens_details.reasoning_tokens")
        | (Protocol::Chat, "usage.completion_tokens_details.reasoning_tokens")
        | (Protocol::Gemini, "usageMetadata.thoughtsTokenCount") => count(REASONING),
        (Protocol::Gemini, "usageMetadata.toolUsePromptTokenCount") => count(TOOL_INPUT),
        // llama.cpp says this at the end of a stream, also to those who did not ask for usage.
        (Protocol::Chat, "timings.prompt_n") => count(TIMED_INPUT),
        (Protocol::Chat, "timings.cache_n") => count(TIMED_CACHED),
        (Protocol::Chat, "timings.predicted_n") => count(TIMED_OUTPUT),
        (Protocol::Gemini, "usageMetadata.totalTokenCount") => count(TOTAL),
        _ => None,
    }
}

/// The same tokens by the names that are used here, where each is counted once.
fn tokens(protocol: Protocol, counts: &[Count; COUNTS], is_whole: bool) -> Tokens {
    let said = |at: usize| match counts[at] {
        Count::Said(count) => Some(count),
        Count::Unsaid | Count::Odd => None,
    };
    let is_odd = |at: usize| counts[at] == Count::Odd;
    if protocol == Protocol::Chat && [INPUT, CACHED, OUTPUT].iter().all(|at| counts[*at] == Count::Unsaid) {
        let output = said(TIMED_OUTPUT).filter(|_| is_whole);
        // What came out of its cache is not among those, and where it is not said there may be more.
        let input = said(TIMED_INPUT).filter(|_| said(TIMED_CACHED).is_some());
        return Tokens { input, cached: said(TIMED_CACHED), output, ..Tokens::default() };
    }
    let (cached, reasoning) = (said(CACHED), said(REASONING));
    // Each of them has a price of its own: where one cannot be, what all of them cost is not known.
    let is_odd_read = [INPUT, CACHED, WRITTEN, WRITTEN_HOUR, TOOL_INPUT].into_iter().any(is_odd);
    let fits = said(WRITTEN_HOUR).is_none_or(|hour| hour <= said(WRITTEN).unwrap_or(0));
    let is_known = !is_odd_read && fits;
    let input = match protocol {
        Protocol::Messages => said(INPUT),
        // Those out of the cache and into it are among what was read; more of them than that cannot be.
        _ => said(INPUT)
            .and_then(|input| input.checked_sub(cached.unwrap_or(0))?.checked_sub(said(WRITTEN).unwrap_or(0))),
    };
    let output = match protocol {
        // Reasoning is counted beside the answer, and what is 0 is left out.
        Protocol::Gemini => {
            let (prompt, tool) = (said(INPUT), said(TOOL_INPUT).unwrap_or(0));
            let rest = || said(TOTAL)?.checked_sub(prompt?.saturating_add(tool));
            let counted = said(OUTPUT).map(|output| output.saturating_add(reasoning.unwrap_or(0)));
            counted.or_else(rest).filter(|_| !is_odd(OUTPUT) && !is_odd(REASONING))
        }
        _ => said(OUTPUT),
    };
    Tokens {
        input: input.filter(|_| is_known).map(|input| input.saturating_add(said(TOOL_INPUT).unwrap_or(0))),
        cached: cached.filter(|_| input.is_some()),
        written: said(WRITTEN).filter(|_| protocol == Protocol::Messages || input.is_some()),
        written_hour: said(WRITTEN_HOUR).filter(|_| fits),
        // Of an answer that was cut off, what it had come to is not what was paid.
        output: output.filter(|_| is_whole),
        reasoning: reasoning.filter(|_| is_whole),
    }
}

#[cfg(test)]
mod malformed;
#[cfg(test)]
mod tests;
