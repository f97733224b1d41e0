//! Benchmarks of cargo: criterion, and the ones of the nightly test harness.

use super::super::look::{Look, folder_of, name_of, word};
use super::super::proposal::{Key, Proposal, Sure};
use super::super::reach;
use super::package::{self, at, has_nightly, has_tests, is_nightly, value_of};
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
    let mut proposal = Proposal::new("cargo-bench", format!("{tool} ({})", files[0]), Sure::Harness);
    let picked: String = names.iter().map(|name| format!(" --bench {}", word(name))).collect();
    let package_flag = package::flag(&folder, &package);
    let cargo = match criterion || is_nightly(look) {
        true => "cargo",
        // Such benchmarks want a nightly toolchain, and few people have one.
        false if has_nightly(look) => "cargo +nightly",
        false => return None,
    };
    proposal.run = format!("{cargo} bench --offline{package_flag}{picked}{harness} > \"$TMPDIR/b\" && {READ}");
    proposal.because(Key::Run, "the benchmarks, then a line that reads what they print");
    proposal.metric = "ns_per_iter".to_owned();
    proposal.because(Key::Metric, "nanoseconds per iteration; of several benchmarks the geometric mean");
    take_goal(&mut proposal, "");
    proposal.because(Key::Budget, "time to build, and some ten seconds for each benchmark");
    let tests = has_tests(look, &folder);
    let test = format!("cargo test -q --offline{package_flag}");
    let mut prepare = format!("{cargo} bench --offline{package_flag}{picked} --no-run");
    if tests {
        prepare += &format!(" && {test} --no-run");
        proposal.guard = Some(test);
        proposal.because(Key::Guard, "the tests must still pass");
    }
    proposal.prepare = Some(prepare);
    proposal.because(Key::Prepare, "dependencies are built once, and not for every trial");
    package::take_surface(look, &mut proposal, &folder, &package, &files);
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
