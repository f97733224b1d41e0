//! What a person is told when a command misses something that they have.

use crate::support::Repo;

/// A study whose evaluation fails, and what the person is told on the screen and in the output.
#[track_caller]
fn told(repo: &Repo, score: &str) -> Option<String> {
    repo.write(".gitignore", "data\n.venv\nnode_modules\n").write("score.sh", score).commit("a failing evaluation");
    let ran = repo.overnight(&["run", "--no-tui", "--experiments", "0"]);
    let note = ran.stderr.lines().find_map(|line| line.strip_prefix("note: ")).map(ToOwned::to_owned);
    let ran = ran.ended(2).says("the baseline failed");
    let shown = repo.ok(&["show", "baseline"]).stdout;
    let kept = shown.lines().find_map(|line| line.trim_start().strip_prefix("overnight: ")).map(ToOwned::to_owned);
    assert_eq!(note, kept, "{ran}\n{shown}");
    note
}

const ADD: &str = "is in the checkout, but neither tracked nor an input: add";

#[test]
fn a_file_that_is_neither_tracked_nor_an_input_is_named_with_the_line_to_add() {
    let repo = Repo::new();
    repo.write("data/deep/train.bin", "1\n");
    let note = told(&repo, "cat data/deep/train.bin\n").unwrap();
    assert_eq!(note, format!("`data/deep/train.bin` {ADD} `inputs = [\"data\"]` to [evaluate]"));
}

#[test]
fn the_line_to_add_holds_the_inputs_that_are_there() {
    let repo = Repo::new();
    repo.write("data/train.bin", "1\n").write("node_modules/x", "");
    repo.triplet("inputs = [\"node_modules\"]");
    let note = told(&repo, "python3 -c 'open(\"data/train.bin\")'\n").unwrap();
    assert_eq!(note, format!("`data/train.bin` {ADD} `inputs = [\"node_modules\", \"data\"]` to [evaluate]"));
}

#[test]
fn a_missing_package_leads_to_the_folder_of_packages() {
    for (file, score, folder) in [
        (".venv/pyvenv.cfg", "python3 -c 'import no_such_package'\n", ".venv"),
        ("node_modules/thing/index.js", "node -e 'require(\"thing\")'\n", "node_modules"),
    ] {
        let repo = Repo::new();
        repo.write(file, "");
        assert_eq!(told(&repo, score).unwrap(), format!("`{folder}` {ADD} `inputs = [\"{folder}\"]` to [evaluate]"));
    }
}

#[test]
fn a_module_that_a_build_left_in_a_tracked_package_is_named_as_a_file() {
    for (file, import, tracked) in [
        ("kit/_version.py", "from kit._version import version", "kit/__init__.py"),
        ("src/kit/_parser/__init__.py", "import sys; sys.path[0] = \"src\"; import kit._parser", "src/kit/__init__.py"),
        ("kit/_fast.cpython-312-x86_64-linux-gnu.so", "import kit._fast", "kit/__init__.py"),
        ("kit/_version.py", "from kit import _version", "kit/__init__.py"),
    ] {
        let repo = Repo::new();
        repo.write(tracked, "").commit("a package");
        repo.write(file, "version = 1\n").write(".git/info/exclude", "_*\n");
        let note =
            told(&repo, &format!("python3 -c '{import}'\n")).unwrap_or_else(|| panic!("{import}: nothing is told"));
        let input = file.trim_end_matches("/__init__.py");
        assert_eq!(note, format!("`{file}` {ADD} `inputs = [\"{input}\"]` to [evaluate]"));
        repo.triplet(&format!("inputs = [\"{input}\"]"));
        assert_eq!(told(&repo, "PYTHONPATH=src python3 -c 'import kit.nothing'\n"), None);
    }
}

#[test]
fn a_package_that_lies_where_python_does_not_look_leads_to_its_path() {
    let repo = Repo::new();
    repo.write("src/kit/__init__.py", "").commit("a package");
    let note = told(&repo, "python3 -c 'import kit'\n").unwrap();
    assert_eq!(
        note,
        "`src` has `kit`, but Python does not look there: add `env = { PYTHONPATH = \"src\" }` to [evaluate]"
    );
}

