use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::units::{Goal, Score, Timestamp};
use crate::verdict::Verdict;

const HEADER: &str = "commit\tval_bpb\tmemory_gb\tstatus\tdescription\n";

fn entries(format: Format, text: impl AsRef<[u8]>) -> Result<Vec<Entry>, Problem> {
    let mut entries = Vec::new();
    read(format, text.as_ref(), Column::Usual("val_bpb"), &mut |entry| entries.push(entry))?;
    Ok(entries)
}

fn rows(format: Format, text: impl AsRef<[u8]>) -> Vec<Past> {
    let rows = |entry| match entry {
        Entry::Row(past) => Some(past),
        Entry::Segment(_) => None,
    };
    entries(format, text).unwrap().into_iter().filter_map(rows).collect()
}

fn problem(format: Format, text: impl AsRef<[u8]>) -> String {
    let problem = entries(format, text).unwrap_err();
    format!("{problem} | {} | {}", problem.text, problem.hint.unwrap_or("-"))
}

fn printed(format: Format, entries: &[Entry]) -> String {
    let mut printer = Printer::new(format, "main", "val_bpb", Goal::Min).marked();
    let mut text = printer.header();
    for entry in entries {
        text += &match entry {
            Entry::Segment(heading) => printer.heading(heading),
            Entry::Row(past) => printer.row(past).unwrap_or_default(),
        };
    }
    text
}

fn score(value: f64) -> Option<Score> {
    Score::new(value)
}

#[test]
fn a_results_tsv_of_autoresearch_is_read_and_a_crash_has_no_number() {
    let text = format!(
        "{HEADER}baseline\t0.997900\t44.0\tkeep\tbaseline\n\
         b2c3d4e\t0.993200\t44.2\tkeep\tincrease LR to 0.04\n\
         c3d4e5f\t1.005000\t44.0\tDISCARD \tswitch to\tGeLU\n\
         d4e5f6g\t0.000000\t0.0\tcrash\tdouble model width (OOM)\n"
    );
    let rows = rows(Format::ResultsTsv, &text);
    let seen: Vec<_> = rows.iter().map(|row| (row.commit.as_deref().unwrap(), row.metric, row.verdict)).collect();
    assert_eq!(
        seen,
        [
            ("baseline", score(0.9979), Some(Verdict::Kept)),
            ("b2c3d4e", score(0.9932), Some(Verdict::Kept)),
            ("c3d4e5f", score(1.005), Some(Verdict::Discarded)),
            ("d4e5f6g", None, Some(Verdict::Crashed)),
        ]
    );
    assert_eq!(rows[2].description, "switch to\tGeLU");
    assert_eq!((rows[0].memory_gb, rows[3].memory_gb), (score(44.0), None));
    // All that the format can say comes back as it was.
    let again = printed(Format::ResultsTsv, &entries(Format::ResultsTsv, &text).unwrap());
    assert_eq!(again, text.replace("DISCARD ", "discard").replace("to\tGeLU", "to GeLU"));
}

#[test]
fn the_columns_of_other_tools_are_found_by_their_names() {
    let skypilot = "experiment_id\tstatus\tval_bpb\tmemory_gb\tdescription\n7\tkeep\t0.97\t61.5\twider\n";
    let row = &rows(Format::ResultsTsv, skypilot)[0];
    assert_eq!((row.number, row.metric, row.verdict), (Some(7), score(0.97), Some(Verdict::Kept)));
    let udit = "# metric_direction: lower\niteration\ttimestamp\tcommit\tmetric\tdelta\tguard\tguard-metric\tstatus\tdescription\n\
                3\t2026-03-08T10:00:00Z\tabc1234\t12.5\t-0.5\tpass\t-\tno-op\tnothing\n";
    let row = &rows(Format::ResultsTsv, udit)[0];
    assert_eq!((row.metric, row.verdict), (score(12.5), Some(Verdict::NoChange)));
    assert_eq!((row.at, &row.extra["delta"]), (Some(Timestamp(1_772_964_000_000)), &json!("-0.5")));
    let crate_lines =
        r#"{"run":2,"hash":"abc","metric":1.5,"delta":0.1,"status":"kept","summary":"faster","timestamp":1772964000}"#;
    let row = &rows(Format::Jsonl, crate_lines)[0];
    assert_eq!(
        (row.description.as_str(), row.commit.as_deref(), row.at),
        ("faster", Some("abc"), Some(Timestamp(1_772_964_000_000)))
    );
}

