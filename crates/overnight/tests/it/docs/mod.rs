//! What README and docs say is true: transcripts are played, links followed, commands and keys looked up.
//!
//! `OVERNIGHT_UPDATE_DOCS=1 cargo nextest run -p overnight docs` writes what the commands print now, where that differs in
//! more than numbers that are never the same; `OVERNIGHT_UPDATE_DOCS=all` writes all of it anew.

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

/// Whether numbers that are never the same are written anew, too.
fn updates_all() -> bool {
    std::env::var_os("OVERNIGHT_UPDATE_DOCS").is_some_and(|value| value == "all")
}

/// The top of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// README and the book: what users read.
fn book() -> Vec<Page> {
    let mut paths = files(&root().join("docs"));
    paths.retain(|path| path.extension().is_some_and(|end| end == "md"));
    paths.insert(0, root().join("README.md"));
    assert!(paths.len() > 8, "the book is not where it was: {paths:?}");
    paths.into_iter().map(Page::read).collect()
}

/// The book, its guides and examples, and what those read who work on it.
fn everything() -> Vec<Page> {
    let mut pages = book();
    pages.extend(["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(|name| Page::read(root().join(name))));
    // Their screens need packages from the network, so nobody plays them here.
    let guides = files(&root().join("docs/guides"));
    let examples = files(&root().join("examples")).into_iter().map(|folder| folder.join("README.md"));
    pages.extend(guides.into_iter().chain(examples).map(Page::read));
    pages
}

/// What lies in a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
