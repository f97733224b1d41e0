//! `overnight init`: what it recognises, what it writes, and what it leaves alone.

mod fixtures;
mod hostile;
mod libraries;
pub(crate) mod questions;
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
    insta::assert_snapshot!(repo.overnight(&["init"]), @r#"
    surface = "train.py"  # the file that an agent edits; prepare.py is fixed
    metric = { name = "val_bpb", goal = "min" }  # program.md looks for it in the output
    [evaluate]
    run = "uv run train.py"
    budget = "5m"  # prepare.py says TIME_BUDGET = 300
    # inputs = [".venv", "~/.cache/autoresearch"]  # first `uv sync && uv run prepare.py`
    --- to people
    recognised  a checkout of karpathy/autoresearch
      surface   train.py (the file that an agent edits; prepare.py is fixed)
      metric    val_bpb (program.md looks for it in the output)
      goal      min (by the name `val_bpb`)
      run       uv run train.py (there is a pyproject.toml)
      budget    5m (prepare.py says TIME_BUDGET = 300)
      inputs    .venv, ~/.cache/autoresearch (the environment, and what prepare.py downloads; not all there yet: first `uv sync && uv run prepare.py`)
    nothing was written: `overnight init --yes` writes it; --surface, --metric, --goal, --run and --budget change it
    --- exit code 2
    "#);
}

#[test]
fn a_checkout_of_autoresearch_with_its_inputs() {
    let repo = fixtures::autoresearch();
    std::fs::create_dir_all(repo.home().join(".cache/autoresearch")).unwrap();
    std::fs::write(repo.home().join(".cache/autoresearch/data.txt"), "hello").unwrap();
    repo.shell("python3 -m venv --without-pip .venv");
    let program = repo.read("program.md");
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"
    --- to people
    recognised  a checkout of karpathy/autoresearch
      surface   train.py (the file that an agent edits; prepare.py is fixed)
      metric    val_bpb (program.md looks for it in the output)
      goal      min (by the name `val_bpb`)
      run       uv run train.py (there is a pyproject.toml)
      budget    5m (prepare.py says TIME_BUDGET = 300)
      inputs    .venv, ~/.cache/autoresearch (the environment, and what prepare.py downloads)
    wrote       overnight.toml
    left        program.md as it is
    next        overnight check · overnight run
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.read("overnight.toml"), @r#"
    surface = "train.py"  # the file that an agent edits; prepare.py is fixed
    metric = { name = "val_bpb", goal = "min" }  # program.md looks for it in the output
    [evaluate]
    run = "uv run train.py"
    budget = "5m"  # prepare.py says TIME_BUDGET = 300
    inputs = [".venv", "~/.cache/autoresearch"]
    "#);
    assert_eq!(repo.read("program.md"), program);
}

