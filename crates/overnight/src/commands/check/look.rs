//! What can be told by reading: whether the surface does the evaluation's work.

use std::path::Path;

use overnight_model::proposal::{Contents, editable};
use overnight_model::spec::{Assurance, Part, Spec};

/// Something in the surface that agents should not be able to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trespass {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) what: String,
}

/// Marks of an evaluation, and what they do there.
const MARKS: [(&str, &[&str]); 4] = [
    (
        "splits the data",
        &["train_test_split(", "random_split(", "kfold(", "val_split", "test_split", "validation_split"],
    ),
    (
        "loads the data",
        &["read_csv(", "read_parquet(", "load_dataset(", "np.load(", "fetch_openml(", "np.loadtxt(", "readfilesync("],
    ),
    ("computes the score", &["def evaluate(", "def score(", "def accuracy(", "fn evaluate(", "function evaluate("]),
    ("holds tests", &["def test_", "import unittest", "import pytest", "#[test]"]),
];

/// Ways to say a number.
const PRINTS: [&str; 10] =
    ["print", "echo", "console.log", "console.info", "puts ", "cout", "log(", "write", "dump", "overnight_metrics"];

/// Each kind of trespass once, where it comes first.
pub(super) fn trespasses(spec: &Spec, surface: &Contents) -> Vec<Trespass> {
    let says_its_own = spec.evaluate.assurance() == Assurance::Cooperative;
    let mut found: Vec<Trespass> = Vec::new();
    for file in &spec.surface.files {
        let bytes = surface.get(&file.path).unwrap_or_default();
        let Some(range) = editable(&file.part, bytes) else { continue };
        let first = bytes[..range.start].split(|byte| *byte == b'\n').count();
        let text = String::from_utf8_lossy(&bytes[range]).into_owned();
        for (n, line) in text.lines().enumerate().filter(|(_, line)| !is_comment(line)) {
            let lower = line.to_lowercase();
            let own = (says_its_own && prints(&lower, &spec.metric.name.to_lowercase()))
                .then(|| format!("prints `{}` itself", spec.metric.name));
            let marks = MARKS.iter().filter(|(_, marks)| marks.iter().any(|mark| lower.contains(mark)));
            for what in own.into_iter().chain(marks.map(|(what, _)| (*what).to_owned())) {
                if !found.iter().any(|known| known.what == what) {
                    found.push(Trespass { path: file.path.clone(), line: first + n, what });
                }
            }
        }
    }
    found
}

/// The line that locks the tests at the end of a Rust file, where nothing else trespasses.
pub(super) fn lock_tests(spec: &Spec, found: &[Trespass], surface: &Contents) -> Option<String> {
    const MARKER: &str = "#[cfg(test)]";
    let ([tests], [file]) = (found, spec.surface.files.as_slice()) else { return None };
    let text = String::from_utf8_lossy(surface.get(&file.path)?).into_owned();
    let mut markers = text.lines().enumerate().filter(|(_, line)| line.trim() == MARKER).map(|(n, _)| n + 1);
    let is_above = markers.next().is_some_and(|line| line < tests.line) && markers.next().is_none();
    let path = Path::new(&file.path).strip_prefix(&spec.evaluate.folder).ok()?.to_str()?;
    (file.part == Part::Whole && is_above)
        .then(|| format!("lock them: `surface = {{ path = \"{path}\", above = \"{MARKER}\" }}`"))
}

/// A line that says the metric by its whole name, and not `train_loss` where `loss` is meant.
fn prints(line: &str, metric: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let whole = line
        .match_indices(metric)
        .any(|(at, _)| !line[..at].ends_with(part_of_name) && !line[at + metric.len()..].starts_with(part_of_name));
    whole && PRINTS.iter().any(|print| line.contains(print))
}

pub(super) fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    ["//", "--", "%", "/*", "* "].iter().any(|mark| line.starts_with(mark))
        || (line.starts_with('#') && !line.starts_with("#["))
}

