use super::hint::Hint;
use super::notation::Notation;
use super::*;
use crate::tuner::space::{Domain, Grain, Scale};

/// The literals of lines `NAME = VALUE # COMMENT`, each of which is a constant.
fn constants(text: &str) -> Found {
    let (mut candidates, mut remarks, mut start) = (Vec::new(), Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let (code, comment) = line.split_once('#').unwrap_or((line, ""));
        let (name, value) = code.split_once(" = ").expect("a name and a value");
        let at = start + name.len() + 3;
        remarks.extend(in_comment(comment).map(|said| Remark { at, text: said.to_owned() }));
        let value = value.trim_end();
        let kind = match value {
            "True" | "False" => Kind::Truth,
            _ if Notation::read(value).is_err() && !value.starts_with(|c: char| c.is_ascii_digit()) => Kind::Text,
            _ => Kind::Number,
        };
        candidates.push(Candidate {
            name: name.to_owned(),
            key: name.to_owned(),
            span: at..at + value.len(),
            site: Site::Constant,
            kind,
            is_whole: true,
            is_small_fixed: false,
            is_changed: false,
            out: None,
        });
        start += line.len();
    }
    gather("train.py", text, candidates, remarks)
}

fn only(line: &str) -> Literal {
    let found = constants(line);
    assert_eq!((found.literals.len(), found.left_out.len()), (1, 0), "{line}: {found:?}");
    found.literals.into_iter().next().unwrap()
}

/// The range of a number, as `low..high` and a word for each thing that is not usual.
fn range_of(line: &str) -> String {
    let Domain::Number { low, high, scale, grain } = only(line).domain else { return "choice".to_owned() };
    let scale = if scale == Scale::Log { " log" } else { "" };
    let grain = match grain {
        Grain::Any => "",
        Grain::Whole => " whole",
        Grain::PowerOfTwo => " pow2",
    };
    format!("{low}..{high}{scale}{grain}")
}

fn left(line: &str) -> LeftOut {
    let found = constants(line);
    assert_eq!((found.literals.len(), found.left_out.len()), (0, 1), "{line}: {found:?}");
    found.left_out[0].why.clone()
}

fn complaint(line: &str) -> String {
    match left(line) {
        LeftOut::Hint(what) => what,
        other => panic!("{line}: {other}"),
    }
}

