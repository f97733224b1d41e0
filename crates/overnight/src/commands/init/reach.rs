//! From the file that measures to the files that are measured: what may become the surface.

use std::collections::VecDeque;

use overnight_engine::source;
use overnight_model::tuner::found::{Literal, Site};

use super::look::{Look, extension_of, folder_of, join, name_of};

/// Files and folders with such a word in their name measure or test others; they are never anyone's surface.
#[rustfmt::skip]
const MEASURING: &[&str] = &[
    "bench", "benches", "benchmark", "benchmarks", "benchmarking", "test", "tests", "testing", "spec", "specs",
    "eval", "evals", "evaluate", "evaluation", "evaluator", "score", "scorer", "scoring", "measure", "metric",
    "metrics", "check", "checks", "prepare", "verify", "judge", "grade", "grader", "perf", "profile", "run",
    "conftest", "setup", "harness", "autoresearch", "fixtures", "examples",
];
#[rustfmt::skip]
const PROGRAMS: &[&str] = &[
    "py", "js", "mjs", "cjs", "ts", "mts", "rs", "c", "cc", "cpp", "cxx", "h", "hpp", "go", "rb", "jl", "java", "kt",
    "swift", "zig", "sh", "bash", "pl", "lua", "r", "R", "cu", "sql", "ml", "hs", "nim", "php",
];
/// Tables of values and texts that a program reads.
const VALUES: &[&str] = &["json", "yaml", "yml", "toml", "txt", "md", "ini", "cfg"];

/// Deeper than from a benchmark to what it measures; further on lie helpers of helpers.
const DEEPEST: usize = 3;
/// As long as a function that calls another one may be; what is slow lies behind it.
const FEW_LINES: usize = 8;
/// A package's own file has several such functions.
const FEW_IN_A_PACKAGE: usize = 40;
/// What is seldom slow; a surface only where there is nothing else.
#[rustfmt::skip]
const SELDOM: &[&str] = &[
    "cli", "__main__", "version", "_version", "compat", "_compat", "typing", "_typing", "types", "_types", "constants",
    "exceptions", "errors", "command", "commands",
];
/// More than a person would want an agent to edit at once.
const MOST_SURFACE: usize = 4;

/// Whether a file measures others, by its name and those of its folders.
pub(super) fn measures(path: &str) -> bool {
    let path = path.strip_suffix(&format!(".{}", extension_of(path))).unwrap_or(path);
    let is_word = |word: &str| MEASURING.contains(&word.to_lowercase().as_str());
    path.split(['/', '_', '-', '.']).any(is_word)
}

pub(super) fn is_program(path: &str) -> bool {
    PROGRAMS.contains(&extension_of(path))
}

/// The files that may be edited where `start` is what is run: itself, or what it measures. The latter comes with the
/// file that uses it.
pub(super) fn surface(look: &Look, start: &str) -> Option<(Vec<String>, Option<String>)> {
    if !measures(start) {
        return Some((vec![start.to_owned()], None));
    }
    let mut waiting = VecDeque::from([(start.to_owned(), 0)]);
    let mut seen = vec![start.to_owned()];
    let mut found: Vec<(String, String)> = Vec::new();
    while let Some((path, depth)) = waiting.pop_front() {
        for used in uses(look, &path) {
            if seen.contains(&used) {
                continue;
            }
            seen.push(used.clone());
            match measures(&used) || only_passes_on(look, &used) {
                true if depth < DEEPEST => waiting.push_back((used, depth + 1)),
                true => {}
                false => found.push((used, path.clone())),
            }
        }
    }
    // A table of values is a surface only where there is no program to edit.
    if found.iter().any(|(path, _)| is_program(path)) {
        found.retain(|(path, _)| is_program(path));
    }
    if found.iter().any(|(path, _)| !SELDOM.contains(&stem_of(path))) {
        found.retain(|(path, _)| !SELDOM.contains(&stem_of(path)));
    }
    // Of many, those that the benchmark speaks of: `kit.parse(…)` is in `parse.js`, as people write JavaScript.
    let text = look.text(start).unwrap_or_default();
    let words: Vec<&str> = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    if found.len() > MOST_SURFACE
        && extension_of(start) != "py"
        && found.iter().any(|(path, _)| words.contains(&stem_of(path)))
    {
        found.retain(|(path, _)| words.contains(&stem_of(path)));
    }
    found.truncate(MOST_SURFACE);
    let by = found.first().map(|(_, by)| by.clone())?;
    Some((found.into_iter().map(|(path, _)| path).collect(), Some(by)))
}

