//! `overnight demo`: a whole study in a folder of its own, in which every villain fails for the right reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::support::{Json, Ran, Repo};

const LABELS: &str = "villain: a search for the labels";

/// A demonstration, made by whoever the repository belongs to.
struct Demo {
    repo: Repo,
    dir: PathBuf,
    screen: Ran,
}

impl Demo {
    fn run(repo: Repo, more: &[&str]) -> Demo {
        let dir = repo.outside("demo");
        let mut arguments = vec!["demo", dir.to_str().unwrap(), "--quick"];
        arguments.extend(more);
        let screen = repo.ok(&arguments);
        Demo { repo, dir, screen }
    }

    fn overnight(&self, arguments: &[&str]) -> Ran {
        let mut all = vec!["-C", self.dir.to_str().unwrap()];
        all.extend(arguments);
        self.repo.ok(&all)
    }

    fn rows(&self) -> Vec<Json> {
        let log = self.overnight(&["log", "--json"]).stdout;
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What each villain came to.
    fn villains(&self) -> BTreeMap<String, (String, Json)> {
        let rows = self.rows().into_iter().filter(|row| row["agent"] == "villain");
        let text = |value: &Json| value.as_str().unwrap_or("null").to_owned();
        rows.map(|row| (text(&row["description"]), (text(&row["verdict"]), row))).collect()
    }

    /// Asserts what must hold on every tier.
    #[track_caller]
    fn assert_refused(&self, tier: &str) {
        let (whose, found) = (self.repo.whose(), self.villains());
        let mut wanted = vec![
            ("villain: a lucky seed", "discarded"),
            ("villain: a model that is code", "invalid_metric"),
            ("villain: a run that never ends", "timed_out"),
            ("villain: prints val_bpb: 0.0", "discarded"),
        ];
        wanted.extend((tier != "none").then_some((LABELS, "crashed")));
        wanted.sort_unstable();
        let verdicts: Vec<_> = found.iter().map(|(name, (verdict, _))| (name.as_str(), verdict.as_str())).collect();
        assert_eq!(verdicts, wanted, "{whose} on {tier}\n{}", self.screen);
        let kept = self.rows().iter().filter(|row| row["verdict"] == "kept").count();
        let luck = format!(" · kept: {kept}");
        let said = [
            "it said 0, the scorer measured 8",
            "the child it had started is gone too",
            "ran none of it: model.json is not JSON",
            "luck       first runs that beat the champion: ",
            &luck,
            "gain       ",
            "overnight/main at ",
            &format!("trust: separated · sandbox {tier}"),
            &format!("cd {}", self.dir.display()),
        ];
        for said in said {
            assert!(self.screen.stderr.contains(said), "`{said}` {whose} on {tier}\n{}", self.screen);
        }
        let claimed = &found["villain: prints val_bpb: 0.0"].1;
        assert_eq!(claimed["metric"], 8.0, "a model of nothing is a model in which every byte is equal");
        self.overnight(&["verify"]);
        let branch = self.repo.git(&["-C", self.dir.to_str().unwrap(), "rev-parse", "overnight/main"]);
        let status: Json = serde_json::from_str(&self.overnight(&["status", "--json"]).stdout).unwrap();
        assert_eq!((&status["champion"]["commit"], &status["sandbox"]), (&branch.into(), &tier.into()));
        assert_eq!(self.repo.strays(), Vec::<u32>::new(), "{whose} on {tier}");
    }
}

#[test]
fn a_demo_ends_with_every_villain_refused_whoever_runs_it() {
    for repo in Repo::everybodys() {
        let demo = Demo::run(repo, &[]);
        demo.assert_refused("standard");
        assert!(demo.screen.stderr.contains("no labels: looked where they are in the checkout"), "{}", demo.screen);
        assert!(!demo.screen.stderr.contains("not held"), "{}", demo.screen);
        let mut names: Vec<_> = fs::read_dir(&demo.dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        let wanted =
            [".git", ".overnight", "collect.py", "data", "overnight.toml", "program.md", "score.py", "train.py"];
        assert_eq!(names, wanted);
        // The same folder is not used twice.
        let again = demo.repo.overnight(&["demo", demo.dir.to_str().unwrap()]);
        again.ended(2).says("is not empty").says("hint: name a new folder");
    }
}

#[test]
fn a_demo_on_landlock_says_what_it_could_not_enforce() {
    // Root's commands must not run as root there, and the folder of a test is root's alone.
    let repo = Repo::everybodys().pop().unwrap();
    let demo = Demo::run(repo, &["--sandbox", "landlock"]);
    demo.assert_refused("landlock");
    assert!(demo.screen.stderr.contains("not held   candidates share users"), "{}", demo.screen);
}

#[test]
fn without_a_sandbox_the_search_for_labels_is_not_run_because_it_would_win() {
    let demo = Demo::run(Repo::empty(), &["--sandbox", "none"]);
    demo.assert_refused("none");
    assert!(!demo.screen.stderr.contains("only it can see"), "{}", demo.screen);
    for said in ["a search for the labels is not run: nothing", "not held   candidates run as you"] {
        assert!(demo.screen.stderr.contains(said), "`{said}`\n{}", demo.screen);
    }
    let train = fs::read_to_string(demo.dir.join("train.py")).unwrap();
    let villain = fs::read_to_string(assets().join("villains/labels.py")).unwrap();
    let (honest, _) = train.split_once("if __name__").unwrap();
    let villain = villain.replace("@CHECKOUT@", demo.dir.to_str().unwrap());
    let file = demo.repo.outside("labels.py");
    fs::write(&file, format!("{honest}{villain}")).unwrap();
    let arguments = ["try", "--file", file.to_str().unwrap(), "-m", "labels", "--json", "--sandbox", "none"];
    let row: Json = serde_json::from_str(&demo.overnight(&arguments).stdout).unwrap();
    assert_eq!(row["verdict"], "kept", "{row}");
    assert!(row["metric"].as_f64().unwrap() < 1.0, "{row}");
}

#[test]
fn an_interrupted_demo_says_how_to_go_on_and_does() {
    let repo = Repo::empty();
    let dir = repo.outside("demo");
    let engine = repo.start(&["demo", dir.to_str().unwrap(), "--quick"]);
    engine.said("  baseline  ");
    engine.signal(Signal::INT);
    let ran = engine.wait().ended(130).says("stopped by a person").says(&format!("next       cd {}", dir.display()));
    assert!(!ran.stderr.contains("gain       "), "{ran}");
    let demo = Demo { repo, dir, screen: ran };
    demo.overnight(&["run", "--no-tui", "--experiments", "1"]);
    demo.overnight(&["verify"]);
}

#[test]
fn a_demo_without_git_or_python_says_what_to_install_and_makes_nothing() {
    let repo = Repo::empty();
    let (dir, tools) = (repo.outside("demo"), repo.outside("tools"));
    fs::create_dir(&tools).unwrap();
    let run = || Ran::of(repo.command(&["demo", dir.to_str().unwrap()]).env("PATH", &tools).output().unwrap());
    run().ended(2).says("`git` cannot be run").says("install git");
    std::os::unix::fs::symlink("/bin/true", tools.join("git")).unwrap();
    run().ended(2).says("`python3` cannot be run").says("install Python 3");
    assert!(!dir.exists());
}

#[test]
fn the_scorer_takes_no_table_that_is_not_counts_and_every_table_adds_up_to_one() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("test.py"), TABLES).unwrap();
    let ran = Command::new("python3").arg("test.py").current_dir(&temp).env("PYTHONPATH", assets()).output().unwrap();
    Ran::of(ran).ended(0).says("36 refused, 3 added up");
}

