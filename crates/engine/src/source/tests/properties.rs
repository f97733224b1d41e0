//! What holds for every edit of a program, tried on one that uses most of its language.

use proptest::prelude::*;

use super::{Language, id};
use crate::source::walk::{Item, walk};
use crate::source::{form, parse};

const PYTHON: &str = include_str!("sample.py");

/// Where a line may be put in between, by the number of the line after it: nowhere inside of a string or an expression.
fn boundaries() -> Vec<usize> {
    let tree = parse(Language::Python, PYTHON.as_bytes()).unwrap();
    let mut rows = Vec::new();
    let mut waiting = vec![tree.root_node()];
    while let Some(node) = waiting.pop() {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            if matches!(node.kind(), "module" | "block") {
                rows.push(child.start_position().row);
            }
            waiting.push(child);
        }
    }
    rows
}

/// Where each token is.
fn tokens() -> Vec<std::ops::Range<usize>> {
    let tree = parse(Language::Python, PYTHON.as_bytes()).unwrap();
    let mut found = Vec::new();
    walk(Language::Python, &tree, PYTHON.as_bytes(), |start, item| {
        if let Item::Leaf { text, tokens: 1.., .. } = item {
            found.push(start..start + text.len());
        }
    });
    found
}

proptest! {
    #[test]
    fn comments_and_blank_lines_between_statements_change_nothing(
        added in prop::collection::vec((any::<prop::sample::Index>(), "[ \t]{0,6}(#[ -~]{0,20})?"), 0..20)
    ) {
        let rows = boundaries();
        let mut lines: Vec<String> = PYTHON.lines().map(str::to_owned).collect();
        let is_plain = |text: &str| !["coding", "cython", "#!", "pythran"].iter().any(|word| text.contains(word));
        let mut added: Vec<_> = added.into_iter().map(|(at, text)| (rows[at.index(rows.len())], text)).collect();
        added.sort();
        for (row, text) in added.into_iter().rev().filter(|(_, text)| is_plain(text)) {
            lines.insert(row, text);
        }
        prop_assert_eq!(id("a.py", PYTHON), id("a.py", &(lines.join("\n") + "\n")));
    }

    #[test]
    fn another_token_is_another_program(at in any::<prop::sample::Index>(), token in "[a-z]{1,3}|[0-9]{1,3}|[-+*/%<>]|'[a-z ]{0,3}'") {
        let tokens = tokens();
        let span = tokens[at.index(tokens.len())].clone();
        prop_assume!(PYTHON[span.clone()] != token);
        let text = [&PYTHON[..span.start], " ", &token, " ", &PYTHON[span.end..]].concat();
        let known = form("a.py", PYTHON.as_bytes()).unwrap();
        prop_assert_ne!(form("a.py", text.as_bytes()).map(|form| form.id), Some(known.id));
    }

    #[test]
    fn a_token_less_is_another_program(at in any::<prop::sample::Index>()) {
        let tokens = tokens();
        let span = tokens[at.index(tokens.len())].clone();
        let text = [&PYTHON[..span.start], " ", &PYTHON[span.end..]].concat();
        prop_assert_ne!(form("a.py", text.as_bytes()).map(|form| form.id), Some(id("a.py", PYTHON)));
    }

    #[test]
    fn any_text_has_a_form_or_none(text in "[ -~\n\t]{0,200}", extension in "py|js|ts|tsx|rs|c|cpp|go|toml|yaml|json|sh") {
        let path = format!("a.{extension}");
        prop_assert_eq!(form(&path, text.as_bytes()), form(&path, text.as_bytes()));
    }
}

#[test]
fn a_statement_that_leaves_its_block_is_another_program() {
    let known = id("a.py", PYTHON);
    let mut moved = 0;
    let lines: Vec<&str> = PYTHON.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let Some(dedented) = line.strip_prefix("    ") else { continue };
        let text = [&lines[..at], &[dedented], &lines[at + 1..]].concat().join("\n") + "\n";
        if let Some(form) = form("a.py", text.as_bytes()) {
            moved += 1;
            assert_ne!(known, form.id, "line {at}: {line}");
        }
    }
    assert!(moved > 5, "{moved}");
}
