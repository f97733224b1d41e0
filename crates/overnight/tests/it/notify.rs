//! Who is told what of a run: against a webhook on the loopback that plays a script, and programs that write down what they
//! were given. Addresses are made up.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use overnight_testkit::hook::{Hook, Reply};
use serde_json::Value;

use crate::support::{Engine, Ran, Repo, until};

const SECRET: &str = "T0MADEUP/B0MADEUP/opens-nothing";

/// A study whose agent has a plan: one shell line to each experiment, with the idea it says.
fn planned(plan: &[(&str, &str)], notify: &str) -> Repo {
    let agent = r#"n=$(sed -n 's/.*"experiment":\([0-9]*\),"metric".*/\1/p')
test -f ideas/$n && . ./ideas/$n
"#;
    let repo = Repo::with_agent(agent);
    let triplet = repo.read("overnight.toml").replace("goal = \"min\"", "goal = \"min\", plausible = [1, 1000]");
    repo.write("overnight.toml", &format!("{triplet}ahead = 0\n[notify]\n{notify}\n"));
    for (at, (knob, idea)) in plan.iter().enumerate() {
        repo.write(&format!("ideas/{}", at + 1), &format!("echo 'x = {knob}' > knobs.py\necho '{idea}'\n"));
    }
    repo.commit("a plan");
    repo
}

const WEBHOOK: &str = "webhook_env = \"MY_HOOK\"";

fn environment(hook: &Hook) -> Vec<(String, String)> {
    vec![("MY_HOOK".to_owned(), hook.url(SECRET))]
}

fn start(repo: &Repo, hook: &Hook, experiments: u32) -> Engine {
    repo.start_with(&["run", "--no-tui", "--experiments", &experiments.to_string()], environment(hook))
}

fn run(repo: &Repo, hook: &Hook, experiments: u32) -> Ran {
    start(repo, hook, experiments).wait().ended(0)
}

fn bodies(hook: &Hook) -> Vec<Value> {
    hook.seen().into_iter().map(|request| request.body).collect()
}

fn events(hook: &Hook) -> Vec<String> {
    bodies(hook).iter().map(|body| body["event"].as_str().unwrap_or("?").to_owned()).collect()
}

#[test]
fn a_champion_a_suspect_and_the_end_arrive_once_each_and_old_ones_not_again() {
    let plan = [("4", "a little less"), ("3", "too good"), ("9", "worse"), ("2", "the other side")];
    let repo = planned(&plan, WEBHOOK);
    let hook = Hook::start([]);
    let ran = run(&repo, &hook, 3).says("notify     the webhook in MY_HOOK: champion, suspect, stop, fault, end");
    assert!(!ran.stderr.contains("not notified"), "{ran}");
    assert_eq!(events(&hook), ["champion", "suspect", "end"], "{ran}");
    let told = bodies(&hook);
    let champion = &told[0];
    assert_eq!(champion["study"], "main");
    assert_eq!(champion["title"], "overnight · main: experiment 1 is the new champion");
    assert_eq!(champion["text"], "loss 1, gain +3\na little less\nin all 3 over the baseline");
    assert_eq!((&champion["experiment"], &champion["verdict"]), (&1.into(), &"kept".into()));
    assert_eq!(
        (&champion["metric"], &champion["value"], &champion["gain"]),
        (&"loss".into(), &1.0.into(), &3.0.into())
    );
    let suspect = &told[1];
    assert_eq!(suspect["title"], "overnight · main: experiment 2 is suspect and waits for your word");
    assert_eq!(suspect["text"], "0 is outside the plausible range 1 to 1000\ntoo good\novernight review");
    let end = &told[2];
    assert_eq!((&end["why"], &end["kept"], &end["suspects"]), (&"done".into(), &1.into(), &1.into()));
    assert!(end["text"].as_str().unwrap().starts_with("done\nreview 1 suspect waits for your word"), "{end}");
    // The study goes on: of what was told before, nothing is told again.
    run(&repo, &hook, 1);
    assert_eq!(events(&hook)[3..], ["end"]);
    repo.assert_sound();
    repo.assert_nowhere(SECRET);
}

