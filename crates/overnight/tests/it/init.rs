//! `overnight init`: what it recognises, what it writes, and what it leaves alone.

mod fixtures;
mod hostile;
mod questions;
mod refusals;

use crate::support::Repo;

/// The tool itself, as far as a benchmark sees it: two results, in its own words.
const BENCHMARK_JS: &str = "exports.Suite = class {\n  add(name) { this.name = name; return this }\n  on(_, said) { this.said = said; return this }\n  \
     run() { for (const x of ['1,000,000', '4,000,000']) this.said({ target: this.name + ' x ' + x + ' ops/sec ±0.45% (96 runs sampled)' }) }\n}\n";

/// A study that was begun by `init` gets its baseline, and the number is what it has to be.
#[track_caller]
fn measures(repo: &Repo, baseline: f64) {
    let ran = repo.overnight(&["run", "--no-tui", "--experiments", "1"]);
    let found = repo.status()["baseline"]["metric"].as_f64();
    assert!(found.is_some_and(|found| (found - baseline).abs() < 1e-6), "{found:?}\n{ran}");
}

#[test]
fn a_checkout_of_autoresearch_whose_data_is_not_there_yet() {
    let repo = fixtures::autoresearch();
    insta::assert_snapshot!(repo.overnight(&["init"]), @"");
}

#[test]
fn a_checkout_of_autoresearch_with_its_inputs() {
    let repo = fixtures::autoresearch();
    std::fs::create_dir_all(repo.home().join(".cache/autoresearch")).unwrap();
    std::fs::write(repo.home().join(".cache/autoresearch/data.txt"), "hello").unwrap();
    repo.shell("python3 -m venv --without-pip .venv");
    let program = repo.read("program.md");
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"");
    insta::assert_snapshot!(repo.read("overnight.toml"), @"");
    assert_eq!(repo.read("program.md"), program);
}

#[test]
fn a_folder_of_pi_autoresearch_is_measured_as_pi_does() {
    let repo = fixtures::pi();
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"");
    insta::assert_snapshot!(repo.read("overnight.toml"), @"");
    insta::assert_snapshot!(repo.read("program.md"), @"");
    measures(&repo, 2.0);
}

#[test]
fn the_older_names_of_pi_autoresearch_are_known_and_an_untracked_script_is_an_input() {
    let repo = fixtures::older_pi();
    insta::assert_snapshot!(repo.overnight(&["init"]), @"");
    repo.git(&["rm", "-q", "--cached", "autoresearch.sh"]);
    repo.commit("without the script");
    repo.git(&["rm", "-q", "--cached", "-f", "autoresearch.sh"]);
    repo.git(&["commit", "-q", "-m", "the script is the person's own"]);
    repo.ok(&["init", "--yes"]).says("git does not have it");
    assert!(repo.read("overnight.toml").contains("inputs = [\"autoresearch.sh\"]\n"));
    measures(&repo, 2.0);
}

#[test]
fn benchmarks_of_pytest_and_the_module_they_measure() {
    let repo = fixtures::pytest_benchmark();
    insta::assert_snapshot!(repo.overnight(&["init"]), @"");
}

#[test]
fn benchmarks_of_criterion_and_the_module_they_measure() {
    let repo = fixtures::criterion();
    insta::assert_snapshot!(repo.overnight(&["init"]), @"");
}

#[test]
fn npm_run_bench_with_a_known_tool_gives_its_operations_per_second() {
    let repo = fixtures::npm();
    repo.write("node_modules/benchmark/index.js", BENCHMARK_JS);
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"");
    insta::assert_snapshot!(repo.read("overnight.toml"), @"");
    measures(&repo, 2_000_000.0);
}

#[test]
fn a_table_of_operations_per_second_is_read_by_its_column() {
    let repo = fixtures::npm();
    repo.write("bench/run.js", "const { Bench } = require('tinybench')\nconst { sum } = require('..')\nconsole.table(new Bench(sum).table())\n");
    let table = "[{ 'Task name': 'a, 7', 'Latency med (ns)': '5 ± 1', 'Throughput avg (ops/s)': '9 ± 1%', 'Throughput med (ops/s)': '1000 ± 12', Samples: 3 },\n\
                 { 'Task name': 'b', 'Latency med (ns)': '6 ± 1', 'Throughput avg (ops/s)': '9 ± 1%', 'Throughput med (ops/s)': '4000 ± 12', Samples: 3 }]";
    repo.write(
        "node_modules/tinybench/index.js",
        &format!("exports.Bench = class {{ table() {{ return {table} }} }}\n"),
    );
    repo.commit("another tool");
    repo.ok(&["init", "--yes"]).says("what tinybench prints");
    measures(&repo, 2000.0);
}

