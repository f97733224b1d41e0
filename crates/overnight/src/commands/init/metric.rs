//! What a program prints, read from its source: names of numbers, and which way is better.

use overnight_model::Goal;
use overnight_model::metric::is_name;

/// Words that print, in the languages that people write benchmarks in.
const PRINTS: [&str; 11] =
    ["print", "echo", "console.log", "puts", "cout", "cat(", "write", "say ", "log.info", "logger.info", "disp("];
#[rustfmt::skip]
const SMALLER: &[&str] = &[
    "loss", "bpb", "bpc", "ppl", "perplexity", "error", "errors", "err", "mse", "rmse", "mae", "mape", "time",
    "times", "second", "seconds", "sec", "secs", "s", "ms", "us", "µs", "ns", "latency", "duration", "elapsed",
    "wall", "wer", "cer", "size", "bytes", "kb", "mb", "kib", "mib", "memory", "rss", "cost", "rounds", "moves",
    "cycles", "instructions", "misses", "miss", "distance", "regret", "violations", "failures", "failed", "bits",
    "entropy", "nll", "energy", "waste", "bins", "makespan", "conflicts", "allocs", "allocations", "length",
];
#[rustfmt::skip]
const LARGER: &[&str] = &[
    "accuracy", "acc", "score", "f1", "auc", "auroc", "bleu", "rouge", "r2", "reward", "return", "throughput", "ops",
    "speedup", "speed", "fps", "qps", "rps", "hz", "hits", "hit", "passed", "pass", "win", "wins", "precision",
    "recall", "iou", "dice", "map", "ndcg", "mrr", "sharpe", "mfu", "gflops", "tflops", "flops", "coverage",
    "correct", "solved", "points", "quality", "psnr", "ssim", "profit", "likelihood", "elo",
];
#[rustfmt::skip]
const UNITS: [&str; 15] = [
    "s", "sec", "secs", "second", "seconds", "ms", "us", "µs", "ns", "min", "minute", "h", "hour", "millisecond",
    "nanosecond",
];
const FAULTS: [&str; 7] = ["error", "errors", "err", "failure", "failures", "fault", "faults"];
/// What stands beside the number that matters and is seldom it.
#[rustfmt::skip]
const BESIDE: &[&str] = &[
    "train", "training", "total", "num", "n", "peak", "elapsed", "epoch", "epochs", "step", "steps", "seed", "depth", "iter", "iters",
    "iteration", "iterations", "lr", "startup", "params", "parameters", "warmup",
    "compile", "count", "batch", "samples", "tokens", "rows", "version", "budget",
];
/// What is said of other things than numbers.
#[rustfmt::skip]
const PROSE: &[&str] = &[
    "error", "usage", "warning", "info", "debug", "note", "hint", "http", "https", "file", "path", "seed", "step",
    "epoch", "name", "model", "device", "url", "skipping", "done", "saved", "loading", "failed", "fail", "status",
    "data", "options", "exception", "args", "config", "output", "result", "results", "summary", "message", "missing",
    "expected",
];

/// A number that a program seems to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Printed {
    pub(super) name: String,
    /// Counted from 1.
    pub(super) line: usize,
    /// As `METRIC name=value`, which nobody writes by chance.
    pub(super) marked: bool,
    /// Printed again and again.
    pub(super) looped: bool,
}

/// The number that this source most likely exists to print.
pub(super) fn likeliest(text: &str) -> Option<Printed> {
    // The first of equals: people print what matters first.
    printed(text).into_iter().rev().max_by_key(rank).filter(|found| rank(found) > 0)
}

/// Everything that looks like a printed number, in order.
pub(super) fn printed(text: &str) -> Vec<Printed> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found: Vec<Printed> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        if code.starts_with("//") || (code.starts_with('#') && !code.starts_with("#{")) {
            continue;
        }
        let prints = |line: &str| PRINTS.iter().any(|word| line.contains(word));
        let opened = at > 0 && lines[at - 1].trim_end().ends_with('(') && prints(lines[at - 1]);
        if !opened && !prints(code) {
            continue;
        }
        for (name, marked) in names(code) {
            let looped = is_looped(&lines, at);
            found.push(Printed { name, line: at + 1, marked, looped });
        }
    }
    found
}

