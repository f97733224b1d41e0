//! Repositories in the shapes that people have, as small as they can be.

use crate::support::Repo;

/// Files and their texts, committed.
pub(super) fn repo(files: &[(&str, &str)]) -> Repo {
    let repo = Repo::empty();
    for (path, text) in files {
        repo.write(path, text);
    }
    repo.commit("base");
    repo
}

/// `train.py` is edited, `prepare.py` is fixed; data lies at home and the environment beside the project.
pub(super) fn autoresearch() -> Repo {
    repo(&[
        (".gitignore", ".venv\n__pycache__\nresults.tsv\nrun.log\n"),
        ("pyproject.toml", "[project]\nname = \"autoresearch\"\nversion = \"0.1.0\"\ndependencies = []\n"),
        ("uv.lock", "version = 1\n"),
        (
            "program.md",
            "# autoresearch\n\nGet the lowest val_bpb.\n\n```\ngrep \"^val_bpb:\\|^peak_vram_mb:\" run.log\n```\n",
        ),
        (
            "prepare.py",
            "\"\"\"Data is stored in ~/.cache/autoresearch/.\"\"\"\nimport os\n\nMAX_SEQ_LEN = 2048\n\
             TIME_BUDGET = 300        # training time budget in seconds (5 minutes)\n\
             CACHE_DIR = os.path.join(os.path.expanduser(\"~\"), \".cache\", \"autoresearch\")\n\n\
             def data():\n    return len(open(os.path.join(CACHE_DIR, \"data.txt\")).read())\n",
        ),
        (
            "train.py",
            "from prepare import TIME_BUDGET, data\n\nMATRIX_LR = 0.04\nDEPTH = 8\n\n\
             val_bpb = 1 + (MATRIX_LR - 0.05) ** 2 + data() * 1e-6\n\
             print(\"---\")\nprint(f\"val_bpb:          {val_bpb:.6f}\")\n\
             print(f\"training_seconds: {TIME_BUDGET:.1f}\")\nprint(f\"depth:            {DEPTH}\")\n",
        ),
    ])
}

const MEASURE: &str = "#!/bin/bash\nset -euo pipefail\npython3 -c 'import sys; sys.path.insert(0, \"src\"); import work; \
                       print(\"METRIC total_us=%d\" % work.work())'\necho \"METRIC warm_us=3\"\n";
const WORK: &str = "STEP = 4\n\ndef work():\n    return (STEP - 3) ** 2 + 1\n";
const PROMPT: &str = "# Autoresearch: faster work\n\n## Metrics\n- **Primary**: total_us (µs, lower is better)\n\
                      - **Secondary**: warm_us\n\n## Files in Scope\n- `src/work.py` — the work\n\n\
                      ## Off Limits\n- `src/other.py`\n";
const LOG: &str = "{\"type\":\"config\",\"name\":\"old\",\"metricName\":\"old_us\",\"bestDirection\":\"higher\"}\n\
                   {\"run\":1,\"metric\":40.7,\"status\":\"keep\"}\n\
                   {\"type\":\"config\",\"name\":\"new\",\"metricName\":\"total_us\",\"bestDirection\":\"lower\"}\n";

/// A session of pi-autoresearch in `.auto`.
pub(super) fn pi() -> Repo {
    repo(&[
        ("src/work.py", WORK),
        ("src/other.py", "x = 1\n"),
        (".auto/measure.sh", MEASURE),
        (".auto/checks.sh", "python3 -m py_compile src/work.py\n"),
        (".auto/prompt.md", PROMPT),
        (".auto/log.jsonl", LOG),
    ])
}

/// The same by its older names, without checks and before anything was logged.
pub(super) fn older_pi() -> Repo {
    repo(&[("src/work.py", WORK), ("autoresearch.sh", MEASURE), ("autoresearch.md", PROMPT)])
}

pub(super) const SORTING: &str = "CHUNK = 8\n\ndef sort(xs):\n    return sorted(xs)\n";

