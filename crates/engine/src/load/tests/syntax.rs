//! Files that are no TOML at all.

use super::assert_refused;

#[test]
fn text_without_quotes_is_a_syntax_error() {
    assert_refused(
        r#"
surface = train.py
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: not valid TOML: text must be in quotes
  --> overnight.toml:1:11
   |
 1 | surface = train.py
   |           ^^^^^^^^
   = hint: write it as "text"
"#,
    );
}

#[test]
fn an_unclosed_string_is_a_syntax_error() {
    assert_refused(
        r#"
surface = "train.py
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: not valid TOML: invalid basic string, expected `"`
  --> overnight.toml:1:20
   |
 1 | surface = "train.py
   |                    ^
"#,
    );
}

#[test]
fn a_key_given_twice_is_a_syntax_error() {
    assert_refused(
        r#"
surface = "train.py"
surface = "prepare.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: not valid TOML: duplicate key
  --> overnight.toml:2:1
   |
 2 | surface = "prepare.py"
   | ^^^^^^^
   = hint: remove one of the two
"#,
    );
}

#[test]
fn an_unclosed_bracket_is_a_syntax_error() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: not valid TOML: unclosed table, expected `]`
  --> overnight.toml:3:10
   |
 3 | [evaluate
   |          ^
"#,
    );
}

#[test]
fn a_secret_is_not_shown_even_where_the_syntax_is_wrong() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
env = { HF_TOKEN = hf_abcdefghijklmnop }
"#,
        r#"
error: not valid TOML: text must be in quotes
  --> overnight.toml:6:20
   |
 6 | env = { HF_TOKEN =**********************
   |                    ^^^^^^^^^^^^^^^^^^^
   = hint: write it as "text"
"#,
    );
}
