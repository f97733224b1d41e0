//! The loop's judge on planted truth, and the rules of peers beside it.
//!
//! Every night has known effects and known noise; a rule sees measured scores alone. All rules get the same nights and
//! the same number of trials. What is printed follows from the options alone: `bench/loopbench/run --nights 400`.

mod chance;
mod night;
mod noise;
mod rules;
mod scenario;
mod score;
mod studies;
mod table;
mod targets;
mod world;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use night::{Night, Size};
use rules::{Entry, OURS, RULES};
use scenario::{SCENARIOS, Scenario};
use score::Score;

const USAGE: &str = "\
usage: bench/loopbench/run [options]
  --nights N         nights of each scenario and rule (default 200)
  --trials N         trials of a night, calibration included (default 200)
  --slots N          slots of our own loop (default 1; peers have one)
  --seed N           the first night; the others follow (default 1)
  --scenario NAME    only this one; may be given again
  --rule NAME        only this one; may be given again
  --overview         true gains alone
  --targets          what was promised of our judge, and whether it holds
  --json             every figure, for programs
  --list             what there is to choose from
";

struct Options {
    nights: usize,
    seed: u64,
    size: Size,
    scenarios: Vec<&'static Scenario>,
    rules: Vec<&'static Entry>,
    show: Show,
}

