//! What a candidate could write to hang or to break whoever reads it. A text that does breaks the whole test.

use crate::source::bounds::SIZE_LIMIT;
use crate::source::{Language, form, parse, reseeds};

const PATHS: [&str; 12] =
    ["a.sh", "a.c", "a.cpp", "a.go", "a.js", "a.json", "a.py", "a.rs", "a.toml", "a.tsx", "a.ts", "a.yaml"];

#[test]
fn deep_nesting_neither_overflows_the_stack_nor_hangs() {
    for path in PATHS {
        for (open, close) in
            [("(", ")"), ("[", "]"), ("{", "}"), ("{a:", "}"), ("-", ""), ("$(", ")"), ("<", ">"), ("f'{", "}'")]
        {
            let half = 20_000 / open.len();
            let (left, right) = (open.repeat(half), close.repeat(half));
            for text in [left.clone(), format!("{left}1{right}"), format!("x = {left}1{right}\n")] {
                form(path, text.as_bytes());
            }
        }
    }
}

#[test]
fn a_nest_that_is_well_formed_is_compared_without_recursion() {
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let nest = |seed: u32| super::contents(&[("a.json", &format!("{open}{{\"seed\": {seed}}}{close}"))]);
    assert!(reseeds(&nest(1), &nest(2)));
}

#[test]
fn a_file_that_is_too_large_has_no_form() {
    assert_eq!(form("a.py", "(".repeat(5_000_000).as_bytes()), None);
    assert_eq!(form("a.py", "#".repeat(SIZE_LIMIT + 1).as_bytes()), None);
    assert!(form("a.py", "#".repeat(SIZE_LIMIT).as_bytes()).is_some());
}

#[test]
fn a_file_of_comments_is_not_read_once_for_each_of_them() {
    assert_eq!(form("a.py", "#\n".repeat(SIZE_LIMIT / 2).as_bytes()), None);
    let license = "# one line of many, as they stand at the top of a file\n".repeat(300);
    assert!(form("a.py", format!("{license}x = 1\n{license}").as_bytes()).is_some());
}

#[test]
fn a_file_of_errors_is_given_up_and_not_mended() {
    for path in PATHS {
        for junk in
            ["@#$ ", "\\", "'\"`", "\u{1f600}", "if else ", "<<<<<<< HEAD\n", "*&^", "\r", "))))", "a b c\n  d: - e\n"]
        {
            form(path, junk.repeat(20_000 / junk.len()).as_bytes());
        }
    }
}

#[test]
fn what_is_not_text_has_no_form() {
    for path in PATHS {
        assert_eq!(form(path, b"\xff\xfe"), None);
        assert_eq!(form(path, b"a\0b"), None);
    }
}

#[test]
fn more_open_blocks_than_a_scanner_can_hold_are_refused_before_it_is_asked() {
    let stairs = |line: &dyn Fn(usize) -> String| (0..1000).map(line).collect::<String>();
    let python = |strings: &str| stairs(&|level| format!("{}if a:\n", " ".repeat(level))) + &" ".repeat(1000) + strings;
    assert_eq!(form("a.py", python("pass\n").as_bytes()), None);
    assert_eq!(form("a.py", python("f'{f\"{f'''{1}'''}\"}'\n").as_bytes()), None);
    let mapping = stairs(&|level| format!("{}a:\n", " ".repeat(level)));
    assert_eq!(form("a.yaml", mapping.as_bytes()), None);
    assert_eq!(form("a.yaml", ("- ".repeat(1000) + "a\n").as_bytes()), None);
    assert_eq!(form("a.yaml", ("? ".repeat(1000) + "a\n").as_bytes()), None);
    let both = stairs(&|level| format!("{0}a:\n{0}-\n", " ".repeat(level)));
    assert_eq!(form("a.yaml", both.as_bytes()), None);
    assert_eq!(form("a.sh", stairs(&|n| format!("cat <<E{n} $(\n")).as_bytes()), None);
    assert_eq!(form("a.sh", format!("cat <<{}\n", "E".repeat(2000)).as_bytes()), None);
}

#[test]
fn as_many_open_blocks_as_are_let_through_can_be_held() {
    let python: String = (0..300).map(|level| format!("{}if a:\n", " ".repeat(level))).collect();
    let strings = "f'{f\"{".repeat(100) + "1" + &"}\"}'".repeat(100);
    assert!(form("a.py", (python.clone() + &" ".repeat(300) + "pass\n").as_bytes()).is_some());
    form("a.py", (python + &" ".repeat(300) + &strings + "\n").as_bytes());
    for text in ["- ".repeat(61) + "a\n", "? ".repeat(61) + "a\n"] {
        form("a.yaml", text.as_bytes());
    }
    let both: String = (0..119).map(|level| format!("{0}a:\n{0}-\n{0} b: c\n", " ".repeat(level))).collect();
    form("a.yaml", both.as_bytes());
    let nested: String = (0..118).map(|level| format!("{0}a:\n{0}- b:\n", " ".repeat(level))).collect();
    form("a.yaml", nested.as_bytes());
    let documents: String = (0..100).map(|n| format!("<<E{n} ")).collect();
    form("a.sh", format!("cat {documents}\n").as_bytes());
    assert!(parse(Language::Bash, b"cat <<A\na\nA\ncat <<B\nb\nB\n").is_some());
}
