//! What trials start from: a prepared layer, warm caches, inputs that are watched; and tiers by name.

use std::fs;

use crate::support::Repo;

/// A study that is built with make: an object of the locked part, and one that depends on the surface.
fn built(evaluate: &str) -> Repo {
    let repo = Repo::empty();
    let triplet = format!(
        "surface = \"size.h\"\nmetric = {{ name = \"loss\", goal = \"min\" }}\n\
         [evaluate]\nrun = \"make -s && ./size\"\nbudget = \"20s\"\n{evaluate}"
    );
    repo.write("overnight.toml", &triplet).write("size.h", "#define SIZE 5\n");
    repo.write("slow.c", "int slow(void) { return 0; }\n");
    repo.write(
        "size.c",
        "#include <stdio.h>\n#include \"size.h\"\nint slow(void);\nint main(void) { printf(\"loss: %d\\n\", SIZE + slow()); }\n",
    );
    repo.write(
        "Makefile",
        "size: size.o slow.o\n\tcc -o size size.o slow.o\nsize.o: size.c size.h\n\tcc -c size.c\n\
         slow.o: slow.c\n\techo compiled-slow\n\tcc -c slow.c\n",
    );
    repo.commit("base");
    repo
}

/// Another surface of the same length.
fn try_size(repo: &Repo, size: u32) -> serde_json::Value {
    let file = repo.outside("size.h");
    fs::write(&file, format!("#define SIZE {size}\n")).unwrap();
    let ran = repo.ok(&["try", "--file", file.to_str().unwrap(), "-m", "another size", "--json"]);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn what_prepare_leaves_is_there_for_every_trial_and_never_the_old_candidate() {
    let repo = built("prepare = \"make && echo once > ~/.prepared && date +%N > stamp\"\n");
    repo.run(0).says("prepare: make");
    for size in [4, 3] {
        let tried = try_size(&repo, size);
        assert_eq!((tried["verdict"].as_str(), tried["metric"].as_f64()), (Some("kept"), Some(f64::from(size))));
    }
    let output = repo.ok(&["show", "champion", "--output"]).stdout;
    assert!(!output.contains("compiled-slow"), "the locked part was compiled once, by prepare:\n{output}");
    assert!(!output.contains("in the future"), "{output}");
    assert!(!repo.dir().join("stamp").exists() && !repo.dir().join("slow.o").exists(), "the checkout is untouched");
    repo.assert_sound();
}

#[test]
fn prepare_runs_once_per_study_and_again_when_its_command_is_another() {
    let repo = built("prepare = \"date +%s%N > stamp\"\n");
    repo.write("Makefile", &format!("{}\nall: size\n", repo.read("Makefile"))).commit("as it was");
    repo.run(0).says("prepare: date");
    let ran = repo.run(0);
    assert!(!ran.stderr.contains("prepare:"), "it is frozen, and used again\n{ran}");
    let triplet = repo.read("overnight.toml");
    repo.write("overnight.toml", &triplet.replace("date +%s%N", "date +%N"));
    repo.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(3).says("evaluate.prepare changed");
}

#[test]
fn a_trial_changes_nothing_of_the_prepared_layer() {
    let repo = built("prepare = \"mkdir -p cache && echo 7 > cache/x\"\n");
    let script = "cc -c size.c && test $(cat cache/x) = 7 && rm -r cache && mkdir cache && echo 8 > cache/x && make -s && ./size";
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("make -s && ./size", script));
    repo.commit("a vandal");
    repo.run(0);
    assert_eq!(try_size(&repo, 4)["verdict"], "kept");
    repo.assert_sound();
}

#[test]
fn a_prepare_that_fails_is_told_with_its_words_before_anything_is_measured() {
    let repo = built("prepare = \"echo looking for data; exit 7\"\n");
    let ran = repo.overnight(&["run", "--no-tui"]).ended(2);
    ran.says("`evaluate.prepare` failed (exit code 7)").says("looking for data").says("network = \"full\"");
    assert_eq!(repo.events("trial_started"), 0);
}

#[test]
fn prepare_has_no_network_unless_it_is_given() {
    let closed =
        "python3 -c 'import socket; socket.create_connection((chr(49)+\\\".1.1.1\\\", 80), 2)' 2>&1 | tail -1 > net";
    let repo = built(&format!("prepare = \"{closed}\"\n"));
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("make -s", "cat net && make -s")).commit("look");
    repo.run(0);
    assert!(repo.ok(&["show", "baseline", "--output"]).stdout.contains("Network is unreachable"));
}

#[test]
fn warm_caches_are_the_baselines_own() {
    let repo = built("warm = true\n");
    repo.run(0).says("warming the caches: make");
    assert_eq!(try_size(&repo, 4)["metric"], 4.0);
    let output = repo.ok(&["show", "champion", "--output"]).stdout;
    assert!(!output.contains("compiled-slow"), "{output}");
}

#[test]
fn prepare_needs_layers_and_says_so_on_a_lower_tier() {
    let repo = built("prepare = \"make\"\n");
    let ran = repo.overnight(&["run", "--no-tui", "--sandbox", "none"]).ended(3);
    ran.says("`evaluate.prepare` needs the sandbox `standard`");
}

