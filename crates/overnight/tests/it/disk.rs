//! A full disk stops the loop with a clear error, blames no candidate, and is forgotten once there is room.

use std::fs;
use std::path::Path;
use std::process::Command;

use overnight_testkit::provider::{Idea, Provider, Script};

use crate::support::{Json, Repo, until};

/// A small file system of its own; taken down when dropped.
struct SmallDisk {
    dir: tempfile::TempDir,
}

impl SmallDisk {
    /// `None` where the test has nothing to do here: it ran in namespaces of its own, or this user may have none.
    fn mount(test: &str) -> Option<SmallDisk> {
        let dir = tempfile::Builder::new().prefix("overnight-disk-").tempdir().unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64m", "none"]).arg(dir.path()).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(SmallDisk { dir });
        }
        let is_possible = Command::new("unshare").args(["-Urm", "true"]).output().is_ok_and(|o| o.status.success());
        if is_possible && std::env::var_os("IN_NAMESPACES").is_none() {
            let program = std::env::current_exe().unwrap();
            let mut again = Command::new("unshare");
            again.arg("-Urm").arg(program).args(["--exact", test, "--nocapture"]).env("IN_NAMESPACES", "1");
            assert!(again.status().unwrap().success());
        } else {
            eprintln!("skipped: this user may not mount a file system");
        }
        None
    }

    /// Takes all the room there is, to the last byte.
    fn fill(&self) {
        let mut file = fs::File::create(self.dir.path().join("filler")).unwrap();
        let block = [0; 65536];
        while std::io::Write::write_all(&mut file, &block).is_ok() {}
        while std::io::Write::write_all(&mut file, &block[..1]).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.dir.path().join("filler")).unwrap();
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.dir.path()).status();
    }
}

#[test]
fn a_disk_that_fills_up_during_a_run() {
    let Some(disk) = SmallDisk::mount("disk::a_disk_that_fills_up_during_a_run") else { return };
    let repo = Repo::at(disk.path().canonicalize().unwrap(), None);
    let study = Repo::new();
    for file in ["overnight.toml", "score.sh"] {
        repo.write(file, &study.read(file));
    }
    repo.write("knobs.py", "a = 0.5\nx = 5\nb = 0.25\nc = 0.125\n").commit("base");
    let untouched = repo.fingerprint();
    for _ in 0..3 {
        let before = repo.events("judged");
        let engine = repo.start(&["run", "--no-tui"]);
        until("a few verdicts", || repo.events("judged") > before + 2);
        disk.fill();
        let ran =
            engine.wait().ended(1).says("no room left on the disk").says("make room and run `overnight run` again");
        assert!(!ran.stderr.contains("crashed"), "{ran}");
        // A look needs room only where the run could not put its ledger in order at the end.
        let look = repo.overnight(&["status"]);
        assert!(look.code == Some(0) || look.stderr.contains("no room left on the disk"), "{look}");
        repo.overnight(&["run", "--no-tui"]).ended(1).says("no room left on the disk");
        disk.make_room();
        repo.run(1);
        repo.assert_sound();
    }
    let blamed: Vec<_> =
        repo.verdicts().into_iter().filter(|(verdict, _)| !matches!(verdict.as_str(), "kept" | "discarded")).collect();
    assert_eq!(blamed, [], "candidates were blamed for the disk");
    assert_eq!(repo.fingerprint(), untouched);
}

