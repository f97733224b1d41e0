//! Files that are wrong and what is said of them, each as a person sees it.

mod api;
mod documented;
mod evaluate;
mod gateway;
mod holdout;
mod judge;
mod keys;
mod metric;
mod notify;
mod rest;
mod right;
mod sandbox;
mod surface;
mod syntax;
mod team;

use std::path::Path;

use overnight_model::spec::Spec;

use super::{Problems, Tree, Triplet, parse};

fn parse_in(folder: &str, text: &str) -> Result<Spec, Problems> {
    let tracked = [
        "train.py",
        "prepare.py",
        "overnight.toml",
        "program.md",
        "src/a.py",
        "src/b.py",
        "app/[id]/page.tsx",
        "score.py",
        "labels/test.csv",
    ];
    let there = ["new.py", "/repo/.venv", "/repo/src", "/repo/labels", "/home/ada/data", "/mnt/corpus"];
    let tracked = tracked.map(str::to_owned);
    let tree = Tree {
        tracked: &tracked,
        exists: &|path| there.contains(&path) || path.starts_with("/repo/lab/"),
        names: &|folder| match folder {
            "/repo" => vec![".venv".to_owned(), "src".to_owned()],
            "/home/ada" => vec!["data".to_owned()],
            _ => Vec::new(),
        },
        dir: &Path::new("/repo").join(folder),
        home: Some(Path::new("/home/ada")),
    };
    let triplet = Triplet { file: "overnight.toml", text, study: "speed", folder };
    parse(&triplet, &tree)
}

/// Both are written with a first and a last line break, to stand free in the test.
#[track_caller]
fn assert_refused(text: &str, expected: &str) {
    let text = text.strip_prefix('\n').unwrap_or(text);
    let problems = parse_in("", text).expect_err("the file should be refused");
    assert_eq!(format!("\n{problems}\n"), expected);
}