#[test]
fn the_metric_is_where_autoresearch_has_it_or_where_a_person_says() {
    let trading = "commit\tsharpe\tmax_dd\tstatus\tdescription\nexp0\t1.5\t0.2\tBASELINE\tas it was\n";
    let read = entries(Format::ResultsTsv, trading).unwrap();
    assert!(matches!(&read[0], Entry::Segment(heading) if heading.metric.as_deref() == Some("sharpe")), "{read:?}");
    assert!(
        matches!(&read[1], Entry::Row(past) if past.metric == score(1.5) && past.verdict == Some(Verdict::Baseline))
    );
    let kernels =
        "experiment\ttag\tthroughput\tlatency_us\tcorrectness\tdescription\n21\tswizzle\t136.8\t785.0\tPASS\tx\n";
    assert!(problem(Format::ResultsTsv, kernels).contains("--metric COLUMN"));
    let mut metrics = Vec::new();
    let mut each = |entry| {
        if let Entry::Row(past) = entry {
            metrics.push(past.metric)
        }
    };
    super::read(Format::ResultsTsv, kernels.as_bytes(), Column::Named("latency_us"), &mut each).unwrap();
    let five = format!("{HEADER}a\t0.9\t44.5\tkeep\tx\n");
    super::read(Format::ResultsTsv, five.as_bytes(), Column::Named("memory_gb"), &mut each).unwrap();
    let both = "metric,f1\n1,0.75\n";
    super::read(Format::Csv, both.as_bytes(), Column::Named("F1"), &mut each).unwrap();
    assert_eq!(metrics, [score(785.0), score(44.5), score(0.75)]);
    assert!(super::read(Format::Csv, both.as_bytes(), Column::Named("f2"), &mut |_| {}).is_err());
}

#[test]
fn pi_begins_a_segment_with_each_header_that_follows_a_run() {
    let text = r#"{"type":"config","name":"parse","metricName":"total_µs","metricUnit":"µs","bestDirection":"lower"}
{"run":1,"commit":"abc1234","metric":15200.5,"metrics":{"compile_µs":4200},"status":"keep","description":"baseline","timestamp":1772964000000,"segment":0,"confidence":null}
{"type":"hook","event":"after","exitCode":0}
{"run":2,"commit":"","metric":0.0,"metrics":{},"status":"crash","description":"oops","timestamp":0,"segment":0,"confidence":null,"asi":{"hypothesis":"inline"}}
{"type":"config","name":"parse","metricName":"ops","metricUnit":"","bestDirection":"higher"}
{"run":3,"commit":"def5678","metric":9.5,"metrics":{},"status":"checks_failed","description":"x","timestamp":1772964000000,"segment":1,"confidence":2.1}
"#;
    let read = entries(Format::Pi, text).unwrap();
    let mut tally = Tally::new(Goal::Min);
    read.iter().for_each(|entry| tally.add(entry));
    assert_eq!((tally.rows, tally.kept, tally.crashed, tally.unknown, tally.segments), (3, 1, 1, 1, 2));
    assert_eq!((tally.best, tally.metric.as_deref()), (None, Some("ops")));
    let rows = rows(Format::Pi, text);
    assert_eq!((rows[1].metric, rows[1].at, rows[1].segment), (None, None, 1));
    assert_eq!((rows[2].verdict, rows[2].segment), (Some(Verdict::GuardFailed), 2));
    assert_eq!(rows[1].extra["asi"]["hypothesis"], "inline");
    let without_hooks: Vec<&str> = text.lines().filter(|line| !line.contains("hook")).collect();
    let again = printed(Format::Pi, &read);
    for (line, wanted) in again.lines().zip(without_hooks) {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap(), serde_json::from_str::<Value>(wanted).unwrap());
    }
}

