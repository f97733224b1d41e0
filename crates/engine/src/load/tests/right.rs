//! Files that are right, and what holds of every file.

use std::collections::BTreeMap;

use overnight_model::call::account::Allowance;
use overnight_model::spec::{
    AgentKind, AgentSpec, Check, Coding, Devices, Evaluate, Guard, Holdout, Input, JudgeSpec, KeySource, Layer, Limit,
    Limits, Member, Metric, Mode, Network, NotifySpec, Occasion, Part, Patience, Pick, Prepare, Preset, SandboxSpec,
    Scorer, Shape, Smoke, Spec, StepGain, Surface, SurfaceFile, Tier, Webhook, When,
};
use overnight_model::units::{Goal, Millis, Score};
use proptest::prelude::*;

use super::super::keys::{Key, SECTIONS};
use super::parse_in;

const EVERY_KEY: &str = r#"
program = "./program.md"

[[surface]]
path = "train.py"
above = "DO NOT EDIT"
max_lines_changed = 40
[[surface]]
path = ["src/*.py", "app/[id]/page.tsx"]

[metric]
name = "val_bpb"
goal = "max"
source = "output"
min_gain = 0.001
target = 2
plausible = [-1, 3.5]
pick = "last"

[evaluate]
run = "python3 train.py"
budget = 90
kill = "1h30m"
env = { PYTHONHASHSEED = "0" }
score = { run = "python3 score.py", kill = "2m" }
hidden = ["score.py", "labels/**"]
inputs = [".venv", { path = "~/data", content = true }]
prepare = { run = "make", network = "full" }
smoke = { run = "make check", kill = "5s" }
network = "full"
warm = true

[[guard]]
run = "pytest -q"
when = "first"
[[guard]]
metric = "peak_mb"
max = 8000
[[guard]]
metric = "loss"
max_regression = 0.05

[agent]
use = ["command"]
command = "./propose.sh"
timeout = "2m"
network = "none"
ahead = 3
brief_tokens = 8000
repairs = 0
context = ["./papers/*.md"]

[judge]
mode = "strict"
max_share = 0.25
max_step_gain = "30%"

[sandbox]
min = "landlock"
layer = "disk"
memory = "8 GiB"
disk = "500MB"
pids = 512
devices = ["/dev/nvidia0"]

[holdout]
score = { run = "python3 test.py", kill = "10m" }
files = ["prepare.py", "/mnt/corpus"]
budget = 3

[slots]
count = 4

[limits]
wall = "8h"
experiments = 100
no_gain_for = "2h"
cost_usd = 5
tokens = 2000000
[limits.total]
wall = "2d"
experiments = 1000
no_gain_for = 50
cost_usd = 50.5
[limits.proposal]
cost_usd = 0.5
[limits.trial]
tokens = 9000

[notify]
on = ["fault", "champion"]
command = "./tell.sh"
desktop = true
webhook_env = "SLACK_URL"
shape = "slack"
gather = "5m"
"#;

const SHORT: &str = r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
[evaluate]
run = "python3 train.py"
budget = "5m"
"#;

fn score(value: f64) -> Score {
    Score::new(value).unwrap()
}

fn file(path: &str) -> SurfaceFile {
    SurfaceFile { path: path.to_owned(), part: Part::Whole }
}