#[test]
fn npm_run_bench_that_prints_nothing_known_is_timed() {
    let repo = fixtures::npm();
    repo.write("bench/run.js", "require('..').sum([1])\n").commit("it prints nothing");
    insta::assert_snapshot!(repo.overnight(&["init"]), @"");
    repo.ok(&["init", "--yes"]);
    repo.overnight(&["run", "--no-tui", "--experiments", "1"]);
    assert!(repo.status()["baseline"]["metric"].as_f64().is_some_and(|time| time > 0.0));
}

#[test]
fn a_target_of_a_makefile_with_what_it_is_built_of() {
    let repo = fixtures::make();
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"");
    insta::assert_snapshot!(repo.read("overnight.toml"), @"");
    measures(&repo, 2997.0);
}

#[test]
fn a_plain_script_with_what_it_scores_and_the_data_it_reads() {
    let repo = fixtures::script();
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"");
    insta::assert_snapshot!(repo.read("overnight.toml"), @"");
    measures(&repo, 0.4);
}

#[test]
fn a_number_printed_again_and_again_counts_by_its_last_value() {
    let text = "RATE = 0.5\nloss = 8.0\nfor epoch in range(3):\n    loss *= RATE\n    print(f\"loss: {loss}\")\n";
    let repo = fixtures::repo(&[("train.py", text)]);
    repo.ok(&["init", "--yes"]).says("the last one counts");
    measures(&repo, 1.0);
}

#[test]
fn a_script_of_the_command_line_alone() {
    let repo = fixtures::repo(&[("knobs.py", "x = 5\n"), ("what.sh", "sed -n 's/^x = /depth: /p' knobs.py\n")]);
    let flags =
        ["--surface", "knobs.py", "--metric", "depth", "--goal", "max", "--run", "sh what.sh", "--budget", "10s"];
    insta::assert_snapshot!(repo.ok(&[&["init", "--yes"], &flags[..]].concat()), @"");
    insta::assert_snapshot!(repo.read("overnight.toml"), @"");
    measures(&repo, 5.0);
}

#[test]
fn another_of_what_was_recognised_can_be_picked() {
    let repo = fixtures::script();
    repo.write("Makefile", "score:\n\tpython3 evaluate.py\n").commit("a second way");
    repo.overnight(&["init", "--as", "make"]).ended(2).says("run = \"make -s score\"");
    repo.overnight(&["init", "--as", "script"]).ended(2).says("run = \"python3 evaluate.py\"");
    repo.overnight(&["init", "--as", "npm"]).ended(2).says("no npm was recognised here, only make, script");
}

#[test]
fn a_second_study_lies_beside_the_first() {
    let repo = Repo::new();
    repo.ok(&["init", "--yes", "--study", "fast", "--surface", "knobs.py", "--metric", "loss", "--run", "sh score.sh"]);
    assert!(repo.read("overnight/fast.toml").starts_with("surface = \"knobs.py\"\n"));
    repo.ok(&["status", "--study", "fast"]).says("study      fast · not run yet");
}

#[test]
fn a_folder_of_a_larger_repository_has_paths_of_its_own() {
    let repo =
        fixtures::repo(&[("kit/score.py", "import work\nprint(f\"loss: {work.X}\")\n"), ("kit/work.py", "X = 3\n")]);
    repo.ok(&["-C", "kit", "init", "--yes"]);
    assert!(repo.read("kit/overnight.toml").starts_with("surface = \"work.py\"\n"));
    repo.overnight(&["-C", "kit", "run", "--no-tui", "--experiments", "1"]).says("baseline   loss 3");
}

#[test]
fn the_page_for_a_coding_agent_says_what_try_does() {
    let repo = Repo::new();
    insta::assert_snapshot!(repo.ok(&["init", "--agent-doc", "-"]).stdout, @"");
    repo.ok(&["init", "--agent-doc"]).says("wrote       OVERNIGHT.md");
    assert_eq!(repo.read("OVERNIGHT.md"), repo.ok(&["init", "--agent-doc", "-"]).stdout);
    repo.overnight(&["init", "--agent-doc"]).ended(3).says("OVERNIGHT.md is there already");
    // What it says has to work.
    repo.write("knobs.py", "x = 3\n");
    let tried = repo.ok(&["try", "--from-worktree", "-m", "the middle", "--json"]);
    assert_eq!(crate::support::json_lines(&tried.stdout)[0]["verdict"], "kept");
    repo.write("knobs.py", "x = 9\n");
    repo.shell("git restore --source=overnight/main --worktree -- knobs.py");
    assert_eq!(repo.read("knobs.py"), "x = 3\n");
}
