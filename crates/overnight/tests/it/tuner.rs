//! `check --tuner`: what the tuner finds to change, told without running anything.

use crate::support::{Json, Ran, Repo};

const SURFACE: &str = r#""""Not code: x = 3."""
SEED = 42
MATRIX_LR = 0.04
TOTAL_BATCH_SIZE = 2**19
DEPTH = 8  # overnight: 4..16
WINDOW = 'SSSL'  # overnight: one of "SSSL", "L"
CLIP = 1.0  # overnight: fixed

class Model:
    def __init__(self, dropout=0.1, bias=False):
        self.scale = 0.5 * DEPTH + 3

def main():
    optimizer = optim.Adam(model.parameters(), lr=3e-4, betas=(0.9, 0.95))
    print(optimizer, 7)
    return rows[1]
"#;

/// A study with this surface, whose evaluation must not be run.
fn with(path: &str, surface: &str) -> Repo {
    let repo = Repo::new();
    let triplet = repo.read("overnight.toml").replace("knobs.py", path);
    repo.write("overnight.toml", &triplet).write(path, surface).write("score.sh", "touch ran; exit 1\n");
    repo.commit("something to tune");
    repo
}

/// Shows what can be tuned, which leaves everything as it was.
#[track_caller]
fn shown(repo: &Repo, args: &[&str]) -> Ran {
    let before = repo.fingerprint();
    let ran = repo.ok(&[&["check", "--tuner"], args].concat());
    assert!(repo.fingerprint() == before && !repo.state().join("check").exists(), "{ran}");
    assert!(!repo.state().join("check.json").exists(), "nothing was checked: {ran}");
    ran
}

