//! `overnight forget N --contents`: what an experiment left is gone, and everything that was decided still holds.

use std::process::Command;

use serde_json::json;

use crate::support::{Json, Ran, Repo};

/// Made up, and in everything that the second proposal leaves: its surface, what it prints, and what its agent says.
const SECRET: &str = "sk-of-nobody-0123456789";

/// A study of four: kept, and worse with the secret in it; the same once more; and kept again.
fn leaked() -> Repo {
    leaked_in(Repo::empty())
}

fn leaked_in(repo: Repo) -> Repo {
    // In two halves: the whole of it is in no file of the project.
    let (begins, ends) = SECRET.split_at(6);
    let agent = format!(
        "s={begins}; s=${{s}}{ends}\n\
         n=$(python3 -c 'import json, sys; print(json.load(sys.stdin)[\"experiment\"])')\n\
         case $n in\n\
         1) echo 'x = 4' > knobs.py ;;\n\
         2|3) printf \"x = 9\\n# $s\\n\" > knobs.py; echo \"$s\" ;;\n\
         4) echo 'x = 3' > knobs.py ;;\n\
         *) echo \"x = 1$n\" > knobs.py ;;\n\
         esac\necho a try > \"$OVERNIGHT_NOTE\"\n"
    );
    let score = "sed -n 's/^# //p' knobs.py\nx=$(( $(sed -n 's/^x = //p' knobs.py) - 3 ))\necho \"loss: ${x#-}\"\n";
    let triplet = "surface = \"knobs.py\"\nmetric = { name = \"loss\", goal = \"min\" }\n[evaluate]\nrun = \"sh score.sh\"\n\
                   budget = \"20s\"\n[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"\nahead = 0\n";
    repo.write("agent.sh", &agent).write("score.sh", score).write("knobs.py", "x = 5\n");
    repo.write("overnight.toml", triplet).commit("base");
    // The one that comes twice does not count.
    repo.run(3);
    repo
}

fn verify(repo: &Repo) -> Json {
    serde_json::from_str(&repo.ok(&["verify", "--json"]).stdout).unwrap()
}

#[test]
fn contents_that_are_forgotten_are_nowhere_and_the_study_goes_on() {
    for repo in Repo::everybodys().into_iter().chain([Repo::empty().without_sandbox()]) {
        let repo = leaked_in(repo);
        repo.ok(&["show", "2", "--output"]).says(SECRET);
        let verdicts: Vec<String> = repo.verdicts().into_iter().map(|(verdict, _)| verdict).collect();
        assert_eq!(verdicts, ["kept", "discarded", "duplicate", "kept"], "{}", repo.whose());
        repo.ok(&["log", "--search", "nobody"]).says("a try");
        // The third has the same surface: it stays for that one, and is said to.
        repo.ok(&["forget", "2", "--contents", "--yes"]).says("overnight forget 3 --contents");
        repo.ok(&["forget", "2", "3", "--contents", "--yes"]).says("its verdict and its one line stay");
        repo.assert_nowhere(SECRET);
        repo.ok(&["forget", "2", "3", "--contents", "--yes"]).says("there is nothing to forget");
        repo.assert_sound();
        let sound = verify(&repo);
        assert_eq!(sound["forgotten"].as_array().unwrap().last().unwrap()["experiments"], json!([2, 3]), "{sound}");
        repo.ok(&["verify"]).says("forgotten on request: traces and contents of experiments 2, 3");
        let shown = repo.ok(&["show", "2"]).stdout;
        assert!(
            shown.contains("contents    forgotten on request") && shown.contains("(forgotten on request)"),
            "{shown}"
        );
        let shown: Json = serde_json::from_str(&repo.ok(&["show", "2", "--json"]).stdout).unwrap();
        assert_eq!(
            (&shown["forgotten"], &shown["diff"], &shown["verdict"]),
            (&json!(true), &Json::Null, &json!("discarded"))
        );
        repo.overnight(&["log", "--search", "nobody"]).says("nothing that was tried has all of these words");
        repo.ok(&["check", "--brief"]).says("forgotten on request");
        repo.ok(&["report"]);
        // It goes on, and knows what was tried although it is gone.
        repo.run(1);
        assert_eq!(repo.experiment(5)["verdict"], "discarded");
        let again = repo.outside("again.py");
        std::fs::write(&again, format!("x = 9\n# {SECRET}\n")).unwrap();
        let tried = repo.overnight(&["try", "--file", again.to_str().unwrap(), "-m", "again", "--json"]);
        assert!(tried.stdout.contains("\"duplicate\""), "{tried}");
        repo.assert_sound();
    }
}

#[test]
fn what_something_stands_on_is_not_forgotten() {
    let repo = leaked();
    repo.overnight(&["forget", "4", "--contents", "--yes"]).ended(3).says("it was kept, and the champion stands on it");
    repo.overnight(&["forget", "1", "2", "--contents", "--yes"]).ended(3).says("the contents of experiment 1 cannot");
    repo.overnight(&["forget", "0", "--contents", "--yes"]).ended(3).says("it is the baseline");
    repo.overnight(&["forget", "9", "--contents", "--yes"]).ended(2).says("there is no experiment 9");
    repo.overnight(&["forget", "--contents", "--yes"]).ended(2);
    repo.overnight(&["forget", "2", "--contents"]).ended(3).says("would be erased for good, and nobody is here");
    assert!(!repo.ok(&["verify"]).stdout.contains("forgotten"), "nothing was");
    repo.ok(&["show", "2"]).says(SECRET);
}

/// Killed at every system call that changes a file, one after the other, until it comes to its end.
#[test]
fn whatever_it_is_killed_in_the_study_is_sound_and_the_same_wish_does_the_rest() {
    let repo = leaked();
    let calls = "fsync,fdatasync,unlink,unlinkat,rename,renameat,renameat2,ftruncate,pwrite64";
    let mut kills = 0;
    loop {
        let forget = repo.command(&["forget", "2", "3", "--contents", "--yes"]);
        let mut traced = Command::new("strace");
        traced.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={calls}")]);
        traced.args(["-e", &format!("inject={calls}:signal=SIGKILL:when={}", kills + 1)]);
        traced
            .arg(forget.get_program())
            .args(forget.get_args())
            .envs(forget.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(dir) = forget.get_current_dir() {
            traced.current_dir(dir);
        }
        let ran = Ran::of(traced.output().expect("strace has to be installed"));
        if ran.code == Some(0) {
            break;
        }
        assert!(ran.code.is_none_or(|code| code == 137), "it was not killed: {ran}");
        kills += 1;
        repo.ok(&["verify"]);
        assert!(kills < 500, "{ran}");
    }
    assert!(kills > 10, "it was killed {kills} times only");
    repo.ok(&["forget", "2", "3", "--contents", "--yes"]);
    repo.assert_nowhere(SECRET);
    repo.assert_sound();
    repo.run(1);
    repo.assert_sound();
}
