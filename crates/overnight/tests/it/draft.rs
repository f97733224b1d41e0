//! `overnight init "…" --with …`: the exam that an agent drafts, before anything is locked.

use std::path::PathBuf;

use overnight_testkit::provider::{Failure, Idea, Provider, Script};
use rustix::process::Signal;

use crate::coding::{self, KEY, edit};
use crate::init::questions::typed_with;
use crate::support::{Engine, Fingerprint, Ran, Repo};

const GOAL: &str = "make the sum right for every text, the test must pass";

/// The code under test.
const SUM: &str =
    "total() {\n  n=0\n  for word in $1; do if [ ${#word} -lt 3 ]; then n=$((n + word)); fi; done\n  echo $n\n}\n";
const TEST: &str = ". ./sum.sh\n[ \"$(total '1 2 3')\" = 6 ]\n";

/// An exam for it, apart from the code: ten texts, seven of which it gets right.
const RUN: &str =
    "set -e\n. ./sum.sh\nfor n in 1 10 1 10 1 10 1 100 1000 10000; do total \"1 $n\"; done > $OVERNIGHT_OUT/answers\n";
const SCORE: &str = "right=0\nfor n in 1 10 1 10 1 10 1 100 1000 10000; do\n  read -r answer || { echo 'not ten answers' >&2; exit 1; }\n  \
    if [ \"$answer\" = $((1 + n)) ]; then right=$((right + 1)); fi\ndone < $OVERNIGHT_ARTIFACTS/answers\necho METRIC right=$right\n";
const TRIPLET: &str = "surface = \"sum.sh\"\nmetric = { name = \"right\", goal = \"max\" }\n\n[evaluate]\n\
    run = \"sh bench/run.sh\"\nscore = \"sh bench/score.sh\"\nhidden = [\"bench/score.sh\"]\nbudget = \"20s\"\n\n\
    [[guard]]\nrun = \"sh test_sum.sh\"\n";
const PROGRAM: &str = "# Program\n\nGet every sum right.\n";

fn repo() -> Repo {
    let repo = Repo::empty();
    repo.write("sum.sh", SUM).write("test_sum.sh", TEST).commit("a program");
    repo
}

/// The good draft with some files in the place of its own.
fn files(others: &[(&str, &str)]) -> Vec<(String, String)> {
    let good = [("bench/run.sh", RUN), ("bench/score.sh", SCORE), ("program.md", PROGRAM), ("overnight.toml", TRIPLET)];
    let other = |path: &str| others.iter().find(|(other, _)| *other == path).map(|(_, text)| *text);
    let mut all: Vec<(String, String)> =
        good.iter().map(|(path, text)| (path.to_string(), other(path).unwrap_or(text).to_owned())).collect();
    let is_more = |(path, _): &&(&str, &str)| !good.iter().any(|(known, _)| known == path);
    all.extend(others.iter().filter(is_more).map(|(path, text)| (path.to_string(), text.to_string())));
    all
}

fn written(files: Vec<(String, String)>) -> Idea {
    Idea::Write { files, say: "counts right sums".into() }
}

/// A repository, and Claude Code with this to say.
struct Drafting {
    repo: Repo,
    provider: Provider,
    before: Fingerprint,
}

impl Drafting {
    fn with(ideas: &[Idea]) -> Drafting {
        let repo = repo();
        let provider = Provider::start(Script::new(repo.dir().to_str().unwrap(), ideas));
        let before = repo.fingerprint();
        Drafting { repo, provider, before }
    }

    fn args(with: &'static str) -> [&'static str; 6] {
        ["init", GOAL, "--with", with, "--model", "fake-model"]
    }

    fn environment(&self) -> Vec<(String, String)> {
        let folder = self.repo.outside("tmp");
        std::fs::create_dir_all(&folder).unwrap();
        let mut environment = coding::environment("claude", &self.provider);
        environment.push(("TMPDIR".to_owned(), folder.to_str().unwrap().to_owned()));
        environment
    }

    fn init(&self, more: &[&str]) -> Ran {
        let args = [&Drafting::args("claude")[..], more].concat();
        Ran::of(self.repo.command(&args).envs(self.environment()).output().unwrap())
    }

    fn start(&self) -> Engine {
        self.repo.start_with(&[&Drafting::args("claude")[..], &["--yes"]].concat(), self.environment())
    }