#[derive(Clone, Copy, PartialEq)]
enum Show {
    Blocks,
    Overview,
    Targets,
    Json,
    List,
    Help,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match shown(&arguments).and_then(|text| Ok(std::io::stdout().write_all(text.as_bytes())?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn shown(arguments: &[String]) -> Result<String, Box<dyn Error>> {
    let options = options(arguments)?;
    match options.show {
        Show::Help => Ok(USAGE.to_owned()),
        Show::List => Ok(list()),
        _ => results(&options),
    }
}

fn options(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options {
        nights: 200,
        seed: 1,
        size: Size { trials: 200, slots: 1 },
        scenarios: Vec::new(),
        rules: Vec::new(),
        show: Show::Blocks,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} wants a value\n{USAGE}"));
        let count = |text: &String| match text.parse::<u64>() {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(format!("{word} wants a number above 0, and not `{text}`")),
        };
        match word.as_str() {
            "--nights" => options.nights = count(value()?)? as usize,
            "--trials" => options.size.trials = count(value()?)? as usize,
            "--slots" => options.size.slots = count(value()?)? as u32,
            "--seed" => options.seed = count(value()?)?,
            "--scenario" => {
                let name = value()?;
                let found = SCENARIOS.iter().find(|scenario| scenario.name == name);
                options.scenarios.push(found.ok_or_else(|| format!("no scenario is called `{name}`; see --list"))?);
            }
            "--rule" => {
                let name = value()?;
                let found = RULES.iter().find(|entry| entry.name == name);
                options.rules.push(found.ok_or_else(|| format!("no rule is called `{name}`; see --list"))?);
            }
            "--overview" => options.show = Show::Overview,
            "--targets" => options.show = Show::Targets,
            "--json" => options.show = Show::Json,
            "--list" => options.show = Show::List,
            "--help" | "-h" => options.show = Show::Help,
            other => return Err(format!("`{other}` is not an option\n{USAGE}")),
        }
    }
    if options.scenarios.is_empty() {
        options.scenarios.extend(SCENARIOS);
    }
    if options.rules.is_empty() {
        options.rules.extend(RULES);
    }
    Ok(options)
}

fn results(options: &Options) -> Result<String, Box<dyn Error>> {
    let Options { nights: count, seed, size, .. } = *options;
    let rules = &options.rules;
    let pairs: Vec<(&Scenario, &Entry)> =
        options.scenarios.iter().flat_map(|scenario| rules.iter().map(|entry| (*scenario, *entry))).collect();
    let nights = night::nights(&pairs, count, seed, size);
    let ours = rules.iter().position(|entry| entry.name == OURS);
    let scored = |index: usize| -> Score {
        let (scenario, entry) = pairs[index];
        let first = index / rules.len() * rules.len();
        let beside = ours.filter(|_| entry.name != OURS).map(|ours| nights[first + ours].as_slice());
        score::score(scenario.name, entry.name, &nights[index] as &[Night], beside)
    };
    let scores: Vec<Score> = (0..pairs.len()).map(scored).collect();
    let of_scenario = |index: usize| &nights[index * rules.len()..(index + 1) * rules.len()];
    let rows = options.scenarios.iter().enumerate();
    let targets: Vec<_> = rows.filter_map(|(i, scenario)| targets::row(scenario, rules, of_scenario(i))).collect();
    if options.show == Show::Json {
        let Size { trials, slots } = size;
        let found = serde_json::json!({
            "seed": seed, "trials": trials, "slots": slots, "scores": scores, "targets": targets,
        });
        return Ok(format!("{}\n", serde_json::to_string_pretty(&found)?));
    }
    let slots = if size.slots == 1 { "1 slot".to_owned() } else { format!("{} slots", size.slots) };
    let mut text = format!(
        "{count} nights of {} trials in {slots} for each line, seed {seed}; gains in noise sd of one trial; ± is half a 95 % interval\n",
        size.trials
    );
    if options.show == Show::Blocks {
        for scenario in &options.scenarios {
            let lines: Vec<&Score> = scores.iter().filter(|score| score.scenario == scenario.name).collect();
            text.push('\n');
            text.push_str(&table::block(scenario, &lines));
        }
    }
    text.push('\n');
    if options.show == Show::Targets {
        text.push_str(&targets::table(&targets));
    } else {
        let names: Vec<&str> = rules.iter().map(|entry| entry.name).collect();
        text.push_str(&table::overview(&options.scenarios, &names, &scores));
    }
    text.push_str(&format!("reproduce: {}\n", command(options)));
    Ok(text)
}

/// The command that prints the same again.
fn command(options: &Options) -> String {
    let Options { nights, seed, size: Size { trials, slots }, .. } = options;
    let mut text = format!("bench/loopbench/run --nights {nights} --trials {trials} --slots {slots} --seed {seed}");
    if options.scenarios.len() < SCENARIOS.len() {
        options.scenarios.iter().for_each(|scenario| text.push_str(&format!(" --scenario {}", scenario.name)));
    }
    if options.show == Show::Targets {
        text.push_str(" --targets");
    }
    if options.rules.len() < RULES.len() {
        options.rules.iter().for_each(|entry| text.push_str(&format!(" --rule {}", entry.name)));
    }
    text
}

fn list() -> String {
    let scenarios = SCENARIOS.iter().map(|scenario| (scenario.name, scenario.about));
    let rules = RULES.iter().map(|entry| (entry.name, entry.about));
    let lines = |rows: &mut dyn Iterator<Item = (&str, &str)>| -> String {
        rows.map(|(name, about)| format!("  {name:<21} {about}\n")).collect()
    };
    format!("scenarios\n{}rules\n{}", lines(&mut { scenarios }), lines(&mut { rules }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Options, String> {
        options(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_command_in_the_table_gives_the_table_again() {
        let words = ["--nights", "3", "--trials", "40", "--scenario", "3sd", "--rule", "overnight", "--rule", "greedy"];
        let first = results(&read(&words).unwrap()).unwrap();
        let (_, command) = first.trim_end().rsplit_once("reproduce: bench/loopbench/run ").unwrap();
        let again: Vec<&str> = command.split(' ').collect();
        assert_eq!(results(&read(&again).unwrap()).unwrap(), first);
    }

    #[test]
    fn what_is_not_there_is_said() {
        for words in [&["--scenario", "moon"][..], &["--rule", "luck"], &["--nights", "0"], &["--nights"], &["--fast"]]
        {
            assert!(read(words).is_err(), "{words:?}");
        }
    }
}