#[test]
fn whoever_asks_for_a_moment_or_fails_is_tried_again() {
    for first in [
        Reply::Status(429, Some(1), "slow down"),
        Reply::Status(500, None, "oops"),
        Reply::Status(503, Some(0), ""),
        Reply::Cut,
    ] {
        let repo = planned(&[("4", "less")], "webhook_env = \"MY_HOOK\"\non = [\"end\"]");
        let hook = Hook::start([first.clone(), Reply::Status(204, None, "")]);
        let ran = run(&repo, &hook, 1);
        assert_eq!(events(&hook), ["end", "end"], "{first:?}: {ran}");
        assert!(!ran.stderr.contains("not notified"), "{first:?}: {ran}");
    }
}

#[test]
fn whoever_will_not_is_not_asked_again_and_that_is_said_without_the_address() {
    let repo = planned(&[("4", "less"), ("9", "more")], WEBHOOK);
    let hook = Hook::start([Reply::Status(404, None, "no_service for /services/T0MADEUP/B0MADEUP/opens-nothing")]);
    let ran = run(&repo, &hook, 2);
    assert_eq!(events(&hook), ["champion", "end"], "{ran}");
    let why = "it answered 404: no_service for /[key]";
    let ran = ran.says(&format!("not notified: 2 of 2 notices did not reach the webhook in MY_HOOK: {why}"));
    // Once while it runs, and once at the end, whatever the order of the two threads.
    assert!(ran.stderr.matches("was not reached").count() <= 1, "{ran}");
    assert!(!format!("{ran}").contains("opens-nothing"), "{ran}");
    repo.assert_sound();
    repo.assert_nowhere(SECRET);
}

#[test]
fn one_who_asks_for_an_hour_is_not_waited_for() {
    let repo = planned(&[("4", "less")], "webhook_env = \"MY_HOOK\"\non = [\"end\"]");
    let hook = Hook::start([Reply::Status(429, Some(3600), "")]);
    let ran =
        run(&repo, &hook, 1).says("not notified: 1 of 1 notice did not reach the webhook in MY_HOOK: it answered 429");
    assert_eq!(events(&hook), ["end"], "{ran}");
}

#[test]
fn one_who_never_answers_holds_nothing_up() {
    // Every experiment is better than the one before it: as many champions as there are experiments.
    let plan = [("20", "a"), ("15", "b"), ("10", "c"), ("8", "d"), ("6", "e"), ("5", "f")];
    let repo = planned(&plan, "webhook_env = \"MY_HOOK\"\ngather = \"1ms\"");
    repo.write("knobs.py", "x = 30\n").commit("far away");
    let hook = Hook::start([Reply::Stall]);
    let engine = start(&repo, &hook, 6);
    until("the first notice", || !hook.seen().is_empty());
    // All of the loop goes on while the first notice waits for an answer that never comes.
    let ran = engine.wait().ended(0);
    assert_eq!(repo.verdicts().iter().filter(|(verdict, _)| verdict == "kept").count(), 6, "{ran}");
    ran.says(
        "not notified: 7 of 7 notices did not reach the webhook in MY_HOOK: it was still on its way 5 s after the end",
    );
    repo.assert_sound();
}

#[test]
fn champions_in_a_row_come_together() {
    let plan = [("20", "a"), ("15", "b"), ("10", "c"), ("8", "d")];
    let repo = planned(&plan, WEBHOOK);
    repo.write("knobs.py", "x = 30\n").commit("far away");
    let hook = Hook::start([]);
    let ran = run(&repo, &hook, 4);
    assert_eq!(events(&hook), ["champion", "champion", "end"], "{ran}");
    let last = &bodies(&hook)[1];
    assert_eq!((&last["experiment"], &last["count"]), (&4.into(), &3.into()), "{last}");
    let text = last["text"].as_str().unwrap();
    assert!(text.ends_with("2 earlier changes of the champion since the last notice"), "{text}");
}

#[test]
fn foreign_words_reach_a_chat_as_words() {
    let repo = planned(&[("4", "<!channel> @everyone `rm`")], "webhook_env = \"MY_HOOK\"\nshape = \"slack\"");
    let hook = Hook::start([]);
    run(&repo, &hook, 1);
    let text = bodies(&hook)[0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("&lt;!channel&gt; @\u{200b}everyone 'rm'"), "{text}");
    assert_eq!(bodies(&hook)[0]["mrkdwn"], false);
    let repo = planned(&[("4", "<@1> @everyone `rm`")], "webhook_env = \"MY_HOOK\"\nshape = \"discord\"");
    let hook = Hook::start([]);
    run(&repo, &hook, 1);
    let content = bodies(&hook)[0]["content"].as_str().unwrap().to_owned();
    assert!(content.contains("\\<@\u{200b}1\\> @\u{200b}everyone \\`rm\\`"), "{content}");
}

