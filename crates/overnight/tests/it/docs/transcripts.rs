//! Transcripts and generated parts: what a page shows is what the commands print.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;

use regex::Regex;

use super::page::{Block, Page};
use super::{book, scenes, updates, updates_all};
use crate::support::Repo;

/// Where a reader is to imagine the repository.
const PROJECT: &str = "/home/ann/project";
const HINT: &str = "write it anew with: OVERNIGHT_UPDATE_DOCS=1 cargo nextest run -p overnight docs";

/// A command line and what it printed.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    command: String,
    output: String,
}

/// A part of a page, and what it should be.
struct Edit {
    range: Range<usize>,
    text: String,
}

#[test]
fn every_transcript_and_generated_part_is_what_the_commands_print() {
    let (mut wrong, mut played, mut generated) = (Vec::new(), 0, 0);
    let pages = book();
    // Each page has repositories of its own, and most of the time is waiting for disks.
    let found: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = pages.iter().map(|page| scope.spawn(|| (transcripts(page), generations(page)))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (page, ((mut edits, commands), (more, parts))) in pages.iter().zip(found) {
        (played, generated) = (played + commands, generated + parts);
        edits.extend(more);
        let line = |edit: &Edit| page.text[..edit.range.start].matches('\n').count() + 1;
        wrong.extend(edits.iter().map(|edit| format!("{}:{} should be\n\n{}", page.name(), line(edit), edit.text)));
        if updates() && !edits.is_empty() {
            edits.sort_by_key(|edit| edit.range.start);
            let mut text = page.text.clone();
            edits.into_iter().rev().for_each(|Edit { range, text: new }| text.replace_range(range, &new));
            fs::write(&page.path, text).unwrap();
        }
    }
    assert!(played > 10 && generated > 1, "{played} commands of transcripts and {generated} generated parts");
    assert!(updates() || wrong.is_empty(), "{}\n\n{HINT}", wrong.join("\n\n"));
}

#[test]
fn every_block_that_looks_like_a_transcript_has_a_scene() {
    for page in book() {
        for block in page.blocks() {
            let looks = block.language == "console" || block.text.lines().any(|line| line.starts_with("$ "));
            let has = block.note.as_deref().is_some_and(|note| note.starts_with("transcript: "));
            let at = format!("{}:{}", page.name(), block.line);
            assert_eq!(looks, has, "{at}: a transcript is `console` after a line <!-- transcript: SCENE -->");
        }
    }
}

/// Blocks after `<!-- transcript: SCENE -->`, and how many commands are in them. Those of one scene on one page follow
/// each other in one repository.
fn transcripts(page: &Page) -> (Vec<Edit>, usize) {
    let mut played = 0;
    let mut repos: BTreeMap<String, Repo> = BTreeMap::new();
    let mut edits = Vec::new();
    for block in page.blocks() {
        let Some(scene) = block.note.as_deref().and_then(|note| note.strip_prefix("transcript: ")) else { continue };
        let at = format!("{}:{}", page.name(), block.line);
        let repo = repos.entry(scene.to_owned()).or_insert_with(|| {
            scenes::scene(scene).unwrap_or_else(|| panic!("{at}: docs/scenes.rs has no scene `{scene}`"))
        });
        let shown = read(&block, &at);
        // The demo takes more than a minute; what may not change in it shows in a quick one too.
        let command = |said: &Said| match scene == scenes::DEMO && !updates() {
            true => said.command.replace("overnight demo", "overnight demo --quick"),
            false => said.command.clone(),
        };
        let printed: Vec<Said> = shown.iter().map(|said| play(repo, &command(said))).collect();
        played += printed.len();
        let mask = |all: &[Said]| match scene {
            scenes::DEMO => outline(&written(all)),
            _ => masked(&written(all), scenes::is_noisy(scene)),
        };
        let (before, now) = (mask(&shown), mask(&printed));
        if before != now && !updates_all() {
            eprintln!("shown:   {before}\nprinted: {now}");
        }
        if before != now || updates_all() {
            edits.push(Edit { range: block.range, text: written(&printed) });
        }
    }
    (edits, played)
}

/// `<!-- generated: COMMAND -->`, what it prints, `<!-- end of generated -->`; and how many there are.
fn generations(page: &Page) -> (Vec<Edit>, usize) {
    let parts = Regex::new(r"(?s)<!-- generated: overnight ([^\n]*) -->\n(.*?)<!-- end of generated -->").unwrap();
    let (mut edits, mut found) = (Vec::new(), 0);
    for part in parts.captures_iter(&page.text) {
        found += 1;
        let printed = Repo::empty().ok(&part[1].split(' ').collect::<Vec<_>>()).stdout;
        let text = format!("\n{}\n\n", printed.trim_end());
        if part[2] != text {
            edits.push(Edit { range: part.get(2).unwrap().range(), text });
        }
    }
    (edits, found)
}

fn read(block: &Block, at: &str) -> Vec<Said> {
    let mut all: Vec<Said> = Vec::new();
    for line in block.text.lines() {
        match (line.strip_prefix("$ "), all.last_mut()) {
            (Some(command), _) => all.push(Said { command: command.to_owned(), output: String::new() }),
            (None, Some(said)) => said.output += &format!("{line}\n"),
            (None, None) => panic!("{at}: a transcript begins with a command: `$ overnight …`"),
        }
    }
    all
}

/// As a page shows it: commands apart from each other where they print something.
fn written(all: &[Said]) -> String {
    let mut text = String::new();
    for said in all {
        let output = said.output.trim_end();
        let output: String = output.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        let gap = if output.is_empty() { "" } else { "\n" };
        text += &format!("$ {}\n{output}{gap}", said.command);
    }
    format!("{}\n", text.trim_end())
}

fn play(repo: &Repo, command: &str) -> Said {
    let output = repo.terminal(command);
    let folders = [(repo.dir(), PROJECT), (repo.home(), "/home/ann"), (repo.outside(""), "/home/ann/")];
    let output = folders.iter().fold(output, |text, (folder, shown)| text.replace(folder.to_str().unwrap(), shown));
    Said { command: command.to_owned(), output }
}

/// What is the same in every demo, however the tuner fared: the words at the beginning of lines, the words of those
/// that have no others, and what came of each villain.
fn outline(text: &str) -> String {
    let number = Regex::new(r"\d+").unwrap();
    let label = Regex::new(r"^[a-z_.]+( held)?:?  ").unwrap();
    let villain = Regex::new(r"  (discarded|timed_out|crashed|invalid_metric) ").unwrap();
    let mut lines = Vec::new();
    for line in text.lines() {
        if let Some(found) = label.find(line) {
            let is_fixed = ["score.py", "luck"].contains(&found.as_str().trim());
            let said = if is_fixed { line } else { found.as_str().trim() };
            lines.push(number.replace_all(said, "N").into_owned());
        }
        let end = villain.find(line).filter(|_| !line.contains("  villain: ") && !line.contains(" → "));
        lines.extend(end.map(|found| line[10..found.end()].trim().to_owned()));
    }
    // Where nothing was kept, what was gained is said in another place.
    lines.sort();
    lines.join("\n")
}

/// Hides what differs from run to run, on both sides alike.
fn masked(text: &str, is_noisy: bool) -> String {
    let varying = [
        // Before hashes: ten digits could be one.
        (r"seed \d+", "seed SEED"),
        (r"\b[0-9a-f]{64}\b", "HASH"),
        (r"\b[0-9a-f]{40}\b", "COMMIT"),
        (r"\b[0-9a-f]{10}\b", "SHORT"),
        (r"(?m)^[0-9a-f]{7,9} ", "SHORT "),
        (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+Z)?", "TIME"),
        (r"(?m)^Date: .*$", "Date:"),
        (r"\d+\.\d+ s (wall|cpu)", "S $1"),
        (r"\d+\.\d MB peak", "MB peak"),
        (r#"seconds":[0-9.]+"#, r#"seconds":S"#),
        (r"process \d+", "process PID"),
        (r"took [\dmsh. ]+;", "took T;"),
        (r"(?m)^(  (?:trials|agents|night)) +[\d.]+(?:ms|h|m|s)\b(?: \d+[ms]\b)*", "$1 T"),
    ];
    // Numbers, spans of time, and where lines end for the length of them; and how sure the judge is, and how many trials
    // it wanted to be.
    let noise = [
        (r"[−+]?\d+(,\d{3})*(\.\d+)?(e-?\d+)?", "N"),
        (r"N(ms|s|m|h)( N(ms|s|m))?\b", "T"),
        (r"\s+", " "),
        (r"(more|less) than N %", "N %"),
        (r"expected (better|worse) by N, N % likely( better)?", "$1 by N"),
        (r"better by N, N % sure", "better by N"),
        (r"\b1 trial\b|N trials?", "N trials"),
        (r"N calibrate(, N (screen|confirm|remeasure|sentinel))+", "SPENT"),
        (r", one of the champion N;", ";"),
        (
            r"( trial N (screen|confirm|remeasure) N seed SEED · (S wall · S cpu · MB peak|of .*? for its sake))+",
            " TRIALS",
        ),
    ];
    let masks = varying.iter().chain(noise.iter().filter(|_| is_noisy));
    masks.fold(text.to_owned(), |text, (pattern, mask)| {
        Regex::new(pattern).unwrap().replace_all(&text, *mask).into_owned()
    })
}