    #[track_caller]
    fn is_untouched(&self, ran: &Ran) {
        assert_eq!(self.repo.fingerprint(), self.before, "{ran}");
        assert!(!self.repo.dir().join(".overnight").exists(), "{ran}");
        assert!(!self.repo.read(".git/info/exclude").contains("overnight"), "{ran}");
        assert_eq!(left_in_temp(&self.repo), Vec::<PathBuf>::new(), "{ran}");
    }
}

/// What stays among the temporary files, of which these tests have a folder of their own.
fn left_in_temp(repo: &Repo) -> Vec<PathBuf> {
    std::fs::read_dir(repo.outside("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// A program as the drafter, which writes these files and whatever else it does.
fn by_program(repo: &Repo, files: &[(String, String)], more: &str, args: &[&str]) -> Ran {
    let write =
        |(path, text): &(String, String)| format!("mkdir -p $(dirname {path})\ncat > {path} <<'END'\n{text}END\n");
    let script: String = files.iter().map(write).collect();
    // What a command line names is shown to it as it is in the checkout.
    let with = format!("command: printf %s {} | base64 -d | sh", base64(&format!("{script}{more}")));
    repo.overnight(&[&["init", GOAL, "--with", &with], args].concat())
}

fn base64(text: &str) -> String {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "printf %s \"$1\" | base64 -w0", "sh", text]);
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[test]
fn a_good_draft_is_examined_shown_and_written_after_a_yes() {
    let drafting = Drafting::with(&[written(files(&[]))]);
    let (args, environment) = (Drafting::args("claude"), drafting.environment());
    let no = typed_with(&drafting.repo, &[("write these 4 files? [y/N]", "\n")], &args, environment.clone()).ended(130);
    drafting.is_untouched(&no);
    assert!(no.stdout.contains("nothing was written"), "{no}");
    let ran = typed_with(&drafting.repo, &[("write these 4 files? [y/N]", "y\n")], &args, environment).ended(0);
    for part in [
        "drafting    claude reads a copy of the repository; the checkout is not touched\n",
        "ok    metric   right is 7, from the scorer's line `METRIC right=7`\n",
        "ok    guard    passed: `sh test_sum.sh`\n",
        "measured    right 7, the same each time, in 5 trials of ",
        "    [agent]\n    use = [\"claude\", \"tuner\"]\n",
        "+++ b/bench/score.sh\n+right=0\n",
        "note        claude wrote this exam and would sit it, too",
        "wrote       bench/run.sh\n",
        "next        git add bench/run.sh bench/score.sh program.md overnight.toml && git commit, then overnight check\n",
    ] {
        assert!(ran.stdout.contains(part), "{part}\n{ran}");
    }
    let triplet = drafting.repo.read("overnight.toml");
    assert_eq!(triplet, format!("{TRIPLET}\n[agent]\nuse = [\"claude\", \"tuner\"]\n"));
    assert_eq!(drafting.repo.read("bench/score.sh"), SCORE);
    let status = drafting.repo.git(&["status", "--porcelain"]);
    assert_eq!(status, "?? bench/\n?? overnight.toml\n?? program.md", "nothing is committed");
    // It was told what is wanted, and had no key in its prompt.
    let asked = drafting.provider.questions();
    let prompt = asked.first().unwrap().body.to_string();
    assert!(prompt.contains(GOAL) && prompt.contains("OVERNIGHT_SEED") && !prompt.contains(KEY), "{prompt}");
    // The study that was drafted is one.
    drafting.repo.commit("the exam");
    let path = drafting.environment();
    let check = Ran::of(drafting.repo.command(&["check"]).envs(path).output().unwrap());
    check.ended(0);
}

#[test]
fn a_draft_that_edits_the_code_or_the_tests_is_refused() {
    for (path, old, new) in [("sum.sh", "-lt 3", "-lt 9"), ("test_sum.sh", "= 6", "!= 7")] {
        let drafting = Drafting::with(&[edit(path, old, new, "all is well")]);
        let ran = drafting.init(&["--yes"]).ended(3);
        let ran = ran.says(&format!("claude made no draft: it changed `{path}`, and may only add files"));
        drafting.is_untouched(&ran);
    }
}

#[test]
fn a_triplet_with_a_mistake_goes_back_once() {
    let wrong = TRIPLET.replace("\"sum.sh", "\"sums.sh").replace("[evaluate]\n", "[evaluate]\nnetwork = \"full\"\n");
    let mistaken = written(files(&[("overnight.toml", &wrong)]));
    let mended = edit("overnight.toml", "surface = \"sums.sh\"", "surface = \"sum.sh\"", "as it should be");
    // It mends one of two mistakes, and is not asked a third time.
    let drafting = Drafting::with(&[mistaken.clone(), mended]);
    let ran = drafting.init(&["--yes"]).ended(3).says("`evaluate.network` is not for a draft to set: take it out");
    let ran = ran.says("claude was told once what is wrong with its triplet, and did not mend it");
    assert_eq!(drafting.provider.begun(), 2, "{ran}");
    drafting.is_untouched(&ran);
    let both = edit(
        "overnight.toml",
        &wrong[..wrong.find("run =").unwrap()],
        &TRIPLET[..TRIPLET.find("run =").unwrap()],
        "as it should be",
    );
    let drafting = Drafting::with(&[mistaken, both]);
    let ran =
        drafting.init(&["--yes"]).ended(0).says("mending     claude is told what is wrong with overnight.toml, once");
    let told = drafting.provider.questions();
    let has = |text: &str| told.iter().any(|request| request.body.to_string().contains(text));
    assert!(has("surface `sums.sh` is not a file tracked by git") && has("did you mean `sum.sh`?"), "{ran}");
    assert!(drafting.repo.read("overnight.toml").starts_with(TRIPLET), "{ran}");
    assert_eq!(drafting.repo.read("bench/run.sh"), RUN, "what it left alone is still part of the draft");
}

#[test]
fn an_agent_that_writes_nothing_makes_no_draft() {
    let drafting = Drafting::with(&[Idea::Say("I have no idea.".into())]);
    let ran = drafting.init(&["--yes"]).ended(3).says("claude made no draft: it changed nothing");
    drafting.is_untouched(&ran);
    let drafting = Drafting::with(&[Idea::Fail(Failure::Denied)]);
    let ran = drafting.init(&["--yes"]).ended(3).says("claude made no draft: access denied: ");
    drafting.is_untouched(&ran);
}

#[test]
fn whoever_stops_it_in_the_middle_finds_everything_as_it_was() {
    let drafting = Drafting::with(&[Idea::Fail(Failure::Stall)]);
    let engine = drafting.start();
    engine.said("drafting    claude reads");
    crate::support::until("the question", || !drafting.provider.questions().is_empty());
    engine.signal(Signal::INT);
    let ran = engine.wait().ended(130).says("stopped: nothing was written");
    drafting.is_untouched(&ran);
    // In the examination, too.
    let slow = RUN.replace("set -e", "set -e\nsleep 600");
    let drafting = Drafting::with(&[written(files(&[("bench/run.sh", &slow)]))]);
    let engine = drafting.start();
    engine.said("ok    surface  ");
    engine.signal(Signal::TERM);
    let ran = engine.wait().ended(130).says("stopped: nothing was written");
    drafting.is_untouched(&ran);
    // And while the question is open.
    let drafting = Drafting::with(&[written(files(&[]))]);
    let answers = [("write these 4 files? [y/N]", "\u{3}")];
    let ran = typed_with(&drafting.repo, &answers, &Drafting::args("claude"), drafting.environment()).ended(130);
    drafting.is_untouched(&ran);
}

#[test]
fn codex_drafts_as_well() {
    let repo = repo();
    let provider = Provider::start(Script::new(repo.dir().to_str().unwrap(), [written(files(&[]))]));
    let args = [&Drafting::args("codex")[..], &["--yes"]].concat();
    let ran = Ran::of(repo.command(&args).envs(coding::environment("codex", &provider)).output().unwrap()).ended(0);
    assert!(repo.read("overnight.toml").contains("use = [\"codex\", \"tuner\"]"), "{ran}");
}

#[test]
fn a_benchmark_that_no_answer_wins_is_refused() {
    // The fewer the files hold, the better: an empty one is best.
    let short = "surface = \"sum.sh\"\nmetric = { name = \"bytes\", goal = \"min\" }\n[evaluate]\n\
        run = \"echo METRIC bytes=$(wc -c < sum.sh)\"\nbudget = \"20s\"\n";
    // And this one does not look at the surface at all.
    let blind = "surface = \"sum.sh\"\nmetric = { name = \"n\", goal = \"max\" }\n[evaluate]\nrun = \"echo METRIC n=3\"\n\
        budget = \"20s\"\n";
    for (triplet, why) in
        [(short, "null: an empty sum.sh wins: 0 against "), (blind, "null: an empty sum.sh gives the very same number")]
    {
        let repo = repo();
        let before = repo.fingerprint();
        let ran = by_program(&repo, &[("overnight.toml".into(), triplet.into())], "", &["--yes"]).ended(3);
        let ran = ran.says(&format!("the draft of command is no exam: {why}")).says("nothing was written");
        assert_eq!(repo.fingerprint(), before, "{ran}");
    }
}

#[test]
fn a_draft_that_does_not_hold_on_the_tree_as_it_is_is_refused() {
    let guarded = TRIPLET.replace("test_sum.sh", "test_more.sh");
    for (other, why) in [
        (("bench/run.sh", "exit 1\n"), "runs: "),
        (("bench/score.sh", "echo all is well\n"), "metric: "),
        (("overnight.toml", guarded.as_str()), "guard: `sh test_more.sh`: exit code 2; every candidate would fail it"),
    ] {
        let repo = repo();
        let before = repo.fingerprint();
        let ran = by_program(&repo, &files(&[other]), "", &["--yes"]).ended(3);
        let ran = ran.says(&format!("the draft of command is no exam: {why}"));
        assert_eq!(repo.fingerprint(), before, "{ran}");
    }
}

#[test]
fn a_number_that_the_candidate_says_itself_is_warned_of() {
    let run = "set -e\n. ./sum.sh\necho METRIC right=$(total '1 2')\n";
    let triplet = "surface = \"sum.sh\"\nmetric = { name = \"right\", goal = \"max\" }\n[evaluate]\nbudget = \"20s\"\n\
        run = \"sh bench/run.sh\"\n";
    let repo = repo();
    let files = [("bench/run.sh".into(), run.into()), ("overnight.toml".into(), triplet.into())];
    by_program(&repo, &files, "", &["--yes", "--agent", "tuner"]).ended(0).says("warning     trust: cooperative");
    assert_eq!(repo.read("overnight.toml"), triplet, "the tuner needs no line");
}

#[test]
fn what_is_no_new_plain_file_is_refused_by_name() {
    for (more, why) in [
        ("ln -s /etc/passwd bench/cases", "`bench/cases` is a symbolic link"),
        ("rm test_sum.sh", "it changed `test_sum.sh`, and may only add files"),
        ("chmod +x sum.sh", "it changed `sum.sh`, and may only add files"),
        ("cp sum.sh SUM.sh", "it made `SUM.sh`, which others take for `sum.sh`"),
        ("head -c 2000000 /dev/zero > bench/cases", "`bench/cases` is 2000000 bytes long"),
        ("exit 3", "the program ended: exit code 3"),
    ] {
        let repo = repo();
        let before = repo.fingerprint();
        let ran = by_program(&repo, &files(&[]), more, &["--yes"]).ended(3);
        let ran = ran.says("command made no draft: ").says(why);
        assert_eq!(repo.fingerprint(), before, "{more}: {ran}");
    }
    // What tools leave behind is no part of it.
    let repo = repo();
    let litter =
        "mkdir -p .git bench/__pycache__ && touch .git/config bench/__pycache__/x.pyc .notes && chmod +x bench/run.sh";
    by_program(&repo, &files(&[]), litter, &["--yes"]).ended(0);
    assert_eq!(repo.git(&["status", "--porcelain", "-uall", "--ignored"]).lines().count(), 4);
    assert!(rustix::fs::stat(repo.dir().join("bench/run.sh")).unwrap().st_mode & 0o111 != 0);
}

#[test]
fn a_draft_may_not_reach_out_or_choose_who_sits_it() {
    let with = |old: &str, new: &str| TRIPLET.replacen(old, new, 1);
    for (triplet, why) in [
        (with("budget", "inputs = [\"/etc/hostname\"]\nbudget"), "the input `/etc/hostname` is not in this repository"),
        (
            with("budget", "prepare = { run = \"true\", network = \"full\" }\nbudget"),
            "`prepare` may not reach a network",
        ),
        (format!("{TRIPLET}[agent]\nuse = \"tuner\"\n"), "`agent` is not for a draft to set"),
        (format!("{TRIPLET}[sandbox]\nmin = \"none\"\n"), "`sandbox` is not for a draft to set"),
        (
            with("\"sum.sh\"", "[\"sum.sh\", \"bench/run.sh\"]"),
            "the surface has `bench/run.sh`, which the draft itself wrote",
        ),
    ] {
        let repo = repo();
        let ran = by_program(&repo, &files(&[("overnight.toml", &triplet)]), "", &["--yes"]).ended(3);
        // The program does the same again whatever it is told.
        ran.says(why).says("command made no draft: it changed nothing");
        assert!(!repo.dir().join("overnight.toml").exists());
    }
}

#[test]
fn nothing_takes_the_place_of_a_file_that_git_does_not_track() {
    let repo = repo();
    repo.write("bench/run.sh", "mine\n").write("program.md", "My own words.\n");
    let ran = by_program(&repo, &files(&[]), "", &["--yes"]).ended(3);
    ran.says("the draft has `bench/run.sh`, and there is one already that git does not track");
    assert_eq!(repo.read("bench/run.sh"), "mine\n");
    repo.shell("rm -r bench");
    by_program(&repo, &files(&[]), "", &["--yes"]).ended(0).says("left        program.md as it is");
    assert_eq!(repo.read("program.md"), "My own words.\n");
    by_program(&repo, &files(&[]), "", &["--yes"]).ended(3).says("overnight.toml is there already");
}

#[test]
fn where_nobody_can_be_asked_a_draft_is_shown_and_not_written() {
    let repo = repo();
    let before = repo.fingerprint();
    let ran = by_program(&repo, &files(&[]), "", &[]).ended(3).says("nothing was written: run it on a terminal");
    assert!(ran.stdout.contains("\novernight.toml:\n\n    surface = \"sum.sh\"\n"), "{ran}");
    assert!(ran.stdout.contains("+++ b/bench/run.sh\n+set -e\n"), "{ran}");
    assert_eq!(repo.fingerprint(), before);
}

#[test]
fn a_study_below_the_top_is_drafted_where_it_is() {
    let repo = Repo::empty();
    repo.write("kit/sum.sh", SUM).write("kit/test_sum.sh", TEST).write("other.py", "").commit("a program");
    let all = files(&[]);
    let ran = by_program(&repo, &all, "", &["--yes", "-C", "kit"]).ended(0);
    assert!(repo.dir().join("kit/overnight.toml").exists() && repo.dir().join("kit/bench/run.sh").exists(), "{ran}");
    let ran = ran.says("next        git add bench/run.sh bench/score.sh program.md overnight.toml && git commit, then");
    repo.commit("the exam");
    let renamed = all.iter().map(|(path, text)| (path.replace("overnight.toml", "overnight/more.toml"), text.clone()));
    let renamed: Vec<(String, String)> = renamed.filter(|(path, _)| path.starts_with("overnight")).collect();
    by_program(&repo, &renamed, "", &["--yes", "-C", "kit", "--study", "more"])
        .ended(0)
        .says("then overnight check --study more");
    assert!(repo.dir().join("kit/overnight/more.toml").exists(), "{ran}");
}

#[test]
fn words_without_a_reader_and_a_reader_without_words_are_refused() {
    let repo = repo();
    let before = repo.fingerprint();
    let ran = repo.overnight(&["init", GOAL, "--yes"]).ended(2).says("is for an agent to read, and none is named");
    ran.says("lets it draft the study");
    repo.overnight(&["init", "--with", "claude"]).ended(2).says("nothing says what is to become better");
    repo.overnight(&["init", GOAL, "--with", "clod"])
        .ended(2)
        .says("there is no agent `clod` that could draft a study");
    repo.overnight(&["init", "--model", "x"]).ended(2).says("--with <NAME>");
    let path = |args: &[&str]| Ran::of(repo.command(args).env("PATH", "/usr/bin:/bin").output().unwrap());
    path(&["init", GOAL, "--with", "claude"]).ended(2).says("npm install -g @anthropic-ai/claude-code");
    assert_eq!(repo.fingerprint(), before);
}

#[test]
fn without_a_sandbox_it_has_to_be_accepted_by_name() {
    let repo = repo();
    let ran = by_program(&repo, &files(&[]), "", &["--yes", "--sandbox", "none"]).ended(0);
    ran.says("sandbox none");
    assert!(repo.read("overnight.toml").starts_with(TRIPLET));
}