#[test]
fn no_secret_of_the_person_is_told_whoever_wrote_it() {
    let repo = planned(&[("4", "try made-up-api-key-0123")], WEBHOOK);
    let hook = Hook::start([]);
    let mut environment = environment(&hook);
    environment.push(("OPENAI_API_KEY".to_owned(), "made-up-api-key-0123".to_owned()));
    repo.start_with(&["run", "--no-tui", "--experiments", "1"], environment).wait().ended(0);
    let told = format!("{:?}", bodies(&hook));
    assert!(told.contains("try [key]") && !told.contains("made-up-api-key"), "{told}");
}

#[test]
fn a_command_gets_the_facts_outside_of_any_sandbox() {
    let repo = planned(&[("4", "it'\\''s $(less) \"of\" it")], "command = \"sh tell.sh\"");
    let (facts, words) = (repo.outside("facts"), repo.outside("words"));
    repo.write(
        "tell.sh",
        &format!(
            "cat >> {}\nprintf '%s|%s|%s|%s\\n' \"$OVERNIGHT_EVENT\" \"$OVERNIGHT_STUDY\" \"$OVERNIGHT_EXPERIMENT\" \"$MINE\" >> {}\n",
            facts.display(),
            words.display()
        ),
    )
    .commit("a command");
    let own = vec![("MINE".to_owned(), "all of it".to_owned())];
    let ran = repo.start_with(&["run", "--no-tui", "--experiments", "1"], own).wait().ended(0);
    ran.says("notify     the command `sh tell.sh`: champion, suspect, stop, fault, end");
    assert_eq!(fs::read_to_string(words).unwrap(), "champion|main|1|all of it\nend|main||all of it\n");
    let facts = fs::read_to_string(facts).unwrap();
    let first: Value = serde_json::from_str(facts.lines().next().unwrap()).unwrap();
    assert_eq!((&first["event"], &first["description"]), (&"champion".into(), &"it's $(less) \"of\" it".into()));
}

#[test]
fn a_command_that_fails_is_tried_again_and_ends_no_run() {
    let repo = planned(&[("4", "less")], "command = \"sh tell.sh\"\non = [\"end\"]");
    let tries = repo.outside("tries");
    repo.write("tell.sh", &format!("echo x >> {}\necho broken pipe >&2\nexit 3\n", tries.display())).commit("broken");
    let ran = repo.run(1);
    assert_eq!(fs::read_to_string(tries).unwrap(), "x\n".repeat(4), "{ran}");
    ran.says("not notified: 1 of 1 notice did not reach the command `sh tell.sh`: exit code 3: broken pipe");
    repo.assert_sound();
}

