//! Server-sent events as they stream by: what belongs to the data of one is handed on at once, and nothing is kept.

/// What a byte of the stream means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Data(&'a [u8]),
    /// An event is over.
    End,
}

const FIELD: &[u8] = b"data:";

/// Where in a line it is.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    at: At,
    /// Whether the last byte was a carriage return, which a line feed may follow.
    after_return: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// So many bytes of a line, all of them as in `data:`.
    Name(usize),
    /// One blank may follow the colon.
    Blank,
    Data,
    Other,
}

impl Default for At {
    fn default() -> At {
        At::Name(0)
    }
}

impl Lines {
    pub(super) fn feed(&mut self, bytes: &[u8], see: &mut impl FnMut(Piece<'_>)) {
        let mut data_from = None;
        for (index, byte) in bytes.iter().enumerate() {
            if let Some(from) = data_from.filter(|_| matches!(byte, b'\n' | b'\r')) {
                see(Piece::Data(&bytes[from..index]));
                data_from = None;
            }
            match byte {
                b'\n' if std::mem::take(&mut self.after_return) => continue,
                b'\n' | b'\r' => {
                    match self.at {
                        At::Name(0) => see(Piece::End),
                        // Lines of one event's data are lines of one text.
                        At::Blank | At::Data => see(Piece::Data(b"\n")),
                        At::Name(_) | At::Other => {}
                    }
                    self.at = At::Name(0);
                }
                byte => match self.at {
                    At::Name(so_far) if FIELD[so_far] == *byte => {
                        self.at = if so_far + 1 == FIELD.len() { At::Blank } else { At::Name(so_far + 1) };
                    }
                    At::Name(_) => self.at = At::Other,
                    At::Blank => {
                        self.at = At::Data;
                        if *byte != b' ' {
                            data_from = Some(index);
                        }
                    }
                    At::Data => data_from = data_from.or(Some(index)),
                    At::Other => {}
                },
            }
            self.after_return = *byte == b'\r';
        }
        if let Some(from) = data_from {
            see(Piece::Data(&bytes[from..]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&str]) -> Vec<String> {
        let (mut lines, mut events, mut now) = (Lines::default(), Vec::new(), String::new());
        for piece in pieces {
            lines.feed(piece.as_bytes(), &mut |piece| match piece {
                Piece::Data(bytes) => now += std::str::from_utf8(bytes).unwrap(),
                Piece::End => events.push(std::mem::take(&mut now)),
            });
        }
        events
    }

    #[test]
    fn the_data_of_an_event_is_told_wherever_the_stream_is_cut() {
        let text = "event: x\ndata: {\"a\":1}\n\n: ping\r\n\r\ndata:b\r\ndata:  c\r\n\r\ndatum: no\rdata: d\r\r";
        let whole = ["{\"a\":1}\n", "", "b\n c\n", "d\n"];
        assert_eq!(events(&[text]), whole);
        let bytes: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(events(&bytes.iter().map(String::as_str).collect::<Vec<_>>()), whole);
    }
}
