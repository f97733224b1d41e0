//! Repositories that were made to mislead.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::fixtures;

#[test]
fn names_cannot_command_the_shell_the_terminal_or_the_triplet() {
    let print = "print(f\"loss: {1}\")\n";
    for name in [
        "a$(touch x).py",
        "esc\u{1b}[31m.py",
        "turn\u{202e}yp.py",
        "it's \"a\" \\ name.py",
        "tab\tname.py",
        "new\nline.py",
        "-c.py",
        "*.py",
        "`touch x`.py",
    ] {
        let repo = fixtures::repo(&[(name, print)]);
        let ran = repo.overnight(&["init", "--yes"]);
        assert!(!ran.stderr.contains(['\u{1b}', '\u{202e}']) && !repo.dir().join("x").exists(), "{ran}");
        if ran.code == Some(0) {
            repo.overnight(&["run", "--no-tui", "--experiments", "1"]).says("baseline   loss 1");
            assert!(!repo.dir().join("x").exists(), "{ran}");
        } else {
            // Such a name is a flag, a pattern or more than one line: not proposed.
            ran.ended(2).says("looks like a benchmark");
        }
    }
}

#[test]
fn what_a_package_says_stays_on_its_line_and_commands_no_terminal() {
    let package =
        r#"{"scripts": {"bench": "node b.js\nwrote       all is well\r\u001b[2J\u202e", "test": "tap\nnext  x"}}"#;
    let repo = fixtures::repo(&[("package.json", package), ("b.js", "console.log(`time_ms: ${1}`)\n")]);
    let ran = repo.ok(&["init", "--yes"]);
    assert!(ran.stderr.contains("package.json says `node b.js wrote       all is well"), "{ran}");
    assert!(!ran.stderr.contains(['\u{1b}', '\u{202e}', '\r']), "{ran}");
    let ours = |line: &str| !line.starts_with("wrote       all") && !line.starts_with("next  x");
    assert!(ran.stderr.lines().all(ours), "{ran}");
}

#[test]
fn a_link_in_the_place_of_a_folder_is_neither_written_nor_read_through() {
    let repo = fixtures::repo(&[("bench/bench.py", "print(f'time_ms: {1}')\n"), ("a.txt", "")]);
    let elsewhere = repo.outside("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, repo.dir().join("overnight")).unwrap();
    let arguments =
        ["init", "--yes", "--study", "s2", "--surface", "a.txt", "--run", "x", "--metric", "y", "--goal", "min"];
    repo.overnight(&arguments).ended(3).says("a link leads out of it");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0, "nothing was written there");
    // Within the checkout a link is one's own affair.
    std::fs::remove_file(repo.dir().join("overnight")).unwrap();
    std::fs::create_dir(repo.dir().join("studies")).unwrap();
    symlink("studies", repo.dir().join("overnight")).unwrap();
    repo.ok(&arguments);
    assert!(repo.dir().join("studies/s2.toml").exists());
    // A folder that was tracked, and is a link now.
    std::fs::rename(repo.dir().join("bench"), elsewhere.join("bench")).unwrap();
    symlink(elsewhere.join("bench"), repo.dir().join("bench")).unwrap();
    repo.overnight(&["init", "--yes", "--study", "s3"]).ended(2).says("looks like a benchmark");
    std::fs::remove_file(repo.dir().join("bench")).unwrap();
    std::fs::rename(elsewhere.join("bench"), repo.dir().join("bench")).unwrap();
    assert!(repo.overnight(&["init", "--study", "s3"]).stderr.contains("the script bench/bench.py"));
}

#[test]
fn files_that_are_binary_huge_no_files_or_not_text_are_passed_over() {
    let repo = fixtures::script();
    let dir = repo.dir();
    std::fs::write(dir.join("bench.py"), b"print('speed: 1')\0\xff\xfe").unwrap();
    std::fs::write(dir.join(OsStr::from_bytes(b"eval\xff.py")), "print('speed: 1')\n").unwrap();
    repo.write("package.json", r#"{"scripts": {"bench": "node x.js"}}"#).write("eval.py", "print(f'loss: {1}')\n");
    symlink("/etc/passwd", dir.join("score.py")).unwrap();
    repo.commit("odd files");
    // Sparse, and larger than memory.
    std::fs::File::create(dir.join("package.json")).unwrap().set_len(1 << 42).unwrap();
    // A tracked file that became a pipe would keep a reader waiting for ever.
    repo.shell("rm eval.py && mkfifo eval.py");
    repo.overnight(&["init"]).ended(2).says("run = \"python3 evaluate.py\"");
}

#[test]
fn what_is_secret_is_no_input_whoever_names_it() {
    let repo = fixtures::repo(&[
        (".gitignore", ".env\nkeys\ndata\n"),
        (
            "score.py",
            "import work\nopen('.env'), open('keys/.netrc'), open('data/x'), open('~/.ssh/id')\nprint(f'loss: {work.X}')\n",
        ),
        ("work.py", "X = 1\n"),
    ]);
    repo.write(".env", "").write("keys/.netrc", "").write("data/x", "");
    repo.shell("mkdir -p ~/.ssh && touch ~/.ssh/id");
    repo.ok(&["init", "--yes"]);
    assert!(repo.read("overnight.toml").contains("\ninputs = [\"data\"]\n"), "{}", repo.read("overnight.toml"));
}

#[test]
fn files_of_other_tools_that_make_no_sense_are_no_proposal() {
    for (path, text) in [
        ("package.json", "{\"scripts\": {\"bench\": 3}}"),
        ("package.json", "{{{{"),
        ("Cargo.toml", "[package"),
        (".auto/log.jsonl", "{\"type\":\"config\",\"metricName\":\"a b\"}\n[]\nnull\n"),
        ("Makefile", "bench\n\tx\n:=\nbench := 3\n"),
        ("benches/x.rs", "criterion_main!(\n"),
        ("test_bench.py", "def test("),
    ] {
        let repo = fixtures::repo(&[(path, text)]);
        repo.overnight(&["init", "--yes"]).ended(2).says("looks like a benchmark");
    }
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_written_through() {
    let repo = fixtures::script();
    symlink("../elsewhere.toml", repo.dir().join("overnight.toml")).unwrap();
    symlink("../elsewhere.md", repo.dir().join("program.md")).unwrap();
    repo.overnight(&["init", "--yes"]).ended(3).says("overnight.toml is there already");
    std::fs::remove_file(repo.dir().join("overnight.toml")).unwrap();
    repo.ok(&["init", "--yes"]).says("left        program.md as it is");
    assert!(!repo.outside("elsewhere.toml").exists() && !repo.outside("elsewhere.md").exists());
}
