//! What README and docs say is true: transcripts are played, links followed, commands and keys looked up.
//!
//! `OVERNIGHT_UPDATE_DOCS=1 cargo nextest run -p overnight docs` writes what the commands print now.

mod claims;
mod page;
mod scenes;
mod transcripts;

use std::fs;
use std::path::{Path, PathBuf};

use page::Page;

/// Whether pages are to be corrected instead of held against the program.
fn updates() -> bool {
    std::env::var_os("OVERNIGHT_UPDATE_DOCS").is_some_and(|value| value != "0")
}

/// The top of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// README and the book: what users read.
fn book() -> Vec<Page> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    paths.sort();
    paths.insert(0, root().join("README.md"));
    assert!(paths.len() > 8, "the book is not where it was: {paths:?}");
    paths.into_iter().map(Page::read).collect()
}

/// The book, and what those read who work on it.
fn everything() -> Vec<Page> {
    let mut pages = book();
    let others = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "examples/cache/README.md"];
    pages.extend(others.map(|name| Page::read(root().join(name))));
    pages
}
