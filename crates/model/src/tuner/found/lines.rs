//! Lines of a text, counted on the way.

/// Counts lines on the way: positions are asked for in their order, or nearly so.
pub(super) struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Lines<'a> {
        Lines { text, at: 0, line: 1 }
    }

    pub(super) fn of(&mut self, position: usize) -> usize {
        if position < self.at {
            (self.at, self.line) = (0, 1);
        }
        let passed = self.text.as_bytes().get(self.at..position).unwrap_or_default();
        self.line += passed.iter().filter(|byte| **byte == b'\n').count();
        self.at = position;
        self.line
    }
}