/// Which way is better, by the words of a name.
pub(super) fn goal_of(name: &str) -> Option<Goal> {
    let words = words(name);
    if let Some(per) = words.iter().position(|word| word == "per")
        && let (Some(first), Some(last)) = (words.first(), words.last())
        && per > 0
    {
        let is_unit = |word: &str| UNITS.contains(&word);
        match (is_unit(first), is_unit(last)) {
            (true, false) => return Some(Goal::Min),
            (false, true) => return Some(Goal::Max),
            _ => {}
        }
    }
    // A rate of errors is bad; one of what becomes of errors is not.
    if let [before @ .., last, rate] = words.as_slice()
        && rate == "rate"
        && !SMALLER.contains(&last.as_str())
        && before.iter().any(|word| FAULTS.contains(&word.as_str()))
    {
        return Some(Goal::Max);
    }
    words.iter().rev().find_map(|word| match word.as_str() {
        word if SMALLER.contains(&word) => Some(Goal::Min),
        word if LARGER.contains(&word) => Some(Goal::Max),
        _ => None,
    })
}

/// Which way is better, as prose says it.
pub(super) fn goal_in(text: &str) -> Option<Goal> {
    let text = text.to_lowercase();
    let has = |words: &[&str]| words.iter().filter_map(|word| text.find(word)).min();
    let smaller = has(&["lower is better", "smaller is better", "lowest", "minimi", "less is better", "the lower the"]);
    let larger =
        has(&["higher is better", "larger is better", "bigger is better", "highest", "maximi", "more is better"]);
    match (smaller, larger) {
        (Some(smaller), Some(larger)) => Some(if smaller < larger { Goal::Min } else { Goal::Max }),
        (Some(_), None) => Some(Goal::Min),
        (None, Some(_)) => Some(Goal::Max),
        (None, None) => None,
    }
}

fn rank(found: &Printed) -> i32 {
    let words = words(&found.name);
    let known = goal_of(&found.name).is_some();
    let judged = words
        .iter()
        .any(|word| ["val", "valid", "validation", "test", "eval", "dev", "score"].contains(&word.as_str()));
    let beside = words.iter().any(|word| BESIDE.contains(&word.as_str()));
    let mut rank =
        1 + 3 * i32::from(known) + 2 * i32::from(judged) + 5 * i32::from(found.marked) - 3 * i32::from(beside);
    rank -= i32::from(found.name.starts_with(char::is_uppercase));
    rank
}

/// The words of a name, in lower case: `valLoss` and `val_loss` have the same.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("there is one").extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The names that a line of source prints a value for.
fn names(code: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let json = ["json.dumps(", "JSON.stringify(", "{\"", "{\\\""].iter().any(|sign| code.contains(sign));
    for (at, c) in code.char_indices() {
        let rest = match c {
            '"' | '\'' | '`' => &code[at + 1..],
            // `echo loss=$loss` and `echo METRIC loss=$loss`
            ' ' if code[..at].ends_with("echo") || code[..at].ends_with("echo -e") => &code[at + 1..],
            _ => continue,
        };
        found.extend(stated(rest).or_else(|| json.then(|| key(rest)).flatten()));
    }
    found.dedup();
    found
}

/// The name at the beginning of a printed text, where a value follows.
fn stated(mut text: &str) -> Option<(String, bool)> {
    while let Some(rest) = text.strip_prefix("\\n") {
        text = rest;
    }
    let marked = text.strip_prefix("METRIC ");
    let text = marked.unwrap_or(text).trim_start_matches(' ');
    let (name, rest) = text.split_at(text.find([':', '=', ' ', '"', '\'', '`', '{', '$', '%', '\\', '(', ','])?);
    let rest = rest.strip_prefix(':').or_else(|| rest.trim_start_matches(' ').strip_prefix('='))?;
    let value = rest.trim_start_matches([' ', '\t']);
    let is_value = value.is_empty()
        || value.starts_with(['{', '%', '$', '"', '\'', '`', '#'])
        || value.starts_with("\\t")
        || value.starts_with(|c: char| c.is_ascii_digit());
    let prose = PROSE.contains(&name.to_lowercase().as_str());
    (is_value && is_name(name) && !prose && !name.contains('/')).then(|| (name.to_owned(), marked.is_some()))
}