#[test]
fn a_baseline_that_cannot_be_measured_ends_the_run_and_is_measured_again() {
    let Some(disk) = SmallDisk::mount("disk::a_baseline_that_cannot_be_measured_ends_the_run_and_is_measured_again")
    else {
        return;
    };
    // A layer in memory never fills a disk.
    let repo = Repo::at(disk.path().canonicalize().unwrap(), None).without_sandbox();
    repo.write("overnight.toml", &Repo::new().read("overnight.toml")).write("knobs.py", "x = 5\n");
    repo.write("score.sh", "head -c 100000000 /dev/zero > big\necho loss: 4\n").commit("base");
    insta::assert_snapshot!(repo.overnight(&["run", "--no-tui"]).ended(2), @"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent tuner · 1 slot
    sandbox none: candidates run as you; only their time, processes and working copy are kept in check
        #  verdict                loss         gain  what (why)

    baseline   loss not measured yet  ([SHORT])
    noise      unknown so far
    trials     1 for 0 experiments: 1 calibrate
    so far     0 experiments
    trust: cooperative · sandbox none · no repeats yet · no holdout
    stopped: the baseline failed (disk_limit): filled the disk
    next       overnight show baseline
    --- exit code 2
    ");
    repo.write("score.sh", "echo loss: 4\n").commit("mended");
    repo.run(1);
    repo.assert_sound();
}

#[test]
fn a_trial_that_fills_the_disk_is_told_so_and_the_night_goes_on() {
    let Some(disk) = SmallDisk::mount("disk::a_trial_that_fills_the_disk_is_told_so_and_the_night_goes_on") else {
        return;
    };
    // A layer in memory never fills a disk.
    let repo = Repo::at(disk.path().canonicalize().unwrap(), None).without_sandbox();
    let study = Repo::new();
    repo.write("overnight.toml", &study.read("overnight.toml")).write("knobs.py", "x = 5\n");
    repo.write("score.sh", "grep -q 5 knobs.py || head -c 100000000 /dev/zero > big || exit 1\necho loss: 4\n");
    repo.commit("base");
    insta::assert_snapshot!(repo.overnight(&["run", "--no-tui", "--experiments", "2"]).ended(0), @"
    --- to people
    overnight · study main · loss (lower is better) · budget 10s · agent tuner · 1 slot
    sandbox none: candidates run as you; only their time, processes and working copy are kept in check
        #  verdict                loss         gain  what (why)
        0  baseline                  4            -  baseline
        1  disk_limit                -            -  x 5 → 8: not moved before (filled the disk)
        2  disk_limit                -            -  x 5 → 3: the other way failed (filled the disk)

    baseline   loss 4  ([SHORT])
    champion   loss 4  ([SHORT], the baseline, nothing better yet)
    noise      none seen in 3 repeats
    trials     5 for 2 experiments: 3 calibrate, 2 screen
    so far     2 experiments: 2 broken
    trust: cooperative · sandbox none · 3 seeds, all the same · no holdout
    done
    next       overnight report · overnight show champion · git log overnight/main
    --- exit code 0
    ");
    repo.assert_sound();
}

#[test]
fn artifacts_that_fit_on_the_disk_once_and_not_twice_are_too_much() {
    let Some(disk) = SmallDisk::mount("disk::artifacts_that_fit_on_the_disk_once_and_not_twice_are_too_much") else {
        return;
    };
    // A layer in memory never fills a disk.
    let repo = Repo::at(disk.path().canonicalize().unwrap(), None).without_sandbox();
    let triplet = Repo::new().read("overnight.toml").replace("budget", "score = \"sh judge.sh\"\nbudget");
    repo.write("overnight.toml", &triplet).write("knobs.py", "x = 5\n");
    repo.write("judge.sh", "echo \"loss: $(cat $OVERNIGHT_ARTIFACTS/x)\"\n");
    repo.write(
        "score.sh",
        "echo 4 > $OVERNIGHT_OUT/x; grep -q 5 knobs.py || head -c 36000000 /dev/zero > $OVERNIGHT_OUT/y\n",
    );
    repo.commit("base");
    repo.run(2);
    let disk_limit = ("disk_limit".to_owned(), "filled the disk".to_owned());
    assert_eq!(repo.verdicts(), [disk_limit.clone(), disk_limit]);
    repo.assert_sound();
}

/// Asks one question after another, and ends when one is refused.
const ASKS: &str = r#"
import json, os, sys, urllib.request
sys.stdin.read()
for number in range(40):
    body = json.dumps({"model": "fake-model", "messages": [{"role": "user", "content": "question %d" % number}]}).encode()
    headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    urllib.request.urlopen(urllib.request.Request(url, body, headers)).read()
open("knobs.py", "w").write("x = 4\n")
print("after some thought")
"#;

#[test]
fn calls_on_a_disk_that_fills_up_are_refused_or_counted_and_none_is_forgotten() {
    let test = "disk::calls_on_a_disk_that_fills_up_are_refused_or_counted_and_none_is_forgotten";
    let Some(disk) = SmallDisk::mount(test) else { return };
    let provider = Provider::start(Script::new(".", [Idea::Say("less".into())]));
    let repo = Repo::at(disk.path().canonicalize().unwrap(), None);
    let study = Repo::new();
    for file in ["overnight.toml", "score.sh", "knobs.py"] {
        repo.write(file, &study.read(file));
    }
    repo.write("agent.py", ASKS);
    repo.triplet("[agent]\nuse = \"command\"\ncommand = \"python3 agent.py\"\nnetwork = \"models\"\n").commit("base");
    let url = format!("{}/v1", provider.url());
    let environment = || {
        let key = "made-up-key-that-opens-nothing".to_owned();
        vec![("OPENAI_API_KEY".to_owned(), key), ("OPENAI_BASE_URL".to_owned(), url.clone())]
    };
    provider.hold();
    let engine = repo.start_with(&["run", "--no-tui"], environment());
    until("an answer to be half there", || provider.held() == 1);
    disk.fill();
    provider.let_go();
    engine.wait().ended(1).says("no room left on the disk");
    disk.make_room();
    let args = ["run", "--no-tui", "--experiments", "1"];
    let ran = crate::support::Ran::of(repo.command(&args).envs(environment()).output().unwrap()).ended(0);
    let calls: Vec<Json> = repo.bodies("called").iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    let ids: std::collections::BTreeSet<u64> = calls.iter().map(|call| call["call"]["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), calls.len(), "none is counted twice: {ran}");
    let went_out = calls.iter().filter(|call| call["outcome"]["end"] != "limited").count();
    let asked = provider.questions().len();
    assert!(asked > 40 && went_out >= asked, "{went_out} of {asked} calls are counted: {ran}");
    repo.assert_sound();
}
