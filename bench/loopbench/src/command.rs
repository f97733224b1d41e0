//! Every table, from options to text.

use std::error::Error;

use crate::night::{self, Night, Size};
use crate::options::{self, Options, Show, USAGE};
use crate::rules::{Entry, OURS, RULES};
use crate::scenario::{SCENARIOS, Scenario};
use crate::score::{self, Score};
use crate::{audited, by_mode, by_slots, claims, table, targets};

/// What these options print.
pub fn shown(arguments: &[String]) -> Result<String, Box<dyn Error>> {
    let options = options::read(arguments)?;
    match options.show {
        Show::Help => Ok(USAGE.to_owned()),
        Show::List => Ok(list()),
        Show::BySlots => by_slots(&options),
        Show::ByMode => by_mode(&options),
        Show::Claims => claims(&options),
        Show::Blocks | Show::Overview | Show::Targets => results(&options),
    }
}

fn by_slots(options: &Options) -> Result<String, Box<dyn Error>> {
    let Options { nights, seed, size, .. } = *options;
    let rows = by_slots::rows(&options.scenarios, &RULES[0], nights, seed, size.trials);
    if options.json {
        return json(options, &[("by_slots", serde_json::to_value(&rows)?)]);
    }
    Ok(format!("{}\n{}", heading(options), by_slots::table(&rows) + &reproduce(options)))
}

fn by_mode(options: &Options) -> Result<String, Box<dyn Error>> {
    let Options { nights, seed, size, .. } = *options;
    let rows = by_mode::rows(&options.scenarios, nights, seed, size);
    if options.json {
        return json(options, &[("by_mode", serde_json::to_value(&rows)?)]);
    }
    Ok(format!("{}\n{}", heading(options), by_mode::table(&rows) + &reproduce(options)))
}

fn claims(options: &Options) -> Result<String, Box<dyn Error>> {
    let Options { nights: count, seed, size, .. } = *options;
    let rows = claims::rows(claims::CLAIMANTS, count, seed);
    let nights = audited::rows(&options.scenarios, &RULES[0], count, seed, size);
    if options.json {
        let (rows, nights) = (serde_json::to_value(&rows)?, serde_json::to_value(&nights)?);
        return json(options, &[("claims", rows), ("audited", nights)]);
    }
    let heading = format!("{count} claims for each line, seed {seed}; effects in noise sd of one trial\n");
    Ok(format!("{heading}\n{}\n{}", claims::table(&rows), audited::table(&nights) + &reproduce(options)))
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
    let targets: Vec<_> =
        rows.filter_map(|(i, scenario)| targets::row(scenario, OURS, rules, of_scenario(i))).collect();
    if options.json {
        let (scores, targets) = (serde_json::to_value(&scores)?, serde_json::to_value(&targets)?);
        return json(options, &[("scores", scores), ("targets", targets)]);
    }
    let mut text = heading(options);
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
    text.push_str(&reproduce(options));
    Ok(text)
}

fn json(options: &Options, parts: &[(&str, serde_json::Value)]) -> Result<String, Box<dyn Error>> {
    let Options { nights, seed, size: Size { trials, slots }, .. } = *options;
    let command = options::command(options);
    let mut found = serde_json::json!({
        "nights": nights, "seed": seed, "trials": trials, "slots": slots, "command": command,
    });
    parts.iter().for_each(|(name, value)| found[*name] = value.clone());
    Ok(format!("{}\n", serde_json::to_string_pretty(&found)?))
}

fn heading(options: &Options) -> String {
    let Options { nights, seed, size, .. } = *options;
    let slots = match (options.show, size.slots) {
        (Show::BySlots, _) => "a slot".to_owned(),
        (_, 1) => "1 slot".to_owned(),
        (_, slots) => format!("{slots} slots"),
    };
    format!(
        "{nights} nights of {} trials in {slots} for each line, seed {seed}; gains in noise sd of one trial; \
         ± is half a 95 % interval\n",
        size.trials
    )
}

fn reproduce(options: &Options) -> String {
    format!("reproduce: {}\n", options::command(options))
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

    fn printed(words: &str) -> String {
        shown(&words.split(' ').map(str::to_owned).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn the_command_in_the_table_gives_the_table_again() {
        let few = "--nights 3 --trials 40 --scenario 3sd";
        for words in [
            "",
            " --rule overnight --rule greedy",
            " --overview",
            " --targets",
            " --by-slots",
            " --by-mode",
            " --claims",
        ] {
            let first = printed(&format!("{few}{words}"));
            let (_, command) = first.trim_end().rsplit_once("reproduce: bench/loopbench/run ").unwrap();
            assert_eq!(printed(command), first);
        }
    }

    #[test]
    fn programs_get_what_people_get() {
        for (words, part) in
            [("", "scores"), (" --targets", "targets"), (" --by-slots", "by_slots"), (" --by-mode", "by_mode")]
        {
            let found = printed(&format!("--nights 3 --trials 40 --scenario 3sd --json{words}"));
            let found: serde_json::Value = serde_json::from_str(&found).unwrap();
            assert!(found[part].as_array().is_some_and(|rows| rows.iter().all(|row| row["scenario"] == "3sd")));
            assert!(found["command"].as_str().unwrap().starts_with("bench/loopbench/run --nights 3"));
        }
    }
}
