//! `audit`: which commits of a branch carry its gain, with nothing left behind but the branch that was asked for.

use rustix::process::Signal;

use crate::support::{Json, Ran, Repo, until};

/// The loss is the sum of the knobs, but for those that are of no matter.
const SUM: &str = "awk '/^[abcd] =/ { sum += $3 } END { print \"loss: \" sum }' knobs.py\n";
/// The same, with noise of up to 7 that differs between any two surfaces.
const NOISY_SUM: &str = "hash=$( (cat knobs.py; echo $OVERNIGHT_SEED) | md5sum | cut -c1-6)\n\
    awk -v noise=$((0x$hash % 8)) '/^[abcd] =/ { sum += $3 } END { print \"loss: \" sum + noise }' knobs.py\n";
const KNOBS: &str = "a = 90\nb = 90\nc = 90\nlabel = 0\nname = 0\nd = 90\n";

/// A branch from the tag `start`: each commit sets knobs.
fn branch(script: &str, commits: &[(&str, &str)]) -> Repo {
    let repo = Repo::scored_by(script);
    repo.write("knobs.py", KNOBS).commit("start");
    repo.git(&["tag", "start"]);
    commits.iter().for_each(|(setting, message)| set(&repo, setting, message));
    repo
}

fn set(repo: &Repo, settings: &str, message: &str) {
    let mut text = repo.read("knobs.py");
    for setting in settings.split(", ") {
        let name = setting.split(' ').next().unwrap();
        let is_it = |line: &&str| line.starts_with(&format!("{name} ="));
        let line = text.lines().find(is_it).unwrap().to_owned();
        text = text.replace(&line, setting);
    }
    repo.write("knobs.py", &text).commit(message);
}

/// One that gains, one that does nothing, one that makes it worse.
fn three() -> Repo {
    branch(SUM, &[("a = 50", "less of a"), ("label = 7", "another label"), ("c = 95", "more of c")])
}

/// Audits, which must leave the checkout, and every branch and tag that there was, as they were.
#[track_caller]
fn audited(repo: &Repo, args: &[&str]) -> Ran {
    let refs = || repo.git(&["for-each-ref"]);
    let (before, checkout, had_state) = (refs(), repo.fingerprint(), repo.dir().join(".overnight").exists());
    let ran = repo.overnight(&[&["audit"], args].concat());
    let after = refs();
    let made: Vec<&str> = after.lines().filter(|line| !before.lines().any(|known| known == *line)).collect();
    let asked = args.iter().position(|arg| *arg == "--branch").map(|at| format!("refs/heads/{}", args[at + 1]));
    assert!(made.iter().all(|line| asked.as_ref().is_some_and(|name| line.ends_with(name.as_str()))), "{made:?} {ran}");
    assert!(before.lines().all(|line| after.contains(line)), "{ran}");
    assert!(repo.fingerprint() == checkout, "{ran}");
    assert_eq!(repo.dir().join(".overnight").exists(), had_state, "{ran}");
    assert_eq!(repo.strays(), Vec::<u32>::new(), "{ran}");
    repo.git(&["fsck", "--strict"]);
    ran
}

#[track_caller]
fn json(ran: &Ran) -> Json {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"))
}

#[track_caller]
fn verdicts(known: &Json) -> Vec<&str> {
    known["commits"].as_array().unwrap().iter().map(|row| row["verdict"].as_str().unwrap()).collect()
}

