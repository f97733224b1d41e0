//! A page as data: what is said, in which order; how it looks is the work of whoever draws it.
//!
//! Every text is taken for foreign: whoever draws it makes it safe, without exception.

/// A page of sections.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    pub(crate) title: String,
    /// Below the title: what it is of, and when it was made.
    pub(crate) about: Line,
    pub(crate) sections: Vec<Section>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    /// The sentence that matters.
    Lead(Line),
    Text(Line),
    /// Said in a small voice: what is left out, and where it is.
    Note(Line),
    /// Names and what they are.
    Facts(Vec<(String, Line)>),
    List(Vec<Line>),
    Items(Vec<Item>),
    /// Commands and what they are for.
    Commands(Vec<(String, &'static str)>),
    /// What a program printed, or how it was changed.
    Code(String),
    /// What is there to be opened.
    Folds(Vec<Fold>),
    Diff(String),
    Chart,
}

/// Something long, closed at first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fold {
    pub(crate) head: String,
    /// A title and a text each.
    pub(crate) parts: Vec<(String, String)>,
}

/// One experiment, or a group of them, in a list.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Item {
    /// What it is called: a number, or how many.
    pub(crate) name: String,
    /// The figure that counts.
    pub(crate) figure: Option<Span>,
    pub(crate) text: Line,
    pub(crate) details: Vec<Line>,
    /// What it changed.
    pub(crate) diff: Option<String>,
}

/// Words in a row.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Line(pub(crate) Vec<Span>);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Strong,
    /// A command, or a text of a program.
    Code,
    Good,
    Bad,
    Doubt,
    Faint,
}

impl Line {
    pub(crate) fn then(self, text: impl Into<String>) -> Line {
        self.with(text, Tone::Plain)
    }

    pub(crate) fn code(self, text: impl Into<String>) -> Line {
        self.with(text, Tone::Code)
    }

    pub(crate) fn with(mut self, text: impl Into<String>, tone: Tone) -> Line {
        self.0.push(Span { text: text.into(), tone });
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|span| span.text.is_empty())
    }
}

impl Span {
    pub(crate) fn new(text: impl Into<String>, tone: Tone) -> Span {
        Span { text: text.into(), tone }
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Line {
        Line::default().then(text)
    }
}

impl From<String> for Line {
    fn from(text: String) -> Line {
        Line::default().then(text)
    }
}

impl Section {
    pub(crate) fn new(title: &str, blocks: Vec<Block>) -> Section {
        Section { title: title.to_owned(), blocks }
    }
}

impl Block {
    pub(crate) fn facts(facts: Vec<(&'static str, Line)>) -> Block {
        Block::Facts(facts.into_iter().map(|(name, said)| (name.to_owned(), said)).collect())
    }
}
