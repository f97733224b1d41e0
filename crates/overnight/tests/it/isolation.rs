//! What one trial does, the next cannot see; what it prints, the engine survives.

use std::fs;

use crate::support::{Repo, until};

#[test]
fn a_trial_finds_nothing_of_the_one_before() {
    let litter = r#"for place in . "$TMPDIR" "$OVERNIGHT_OUT"; do
test -e "$place/litter" && echo "left behind in $place" && exit 9
echo x > "$place/litter"; mkdir -p "$place/deep/er"; echo y > "$place/deep/er/z"; ln -s /etc/passwd "$place/link"
done
chmod 000 deep
echo loss: 4
"#;
    let repo = Repo::scored_by(litter);
    repo.run(3);
    repo.assert_sound();
    assert!(!repo.dir().join("litter").exists());
}

#[test]
fn locked_files_are_pristine_for_the_next_trial() {
    for vandal in [
        "echo 'echo loss: 0' > score.sh",
        "chmod 777 score.sh; touch -d '1 day' score.sh; rm -f overnight.toml",
        "rm -rf ./* ./.[a-z]*",
        "cd ..; rm -rf tree",
        "chmod -R 000 .",
        "mv data renamed; mkdir data; echo 1 > data/one; chmod 555 data",
    ] {
        let repo = Repo::scored_by(&format!(
            "test \"$(cat data/one)\" = one && test -f overnight.toml && test ! -x score.sh || exit 9\n{vandal}\necho loss: 4\n"
        ));
        repo.write("data/one", "one\n").commit("data");
        let ran = repo.run(2);
        let verdicts: Vec<_> = repo.verdicts().into_iter().map(|(verdict, _)| verdict).collect();
        assert_eq!(verdicts, ["discarded", "discarded"], "after `{vandal}`\n{ran}");
        assert_eq!(repo.read("data/one"), "one\n");
    }
}

#[test]
fn a_program_that_prints_very_much_is_neither_blocked_nor_kept_in_memory() {
    let flood = "echo the head\nhead -c 150000000 /dev/zero | tr '\\0' x &\nhead -c 50000000 /dev/zero | tr '\\0' y >&2 &\nwait\necho\necho the tail\necho loss: 4\n";
    let repo = Repo::new();
    let marker = repo.beside("done");
    let script = format!(
        "if grep -q 5 knobs.py; then echo loss: 4; exit; fi\n{flood}touch {}\nwhile test -e {}; do sleep 0.02; done\n",
        marker.display(),
        marker.display()
    );
    repo.write("score.sh", &script).commit("a flood");
    let engine = repo.start(&["run", "--no-tui", "--experiments", "1"]);
    until("the flood to be over", || marker.exists());
    let status = fs::read_to_string(format!("/proc/{}/status", engine.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 120_000, "the engine needed {peak} kB");
    fs::remove_file(marker).unwrap();
    engine.wait().ended(0);
    assert_eq!(repo.experiment(1)["metric"], 4.0);
    let shown = repo.ok(&["show", "1", "--output"]).stdout;
    assert!(shown.contains("the head") && shown.contains("bytes left out") && shown.contains("the tail"));
    assert!(shown.len() < 4_000_000, "{} bytes kept", shown.len());
    repo.ok(&["show", "1"]).says("200000027 bytes in all");
    repo.assert_sound();
}

#[test]
fn a_program_that_prints_for_ever_is_ended_and_told_so() {
    let repo = Repo::scored_by("grep -q 5 knobs.py || while :; do head -c 10000000 /dev/zero; done\necho loss: 4\n");
    repo.run(1);
    assert_eq!(repo.verdicts(), [("output_limit".to_owned(), "printed more than 256 MiB".to_owned())]);
    repo.assert_sound();
}

#[test]
fn a_background_child_that_holds_the_output_open_does_not_hold_up_the_verdict() {
    let repo = Repo::scored_by("sleep 1000 &\nsetsid sleep 1000 &\necho loss: 4\n");
    repo.run(2);
    repo.assert_sound();
}

#[test]
fn peak_memory_and_time_are_of_the_whole_tree() {
    let repo = Repo::scored_by("(head -c 80000000 /dev/zero | tail -n 1 | wc -c) > /dev/null; echo loss: 4\n");
    repo.run(0);
    let shown: crate::support::Json = serde_json::from_str(&repo.ok(&["show", "0", "--json"]).stdout).unwrap();
    let trial = &shown["measurements"][0];
    assert!(trial["peak_mb"].as_f64().unwrap() > 60.0, "{trial}");
    assert!(trial["cpu_s"].as_f64().unwrap() > 0.0 && trial["wall_s"].as_f64().unwrap() > 0.0, "{trial}");
}

/// What autoresearch's own instructions tell an agent to do. Found by a reviewer: the copy lies in the user's checkout,
/// so git walked up to the user's repository, moved its branch and threw uncommitted work away.
#[test]
fn git_inside_a_copy_does_not_find_the_users_repository() {
    let agent = "git checkout -b idea\ngit add -A\ngit commit -m idea\ngit reset --hard HEAD~1\ngit clean -fdx\n\
                 echo 'x = 4' > knobs.py\necho tried\n";
    let repo = Repo::with_agent(agent);
    repo.write("score.sh", &format!("git describe --dirty --always\ngit status\n{}", repo.read("score.sh")));
    repo.commit("an evaluation that asks git");
    repo.write("notes.txt", "not committed\n");
    let before = repo.fingerprint();
    repo.run(1);
    assert_eq!(repo.fingerprint(), before);
    assert_eq!(repo.git(&["branch", "--format=%(refname:short)"]), "main\novernight/main");
    repo.assert_sound();
}

/// Found by a reviewer: the end of one init ended the run, and the next run started the same candidate again.
#[test]
fn a_job_whose_init_is_killed_is_lost_and_the_night_goes_on() {
    let repo = Repo::new();
    let (started, go) = (repo.beside("started"), repo.beside("go"));
    let wait = format!(
        "grep -q 'x = 5' knobs.py || {{ echo $$ > {0}; while ! test -e {1}; do sleep 0.02; done; }}\n",
        started.display(),
        go.display()
    );
    repo.write("score.sh", &format!("{wait}{}", repo.read("score.sh"))).commit("slow");
    let engine = repo.start(&["run", "--no-tui", "--experiments", "1"]);
    until("the trial to be running", || started.exists());
    let keeper = engine.keeper().expect("the engine has a keeper");
    let init = crate::support::children(keeper);
    assert_eq!(init.len(), 1, "one trial, one init");
    fs::write(&go, "").unwrap();
    crate::support::signal(rustix::process::Signal::KILL, init[0]);
    engine.wait().ended(0);
    assert_eq!(repo.experiment(1)["verdict"], "discarded");
    repo.ok(&["show", "1"]);
    repo.assert_sound();
}
