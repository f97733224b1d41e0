//! What is found to be tuned, language by language, and what holds for all of them.

use overnight_model::tuner::found::{Found, Literal, Site};
use overnight_model::tuner::space::{Domain, Grain, Scale};
use proptest::prelude::*;

use crate::source::literals;

fn names(path: &str, text: &str) -> Vec<(String, String)> {
    literals(path, text).literals.into_iter().map(|literal| (literal.name, literal.text)).collect()
}

#[track_caller]
fn expect(path: &str, text: &str, expected: &[(&str, &str)]) {
    let found = names(path, text);
    let found: Vec<(&str, &str)> = found.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(found, expected, "{path}: {:#?}", literals(path, text).left_out);
}

/// Names of what is left out, each with the one word for its reason.
#[track_caller]
fn expect_left(path: &str, text: &str, expected: &[(&str, &str)]) {
    let Found { literals, left_out } = literals(path, text);
    let found: Vec<(&str, &str)> = left_out.iter().map(|left| (left.text.as_str(), left.why.name())).collect();
    assert_eq!(found, expected, "{path}");
    assert_eq!(literals, [], "{path}");
}

#[test]
fn python() {
    let text = r#"
"""A docstring with x = 3."""
MATRIX_LR: float = 0.04
DEPTH = 8  # overnight: 2..16
A, B = 2**14, -0.5
WINDOW = 'SSSL'  # overnight: one of "SSSL", "L"
CONFIG = {"lr": 0.1, "optim": {"betas": (0.8, 0.95)}}

@dataclass
class Config:
    width: int = 512
    bias: bool = False
    rate: float = field(default=0.1)

class Model(nn.Module):
    def __init__(self, dropout=0.1, *, heads: int = 4):
        self.scale = 0.5
        self.drop = nn.Dropout(0.2)

def main():
    lr = 1e-3
    optimizer = optim.Adam(model.parameters(), lr=3e-4, eps=1e-8)
    again = optim.Adam(other.parameters(), lr=3e-4)
    for step in range(100):
        pass

parser.add_argument("--hidden", type=int, default=64)
"#;
    expect(
        "train.py",
        text,
        &[
            ("MATRIX_LR", "0.04"),
            ("DEPTH", "8"),
            ("A", "2**14"),
            ("B", "-0.5"),
            ("WINDOW", "'SSSL'"),
            ("CONFIG.lr", "0.1"),
            ("CONFIG.optim.betas[0]", "0.8"),
            ("CONFIG.optim.betas[1]", "0.95"),
            ("Config.width", "512"),
            ("Config.bias", "False"),
            ("Config.rate", "0.1"),
            ("Model.__init__(dropout)", "0.1"),
            ("Model.__init__(heads)", "4"),
            ("Model.__init__/self.scale", "0.5"),
            ("main/lr", "1e-3"),
            ("Model.__init__/nn.Dropout(#1)", "0.2"),
            ("main/optim.Adam(lr)", "3e-4"),
            ("main/optim.Adam(eps)", "1e-8"),
            ("main/optim.Adam(lr)#2", "3e-4"),
            ("main/range(#1)", "100"),
            ("parser.add_argument(hidden)", "64"),
        ],
    );
}

