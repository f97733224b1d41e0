//! The simulated agents, evaluations and guards: everything they do follows from contents and a seed.

use std::collections::BTreeMap;

use overnight_engine::dispatch::Captured;
use overnight_model::call::bill::Called;
use overnight_model::call::{Call, CallEnd, CallId, CallOutcome, Caller, Protocol, Tokens};
use overnight_model::event::{AttemptFailure, Reviewed, Trouble};
use overnight_model::measure::Usage;
use overnight_model::metric::MetricError;
use overnight_model::proposal::Contents;
use overnight_model::{Ending, ExperimentId, Goal, Measurement, Millis, Score, Timestamp, Verdict};

use super::random::Random;
use super::setup::Setup;

/// What an agent comes back with.
pub enum Answer {
    Proposal { contents: Contents, description: String },
    Failed(AttemptFailure),
}

/// The agent of a team that finds nothing, and whose provider is down now and then.
pub const BAD: &str = "bad";

/// The agent of a team that finds most.
pub const GOOD: &str = "good";

/// A call that reached nobody, as the gateway records it. Whoever made it is a program that knows nothing of providers.
pub fn unreached(id: u64, agent: &str, experiment: ExperimentId) -> (Called, Answer) {
    let call = Call {
        id: CallId(id),
        caller: Caller::Agent { name: agent.to_owned(), experiment },
        provider: "here".to_owned(),
        protocol: Protocol::Messages,
        model: "fake-model".to_owned(),
        bytes: 1000,
        most_output: Some(1000),
        most_input: None,
        tier: None,
        answers: 1,
    };
    let outcome = CallOutcome {
        end: CallEnd::Unreached,
        status: None,
        model: None,
        tokens: Tokens::default(),
        trouble: Some(Trouble::Outage),
        replayed: false,
        wall: Millis(1200),
        first_byte: None,
        trace: None,
    };
    let called = Called { call, outcome, cost_usd: Some(0.0), subscription: false, at_most: None, limit: None };
    (called, Answer::Failed(AttemptFailure::error("the agent ended: exit code 1")))
}

/// What comes of asking a provider that is down.
pub fn provider_down(now: Timestamp, random: &mut Random) -> Answer {
    let trouble = match random.below(3) {
        0 => Trouble::Outage,
        1 => Trouble::RateLimit { retry_at: None },
        _ => Trouble::RateLimit { retry_at: Some(Timestamp(now.0 + 1000 * random.below(1800) as i64)) },
    };
    Answer::Failed(AttemptFailure::Error { what: "try again later".to_owned(), trouble: Some(trouble) })
}

/// Asks the simulated agent. The same question to the same champion gets the same answer.
pub fn propose(setup: &Setup, agent: &str, experiment: ExperimentId, champion: &Contents, past: &[Contents]) -> Answer {
    if agent == BAD {
        let dull = Setup { team: false, flat: true, ..setup.clone() };
        return propose(&dull, "", experiment, champion, past);
    }
    let mut random = Random::of(setup.seed ^ experiment.0.wrapping_mul(0x9E37), &joined(champion));
    let description = match random.below(8) {
        0 => String::new(),
        1 => "a very long story ".repeat(40),
        2 => "odd \u{1b}[31m\0 signs → ünïcode\nand a second line".to_owned(),
        _ => format!("idea {experiment}"),
    };
    let dice = random.below(100);
    if setup.faults.bad_agent {
        let failed = |what: &str| Answer::Failed(AttemptFailure::error(what));
        match dice {
            0..2 => return failed("exit code 1"),
            2..3 => return failed("killed at its limit of 10m"),
            3..5 => return Answer::Failed(AttemptFailure::NoChange),
            5..8 => return Answer::Proposal { contents: champion.clone(), description },
            8..14 if !past.is_empty() => {
                return Answer::Proposal { contents: random.pick(past).clone(), description };
            }
            14..15 => {
                let what = "`README.md` was changed, but is locked".to_owned();
                return Answer::Failed(AttemptFailure::Policy { what });
            }
            15..18 => return Answer::Proposal { contents: too_far(champion), description },
            _ => {}
        }
        if random.one_in(400) {
            return Answer::Failed(AttemptFailure::Exhausted { what: "no further idea".to_owned() });
        }
    }
    let is_lucky = setup.lucky > 0 && experiment.0 % 150 == setup.lucky;
    Answer::Proposal { contents: edited(setup, champion, is_lucky, &mut random), description }
}

