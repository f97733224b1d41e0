//! What programs print, and what is read from it.

mod oracle;
mod properties;

use super::*;

fn read(text: &str) -> Reading {
    read_with(Pick::Only, text.as_bytes())
}

fn read_with(pick: Pick, bytes: &[u8]) -> Reading {
    let mut reader = Reader::new("val", pick);
    reader.feed(bytes);
    reader.finish()
}

fn metric(text: &str) -> Result<f64, String> {
    settle_text(None, text, "").map(Score::get).map_err(|error| error.to_string())
}

fn settle_text(file: Option<&str>, stdout: &str, stderr: &str) -> Result<Score, MetricError> {
    settle("val", Pick::Only, file.map(str::as_bytes), read(stdout), read(stderr)).0
}

#[track_caller]
fn assert_error(text: &str, error: &str) {
    assert_eq!(metric(text), Err(error.to_owned()), "{text:?}");
}

#[test]
fn every_dialect_states_the_metric() {
    for text in [
        "METRIC val=0.5",
        "METRIC val = 0.5\n",
        "val: 0.5",
        "val:   +5e-1  \r\n",
        "val=0.5",
        "val = .5",
        "{\"val\": 0.5}",
        "{\"metrics\": {\"val\": 0.5}}\n\n",
        "\x1b[1;32mval: \x1b[0m0.5\x1b[0m",
        "50%|####    |\rval: 0.5",
        "\u{1b}[2Kval: 0.5",
    ] {
        assert_eq!(metric(text), Ok(0.5), "{text:?}");
    }
}

#[test]
fn what_only_looks_like_a_statement_is_none() {
    for text in ["  val: 0.5", "the val: 0.5", "val 0.5", "Val: 0.5", "val2: 0.5", "-val: 0.5", "{\"val\": 0.5}\nend"] {
        assert!(matches!(settle_text(None, text, ""), Err(MetricError::Missing { .. })), "{text:?}");
    }
}

#[test]
fn the_last_block_that_names_the_metric_counts() {
    assert_eq!(metric("val: 1\nloss: 2\nstep done\nval: 3\nloss: 4\n"), Ok(3.0));
    assert_eq!(metric("val: 1\nbye\nloss: 2\n"), Ok(1.0));
}

#[test]
fn two_values_in_a_block_are_an_error_and_equal_ones_are_not() {
    assert_error("val: 1\nloss: 7\n\n\nval: 2", "`val` has two values, 1 and 2");
    assert_error("METRIC val=1\nloss: 7\nMETRIC val=2", "`val` has two values, 1 and 2");
    assert_eq!(metric("val: 1.0\nval: 1"), Ok(1.0));
    assert_eq!(metric("val: 1\nINFO: again\nval: 2"), Ok(2.0));
}

#[test]
fn the_last_statement_wins_where_the_triplet_says_so() {
    let last = |text: &str| read_with(Pick::Last, text.as_bytes()).metric;
    assert_eq!(last("val: 1\nval: 2"), Some(Ok(Score::new(2.0).unwrap())));
    assert!(matches!(last("val: 1\nval: nan"), Some(Err(MetricError::NotFinite { .. }))));
}

#[test]
fn a_bad_value_is_never_skipped_for_an_earlier_good_one() {
    assert_error("val: 1\nval: n/a", "`val` is not a number: `n/a`");
    assert_error("val: 1\nbye\nval: -NaN", "`val` is not finite: `-NaN`");
    assert_error("val: 1e999", "`val` is not finite: `1e999`");
    assert_error("val:", "`val` is not a number: ``");
    for text in ["1_000", "1,234", "0x10", "1.5.2", "5%", "1 2", "--1", "e5"] {
        assert_error(&format!("val: {text}"), &format!("`val` is not a number: `{text}`"));
    }
}

#[test]
fn marked_lines_win_over_plain_ones_and_those_over_json() {
    assert_eq!(metric("METRIC val=1\nbye\nval: 2\n{\"val\": 3}"), Ok(1.0));
    assert_eq!(metric("val: 2\n{\"val\": 3}"), Ok(2.0));
    assert_error("METRIC val=oops\nbye\nval: 2", "`val` is not a number: `oops`");
}