#[test]
fn what_can_be_tuned_and_what_is_left_alone() {
    insta::assert_snapshot!(shown(&with("train.py", SURFACE), &[]), @"
    overnight check --tuner · study main · the working tree as it is · nothing is run
    train.py · 9 to tune · 6 left out
      MATRIX_LR                  0.04    0.004 to 0.4, log (inferred)
      TOTAL_BATCH_SIZE           2**19   131072 to 2097152, powers of two (inferred)
      DEPTH                      8       4 to 16, whole (hint)
      WINDOW                     'SSSL'  one of 'SSSL', 'L' (hint)
      Model.__init__(dropout)    0.1     0 to 0.5 (inferred)
      Model.__init__(bias)       False   one of True, False (inferred)
      main/optim.Adam(lr)        3e-4    3e-6 to 0.03, log (inferred)
      main/optim.Adam(betas)[0]  0.9     0.5 to 0.99 (inferred)
      main/optim.Adam(betas)[1]  0.95    0.75 to 0.995 (inferred)
      left out  CLIP: its hint says `fixed`
      left out  SEED: a seed: another one is another draw, and no other program
      left out  main/print(#2): only printed or logged
      left out  1 on line 16: an index, an axis, a shape or part of a type
      left out  2 on line 11: inside of an expression: give it a name
    --- exit code 0
    ");
}

#[test]
fn hints_that_cannot_be_followed_are_told_and_little_is_called_little() {
    let surface =
        "a = 3  # overnight: 4..9\nb = 0.5  # overnight: 0..1 logarithmic\n# overnight: fixed\nc = 'x'\nd = 5\n";
    insta::assert_snapshot!(shown(&with("train.py", surface), &[]), @r#"
    overnight check --tuner · study main · the working tree as it is · nothing is run
    train.py · 1 to tune · 4 left out
      d  5  2 to 20, whole, log (inferred)
      left out  c: a string: say `one of …`
    warn  tuner    train.py:1 a: its hint cannot be followed: 3 is outside of 4 to 9
    warn  tuner    train.py:2 b: its hint cannot be followed: `logarithmic` is none of `log`, `linear`,
                   `int` and `pow2`
    warn  tuner    train.py:3: its hint cannot be followed: there is no value to tune on its line
                   → a hint is `1..8`, `1e-4..1e-1 log`, `8..64 pow2`, `one of "a", "b"` or `fixed`, on
                     the line of its value
    note  tuner    little to tune here: one value is soon done with; the tuner changes values, and
                   everything else needs somebody who writes code
                   → name an agent that does: [agent] use = "command"; or `overnight try` with ideas of
                     your own
    --- exit code 0
    "#);
}

#[test]
fn where_there_is_nothing_a_model_is_needed() {
    insta::assert_snapshot!(shown(&with("prompt.md", "Answer in one word.\n"), &[]), @r#"
    overnight check --tuner · study main · the working tree as it is · nothing is run
    prompt.md · 0 to tune · 0 left out
    note  tuner    nothing to tune here; the tuner changes values, and everything else needs somebody
                   who writes code
                   → name an agent that does: [agent] use = "command"; or `overnight try` with ideas of
                     your own
    --- exit code 0
    "#);
}

#[test]
fn only_the_part_that_may_change_is_read_and_lines_are_those_of_the_file() {
    let repo = with("train.py", "a = 3\n# --- tune below ---\nb = 4\nSEED = 5\n");
    let triplet = repo.read("overnight.toml");
    let part = triplet.replace("\"train.py\"", "{ path = \"train.py\", below = \"--- tune below ---\" }");
    repo.write("overnight.toml", &part).commit("a part");
    let found: Json = serde_json::from_str(&shown(&repo, &["--json"]).stdout).unwrap();
    let file = &found["tuner"]["files"][0];
    assert_eq!((file["literals"].as_array().unwrap().len(), file["literals"][0]["line"].as_u64()), (1, Some(3)));
    assert_eq!((file["left_out"][0]["line"].as_u64(), file["left_out"][0]["reason"].as_str()), (Some(4), Some("seed")));
}

#[test]
fn programs_get_the_same_as_data() {
    let text = "LR = 1e-3\nWINDOW = 'a' # overnight: one of 'a', 'b'\nSEED = 3\n";
    let found: Json = serde_json::from_str(&shown(&with("train.py", text), &["--json"]).stdout).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&found).unwrap(), @r#"
    {
      "study": "main",
      "tuner": {
        "files": [
          {
            "left_out": [
              {
                "line": 3,
                "name": "SEED",
                "reason": "seed",
                "text": "3",
                "what": "a seed: another one is another draw, and no other program"
              }
            ],
            "literals": [
              {
                "from": "inferred",
                "grain": "any",
                "high": 0.1,
                "line": 1,
                "low": 0.00001,
                "name": "LR",
                "options": null,
                "scale": "log",
                "site": "constant",
                "text": "1e-3",
                "value": 0.001
              },
              {
                "from": "hint",
                "grain": null,
                "high": null,
                "line": 2,
                "low": null,
                "name": "WINDOW",
                "options": [
                  "'a'",
                  "'b'"
                ],
                "scale": null,
                "site": "constant",
                "text": "'a'",
                "value": null
              }
            ],
            "path": "train.py"
          }
        ],
        "literals": 2,
        "little": false
      }
    }
    "#);
}

#[test]
fn a_check_warns_of_a_hint_that_cannot_be_followed() {
    let repo = Repo::new();
    repo.write("knobs.py", "x = 5  # overnight: 1..4\ny = 2\n").commit("a slip");
    let ran = repo.overnight(&["check", "--json"]);
    let report: Json = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
    let all = report["findings"].as_array().unwrap();
    let finding = all.iter().find(|finding| finding["topic"] == "tuner").unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(finding["level"], "warn");
    assert_eq!(finding["what"], "knobs.py:1 x: its hint cannot be followed: 5 is outside of 1 to 4");
}

#[test]
fn every_hint_that_the_page_shows_can_be_followed() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tuner.md")).unwrap();
    let (_, after) = page.split_once("```python\n").unwrap();
    let (surface, _) = after.split_once("```").unwrap();
    let found: Json = serde_json::from_str(&shown(&with("train.py", surface), &["--json"]).stdout).unwrap();
    let hinted = found["tuner"]["files"][0]["literals"].as_array().unwrap();
    assert!(hinted.iter().all(|literal| literal["from"] == "hint"), "{found:#}");
    assert_eq!(hinted.len(), surface.lines().count() - 1, "all but the one that is fixed: {found:#}");
}