#[test]
fn every_supported_key_is_read() {
    let guard = |check, when| Guard { check, when };
    let number = |metric: &str, max: Option<f64>, max_regression: Option<f64>| Check::Number {
        metric: metric.to_owned(),
        max: max.map(score),
        max_regression: max_regression.map(score),
    };
    let expected = Spec {
        study: "speed".to_owned(),
        surface: Surface {
            files: vec![
                SurfaceFile { path: "lab/train.py".to_owned(), part: Part::Above("DO NOT EDIT".to_owned()) },
                file("lab/src/a.py"),
                file("lab/src/b.py"),
                file("lab/app/[id]/page.tsx"),
            ],
            max_lines_changed: Some(40),
        },
        program: "program.md".to_owned(),
        metric: Metric {
            name: "val_bpb".to_owned(),
            goal: Goal::Max,
            min_gain: Some(score(0.001)),
            target: Some(score(2.0)),
            plausible: Some((score(-1.0), score(3.5))),
            pick: Pick::Last,
        },
        evaluate: Evaluate {
            run: "python3 train.py".to_owned(),
            budget: Millis::seconds(90),
            kill: Millis::seconds(5400),
            env: BTreeMap::from([("PYTHONHASHSEED".to_owned(), "0".to_owned())]),
            folder: "lab".to_owned(),
            score: Some(Scorer { run: "python3 score.py".to_owned(), kill: Millis::seconds(120) }),
            hidden: vec!["lab/labels/test.csv".to_owned(), "lab/score.py".to_owned()],
            inputs: vec![
                Input { path: ".venv".to_owned(), content: false },
                Input { path: "~/data".to_owned(), content: true },
            ],
            prepare: Some(Prepare { run: "make".to_owned(), network: Network::Full }),
            smoke: Some(Smoke { run: "make check".to_owned(), kill: Millis::seconds(5) }),
            network: Network::Full,
            warm: true,
        },
        holdout: Some(Holdout {
            score: Scorer { run: "python3 test.py".to_owned(), kill: Millis::seconds(600) },
            files: vec!["prepare.py".to_owned(), "/mnt/corpus".to_owned()],
            tracked: vec!["lab/prepare.py".to_owned()],
            budget: 3,
        }),
        guards: vec![
            guard(Check::Run("pytest -q".to_owned()), When::First),
            guard(number("peak_mb", Some(8000.0), None), When::BeforeKeep),
            guard(number("loss", None, Some(0.05)), When::BeforeKeep),
        ],
        judge: JudgeSpec { mode: Mode::Strict, max_share: 0.25, max_step_gain: Some(StepGain::Share(0.3)) },
        agent: AgentSpec {
            members: vec![Member {
                name: "command".to_owned(),
                kind: AgentKind::Command("./propose.sh".to_owned()),
                timeout: Millis::seconds(120),
                network: Network::None,
                weight: None,
            }],
            ahead: 3,
            brief_tokens: 8_000,
            repairs: 0,
            context: vec!["papers/*.md".into()],
        },
        sandbox: SandboxSpec {
            min: Tier::Landlock,
            layer: Layer::Disk,
            memory: Some(8 << 30),
            disk: Some(500_000_000),
            pids: Some(512),
            devices: Devices::List(vec!["/dev/nvidia0".to_owned()]),
        },
        gateway: Default::default(),
        slots: 4,
        limits: Limits {
            night: Limit {
                wall: Some(Millis::seconds(8 * 3600)),
                experiments: Some(100),
                no_gain_for: Some(Patience::Time(Millis::seconds(7200))),
                spend: Allowance { cost_usd: Some(5.0), tokens: Some(2_000_000) },
            },
            total: Limit {
                wall: Some(Millis::seconds(48 * 3600)),
                experiments: Some(1000),
                no_gain_for: Some(Patience::Experiments(50)),
                spend: Allowance { cost_usd: Some(50.5), tokens: None },
            },
            proposal: Allowance { cost_usd: Some(0.5), tokens: None },
            trial: Allowance { cost_usd: None, tokens: Some(9000) },
        },
        notify: NotifySpec {
            on: vec![Occasion::Champion, Occasion::Fault],
            command: Some("./tell.sh".to_owned()),
            desktop: true,
            webhook: Some(Webhook { address: KeySource::Variable("SLACK_URL".to_owned()), shape: Some(Shape::Slack) }),
            gather: Millis::seconds(300),
        },
    };
    assert_eq!(parse_in("lab", EVERY_KEY), Ok(expected));
}

#[test]
fn five_lines_are_enough() {
    let spec = parse_in("", SHORT).unwrap();
    assert_eq!(spec.surface.files, [file("train.py")]);
    assert_eq!(spec.program, "program.md");
    assert_eq!(spec.evaluate.kill, Millis::seconds(600));
    let timeout = Millis::seconds(600);
    assert_eq!(
        spec.agent,
        AgentSpec { ahead: 1, repairs: 1, ..AgentSpec::one(AgentKind::Tuner, timeout, Network::Full) }
    );
    assert_eq!(spec.evaluate, Evaluate::new("python3 train.py", Millis::seconds(300)));
    assert_eq!(spec.sandbox, SandboxSpec::default());
    assert_eq!(spec.sandbox.min, Tier::Standard);
    assert_eq!((spec.slots, spec.limits, spec.guards), (1, Limits::default(), vec![]));
}