#[test]
fn what_python_has_besides_is_left_alone_with_its_reason() {
    for (text, left) in [
        ("x = w[3] + w[1:2]", &[("3", "shape"), ("1", "shape"), ("2", "shape")][..]),
        ("x = 3 * y", &[("3", "expression")]),
        ("if x > 5:\n    pass", &[("5", "expression")]),
        ("step = 0\nstep += 2", &[("0", "given_twice"), ("2", "expression")]),
        ("lr = 0.1\nlr = 0.2", &[("0.1", "given_twice"), ("0.2", "given_twice")]),
        ("for i in range(1): pass", &[("1", "small")]),
        ("torch.manual_seed(42)", &[("42", "seed")]),
        ("x = random.Random(5)", &[("5", "seed")]),
        ("print(f'{x:.3f} {4}', 5)", &[("5", "printed")]),
        ("logger.info('x', 5)", &[("5", "printed")]),
        ("assert x < 3", &[("3", "test")]),
        ("def test_it():\n    x = 3", &[("3", "test")]),
        ("class TestIt:\n    x = 3", &[("3", "test")]),
        ("def latest():\n    return 3", &[("3", "expression")]),
        ("def evaluate(n=3): pass", &[("3", "evaluation")]),
        ("x = evaluate(n=3)", &[("3", "evaluation")]),
        ("train, rest = sample(60), draw_samples(40)", &[("60", "evaluation"), ("40", "evaluation")]),
        ("unseen = points(60, noise=0.1)", &[("60", "evaluation"), ("0.1", "evaluation")]),
        ("x, y = make_moons(200)", &[("200", "evaluation")]),
        ("x = cross_validate(model, cv=5)", &[("5", "evaluation")]),
        ("folds = KFold(n_splits=5)", &[("5", "evaluation")]),
        ("y = 2 + data.uniform(-0.1, 0.1)", &[("2", "expression"), ("-0.1", "drawn"), ("0.1", "drawn")]),
        ("y = rng.normal(loc=3, scale=0.5)", &[("3", "drawn"), ("0.5", "drawn")]),
        ("EMA_DECAY = 0.9999", &[("0.9999", "out_of_reach")]),
        ("X = 1e400", &[("1e400", "out_of_reach")]),
        ("x = F.softmax(y, dim=-1)", &[("1", "shape")]),
        ("x = y.view(4, 5)", &[("4", "shape"), ("5", "shape")]),
        ("NAME = 'x'", &[("'x'", "text")]),
        ("x: Literal[3]", &[("3", "shape")]),
        ("x = [1, 2, 3, 4, 5, 6, 7, 8, 9]", &[("1", "table"); 1]),
        ("@retry(3)\ndef f(): pass", &[("3", "operation")]),
        ("X = 0xff", &[("0xff", "bit_pattern")]),
        ("X = 1j", &[("1j", "notation")]),
        ("PORT = 3", &[("3", "label")]),
        ("X = 3  # overnight: fixed", &[("3", "fixed")]),
        ("X = 3  # overnight: never", &[("3", "hint")]),
        ("# overnight: 1..3\nX = 'a'", &[("1..3", "hint"), ("'a'", "text")]),
    ] {
        let Found { literals, left_out } = literals("a.py", text);
        let found: Vec<(&str, &str)> =
            left_out.iter().map(|left| (left.text.as_str(), left.why.name())).take(left.len()).collect();
        assert_eq!(found, left, "{text}");
        assert_eq!(literals, [], "{text}");
    }
}

#[test]
fn a_hint_can_ask_for_what_is_left_alone_otherwise() {
    expect("a.py", "x = 3 * y  # overnight: 1..8\n", &[("x", "3")]);
    expect("a.py", "f(\n    1,  # overnight: 0..8\n)\n", &[("f(#1)", "1")]);
    expect("a.py", "f(mode='a')  # overnight: one of 'a', 'b'\n", &[("f(mode)", "'a'")]);
    expect("a.py", "w[0] = 0.5  # overnight: 0..1\n", &[("w[0]", "0.5")]);
}

#[test]
fn a_misspelt_hint_is_told() {
    for said in ["overnigth: 1..8", "Overnight: 1..8", "overnight 1..8", "overnight = fixed", "ovenight: one of 3, 4"] {
        let found = literals("a.py", &format!("X = 3  # {said}\n"));
        assert_eq!(found.literals, [], "{said}");
        let why = found.left_out[0].why.to_string();
        assert!(why.contains("and not with `overnight:`"), "{said}: {why}");
    }
    for prose in ["overnight fixed the leak", "overnight runs: see below", "over night: 3", "midnight: 1..8"] {
        expect("a.py", &format!("X = 3  # {prose}\n"), &[("X", "3")]);
    }
}

#[test]
fn what_begins_a_program_is_tuned_though_chance_has_a_part_in_it() {
    expect("a.py", "w.normal_(0.0, 0.02)\n", &[("w.normal_(#1)", "0.0"), ("w.normal_(#2)", "0.02")]);
    expect("a.py", "NOISE = 0.1\ny = x + data.uniform(-NOISE, NOISE)\n", &[("NOISE", "0.1")]);
    expect("a.py", "x = DataLoader(data, batch_size=64)\n", &[("DataLoader(batch_size)", "64")]);
}

#[test]
fn a_switch_of_the_preprocessor_is_no_number() {
    expect_left("a.c", "#define HAS_SIMD 1\n#define TRACE 0\n", &[("1", "small"), ("0", "small")]);
    expect("a.c", "#define UNROLL 4\n", &[("UNROLL", "4")]);
}

#[test]
fn a_second_hint_on_a_line_is_told() {
    let found = literals("a.c", "int x = 3; /* overnight: 1..8 */ int y = 4; // overnight: 2..9\n");
    assert_eq!(found.literals.len(), 2);
    assert_eq!(found.left_out.len(), 1);
    assert!(found.left_out[0].why.to_string().contains("a line has one hint"), "{found:?}");
}