#[test]
fn a_number_is_written_as_it_was_written_before() {
    for (text, value, new, written) in [
        ("8", 8.0, 12.0, "12"),
        ("-8", -8.0, -12.0, "-12"),
        ("- 8", -8.0, -12.0, "- 12"),
        ("+8", 8.0, 12.0, "+12"),
        ("1_000", 1000.0, 2_500_000.0, "2_500_000"),
        ("1'000", 1000.0, 2500.0, "2'500"),
        ("1_000", 1000.0, 500.0, "500"),
        ("64usize", 64.0, 32.0, "32usize"),
        ("64_u8", 64.0, 32.0, "32_u8"),
        ("10n", 10.0, 20.0, "20n"),
        ("0.04", 0.04, 0.06, "0.06"),
        ("0.04", 0.04, 3.0, "3.0"),
        ("0.04", 0.04, 0.0000001, "0.0000001"),
        (".5", 0.5, 0.25, ".25"),
        (".5", 0.5, 1.5, "1.5"),
        ("5.", 5.0, 7.0, "7."),
        ("5.", 5.0, 7.5, "7.5"),
        ("-0.5", -0.5, -0.25, "-0.25"),
        ("3.0f", 3.0, 0.5, "0.5f"),
        ("1f32", 1.0, 2.0, "2f32"),
        ("1.0_f64", 1.0, 2.5, "2.5_f64"),
        ("1e-3", 1e-3, 5e-4, "5e-4"),
        ("1E-3", 1e-3, 2.5e-4, "2.5E-4"),
        ("1.0e-3", 1e-3, 5e-4, "5.0e-4"),
        ("1e-03", 1e-3, 5e-12, "5e-12"),
        ("1e-03", 1e-3, 5e-4, "5e-04"),
        ("1e+3", 1e3, 2e4, "2e+4"),
        ("2**14", 16384.0, 32768.0, "2**15"),
        ("2 ** 14", 16384.0, 1.0, "2 ** 0"),
        ("1 << 14", 16384.0, 8192.0, "1 << 13"),
        ("1usize<<14", 16384.0, 8192.0, "1usize<<13"),
        ("0x40", 64.0, 256.0, "0x100"),
        ("0x0040", 64.0, 256.0, "0x0100"),
        ("0XAB", 171.0, 190.0, "0XBE"),
        ("0b1000", 8.0, 2.0, "0b10"),
        ("0o17u32", 15.0, 8.0, "0o10u32"),
    ] {
        let (notation, read) = Notation::read(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert_eq!(read, value, "{text}");
        assert_eq!(notation.write(value), text);
        assert_eq!(notation.write(new), written, "{text}");
        assert_eq!(Notation::read(written).map(|(_, value)| value), Ok(new), "{written}");
    }
}

#[test]
fn what_cannot_be_written_back_is_no_number() {
    for text in
        ["", "-", "1j", "007", "0x", "0x1p3", "1__0", "1_", "_1", "nan", "inf", "1e", "1e+", "--1", "3**2", "2**-3"]
    {
        assert_eq!(Notation::read(text), Err(Unreadable::NotANumber), "{text}");
    }
    assert_eq!(Notation::read("1e999"), Err(Unreadable::OutOfReach));
    for text in ["9007199254740993000", "0xffffffffffffffff", "2**60", "0xfffffffffffffffff"] {
        assert_eq!(Notation::read(text), Err(Unreadable::TooLarge), "{text}");
    }
}

#[test]
fn a_range_is_inferred_from_the_number_and_its_name() {
    for (line, range) in [
        ("DEPTH = 8", "2..32 log whole"),
        ("DEPTH = 2", "1..8 log whole"),
        ("DEPTH = 1", "1..4 log whole"),
        ("LAYERS = 0", "0..2 whole"),
        ("OFFSET = -8", "-32..-2 log whole"),
        ("MATRIX_LR = 0.04", "0.004..0.4 log"),
        ("LR = 3e-4", "0.000003..0.03 log"),
        ("SCALE = -0.5", "-5..-0.05 log"),
        ("SCALE = 1.0", "0.1..10 log"),
        ("SCALE = 0.0", "0..1"),
        ("WEIGHT_DECAY = 0.0", "0..0.1"),
        ("WEIGHT_DECAY = 0.2", "0.02..0.95 log"),
        ("WEIGHT_DECAY = 1e-4", "0.000001..0.01 log"),
        ("DROPOUT = 0.0", "0..0.5"),
        ("DROPOUT = 0.1", "0..0.5"),
        ("WARMUP_RATIO = 0.4", "0..0.95"),
        ("EDGE_WEIGHT = 0.5", "0.05..5 log"),
        ("MOMENTUM = 0.9", "0.5..0.99"),
        ("BETA2 = 0.999", "0.995..0.999"),
        ("EMA = 0.9995", "0.998..0.9995"),
        ("GAMMA = 2.0", "0.2..20 log"),
        ("BATCH_SIZE = 64", "16..256 log pow2"),
        ("BATCH_SIZE = 48", "12..192 log whole"),
        ("BATCH_SIZE = 4", "1..16 log whole"),
        ("STEPS = 64", "16..256 log whole"),
        ("TOTAL = 2**19", "131072..2097152 log pow2"),
        ("TOTAL = 0x40", "16..256 log pow2"),
        ("hidden = 128u8", "32..128 log pow2"),
        ("LEVEL = 200u8", "50..255 log whole"),
    ] {
        assert_eq!(range_of(line), range, "{line}");
    }
}

#[test]
fn a_hint_gives_the_range() {
    for (line, range) in [
        ("LR = 1e-3 # overnight: 1e-4..1e-1 log", "0.0001..0.1 log"),
        ("LR = 1e-3 # overnight: 1e-4..1e-1", "0.0001..0.1 log"),
        ("LR = 1e-3 # overnight: 1e-4..1e-1 linear", "0.0001..0.1"),
        ("LR = 0.5 # overnight: 0..1 ; the whole of it", "0..1"),
        ("LR = 0.5 # overnight:-1..1", "-1..1"),
        ("N = 3 # overnight: 1..8", "1..8 whole"),
        ("N = 3.0 # overnight: 1..8 int", "1..8 whole"),
        ("N = 16 # overnight: 8..64 pow2", "8..64 log pow2"),
        ("N = 16 # overnight: 2**3..2**6, pow2", "8..64 log pow2"),
        ("N = 2**4 # overnight: 8..64", "8..64 log pow2"),
        ("SEED = 3 # overnight: 1..8", "1..8 whole"),
        ("N = 0x41 # overnight: 1..100", "1..100 log whole"),
    ] {
        assert_eq!(range_of(line), range, "{line}");
        assert!(only(line).hinted);
    }
    assert_eq!(left("LR = 0.1 # overnight: fixed"), LeftOut::Fixed);
    assert_eq!(left("LR = 0.1 # overnight: fixed, it is fine"), LeftOut::Fixed);
    assert!(!only("LR = 0.1 # tuned overnight: fixed").hinted);
}

#[test]
fn a_choice_keeps_the_quotes_of_what_it_replaces() {
    let window = only("WINDOW = 'SSSL' # overnight: one of \"SSSL\", SL, 'a;b'");
    assert_eq!(window.options, ["'SSSL'", "'SL'", "'a;b'"]);
    assert_eq!((window.value, window.write(1.0)), (0.0, "'SL'".to_owned()));
    assert_eq!(window.domain, Domain::Choice { options: 3 });
    let number = only("N = 1_6 # overnight: one of 8, 16, 31");
    assert_eq!((number.value, number.options.as_slice()), (1.0, ["8", "1_6", "31"].map(String::from).as_slice()));
    let truth = only("BIAS = False");
    assert_eq!((truth.value, truth.write(0.0), truth.write(1.0)), (1.0, "True".to_owned(), "False".to_owned()));
}

#[test]
fn a_hint_that_cannot_be_followed_is_a_sentence() {
    for (line, said) in [
        ("N = 3 # overnight: sometimes", "`sometimes` is neither a range such as `1..8`, nor `one of …`, nor `fixed`"),
        ("N = 3 # overnight:", "`` is neither a range such as `1..8`, nor `one of …`, nor `fixed`"),
        ("N = 3 # overnight: 1..x", "`x` is no number"),
        ("N = 3 # overnight: 8..1", "8 is not below 1"),
        ("N = 3 # overnight: 1..8 often", "`often` is none of `log`, `linear`, `int` and `pow2`"),
        ("N = 3 # overnight: 5..8", "3 is outside of 5 to 8"),
        ("N = 3 # overnight: 0..8 log", "`log` needs a range without 0"),
        ("N = 3 # overnight: 0.5..8", "0.5 is no whole number, and here only those can be written"),
        ("N = 3 # overnight: 1..8 pow2", "3 is no power of two, and here only those can be written"),
        ("N = 8 # overnight: 1..9 pow2", "9 is no power of two from 1"),
        ("N = 3u8 # overnight: -1..8", "-1 to 8 cannot all be written like 3u8"),
        ("N = 3 # overnight: one of 4, 5", "3 is not among its options"),
        ("N = 3 # overnight: one of 3", "`one of` needs two options at least"),
        ("N = 3 # overnight: one of 3, 4, 3", "an option is named twice"),
        ("N = 3 # overnight: one of 3, relu", "`relu` is not of the kind of 3"),
        ("S = 'a' # overnight: one of 'a', 'b", "a quote is not closed"),
        ("S = 'a' # overnight: one of 'a', \"it's\"", "`\"it's\"` has characters that would need to be escaped"),
        ("S = 'a' # overnight: 1..3", "'a' is no number"),
    ] {
        assert_eq!(complaint(line), said, "{line}");
    }
}

#[test]
fn a_hint_beside_nothing_is_not_passed_over() {
    let text = "A = 1\n# overnight: 1..3\n";
    let remarks = vec![Remark { at: text.find('#').unwrap(), text: "1..3".to_owned() }];
    let found = gather("a", text, Vec::new(), remarks);
    assert_eq!(found.left_out.len(), 1);
    assert_eq!((found.left_out[0].line, found.left_out[0].why.name()), (2, "hint"));
}

#[test]
fn names_that_are_not_the_searchs_to_choose_are_left_alone() {
    for (name, why) in [
        ("SEED", LeftOut::Seed),
        ("random_state", LeftOut::Seed),
        ("PYTHONHASHSEED", LeftOut::Seed),
        ("trainSeed", LeftOut::Seed),
        ("rng", LeftOut::Seed),
        ("__version__", LeftOut::Label),
        ("PORT", LeftOut::Label),
        ("TIME_BUDGET", LeftOut::Limit),
        ("max_seconds", LeftOut::Limit),
        ("EVAL_TOKENS", LeftOut::Evaluation),
        ("n_trials", LeftOut::Evaluation),
        ("valBatches", LeftOut::Evaluation),
        ("log_interval", LeftOut::Operation),
        ("out_dir", LeftOut::Address),
    ] {
        assert_eq!(left(&format!("{name} = 3")), why, "{name}");
    }
    for name in ["support", "value", "warmup_iters", "WARMUP_RATIO", "latest", "evaluated_at_scale", "depth"] {
        only(&format!("{name} = 3"));
    }
    assert_eq!(left("NAME = 'x'"), LeftOut::Text);
    assert_eq!(left("MASK = 0xff"), LeftOut::BitPattern);
    assert_eq!(left("BIG = 9007199254740993000"), LeftOut::TooLarge);
    assert_eq!(left("ODD = 007"), LeftOut::Notation);
}

#[test]
fn hinted_ones_are_the_last_to_be_too_many() {
    let mut text: String = (0..80).map(|n| format!("A{n} = 3\n")).collect();
    text.push_str("LAST = 3 # overnight: 1..8\n");
    let found = constants(&text);
    assert_eq!(found.literals.len(), LITERALS_LIMIT);
    assert_eq!(found.literals.last().unwrap().name, "LAST");
    assert_eq!(found.left_out.len(), 17);
    assert!(found.left_out.iter().all(|left| left.why == LeftOut::TooMany));
    assert_eq!((found.left_out[0].name.as_str(), found.left_out[0].line), ("A63", 64));
}

#[test]
fn comments_of_all_languages_can_hold_a_hint() {
    for comment in ["# overnight: fixed", "// overnight: fixed", "/* overnight: fixed */", "; overnight: fixed"] {
        assert_eq!(in_comment(comment), Some("fixed"), "{comment}");
    }
    assert_eq!(in_comment("-- overnight:1..2"), Some("1..2"));
    assert_eq!(in_comment("<!-- overnight: fixed -->"), Some("fixed"));
    assert_eq!(in_comment("# run overnight: fixed"), None);
    assert_eq!(Hint::read("fixed"), Ok(Hint::Fixed));
}
