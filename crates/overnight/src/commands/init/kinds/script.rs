//! A plain script that prints a number.

use super::super::look::{Look, extension_of, name_of, word};
use super::super::metric::{self, Printed};
use super::super::proposal::{Key, Proposal, Sure};
use super::super::reach;
use super::python::{self, python};
use super::{cargo_program, own_budget, span, take_printed, take_surface};

/// What people call the script that gives the number, the likeliest first.
#[rustfmt::skip]
const STEMS: [&str; 16] = [
    "evaluate", "eval", "score", "benchmark", "bench", "measure", "run_eval", "run_bench", "train", "main", "run",
    "experiment", "optimize", "solve", "simulate", "test",
];
const FOLDERS: [&str; 6] = ["", "scripts", "bench", "benchmarks", "eval", "src"];
/// Longer lines were made by a program.
const LONGEST_LINE: usize = 1000;
/// What the name of a file begins with, or a word of it, that gives the number: whoever edits it has what they want.
const SCORERS: [&str; 7] = ["score", "scori", "eval", "metric", "grade", "bench", "measure"];
const EXTENSIONS: [&str; 9] = ["py", "sh", "bash", "js", "mjs", "rb", "pl", "jl", "lua"];

pub(super) fn recognise(look: &Look) -> Option<Proposal> {
    let known: Vec<String> = usual().filter(|path| look.has(path)).collect();
    // Of scripts with other names, those that lie at the top.
    let others = look.tracked().iter().filter(|path| !path.contains('/') && EXTENSIONS.contains(&extension_of(path)));
    let mut others = others.filter(|path| reach::is_plain(path) && !known.contains(path)).take(40);
    let known = known.iter().find_map(|path| prints(look, path));
    let (path, printed) = known.or_else(|| others.find_map(|path| unusual(look, path)))?;
    Some(proposal(look, &path, Some(printed), None))
}

/// A script whose name says nothing: it takes more than a word and a colon to be a benchmark.
fn unusual(look: &Look, path: &str) -> Option<(String, Printed)> {
    let is_written = |text: &str| !path.contains(".min.") && text.lines().all(|line| line.len() <= LONGEST_LINE);
    look.text(path).filter(|text| is_written(text))?;
    prints(look, path).filter(|(_, printed)| printed.marked || metric::goal_of(&printed.name).is_some())
}

/// A file with a usual name that prints a number, and that git knows nothing of: the person wrote it just now.
pub(in super::super) fn not_yet_tracked(look: &Look) -> Option<(String, String)> {
    let (path, printed) = usual()
        .chain(["examples/bench.rs".to_owned()])
        .filter(|path| look.is_untracked(path))
        .find_map(|path| prints(look, &path))?;
    Some((path, printed.name))
}

/// What people call such a script, wherever they put it.
fn usual() -> impl Iterator<Item = String> {
    FOLDERS.iter().flat_map(|folder| {
        let at = move |name: String| if folder.is_empty() { name } else { format!("{folder}/{name}") };
        STEMS.iter().flat_map(move |stem| EXTENSIONS.map(|extension| at(format!("{stem}.{extension}"))))
    })
}

/// What a command of the person's own runs and prints, as far as it can be seen.
pub(in super::super) fn command(look: &Look, run: &str) -> Proposal {
    if let Some(proposal) = cargo_program::command(look, run) {
        return proposal;
    }
    let files = reach::mentioned(look, "", run);
    let found = files.iter().find_map(|path| prints(look, path));
    match (found, files.first()) {
        (Some((path, printed)), _) => proposal(look, &path, Some(printed), Some(run)),
        (None, Some(path)) => proposal(look, path, None, Some(run)),
        (None, None) => {
            let mut proposal = Proposal::new("script", "a command", Sure::Prints);
            proposal.run = run.to_owned();
            proposal
        }
    }
}

/// What a script gives, run as the person said or as it is started by default.
fn proposal(look: &Look, path: &str, printed: Option<Printed>, run: Option<&str>) -> Proposal {
    let is_ours = run.is_none();
    // Made to measure, and with a number whose better end is known by its name.
    let is_sure = reach::measures(name_of(path))
        && printed.as_ref().is_some_and(|printed| metric::goal_of(&printed.name).is_some());
    let sure = if is_sure { Sure::Benchmark } else { Sure::Prints };
    let mut proposal = Proposal::new("script", format!("the script {path}"), sure);
    proposal.run = run.map_or_else(|| started(look, path), str::to_owned);
    proposal.because(
        Key::Run,
        match &printed {
            Some(printed) => format!("{path} prints `{}`", printed.name),
            None => format!("it runs {path}"),
        },
    );
    let text = look.text(path).unwrap_or_default();
    if let Some(printed) = printed {
        let prose = look.text("program.md").or_else(|| look.text("README.md")).unwrap_or_default();
        take_printed(&mut proposal, path, &printed, &format!("{text}\n{prose}"));
    }
    take_surface(&mut proposal, look, path);
    if is_ours && extension_of(path) == "py" {
        proposal.run = python::with_path(look, path, &proposal.surface, &proposal.run);
    }
    if proposal.surface.is_empty() && !is_scorer(path) {
        proposal.surface = vec![path.to_owned()];
        proposal.because(Key::Surface, "it uses no other file of the repository");
    }
    match own_budget(&text) {
        Some(seconds) => {
            proposal.budget = span(seconds);
            proposal.because(Key::Budget, format!("{path} gives itself {seconds} seconds"));
        }
        None if is_benchmark(path) => {
            proposal.budget = "30s".to_owned();
            proposal.because(Key::Budget, "a guess: benchmarks are short");
        }
        None => proposal.because(Key::Budget, "a guess; the wall is twice as far"),
    }
    proposal.sources = vec![path.to_owned()];
    proposal
}

/// A script and the number it prints; of a shell script also what the scripts it starts print.
fn prints(look: &Look, path: &str) -> Option<(String, Printed)> {
    let text = look.text(path)?;
    let own = metric::likeliest(&text);
    let is_shell = ["sh", "bash"].contains(&extension_of(path));
    let behind = || {
        let files = reach::uses(look, path).into_iter().filter(|_| is_shell);
        files.filter_map(|file| metric::likeliest(&look.text(&file)?)).next()
    };
    Some((path.to_owned(), own.or_else(behind)?))
}

/// Whether a file gives the number, by its name.
fn is_scorer(path: &str) -> bool {
    let name = name_of(path).to_lowercase();
    name.split(['_', '-', '.']).any(|word| SCORERS.iter().any(|scorer| word.starts_with(scorer)))
}

/// Whether a script measures speed, by its name: an evaluation of a model may well take its minutes.
fn is_benchmark(path: &str) -> bool {
    name_of(path).split(['_', '-', '.']).any(|word| ["bench", "benchmark", "perf"].contains(&word))
}

/// How a script is started.
fn started(look: &Look, path: &str) -> String {
    let word = word(path);
    let with = match extension_of(path) {
        // An environment that is there needs no tool, and no network, to be used.
        "py" if look.has("uv.lock") && name_of(path) == path && python(look) == "python3" => "uv run",
        "py" => python(look),
        "sh" => "sh",
        "bash" => "bash",
        "js" | "mjs" => "node",
        "rb" => "ruby",
        "pl" => "perl",
        "jl" => "julia",
        _ => "lua",
    };
    let is_bash = look.text(path).is_some_and(|text| text.lines().next().is_some_and(|line| line.contains("bash")));
    format!("{} {word}", if with == "sh" && is_bash { "bash" } else { with })
}