#[test]
fn javascript_and_typescript() {
    let text = "\
const LR = 0.1, WIDTH = 2 ** 6; // overnight: 0.01..64
const config = { lr: 0.3, 'nested': { bias: true } };
function main(rate = 0.1, { depth = 3 } = {}) {
  const momentum = 0.9;
  let total = 5;
  total += 2;
  return run(model, 0.25, { size: 16 });
}
class Net { width = 32; step(rate = 4) {} }
const f = (k = 7) => new Layer(k, 24);
";
    let expected = [
        ("LR", "0.1"),
        ("config.lr", "0.3"),
        ("config.nested.bias", "true"),
        ("main(rate)", "0.1"),
        ("main(depth)", "3"),
        ("Net.width", "32"),
        ("Net.step(rate)", "4"),
        ("f(k)", "7"),
        ("main/momentum", "0.9"),
        ("main/run(#2)", "0.25"),
        ("main/run(#3).size", "16"),
        ("f/Layer(#2)", "24"),
    ];
    let text = text.replace(", WIDTH = 2 ** 6", "");
    for path in ["a.js", "a.ts", "a.tsx"] {
        expect(path, &text, &expected);
    }
    let typed = "const LR: number = 0.1 as const;\nfunction f(a: 3 = 4, b: Foo<5>) {}\nenum E { A = 6 }\n";
    expect("a.ts", typed, &[("LR", "0.1"), ("f(a)", "4")]);
}

