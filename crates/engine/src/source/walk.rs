//! One pass over a syntax tree, in the order of the text and without recursion: what of it is code.

use std::ops::Range;

use tree_sitter::Tree;

use super::Language;

/// Comments that a compiler, a bundler or the system reads. Without them the program is another.
const DIRECTIVES: [&str; 13] = [
    "//go:",
    "//export ",
    "//line ",
    "// +build",
    "coding:",
    "coding=",
    "cython:",
    "pythran export",
    "__PURE__",
    "__NO_SIDE_EFFECTS__",
    "webpack",
    "@vite-ignore",
    "@jsx",
];

/// A part of a program that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item<'a> {
    /// A node that has parts of its own.
    Branch(Node<'a>),
    /// A token, or a string as a whole with the tokens in it.
    Leaf { node: Node<'a>, text: &'a [u8], tokens: u64 },
    /// Characters that belong to no node of the tree, and yet are no layout.
    Between(&'a [u8]),
    /// A blank or the end of a line in a place where it has a meaning.
    Blank,
}

/// Where something stands in its tree, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node<'a> {
    pub(super) depth: u32,
    pub(super) field: &'a str,
    pub(super) kind: &'a str,
}

/// Gives everything that counts to `see`, each with where it starts in the text.
pub(super) fn walk<'a>(language: Language, tree: &'a Tree, text: &'a [u8], see: impl FnMut(usize, Item<'a>)) {
    // What stands above `import "C"` is compiled.
    let reads_comments = language == Language::Go && text.windows(3).any(|window| window == b"\"C\"");
    let mut reading = Reading { language, text, seen: 0, last: 0..0, see };
    let mut cursor = tree.walk();
    let mut depth = 0;
    // In a string there are tokens to be counted, and nothing else to be seen.
    let mut string: Option<(Node<'a>, Range<usize>, u64)> = None;
    loop {
        let found = cursor.node();
        let node = Node { depth, field: cursor.field_name().unwrap_or_default(), kind: found.kind() };
        let span = found.byte_range();
        let is_comment = is_comment(node.kind);
        let is_layout = match is_comment {
            true => !reads_comments && !is_directive(&text[span.clone()]),
            false => is_filler(language, node.kind, &text[span.clone()]),
        };
        let has_parts = found.child_count() > 0;
        let mut enters = has_parts;
        match &mut string {
            // The root says nothing; without it a file of comments is an empty file.
            _ if depth == 0 => {}
            Some((_, _, tokens)) => *tokens += u64::from(!has_parts && !span.is_empty()),
            None if is_layout => {
                enters = false;
                reading.skip(span);
            }
            None if has_parts && (is_comment || language.is_verbatim(node.kind)) => string = Some((node, span, 0)),
            None if has_parts => reading.branch(span.start, node),
            None => reading.leaf(span, node, 1),
        }
        if enters && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return reading.end();
            }
            depth -= 1;
            if let Some((node, span, tokens)) = string.take_if(|(node, ..)| node.depth == depth) {
                reading.leaf(span, node, tokens.max(1));
            }
        }
    }
}

struct Reading<'a, See> {
    language: Language,
    text: &'a [u8],
    /// Everything before it was seen or is layout.
    seen: usize,
    /// The last token.
    last: Range<usize>,
    see: See,
}

impl<'a, See: FnMut(usize, Item<'a>)> Reading<'a, See> {
    fn skip(&mut self, span: Range<usize>) {
        self.between(span.start);
        self.seen = self.seen.max(span.end);
    }

    fn branch(&mut self, start: usize, node: Node<'a>) {
        self.between(start);
        (self.see)(start, Item::Branch(node));
    }

    fn leaf(&mut self, span: Range<usize>, node: Node<'a>, tokens: u64) {
        self.between(span.start);
        let text = &self.text[span.clone()];
        let gap = self.text.get(self.last.end..span.start).unwrap_or_default();
        let before = &self.text[self.last.clone()];
        if !before.is_empty() && means_something(self.language, before, gap, text) {
            (self.see)(span.start, Item::Blank);
        }
        let tokens = if text.is_empty() { 0 } else { tokens };
        (self.see)(span.start, Item::Leaf { node, text, tokens });
        self.seen = self.seen.max(span.end);
        if !text.is_empty() {
            self.last = span;
        }
    }

    fn end(mut self) {
        self.between(self.text.len());
    }

    /// Grammars have tokens that they do not show.
    fn between(&mut self, end: usize) {
        let gap = self.text.get(self.seen..end).unwrap_or_default().trim_ascii();
        let is_layout = gap.split(|byte| *byte == b'\n').all(|line| matches!(line.trim_ascii(), b"" | b"\\"));
        if !is_layout {
            (self.see)(self.seen, Item::Between(gap));
        }
        self.seen = self.seen.max(end);
    }
}

fn is_comment(kind: &str) -> bool {
    matches!(kind, "comment" | "line_comment" | "block_comment" | "html_comment")
}

/// Whether it says nothing beside the shape of the tree.
fn is_filler(language: Language, kind: &str, text: &[u8]) -> bool {
    let is_blank = !text.is_empty() && text.iter().all(u8::is_ascii_whitespace);
    kind == "line_continuation" || kind == ";" && language.ends_lines() || is_blank && !language.is_verbatim(kind)
}

fn is_directive(comment: &[u8]) -> bool {
    let holds = |word: &&str| comment.windows(word.len()).any(|window| window == word.as_bytes());
    comment.starts_with(b"#!") || DIRECTIVES.iter().any(holds)
}

/// Whether what lies between two tokens counts although it is blank.
fn means_something(language: Language, before: &[u8], gap: &[u8], after: &[u8]) -> bool {
    match language {
        // `[ a=b ]` is no comparison.
        Language::Bash => !gap.is_empty(),
        // Here the end of a line ends the statement, whatever grammars make of it.
        Language::JavaScript | Language::Tsx | Language::TypeScript => {
            let ends = matches!(before, b"return" | b"break" | b"continue" | b"throw" | b"yield" | b"async");
            (ends || matches!(after, b"++" | b"--" | b"=>")) && gap.contains(&b'\n')
        }
        _ => false,
    }
}
