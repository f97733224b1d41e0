//! Finds what a file offers to be tuned: where values stand, and what they are called.
//!
//! What of it is tuned, and within which range, is decided by [`overnight_model::tuner::found`].

mod assign;
mod call;
mod enter;
mod named;
mod plan;
mod scan;
mod walk;

use overnight_model::tuner::found::{Found, gather};

use super::{Language, parse};

/// A longer list of values is data; the first ones say as much.
const CANDIDATES_LIMIT: usize = 20_000;

/// The values of a text that can be tuned, and those that are left alone. Spans are bytes of `text`, which may be a part of
/// the file at `path`.
///
/// A text without a grammar, or one that does not parse, is read line by line.
pub fn literals(path: &str, text: &str) -> Found {
    // In a shell everything is a word: its grammar tells no more than the lines do.
    let language = Language::of(path).filter(|language| *language != Language::Bash);
    let tree = language.and_then(|language| parse(language, text.as_bytes()));
    let (candidates, remarks) = match &tree {
        Some(tree) => walk::candidates(tree, text),
        None => scan::candidates(text, language.is_some()),
    };
    gather(path, text, candidates, remarks)
}