/// The files of a command line that are tracked, then the surface: where a seed would be set.
pub(super) fn programs<'a>(spec: &'a Spec, tracked: &'a [String]) -> impl Iterator<Item = &'a str> {
    let folder = Path::new(&spec.evaluate.folder);
    let named = spec.evaluate.run.split_whitespace().filter_map(move |word| {
        let path = folder.join(word.trim_matches(['"', '\'', ';']).trim_start_matches("./"));
        tracked.iter().map(String::as_str).find(|known| Path::new(known) == path)
    });
    named.chain(spec.surface.paths())
}

/// Whether a metric is a time or a rate by its name: such noise comes from the machine.
pub(super) fn is_time(metric: &str) -> bool {
    let metric = metric.to_lowercase();
    let words: Vec<&str> = metric.split(['_', '-', '.', '/']).collect();
    ["ms", "us", "ns", "s", "sec", "secs", "second", "seconds", "time", "latency", "throughput", "wall", "qps", "rps"]
        .iter()
        .any(|word| words.contains(word))
}

#[cfg(test)]
mod tests {
    use overnight_model::Millis;
    use overnight_model::spec::{Evaluate, Part, Surface, SurfaceFile};

    use super::*;

    fn spec(part: Part) -> Spec {
        Spec {
            study: "main".into(),
            surface: Surface { files: vec![SurfaceFile { path: "a/train.py".into(), part }], max_lines_changed: None },
            program: "program.md".into(),
            metric: overnight_model::spec::Metric {
                name: "loss".into(),
                goal: overnight_model::Goal::Min,
                min_gain: None,
                target: None,
                plausible: None,
                pick: Default::default(),
            },
            evaluate: Evaluate { folder: "a".into(), ..Evaluate::new("python3 ./run.py --x", Millis::seconds(1)) },
            holdout: None,
            guards: Vec::new(),
            judge: Default::default(),
            agent: overnight_model::spec::AgentSpec::one(
                overnight_model::spec::AgentKind::Tuner,
                Millis::seconds(1),
                Default::default(),
            ),
            sandbox: Default::default(),
            gateway: Default::default(),
            slots: 1,
            limits: Default::default(),
            notify: Default::default(),
        }
    }

    fn found(part: Part, text: &str) -> Vec<String> {
        let surface = Contents(vec![("a/train.py".into(), text.into())]);
        let told = trespasses(&spec(part), &surface).into_iter();
        told.map(|Trespass { path, line, what }| format!("{path}:{line} {what}")).collect()
    }

    #[test]
    fn a_surface_that_does_the_evaluations_work_is_told_by_line() {
        let text = "x = 1\n# print loss here\nd = pd.read_csv('x')\nprint('train_loss', 1)\nprint(f'loss: {x}')\n";
        assert_eq!(found(Part::Whole, text), ["a/train.py:3 loads the data", "a/train.py:5 prints `loss` itself"]);
        assert_eq!(found(Part::Whole, "def blossom():\n    return print\n"), Vec::<String>::new());
    }

    #[test]
    fn what_is_locked_by_a_marker_is_not_told_and_lines_are_those_of_the_file() {
        let text = "print('loss', 1)\n# MARK\ny = 2\ndef evaluate(): pass\n";
        assert_eq!(found(Part::Below("MARK".into()), text), ["a/train.py:4 computes the score"]);
    }

    #[test]
    fn programs_are_what_runs_and_then_the_surface() {
        let tracked = ["a/run.py".to_owned(), "a/train.py".to_owned()];
        assert_eq!(programs(&spec(Part::Whole), &tracked).collect::<Vec<_>>(), ["a/run.py", "a/train.py"]);
    }

    #[test]
    fn a_metric_of_time_is_known_by_its_name() {
        assert!(is_time("p99_ms") && is_time("wall_seconds") && !is_time("loss") && !is_time("miss_percent"));
    }
}
