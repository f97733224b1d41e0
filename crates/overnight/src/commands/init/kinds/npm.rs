//! `npm run bench`, whatever it runs.

use serde_json::Value;

use super::super::look::Look;
use super::super::metric;
use super::super::proposal::{Key, Proposal, Sure};
use super::super::reach;
use super::{take_goal, take_printed, take_surface, take_time};

const SCRIPTS: [&str; 6] = ["bench", "benchmark", "benchmarks", "perf", "bench:run", "score"];
/// What people do in `npm test` besides testing, and what a sandbox has no browser or network for.
const MORE_THAN_TESTS: [&str; 8] = ["lint", "build", "chrome", "browser", "karma", "types", "coverage", "audit"];
/// What the tests alone are called then.
const UNIT_TESTS: [&str; 7] = ["test:unit", "test-unit", "unit", "unit-test", "test-node", "test:node", "mocha"];
/// `name x 1,234,567 ops/sec ±0.45% (96 runs sampled)`
const READ_BENCHMARK_JS: &str = r#"awk 'match($0, / x [0-9,.]+ ops\/sec/) { v = substr($0, RSTART + 3, RLENGTH - 11); gsub(/,/, "", v); s += log(v); n++ } END { if (!n) exit 1; printf "ops_per_s: %.6f\n", exp(s / n) }' "$TMPDIR/b""#;
/// The column of a table whose head speaks of operations per second; of two the median, which stands last.
const READ_TABLE: &str = r#"awk -F'│' '/ops\/s/ { for (i = 1; i <= NF; i++) if ($i ~ /ops\/s/) c = i; next } c && NF > c { v = $c; gsub(/^[^0-9]+|,/, "", v); if (v + 0 > 0) { s += log(v + 0); n++ } } END { if (!n) exit 1; printf "ops_per_s: %.6f\n", exp(s / n) }' "$TMPDIR/b""#;
const READ_VITEST: &str = r#"node -e 'const b = JSON.parse(require("fs").readFileSync(process.argv[1])).files.flatMap(f => f.groups).flatMap(g => g.benchmarks); console.log("ops_per_s: " + Math.exp(b.reduce((s, x) => s + Math.log(x.hz), 0) / b.length))' "$TMPDIR/b.json""#;

/// What a benchmark is written with, by what it prints.
enum Tool {
    BenchmarkJs,
    Tinybench,
    Vitest,
}

pub(super) fn recognise(look: &Look) -> Option<Proposal> {
    let package = package(look)?;
    let scripts = package["scripts"].as_object()?;
    let name = SCRIPTS.iter().find(|name| scripts.contains_key(**name))?;
    let script = scripts[*name].as_str()?;
    let command = format!("npm run -s {name}");
    let files = reach::mentioned(look, "", script);
    let tool = tool(look, script, &files);
    let printed = files.iter().find_map(|path| Some((path, metric::likeliest(&look.text(path)?)?)));
    let sure = match (&tool, &printed) {
        (Some(_), _) => Sure::Harness,
        (None, Some(_)) => Sure::Benchmark,
        (None, None) => Sure::Timed,
    };
    let mut proposal = Proposal::new("npm", format!("`npm run {name}` in package.json"), sure);
    proposal.because(Key::Run, format!("package.json says `{script}`"));
    match (&printed, &tool) {
        (Some((path, printed)), None) => {
            proposal.run = command;
            take_printed(&mut proposal, path, printed, "");
        }
        (_, Some(tool)) => {
            let (known, run) = match tool {
                Tool::BenchmarkJs => ("benchmark.js", format!("{command} > \"$TMPDIR/b\" && {READ_BENCHMARK_JS}")),
                Tool::Tinybench => ("tinybench", format!("{command} > \"$TMPDIR/b\" && {READ_TABLE}")),
                Tool::Vitest => {
                    let run = format!("{command} -- --run --outputJson=\"$TMPDIR/b.json\" && {READ_VITEST}");
                    ("vitest", run)
                }
            };
            proposal.run = run;
            proposal.metric = "ops_per_s".to_owned();
            proposal.because(Key::Metric, format!("what {known} prints; of several benchmarks the geometric mean"));
            take_goal(&mut proposal, "");
        }
        (None, None) => take_time(&mut proposal, &command),
    }
    proposal.budget = "2m".to_owned();
    proposal.because(Key::Budget, "a guess: a few seconds for each benchmark");
    for start in &files {
        if proposal.surface.is_empty() {
            take_surface(&mut proposal, look, start);
        }
    }
    // An empty list counts: nothing but the benchmark itself was found.
    if proposal.surface.iter().all(|path| files.contains(path))
        && let Some(main) = package_main(look)
    {
        proposal.because(Key::Surface, "`main` of package.json");
        proposal.surface = vec![main];
    }
    if !look.is_untracked("node_modules") && has_dependencies(&package) {
        proposal.missing.push(("node_modules".to_owned(), "npm install".to_owned()));
        proposal.because(Key::Inputs, "not there yet: first `npm install`");
    }
    if let Some((command, test)) = test(&package) {
        proposal.guard = Some(command);
        proposal.because(Key::Guard, format!("package.json has tests, `{test}`"));
    }
    proposal.sources = files;
    Some(proposal)
}