#[test]
fn an_input_is_private_to_each_trial_and_a_change_of_it_ends_the_study() {
    let repo = Repo::scored_by("cat data/x >> data/y; test $(wc -l < data/y) = 1 && echo loss: $(cat data/x)\n");
    repo.write(".gitignore", "data\n").commit("ignored");
    fs::create_dir(repo.dir().join("data")).unwrap();
    fs::write(repo.dir().join("data/x"), "4\n").unwrap();
    repo.write("overnight.toml", &repo.read("overnight.toml").replace("budget", "inputs = [\"data\"]\nbudget"));
    repo.commit("an input");
    repo.run(2);
    assert!(!repo.dir().join("data/y").exists(), "what trials wrote is theirs");
    fs::write(repo.dir().join("data/x"), "33\n").unwrap();
    repo.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(3).says("what the inputs hold changed");
    repo.assert_sound();
}

#[test]
fn an_input_that_changes_in_the_night_stops_the_loop_before_a_keep() {
    // Its own evaluation is what changes the input here, through the host: the guard runs without a wall between.
    let repo = Repo::new();
    repo.write(".gitignore", "data\n").commit("ignored");
    fs::create_dir(repo.dir().join("data")).unwrap();
    fs::write(repo.dir().join("data/x"), "4\n").unwrap();
    let data = repo.dir().join("data/x");
    let with_input = repo.read("overnight.toml").replace("budget", "inputs = [\"data\"]\nbudget");
    let guard =
        format!("[[guard]]\nrun = \"grep -q 5 knobs.py || echo 5 >> {}\"\nwhen = \"before_keep\"\n", data.display());
    repo.write("overnight.toml", &format!("{with_input}{guard}")).commit("an input and a meddler");
    let ran = repo.overnight(&["run", "--no-tui", "--sandbox", "none"]).ended(1);
    ran.says("something in `evaluate.inputs` changed while the study ran");
    assert_eq!(repo.git(&["rev-list", "--count", "overnight/main"]), repo.git(&["rev-list", "--count", "main"]));
}

#[test]
fn code_of_a_model_does_not_run_below_the_tier_that_was_asked_for() {
    let repo = Repo::with_agent("sed -i 's/x = .*/x = 4/' knobs.py; echo idea\n");
    repo.write("overnight.toml", &format!("{}[sandbox]\nmin = \"strong\"\n", repo.read("overnight.toml")));
    repo.commit("a high bar");
    let ran = repo.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(3);
    ran.says("what a model wrote needs `strong`").says("overnight run --sandbox standard");
    assert_eq!(repo.events("asked"), 0);
    repo.ok(&["run", "--no-tui", "--experiments", "1", "--sandbox", "standard"]);
    // A person's own idea runs anywhere, and the tuner too, but not on top of a model's keep.
    repo.write(
        "overnight.toml",
        &repo.read("overnight.toml").replace("use = \"command\"\ncommand = \"sh agent.sh\"", ""),
    );
    repo.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(3).says("what a model wrote needs `strong`");
    fs::write(repo.outside("knobs"), "x = 2\n").unwrap();
    repo.ok(&["try", "--file", repo.outside("knobs").to_str().unwrap(), "-m", "mine"]);
}

#[test]
fn a_tier_can_be_named_and_one_that_is_not_there_is_refused() {
    let repo = Repo::new();
    repo.ok(&["run", "--no-tui", "--experiments", "1", "--sandbox", "landlock"]).says("sandbox landlock");
    repo.ok(&["status"]).says("sandbox landlock");
    repo.ok(&["run", "--no-tui", "--experiments", "1"]).says("sandbox standard: every command");
    // The baseline's number is as good as the weakest tier it was measured on, whatever came later.
    repo.ok(&["status"]).says("trust: cooperative · sandbox landlock");
    repo.overnight(&["run", "--sandbox", "strong"]).ended(2).says("not yet supported");
    repo.overnight(&["run", "--sandbox", "standart"]).ended(2).says("one of standard, landlock and none");
    repo.assert_sound();
}

#[test]
fn landlock_is_refused_where_commands_would_have_to_run_as_root() {
    let repo = Repo::new();
    if !rustix::process::getuid().is_root() {
        // An ordinary user is never root, and the tier is theirs.
        repo.ok(&["run", "--no-tui", "--experiments", "0", "--sandbox", "landlock"]);
        return;
    }
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(repo.outside(""), closed).unwrap();
    let ran = repo.overnight(&["run", "--no-tui", "--experiments", "0", "--sandbox", "landlock"]).ended(3);
    ran.says("commands must not run as root");
    repo.ok(&["run", "--no-tui", "--experiments", "0"]).says("sandbox standard");
}

#[test]
fn an_ordinary_user_behind_a_fence_cannot_change_the_modes_and_times_of_their_own_files() {
    for repo in Repo::everybodys() {
        let victim = repo.home().join("victim");
        let path = victim.display();
        repo.write("overnight.toml", &Repo::new().read("overnight.toml")).write("knobs.py", "x = 5\n");
        repo.write(
            "score.sh",
            &format!(
                "chmod 777 {path} && exit 3; touch -d 2001-01-01 {path} && exit 4; \
                 python3 -c 'import os; os.setxattr(\"{path}\", \"user.a\", b\"x\")' 2> /dev/null && exit 5\n\
                 touch mine && cp -p mine also && echo loss: 4\n"
            ),
        );
        repo.commit("base");
        fs::write(&victim, "mine").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o640);
        fs::set_permissions(&victim, mode).unwrap();
        if let Some(user) = repo.user() {
            std::os::unix::fs::chown(&victim, Some(user), Some(user)).unwrap();
        }
        let before = fs::metadata(&victim).unwrap();
        repo.ok(&["run", "--no-tui", "--experiments", "0", "--sandbox", "landlock"]);
        let after = fs::metadata(&victim).unwrap();
        assert_eq!(before.permissions(), after.permissions(), "{}", repo.whose());
        assert_eq!(before.modified().unwrap(), after.modified().unwrap(), "{}", repo.whose());
    }
}
