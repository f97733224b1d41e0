//! A program of a cargo package that prints its own number: an example, a binary, or a benchmark without a harness.

use super::super::look::{Look, extension_of, folder_of, name_of, word};
use super::super::metric::{self, Printed};
use super::super::proposal::{Key, Proposal, Sure};
use super::super::reach;
use super::{package, take_printed};

/// Harnesses, which say more than one number.
const HARNESSES: [&str; 4] = ["criterion_main!", "#[bench]", "divan::", "iai_callgrind"];

/// Where cargo looks for programs, and the flag that names one of them.
const PLACES: [(&str, &str); 3] = [("examples", "example"), ("src/bin", "bin"), ("benches", "bench")];

pub(super) fn recognise(look: &Look) -> Option<Proposal> {
    let mut found: Vec<(&String, &str)> =
        look.tracked().iter().filter_map(|path| Some((path, target(path)?))).collect();
    // The nearest to the top first; of those the order of the places.
    found.sort_by_key(|(path, flag)| (path.matches('/').count(), PLACES.iter().position(|(_, known)| known == flag)));
    let (path, flag, printed) = found.into_iter().take(40).find_map(|(path, flag)| {
        // Most examples print something; only one that is called a benchmark is meant to be one.
        let is_meant = flag == "bench" || reach::measures(&format!("{}.rs", program_name(path)));
        let text = look.text(path).filter(|_| is_meant && reach::is_plain(path))?;
        let has_harness = HARNESSES.iter().any(|harness| text.contains(harness));
        let printed = metric::likeliest(&text).filter(|printed| metric::goal_of(&printed.name).is_some())?;
        (!has_harness && is_own_program(look, path, flag)).then_some((path, flag, printed))
    })?;
    let (folder, package) = package::around(look, path)?;
    let packaged = package::flag(&folder, &package);
    let name = word(program_name(path));
    let run = match flag {
        "bench" => format!("cargo bench -q --offline{packaged} --bench {name}"),
        flag => format!("cargo run -q --release --offline{packaged} --{flag} {name}"),
    };
    proposal(look, path, Some(printed), run)
}

/// What a command of the person's own runs, where cargo builds it.
pub(super) fn command(look: &Look, run: &str) -> Option<Proposal> {
    let mut words = run.split_whitespace();
    words.find(|word| *word == "cargo")?;
    let words: Vec<&str> = words.collect();
    let named = words.iter().enumerate().find_map(|(at, word)| {
        let (flag, name) = match word.strip_prefix("--")?.split_once('=') {
            Some(pair) => pair,
            None => (&word[2..], *words.get(at + 1)?),
        };
        PLACES.iter().any(|(_, known)| *known == flag).then_some((flag, name))
    });
    let mut files = look.tracked().iter().filter(|path| match named {
        Some((flag, name)) => target(path) == Some(flag) && program_name(path) == name,
        None => words.contains(&"run") && name_of(path) == "main.rs" && name_of(folder_of(path)) == "src",
    });
    let path = files.by_ref().min_by_key(|path| path.matches('/').count())?;
    proposal(look, path, metric::likeliest(&look.text(path)?), run.to_owned())
}

fn proposal(look: &Look, path: &str, printed: Option<Printed>, run: String) -> Option<Proposal> {
    let (folder, package) = package::around(look, path)?;
    let mut proposal = Proposal::new("cargo-run", format!("the program {path}"), Sure::Benchmark);
    let test = format!("cargo test -q --offline{}", package::flag(&folder, &package));
    let tests = package::has_tests(look, &folder).then_some(test);
    if let Some(build) = building(&run) {
        let tests = tests.as_ref().map_or_else(String::new, |test| format!(" && {test} --no-run"));
        proposal.prepare = Some(build + &tests);
        proposal.because(Key::Prepare, "dependencies are built once, and not for every trial");
    }
    proposal.run = run;
    if let Some(printed) = printed {
        proposal.because(Key::Run, format!("{path} prints `{}`", printed.name));
        take_printed(&mut proposal, path, &printed, &look.text(path).unwrap_or_default());
    }
    proposal.budget = "1m".to_owned();
    proposal.because(Key::Budget, "a guess: time to build it, and to run it");
    package::take_surface(look, &mut proposal, &folder, &package, &[path.to_owned()]);
    if let Some(test) = tests {
        proposal.guard = Some(test);
        proposal.because(Key::Guard, "the tests must still pass");
    }
    proposal.sources = vec![path.to_owned()];
    Some(proposal)
}

/// The command that builds what another runs; nothing where that is more than one plain command.
fn building(run: &str) -> Option<String> {
    if run.contains(['&', '|', ';', '>', '<', '$', '`']) {
        return None;
    }
    let run = run.split(" -- ").next()?;
    if run.starts_with("cargo run ") {
        return Some(run.replacen("cargo run", "cargo build", 1));
    }
    run.starts_with("cargo bench ").then(|| format!("{run} --no-run"))
}

/// The flag of cargo that names a file as a program.
fn target(path: &str) -> Option<&'static str> {
    let folder = match name_of(path) {
        "main.rs" => folder_of(folder_of(path)),
        _ => folder_of(path),
    };
    let is_place = |place: &str| folder == place || folder.ends_with(&format!("/{place}"));
    let flag = PLACES.iter().find(|(place, _)| is_place(place)).map(|(_, flag)| *flag);
    flag.filter(|_| extension_of(path) == "rs")
}

/// Whether cargo takes a file for a program with a `main` of its own, by the manifest.
fn is_own_program(look: &Look, path: &str, flag: &str) -> bool {
    let manifest = package::around(look, path).and_then(|(folder, _)| look.text(&package::at(&folder, "Cargo.toml")));
    let manifest = manifest.unwrap_or_default().replace(' ', "");
    let plural = if flag == "bench" { "autobenches" } else { &format!("auto{flag}s") };
    let is_declared = manifest.contains(&format!("name=\"{}\"", program_name(path)));
    let is_seen = is_declared || !manifest.contains(&format!("{plural}=false"));
    is_seen && (flag != "bench" || manifest.contains("harness=false"))
}

fn program_name(path: &str) -> &str {
    match name_of(path) {
        "main.rs" => name_of(folder_of(path)),
        name => name.trim_end_matches(".rs"),
    }
}
