//! The part of a check that runs: the first trial, guards, repeats, and answers that are none.

use overnight_engine::load::Site;
use overnight_engine::rehearse::Rehearsed;
use overnight_model::metric::is_name;
use overnight_model::spec::{Check as GuardCheck, Evaluate, Smoke, Spec};
use overnight_model::units::short_number;
use overnight_model::{Millis, Score, Seed, State, Study};

use super::repeats::{self, Chance, Repeats};
use super::report::{Finding, Level};
use super::study::{Halt, Sequence, Step};
use super::{look, words};
use crate::commands::init::tests_of;
use crate::views::night::{rough, tidy};

/// A little over is start-up; this much over is a program that does not know its budget.
const OVER_BUDGET: f64 = 1.5;

/// A budget this many times what a trial takes is a guess that nobody looked at again.
const MUCH_OVER: u64 = 20;
/// Longer than a person would wait for a candidate that hangs.
const LONG_TO_HANG: Millis = Millis::seconds(150);
/// Budgets that people write.
const BUDGETS: [Millis; 5] =
    [Millis::seconds(5), Millis::seconds(10), Millis::seconds(30), Millis::seconds(60), Millis::seconds(120)];

/// What the repeats gave.
pub(super) struct Measured {
    pub(super) repeats: Repeats,
    /// How long a trial takes, in the middle.
    pub(super) trial: Millis,
}

/// Does it run, and is there a number?
pub(super) fn first(sequence: &mut Sequence) -> Result<Rehearsed, Halt> {
    let surface = sequence.surface.clone();
    let done = sequence.trial("as it is", &surface, repeats::seed(0), "first trial")?;
    let study = Study::new(sequence.spec.clone(), State::default());
    let measurement = &done.measurement;
    if let Some(why) = study.broken(measurement).or_else(|| study.missing_number(measurement)) {
        let mut finding = words::broken(&sequence.spec, &done, why);
        finding.what += "; nothing else was measured";
        return Err(sequence.fail(finding));
    }
    let evaluate = &sequence.spec.evaluate;
    let (took, budget, kill) = (measurement.usage.wall, evaluate.budget, evaluate.kill);
    let what =
        format!("`{}` ended well in {}; its budget is {budget}, it is killed at {kill}", evaluate.run, tidy(took));
    let is_over = took.as_secs() > budget.as_secs() * OVER_BUDGET;
    let cheaper = cheaper(&sequence.spec, took);
    sequence.add(match is_over {
        false => match cheaper {
            None => Finding::ok("runs", what),
            Some(next) => Finding::new("runs", Level::Note, what).next(next),
        },
        true => Finding::new("runs", Level::Warn, what)
            .next("let it stop by itself after $OVERNIGHT_BUDGET_SECONDS, or raise `budget` in [evaluate]"),
    });
    let (name, value) = (&sequence.spec.metric.name, measurement.metric.map_or(f64::NAN, Score::get));
    let said = done.scorer_output.as_deref().unwrap_or(&done.output);
    let whose = if done.scorer_output.is_some() { "the scorer's" } else { "the" };
    let from = match line_of(said, name) {
        Some(line) => format!("{whose} line `{line}`"),
        None => format!("{whose} file $OVERNIGHT_METRICS"),
    };
    sequence.report.value = Some(value);
    sequence.add(Finding::ok("metric", format!("{name} is {}, from {from}", short_number(value))));
    Ok(done)
}

/// A quick look that the tree itself does not pass would refuse every candidate, all night.
pub(super) fn smoke(sequence: &mut Sequence) -> Step {
    let Some(Smoke { run: command, kill }) = sequence.spec.evaluate.smoke.clone() else { return Ok(()) };
    let surface = sequence.surface.clone();
    sequence.go_on()?;
    sequence.screen.live.now(&format!("smoke: `{command}`, at most {kill}"));
    let bench = sequence.bench.as_mut().ok_or(Halt::Enough)?;
    let done = bench.smoke(&command, &surface).map_err(|error| sequence.halt(error))?;
    if done.ending.succeeded() {
        let what = format!("passed in {}: `{command}`", tidy(done.usage.wall));
        sequence.add(Finding::ok("smoke", what));
        return Ok(());
    }
    let what = format!("`{command}`: {}; every candidate would fail it, and nothing else was measured", done.ending);
    let mut finding = Finding::new("smoke", Level::Fail, what);
    finding.output = words::last_lines(&done.output);
    let next = done.hint.unwrap_or_else(|| format!("make `{command}` pass on this tree, or take `smoke` out"));
    Err(sequence.fail(finding.next(next)))
}