#[test]
fn a_branch_with_one_that_holds() {
    let repo = three();
    insta::assert_snapshot!(audited(&repo, &["start..HEAD"]), @"
    overnight audit · study main · Ctrl-C tells what is known so far
    loss (lower is better) · budget 10s · 3 commits of start..HEAD
    each is left out of B in turn, in at most 30 pairs: 150 trials, 25m by the budget; less where it is clear early
    sandbox standard: every command has files, processes and a network of its own
      1 pair each · 3 of 3 still open
     2 pairs each · 3 of 3 still open
     3 pairs each · 3 of 3 still open
      e05db2412f holds after 4 pairs, +40  (less of a)
      c61f3c6099 makes no difference after 4 pairs, 0  (another label)
      f9485d6f23 makes it worse after 4 pairs, −5  (more of c)
    now the smallest stack against B

          commit      verdict                  carries  95 % interval              pairs  what
       1  e05db2412f  holds                        +40  exact                          4  less of a
       2  c61f3c6099  makes no difference            0  exact                          4  another label
       3  f9485d6f23  makes it worse                −5  exact                          4  more of c

    A           loss 360  (start, 3a84d67dc0)
    B           loss 325  (HEAD, f9485d6f23)
    whole       +35: B is better than A, 4 pairs
    stack       1 of 3 commits: loss 320 against 325 of B, 4 pairs
                +5: better than B
    trials      28 (seed [SEED]): no surface gave two different numbers
    trust: cooperative · sandbox standard · 4 seeds, all the same · no holdout
    3 keeps · 1 holds · 1 makes no difference · 1 makes it worse
    next        overnight audit start..HEAD --without c61f3c6099,f9485d6f23 --branch NAME
    --- exit code 0
    ");
}

#[test]
fn the_stack_becomes_a_branch_with_the_messages_and_authors_it_had() {
    let repo = three();
    repo.write("notes", "tried c").git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "notes", "--author", "Bea <bea@example.com>"]);
    let last = "less of d\n\nbecause it is\nheavy";
    set(&repo, "d = 20", last);
    let ran = audited(&repo, &["start..HEAD", "--branch", "small"]).ended(0);
    let ran = ran.says("4 keeps · 2 hold · 1 makes no difference · 1 makes it worse\n").says("left alone: ");
    ran.says(" touches `notes`\n").says("better than B\n").says("branch      small at ");
    assert_eq!(repo.git(&["log", "--format=%s/%an", "start..small"]), "less of d/Ann\nnotes/Bea\nless of a/Ann");
    assert_eq!(repo.git(&["log", "-1", "--format=%B", "small"]).trim_end(), last);
    // Before anything is left out, commits are those that there were.
    assert_eq!(repo.git(&["rev-parse", "small~2"]), repo.git(&["rev-parse", "HEAD~4"]));
    assert_eq!(repo.git(&["show", "small:knobs.py"]), "a = 50\nb = 90\nc = 90\nlabel = 0\nname = 0\nd = 20");
    assert_eq!(repo.git(&["diff", "--name-only", "HEAD", "small"]), "knobs.py");
}

#[test]
fn the_branch_can_be_made_afterwards_by_the_command_that_is_printed() {
    let repo = three();
    let ran = audited(&repo, &["start..HEAD"]).ended(0);
    let next = ran.stdout.lines().last().unwrap().strip_prefix("next        overnight audit ").unwrap();
    let next = next.replace("NAME", "small");
    let ran = audited(&repo, &next.split(' ').collect::<Vec<_>>()).ended(0);
    ran.says("branch      small at ").says(": 1 of 3 commits\n").says("next        git log start..small\n");
    assert_eq!(repo.git(&["show", "small:knobs.py"]), KNOBS.replace("a = 90", "a = 50").trim_end());
    // What is taken out is up to the person.
    let ran = audited(&repo, &["start..HEAD", "--without", "HEAD~2", "--branch", "other", "--json"]).ended(0);
    assert_eq!(json(&ran)["branch"]["commit"], repo.git(&["rev-parse", "other"]).as_str());
    assert_eq!(repo.git(&["log", "--format=%s", "start..other"]), "more of c\nanother label");
    audited(&repo, &["start..HEAD", "--without", "start", "--branch", "third"])
        .ended(2)
        .says("`start` is no commit of");
    audited(&repo, &["start..HEAD", "--without", "HEAD"]).ended(2).says("--branch");
}

#[test]
fn names_that_no_new_branch_can_have_are_refused_before_anything_runs() {
    let repo = three();
    repo.git(&["branch", "taken"]);
    repo.git(&["branch", "folder/inside"]);
    repo.git(&["pack-refs", "--all"]);
    let refused = |name: &str| audited(&repo, &["start..HEAD", "--branch", name]).ended(3);
    refused("taken").says("there is a branch taken already").says("choose another name");
    refused("main").says("there is a branch main already");
    refused("folder").says("makes folder impossible");
    refused("taken/below").says("the branch taken makes taken/below impossible");
    refused("a..b").says("cannot be the name of a ref");
    refused("overnight/mine").says("would be taken for the branch of a study");
}

#[test]
fn a_noisy_branch_is_told_by_odds_over_all_its_commits() {
    let commits =
        [("a = 60", "a"), ("label = 1", "nothing"), ("b = 60", "b"), ("label = 2", "nothing again"), ("c = 120", "c")];
    let repo = branch(NOISY_SUM, &commits);
    let known = json(&audited(&repo, &["start..HEAD", "--seed", "5", "--json"]).ended(0));
    assert_eq!(verdicts(&known), ["holds", "noise", "holds", "noise", "hurts"], "{known:#}");
    let row = &known["commits"][0];
    assert!(row["low"].as_f64().unwrap() > 0.0 && row["odds"].as_f64().unwrap() > 24.0, "{known:#}");
    // The first label cannot be left out alone.
    assert_eq!(known["commits"][1]["together_with"][0], known["commits"][3]["commit"]);
    assert_eq!(known["whole"]["result"], "better");
    assert_eq!(known["stack"]["result"], "better");
    assert_eq!(known["counts"]["hold"], 2);
    let stays: Vec<bool> = known["commits"].as_array().unwrap().iter().map(|row| row["in_stack"] == true).collect();
    assert_eq!(stays, [true, false, true, false, false]);
    // The same seed gives the same audit.
    assert_eq!(json(&audited(&repo, &["start..HEAD", "--seed", "5", "--json"]).ended(0)), known);
}