#[test]
fn the_best_claim_is_the_best_kept_row_of_the_last_segment() {
    let mut tally = Tally::new(Goal::Min);
    let text = format!(
        "{HEADER}a\t0.9\t1.0\tkeep\tx\nb\t0.5\t1.0\tdiscard\ty\nc\t0.000000\t0.0\tcrash\tz\nd\t0.8\t1.0\tkeep\tw\n"
    );
    entries(Format::ResultsTsv, text).unwrap().iter().for_each(|entry| tally.add(entry));
    assert_eq!((tally.best, tally.metric.as_deref()), (score(0.8), Some("val_bpb")));
}

#[test]
fn what_cannot_be_read_is_named_with_its_line_and_a_hint() {
    let with = |rest: &str| format!("{HEADER}{rest}");
    let tsv = |rest: &str| problem(Format::ResultsTsv, with(rest));
    assert!(
        tsv("a\t0.9\t1.0\tkeep\tx\nb\t0.9\t1.0\tkeeep\ty\n")
            .starts_with("line 3: `status` is `keeep`, which is no verdict | b\t0.9")
    );
    assert!(tsv("a\tfast\t1.0\tkeep\tx\n").contains("`val_bpb` is `fast`, which is no number"));
    assert!(tsv("a 0.9 1.0 keep x\n").contains("it has 1 columns, the header 5"));
    assert!(problem(Format::ResultsTsv, "commit val_bpb memory_gb status description\n").contains("with tabs between"));
    assert!(
        problem(Format::ResultsTsv, b"commit\tval_bpb\tmemory_gb\tstatus\tdescription\na\t1\t1\tkeep\t\xff\n")
            .contains("not UTF-8")
    );
    assert!(problem(Format::ResultsTsv, b"\xff\xfec\0").contains("UTF-16"));
    assert!(problem(Format::Jsonl, "{\"metric\":NaN,\"verdict\":\"kept\"}\n").contains("write null"));
    assert!(problem(Format::Jsonl, "[{\"metric\":1}\n]\n").contains("jq"));
    assert!(problem(Format::Jsonl, "{\"level\":\"info\"}\n").contains("neither a `verdict` nor a `metric`"));
    assert!(problem(Format::Pi, "{\"run\":1,\"metric\":[1],\"status\":\"keep\"}\n").contains("which is no number"));
    assert!(problem(Format::Csv, "commit,status\na,keep\n").contains("no column is called `metric` or `val_bpb`"));
    let open = "verdict,metric,description\nkept,1,\"never closed\nkept,2,b\nkept,3,c\n";
    assert!(problem(Format::Csv, open).starts_with("line 2: a quote is opened and never closed"));
    assert!(
        problem(Format::Csv, "verdict,metric\n\n\nkept,1\nkept,1,2\n")
            .starts_with("line 5: it has 3 columns, the header 2")
    );
}

#[test]
fn a_number_that_is_not_finite_is_not_known() {
    for word in ["nan", "NaN", "inf", "-inf", "1e999", "", "-", "---", "null", "N/A"] {
        let rows = rows(Format::ResultsTsv, format!("{HEADER}a\t{word}\t1.0\tkeep\tx\n"));
        assert_eq!(rows[0].metric, None, "{word}");
    }
    assert_eq!(rows(Format::Jsonl, "{\"metric\":1e308,\"verdict\":\"kept\"}")[0].metric, score(1e308));
}

#[test]
fn line_ends_marks_and_empty_lines_are_of_no_consequence() {
    let text = format!("\u{feff}{HEADER}\na\t0.9\t1.0\tkeep\tx\n\n").replace('\n', "\r\n");
    let read = rows(Format::ResultsTsv, &text);
    assert_eq!((read.len(), read[0].description.as_str()), (1, "x"));
    let csv = "\u{feff}verdict,metric\r\nkept,1\r\n\r\n";
    assert_eq!(rows(Format::Csv, csv).len(), 1);
}