/// A key of an object that is printed.
fn key(text: &str) -> Option<(String, bool)> {
    let end = text.find(['"', '\'', '\\'])?;
    let (name, rest) = text.split_at(end);
    let rest = rest.trim_start_matches('\\');
    let follows = rest[1..].trim_start().starts_with(':');
    let prose = PROSE.contains(&name.to_lowercase().as_str());
    (follows && is_name(name) && !prose).then(|| (name.to_owned(), false))
}

/// Whether a line lies in a loop, by what it is indented under.
fn is_looped(lines: &[&str], at: usize) -> bool {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut inside = indent(lines[at]);
    for line in lines[..at].iter().rev().filter(|line| !line.trim().is_empty()) {
        if indent(line) >= inside {
            continue;
        }
        inside = indent(line);
        let code = line.trim_start();
        if ["def ", "fn ", "function ", "class ", "func "].iter().any(|word| code.starts_with(word)) {
            return false;
        }
        if ["for ", "for(", "while ", "while(", "loop "].iter().any(|word| code.starts_with(word)) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<String> {
        likeliest(text).map(|found| found.name)
    }

    #[test]
    fn the_ways_people_print_a_number_are_known() {
        for (text, name) in [
            ("print(f\"val_bpb:          {val_bpb:.6f}\")", "val_bpb"),
            ("print(\"accuracy:\", acc)", "accuracy"),
            ("print('loss=%.3f' % loss)", "loss"),
            ("echo \"METRIC total_us=$us\"", "total_us"),
            ("echo latency_ms=$x", "latency_ms"),
            ("console.log(`opsPerSec: ${n}`)", "opsPerSec"),
            ("println!(\"rounds: {rounds}\");", "rounds"),
            ("std::cout << \"time_ms: \" << t << \"\\n\";", "time_ms"),
            ("printf(\"throughput: %f\\n\", t);", "throughput"),
            ("print(json.dumps({\"f1\": f1, \"n\": 3}))", "f1"),
            ("console.log(JSON.stringify({ \"score\": s }))", "score"),
            ("print(\n    f\"error_rate: {rate}\"\n)", "error_rate"),
        ] {
            assert_eq!(found(text).as_deref(), Some(name), "{text}");
        }
        for text in [
            "print('Usage: bench.py FILE')",
            "print(f'error: {e}')",
            "# print('loss: 1')",
            "x = 'loss: 3'",
            "print('http://localhost')",
            "print('hello world')",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn of_a_summary_the_number_that_matters_is_taken() {
        let summary = "print(f'training_seconds: {t}')\nprint(f'val_bpb: {b}')\nprint(f'num_steps: {n}')";
        assert_eq!(found(summary).as_deref(), Some("val_bpb"));
    }

    #[test]
    fn a_number_that_is_printed_in_a_loop_is_told_apart() {
        let looped = "for epoch in range(3):\n    print(f'loss: {loss}')\n";
        assert!(likeliest(looped).unwrap().looped);
        let after = "for epoch in range(3):\n    pass\nprint(f'loss: {loss}')\n";
        assert!(!likeliest(after).unwrap().looped);
        let called = "for i in x:\n    pass\ndef main():\n    print(f'loss: {loss}')\n";
        assert!(!likeliest(called).unwrap().looped);
    }

    #[test]
    fn names_say_which_way_is_better() {
        for name in [
            "val_loss",
            "ms_per_step",
            "error_rate",
            "wall_s",
            "p99_latency",
            "ns_per_iter",
            "peak_mb",
            "cache_miss_rate",
        ] {
            assert_eq!(goal_of(name), Some(Goal::Min), "{name}");
        }
        for name in [
            "val_acc",
            "tokens_per_second",
            "opsPerSec",
            "win_rate",
            "score",
            "ops_per_s",
            "error_free_rate",
            "errorRecoveryRate",
            "error_score",
        ] {
            assert_eq!(goal_of(name), Some(Goal::Max), "{name}");
        }
        assert_eq!(goal_of("ratio"), None);
        assert_eq!(goal_in("The goal: get the lowest val_bpb. Higher is better elsewhere"), Some(Goal::Min));
    }
}
