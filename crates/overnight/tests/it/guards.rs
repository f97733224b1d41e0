//! Guards that fail by chance, and guards that broke by themselves.

use crate::support::Repo;

/// A study whose agent proposes what `ideas/<experiment>` says.
fn planned(plan: &[&str]) -> Repo {
    let agent = r#"n=$(sed -n 's/.*"experiment":\([0-9]*\),"metric".*/\1/p')
test -f ideas/$n && . ./ideas/$n; echo idea $n
"#;
    let repo = Repo::with_agent(agent);
    for (at, idea) in plan.iter().enumerate() {
        repo.write(&format!("ideas/{}", at + 1), idea);
    }
    repo.commit("a plan");
    repo
}

/// A guard that fails in its runs of these numbers, whatever it runs on.
fn fails_in(repo: &Repo, runs: &str) -> String {
    let count = repo.beside("count").display().to_string();
    let script = format!(
        "n=$(cat {count} 2>/dev/null || echo 0); n=$((n + 1)); echo $n > {count}\necho run $n of the tests\n\
         for bad in {runs}; do test $n != $bad || exit 1; done\n"
    );
    repo.write("tests.sh", &script);
    repo.triplet("[[guard]]\nrun = \"sh tests.sh\"").commit("tests");
    count
}

#[test]
fn a_test_that_fails_once_and_then_passes_is_named_and_refuses_nobody() {
    let repo = planned(&["echo 'x = 4' > knobs.py"]);
    fails_in(&repo, "2");
    repo.run(1).says("guard      `sh tests.sh` is flaky: failed 1 of 3 runs, then passed");
    assert_eq!(repo.verdicts()[0].0, "kept");
    repo.ok(&["status"]).says("guard      `sh tests.sh` is flaky: failed 1 of 3 runs, then passed");
    let status = repo.status();
    let expected = serde_json::json!([{ "command": "sh tests.sh", "failed": 1, "runs": 3 }]);
    assert_eq!(status["flaky_guards"], expected);
    let shown = repo.ok(&["show", "1"]).says("guard `sh tests.sh`: exit code 1");
    shown.says("guard `sh tests.sh`: passed, after it had failed: it is flaky");
    repo.assert_sound();
}

#[test]
fn a_candidate_that_fails_where_the_champion_passes_is_refused_with_its_own_output() {
    let repo = planned(&["echo 'x = 4' > knobs.py"]);
    fails_in(&repo, "2 3");
    repo.run(1);
    assert_eq!(repo.verdicts()[0], ("guard_failed".to_owned(), "guard `sh tests.sh`: exit code 1".to_owned()));
    let shown = repo.ok(&["show", "1"]).says("guard `sh tests.sh` on the champion: passed").says("run 3 of the tests");
    repo.ok(&["show", "1", "--output"]).says("run 4 of the tests");
    assert!(!shown.stdout.contains("run 4 of the tests"), "{shown}");
}

#[test]
fn a_guard_that_the_champion_fails_too_ends_the_run_and_the_idea_waits() {
    let repo = planned(&["echo 'x = 4' > knobs.py"]);
    let data = repo.beside("data");
    std::fs::write(&data, "").unwrap();
    repo.write("ideas/1", &format!("rm -f {}; echo 'x = 4' > knobs.py", data.display()));
    repo.triplet(&format!("[[guard]]\nrun = \"test -e {}\"", data.display())).commit("tests that need a file");
    let ran = repo.overnight(&["run", "--no-tui", "--experiments", "3"]);
    assert_eq!(ran.code, Some(4), "{ran}");
    ran.says("fails on the champion too (exit code 1): something broke around the study, and no idea is to blame");
    assert_eq!(repo.verdicts()[0].0, "null", "nothing is held against anybody");
    repo.ok(&[]).says("next       mend what the guard needs, then overnight run");
    std::fs::write(&data, "").unwrap();
    repo.run(1);
    assert_eq!(repo.verdicts()[0].0, "kept");
    repo.assert_sound();
}
