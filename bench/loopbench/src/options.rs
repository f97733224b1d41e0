//! What is asked for on the command line, and the command that asks for the same again.

use crate::night::Size;
use crate::rules::{Entry, RULES};
use crate::scenario::{SCENARIOS, Scenario};
use crate::{by_mode, by_slots};

pub const USAGE: &str = "\
usage: bench/loopbench/run [options]
  --nights N         nights of each scenario and rule (default 200)
  --trials N         trials of a night, calibration included (default 200)
  --slots N          slots of our own loop (default 1; peers have one)
  --seed N           the first night; the others follow (default 1)
  --scenario NAME    only this one; may be given again
  --rule NAME        only this one; may be given again
  --overview         true gains alone
  --targets          what was promised of our judge, and whether it holds
  --by-slots         what 2, 4 and 8 slots gain in the hours of one; --trials are those of one slot
  --by-mode          what each `judge.mode` gains and keeps
  --claims           how often `compare` and `audit` claim what is not so, and find what is; --nights are claims of each kind
  --json             the same for programs, with every figure
  --list             what there is to choose from
";

pub struct Options {
    pub nights: usize,
    pub seed: u64,
    pub size: Size,
    pub scenarios: Vec<&'static Scenario>,
    pub rules: Vec<&'static Entry>,
    pub show: Show,
    pub json: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Show {
    Blocks,
    Overview,
    Targets,
    BySlots,
    ByMode,
    Claims,
    List,
    Help,
}

pub fn read(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options {
        nights: 200,
        seed: 1,
        size: Size { trials: 200, slots: 1 },
        scenarios: Vec::new(),
        rules: Vec::new(),
        show: Show::Blocks,
        json: false,
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
            "--by-slots" => options.show = Show::BySlots,
            "--by-mode" => options.show = Show::ByMode,
            "--claims" => options.show = Show::Claims,
            "--json" => options.json = true,
            "--list" => options.show = Show::List,
            "--help" | "-h" => options.show = Show::Help,
            other => return Err(format!("`{other}` is not an option\n{USAGE}")),
        }
    }
    if options.scenarios.is_empty() {
        let is_shown = |scenario: &&Scenario| match options.show {
            Show::BySlots => by_slots::INDEPENDENT.contains(&scenario.name),
            Show::ByMode => by_mode::TELLING.contains(&scenario.name),
            _ => true,
        };
        options.scenarios.extend(SCENARIOS.iter().filter(is_shown));
    }
    if options.rules.is_empty() {
        options.rules.extend(RULES);
    }
    Ok(options)
}

/// The command that prints the same again.
pub fn command(options: &Options) -> String {
    let Options { nights, seed, size: Size { trials, slots }, .. } = options;
    let mut text = format!("bench/loopbench/run --nights {nights} --trials {trials} --slots {slots} --seed {seed}");
    if options.scenarios.len() < SCENARIOS.len() {
        options.scenarios.iter().for_each(|scenario| text.push_str(&format!(" --scenario {}", scenario.name)));
    }
    text.push_str(match options.show {
        Show::Overview => " --overview",
        Show::Targets => " --targets",
        Show::BySlots => " --by-slots",
        Show::ByMode => " --by-mode",
        Show::Claims => " --claims",
        Show::Blocks | Show::List | Show::Help => "",
    });
    if options.rules.len() < RULES.len() {
        options.rules.iter().for_each(|entry| text.push_str(&format!(" --rule {}", entry.name)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_said() {
        for words in [&["--scenario", "moon"][..], &["--rule", "luck"], &["--nights", "0"], &["--nights"], &["--fast"]]
        {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert!(read(&words).is_err(), "{words:?}");
        }
    }
}
