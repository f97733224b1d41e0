//! Where a program takes its seed from, as far as reading tells, and the line that would take it from the engine.

use std::path::Path;

use overnight_engine::rehearse::Subject;
use overnight_model::spec::Spec;

use super::{fixed, look};

/// No program that reads a seed is longer.
const LONGEST_PROGRAM: usize = 1 << 20;
/// Enough files to find where a seed is read, and few enough to read them all in a moment.
const MOST_FILES: usize = 1000;
/// Files that are part of most programs, whether or not another names them.
const ENTRIES: [&str; 9] = ["main", "__main__", "train", "evaluate", "eval", "bench", "benchmark", "run", "config"];

/// Where the seed is named in tracked files, where one is fixed instead, and the line that would set it.
#[derive(Default)]
pub(super) struct SeedLook {
    pub(super) named: Option<String>,
    pub(super) fixed: Option<Fixed>,
    pub(super) line: String,
}

/// A seed that the program fixes by itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fixed {
    /// As people write places: `train.py:7`.
    pub(super) place: String,
    /// The step that takes it from the engine instead.
    pub(super) next: String,
}

pub(super) fn look(subject: &Subject) -> SeedLook {
    let tracked = subject.files().unwrap_or_default();
    let text = |path: &str| subject.read(path).ok().filter(|bytes| bytes.len() <= LONGEST_PROGRAM);
    let words = |path: &str| text(path).and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let programs: Vec<&str> = look::programs(&subject.spec, &tracked).collect();
    let line = programs.first().map_or_else(String::new, |path| seed_line(path, &words(path)));
    // The programs first: a text that only speaks of seeds is not what reads them.
    let others = tracked.iter().map(String::as_str).filter(|path| !path.ends_with(".md")).take(MOST_FILES);
    let named = programs.iter().copied().chain(others).find_map(|path| names_seed(path, &text(path)?));
    let fixed = if named.is_none() { fixed_seed(&subject.spec, &tracked, &programs, words) } else { None };
    SeedLook { named, fixed, line }
}

/// Where a seed is fixed: in the command line, in what it runs, or in what that names.
fn fixed_seed(spec: &Spec, tracked: &[String], programs: &[&str], text: impl Fn(&str) -> String) -> Option<Fixed> {
    let run = &spec.evaluate.run;
    if let Some(literal) = fixed::in_line(run) {
        let next = format!("in `run`, write `$OVERNIGHT_SEED` instead of `{literal}`");
        return Some(Fixed { place: format!("`{run}`"), next });
    }
    let mut said = run.clone();
    programs.iter().for_each(|path| said += &text(path));
    let is_part = |path: &&str| {
        let stem = Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
        let is_test = path.split(['/', '_', '.']).any(|word| word == "test" || word == "tests");
        let Ok(inside) = Path::new(path).strip_prefix(&spec.evaluate.folder) else { return false };
        // Deep down, such a name belongs to some other program; and names as short as a variable's say nothing.
        let is_entry = ENTRIES.contains(&stem) && inside.components().count() <= 2;
        !is_test && (is_entry || (stem.len() > 2 && names(&said, stem)))
    };
    let others = tracked.iter().map(String::as_str).filter(|path| extension(path) != "md").filter(is_part);
    programs.iter().copied().chain(others.take(MOST_FILES)).find_map(|path| {
        let text = text(path);
        let (line, literal) = fixed::first(&text)?;
        let place = format!("{path}:{line}");
        let next = match seed_of(extension(path), literal) {
            Some(seed) => {
                format!("in {place}, write `{seed}` instead of `{literal}`{}", import(path, &text, ", and `", "`"))
            }
            None => format!("in {place}, take the seed from the environment variable OVERNIGHT_SEED"),
        };
        Some(Fixed { place, next })
    })
}

/// Whether a text has a name in it as a whole word.
fn names(text: &str, name: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(part_of_name) && !text[at + name.len()..].starts_with(part_of_name))
}

