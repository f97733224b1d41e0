//! Libraries as they are published, with one benchmark beside them: nothing has to be edited until `check` passes.

use std::process::Command;

use super::fixtures;
use crate::support::{Ran, Repo};

/// A package of Python as many are: an ignored file of its version, tests inside, names handed on twice.
fn python() -> Repo {
    let repo = fixtures::repo(&[
        (".gitignore", "*.pyc\nkit/_version.py\nbuild\n"),
        ("pyproject.toml", "[project]\nname = \"kit\"\n[tool.pytest.ini_options]\ntestpaths = [\"kit/tests\"]\n"),
        ("setup.py", "import setuptools\nsetuptools.setup()\n"),
        ("test_kit.py", "import kit\n"),
        (
            "kit/__init__.py",
            "\"\"\"\nA package.\n\"\"\"\n\nfrom kit.start import Page, render\n\nfrom ._version import version\n\n__version__ = version\n",
        ),
        (
            "kit/start.py",
            "\"\"\"\nWhat the package gives.\n\n\"\"\"\nfrom kit.parser import parse  # noqa\nfrom kit.page import Page\n\n\
             def render(text):\n    \"\"\"\n    Return the text as a page.\n\n    \"\"\"\n    return Page(parse(text)).done()\n",
        ),
        ("kit/parser.py", "def parse(text):\n    return text.split()\n"),
        (
            "kit/page.py",
            "class Page:\n    def __init__(self, words):\n        self.words = words\n    def done(self):\n        return ''.join(self.words)\n",
        ),
        ("kit/tests/__init__.py", ""),
        ("kit/tests/test_parser.py", "from kit.parser import parse\nassert parse('a b') == ['a', 'b']\n"),
        ("bench.py", "import kit\n\nprint(f\"render_ms: {len(kit.render('a b c'))}\")\n"),
    ]);
    repo.write("kit/_version.py", "version = '1'\n").write("kit/scratch.py", "x = 1\n");
    // As much of it as it takes to run the one test.
    let pytest = "echo import kit.tests.test_parser > \"$(echo .venv/lib/*/site-packages)/pytest.py\"";
    repo.shell(&format!("python3 -m venv --without-pip .venv && touch .venv/bin/pytest && {pytest}"));
    repo
}

/// A package of Node whose own benchmark never ends and says no number.
fn node() -> Repo {
    let repo = fixtures::repo(&[
        (".gitignore", "node_modules\n"),
        (
            "package.json",
            r#"{"name": "kit", "main": "kit.js", "scripts": {"test": "tap test/*.js"}, "devDependencies": {"tap": "1"}}"#,
        ),
        ("kit.js", "exports.parse = text => text.split('.')\n"),
        ("bench.js", "while (true) {\n  var first = run();\n  console.log(\"JSON.parse took %s\", first);\n}\n"),
        (
            "bench.mjs",
            "import { createRequire } from 'node:module';\nconst kit = createRequire(import.meta.url)('./kit.js');\n\
             console.log(`parse_ms: ${kit.parse('a.b').length}`);\n",
        ),
        ("test/parse.js", "require('assert').equal(require('..').parse('a.b').length, 2)\n"),
    ]);
    repo.program("node_modules/.bin/tap", "#!/bin/sh\nfor test; do node \"$test\" || exit; done\n");
    repo
}

/// A crate with benchmarks of the nightly harness, and a program that says its own number.
fn crate_of_rust() -> Repo {
    fixtures::repo(&[
        (".gitignore", "/target\n/Cargo.lock\n"),
        ("Cargo.toml", "[package]\nname = \"kit\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        (
            "src/lib.rs",
            "pub fn width(text: &str) -> usize {\n    text.len()\n}\n\n#[test]\nfn counts() {\n    assert_eq!(width(\"ab\"), 2);\n}\n",
        ),
        (
            "benches/benches.rs",
            "#![feature(test)]\nextern crate test;\n#[bench]\nfn width(b: &mut test::Bencher) {\n    b.iter(|| kit::width(\"ab\"));\n}\n",
        ),
        ("examples/hello.rs", "fn main() {\n    println!(\"size: {}\", kit::width(\"hello\"));\n}\n"),
        ("examples/bench.rs", "fn main() {\n    println!(\"compare_us: {}\", kit::width(\"abc\"));\n}\n"),
    ])
}

/// Whatever a library needs is in the triplet: nothing is left to mend.
#[track_caller]
fn passes(repo: &Repo, path: &str) {
    let mut command = repo.command(&["check"]);
    command.env("PATH", path);
    let ran = Ran::of(command.output().unwrap()).ended(0);
    let ran = ran.says("passed: `").says("ready: edit ");
    assert!(!ran.stdout.contains("fail "), "{ran}");
}