#[test]
fn a_desktop_is_told_by_notify_send_and_where_there_is_none_that_is_said() {
    let repo = planned(&[("4", "<b>less</b> & --urgency=low")], "desktop = true\non = [\"champion\"]");
    let programs = repo.outside("programs");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    fs::create_dir_all(&programs).unwrap();
    let given = repo.outside("given");
    let program = programs.join("notify-send");
    fs::write(&program, format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >> {}\n", given.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let without = vec![("PATH".to_owned(), path.clone())];
    let ran = repo.start_with(&["run", "--no-tui", "--experiments", "0"], without).wait().ended(0);
    let no_bus = "there is no desktop session here: no D-Bus session bus";
    // Nobody is told of a run that tries nothing, so nothing is said of it either.
    assert!(!ran.stderr.contains("notify"), "{ran}");
    let check = repo.ok(&["check", "--trials", "2"]);
    assert!(check.stdout.contains("the desktop cannot be told"), "{check}");
    let with = vec![
        ("PATH".to_owned(), path.clone()),
        ("DBUS_SESSION_BUS_ADDRESS".to_owned(), "unix:path=/nowhere".to_owned()),
    ];
    repo.start_with(&["run", "--no-tui", "--experiments", "1"], with).wait().ended(0);
    let given = fs::read_to_string(given).unwrap();
    assert_eq!(
        given,
        "--app-name=overnight\n--\novernight · main: experiment 1 is the new champion\nloss 1, gain +3\n\
         &lt;b&gt;less&lt;/b&gt; &amp; --urgency=low\nin all 3 over the baseline\n"
    );
    let without = vec![("PATH".to_owned(), path)];
    let ran = Ran::of(repo.command(&["check", "--notify"]).envs(without).output().unwrap()).ended(2);
    ran.says(&format!("fail  the desktop was not reached: {no_bus}"));
}

#[test]
fn a_run_that_stops_is_told_as_that() {
    let repo = Repo::scored_by("exit 1\n");
    repo.triplet(&format!("[notify]\n{WEBHOOK}")).commit("notify");
    let hook = Hook::start([]);
    start(&repo, &hook, 1).wait().ended(2);
    assert_eq!(events(&hook), ["stop"]);
    assert_eq!(bodies(&hook)[0]["why"], "baseline_failed");
    assert_eq!(bodies(&hook)[0]["title"], "overnight · main: the run has stopped");
}

#[test]
fn a_run_that_cannot_go_on_is_told_as_a_fault() {
    let repo = planned(&[("4", "less")], WEBHOOK);
    let (started, go) = (repo.beside("started"), repo.beside("go"));
    let gate = format!(
        "grep -q 5 knobs.py || {{ touch {}; while ! test -e {}; do sleep 0.02; done; }}\n{}",
        started.display(),
        go.display(),
        repo.read("score.sh")
    );
    repo.write("score.sh", &gate).commit("a gate");
    let hook = Hook::start([]);
    let engine = start(&repo, &hook, 1);
    until("the trial to start", || started.exists());
    let mine = repo.git(&["commit-tree", "-m", "mine", "-p", "main", "main^{tree}"]);
    repo.git(&["branch", "-f", "overnight/main", &mine]);
    fs::write(go, "").unwrap();
    let ran = engine.wait().ended(3);
    // The champion never reached the branch, and nobody was told of it.
    assert_eq!(events(&hook), ["fault"], "{ran}");
    let text = bodies(&hook)[0]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("ended by a fault: ") && text.contains("overnight/main"), "{text}");
}

#[test]
fn check_says_who_would_be_told_and_sends_a_test_where_it_is_asked_to() {
    let repo = planned(&[], "webhook_env = \"MY_HOOK\"\nshape = \"discord\"\non = [\"fault\"]");
    let hook = Hook::start([Reply::Status(401, None, "who are you"), Reply::Status(204, None, "")]);
    let check = Ran::of(repo.command(&["check", "--trials", "2"]).envs(environment(&hook)).output().unwrap()).ended(0);
    let line = "ok    notify   the webhook in MY_HOOK is told of fault; `overnight check --notify` sends a test";
    let check = check.says(line);
    assert!(hook.seen().is_empty(), "{check}");
    let test = || Ran::of(repo.command(&["check", "--notify"]).envs(environment(&hook)).output().unwrap());
    test().ended(2).says("fail  the webhook in MY_HOOK was not reached: it answered 401: who are you");
    test().ended(0).says("ok    the webhook in MY_HOOK was told");
    assert!(bodies(&hook)[1]["content"].as_str().unwrap().contains("a test"));
    // Without the address there is no run that fails for it.
    repo.ok(&["check", "--trials", "2"]).says("the webhook in MY_HOOK cannot be told: `MY_HOOK` is not set");
    repo.overnight(&["check", "--notify"]).ended(2).says("`MY_HOOK` is not set");
    let nobody = Repo::new();
    nobody
        .overnight(&["check", "--notify"])
        .ended(2)
        .says("the triplet names nobody to tell")
        .says("hint: say in [notify]");
}

#[test]
fn an_address_that_everyone_on_the_way_could_read_is_not_used() {
    let repo = planned(&[("4", "less")], "webhook_command = \"cat hook\"\non = [\"end\"]");
    repo.write("hook", "http://example.org/services/made-up-path\nnotes\n").commit("an address");
    let ran = repo.run(1).says("its address begins with http://, and would be read by everyone on the way");
    assert!(!format!("{ran}").contains("made-up-path"), "{ran}");
    let hook = Hook::start([]);
    repo.write("hook", &format!("{}\n", hook.url(SECRET)));
    repo.ok(&["check", "--notify"]).says("ok    the webhook from `cat hook` was told");
}