#[test]
fn a_surface_may_be_written_in_every_way() {
    for (written, paths) in [
        ("[\"train.py\", \"prepare.py\"]", &["train.py", "prepare.py"][..]),
        ("\"src/?.py\"", &["src/a.py", "src/b.py"]),
        ("\"src/**\"", &["src/a.py", "src/b.py"]),
        ("\"./train.py\"", &["train.py"]),
        ("{ path = \"train.py\", below = \"# model\", max_lines_changed = 40 }", &["train.py"]),
        ("[\"prepare.py\", { path = \"train.py\" }]", &["prepare.py", "train.py"]),
    ] {
        let spec = parse_in("", &SHORT.replace("\"train.py\"", written)).unwrap();
        assert_eq!(spec.surface.paths().collect::<Vec<_>>(), paths, "{written}");
    }
}

#[test]
fn a_coding_agent_has_a_model_arguments_and_tools() {
    let agent = |text: &str| parse_in("", &format!("{SHORT}{text}")).map(|spec| spec.agent.members[0].kind.clone());
    let claude = agent("[agent]\nuse = \"claude\"\nmodel = \"m\"\nargs = [\"-x\"]\ntools = [\"Read\"]\n").unwrap();
    let expected =
        Coding { preset: Preset::Claude, model: Some("m".into()), args: vec!["-x".into()], tools: vec!["Read".into()] };
    assert_eq!(claude, AgentKind::Coding(expected));
    let mini = agent("[agent]\nuse = [\"mini-swe-agent\"]\n").unwrap();
    assert_eq!(mini, AgentKind::Coding(Coding::new(Preset::Mini)));
}

#[test]
fn every_key_that_is_for_later_is_refused_by_name() {
    let mut refused = 0;
    for (section, keys) in SECTIONS {
        for (key, _) in keys.iter().filter(|(_, key)| *key != Key::Works) {
            let (text, name) = match *section {
                "" => (format!("[{key}]\n"), format!("[{key}]")),
                section => (format!("[{section}]\n{key} = 1\n"), format!("{section}.{key}")),
            };
            let problems = parse_in("", &text).unwrap_err();
            let message = format!("`{name}` is not yet supported");
            assert!(problems.list.iter().any(|problem| problem.message == message), "{problems}");
            refused += 1;
        }
    }
    assert_eq!(refused, 5);
}

/// Text that comes near enough to a real file to reach every reader.
fn near_miss() -> impl Strategy<Value = String> {
    let lines: Vec<String> = EVERY_KEY.lines().map(str::to_owned).collect();
    let mut pieces: Vec<String> = lines;
    for (section, keys) in SECTIONS {
        pieces.push(format!("[{section}]"));
        for (key, _) in *keys {
            for value in ["-1", "\"é\"", "[]", "{}", "[[1], \"*\"]", "1e400", "99999999999999999999", "0xff"] {
                pieces.push(format!("{key} = {value}"));
            }
        }
    }
    let line = prop_oneof![4 => prop::sample::select(pieces), 1 => ".{0,20}"];
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in any::<String>()) {
        let _ = parse_in("", &text).map_err(|problems| problems.to_string());
    }

    #[test]
    fn a_file_is_read_or_refused_for_a_reason(text in near_miss()) {
        if let Err(problems) = parse_in("lab", &text) {
            prop_assert!(!problems.list.is_empty());
            prop_assert!(problems.to_string().starts_with("error: "));
        }
    }

    #[test]
    fn a_file_with_a_piece_cut_out_is_read_or_refused(start in 0usize..1000, length in 1usize..40) {
        let end = (start + length).min(EVERY_KEY.len());
        let text = [&EVERY_KEY[..start.min(end)], &EVERY_KEY[end..]].concat();
        if let Err(problems) = parse_in("", &text) {
            prop_assert!(!problems.list.is_empty());
        }
    }
}