fn path() -> String {
    std::env::var("PATH").unwrap()
}

#[test]
fn a_package_of_python_as_it_is_published() {
    let repo = python();
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"
    --- to people
    recognised  the script bench.py
      surface   kit/parser.py, kit/page.py (kit/start.py uses them)
      metric    render_ms (bench.py, line 3, prints it)
      goal      min (by the name `render_ms`)
      run       .venv/bin/python bench.py (bench.py prints `render_ms`)
      budget    30s (a guess: benchmarks are short)
      inputs    .venv, kit/_version.py (git does not bring .venv: the environment it runs in; kit/_version.py: kit/__init__.py imports it)
      guard     .venv/bin/python -m pytest -q (the tests (kit/tests/test_parser.py …) must still pass)
    wrote       overnight.toml
    wrote       program.md: your words to the agent; add what you know
    note        the built-in tuner finds no numbers to change there: name a program under [agent], or let a coding agent use `overnight try` (`overnight init --agent-doc`)
    next        overnight check · overnight try --from-worktree -m IDEA
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.read("overnight.toml"), @r#"
    surface = ["kit/parser.py", "kit/page.py"]  # kit/start.py uses them
    metric = { name = "render_ms", goal = "min" }  # bench.py, line 3, prints it
    [evaluate]
    run = ".venv/bin/python bench.py"
    budget = "30s"  # a guess: benchmarks are short
    inputs = [".venv", "kit/_version.py"]
    [[guard]]
    run = ".venv/bin/python -m pytest -q"
    "#);
    passes(&repo, &path());
}

#[test]
fn an_environment_without_pytest_brings_no_guard() {
    let repo = python();
    repo.shell("rm .venv/bin/pytest");
    repo.ok(&["init", "--yes", "--surface", "kit/parser.py"]);
    let text = repo.read("overnight.toml");
    assert!(text.starts_with("surface = \"kit/parser.py\"\n") && !text.contains("guard"), "{text}");
}

#[test]
fn a_package_of_node_as_it_is_published() {
    let repo = node();
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"
    --- to people
    recognised  the script bench.mjs
      surface   kit.js (bench.mjs uses it)
      metric    parse_ms (bench.mjs, line 3, prints it)
      goal      min (by the name `parse_ms`)
      run       node bench.mjs (bench.mjs prints `parse_ms`)
      budget    30s (a guess: benchmarks are short)
      inputs    node_modules (git does not bring node_modules: the packages it uses)
      guard     npm test --silent (package.json has tests, `tap test/*.js`)
    wrote       overnight.toml
    wrote       program.md: your words to the agent; add what you know
    note        the built-in tuner finds no numbers to change there: name a program under [agent], or let a coding agent use `overnight try` (`overnight init --agent-doc`)
    next        overnight check · overnight try --from-worktree -m IDEA
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.read("overnight.toml"), @r#"
    surface = "kit.js"  # bench.mjs uses it
    metric = { name = "parse_ms", goal = "min" }  # bench.mjs, line 3, prints it
    [evaluate]
    run = "node bench.mjs"
    budget = "30s"  # a guess: benchmarks are short
    inputs = ["node_modules"]
    [[guard]]
    run = "npm test --silent"
    "#);
    passes(&repo, &path());
}

#[test]
fn tests_whose_packages_are_not_there_are_no_guard() {
    let repo = node();
    repo.shell("rm -r node_modules");
    repo.ok(&["init", "--yes"]);
    assert!(!repo.read("overnight.toml").contains("guard"));
}

#[test]
fn a_crate_as_it_is_published() {
    let repo = crate_of_rust();
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"
    --- to people
    recognised  the program examples/bench.rs
      surface   src/lib.rs (the library that is measured)
      metric    compare_us (examples/bench.rs, line 2, prints it)
      goal      min (by the name `compare_us`)
      run       cargo run -q --release --offline --example bench (examples/bench.rs prints `compare_us`)
      budget    1m (a guess: time to build it, and to run it)
      prepare   cargo build -q --release --offline --example bench && cargo  … (dependencies are built once, and not for every trial)
      guard     cargo test -q --offline (the tests must still pass)
    wrote       overnight.toml
    wrote       program.md: your words to the agent; add what you know
    note        the built-in tuner finds no numbers to change there: name a program under [agent], or let a coding agent use `overnight try` (`overnight init --agent-doc`)
    next        overnight check · overnight try --from-worktree -m IDEA
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.read("overnight.toml"), @r#"
    surface = "src/lib.rs"  # the library that is measured
    metric = { name = "compare_us", goal = "min" }  # examples/bench.rs, line 2, prints it
    [evaluate]
    run = "cargo run -q --release --offline --example bench"
    budget = "1m"  # a guess: time to build it, and to run it
    prepare = "cargo build -q --release --offline --example bench && cargo test -q --offline --no-run"
    [[guard]]
    run = "cargo test -q --offline"
    "#);
    let asked = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let rust = String::from_utf8(asked.stdout).unwrap();
    passes(&repo, &format!("{}/bin:{}", rust.trim(), path()));
}