#[test]
fn a_last_line_that_was_cut_off_is_left_out() {
    let cut = |format, text: &str| read(format, text.as_bytes(), Column::Usual("val_bpb"), &mut |_| {}).unwrap();
    assert_eq!(cut(Format::ResultsTsv, &format!("{HEADER}a\t0.9\t1.0\tkeep\tx\nb\t0.8\t1.")), Some(3));
    assert_eq!(cut(Format::Jsonl, "{\"metric\":1}\n{\"metric\":0.2,\"ver"), Some(2));
    assert_eq!(cut(Format::Csv, "verdict,metric,description\nkept,1,a\nkept,2,\"cut o"), Some(3));
    assert_eq!(cut(Format::Csv, "verdict,metric,description\nkept,1,a\nkept,2"), Some(3));
    // Whole, and only without its line end.
    assert_eq!(cut(Format::ResultsTsv, &format!("{HEADER}a\t0.9\t1.0\tkeep\tx")), None);
    assert_eq!(cut(Format::Csv, "verdict,metric\nkept,1"), None);
}

#[test]
fn a_file_begun_without_its_header_is_understood() {
    assert_eq!(rows(Format::ResultsTsv, "a\t0.9\t1.0\tkeep\tx\nb\t0.8\t1.0\tdiscard\ty\n").len(), 2);
}

#[test]
fn a_column_of_the_contract_is_what_it_says_whatever_the_metric_is_called() {
    let mut metric = None;
    let text = "verdict,gain,metric\nkept,5,1\n";
    let mut each = |entry| {
        if let Entry::Row(past) = entry {
            metric = past.metric
        }
    };
    read(Format::Csv, text.as_bytes(), Column::Usual("gain"), &mut each).unwrap();
    assert_eq!(metric, score(1.0));
}

#[test]
fn a_format_is_known_by_what_a_file_holds_and_then_by_its_name() {
    let guess = |name: &str, text: &str| Format::guess(name, text.as_bytes());
    assert_eq!(guess("notes.txt", HEADER), Some(Format::ResultsTsv));
    assert_eq!(guess("x.tsv", "verdict,metric\nkept,1\n"), Some(Format::Csv));
    assert_eq!(guess("x.jsonl", "{\"type\": \"config\", \"name\": \"a\"}\n"), Some(Format::Pi));
    assert_eq!(guess("log.jsonl", "{\"experiment\":1,\"verdict\":\"kept\"}\n"), Some(Format::Jsonl));
    assert_eq!(guess("log.jsonl", ""), Some(Format::Pi));
    assert_eq!(guess("README", "hello\n"), None);
}

#[test]
fn a_long_history_is_read_in_one_pass() {
    let row = "abc1234\t0.993200\t44.2\tkeep\tincrease LR to 0.04\n";
    let text = HEADER.to_owned() + &row.repeat(100_000);
    let mut tally = Tally::new(Goal::Min);
    read(Format::ResultsTsv, text.as_bytes(), Column::Usual("val_bpb"), &mut |entry| tally.add(&entry)).unwrap();
    assert_eq!((tally.rows, tally.kept, tally.segments), (100_000, 100_000, 1));
}

#[test]
fn a_header_of_very_many_columns_is_read_in_one_pass() {
    let names: Vec<String> = (0..200_000).map(|n| format!("column{n}")).collect();
    let text = format!("metric,{}\n", names.join(","));
    assert_eq!(rows(Format::Csv, text).len(), 0);
}

fn any_verdict() -> impl Strategy<Value = Verdict> {
    let names = [
        "baseline",
        "kept",
        "discarded",
        "no_change",
        "duplicate",
        "crashed",
        "timed_out",
        "out_of_memory",
        "output_limit",
        "disk_limit",
        "pids_limit",
        "invalid_metric",
        "guard_failed",
        "policy",
        "tampered",
        "suspect",
        "retracted",
        "agent_error",
        "engine_error",
        "interrupted",
    ];
    prop::sample::select(names.to_vec()).prop_map(|name| Verdict::from_name(name).unwrap())
}

fn any_score() -> impl Strategy<Value = Score> {
    let finite = prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO;
    finite.prop_map(|value| Score::new(value).unwrap())
}