#[test]
fn a_folder_of_pi_autoresearch_is_measured_as_pi_does() {
    let repo = fixtures::pi();
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"
    --- to people
    recognised  a folder of pi-autoresearch (.auto/measure.sh)
      surface   src/work.py (the files in scope, by .auto/prompt.md)
      metric    total_us (.auto/log.jsonl was begun with it)
      goal      min (by the same line)
      run       bash .auto/measure.sh (what pi runs)
      budget    5m (pi ends a run after 10 minutes, which is the wall that comes with this)
      guard     bash .auto/checks.sh (pi keeps nothing that fails it)
    wrote       overnight.toml
    wrote       program.md: your words to the agent; add what you know
    next        overnight check · overnight run
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.read("overnight.toml"), @r#"
    surface = "src/work.py"  # the files in scope, by .auto/prompt.md
    metric = { name = "total_us", goal = "min" }  # .auto/log.jsonl was begun with it
    [evaluate]
    run = "bash .auto/measure.sh"
    budget = "5m"  # pi ends a run after 10 minutes, which is the wall that comes with this
    [[guard]]
    run = "bash .auto/checks.sh"
    "#);
    insta::assert_snapshot!(repo.read("program.md"), @"
    # Program

    Make `total_us` smaller. One run has about 5m.

    ## What may change

    - `src/work.py`: anything in it, as long as it still does the same job.

    ## What to leave alone

    - Everything else; it is locked, the way `total_us` is measured above all.
    - `bash .auto/checks.sh` must still pass.
    - Prefer the simpler of two changes that give the same.

    ## Ideas

    - (what you would try first, and what was tried already)
    ");
    measures(&repo, 2.0);
}

#[test]
fn the_older_names_of_pi_autoresearch_are_known_and_an_untracked_script_is_an_input() {
    let repo = fixtures::older_pi();
    insta::assert_snapshot!(repo.overnight(&["init"]), @r#"
    surface = "src/work.py"  # the files in scope, by autoresearch.md
    metric = { name = "total_us", goal = "min" }  # the primary one, by autoresearch.md
    [evaluate]
    run = "bash autoresearch.sh"
    budget = "5m"  # pi ends a run after 10 minutes, which is the wall that comes with this
    --- to people
    recognised  a folder of pi-autoresearch (autoresearch.sh)
      surface   src/work.py (the files in scope, by autoresearch.md)
      metric    total_us (the primary one, by autoresearch.md)
      goal      min (by the same line)
      run       bash autoresearch.sh (what pi runs)
      budget    5m (pi ends a run after 10 minutes, which is the wall that comes with this)
    nothing was written: `overnight init --yes` writes it; --surface, --metric, --goal, --run and --budget change it
    --- exit code 2
    "#);
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
    insta::assert_snapshot!(repo.overnight(&["init"]), @r#"
    surface = "src/kit/sorting.py"  # tests/test_speed.py imports it
    metric = { name = "median_s", goal = "min" }
    [evaluate]
    run = '''PYTHONPATH=src python3 -m pytest -q tests/test_speed.py --benchmark-only --benchmark-json="$TMPDIR/b.json" && python3 -c 'import json, statistics as s, sys; b = json.load(open(sys.argv[1]))["benchmarks"]; print("median_s:", s.geometric_mean(x["stats"]["median"] for x in b))' "$TMPDIR/b.json"'''
    budget = "2m"  # pytest-benchmark takes about a second for each benchmark
    [[guard]]
    run = "PYTHONPATH=src python3 -m pytest -q --benchmark-disable"
    --- to people
    recognised  pytest-benchmark (tests/test_speed.py)
      surface   src/kit/sorting.py (tests/test_speed.py imports it)
      metric    median_s (the median of its time, the geometric mean where it has several benchmarks)
      goal      min (by the name `median_s`)
      run       PYTHONPATH=src python3 -m pytest -q tests/test_speed.py --be … (the benchmarks, then a line that reads pytest-benchmark's JSON)
      budget    2m (pytest-benchmark takes about a second for each benchmark)
      guard     PYTHONPATH=src python3 -m pytest -q --benchmark-disable (the tests (tests/test_sort.py …) must still pass)
    nothing was written: `overnight init --yes` writes it; --surface, --metric, --goal, --run and --budget change it
    --- exit code 2
    "#);
}

#[test]
fn benchmarks_of_criterion_and_the_module_they_measure() {
    let repo = fixtures::criterion();
    insta::assert_snapshot!(repo.overnight(&["init"]), @r#"
    surface = "crates/kit/src/merge.rs"  # crates/kit/benches/sorts.rs uses it
    metric = { name = "ns_per_iter", goal = "min" }
    [evaluate]
    run = '''cargo bench --offline -p sorting-kit --bench sorts -- --noplot --output-format bencher > "$TMPDIR/b" && awk '/ns\/iter/ { sub(/.*bench: */, ""); gsub(/,/, ""); s += log($1); n++ } END { if (!n) exit 1; printf "ns_per_iter: %.4f\n", exp(s / n) }' "$TMPDIR/b"'''
    budget = "5m"  # time to build, and some ten seconds for each benchmark
    prepare = "cargo bench --offline -p sorting-kit --bench sorts --no-run && cargo test -q --offline -p sorting-kit --no-run"
    [[guard]]
    run = "cargo test -q --offline -p sorting-kit"
    --- to people
    recognised  criterion (crates/kit/benches/sorts.rs)
      surface   crates/kit/src/merge.rs (crates/kit/benches/sorts.rs uses it)
      metric    ns_per_iter (nanoseconds per iteration; of several benchmarks the geometric mean)
      goal      min (by the name `ns_per_iter`)
      run       cargo bench --offline -p sorting-kit --bench sorts -- --nopl … (the benchmarks, then a line that reads what they print)
      budget    5m (time to build, and some ten seconds for each benchmark)
      prepare   cargo bench --offline -p sorting-kit --bench sorts --no-run  … (dependencies are built once, and not for every trial)
      guard     cargo test -q --offline -p sorting-kit (the tests must still pass)
    nothing was written: `overnight init --yes` writes it; --surface, --metric, --goal, --run and --budget change it
    --- exit code 2
    "#);
}

#[test]
fn npm_run_bench_with_a_known_tool_gives_its_operations_per_second() {
    let repo = fixtures::npm();
    repo.write("node_modules/benchmark/index.js", BENCHMARK_JS);
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @r#"
    --- to people
    recognised  `npm run bench` in package.json
      surface   lib/sum.js (index.js uses it)
      metric    ops_per_s (what benchmark.js prints; of several benchmarks the geometric mean)
      goal      max (by the name `ops_per_s`)
      run       npm run -s bench > "$TMPDIR/b" && awk 'match($0, / x [0-9,.] … (package.json says `node bench/run.js`)
      budget    2m (a guess: a few seconds for each benchmark)
      inputs    node_modules (git does not bring node_modules: the packages it uses)
      guard     npm test --silent (package.json has tests, `node test.js`)
    wrote       overnight.toml
    wrote       program.md: your words to the agent; add what you know
    note        the built-in tuner finds no numbers to change there: name a program under [agent], or let a coding agent use `overnight try` (`overnight init --agent-doc`)
    next        overnight check · overnight try --from-worktree -m IDEA
    --- exit code 0
    "#);
    insta::assert_snapshot!(repo.read("overnight.toml"), @r#"
    surface = "lib/sum.js"  # index.js uses it
    metric = { name = "ops_per_s", goal = "max" }
    [evaluate]
    run = '''npm run -s bench > "$TMPDIR/b" && awk 'match($0, / x [0-9,.]+ ops\/sec/) { v = substr($0, RSTART + 3, RLENGTH - 11); gsub(/,/, "", v); s += log(v); n++ } END { if (!n) exit 1; printf "ops_per_s: %.6f\n", exp(s / n) }' "$TMPDIR/b"'''
    budget = "2m"  # a guess: a few seconds for each benchmark
    inputs = ["node_modules"]
    [[guard]]
    run = "npm test --silent"
    "#);
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
    insta::assert_snapshot!(repo.overnight(&["init"]), @r#"
    surface = "lib/sum.js"  # index.js uses it
    metric = { name = "time_ms", goal = "min" }
    [evaluate]
    run = 't=$(date +%s%N) && npm run -s bench && echo "time_ms: $(( ($(date +%s%N) - t) / 1000000 ))"'
    budget = "2m"  # a guess: a few seconds for each benchmark
    # inputs = ["node_modules"]  # first `npm install`
    [[guard]]
    run = "npm test --silent"
    --- to people
    recognised  `npm run bench` in package.json
      surface   lib/sum.js (index.js uses it)
      metric    time_ms (what it prints is not known, so the time of the whole command is taken)
      goal      min (by the name `time_ms`)
      run       t=$(date +%s%N) && npm run -s bench && echo "time_ms: $(( ($ … (package.json says `node bench/run.js`)
      budget    2m (a guess: a few seconds for each benchmark)
      inputs    node_modules (not there yet: first `npm install`)
      guard     npm test --silent (package.json has tests, `node test.js`)
    nothing was written: `overnight init --yes` writes it; --surface, --metric, --goal, --run and --budget change it
    --- exit code 2
    "#);
    repo.ok(&["init", "--yes"]);
    repo.overnight(&["run", "--no-tui", "--experiments", "1"]);
    assert!(repo.status()["baseline"]["metric"].as_f64().is_some_and(|time| time > 0.0));
}

#[test]
fn a_target_of_a_makefile_with_what_it_is_built_of() {
    let repo = fixtures::make();
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"
    --- to people
    recognised  the target `bench` of Makefile
      surface   sort.c (the target `bench` is made of it)
      metric    cycles (bench_main.c, line 3, prints it)
      goal      min (by the name `cycles`)
      run       make -s bench (Makefile has the target `bench`)
      budget    5m (a guess; the wall is twice as far)
      guard     make -s test (Makefile has the target `test`)
    wrote       overnight.toml
    wrote       program.md: your words to the agent; add what you know
    note        the built-in tuner finds no numbers to change there: name a program under [agent], or let a coding agent use `overnight try` (`overnight init --agent-doc`)
    next        overnight check · overnight try --from-worktree -m IDEA
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.read("overnight.toml"), @r#"
    surface = "sort.c"  # the target `bench` is made of it
    metric = { name = "cycles", goal = "min" }  # bench_main.c, line 3, prints it
    [evaluate]
    run = "make -s bench"
    budget = "5m"  # a guess; the wall is twice as far
    [[guard]]
    run = "make -s test"
    "#);
    measures(&repo, 2997.0);
}

#[test]
fn a_plain_script_with_what_it_scores_and_the_data_it_reads() {
    let repo = fixtures::script();
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"
    --- to people
    recognised  the script evaluate.py
      surface   solver.py (evaluate.py uses it)
      metric    ratio (evaluate.py, line 7, prints it)
      goal      min (by what is written about it)
      run       python3 evaluate.py (evaluate.py prints `ratio`)
      budget    5m (a guess; the wall is twice as far)
      inputs    data (git does not bring data: evaluate.py names it)
    wrote       overnight.toml
    wrote       program.md: your words to the agent; add what you know
    next        overnight check · overnight run
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.read("overnight.toml"), @r#"
    surface = "solver.py"  # evaluate.py uses it
    metric = { name = "ratio", goal = "min" }  # evaluate.py, line 7, prints it
    [evaluate]
    run = "python3 evaluate.py"
    budget = "5m"  # a guess; the wall is twice as far
    inputs = ["data"]
    "#);
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
    insta::assert_snapshot!(repo.ok(&[&["init", "--yes"], &flags[..]].concat()), @"
    --- to people
    recognised  the script what.sh
      surface   knobs.py (as you said)
      metric    depth (as you said)
      goal      max (as you said)
      run       sh what.sh (as you said)
      budget    10s (as you said)
    wrote       overnight.toml
    wrote       program.md: your words to the agent; add what you know
    next        overnight check · overnight run
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.read("overnight.toml"), @r#"
    surface = "knobs.py"
    metric = { name = "depth", goal = "max" }
    [evaluate]
    run = "sh what.sh"
    budget = "10s"
    "#);
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
    assert!(repo.read("overnight/fast.toml").starts_with("surface = \"knobs.py\""));
    repo.ok(&["status", "--study", "fast"]).says("study      fast · not run yet");
}

#[test]
fn a_folder_of_a_larger_repository_has_paths_of_its_own() {
    let repo =
        fixtures::repo(&[("kit/score.py", "import work\nprint(f\"loss: {work.X}\")\n"), ("kit/work.py", "X = 3\n")]);
    repo.ok(&["-C", "kit", "init", "--yes"]);
    assert!(repo.read("kit/overnight.toml").starts_with("surface = \"work.py\""));
    repo.overnight(&["-C", "kit", "run", "--no-tui", "--experiments", "1"]).says("baseline   loss 3");
}

#[test]
fn a_coding_agent_is_told_how_to_work_here() {
    let repo = Repo::new();
    insta::assert_snapshot!(repo.ok(&["init", "--agent-doc", "-"]).stdout, @r#"
    ## An `overnight` study: `main`

    This repository is a study: `loss` is to become smaller. You have the ideas; `overnight` measures each one in a sandbox,
    decides, and keeps what is really better as a commit on the branch `overnight/main`. When you are asked to begin:

    1. Read `program.md`: what to explore, and what to leave alone. What it says about git, logging, measuring and looping is
       `overnight`'s work and not yours.
    2. Read the brief: the tool `brief` of the MCP server `overnight`; without that, `overnight check --brief`.
    3. Only `knobs.py` may change. Propose one idea at a time, and read its verdict before the next:
       - with the MCP server: `propose` with a one-line hypothesis, then `verdict` with its ticket;
       - without it: edit the working tree, then
         `overnight try --from-worktree --wait -m "the idea in one line" --json`. After `kept` go on from your edit, after
         anything else put it back: `git restore --source=overnight/main --worktree -- knobs.py`
    4. Go on with the next idea, without asking, until you are stopped.

    A verdict: `kept` is really better, the new champion; `discarded`, `no_change` and `duplicate` are not; `crashed`,
    `timed_out` and the like gave no number; `guard_failed` and `policy` broke a rule. `reason` says why; `metric` is what was
    measured, lower is better; `gain` is over the champion.

    Do not commit, reset, stash or switch branches for an experiment. Do not run `sh score.sh` yourself or report numbers of your own:
    only a verdict counts, and one lucky run is noise. Do not edit `overnight.toml` or how `loss` is measured, and do not write in
    `.overnight/`. An edit of anything else is not measured.

    The MCP server, for Claude Code in `.mcp.json` (or `claude mcp add overnight -- overnight mcp`):

    ```json
    { "mcpServers": { "overnight": { "command": "overnight", "args": ["mcp"] } } }
    ```

    and for Codex in `~/.codex/config.toml`:

    ```toml
    [mcp_servers.overnight]
    command = "overnight"
    args = ["mcp"]
    tool_timeout_sec = 86400
    ```
    "#);
    insta::assert_snapshot!(repo.ok(&["init", "--agent-doc"]), @r#"
    --- to people
    wrote       AGENTS.md
    next        start your coding agent here: "have a look at program.md and let's go"
    --- exit code 0
    "#);
    let told = repo.read("AGENTS.md");
    assert!(told.contains(&repo.ok(&["init", "--agent-doc", "-"]).stdout));
    repo.ok(&["init", "--agent-doc"]).says("up to date  AGENTS.md");
    assert_eq!(repo.read("AGENTS.md"), told);
    // What it says has to work.
    repo.write("knobs.py", "x = 3\n");
    let tried = repo.ok(&["try", "--from-worktree", "--wait", "-m", "the middle", "--json"]);
    assert_eq!(crate::support::json_lines(&tried.stdout)[0]["verdict"], "kept");
    repo.write("knobs.py", "x = 9\n");
    repo.shell("git restore --source=overnight/main --worktree -- knobs.py");
    assert_eq!(repo.read("knobs.py"), "x = 3\n");
}

#[test]
fn what_agents_are_told_changes_no_foreign_text_and_no_study() {
    let repo = Repo::new();
    repo.write("AGENTS.md", "# Ours\n\nUse tabs.\n").write("CLAUDE.md", "Be kind.\n").commit("told before");
    repo.run(1);
    repo.ok(&["init", "--agent-doc"]).says("added to    AGENTS.md").says("added to    CLAUDE.md");
    assert!(repo.read("AGENTS.md").starts_with("# Ours\n\nUse tabs.\n\n<!-- overnight main: begin -->\n"));
    assert!(repo.read("CLAUDE.md").starts_with("Be kind.\n\n<!-- overnight main: begin -->\n"));
    // It is no part of the evaluation: neither the edit nor its commit is in the way, or begins a new segment.
    for step in ["edited", "committed"] {
        let ran = repo.run(1);
        assert!(!ran.stderr.contains("AGENTS.md"), "{step}: {ran}");
        repo.commit("told");
    }
    assert!(repo.log().iter().all(|row| row["segment"] == 1));
    repo.assert_sound();
    // One that only leads to the other needs nothing of its own.
    repo.write("CLAUDE.md", "Be kind.\n@AGENTS.md\n");
    repo.ok(&["init", "--agent-doc"]).says("up to date  AGENTS.md");
    assert_eq!(repo.read("CLAUDE.md"), "Be kind.\n@AGENTS.md\n");
    repo.write("AGENTS.md", "<!-- overnight main: begin -->\n");
    repo.overnight(&["init", "--agent-doc"]).ended(3).says("once each, in this order");
    // Where the evaluation reads it, it is locked like any other file.
    repo.shell("git restore AGENTS.md");
    repo.write("score.sh", &format!("cat AGENTS.md > /dev/null\n{}", repo.read("score.sh"))).commit("reads it");
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("sh score.sh", "test -e AGENTS.md; sh score.sh"));
    repo.write("AGENTS.md", "# Theirs\n");
    repo.overnight(&["rebase"]).ended(3).says("`AGENTS.md` differs from the last commit");
}