#[test]
fn benchmarks_of_the_nightly_harness_want_a_nightly_toolchain() {
    let repo = crate_of_rust();
    repo.git(&["rm", "-q", "examples/bench.rs"]);
    repo.commit("without a program");
    repo.overnight(&["init", "--yes"]).ended(2).says("looks like a benchmark");
    std::fs::create_dir_all(repo.home().join(".rustup/toolchains/nightly-x86_64-unknown-linux-gnu")).unwrap();
    let shown = repo.overnight(&["init"]).ended(2).says("cargo +nightly bench --offline --bench benches");
    assert!(shown.stdout.ends_with("[[guard]]\nrun = \"cargo test -q --offline\"\n"), "{shown}");
    let both = crate_of_rust();
    std::fs::create_dir_all(both.home().join(".rustup/toolchains/nightly-x86_64-unknown-linux-gnu")).unwrap();
    both.overnight(&["init"])
        .says("the program examples/bench.rs")
        .says("also        cargo bench (benches/benches.rs)");
}

#[test]
fn a_command_of_cargo_names_a_file_by_its_flag() {
    for (run, path) in [
        ("cargo run -q --release --example bench", "examples/bench.rs"),
        ("cargo run -q --release --example=bench", "examples/bench.rs"),
        ("cargo run -q --release --bin speed", "src/bin/speed.rs"),
        ("cargo run --release", "src/main.rs"),
    ] {
        let repo = crate_of_rust();
        repo.git(&["mv", "-f", "examples/bench.rs", "bench.rs"]);
        repo.write(path, "fn main() {\n    println!(\"pair_ns: {}\", kit::width(\"abc\"));\n}\n").commit("a program");
        let shown = repo.overnight(&["init", "--run", run]).ended(2).says(&format!("recognised  the program {path}"));
        assert!(shown.stdout.contains("name = \"pair_ns\", goal = \"min\""), "{shown}");
        assert!(shown.stdout.contains("surface = \"src/lib.rs\""), "{shown}");
        assert!(shown.stdout.contains(&format!("run = \"{run}\"")), "{shown}");
    }
}

#[test]
fn what_is_still_unknown_is_asked_for_with_what_was_said() {
    let repo = fixtures::repo(&[("knobs.py", "x = 5\n")]);
    let ran = repo.overnight(&["init", "--yes", "--surface", "knobs.py", "--run", "sh x.sh"]).ended(2);
    ran.says("overnight init --surface knobs.py --run 'sh x.sh' --metric val_loss --goal min");
}

#[test]
fn a_benchmark_that_was_not_committed_yet_is_named() {
    let repo = fixtures::repo(&[("kit.py", "X = 3\n")]);
    repo.write("bench.py", "import kit\nprint(f\"loss: {kit.X}\")\n");
    repo.overnight(&["init", "--yes"]).ended(2).says("bench.py prints `loss`, but git does not have it yet");
    repo.shell("git add bench.py && git commit -q -m \"add bench.py\"");
    repo.ok(&["init", "--yes"]).says("kit.py (bench.py uses it)");
}

#[test]
fn a_dot_in_a_source_is_no_input() {
    let repo = fixtures::repo(&[
        ("bench.py", "import os, kit\nos.listdir('.'), open('./kit.py'), '..'\nprint(f\"loss: {kit.X}\")\n"),
        ("kit.py", "X = 3\n"),
    ]);
    let ran = repo.ok(&["init", "--yes"]);
    assert!(!ran.stderr.contains("inputs") && !repo.read("overnight.toml").contains("inputs"), "{ran}");
}

#[test]
fn a_package_that_lies_in_src_is_imported_from_there_and_no_installed_copy_is_measured() {
    let files = [
        ("pyproject.toml", "[project]\nname = \"kit\"\n[tool.pytest.ini_options]\naddopts = \"--cov=kit\"\n"),
        ("src/kit/__init__.py", "def width(text):\n    return len(text)\n"),
        ("tests/test_kit.py", "import kit\n"),
        ("bench.py", "import kit\n\nprint(f\"run_ms: {kit.width('abc')}\")\n"),
    ];
    let repo = fixtures::repo(&files);
    let shown = repo.overnight(&["init"]).ended(2);
    assert!(shown.stdout.contains("\nrun = \"PYTHONPATH=src python3 bench.py\"\n"), "{shown}");
    // The file that declares pytest asks for a plugin as well, and nobody has it.
    assert!(shown.stdout.ends_with("\nrun = \"PYTHONPATH=src python3 -m pytest -q -o addopts=\"\n"), "{shown}");
    repo.ok(&["init", "--yes"]);
    super::measures(&repo, 3.0);
    // What has to be compiled is in an installed copy alone.
    let repo = fixtures::repo(&files);
    repo.write("src/kit/_fast.pyx", "").commit("compiled");
    let shown = repo.overnight(&["init"]).ended(2);
    assert!(shown.stdout.contains("\nrun = \"python3 bench.py\"\n"), "{shown}");
    // A script in a folder imports from that folder.
    let repo = fixtures::repo(&[("kit/__init__.py", files[1].1), ("benchmarks/bench.py", files[3].1)]);
    repo.ok(&["init", "--yes"]);
    assert!(repo.read("overnight.toml").contains("\nrun = \"PYTHONPATH=. python3 benchmarks/bench.py\"\n"));
    super::measures(&repo, 3.0);
}