/// Asks the simulated agent to repair what crashed at once. The same question gets the same answer.
pub fn repair(setup: &Setup, experiment: ExperimentId, crashed: &Contents, past: &[Contents]) -> Answer {
    let mut random = Random::of(setup.seed ^ experiment.0.wrapping_mul(0x4E9A), &joined(crashed));
    let description = if random.one_in(3) { String::new() } else { "mended".to_owned() };
    match random.below(12) {
        0 => return Answer::Failed(AttemptFailure::error("the provider is down")),
        1 => return Answer::Failed(AttemptFailure::NoChange),
        2 => return Answer::Proposal { contents: crashed.clone(), description },
        3 => return Answer::Proposal { contents: too_far(crashed), description },
        4 if !past.is_empty() => return Answer::Proposal { contents: random.pick(past).clone(), description },
        _ => {}
    }
    let mode = if random.one_in(4) { "crash" } else { "ok" };
    let mut contents = crashed.clone();
    for (_, bytes) in &mut contents.0 {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let lines = text.split_inclusive('\n').map(|line| match line.starts_with("mode = ") {
            true => format!("mode = \"{mode}\"\n"),
            false => line.to_owned(),
        });
        *bytes = lines.collect::<String>().into_bytes();
    }
    Answer::Proposal { contents, description }
}

/// The settings of the surface; the last one lies in the second file.
const NAMES: [&str; 7] = ["lr", "wd", "beta", "clip", "warm", "decay", "depth"];

/// One or two numbers moved, and at times a program that misbehaves.
pub fn edited(setup: &Setup, champion: &Contents, is_lucky: bool, random: &mut Random) -> Contents {
    let mut contents = champion.clone();
    let mode = match random.below(100) {
        dice if !setup.faults.bad_candidates || dice >= 30 => "ok",
        0..3 => "crash",
        3 => "typo",
        4..6 => "signal",
        6..9 => "hang",
        9..12 => "missing",
        12..14 => "nan",
        14..16 => "conflict",
        16..20 => "huge",
        20..22 => "minus huge",
        22..25 => "flaky",
        25..27 => "guard",
        27 => "bold",
        28 => "far",
        _ => "hungry",
    };
    let mode = match mode {
        "ok" if setup.faults.slips && random.one_in(4) => *random.pick(&["crash", "typo"]),
        "ok" if is_lucky => "lucky",
        "ok" if setup.flat => "dull",
        mode => mode,
    };
    let names: Vec<&str> = match (setup.many_lines, setup.two_files) {
        (false, false) => vec!["lr"],
        (false, true) => vec!["lr", "depth"],
        (true, two_files) => {
            let known = if two_files { &NAMES[..] } else { &NAMES[..NAMES.len() - 1] };
            let first = *random.pick(known);
            if random.one_in(4) { vec![first, *random.pick(known)] } else { vec![first] }
        }
    };
    for (path, bytes) in &mut contents.0 {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let change = |name: &str, random: &mut Random| {
            let old = number(&text, name).unwrap_or(0.5);
            let new = (old + random.normal() * 0.05).clamp(0.0, 9.0);
            (name.to_owned(), format!("{name} = {new:.6}"))
        };
        let here = names.iter().filter(|name| (**name == "depth") != (path == "train.py"));
        let mut new: Vec<_> = here.map(|name| change(name, random)).collect();
        new.push(("mode".to_owned(), format!("mode = \"{mode}\"")));
        let lines = text.split_inclusive('\n').map(|line| {
            let found = new.iter().find(|(name, _)| line.starts_with(&format!("{name} = ")));
            found.map_or_else(|| line.to_owned(), |(_, new)| format!("{new}\n"))
        });
        *bytes = lines.collect::<String>().into_bytes();
    }
    contents
}

/// More lines than allowed, and the locked part too: refused where the surface has a marker, else harmless.
fn too_far(champion: &Contents) -> Contents {
    let mut contents = champion.clone();
    contents.0[0].1.extend_from_slice(b"# one\n# two\n# three\n# four\n# five\n# six\n# seven\n");
    contents
}

