//! Keeping the head and the tail of an output of any length in bounded memory.

use std::collections::VecDeque;

use crate::dispatch::Captured;

/// What is kept from the beginning: where a program says what it is doing.
const HEAD: usize = 192 * 1024;
/// What is kept from the end: where it says how it went.
const TAIL: usize = 64 * 1024;

/// A capped copy of a stream.
#[derive(Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    limits: (usize, usize),
    total: u64,
}

impl Capture {
    pub(crate) fn new() -> Capture {
        Capture::with_limits(HEAD, TAIL)
    }

    pub(crate) fn with_limits(head: usize, tail: usize) -> Capture {
        Capture { head: Vec::new(), tail: VecDeque::new(), limits: (head, tail), total: 0 }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, tail) = self.limits;
        let (first, rest) = bytes.split_at(bytes.len().min(head - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(tail)..];
        let overflow = (self.tail.len() + rest.len()).saturating_sub(tail);
        self.tail.drain(..overflow);
        self.tail.extend(rest);
    }

    pub(crate) fn finish(self) -> Captured {
        let left_out = self.total - (self.head.len() + self.tail.len()) as u64;
        let mut kept = self.head;
        if left_out > 0 {
            kept.extend_from_slice(format!("\n… {left_out} bytes left out …\n").as_bytes());
        }
        kept.extend(self.tail);
        Captured { kept, bytes: self.total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(pieces: &[&str]) -> (String, u64) {
        let mut capture = Capture::with_limits(4, 4);
        pieces.iter().for_each(|piece| capture.feed(piece.as_bytes()));
        let Captured { kept, bytes } = capture.finish();
        (String::from_utf8(kept).unwrap(), bytes)
    }

    #[test]
    fn a_short_output_is_kept_whole() {
        assert_eq!(captured(&["ab", "cdef", "gh"]), ("abcdefgh".into(), 8));
    }

    #[test]
    fn a_long_output_keeps_its_head_and_its_tail() {
        let (text, bytes) = captured(&["abcd", "efghijklmnop", "qr"]);
        assert_eq!((text.as_str(), bytes), ("abcd\n… 10 bytes left out …\nopqr", 18));
    }
}