/// The first line that names the seed, as `path:line`.
fn names_seed(path: &str, text: &[u8]) -> Option<String> {
    const NAME: &[u8] = b"OVERNIGHT_SEED";
    let at = text.windows(NAME.len()).position(|window| window == NAME)?;
    let line = text[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
    Some(format!("{path}:{line}"))
}

fn extension(path: &str) -> &str {
    Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or("")
}

/// The seed as a language reads it; another where nobody set it, so that a program still runs by hand.
fn seed_of(extension: &str, otherwise: &str) -> Option<String> {
    Some(match extension {
        "py" | "ipynb" => format!("int(os.environ.get(\"OVERNIGHT_SEED\", \"{otherwise}\"))"),
        "js" | "mjs" | "cjs" | "ts" => format!("Number(process.env.OVERNIGHT_SEED ?? {otherwise})"),
        "rs" => format!("std::env::var(\"OVERNIGHT_SEED\").map_or({otherwise}, |seed| seed.parse().unwrap())"),
        "c" | "cc" | "cpp" | "h" | "hpp" => {
            format!("(getenv(\"OVERNIGHT_SEED\") ? atoi(getenv(\"OVERNIGHT_SEED\")) : {otherwise})")
        }
        "java" => format!("Long.parseLong(System.getenv().getOrDefault(\"OVERNIGHT_SEED\", \"{otherwise}\"))"),
        "kt" => format!("(System.getenv(\"OVERNIGHT_SEED\") ?: \"{otherwise}\").toLong()"),
        "jl" => format!("parse(Int, get(ENV, \"OVERNIGHT_SEED\", \"{otherwise}\"))"),
        "R" | "r" => format!("as.integer(Sys.getenv(\"OVERNIGHT_SEED\", \"{otherwise}\"))"),
        "rb" => format!("ENV.fetch(\"OVERNIGHT_SEED\", {otherwise}).to_i"),
        "pl" => format!("$ENV{{OVERNIGHT_SEED}} // {otherwise}"),
        "sh" | "bash" => format!("${{OVERNIGHT_SEED:-{otherwise}}}"),
        _ => return None,
    })
}

/// What Python needs besides, between two marks.
fn import(path: &str, text: &str, before: &str, after: &str) -> String {
    match extension(path) {
        "py" | "ipynb" if !text.contains("import os") => format!("{before}import os{after}"),
        _ => String::new(),
    }
}

/// The line that seeds a program, in its own language.
fn seed_line(path: &str, text: &str) -> String {
    const UNKNOWN: &str = "let the program start its generator from the environment variable OVERNIGHT_SEED";
    let extension = extension(path);
    let seed = seed_of(extension, "0").unwrap_or_default();
    let line = match extension {
        "py" | "ipynb" if text.contains("torch") => format!("torch.manual_seed({seed})"),
        "py" | "ipynb" if text.contains("default_rng") => format!("np.random.default_rng({seed})"),
        "py" | "ipynb" if text.contains("numpy") => format!("np.random.seed({seed})"),
        "py" | "ipynb" => format!("random.seed({seed})"),
        "js" | "mjs" | "cjs" | "ts" => {
            return format!("Math.random cannot be seeded: in {path}, draw from a generator that starts at `{seed}`");
        }
        "rs" => format!("StdRng::seed_from_u64({seed})"),
        "go" => {
            "seed, _ := strconv.ParseInt(os.Getenv(\"OVERNIGHT_SEED\"), 10, 64); r := rand.New(rand.NewSource(seed))"
                .to_owned()
        }
        "c" | "cc" | "cpp" | "h" | "hpp" => format!("srand({seed});"),
        "java" => format!("new Random({seed})"),
        "kt" => format!("Random({seed})"),
        "jl" => format!("Random.seed!({seed})"),
        "R" | "r" => format!("set.seed({seed})"),
        "rb" => format!("srand({seed})"),
        "pl" => format!("srand({seed});"),
        "sh" | "bash" => format!("RANDOM={seed}"),
        _ => return UNKNOWN.to_owned(),
    };
    format!("add `{}{line}` to {path}", import(path, text, "", "; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_is_set_in_the_program_that_runs() {
        assert!(seed_line("a/run.py", "import torch\n").contains("torch.manual_seed"));
        assert!(seed_line("main.js", "").contains("process.env.OVERNIGHT_SEED"));
        assert_eq!(seed_line("a.sh", ""), "add `RANDOM=${OVERNIGHT_SEED:-0}` to a.sh");
        assert_eq!(names_seed("x.py", b"a\nb OVERNIGHT_SEED").as_deref(), Some("x.py:2"));
    }

    #[test]
    fn a_program_that_runs_by_hand_runs_by_hand_as_before() {
        assert_eq!(seed_of("py", "7").unwrap(), "int(os.environ.get(\"OVERNIGHT_SEED\", \"7\"))");
        assert_eq!(seed_of("sh", "7").unwrap(), "${OVERNIGHT_SEED:-7}");
        assert_eq!(seed_of("txt", "7"), None);
    }

    #[test]
    fn a_name_is_a_whole_word() {
        assert!(names("from data import x", "data") && !names("metadata = database", "data"));
    }
}
