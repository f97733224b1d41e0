//! Reads JSON as it streams by and keeps nothing of it but where it is: an answer of any length takes the same memory.

/// Deeper than any provider nests; what goes on beyond it is no answer.
const MOST_DEPTH: usize = 256;
/// What is looked for lies near the top.
const NAMED_DEPTH: usize = 5;
/// The names of models and reasons are shorter, and so is every key on the way to them.
const MOST_TEXT: usize = 160;

/// What was found on the way.
#[derive(Debug, PartialEq)]
pub(super) enum Seen<'a> {
    /// A text, by the keys that lead to it: `message.usage.output_tokens`. Elements of a list are `[]`.
    Text { path: &'a str, text: &'a str },
    /// A number, as it is written, or another bare word.
    Word { path: &'a str, word: &'a str },
    /// Something else where a number could have been.
    Other { path: &'a str },
    /// A whole document ended: an object, or one of a list of them.
    Document { in_list: bool },
}

/// Where in a document it is.
#[derive(Debug, Clone)]
pub(super) struct Scan {
    at: At,
    /// Whether each container that is open is an object.
    objects: [u64; MOST_DEPTH / 64],
    depth: usize,
    /// The keys to where it is, and where in it each of them begins.
    path: String,
    begins: Vec<usize>,
    /// What is being read: a text, or a bare word.
    text: Vec<u8>,
    /// Whether that is more, or other, than what is kept.
    is_odd: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Value,
    ValueOrEnd,
    KeyOrEnd,
    Key,
    Colon,
    CommaOrEnd,
    Text {
        is_key: bool,
    },
    Escape {
        is_key: bool,
    },
    Word,
    /// Between documents.
    Over,
    Broken,
}

impl Scan {
    pub(super) fn new() -> Scan {
        let (path, begins, text) = (String::new(), Vec::new(), Vec::new());
        Scan { at: At::Value, objects: [0; MOST_DEPTH / 64], depth: 0, path, begins, text, is_odd: false }
    }

    /// Begins anew, for another document.
    pub(super) fn reset(&mut self) {
        (self.at, self.depth, self.is_odd) = (At::Value, 0, false);
        self.path.clear();
        self.begins.clear();
        self.text.clear();
    }

    pub(super) fn feed(&mut self, bytes: &[u8], see: &mut impl FnMut(Seen<'_>)) {
        for byte in bytes {
            self.take(*byte, see);
        }
    }

    /// How many bytes it holds.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.path.capacity() + self.text.capacity() + self.begins.capacity() * size_of::<usize>()
    }