pub(super) fn pytest_benchmark() -> Repo {
    repo(&[
        (".gitignore", ".venv\n"),
        ("pyproject.toml", "[project]\nname = \"kit\"\n[dependency-groups]\ndev = [\"pytest-benchmark\"]\n"),
        ("src/kit/__init__.py", "from .sorting import sort\n"),
        ("src/kit/sorting.py", SORTING),
        ("src/kit/unused.py", "x = 1\n"),
        ("tests/test_sort.py", "from kit import sort\n\ndef test_sorts():\n    assert sort([2, 1]) == [1, 2]\n"),
        (
            "tests/test_speed.py",
            "import random\nfrom kit import sort\n\ndef test_speed(benchmark):\n    benchmark(sort, [2, 1])\n",
        ),
    ])
}

pub(super) fn criterion() -> Repo {
    repo(&[
        (".gitignore", "target\n"),
        ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n"),
        (
            "crates/kit/Cargo.toml",
            "[package]\nname = \"sorting-kit\"\n\n[dev-dependencies]\ncriterion = \"0.5\"\n\n[[bench]]\nname = \"sorts\"\nharness = false\n",
        ),
        ("crates/kit/src/lib.rs", "pub mod merge;\npub mod quick;\n"),
        ("crates/kit/src/merge.rs", "pub fn sort() {}\n"),
        ("crates/kit/src/quick.rs", "pub fn sort() {}\n#[test]\nfn sorts() {}\n"),
        (
            "crates/kit/benches/sorts.rs",
            "use criterion::{criterion_group, criterion_main, Criterion};\nuse sorting_kit::merge::sort;\n\
             criterion_group!(benches, bench);\ncriterion_main!(benches);\n",
        ),
    ])
}

/// A package whose benchmark prints as benchmark.js does.
pub(super) fn npm() -> Repo {
    repo(&[
        (".gitignore", "node_modules\n"),
        (
            "package.json",
            r#"{"name": "kit", "main": "index.js", "scripts": {"bench": "node bench/run.js", "test": "node test.js"}, "devDependencies": {"benchmark": "2"}}"#,
        ),
        ("index.js", "module.exports = require('./lib/sum')\n"),
        ("lib/sum.js", "exports.sum = xs => xs.reduce((a, b) => a + b, 0)\n"),
        ("test.js", "require('assert').equal(require('.').sum([1, 2]), 3)\n"),
        (
            "bench/run.js",
            "const { Suite } = require('benchmark')\nconst { sum } = require('..')\n\
             new Suite().add('sum', () => sum([1, 2])).on('cycle', event => console.log(String(event.target))).run()\n",
        ),
    ])
}

pub(super) fn make() -> Repo {
    repo(&[
        (
            "Makefile",
            "CC = cc\n.PHONY: bench test\n\nbench: sortbench\n\t@./sortbench\n\nsortbench: bench_main.o \\\n  sort.o\n\
             \t$(CC) -o $@ $^\n\ntest: sortbench\n\t./sortbench > /dev/null\n",
        ),
        ("sort.c", "int work(int n) { int s = 0; for (int i = 0; i < n; i++) s += i % 7; return s; }\n"),
        (
            "bench_main.c",
            "#include <stdio.h>\nint work(int);\nint main(void) { printf(\"cycles: %d\\n\", work(1000)); }\n",
        ),
    ])
}

/// A script that scores what another file does, on data that git does not have.
pub(super) fn script() -> Repo {
    let repo = repo(&[
        (".gitignore", "data\nout\n"),
        (
            "evaluate.py",
            "\"\"\"Lower is better.\"\"\"\nimport os\nimport solver\n\ntotal = sum(solver.solve(int(line)) for line in open(\"data/cases.txt\"))\n\
             os.makedirs(\"out\", exist_ok=True)\nprint(f\"ratio: {total / 10}\")\n",
        ),
        ("solver.py", "WEIGHT = 3\n\ndef solve(x):\n    return abs(x - WEIGHT)\n"),
    ]);
    repo.write("data/cases.txt", "1\n5\n").write("out/old.txt", "");
    repo
}