fn stem_of(path: &str) -> &str {
    let name = name_of(path);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

/// Whether a file does little but hand on what others give: `module.exports = require("./lib/a")`.
fn only_passes_on(look: &Look, path: &str) -> bool {
    if extension_of(path) == "py" {
        let text = look.text(path).unwrap_or_default();
        let few = if name_of(path) == "__init__.py" { FEW_IN_A_PACKAGE } else { FEW_LINES };
        // A short program that does the work itself is what it is all about.
        let is_in_package = look.has(&join(folder_of(path), "__init__.py").unwrap_or_default());
        let works = text.lines().map(str::trim).any(|line| line.starts_with("for ") || line.starts_with("while "));
        let is_setting = |literal: &Literal| literal.site <= Site::Default;
        let has_numbers = few == FEW_LINES && source::literals(path, &text).literals.iter().any(is_setting);
        let passes = is_in_package && !works && !has_numbers && own_lines(&text) <= few;
        return passes && !uses(look, path).is_empty();
    }
    let is_script = ["js", "mjs", "cjs", "ts", "mts"].contains(&extension_of(path));
    let text = look.text(path).filter(|_| is_script).unwrap_or_default();
    let code: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).collect();
    let works = ["function", "=>", "class ", "return", "if (", "for (", "while (", "new "];
    // A file may be called `function`.
    let code_of = |line: &str| line.split(['"', '\'', '`']).step_by(2).collect::<String>();
    let passes = |line: &&str| !works.iter().any(|word| code_of(line).contains(word));
    !code.is_empty() && code.iter().all(passes) && !uses(look, path).is_empty()
}

/// How many lines of Python do something: neither imports nor prose.
fn own_lines(text: &str) -> usize {
    let mut is_prose = false;
    let mut count = 0;
    for line in text.lines().map(str::trim) {
        let quotes = line.matches("\"\"\"").count() + line.matches("'''").count();
        let was_prose = is_prose;
        is_prose ^= quotes % 2 == 1;
        let says_nothing = ["import ", "from ", "#", "__", ")", "]", "\"", "'"];
        let is_name = line.strip_suffix(',').is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
        let does_nothing = line.is_empty() || is_name || says_nothing.iter().any(|start| line.starts_with(start));
        count += usize::from(!was_prose && quotes == 0 && !does_nothing);
    }
    count
}

/// The tracked files that a file names or imports.
pub(super) fn uses(look: &Look, path: &str) -> Vec<String> {
    let Some(text) = look.text(path) else { return Vec::new() };
    match extension_of(path) {
        "py" => python(look, path, &text),
        "js" | "mjs" | "cjs" | "ts" | "mts" => javascript(look, path, &text),
        "rs" => Vec::new(),
        "c" | "cc" | "cpp" | "cxx" => included(look, path, &text),
        _ => mentioned(look, folder_of(path), &text),
    }
}

/// The tracked code that a command or a script names, from its folder or from the top.
pub(super) fn mentioned(look: &Look, folder: &str, text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let cuts = |c: char| c.is_whitespace() || "\"'`;=(){}|<>,&".contains(c);
    for word in text.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(|line| line.split(cuts)) {
        // What is built of a source is that source.
        let sources = ["o", "out", ""].contains(&extension_of(word)).then(|| {
            let stem = word.strip_suffix(&format!(".{}", extension_of(word))).unwrap_or(word);
            ["c", "cc", "cpp"].map(|extension| format!("{stem}.{extension}"))
        });
        let words = std::iter::once(word.to_owned()).chain(sources.into_iter().flatten());
        for path in words.flat_map(|word| [join(folder, &word), join("", &word)]).flatten() {
            let known = is_program(&path) || VALUES.contains(&extension_of(&path));
            if known && look.has(&path) && !found.contains(&path) && is_plain(&path) {
                found.push(path);
            }
        }
    }
    found
}

/// Whether a path can be written as a path: with some signs it would be a pattern, with a dash in front a flag.
pub(super) fn is_plain(path: &str) -> bool {
    !path.starts_with('-') && !path.contains(['*', '?']) && !path.contains(char::is_control)
}