#[test]
fn an_environment_that_is_there_is_used_without_a_tool() {
    let repo = python();
    repo.write("uv.lock", "version = 1\n").write(".gitignore", "kit/_version.py\n.venv\nkit/scratch.py\n").commit("uv");
    repo.overnight(&["init"]).says("run = \".venv/bin/python bench.py\"");
}

#[test]
fn a_list_of_functions_leads_to_the_one_that_is_measured() {
    let names = ["add", "cut", "gcd", "lcm", "max", "sum"];
    let index: String = names.iter().map(|name| format!("const {name} = require('./functions/{name}')\n")).collect();
    let index = index + &format!("module.exports = {{\n  {}\n}}\n", names.join(",\n  "));
    for asked in ["./index.js", "kit"] {
        let repo = fixtures::repo(&[
            ("package.json", r#"{"name": "kit", "main": "index.js"}"#),
            ("index.js", &index),
            ("bench.js", &format!("const kit = require('{asked}')\nconsole.log(`run_ms: ${{kit.lcm(2, 3)}}`)\n")),
        ]);
        for name in names {
            repo.write(&format!("functions/{name}.js"), "module.exports = (a, b) => a\n");
        }
        repo.commit("functions");
        repo.overnight(&["init"]).ended(2).says("functions/lcm.js (index.js uses it)");
    }
}

#[test]
fn tests_that_do_more_than_test_are_passed_over_for_those_that_do_not() {
    let repo = node();
    let scripts =
        r#"{"name": "kit", "scripts": {"test": "npm run lint && npm run test-unit", "test-unit": "tap test/*.js"}}"#;
    repo.write("package.json", scripts).commit("two kinds of tests");
    repo.overnight(&["init"]).ended(2).says("npm run -s test-unit (package.json has tests, `tap test/*.js`)");
}

#[test]
fn a_lock_that_git_ignores_is_an_input_and_an_example_that_cargo_does_not_see_is_none() {
    let repo = crate_of_rust();
    repo.write("Cargo.lock", "version = 4\n");
    repo.overnight(&["init"]).ended(2).says("inputs = [\"Cargo.lock\"]");
    let manifest = repo.read("Cargo.toml") + "autoexamples = false\n";
    repo.write("Cargo.toml", &manifest).commit("as cargo publishes it");
    repo.overnight(&["init"]).ended(2).says("looks like a benchmark");
    repo.write("Cargo.toml", &(manifest + "[[example]]\nname = \"bench\"\n")).commit("declared");
    repo.overnight(&["init"]).ended(2).says("the program examples/bench.rs");
}

#[test]
fn a_short_program_that_does_the_work_is_not_passed_over_for_its_helpers() {
    let bench = "from kit import solve\nprint(f\"cost: {solve(3)}\")\n";
    for solver in [
        "from kit.helper import near\nWEIGHT = 3\ndef solve(x):\n    return near(x, WEIGHT)\n",
        "from .helper import near\ndef solve(x):\n    while near(x, 1):\n        x -= 1\n    return x\n",
    ] {
        let repo = fixtures::repo(&[
            ("bench.py", bench),
            ("kit/__init__.py", "from kit.solver import solve\n"),
            ("kit/solver.py", solver),
            ("kit/helper.py", "def near(x, y):\n    return abs(x - y)\n"),
        ]);
        repo.overnight(&["init"]).ended(2).says("surface   kit/solver.py (bench.py uses it)");
    }
    let script = "from helper import near\ndef solve(x):\n    return near(x, x)\n";
    let repo = fixtures::repo(&[
        ("bench.py", "from solver import solve\nprint(f\"cost: {solve(3)}\")\n"),
        ("solver.py", script),
        ("helper.py", "def near(x, y):\n    return abs(x - y)\n"),
    ]);
    repo.overnight(&["init"]).ended(2).says("surface   solver.py (bench.py uses it)");
}