fn assets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("demo")
}

/// Every way to be no table, and the sums of some that are as odd as a table may be.
const TABLES: &str = r#"
import json, random, sys
sys.dont_write_bytecode = True
import score

GOOD = {"discount": [0.5, 0.5], "strength": [1, 1], "counts": [{"a": 3, "b": 1}, {"ab": 2}]}
WRONG = ["", "{", "[]", "null", "0", '"text"', "NaN", '{"counts": NaN}', "{}", "[" * 100000, b"\x80\x04K\x00."]
for key, values in {
    "discount": [[], [0.5], [-0.1, 0.5], [1.5, 0.5], [0.5, "0"], [0.5, None], [True, 0.5], [[], 0], {}, 0.5],
    "strength": [[0, 1], [-1, 1], [1e308, 1], ["1", 1], [10**400, 1]],
    "counts": [
        [{}], [{}, []], [{"a": -1}, {}], [{"a": 0}, {}], [{"a": 1.5}, {}], [{"a": "1"}, {}],
        [{"a": 10**12}, {}], [{"ab": 1}, {}], [{"\u20ac": 1}, {}],
    ],
}.items():
    WRONG += [json.dumps({**GOOD, key: value}) for value in values]
WRONG.append(json.dumps({**GOOD, "more": 1}))
refused = 0
for text in WRONG:
    with open("model.json", "wb") as file:
        file.write(text if type(text) is bytes else text.encode())
    try:
        score.read("model.json")
        print("accepted:", text[:100])
    except score.Refused:
        refused += 1

draw = random.Random(7)
letters = [chr(n) for n in range(256)]
added_up = 0
for discount, strength, largest in ((0, 0.001, 10**9), (1, 0.001, 1), (0.7, 1e6, 1000)):
    counts = []
    for order in range(3):
        grams = {"".join(draw.choices("abc\xff", k=order + 1)) for _ in range(40)}
        counts.append({gram: draw.randint(1, largest) for gram in grams})
    model = {"discount": [discount] * 3, "strength": [strength] * 3, "counts": counts}
    with open("model.json", "w") as file:
        json.dump(model, file)
    tables = score.read("model.json")
    sums = [sum(score.probabilities(tables, before + c)[-1] for c in letters) for before in ("", "a", "ab", "bca", "\xff\xff")]
    added_up += all(abs(total - 1) < 1e-9 for total in sums)
print(f"{refused} refused, {added_up} added up")
"#;
