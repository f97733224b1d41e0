//! Files that are wrong and what is said of them, each as a person sees it.

mod evaluate;
mod keys;
mod metric;
mod rest;
mod right;
mod surface;
mod syntax;

use overnight_model::spec::Spec;

use super::{Problems, Tree, Triplet, parse};

fn parse_in(folder: &str, text: &str) -> Result<Spec, Problems> {
    let tracked =
        ["train.py", "prepare.py", "overnight.toml", "program.md", "src/a.py", "src/b.py", "app/[id]/page.tsx"];
    let tracked = tracked.map(str::to_owned);
    let tree = Tree { tracked: &tracked, exists: &|path| path == "new.py" };
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