/// Any text, with what formats stumble over more often than chance would have it.
fn any_text() -> impl Strategy<Value = String> {
    let hard = ["\t", "\n", "\r\n", "\"", ",", "'", "=1+1", "\\", "{", "\u{feff}", "\u{2028}", "#", " ", "µ", "\0"];
    vec(prop_oneof![prop::sample::select(hard.to_vec()).prop_map(String::from), ".{0,6}"], 0..5)
        .prop_map(|parts| parts.concat())
}

fn any_word() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9][a-zA-Z0-9_./-]{0,12}"
}

/// A moment between the years 1 and 9999.
fn any_moment() -> impl Strategy<Value = Timestamp> {
    (-62_000_000_000_000i64..253_000_000_000_000).prop_filter("0 is for unknown", |at| *at != 0).prop_map(Timestamp)
}

prop_compose! {
    /// A row that says all it can.
    fn any_past()(
        (number, segment, commit, parent, agent) in
            (option::of(any::<u64>()), any::<u32>(), option::of(any_word()), option::of(any_word()), option::of(any_word())),
        (description, verdict, reason) in (any_text(), option::of(any_verdict()), option::of(any_text())),
        (metric, gain, gain_low, gain_high) in
            (option::of(any_score()), option::of(any_score()), option::of(any_score()), option::of(any_score())),
        (trials, seconds, cost_usd, memory_gb) in
            (option::of(any::<u32>()), option::of(any_score()), option::of(any_score()), option::of(any_score())),
        (at, imported, key, value) in (option::of(any_moment()), option::of(any_word()), any_word(), any_text()),
    ) -> Past {
        let extra: Map<String, Value> = [(key, Value::from(value))].into_iter().collect();
        let reason = reason.filter(|reason| !reason.is_empty());
        let memory_gb = memory_gb.filter(|memory| memory.get() != 0.0);
        let past = Past {
            number, segment, commit, parent, agent, description, verdict, reason, metric, gain, gain_low, gain_high, trials,
            seconds, cost_usd, memory_gb, at, imported, extra,
        };
        Past { number: past.number.filter(|_| past.imported.is_none()), ..past.settled() }
    }
}

/// What is left of a row that went through a format with a few words only.
fn as_told(past: &Past, verdict: Verdict) -> Past {
    let metric = past.metric.filter(|metric| !words::is_crash(verdict) || metric.get() != 0.0);
    Past { verdict: Some(verdict), metric, description: past.told().to_owned(), ..Past::default() }
}

fn nearest(verdict: Verdict) -> Verdict {
    words::verdict(words::status(verdict)).unwrap()
}