/// Runs the simulated evaluation: `nth` is how many trials of these contents were recorded before, `stands` whether they
/// were kept, `shift` by how much the machine is another one by now.
pub fn measure(
    setup: &Setup,
    contents: &Contents,
    (nth, stands): (usize, bool),
    shift: f64,
    wall: Millis,
) -> (Measurement, Option<Captured>) {
    let text = String::from_utf8_lossy(&joined(contents)).into_owned();
    let mut random = Random::of(setup.seed ^ (nth as u64 + 1).wrapping_mul(0xABCD_EF01), text.as_bytes());
    let mode = text.lines().find_map(|line| line.strip_prefix("mode = ")).unwrap_or("\"ok\"").trim_matches('"');
    let mode = match mode {
        "flaky" => *random.pick(&["ok", "crash", "missing", "hang"]),
        mode => mode,
    };
    // A slip shows at once, more often than not.
    let wall = if mode == "crash" && random.one_in(2) { Millis(wall.0 / 20) } else { wall };
    let usage = Usage { wall, cpu: Millis(wall.0 / 2), peak_bytes: 100 << 20 };
    let memory = if mode == "hungry" { 1000.0 } else { 200.0 + random.unit() };
    let numbers: BTreeMap<String, Score> = [("memory".to_owned(), Score::new(memory).expect("finite"))].into();
    let spread = setup.noise * random.normal();
    let jitter = if setup.jitter > 0 && random.one_in(setup.jitter) { 1e-4 * random.normal() } else { 0.0 };
    // Luck is a thing of the past as soon as something was chosen for it.
    let luck = match (mode, stands) {
        ("lucky", false) => -3.0 * setup.noise,
        ("lucky", true) => 2.0 * setup.noise,
        ("dull", _) => 4.0 * setup.noise,
        _ => 0.0,
    };
    let scale = if setup.flat { 0.02 } else { 1.0 };
    let quality = scale * quality(&text) + spread + jitter + shift + luck;
    let value = match setup.goal {
        Goal::Min => 1.0 + quality,
        Goal::Max => 9.0 - quality,
    };
    let name = "loss".to_owned();
    let (ending, metric, problem) = match mode {
        "crash" | "typo" => (Ending::Exited { code: 1 }, None, None),
        "signal" => (Ending::Signaled { signal: 11 }, None, None),
        "hang" => (Ending::TimedOut { after: Millis(90_000) }, None, None),
        "missing" => {
            let seen = vec!["memory".to_owned()];
            (Ending::Exited { code: 0 }, None, Some(MetricError::Missing { name, seen }))
        }
        "nan" => {
            let problem = MetricError::NotFinite { name, text: "nan".to_owned() };
            (Ending::Exited { code: 0 }, None, Some(problem))
        }
        "conflict" => {
            let problem = MetricError::Conflict { name, first: value, second: value + 1e-9 };
            (Ending::Exited { code: 0 }, None, Some(problem))
        }
        // Too good for what is plausible: a person has to look. Where nothing is, it is a program like any other.
        "bold" if setup.plausible => {
            let value = if setup.goal == Goal::Min { -0.5 } else { 10.5 };
            (Ending::Exited { code: 0 }, Score::new(value), None)
        }
        // Far worse than anything, and yet a number like any other.
        "far" if !setup.plausible => {
            let value = if setup.goal == Goal::Min { 1e30 } else { -1e30 };
            (Ending::Exited { code: 0 }, Score::new(value * (1.0 + spread)), None)
        }
        // A liar's numbers: finite, but their differences and squares are not.
        "huge" => (Ending::Exited { code: 0 }, Score::new(f64::MAX * (1.0 - spread.abs().min(0.5))), None),
        "minus huge" => (Ending::Exited { code: 0 }, Score::new(-1e200 * (1.0 + spread)), None),
        _ => (Ending::Exited { code: 0 }, Score::new(value), None),
    };
    let size = match random.below(40) {
        0 => 70_000,
        1..20 => 0,
        _ => 200,
    };
    let kept = if setup.large || size < 1000 { vec![b'o'; size] } else { Vec::new() };
    let output = Some(Captured { bytes: kept.len() as u64, kept });
    let measurement = Measurement {
        ending,
        metric,
        problem,
        numbers,
        usage,
        output: None,
        claim: None,
        scorer: None,
        replayed: false,
    };
    (measurement, output)
}

/// What a person says of a suspect, and whether they are called away before it is carried out.
pub fn word(suspect: ExperimentId, random: &mut Random) -> (Reviewed, bool) {
    let verdict = if random.one_in(3) { Verdict::Discarded } else { Verdict::Kept };
    let why = if random.one_in(2) { "I have read it".to_owned() } else { String::new() };
    (Reviewed { experiment: suspect, verdict, why }, random.one_in(3))
}

/// Runs a simulated guard.
pub fn guard(contents: &Contents) -> Ending {
    let text = joined(contents);
    let fails = String::from_utf8_lossy(&text).contains("mode = \"guard\"");
    Ending::Exited { code: i32::from(fails) }
}

/// Runs the simulated quick look: it finds some of what would crash.
pub fn smoke(contents: &Contents) -> Ending {
    let text = joined(contents);
    let fails = String::from_utf8_lossy(&text).contains("mode = \"typo\"");
    Ending::Exited { code: i32::from(fails) }
}

/// How far the numbers in a surface are from the best ones; nobody in the simulation knows those.
fn quality(text: &str) -> f64 {
    let far = |name: &str, best: f64, scale: f64| (number(text, name).unwrap_or(best) - best).abs() * scale;
    let line = far("lr", 0.06, 1.0) + far("wd", 0.05, 1.0) + far("beta", 0.1, 1.0) + far("clip", 0.7, 0.5);
    line + far("warm", 0.25, 0.3) + far("decay", 0.5, 0.2) + far("depth", 6.0, 0.1)
}

fn number(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = ")?.trim().parse().ok())
}

fn joined(contents: &Contents) -> Vec<u8> {
    // What identifies contents is at their start; the padding of large ones says nothing.
    contents.0.iter().flat_map(|(_, bytes)| bytes.iter().take(400).copied().chain([b'\n'])).collect()
}
