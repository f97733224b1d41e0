//! Surfaces that are not there, or not allowed.

use super::assert_refused;

#[test]
fn a_misspelt_file_names_the_nearest_tracked_one() {
    assert_refused(
        r#"
surface = "trian.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: surface `trian.py` is not a file tracked by git
  --> overnight.toml:1:11
   |
 1 | surface = "trian.py"
   |           ^^^^^^^^^^
   = hint: did you mean `train.py`?
"#,
    );
}

#[test]
fn an_untracked_file_is_to_be_added() {
    assert_refused(
        r#"
surface = "new.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: surface `new.py` is not a file tracked by git
  --> overnight.toml:1:11
   |
 1 | surface = "new.py"
   |           ^^^^^^^^
   = hint: run `git add new.py` and commit it
"#,
    );
}

#[test]
fn a_folder_is_not_a_file() {
    assert_refused(
        r#"
surface = "src"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: surface `src` is not a file tracked by git
  --> overnight.toml:1:11
   |
 1 | surface = "src"
   |           ^^^^^
   = hint: it is a folder: write "src/**" for all files below it
"#,
    );
}

#[test]
fn paths_stay_in_their_folder() {
    assert_refused(
        r#"
surface = ["../x.py", "/etc/passwd", "", "."]
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: surface `../x.py` leaves the folder of this file
  --> overnight.toml:1:12
   |
 1 | surface = ["../x.py", "/etc/passwd", "", "."]
   |            ^^^^^^^^^
   = hint: a surface file lies beside or below this one; move this one up instead

error: surface `/etc/passwd` is absolute
  --> overnight.toml:1:23
   |
 1 | surface = ["../x.py", "/etc/passwd", "", "."]
   |                       ^^^^^^^^^^^^^
   = hint: write it relative to the folder of this file

error: a surface path is empty
  --> overnight.toml:1:38
   |
 1 | surface = ["../x.py", "/etc/passwd", "", "."]
   |                                      ^^
   = hint: write `surface = "train.py"`

error: surface `.` is a folder
  --> overnight.toml:1:42
   |
 1 | surface = ["../x.py", "/etc/passwd", "", "."]
   |                                          ^^^
   = hint: write "**" for all files below it
"#,
    );
}

#[test]
fn a_pattern_that_matches_nothing_is_an_error() {
    assert_refused(
        r#"
surface = "lib/**/*.rs"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: surface `lib/**/*.rs` matches no file tracked by git
  --> overnight.toml:1:11
   |
 1 | surface = "lib/**/*.rs"
   |           ^^^^^^^^^^^^^
   = hint: `git ls-files` shows what is tracked
"#,
    );
}

#[test]
fn a_pattern_must_not_take_in_the_triplet() {
    assert_refused(
        r#"
surface = "*"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `overnight.toml` is both surface and locked
  --> overnight.toml:1:11
   |
 1 | surface = "*"
   |           ^^^
   = hint: narrow the pattern so that it leaves this file out
"#,
    );
}

#[test]
fn locked_and_reserved_files_are_no_surface() {
    assert_refused(
        r#"
surface = ["program.md", "overnight.toml", ".overnight/x", ".git/config"]
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `program.md` is both surface and locked
  --> overnight.toml:1:12
   |
 1 | surface = ["program.md", "overnight.toml", ".overnight/x", ".git/config"]
   |            ^^^^^^^^^^^^
   = hint: agents may not edit it: name another file

error: `overnight.toml` is both surface and locked
  --> overnight.toml:1:26
   |
 1 | surface = ["program.md", "overnight.toml", ".overnight/x", ".git/config"]
   |                          ^^^^^^^^^^^^^^^^
   = hint: agents may not edit it: name another file

error: `.overnight/x` is both surface and locked
  --> overnight.toml:1:44
   |
 1 | surface = ["program.md", "overnight.toml", ".overnight/x", ".git/config"]
   |                                            ^^^^^^^^^^^^^^
   = hint: agents may not edit it: name another file

error: `.git/config` is both surface and locked
  --> overnight.toml:1:60
   |
 1 | surface = ["program.md", "overnight.toml", ".overnight/x", ".git/config"]
   |                                                            ^^^^^^^^^^^^^
   = hint: agents may not edit it: name another file
"#,
    );
}

#[test]
fn a_file_named_twice_is_an_error() {
    assert_refused(
        r#"
surface = ["train.py", "src/a.py", "./train.py", "src/*.py"]
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `train.py` is in the surface twice
  --> overnight.toml:1:36
   |
 1 | surface = ["train.py", "src/a.py", "./train.py", "src/*.py"]
   |                                    ^^^^^^^^^^^^
   = hint: remove one of the two

error: `src/a.py` is in the surface twice
  --> overnight.toml:1:50
   |
 1 | surface = ["train.py", "src/a.py", "./train.py", "src/*.py"]
   |                                                  ^^^^^^^^^^
   = hint: remove one of the two
"#,
    );
}

#[test]
fn a_table_is_checked_like_the_rest() {
    assert_refused(
        r#"
surface = { file = "train.py", above = "x", max_lines_changed = 0 }
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `surface.path` is missing
  --> overnight.toml:1:1
   |
 1 | surface = { file = "train.py", above = "x", max_lines_changed = 0 }
   | ^^^^^^^
   = hint: add `path = "train.py"`

error: unknown key `file` in [surface]
  --> overnight.toml:1:13
   |
 1 | surface = { file = "train.py", above = "x", max_lines_changed = 0 }
   |             ^^^^
   = hint: known keys are path, above, below, max_lines_changed

error: `surface.max_lines_changed` must be at least 1
  --> overnight.toml:1:65
   |
 1 | surface = { file = "train.py", above = "x", max_lines_changed = 0 }
   |                                                                 ^
"#,
    );
}

#[test]
fn above_and_below_exclude_each_other() {
    assert_refused(
        r#"
surface = [{ path = "train.py", above = "x", below = "y" }, 3]
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `above` and `below` exclude each other
  --> overnight.toml:1:46
   |
 1 | surface = [{ path = "train.py", above = "x", below = "y" }, 3]
   |                                              ^^^^^
   = hint: keep the one that says where edits may be

error: `surface` must be a path, a list of paths or a table, found an integer
  --> overnight.toml:1:61
   |
 1 | surface = [{ path = "train.py", above = "x", below = "y" }, 3]
   |                                                             ^
   = hint: write `surface = "train.py"`
"#,
    );
}

#[test]
fn two_limits_on_lines_are_one_too_many() {
    assert_refused(
        r#"
surface = [{ path = "train.py", max_lines_changed = 4 }, { path = "src/a.py", max_lines_changed = 5 }]
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: `max_lines_changed` has two values
  --> overnight.toml:1:99
   |
 1 | surface = [{ path = "train.py", max_lines_changed = 4 }, { path = "src/a.py", max_lines_changed = 5 }]
   |                                                                                                   ^
   = hint: it counts for the whole surface: say it once
"#,
    );
}

#[test]
fn an_empty_list_names_no_file() {
    assert_refused(
        r#"
surface = []
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#,
        r#"
error: the surface names no file
  --> overnight.toml:1:11
   |
 1 | surface = []
   |           ^^
   = hint: write `surface = "train.py"`
"#,
    );
}