#[test]
fn where_nothing_can_be_told_that_is_the_exit_code() {
    let repo = branch(NOISY_SUM, &[("label = 1", "one"), ("name = 1", "another")]);
    let ran = audited(&repo, &["start..HEAD", "--seed", "2", "--branch", "small"]).ended(3);
    ran.says("2 keeps · 2 cannot be told from noise\n")
        .says("stack       none: no commit holds")
        .says("no branch was made");
    let ran = audited(&repo, &["start..HEAD", "--seed", "2", "--pairs", "6"]).ended(10);
    ran.says("A and B cannot be told apart");
    audited(&repo, &["start..HEAD", "--budget", "1ms"]).ended(10).says("the time is up");
    audited(&repo, &["start..HEAD", "--budget", "2"]).ended(2).says("has no unit");
}

#[test]
fn a_branch_that_makes_things_worse_has_a_code_of_its_own() {
    let repo = branch(SUM, &[("a = 95", "more of a"), ("b = 89", "less of b")]);
    let ran = audited(&repo, &["start..HEAD"]).ended(11);
    ran.says("B is worse than A").says("2 keeps · 1 holds · 1 makes it worse");
}

#[test]
fn lines_that_were_changed_again_are_judged_together() {
    let repo =
        branch(SUM, &[("a = 80", "80"), ("b = 70", "b"), ("a = 60", "60"), ("c = 80", "c"), ("c = 90", "c again")]);
    let ran = audited(&repo, &["start..HEAD"]).ended(0);
    let ran = ran.says(" cannot be left out alone: it is judged together with ").says("80 (with 3)\n");
    ran.says("5 keeps · 3 hold · 1 makes no difference · 1 makes it worse\n");
    let known = json(&audited(&repo, &["start..HEAD", "--json"]).ended(0));
    let carried: Vec<f64> =
        known["commits"].as_array().unwrap().iter().filter_map(|row| row["difference"].as_f64()).collect();
    // With 60 instead of 80, and instead of 90; and a change that was undone carries nothing.
    assert_eq!(carried, [30.0, 20.0, 20.0, -10.0]);
    assert_eq!(known["commits"][3]["verdict"], "no_difference");
}

#[test]
fn commits_that_stand_in_for_one_another_are_found_out_by_the_stack() {
    // Either is enough.
    let script = "awk '/^[ab] =/ && $3 < 90 { low = 1 } $1 == \"c\" { c = $3 } END { print \"loss: \" c - 40 * low }' knobs.py\n";
    let repo = branch(script, &[("a = 50", "a"), ("b = 50", "b"), ("c = 80", "c")]);
    let ran = audited(&repo, &["start..HEAD", "--branch", "small"]).ended(3);
    let ran = ran.says("3 keeps · 1 holds · 2 make no difference");
    ran.says("worse than B: what was left out carries something together").says("no branch was made");
    let repo = branch(script, &[("a = 50", "a"), ("b = 50", "b")]);
    let ran = audited(&repo, &["start..HEAD"]).ended(0);
    ran.says("they stand in for one another").says("2 keeps · 2 make no difference");
}

#[test]
fn what_does_not_run_without_a_commit_needs_it() {
    let script = format!("grep -q 'label = 1' knobs.py || {{ echo no label; exit 3; }}\n{SUM}");
    let repo = branch(&script, &[("label = 1", "a label"), ("a = 50", "a"), ("b = 50", "b"), ("b = 55", "b again")]);
    let ran = audited(&repo, &["start..HEAD", "--branch", "small"]).ended(0);
    let ran = ran.says("A's surface gives no number on B's tree").says("it gave no number: exit code 3 each time");
    ran.says("4 keeps · 2 hold · 1 makes it worse · 1 is needed to run");
    assert_eq!(repo.git(&["log", "--format=%s", "start..small"]), "b\na\na label");
    // A head that does not run is an error.
    set(&repo, "label = 2", "broken");
    audited(&repo, &["start..HEAD"]).ended(1).says("B does not run").says("| no label");
    let known = json(&audited(&repo, &["start..HEAD", "--json"]).ended(1));
    assert_eq!(known["result"], "b_does_not_run");
}