/// The file that a package gives to others, where it is tracked.
pub(in super::super) fn package_main(look: &Look) -> Option<String> {
    let package = package(look)?;
    let written = package["main"].as_str().or(package["module"].as_str()).unwrap_or("index.js");
    let main = super::super::look::join("", written)?;
    let names =
        [main.clone(), format!("{main}.js"), format!("{main}/index.js"), "src/index.js".into(), "src/index.ts".into()];
    names.into_iter().find(|path| look.has(path) && reach::is_program(path) && reach::is_plain(path))
}

pub(in super::super) fn package_name(look: &Look) -> Option<String> {
    package(look)?["name"].as_str().map(str::to_owned)
}

/// The command that tests a package and what it runs, where that is there to be run.
pub(super) fn tests(look: &Look) -> Option<(String, String)> {
    let package = package(look)?;
    let can_run = look.is_untracked("node_modules") || !has_dependencies(&package);
    test(&package).filter(|_| can_run)
}

fn test(package: &Value) -> Option<(String, String)> {
    let scripts = &package["scripts"];
    let test = scripts["test"].as_str().filter(|test| !test.contains("no test specified"))?;
    let does_more = MORE_THAN_TESTS.iter().any(|word| test.contains(word));
    let unit = UNIT_TESTS.iter().find_map(|name| Some((*name, scripts[*name].as_str()?))).filter(|_| does_more);
    Some(match unit {
        Some((name, script)) => (format!("npm run -s {name}"), script.to_owned()),
        None => ("npm test --silent".to_owned(), test.to_owned()),
    })
}

fn package(look: &Look) -> Option<Value> {
    look.has("package.json")
        .then(|| look.text("package.json"))
        .flatten()
        .and_then(|text| serde_json::from_str(&text).ok())
}

fn has_dependencies(package: &Value) -> bool {
    ["dependencies", "devDependencies"].iter().any(|key| package[*key].as_object().is_some_and(|all| !all.is_empty()))
}

fn tool(look: &Look, script: &str, files: &[String]) -> Option<Tool> {
    if script.contains("vitest bench") {
        return Some(Tool::Vitest);
    }
    files.iter().filter_map(|path| look.text(path)).find_map(|text| {
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&["'tinybench'", "\"tinybench\""]) && text.contains("console.table") {
            Some(Tool::Tinybench)
        } else if has(&["'benchmark'", "\"benchmark\""]) && text.contains("Suite") {
            Some(Tool::BenchmarkJs)
        } else {
            None
        }
    })
}