#[test]
fn other_numbers_are_kept_by_name_and_the_last_one_counts() {
    let reading =
        read("loss: 1\nloss: 2\nMETRIC peak_mb=10\nlr/µ-0.1=3\nbad: nan\nval: 9\n{\"acc\": 4, \"who\": \"me\"}");
    let names: Vec<_> = reading.numbers.iter().map(|(name, n)| (name.as_str(), n.get())).collect();
    assert_eq!(names, [("acc", 4.0), ("loss", 2.0), ("lr/µ-0.1", 3.0), ("peak_mb", 10.0)]);
}

#[test]
fn a_missing_metric_says_which_names_there_were() {
    assert_error("loss: 1\nvalue: 2", "the output does not give `val`, only `value`, `loss`");
    assert_error("", "the output does not give `val`");
}

#[test]
fn the_file_comes_before_stdout_and_stdout_before_stderr() {
    let score = |n| Ok(Score::new(n).unwrap());
    assert_eq!(settle_text(Some("{\"val\": 1}"), "val: 2", "val: 3"), score(1.0));
    assert_eq!(settle_text(Some("{\"metrics\": {\"val\": 1}}"), "val: 2", ""), score(1.0));
    assert_eq!(settle_text(Some("{\"loss\": 1}"), "val: 2", "val: 3"), score(2.0));
    assert_eq!(settle_text(Some(" \n"), "loss: 2", "val: 3"), score(3.0));
    assert!(matches!(settle_text(None, "val: nan", "val: 3"), Err(MetricError::NotFinite { .. })));
}

#[test]
fn a_file_that_is_no_object_of_numbers_is_an_error() {
    let error = settle_text(Some("val: 1"), "val: 2", "").unwrap_err().to_string();
    let start = "the file $OVERNIGHT_METRICS is not a JSON object of numbers: ";
    assert_eq!(error, format!("{start}expected value at line 1 column 1"));
    let error = settle_text(Some("[1]"), "", "").unwrap_err().to_string();
    assert_eq!(error, format!("{start}it holds another kind of value"));
}

#[test]
fn what_python_writes_for_a_diverged_run_is_not_finite() {
    for json in ["{\"val\": NaN}", "{\"a\\\"\": 1, \"val\": -Infinity}"] {
        assert!(matches!(settle_text(Some(json), "", ""), Err(MetricError::NotFinite { .. })), "{json}");
        assert!(matches!(settle_text(None, json, ""), Err(MetricError::NotFinite { .. })), "{json}");
    }
    assert_eq!(metric("{\"val\": null}"), Err("`val` is not a number: `null`".to_owned()));
    assert_eq!(metric("{\"val\": 1, \"metrics\": {\"val\": 2}}"), Err("`val` has two values, 1 and 2".to_owned()));
    for twice in ["{\"val\": 1, \"val\": 2}", "{\"metrics\": {\"val\": 1, \"val\": 2}}"] {
        assert_eq!(metric(twice), Err("`val` has two values, 1 and 2".to_owned()), "{twice}");
    }
}

#[test]
fn a_number_that_may_be_cut_off_is_not_read() {
    let padding = " ".repeat(64 * 1024 - 6);
    assert!(matches!(read(&format!("val:{padding}12")).metric, Some(Ok(_))));
    assert!(matches!(read(&format!("val:{padding}123")).metric, Some(Err(MetricError::NotANumber { .. }))));
}

#[test]
fn a_program_that_invents_names_does_not_fill_the_memory() {
    let text: String = (0..10_000).map(|step| format!("loss_{step}: 1\n")).collect();
    assert_eq!(read(&text).numbers.len(), 256);
}

#[test]
fn errors_are_stored_under_their_name() {
    let error = MetricError::Conflict { name: "val".to_owned(), first: 1.0, second: 2.5 };
    let json = serde_json::to_string(&error).unwrap();
    assert_eq!(json, r#"{"error":"conflict","name":"val","first":1.0,"second":2.5}"#);
    assert_eq!(serde_json::from_str::<MetricError>(&json).unwrap(), error);
}