/// What would make trials cost less, where they cost more than they need to.
fn cheaper(spec: &Spec, took: Millis) -> Option<String> {
    let Evaluate { run, budget, kill, prepare, warm, .. } = &spec.evaluate;
    let builds = run.split_whitespace().any(|word| word == "cargo");
    if builds && prepare.is_none() && !warm {
        return Some(
            "`warm = true` in [evaluate] keeps what cargo builds, so that trials build only what changed".into(),
        );
    }
    let is_wide = kill.0 > LONG_TO_HANG.0 && took.0 * MUCH_OVER < budget.0;
    let enough =
        BUDGETS.into_iter().find(|enough| enough.0 >= took.0 * 10).filter(|enough| is_wide && enough < budget)?;
    Some(format!("`budget = \"{enough}\"` would do: a candidate that hangs costs {kill} each time"))
}

/// A guard that the tree itself does not pass would refuse every candidate, all night.
pub(super) fn guards(sequence: &mut Sequence, site: &Site) -> Step {
    if sequence.spec.guards.is_empty()
        && let Some(tests) = tests(&sequence.spec, site)
    {
        let what = format!("nothing but {} is asked for, and there are tests", sequence.spec.metric.name);
        let next = format!("let every keep pass them: add `[[guard]]` and `run = {tests:?}` at the end of the triplet");
        sequence.add(Finding::new("guard", Level::Note, what).next(next));
    }
    let commands: Vec<String> = sequence
        .spec
        .guards
        .iter()
        .filter_map(|guard| match &guard.check {
            GuardCheck::Run(command) => Some(command.clone()),
            GuardCheck::Number { .. } => None,
        })
        .collect();
    let surface = sequence.surface.clone();
    for command in &commands {
        sequence.go_on()?;
        sequence.screen.live.now(&format!("guard: `{command}`"));
        let bench = sequence.bench.as_mut().ok_or(Halt::Enough)?;
        let done = bench.guard(command, &surface).map_err(|error| sequence.halt(error))?;
        if !done.ending.succeeded() {
            let what = format!("`{command}`: {}; every candidate would fail it", done.ending);
            let mut finding = Finding::new("guard", Level::Fail, what);
            finding.output = words::last_lines(&done.output);
            let next =
                done.hint.unwrap_or_else(|| format!("make `{command}` pass on this tree, or take the guard out"));
            return Err(sequence.fail(finding.next(next)));
        }
    }
    if !commands.is_empty() {
        sequence.add(Finding::ok("guard", format!("passed: `{}`", commands.join("`, `"))));
    }
    Ok(())
}

/// The tests that are there, by the folder of the triplet.
fn tests(spec: &Spec, site: &Site) -> Option<String> {
    let folder = &spec.evaluate.folder;
    let inside = |path: &str| match folder.is_empty() {
        true => Some(path.to_owned()),
        false => path.strip_prefix(folder.as_str())?.strip_prefix('/').map(str::to_owned),
    };
    tests_of(&site.dir, &spec.surface.paths().filter_map(inside).collect::<Vec<_>>())
}

/// The same again: is the number the same twice, how noisy is it, and is the seed read?
pub(super) fn repeats(sequence: &mut Sequence, first: Rehearsed) -> Result<Measured, Halt> {
    let surface = sequence.surface.clone();
    let study = Study::new(sequence.spec.clone(), State::default());
    let seconds = first.measurement.wall().as_secs();
    let wanted = sequence.trials.unwrap_or(repeats::wanted(seconds));
    let mut values = vec![(repeats::seed(0), first.measurement.metric.map_or(f64::NAN, Score::get))];
    for trial in 1..wanted {
        let seed = repeats::seed(trial);
        let doing = format!("trial {} of {wanted}", trial + 1);
        let done = sequence.trial("as it is", &surface, seed, &doing)?;
        if let Some(why) = study.broken(&done.measurement) {
            let mut finding = words::broken(&sequence.spec, &done, why);
            finding.topic = "repeats";
            finding.what = format!("trial {} of the same tree, with seed {}: {}", trial + 1, seed.0, finding.what);
            return Err(sequence.fail(finding));
        }
        values.push((seed, done.measurement.metric.map_or(f64::NAN, Score::get)));
    }
    let mut took: Vec<f64> = sequence.report.trials.iter().map(|row| row.seconds).collect();
    took.sort_unstable_by(f64::total_cmp);
    let trial = Millis((took[took.len() / 2] * 1000.0) as u64);
    let measured = Measured { repeats: repeats::read(&values), trial };
    sequence.report.seconds = Some(measured.trial.as_secs());
    sequence.report.value = measured.repeats.tally.mean();
    sequence.report.noise = Some(measured.repeats.noise);
    sequence.report.same_twice = Some(measured.repeats.chance != Chance::Unseeded);
    sequence.report.seed_read = match measured.repeats.chance {
        Chance::Seeded => Some(true),
        Chance::Unseeded => Some(false),
        Chance::None | Chance::Untold => None,
    };
    let finding = repeated(sequence, &measured.repeats, &values);
    sequence.add(finding);
    Ok(measured)
}

