//! Benchmarks of cargo: criterion, and the ones of the nightly test harness.

use super::super::look::{Look, folder_of, name_of, word};
use super::super::proposal::{Key, Proposal, Sure};
use super::super::reach;
use super::take_goal;

/// Criterion and the test harness both write `test NAME ... bench: 1,234 ns/iter (+/- 5)`.
const READ: &str = r#"awk '/ns\/iter/ { sub(/.*bench: */, ""); gsub(/,/, ""); s += log($1); n++ } END { if (!n) exit 1; printf "ns_per_iter: %.4f\n", exp(s / n) }' "$TMPDIR/b""#;

/// The benchmarks of one package.
struct Benches {
    /// The folder of the package; empty at the top.
    folder: String,
    names: Vec<String>,
    files: Vec<String>,
    criterion: bool,
}

pub(super) fn recognise(look: &Look) -> Option<Proposal> {
    let Benches { folder, names, files, criterion } = find(look)?;
    let manifest = look.text(&at(&folder, "Cargo.toml"))?;
    let package = value_of(&manifest, "[package]", "name")?;
    let (tool, harness) =
        if criterion { ("criterion", " -- --noplot --output-format bencher") } else { ("cargo bench", "") };
    let mut proposal = Proposal::new("cargo-bench", format!("{tool} ({})", files[0]), Sure::Benchmark);
    let picked: String = names.iter().map(|name| format!(" --bench {}", word(name))).collect();
    let package_flag = if folder.is_empty() { String::new() } else { format!(" -p {}", word(&package)) };
    let cargo = if criterion || is_nightly(look) { "cargo" } else { "cargo +nightly" };
    proposal.run = format!("{cargo} bench --offline{package_flag}{picked}{harness} > \"$TMPDIR/b\" && {READ}");
    proposal.because(Key::Run, "the benchmarks, then a line that reads what they print");
    proposal.metric = "ns_per_iter".to_owned();
    proposal.because(Key::Metric, "nanoseconds per iteration; of several benchmarks the geometric mean");
    take_goal(&mut proposal, "");
    proposal.because(Key::Budget, "time to build, and some ten seconds for each benchmark");
    let tests = has_tests(look, &folder);
    let test = format!("{cargo} test -q --offline{package_flag}");
    let mut prepare = format!("{cargo} bench --offline{package_flag}{picked} --no-run");
    if tests {
        prepare += &format!(" && {test} --no-run");
        proposal.guard = Some(test);
        proposal.because(Key::Guard, "the tests must still pass");
    }
    proposal.prepare = Some(prepare);
    proposal.because(Key::Prepare, "dependencies are built once, and not for every trial");
    surface(look, &mut proposal, &folder, &package, &files);
    proposal.sources = files;
    Some(proposal)
}

/// The package with benchmarks that lies nearest to the top.
fn find(look: &Look) -> Option<Benches> {
    let in_benches = |path: &&String| {
        let folder = folder_of(path);
        let main = name_of(path) == "main.rs" && name_of(folder_of(folder)) == "benches";
        path.ends_with(".rs") && (name_of(folder) == "benches" || main) && reach::is_plain(path)
    };
    let mut found: Vec<&String> = look.tracked().iter().filter(in_benches).collect();
    found.sort_by_key(|path| path.matches('/').count());
    for first in &found {
        let package = first.rsplit_once("benches/").map_or("", |(folder, _)| folder).trim_end_matches('/').to_owned();
        let own = |path: &&&String| {
            path.rsplit_once("benches/").is_some_and(|(folder, _)| folder.trim_end_matches('/') == package)
        };
        let files: Vec<&String> = found.iter().filter(own).copied().collect();
        let says = |path: &str, word: &str| look.text(path).is_some_and(|text| text.contains(word));
        for (word, criterion) in [("criterion_main!", true), ("#[bench]", false)] {
            let files: Vec<String> = files.iter().filter(|path| says(path, word)).map(|path| (*path).clone()).collect();
            if !files.is_empty() {
                let names = files.iter().map(|path| bench_name(path)).collect();
                return Some(Benches { folder: package, names, files, criterion });
            }
        }
    }
    None
}

fn bench_name(path: &str) -> String {
    match name_of(path) {
        "main.rs" => name_of(folder_of(path)).to_owned(),
        name => name.trim_end_matches(".rs").to_owned(),
    }
}

fn at(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// `key = "value"` of a section.
fn value_of(manifest: &str, section: &str, key: &str) -> Option<String> {
    let lines = manifest.lines().skip_while(|line| line.trim() != section).skip(1);
    let own = lines.take_while(|line| !line.trim_start().starts_with('['));
    let mut pairs = own.filter_map(|line| line.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim() == key)?;
    value.split('"').nth(1).map(str::to_owned)
}

fn is_nightly(look: &Look) -> bool {
    let files = ["rust-toolchain", "rust-toolchain.toml"];
    files.iter().any(|file| look.text(file).is_some_and(|text| text.contains("nightly")))
}

fn has_tests(look: &Look, folder: &str) -> bool {
    let tests = |path: &&String| path.ends_with(".rs");
    let inside = |path: &String| look.text(path).is_some_and(|text| text.contains("#[test]"));
    look.below(&at(folder, "tests")).any(|path| tests(&path)) || look.below(&at(folder, "src")).take(50).any(inside)
}

/// The modules that the benchmarks use, else the library.
fn surface(look: &Look, proposal: &mut Proposal, folder: &str, package: &str, benches: &[String]) {
    let library = package.replace('-', "_");
    let mut found: Vec<String> = Vec::new();
    let mut by = "";
    for bench in benches {
        let text = look.text(bench).unwrap_or_default();
        for used in text.split(&format!("{library}::")).skip(1) {
            // `a`, or each of `{a::x, b}`
            let one = used.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
            let braced = used.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(inner, _)| inner);
            let names = braced.map_or(vec![one], |inner| {
                inner.split(',').map(|part| part.trim().split("::").next().unwrap_or_default()).collect()
            });
            for name in names {
                let files = [format!("src/{name}.rs"), format!("src/{name}/mod.rs")].map(|path| at(folder, &path));
                let file = files.into_iter().find(|file| !name.is_empty() && look.has(file));
                if let Some(file) = file.filter(|file| !found.contains(file)) {
                    found.push(file);
                    by = bench;
                }
            }
        }
    }
    if !found.is_empty() {
        proposal.because(Key::Surface, format!("{by} uses {}", if found.len() == 1 { "it" } else { "them" }));
        found.truncate(4);
        proposal.surface = found;
        return;
    }
    let Some(root) = [at(folder, "src/lib.rs"), at(folder, "src/main.rs")].into_iter().find(|path| look.has(path))
    else {
        return;
    };
    let (surface, reason) = match is_list(&look.text(&root).unwrap_or_default()) {
        true => (at(folder, "src/**"), format!("{root} only lists modules, and any of them may be slow")),
        false => (root, "the library that is measured".to_owned()),
    };
    proposal.surface = vec![surface];
    proposal.because(Key::Surface, reason);
}

/// Whether a library's own file holds nothing but the names of its modules.
fn is_list(text: &str) -> bool {
    let code = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//") && !line.starts_with("#!"));
    let is_name = |line: &str| {
        ["mod ", "pub mod ", "pub use ", "use ", "pub(crate) mod ", "#[", "}"].iter().any(|word| line.starts_with(word))
    };
    text.contains("mod ") && code.into_iter().all(is_name)
}