fn python(look: &Look, path: &str, text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        let code = line.trim();
        let modules: Vec<String> = if let Some(rest) = code.strip_prefix("from ") {
            let Some((module, names)) = rest.split_once(" import ") else { continue };
            let names = names.split(['(', ')', ',', '#']).filter_map(|name| name.split_whitespace().next());
            let dot = if module.ends_with('.') { "" } else { "." };
            let inner = names.map(|name| format!("{module}{dot}{name}"));
            // A name may be a module of its own, and then it is the nearer one.
            let inner: Vec<String> = inner.filter(|module| resolve(look, path, module).is_some()).collect();
            if inner.is_empty() { vec![module.to_owned()] } else { inner }
        } else if let Some(rest) = code.strip_prefix("import ") {
            rest.split(',').filter_map(|part| Some(part.split_whitespace().next()?.to_owned())).collect()
        } else {
            continue;
        };
        for module in modules {
            let Some(file) = resolve(look, path, &module) else { continue };
            let inner = if name_of(&file) == "__init__.py" { reexported(look, &file) } else { Vec::new() };
            let files = if inner.is_empty() { vec![file] } else { inner };
            for file in files {
                if file != path && is_plain(&file) && !found.contains(&file) {
                    found.push(file);
                }
            }
        }
    }
    found
}

/// What a package takes from its own modules; the package's own file is a list of names.
fn reexported(look: &Look, init: &str) -> Vec<String> {
    let text = look.text(init).unwrap_or_default();
    let own = text.lines().any(|line| line.starts_with("def ") || line.starts_with("class "));
    let modules = text.lines().filter_map(|line| line.trim().strip_prefix("from ")?.split_once(" import "));
    let package = name_of(folder_of(init));
    let is_own = |module: &str| module.starts_with('.') || module.split('.').next() == Some(package);
    let files: Vec<String> = modules
        .filter(|(module, _)| is_own(module))
        .filter_map(|(module, _)| resolve(look, init, module))
        .filter(|file| file != init)
        .collect();
    if own { Vec::new() } else { files }
}

fn resolve(look: &Look, from: &str, module: &str) -> Option<String> {
    let here = folder_of(from);
    let dots = module.len() - module.trim_start_matches('.').len();
    let inner = module[dots..].replace('.', "/");
    let roots: Vec<String> = match dots {
        0 => vec![here.to_owned(), String::new(), "src".to_owned(), "lib".to_owned(), "python".to_owned()],
        dots => vec![join(here, &"../".repeat(dots - 1))?],
    };
    roots.iter().find_map(|root| {
        let base = join(root, &inner)?;
        let module = Some(format!("{base}.py")).filter(|_| !inner.is_empty());
        module.into_iter().chain(join(&base, "__init__.py")).find(|path| look.has(path))
    })
}

fn javascript(look: &Look, path: &str, text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| line.contains("require") || line.contains("import") || line.contains("from"))
    {
        for word in line.split(['"', '\'', '`']).skip(1).step_by(2) {
            // A package may ask for itself by its name.
            let is_own = || super::kinds::package_name(look).is_some_and(|name| name == word);
            let base = match word.starts_with('.') {
                true => join(folder_of(path), word),
                false => is_own().then(String::new),
            };
            let Some(base) = base else { continue };
            let ends = ["", ".js", ".mjs", ".cjs", ".ts", "/index.js", "/index.mjs", "/index.ts"];
            let mut files: Vec<String> =
                ends.iter().map(|end| format!("{base}{end}").trim_start_matches('/').to_owned()).collect();
            // TypeScript is imported by the name it is built to.
            files.extend(base.strip_suffix(".js").map(|stem| format!("{stem}.ts")));
            if base.is_empty() {
                files.extend(super::kinds::package_main(look));
            }
            let file = files.into_iter().find(|file| look.has(file) && is_program(file) && is_plain(file));
            found.extend(file.filter(|file| !found.contains(file)));
        }
    }
    found
}

/// A header stands for the source beside it, or for itself.
fn included(look: &Look, path: &str, text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| line.trim_start().starts_with("#include")) {
        let Some(header) = line.split('"').nth(1).and_then(|header| join(folder_of(path), header)) else { continue };
        let stem = header.rsplit_once('.').map_or(header.as_str(), |(stem, _)| stem).to_owned();
        let files = ["c", "cc", "cpp", "cxx"].map(|extension| format!("{stem}.{extension}"));
        let file = files.into_iter().chain([header]).find(|file| look.has(file) && is_plain(file));
        found.extend(file.filter(|file| file != path && !found.contains(file)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_measures_is_told_by_its_name() {
        for path in ["bench.py", "benches/a.rs", "test_sort.py", "a/tests/x.py", "sort.test.js", "autoresearch.sh"] {
            assert!(measures(path), "{path}");
        }
        for path in ["train.py", "src/lib.rs", "contest.py", "latest/model.py", "knobs.py"] {
            assert!(!measures(path), "{path}");
        }
    }
}