#[test]
fn rust() {
    let text = "\
const LR: f64 = 1e-3; // overnight: 1e-4..1e-1 log
static SIZES: [usize; 2] = [64, 1_28];
impl Model {
    const HEADS: u32 = 4;
    fn new(&self) -> [u8; 4] {
        let decay = -0.5;
        let mut total = 3;
        let config = Config { rate: 0.1, width: Some(64usize), ..Default::default() };
        run::<3>(config, 2.5f32, 1usize << 14);
        println!(\"{}\", 5);
        x[3]
    }
}
mod tests { fn t() { let x = 3; } }
";
    expect(
        "a.rs",
        text,
        &[
            ("LR", "1e-3"),
            ("SIZES[0]", "64"),
            ("SIZES[1]", "1_28"),
            ("Model.HEADS", "4"),
            ("Model.new/config.rate", "0.1"),
            ("Model.new/config.width", "64usize"),
            ("Model.new/decay", "-0.5"),
            ("Model.new/run(#2)", "2.5f32"),
            ("Model.new/run(#3)", "1usize << 14"),
        ],
    );
}

#[test]
fn c_and_cpp() {
    let text = "\
#define LR 0.1f // overnight: 0.01..1
#define SIZE (1 << 10) /* overnight: 256..4096 */
static const double DECAY = -0.5, table[4] = {2, 3};
enum { E = 3 };
int main(void) {
    double rate = 0.25;
    struct config c = {.lr = 0.1, .n = 6};
    for (int i = 0; i < 10; i++) run(rate, 32, 0x40);
    printf(\"%d\", 3);
    return 0;
}
";
    let expected = [
        ("LR", "0.1f"),
        ("SIZE", "1 << 10"),
        ("DECAY", "-0.5"),
        ("table[0]", "2"),
        ("table[1]", "3"),
        ("main/c.lr", "0.1"),
        ("main/c.n", "6"),
        ("main/rate", "0.25"),
        ("main/run(#2)", "32"),
        ("main/run(#3)", "0x40"),
    ];
    expect("a.c", text, &expected);
    expect("a.cpp", text, &expected);
    let cpp = "\
namespace ns { struct S { float lr = 0.1f; int b : 3; S(int q = 5) : width(7) {} }; }
template <int N = 3> void f(bool fast = true) { g<128>(4, 1'000); Foo x(6); }
";
    expect(
        "a.cpp",
        cpp,
        &[
            ("ns.S.lr", "0.1f"),
            ("ns.S.S(q)", "5"),
            ("f(fast)", "true"),
            ("ns.S.S/width(#1)", "7"),
            ("f/g(#1)", "4"),
            ("f/g(#2)", "1'000"),
            ("f/x(#1)", "6"),
        ],
    );
}

#[test]
fn go_and_shells() {
    let go = "package main\n\nconst LR = 0.1\n\nvar A, B = 3, true\n\nfunc main() {\n\tx := 0.5\n\tc := Config{Lr: 0.2}\n\tf(4, -2)\n}\n";
    let expected = [
        ("LR", "0.1"),
        ("A", "3"),
        ("B", "true"),
        ("main/c.Lr", "0.2"),
        ("main/x", "0.5"),
        ("main/f(#1)", "4"),
        ("main/f(#2)", "-2"),
    ];
    expect("a.go", go, &expected);
    let shell = "LR=0.1\npython train.py --depth 8 --width=64 # overnight: 4..128\n";
    expect("a.sh", shell, &[("LR", "0.1"), ("depth", "8"), ("width", "64")]);
}

#[test]
fn data_files() {
    let toml = "a = 1_0 # overnight: 1..40\nb.c = true\n[train]\nlr = 3e-4\nbetas = [0.9, 0.95]\nopt = { n = 3 }\n[[x]]\nd = 2\n[[x]]\nd = 3\n[eval]\nbatch = 4\n";
    let expected = [
        ("a", "1_0"),
        ("b.c", "true"),
        ("[train].lr", "3e-4"),
        ("[train].betas[0]", "0.9"),
        ("[train].betas[1]", "0.95"),
        ("[train].opt.n", "3"),
        ("[[x]].d", "2"),
        ("[[x]].d#2", "3"),
    ];
    expect("a.toml", toml, &expected);
    let yaml = "a: 3 # overnight: 1..4\ntrain:\n  lr: 1e-3\n  opt: adam # overnight: one of adam, sgd\n  betas: [0.9, 0.95]\nl:\n  - h: 2\n  - -4\nseed: 3\n";
    let expected = [
        ("a", "3"),
        ("train.lr", "1e-3"),
        ("train.opt", "adam"),
        ("train.betas[0]", "0.9"),
        ("train.betas[1]", "0.95"),
        ("l[0].h", "2"),
        ("l[1]", "-4"),
    ];
    expect("a.yaml", yaml, &expected);
    expect("a.json", "{\"a\": 3, \"b\": {\"c\": [0.5, true]}}", &[("a", "3"), ("b.c[0]", "0.5"), ("b.c[1]", "true")]);
}

#[test]
fn a_text_without_a_grammar_or_with_an_error_is_read_by_lines() {
    let ini = "; lr = 3\n[train]\nlr = 0.1 ; overnight: 0.01..1 log\nwidth: 64\ndropout 0.5\nname = \"x\"\n";
    expect("a.ini", ini, &[("[train].lr", "0.1"), ("[train].width", "64"), ("[train].dropout", "0.5")]);
    let lua = "local lr = 0.1 -- overnight: 0.01..1 log\nlocal mode = \"a\" -- overnight: one of \"a\", \"b\"\n";
    expect("a.lua", lua, &[("lr", "0.1"), ("mode", "\"a\"")]);
    let broken = "\"\"\"\na = 1\n\"\"\"\nLR: float = 0.1  # why\nif (:\nx == 3\ny += 4\n";
    expect("a.py", broken, &[("LR", "0.1")]);
    let cuda =
        "#define TILE 16\nconstexpr int BLOCK = 128; // overnight: 32..1024 pow2\nvoid f() { k<<<3, 4>>>(5); }\n";
    expect("a.cu", cuda, &[("TILE", "16"), ("BLOCK", "128")]);
    expect("a.py", "if (:\nx 3\nrun --depth 3\ny = 4\n", &[("y", "4")]);
    expect("a.md", "- temperature: 0.7 <!-- overnight: 0..1 -->\n", &[("temperature", "0.7")]);
    expect_left("a.conf", "seed = 3\na = 1\na = 2\n", &[("3", "seed"), ("1", "given_twice"), ("2", "given_twice")]);
    assert_eq!(literals("a.ini", ini).literals[0].site, Site::Line);
}

#[test]
fn a_name_does_not_depend_on_what_stands_elsewhere() {
    let text = "A = 3\ndef f():\n    g(4, lr=0.5)\n    g(5, lr=0.25)\n";
    let before = names("a.py", text);
    for edited in
        [format!("import x\nZ = 9\n{text}"), text.replace("A = 3", "A = 300"), format!("# why\n{text}\nB = 2\n")]
    {
        let after = names("a.py", &edited);
        assert!(before.iter().all(|(name, _)| after.iter().any(|(other, _)| other == name)), "{edited}");
    }
}

#[test]
fn what_a_stranger_wrote_neither_hangs_nor_overflows() {
    for extension in ["c", "cpp", "go", "js", "json", "py", "rs", "toml", "tsx", "yaml", "conf"] {
        let path = format!("a.{extension}");
        for (open, close) in
            [("(", ")"), ("[", "]"), ("{\"a\":", "}"), ("f(", ")"), ("-", ""), ("a.b().", ""), ("*", "")]
        {
            let half = 5_000 / open.len();
            for text in [format!("{}1{}", open.repeat(half), close.repeat(half)), format!("x = {}1", open.repeat(half))]
            {
                literals(&path, &text);
            }
        }
        for line in
            ["x = 1\n", "1,", "#define A 1 // overnight: 1..2 /* overnight: */\n", "# overnight: 1..2\n", "a: 1 --b 2 "]
        {
            literals(&path, &line.repeat(5_000 / line.len()));
        }
    }
    let table = format!("x = [{}]\n", "1, ".repeat(100_000));
    assert_eq!(literals("a.py", &table).literals, []);
}

/// Values that a search could write there.
fn values(literal: &Literal) -> Vec<f64> {
    match literal.domain {
        Domain::Choice { options } => (0..options).map(|at| at as f64).collect(),
        Domain::Number { low, high, grain, .. } => {
            let middle = low + (high - low) * 0.37;
            let middle = match grain {
                Grain::Any => format!("{middle:.2e}").parse().unwrap(),
                Grain::Whole => middle.round(),
                Grain::PowerOfTwo => 2f64.powf(middle.log2().floor()),
            };
            vec![low, middle, high]
        }
    }
}

/// Everything that must hold of what is found in a text.
fn hold(path: &str, text: &str) -> Result<(), TestCaseError> {
    let found = literals(path, text);
    for literal in &found.literals {
        prop_assert_eq!(text.get(literal.span.clone()), Some(literal.text.as_str()));
        prop_assert_eq!(&literal.write(literal.value), &literal.text, "{}", literal.name);
        match literal.domain {
            Domain::Choice { options } => prop_assert_eq!((options, options > 1), (literal.options.len(), true)),
            Domain::Number { low, high, scale, grain } => {
                prop_assert!(low < high && low.is_finite() && high.is_finite(), "{:?}", literal);
                prop_assert!((low..=high).contains(&literal.value), "{:?}", literal);
                prop_assert!(scale == Scale::Linear || low > 0.0 || high < 0.0, "{:?}", literal);
                let fits = |bound: f64| match grain {
                    Grain::Any => true,
                    Grain::Whole => bound.fract() == 0.0,
                    Grain::PowerOfTwo => bound >= 1.0 && bound.log2().fract() == 0.0,
                };
                prop_assert!([low, high, literal.value].into_iter().all(fits), "{:?}", literal);
            }
        }
        let twins = found.literals.iter().filter(|other| other.name == literal.name).count();
        prop_assert_eq!(twins, 1, "{}", literal.name);
        for value in values(literal) {
            let written = literal.write(value);
            let (before, after) = (&text[..literal.span.start], &text[literal.span.end..]);
            let edited = [before, &written, after].concat();
            let again = literals(path, &edited).literals;
            let same = again.iter().find(|other| other.name == literal.name);
            let Some(same) = same else {
                return Err(TestCaseError::fail(format!("{} is lost as {written} in\n{edited}", literal.name)));
            };
            prop_assert_eq!((same.value, &same.text), (value, &written), "{}", edited);
            prop_assert_eq!(again.len(), found.literals.len(), "{}", edited);
        }
    }
    Ok(())
}

const EXTENSIONS: &str = "c|cpp|go|js|json|py|rs|sh|toml|ts|tsx|yaml|conf";

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in "[ -~\n\té]{0,200}", extension in EXTENSIONS) {
        hold(&format!("a.{extension}"), &text)?;
    }

    #[test]
    fn a_written_value_is_read_again_under_the_same_name(
        lines in prop::collection::vec(
            "(lr|dropout|batch_size|n|beta|x\\.y|f\\(a, |g\\(k) ?[=:]? ?(-?[0-9]{1,4}|-?[0-9]?\\.[0-9]{1,4}|[1-9]\\.?[0-9]?e-?[0-9]|2\\*\\*[0-9]|0x[0-9a-f]{1,3}|1 << [0-9]|True|false|'a')\\)?[;,]?( (#|//) overnight: (0\\.\\.9|fixed|1\\.\\.64 pow2|one of a, b|-5\\.\\.5000))?",
            1..6,
        ),
        extension in EXTENSIONS,
    ) {
        hold(&format!("a.{extension}"), &(lines.join("\n") + "\n"))?;
    }
}
