//! What a terminal sends when keys are pressed.

/// One key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Ctrl(char),
    Enter,
    Escape,
    Backspace,
    Tab,
    BackTab,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    /// Text that was not typed: it may hold any letter, and none of them is meant as a key.
    Pasted(String),
}

/// Bytes as they come, which may end in the middle of a key.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    bytes: Vec<u8>,
}

const PASTE: &[u8] = b"\x1b[200~";
const PASTED: &[u8] = b"\x1b[201~";
/// A sequence that goes on for longer is none.
const LONGEST: usize = 32;

impl Keys {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The keys that are complete.
    pub(crate) fn take(&mut self) -> Vec<Key> {
        let mut found = Vec::new();
        while let Some((key, length)) = first(&self.bytes) {
            self.bytes.drain(..length);
            found.extend(key);
        }
        found
    }

    /// Nothing more came: an escape that is alone was one.
    pub(crate) fn rest(&mut self) -> Vec<Key> {
        match self.bytes.as_slice() {
            [] => Vec::new(),
            // The end of what is pasted is still on its way.
            bytes if bytes.starts_with(PASTE) => Vec::new(),
            bytes => {
                let is_escape = bytes[0] == 0x1b;
                self.bytes.clear();
                if is_escape { vec![Key::Escape] } else { Vec::new() }
            }
        }
    }
}

/// The first key and how many bytes it took; none where more has to come.
fn first(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let key = |key: Key, length: usize| Some((Some(key), length));
    match bytes {
        [] => None,
        [0x1b, b'[' | b'O', ..] => sequence(bytes),
        [0x1b] => None,
        [0x1b, 0x1b, ..] => key(Key::Escape, 1),
        // Another letter with the Alt key: nothing of ours, and no letter either.
        [0x1b, ..] => Some((None, 2)),
        [b'\r' | b'\n', ..] => key(Key::Enter, 1),
        [b'\t', ..] => key(Key::Tab, 1),
        [0x7f | 0x08, ..] => key(Key::Backspace, 1),
        [control @ 0x01..=0x1a, ..] => key(Key::Ctrl(char::from(control - 1 + b'a')), 1),
        [0x00..=0x1f, ..] => Some((None, 1)),
        [ascii @ 0x20..=0x7e, ..] => key(Key::Char(char::from(*ascii)), 1),
        [lead, ..] => {
            let length = match lead {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => return Some((None, 1)),
            };
            let letter = bytes.get(..length)?;
            match std::str::from_utf8(letter).ok().and_then(|text| text.chars().next()) {
                Some(letter) => key(Key::Char(letter), length),
                None => Some((None, 1)),
            }
        }
    }
}

fn sequence(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    if bytes.starts_with(PASTE) {
        let end = bytes.windows(PASTED.len()).position(|window| window == PASTED)?;
        let text = String::from_utf8_lossy(&bytes[PASTE.len()..end]).into_owned();
        return Some((Some(Key::Pasted(text)), end + PASTED.len()));
    }
    let Some(end) = bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        // What never ends is dropped, or it would swallow every key to come.
        return (bytes.len() > LONGEST).then_some((None, bytes.len()));
    };
    let (parameters, length) = (&bytes[2..2 + end], end + 3);
    let key = match (bytes[2 + end], parameters) {
        (b'A', _) => Some(Key::Up),
        (b'B', _) => Some(Key::Down),
        (b'C', _) => Some(Key::Right),
        (b'D', _) => Some(Key::Left),
        (b'H', _) => Some(Key::Home),
        (b'F', _) => Some(Key::End),
        (b'Z', _) => Some(Key::BackTab),
        (b'M', []) if bytes[1] == b'O' => Some(Key::Enter),
        (b'~', [b'1' | b'7', ..]) => Some(Key::Home),
        (b'~', [b'4' | b'8', ..]) => Some(Key::End),
        (b'~', [b'5', ..]) => Some(Key::PageUp),
        (b'~', [b'6', ..]) => Some(Key::PageDown),
        _ => None,
    };
    Some((key, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<Key> {
        let mut keys = Keys::default();
        keys.push(bytes);
        keys.take()
    }

    #[test]
    fn keys_are_told_apart_as_terminals_send_them() {
        assert_eq!(
            read(b"a\x1b[A\x1bOB\x1b[5~\x1b[1;5C\r\x7f\x03\t\x1b[Z"),
            [
                Key::Char('a'),
                Key::Up,
                Key::Down,
                Key::PageUp,
                Key::Right,
                Key::Enter,
                Key::Backspace,
                Key::Ctrl('c'),
                Key::Tab,
                Key::BackTab
            ]
        );
        assert_eq!(read("é漢".as_bytes()), [Key::Char('é'), Key::Char('漢')]);
        assert_eq!(read(b"\x1bs\xff\x00x"), [Key::Char('x')], "what is none of ours does nothing");
    }

    #[test]
    fn a_key_may_come_in_pieces_and_an_escape_alone() {
        let mut keys = Keys::default();
        for byte in b"\x1b[" {
            keys.push(&[*byte]);
            assert_eq!(keys.take(), []);
        }
        keys.push(b"B");
        assert_eq!(keys.take(), [Key::Down]);
        keys.push(b"\x1b");
        assert_eq!(keys.take(), []);
        assert_eq!(keys.rest(), [Key::Escape]);
        assert_eq!(keys.rest(), []);
    }

    #[test]
    fn what_is_pasted_presses_no_key() {
        let mut keys = Keys::default();
        keys.push(b"\x1b[200~stop\nq\x1b[20");
        assert_eq!((keys.take(), keys.rest()), (Vec::new(), Vec::new()));
        keys.push(b"1~p");
        assert_eq!(keys.take(), [Key::Pasted("stop\nq".into()), Key::Char('p')]);
    }

    #[test]
    fn a_sequence_without_an_end_swallows_nothing_for_ever() {
        let mut keys = Keys::default();
        keys.push(&[&b"\x1b["[..], &[b'1'; 100]].concat());
        keys.take();
        keys.push(b"p");
        assert_eq!(keys.take(), [Key::Char('p')]);
    }
}