#[test]
fn a_file_that_node_asks_for_is_looked_up_from_the_one_that_asked() {
    for tier in ["standard", "landlock", "none"] {
        let repo = Repo::new();
        repo.write("lib/index.js", "require('./parser')\n")
            .write("other.mjs", "import './lib/made.mjs'\n")
            .commit("js");
        repo.write("lib/parser.js", "").write("lib/made.mjs", "").write(".git/info/exclude", "parser.js\nmade.mjs\n");
        for (command, file) in [("node lib/index.js", "lib/parser.js"), ("node other.mjs", "lib/made.mjs")] {
            repo.write("score.sh", &format!("{command}\n")).commit("asks for it");
            let ran = repo.overnight(&["run", "--no-tui", "--experiments", "0", "--sandbox", tier]).ended(2);
            ran.says(&format!("note: `{file}` {ADD} `inputs = [\"{file}\"]` to [evaluate]"));
            repo.shell("rm -rf .overnight; git update-ref -d refs/heads/overnight/main");
        }
    }
}

#[test]
fn a_package_of_an_environment_that_another_python_asked_for_leads_to_both_halves() {
    let repo = Repo::new();
    repo.write(".venv/pyvenv.cfg", "").write(".venv/lib/python3.12/site-packages/no_such_package/__init__.py", "");
    let note = told(&repo, "python3 -m no_such_package\n").unwrap();
    assert_eq!(
        note,
        "`.venv` has `no_such_package`, but another Python ran: begin the command with `.venv/bin/python`, and add \
         `inputs = [\".venv\"]` to [evaluate]"
    );
}

#[test]
fn a_missing_program_leads_to_its_folder() {
    let repo = Repo::new();
    repo.program("node_modules/.bin/tool", "#!/bin/sh\n");
    assert_eq!(
        told(&repo, "tool\n").unwrap(),
        format!("`node_modules` {ADD} `inputs = [\"node_modules\"]` to [evaluate]")
    );
    let repo = Repo::new();
    repo.program("../tools/bin/tool", "#!/bin/sh\n").write("../tools/lib/x", "");
    let (tools, tool) = (repo.outside("tools"), repo.outside("tools/bin/tool"));
    assert_eq!(
        told(&repo, &format!("{}\n", tool.display())).unwrap(),
        format!(
            "`{}` is on this machine, but not an input: add `inputs = [\"{}\"]` to [evaluate]",
            tool.display(),
            tools.display()
        )
    );
}

#[test]
fn a_missing_network_leads_to_the_keys_that_give_one() {
    let repo = Repo::new();
    let note = told(&repo, "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80))'\n").unwrap();
    assert!(note.contains("prepare = {") && note.contains("add `network = \"full\"` to [evaluate]"), "{note}");
}

#[test]
fn nothing_is_said_of_what_is_tracked_or_secret_or_nowhere() {
    let repo = Repo::new();
    repo.write("../home/.ssh/id", "").write("../home/.config/x", "").write("../home/.env", "");
    let score = "cat nothing knobs.py nowhere/x ~/.ssh/id ~/.config/x ~/.env .git/config .overnight/main ~ /; exit 3\n";
    assert_eq!(told(&repo, score), None);
}

#[test]
fn a_candidate_that_fails_is_told_about_too() {
    let repo = Repo::new();
    repo.write("data/train.bin", "1\n").write(".gitignore", "data\n");
    repo.write("score.sh", "grep -q 'x = 5' knobs.py || cat data/train.bin || exit\necho loss: 4\n")
        .commit("fails later");
    repo.run(1);
    repo.ok(&["show", "1"]).says(&format!("overnight: `data/train.bin` {ADD} `inputs = [\"data\"]` to [evaluate]"));
}

#[test]
fn an_input_of_another_user_is_told_to_root_who_sees_no_reason() {
    let repo = Repo::new();
    repo.write("data/train.bin", "1\n").triplet("inputs = [\"data\"]");
    let score = "echo 2 > data/train.bin || exit\n";
    if rustix::process::getuid().is_root() {
        std::os::unix::fs::chown(repo.dir().join("data/train.bin"), Some(4242), None).unwrap();
        let note = told(&repo, score).unwrap();
        assert!(note.contains("belongs to the user 4242") && note.contains("run overnight as that user"), "{note}");
    } else {
        repo.shell("chmod -w data/train.bin");
        assert_eq!(told(&repo, score), None);
    }
}

#[test]
fn a_person_who_tries_on_a_baseline_that_fails_is_told_as_much_as_by_a_run() {
    let repo = Repo::scored_by("cat data/train.bin\n");
    repo.write("data/train.bin", "1\n").write(".gitignore", "data\n").commit("ignored");
    repo.write("knobs.py", "x = 6\n");
    let ran = repo.overnight(&["try", "--from-worktree", "-m", "an idea"]).ended(2);
    ran.says("stopped: the baseline failed")
        .says(&format!("note: `data/train.bin` {ADD}"))
        .says("overnight show baseline");
}