fn read_back(format: Format, text: &str) -> Vec<Entry> {
    entries(format, text).unwrap_or_else(|problem| panic!("{problem}: {}\n{text}", problem.text))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn jsonl_comes_back_as_it_was(pasts in vec(any_past(), 0..6)) {
        let entries: Vec<Entry> = pasts.into_iter().map(Entry::Row).collect();
        prop_assert_eq!(read_back(Format::Jsonl, &printed(Format::Jsonl, &entries)), entries);
    }

    #[test]
    fn csv_comes_back_as_it_was(pasts in vec(any_past(), 0..6)) {
        let said = |past: Past| Past { memory_gb: None, extra: Map::new(), ..past };
        let entries: Vec<Entry> = pasts.into_iter().map(|past| Entry::Row(said(past))).collect();
        prop_assert_eq!(read_back(Format::Csv, &printed(Format::Csv, &entries)), entries);
    }

    #[test]
    fn results_tsv_comes_back_as_far_as_it_can_say_it(pasts in vec(any_past(), 0..6)) {
        let text = printed(Format::ResultsTsv, &pasts.iter().cloned().map(Entry::Row).collect::<Vec<_>>());
        let said = |past: &Past| {
            let told = as_told(past, nearest(past.verdict?));
            let description = words::one_line(&told.description);
            Some(Past { description, segment: 1, commit: past.commit.clone(), memory_gb: past.memory_gb, ..told })
        };
        let wanted: Vec<Past> = pasts.iter().filter_map(said).collect();
        prop_assert_eq!(rows(Format::ResultsTsv, &text), wanted);
        // And from then on for ever.
        let again = printed(Format::ResultsTsv, &read_back(Format::ResultsTsv, &text));
        prop_assert_eq!(again, text);
    }

    #[test]
    fn a_log_of_pi_comes_back_with_its_segments(
        segments in vec((option::of(any_text()), option::of(any_word()), option::of(any_text()), any::<Option<bool>>(), vec(any_past(), 1..4)), 1..4)
    ) {
        let mut entries = Vec::new();
        for ((name, metric, unit, goal, pasts), segment) in segments.into_iter().zip(1..) {
            let goal = goal.map(|is_min| if is_min { Goal::Min } else { Goal::Max });
            entries.push(Entry::Segment(Heading { name, metric, unit, goal }));
            for past in pasts {
                let verdict = match past.verdict.unwrap_or(Verdict::Kept) {
                    Verdict::GuardFailed => Verdict::GuardFailed,
                    verdict => nearest(verdict),
                };
                let told = as_told(&past, verdict);
                let (number, commit, at, imported) = (Some(entries.len() as u64), past.commit, past.at, past.imported);
                let extra = past.extra.into_iter().map(|(key, value)| (format!("x_{key}"), value));
                let extra = extra.filter(|(_, value)| value != "").collect();
                entries.push(Entry::Row(Past { number, commit, at, imported, extra, segment, ..told }));
            }
        }
        prop_assert_eq!(read_back(Format::Pi, &printed(Format::Pi, &entries)), entries);
    }

    #[test]
    fn any_bytes_are_read_or_refused_without_a_panic(bytes in vec(any::<u8>(), 0..300), format in 0usize..4) {
        let _ = read(Format::ALL[format], &bytes, Column::Usual("val_bpb"), &mut |_| {});
        let _ = Format::guess("x", &bytes);
    }

    #[test]
    fn almost_right_text_is_read_or_refused_without_a_panic(
        parts in vec(prop_oneof![
            Just("{\"metric\":".to_owned()), Just("1.5".to_owned()), Just("\t".to_owned()), Just("\n".to_owned()),
            Just("commit\tval_bpb\tmemory_gb\tstatus\tdescription\n".to_owned()), Just("keep".to_owned()),
            Just("\"".to_owned()), Just(",".to_owned()), Just("verdict,metric\n".to_owned()), Just("}".to_owned()),
            Just("\"type\":\"config\"".to_owned()), any_text(),
        ], 0..20),
        format in 0usize..4,
    ) {
        let text = parts.concat();
        if let Err(problem) = read(Format::ALL[format], text.as_bytes(), Column::Usual("val_bpb"), &mut |_| {}) {
            prop_assert!(problem.line >= 1 && problem.line <= text.lines().count().max(1) as u64, "{problem}");
        }
    }

    #[test]
    fn the_zero_of_a_crash_never_becomes_a_number(zero in "-?0(\\.0{0,9})?(e[0-9])?", status in "(crash|CRASH|crashed|timed_out|failed| oom)") {
        let tsv = format!("{HEADER}a\t{zero}\t0.0\t{status}\tx\n");
        let csv = format!("verdict,metric\n{status},{zero}\n");
        let pi = format!("{{\"run\":1,\"metric\":{:?},\"status\":\"{status}\"}}\n", zero.parse::<f64>().unwrap());
        for (format, text) in [(Format::ResultsTsv, &tsv), (Format::Csv, &csv), (Format::Pi, &pi), (Format::Jsonl, &pi)] {
            let read = rows(format, text);
            prop_assert_eq!(read[0].metric, None);
            let mut tally = Tally::new(Goal::Min);
            tally.add(&Entry::Row(read[0].clone()));
            prop_assert_eq!(tally.best, None);
        }
    }

    /// What the ledger keeps of a history is what was read.
    #[test]
    fn an_entry_is_stored_as_it_is(past in any_past()) {
        let entry = Entry::Row(past);
        let text = serde_json::to_string(&entry).unwrap();
        prop_assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry);
    }
}
