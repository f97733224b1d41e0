//! A plain script that prints a number.

use super::super::look::{Look, extension_of, name_of, word};
use super::super::metric::{self, Printed};
use super::super::proposal::{Key, Proposal, Sure};
use super::super::reach;
use super::{own_budget, python, span, take_printed, take_surface};

/// What people call the script that gives the number, the likeliest first.
#[rustfmt::skip]
const STEMS: [&str; 16] = [
    "evaluate", "eval", "score", "benchmark", "bench", "measure", "run_eval", "run_bench", "train", "main", "run",
    "experiment", "optimize", "solve", "simulate", "test",
];
const FOLDERS: [&str; 6] = ["", "scripts", "bench", "benchmarks", "eval", "src"];
const EXTENSIONS: [&str; 9] = ["py", "sh", "bash", "js", "mjs", "rb", "pl", "jl", "lua"];

pub(super) fn recognise(look: &Look) -> Option<Proposal> {
    let known = FOLDERS.iter().flat_map(|folder| {
        let at = move |name: String| if folder.is_empty() { name } else { format!("{folder}/{name}") };
        STEMS.iter().flat_map(move |stem| EXTENSIONS.map(|extension| at(format!("{stem}.{extension}"))))
    });
    let known: Vec<String> = known.filter(|path| look.has(path)).collect();
    // Of scripts with other names, those that lie at the top.
    let others = look.tracked().iter().filter(|path| !path.contains('/') && EXTENSIONS.contains(&extension_of(path)));
    let others = others.filter(|path| reach::is_plain(path) && !known.contains(path)).take(40);
    let (path, printed) = known.iter().chain(others).find_map(|path| prints(look, path))?;
    Some(proposal(look, &path, Some(printed), started(look, &path)))
}

/// What a command of the person's own runs and prints, as far as it can be seen.
pub(in super::super) fn command(look: &Look, run: &str) -> Proposal {
    let files = reach::mentioned(look, "", run);
    let found = files.iter().find_map(|path| prints(look, path));
    match (found, files.first()) {
        (Some((path, printed)), _) => proposal(look, &path, Some(printed), run.to_owned()),
        (None, Some(path)) => proposal(look, path, None, run.to_owned()),
        (None, None) => {
            let mut proposal = Proposal::new("script", "a command", Sure::Prints);
            proposal.run = run.to_owned();
            proposal
        }
    }
}

fn proposal(look: &Look, path: &str, printed: Option<Printed>, run: String) -> Proposal {
    let mut proposal = Proposal::new("script", format!("the script {path}"), Sure::Prints);
    proposal.run = run;
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
    if proposal.surface.is_empty() {
        proposal.surface = vec![path.to_owned()];
        proposal.because(Key::Surface, "it uses no other file of the repository");
    }
    match own_budget(&text) {
        Some(seconds) => {
            proposal.budget = span(seconds);
            proposal.because(Key::Budget, format!("{path} gives itself {seconds} seconds"));
        }
        None => proposal.because(Key::Budget, "a guess; the wall is twice as far"),
    }
    if extension_of(path) == "py" && declares_pytest(look) {
        proposal.guard = Some(format!("{} -m pytest -q", python(look)));
        proposal.because(Key::Guard, "there are tests, and they must still pass");
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

/// Whether there are tests, and a file that says what they are run with.
fn declares_pytest(look: &Look) -> bool {
    let files = ["pyproject.toml", "requirements.txt", "requirements-dev.txt", "dev-requirements.txt", "pytest.ini"];
    let declared =
        files.iter().any(|file| look.has(file) && look.text(file).is_some_and(|text| text.contains("pytest")));
    let is_test = |path: &String| extension_of(path) == "py" && name_of(path).starts_with("test_");
    declared && look.tracked().iter().any(is_test)
}

/// How a script is started.
fn started(look: &Look, path: &str) -> String {
    let word = word(path);
    let with = match extension_of(path) {
        "py" if look.has("uv.lock") && name_of(path) == path => "uv run",
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
