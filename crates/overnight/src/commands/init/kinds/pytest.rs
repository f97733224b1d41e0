//! Tests of pytest-benchmark.

use super::super::look::{Look, extension_of, folder_of, name_of, word};
use super::super::proposal::{Key, Proposal, Sure};
use super::super::reach;
use super::python::{python, with_root};
use super::take_goal;

/// Tests are read until this many had a look: benchmarks seldom hide behind more.
const MOST_TESTS: usize = 80;
/// More are named by their folder.
const MOST_NAMED: usize = 3;
/// The geometric mean, so that each benchmark counts by its ratio and not by its length.
const READ: &str = r#"-c 'import json, statistics as s, sys; b = json.load(open(sys.argv[1]))["benchmarks"]; print("median_s:", s.geometric_mean(x["stats"]["median"] for x in b))' "$TMPDIR/b.json""#;

pub(super) fn recognise(look: &Look) -> Option<Proposal> {
    let benchmarks = benchmarks(look);
    let first = benchmarks.first()?;
    let mut proposal = Proposal::new("pytest-benchmark", format!("pytest-benchmark ({first})"), Sure::Harness);
    let named = match benchmarks.len() {
        0..=MOST_NAMED => benchmarks.iter().map(|path| word(path)).collect::<Vec<_>>().join(" "),
        _ => word(common_folder(&benchmarks)),
    };
    let python = python(look);
    surface(look, &mut proposal, &benchmarks);
    let pytest = |flags: &str| with_root(look, &proposal.surface, &format!("{python} -m pytest -q {flags}"));
    let measured = pytest(&format!("{named} --benchmark-only --benchmark-json=\"$TMPDIR/b.json\""));
    let guard = pytest("--benchmark-disable");
    proposal.run = format!("{measured} && {python} {READ}");
    proposal.because(Key::Run, "the benchmarks, then a line that reads pytest-benchmark's JSON");
    proposal.metric = "median_s".to_owned();
    proposal.because(
        Key::Metric,
        match benchmarks.len() {
            1 => "the median of its time, the geometric mean where it has several benchmarks",
            _ => "the medians of their times, put together as a geometric mean",
        },
    );
    take_goal(&mut proposal, "");
    proposal.budget = "2m".to_owned();
    proposal.because(Key::Budget, "pytest-benchmark takes about a second for each benchmark");
    let others = tests(look).find(|path| !benchmarks.contains(path));
    if let Some(other) = others {
        proposal.guard = Some(guard);
        proposal.because(Key::Guard, format!("the tests ({other} …) must still pass"));
    }
    proposal.sources = benchmarks;
    Some(proposal)
}

/// The files with a test that takes the fixture `benchmark`.
fn benchmarks(look: &Look) -> Vec<String> {
    let mut candidates: Vec<&String> = tests(look).collect();
    // Those that say what they are come first; the rest is read only as far as there is patience.
    candidates.sort_by_key(|path| !path.contains("bench"));
    candidates.truncate(MOST_TESTS);
    let has_one = |path: &str| look.text(path).is_some_and(|text| text.lines().any(takes_benchmark));
    let mut found: Vec<String> = candidates.into_iter().filter(|path| has_one(path)).cloned().collect();
    found.sort();
    found
}

fn tests(look: &Look) -> impl Iterator<Item = &String> {
    let is_test = |path: &str| {
        let name = name_of(path);
        name.starts_with("test_") || name.ends_with("_test.py") || name.starts_with("bench")
    };
    look.tracked().iter().filter(move |path| extension_of(path) == "py" && is_test(path) && reach::is_plain(path))
}

fn takes_benchmark(line: &str) -> bool {
    let Some(rest) = line.trim_start().trim_start_matches("async ").strip_prefix("def test") else { return false };
    let arguments = rest.split_once('(').map_or("", |(_, arguments)| arguments);
    arguments.split([',', ')', ':']).any(|argument| argument.trim() == "benchmark")
}

fn surface(look: &Look, proposal: &mut Proposal, benchmarks: &[String]) {
    let mut by = None;
    for path in benchmarks {
        if let Some((files, found_by)) = reach::surface(look, path) {
            by = by.or(found_by);
            let new = files.into_iter().filter(|file| !reach::measures(file));
            let new: Vec<String> = new.filter(|file| !proposal.surface.contains(file)).collect();
            proposal.surface.extend(new);
        }
    }
    proposal.surface.truncate(4);
    if let Some(by) = by {
        proposal
            .because(Key::Surface, format!("{by} imports {}", if proposal.surface.len() == 1 { "it" } else { "them" }));
    }
}

fn common_folder(paths: &[String]) -> &str {
    let mut folder = folder_of(&paths[0]);
    while !paths.iter().all(|path| folder.is_empty() || path.starts_with(&format!("{folder}/"))) {
        folder = folder_of(folder);
    }
    if folder.is_empty() { "." } else { folder }
}