    fn take(&mut self, byte: u8, see: &mut impl FnMut(Seen<'_>)) {
        match self.at {
            At::Broken => {}
            At::Text { is_key } => match byte {
                b'"' => self.end_text(is_key, see),
                b'\\' => self.at = At::Escape { is_key },
                byte => self.keep(byte),
            },
            At::Escape { is_key } => {
                // Names have no other ones; what has is passed over.
                match byte {
                    b'"' | b'\\' | b'/' => self.keep(byte),
                    _ => self.is_odd = true,
                }
                self.at = At::Text { is_key };
            }
            At::Word if byte.is_ascii_alphanumeric() || b"+-.".contains(&byte) => self.keep(byte),
            At::Word => {
                self.end_word(see);
                self.take(byte, see);
            }
            _ if byte.is_ascii_whitespace() => {}
            At::Value | At::ValueOrEnd => self.begin_value(byte, see),
            At::Key | At::KeyOrEnd => match byte {
                b'"' => self.begin_text(true),
                b'}' if self.at == At::KeyOrEnd => self.close(true, see),
                _ => self.at = At::Broken,
            },
            At::Colon => self.at = if byte == b':' { At::Value } else { At::Broken },
            At::CommaOrEnd => match byte {
                b',' if self.is_object() => {
                    self.leave_key();
                    self.at = At::Key;
                }
                b',' => self.at = At::Value,
                b'}' | b']' => self.close(byte == b'}', see),
                _ => self.at = At::Broken,
            },
            At::Over => self.at = At::Broken,
        }
    }

    fn begin_value(&mut self, byte: u8, see: &mut impl FnMut(Seen<'_>)) {
        match byte {
            b'{' | b'[' => {
                if self.depth == MOST_DEPTH {
                    self.at = At::Broken;
                    return;
                }
                self.tell(see, |path| Seen::Other { path });
                let is_object = byte == b'{';
                let (word, bit) = (self.depth / 64, 1 << (self.depth % 64));
                if is_object {
                    self.objects[word] |= bit;
                } else {
                    self.objects[word] &= !bit;
                }
                self.depth += 1;
                if !is_object {
                    // Of a list of documents each is one of its own.
                    self.enter(if self.depth == 1 { "" } else { "[]" });
                }
                self.at = if is_object { At::KeyOrEnd } else { At::ValueOrEnd };
            }
            b']' if self.at == At::ValueOrEnd => self.close(false, see),
            b'"' => self.begin_text(false),
            byte if byte.is_ascii_alphanumeric() || byte == b'-' => {
                self.text.clear();
                self.is_odd = false;
                self.at = At::Word;
                self.keep(byte);
            }
            _ => self.at = At::Broken,
        }
    }

    fn begin_text(&mut self, is_key: bool) {
        self.text.clear();
        self.is_odd = false;
        self.at = At::Text { is_key };
    }

    fn keep(&mut self, byte: u8) {
        match self.text.len() < MOST_TEXT {
            true => self.text.push(byte),
            false => self.is_odd = true,
        }
    }

    fn end_text(&mut self, is_key: bool, see: &mut impl FnMut(Seen<'_>)) {
        let text = std::mem::take(&mut self.text);
        // No key has such a name.
        let read = str::from_utf8(&text).ok().filter(|_| !self.is_odd);
        if is_key {
            self.enter(read.unwrap_or("\0"));
            self.at = At::Colon;
        } else {
            match read {
                Some(text) => self.tell(see, |path| Seen::Text { path, text }),
                None => self.tell(see, |path| Seen::Other { path }),
            }
            self.end_value();
        }
        self.text = text;
    }

    fn end_word(&mut self, see: &mut impl FnMut(Seen<'_>)) {
        let text = std::mem::take(&mut self.text);
        match str::from_utf8(&text).ok().filter(|_| !self.is_odd) {
            Some(word) => self.tell(see, |path| Seen::Word { path, word }),
            None => self.tell(see, |path| Seen::Other { path }),
        }
        self.text = text;
        self.end_value();
    }

    fn close(&mut self, is_object: bool, see: &mut impl FnMut(Seen<'_>)) {
        if self.is_object() != is_object {
            self.at = At::Broken;
            return;
        }
        // A list has one name for all of its elements; the key of an object's last value is still there.
        if !is_object || self.at == At::CommaOrEnd {
            self.leave_key();
        }
        self.depth -= 1;
        let in_list = self.depth == 1 && self.objects[0] & 1 == 0;
        if is_object && (self.depth == 0 || in_list) {
            see(Seen::Document { in_list });
        }
        self.end_value();
    }

    fn end_value(&mut self) {
        self.at = if self.depth == 0 { At::Over } else { At::CommaOrEnd };
    }

    fn is_object(&self) -> bool {
        self.depth > 0 && self.objects[(self.depth - 1) / 64] & (1 << ((self.depth - 1) % 64)) != 0
    }

    fn enter(&mut self, key: &str) {
        if self.begins.len() < NAMED_DEPTH && self.begins.len() + 1 == self.depth {
            self.begins.push(self.path.len());
            if !self.path.is_empty() && !key.is_empty() {
                self.path.push('.');
            }
            self.path.push_str(key);
        }
    }

    fn leave_key(&mut self) {
        if self.begins.len() == self.depth
            && let Some(begin) = self.begins.pop()
        {
            self.path.truncate(begin);
        }
    }

    /// Where it is too deep to have a name, nobody looks for it.
    fn tell<'a>(&'a self, see: &mut impl FnMut(Seen<'_>), seen: impl FnOnce(&'a str) -> Seen<'a>) {
        if self.begins.len() == self.depth && self.depth > 0 {
            see(seen(&self.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut scan = Scan::new();
        scan.feed(text.as_bytes(), &mut |seen| {
            found.push(match seen {
                Seen::Text { path, text } => format!("{path}='{text}'"),
                Seen::Word { path, word } => format!("{path}={word}"),
                Seen::Other { path } => format!("{path}…"),
                Seen::Document { in_list } => format!("end {in_list}"),
            });
        });
        found
    }

    #[test]
    fn values_are_told_by_the_keys_that_lead_to_them() {
        let text = r#" { "a" : 1 , "b":{"c":[{"d":"x"},{"d":true}],"e":-2.5e1},"f":null} "#;
        let all = ["a=1", "b…", "b.c…", "b.c.[]…", "b.c.[].d='x'", "b.c.[]…", "b.c.[].d=true", "b.e=-2.5e1", "f=null"];
        assert_eq!(seen(text), [&all[..], &["end false"]].concat());
    }

    #[test]
    fn every_element_of_a_list_of_documents_is_one() {
        assert_eq!(seen(r#"[{"a":1},{"a":2}]"#), ["…", "a=1", "end true", "…", "a=2", "end true"]);
        assert_eq!(seen("[]"), [] as [&str; 0]);
    }

    #[test]
    fn what_is_too_deep_or_too_long_has_no_name_and_spoils_nothing() {
        let deep = format!(r#"{{"x":{}1{},"y":2}}"#, "[".repeat(200), "]".repeat(200));
        let found = seen(&deep);
        assert_eq!(found[found.len() - 2..], ["y=2", "end false"]);
        let long = format!(r#"{{"{}":1,"m":"{}","y":2}}"#, "k".repeat(500), "v".repeat(500));
        assert_eq!(seen(&long), ["\0=1", "m…", "y=2", "end false"]);
        assert_eq!(seen(&"[".repeat(100_000)).last().unwrap(), "[].[].[].[]…");
    }

    #[test]
    fn what_is_no_json_ends_the_reading_of_it() {
        for broken in ["{]", "{\"a\" 1}", "{1:2}", "[1}", "{\"a\":1}x", "{\"a\":,}", "{\"a\":1,}"] {
            let mut scan = Scan::new();
            scan.feed(broken.as_bytes(), &mut |_| {});
            assert_eq!(scan.at, At::Broken, "{broken}");
        }
    }
}