fn repeated(sequence: &Sequence, found: &Repeats, values: &[(Seed, f64)]) -> Finding {
    let named = sequence.seed.named.as_deref();
    let (trials, seeds) = (values.len(), found.seeds);
    match found.chance {
        Chance::None if let Some(fixed) = &sequence.seed.fixed => {
            let what = format!(
                "the same in {trials} trials with {seeds} seeds; the program fixes its own seed ({}): every claim is about \
                 that one seed",
                fixed.place
            );
            Finding::new("repeats", Level::Warn, what).next(fixed.next.clone())
        }
        Chance::None => {
            let read = match named {
                Some(place) => format!("OVERNIGHT_SEED, named in {place}, changes nothing"),
                None => "OVERNIGHT_SEED is read nowhere and need not be".to_owned(),
            };
            Finding::ok("repeats", format!("the same in {trials} trials with {seeds} seeds: no noise; {read}"))
        }
        Chance::Seeded => {
            let place = named.map_or_else(String::new, |place| format!(" ({place})"));
            let what = format!("the same twice with one seed, different with others: OVERNIGHT_SEED is read{place}");
            Finding::ok("repeats", format!("{what}; {}", noise(found)))
        }
        Chance::Untold => Finding::new("repeats", Level::Note, "the same twice with one seed; no other was tried")
            .next("overnight check --trials 3"),
        Chance::Unseeded => {
            let (a, b) = (short_number(values[0].1), short_number(values[1].1));
            let what = format!("not the same twice with one seed ({a}, then {b}); {}", noise(found));
            match (look::is_time(&sequence.spec.metric.name), named) {
                (true, _) => Finding::new("repeats", Level::Note, what)
                    .next("times are never the same twice: keep the machine quiet, and slots at 1"),
                (false, Some(place)) => Finding::new("repeats", Level::Warn, what).next(format!(
                    "OVERNIGHT_SEED is named in {place}, but something else is left to chance: another generator, \
                     threads, the order of a set, GPU kernels"
                )),
                (false, None) => {
                    Finding::new("repeats", Level::Warn, format!("{what}; OVERNIGHT_SEED is read nowhere"))
                        .next(sequence.seed.line.clone())
                }
            }
        }
    }
}

fn noise(found: &Repeats) -> String {
    use overnight_model::judge::Noise;
    let Noise::Noisy { sd, .. } = found.noise else { return "no noise".to_owned() };
    let share = found.tally.mean().filter(|mean| *mean != 0.0).map(|mean| sd / mean.abs() * 100.0);
    let share = share.map_or_else(String::new, |share| format!(" ({} %)", rough(share)));
    format!("noise sd {}{share} from {} values", rough(sd), found.tally.n())
}

/// The last line that says the metric, as it was printed.
fn line_of(output: &str, name: &str) -> Option<String> {
    let says = |line: &&str| {
        let mut words = line.split(|c: char| !(c.is_alphanumeric() || "_-./".contains(c)));
        words.any(|word| word == name) || (!is_name(name) && line.contains(name))
    };
    let line = output.lines().rev().find(says)?.trim();
    Some(if line.chars().count() > 50 {
        format!("{}…", line.chars().take(49).collect::<String>())
    } else {
        line.to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_says_the_metric_is_found_by_its_whole_name() {
        assert_eq!(line_of("loss: 1\nval_loss: 2\n", "loss").as_deref(), Some("loss: 1"));
        assert_eq!(line_of("{\"loss\": 3}\ndone\n", "loss").as_deref(), Some("{\"loss\": 3}"));
        assert_eq!(line_of("blossom: 1\n", "loss"), None);
    }
}
