//! Takes keys out of a stream, also where one is cut in two by the pieces that it comes in.

use super::traces::forms;

const MASK: &[u8] = b"[key]";

/// What is taken out of one stream, and the end of it that may be the beginning of a key.
pub(super) struct Mask {
    secrets: Vec<Vec<u8>>,
    held: Vec<u8>,
}

impl Mask {
    /// In every form in which a text may hold one.
    pub(super) fn of<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Mask {
        let mut secrets: Vec<Vec<u8>> = secrets.into_iter().flat_map(forms).map(String::into_bytes).collect();
        // The longest first: a form may be a part of another.
        secrets.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        secrets.dedup();
        Mask { secrets, held: Vec::new() }
    }

    /// What may go on of the next piece.
    pub(super) fn pass(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(piece);
        let mut bytes = self.masked(bytes);
        let begins = |at: &usize| self.secrets.iter().any(|secret| secret.starts_with(&bytes[*at..]));
        let longest = self.secrets.iter().map(Vec::len).max().unwrap_or(0);
        let from = bytes.len().saturating_sub(longest.saturating_sub(1));
        if let Some(at) = (from..bytes.len()).find(begins) {
            self.held = bytes.split_off(at);
        }
        bytes
    }

    /// What was held back, at the end.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Whether one of them is in here.
    pub(super) fn is_in(&self, bytes: &[u8]) -> bool {
        self.secrets.iter().any(|secret| find(bytes, secret).is_some())
    }

    fn masked(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for secret in &self.secrets {
            while let Some(at) = find(&bytes, secret) {
                bytes.splice(at..at + secret.len(), MASK.iter().copied());
            }
        }
        bytes
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    // The first byte is looked for alone: most of a stream is not that.
    let first = *part.first()?;
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == first).map(|at| at + from) {
        if bytes[at..].starts_with(part) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_out_wherever_the_pieces_are_cut() {
        let text = b"a sk-12\"34567 b sk-12 c sk-12\\\"34567 sk-1";
        for length in 1..text.len() {
            let mut mask = Mask::of(Some("sk-12\"34567"));
            let mut out: Vec<u8> = text.chunks(length).flat_map(|piece| mask.pass(piece)).collect();
            out.extend(mask.rest());
            assert_eq!(String::from_utf8(out).unwrap(), "a [key] b sk-12 c [key] sk-1", "{length}");
        }
    }

    #[test]
    fn nothing_is_held_back_but_the_beginning_of_a_key() {
        let mut mask = Mask::of(Some("sk-1234567"));
        assert_eq!(mask.pass(b"data: {}\n\n"), b"data: {}\n\n");
        assert_eq!(mask.pass(b"ask"), b"a");
        assert_eq!(mask.pass(b"ed"), b"sked");
        assert_eq!(Mask::of(None).pass(b"sk-1234567"), b"sk-1234567");
    }

    #[test]
    fn a_key_is_taken_out_in_every_form_that_a_server_may_repeat_it_in() {
        let key = "sk-12/34\"56789";
        for written in [
            "sk-12/34\"56789",
            r#"sk-12\/34\"56789"#,
            "sk-12%2F34%2256789",
            "sk-12%2f34%2256789",
            "736b2d31322f3334223536373839",
            "736B2D31322F3334223536373839",
            // `Bearer KEY` as a password of HTTP.
            "QmVhcmVyIHNrLTEyLzM0IjU2Nzg5",
        ] {
            let mut mask = Mask::of([key]);
            let mut out = mask.pass(format!("a {written} b").as_bytes());
            out.extend(mask.rest());
            let out = String::from_utf8(out).unwrap();
            assert!(out.contains("[key]") && !out.contains("34\"56") && !out.contains(written), "{written}: {out}");
        }
    }
}