#[test]
fn commits_that_touch_more_than_the_surface_are_left_alone() {
    let repo = three();
    repo.write("results.tsv", "1")
        .write("knobs.py", &repo.read("knobs.py").replace("b = 90", "b = 40"))
        .commit("b, noted");
    repo.write("results.tsv", "2").commit("only noted");
    repo.commit("nothing at all");
    let known = json(&audited(&repo, &["start..HEAD", "--json"]).ended(0));
    assert_eq!(verdicts(&known).len(), 3);
    let why: Vec<&str> =
        known["left_alone"].as_array().unwrap().iter().map(|row| row["why"].as_str().unwrap()).collect();
    assert_eq!(why, ["touches `results.tsv`", "touches `results.tsv`", "does not change the surface"]);
    // What is left alone is in all that is measured.
    assert_eq!(known["whole"]["difference"], 85.0);
    let known = json(&audited(&repo, &["start..HEAD", "--ignore", "results.tsv", "--json"]).ended(0));
    assert_eq!(verdicts(&known), ["holds", "no_difference", "hurts", "holds"]);
    let ran = audited(&repo, &["HEAD~2..HEAD"])
        .ended(2)
        .says("no commit of HEAD~2..HEAD changes the surface and nothing else");
    ran.says("touches `results.tsv`").says("--ignore PATH");
}

#[test]
fn a_locked_part_of_the_surface_is_not_the_surface() {
    let repo = three();
    let triplet = repo.read("overnight.toml").replace("\"knobs.py\"", "{ path = \"knobs.py\", above = \"label\" }");
    repo.write("overnight.toml", &triplet);
    let known = json(&audited(&repo, &["start..HEAD", "--json"]).ended(0));
    assert_eq!(verdicts(&known), ["holds", "hurts"]);
    assert_eq!(known["left_alone"][0]["why"], "touches the locked part of `knobs.py`");
}

#[test]
fn ranges_that_are_none_are_told_in_a_sentence() {
    let repo = three();
    let refused = |range: &str| audited(&repo, &[range]).ended(2);
    refused("HEAD").says("`HEAD` is one commit, not a range");
    refused("HEAD..HEAD").says("there is no commit in HEAD..HEAD");
    refused("start...HEAD").says("three dots");
    refused("..HEAD").says("does not say where to begin");
    refused("start..nothing").says("`nothing` is no commit of this repository");
    refused("HEAD..start").says("`HEAD` is not before `start`").says("did you mean start..HEAD?");
    refused("start...").says("write A..B");
    refused("start..worktree").says("the working tree is no commit");
    // Without an end it is HEAD.
    audited(&repo, &["start.."]).ended(0).says("3 commits of start..HEAD");
}

#[test]
fn a_merge_is_no_single_line() {
    let repo = three();
    repo.git(&["switch", "-qc", "side", "start"]);
    repo.write("notes", "aside").commit("aside");
    repo.git(&["switch", "-q", "main"]);
    repo.git(&["merge", "-q", "--no-edit", "side"]);
    let merge = repo.git(&["rev-parse", "--short=10", "HEAD"]);
    set(&repo, "b = 10", "less of b");
    let ran = audited(&repo, &["start..main"]).ended(2).says(&format!("{merge} is a merge"));
    ran.says(&format!("audit what comes after it: {merge}..main"));
    audited(&repo, &[&format!("{merge}..main")]).ended(0).says("1 keep · 1 holds");
    audited(&repo, &["side..start"]).ended(2).says("did you mean start..side?");
    audited(&repo, &["side..HEAD"]).ended(2).says("`side` is not before `HEAD`").says("git merge-base side HEAD");
}

#[test]
fn the_keeps_of_a_study_are_audited_by_name() {
    let repo = Repo::new();
    repo.run(6);
    let ran = audited(&repo, &["baseline..champion"]).ended(0);
    ran.says("(baseline, ").says("B is better than A");
    repo.assert_sound();
}

#[test]
fn a_signal_ends_it_at_once_and_what_is_known_is_told() {
    let repo = three();
    let (count, stuck) = (repo.beside("count"), repo.beside("stuck"));
    let script = format!(
        "echo >> {0}\ntest $(wc -l < {0}) = 20 && {{ touch {1}; sleep 1000; }}\necho loss: $(wc -l < {0})\n",
        count.display(),
        stuck.display()
    );
    repo.write("score.sh", &script).commit("stuck in the fourth turn");
    let engine = repo.start(&["audit", "start..HEAD"]);
    until("the fourth turn", || stuck.exists());
    engine.signal(Signal::INT);
    let ran = engine.wait().ended(130).says("stopped before the end").says("3 keeps · 3 cannot be told from noise");
    assert_eq!(repo.strays(), Vec::<u32>::new(), "{ran}");
    assert!(!repo.dir().join(".overnight").exists(), "{ran}");
}
