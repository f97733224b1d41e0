//! The floor: who does nothing, says always the same, or guesses must not win, on any example.

use std::path::Path;

use overnight_engine::clock::Stopwatch;
use overnight_model::spec::{Assurance, Tier};

use super::cells::Cell;
use super::fixture::{Fixture, Host};
use crate::error::Outcome;

const TRIPLET: &str = include_str!("../../../../../examples/cache/overnight.toml");
const SURFACE: &str = include_str!("../../../../../examples/cache/cache.py");
const EVALUATION: &str = include_str!("../../../../../examples/cache/evaluate.py");
const PROGRAM: &str = include_str!("../../../../../examples/cache/program.md");

const ALWAYS: &str = "class Cache:
    def __init__(self, capacity):
        pass

    def ask(self, page):
        return ANSWER

    def pages(self):
        return []
";

/// Or why it could not be tried.
pub(crate) fn floor(root: &Path, host: &Host, tier: Tier) -> Outcome<Result<Vec<Cell>, String>> {
    let files = [
        ("overnight.toml", TRIPLET.to_owned()),
        ("cache.py", SURFACE.to_owned()),
        ("evaluate.py", EVALUATION.to_owned()),
        ("program.md", PROGRAM.to_owned()),
    ];
    let token = "attacked-cache".to_owned();
    let fixture = Fixture::of_files(root.join("cache"), host, tier, token, &files)?.with_system_tools();
    if fixture.overnight(&["run", "--no-tui", "--experiments", "0", "--sandbox", tier.name()])?.code != Some(0) {
        return Ok(Err("the baseline of examples/cache does not run here: it needs Python 3".to_owned()));
    }
    let always = |answer: &str| ALWAYS.replace("ANSWER", answer);
    let mut cells = Vec::new();
    for (name, candidate, wanted) in [
        ("cache: an empty edit", SURFACE.to_owned(), &["no_change"][..]),
        ("cache: always a hit", always("True"), &["crashed"]),
        ("cache: always a miss", always("False"), &["discarded"]),
        ("cache: a guess", format!("import random\n{}", always("random.random() < 0.5")), &["crashed"]),
    ] {
        let since = Stopwatch::start();
        let before = fixture.before();
        let row = fixture.try_candidate(&name.replace([' ', ':'], "-"), &candidate)?;
        let got = row["verdict"].as_str().unwrap_or("null").to_owned();
        let problem = match wanted.contains(&got.as_str()) {
            true => fixture.broken_since(&before, false),
            false => Some(row["reason"].as_str().unwrap_or_default().to_owned()),
        };
        cells.push(Cell {
            attack: name.to_owned(),
            level: Assurance::Cooperative.name(),
            tier: tier.name(),
            expected: wanted.join(" or "),
            got,
            problem,
            is_said: false,
            seconds: since.elapsed().as_secs_f64(),
        });
    }
    Ok(Ok(cells))
}
