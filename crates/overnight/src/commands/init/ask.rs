//! The few questions, each with the guess as the answer to Enter.

use std::io::BufRead;
use std::time::Duration;

use overnight_model::Goal;

use super::metric;
use super::proposal::{GIVEN, Key, Proposal, goal_name};
use crate::ui;

/// Soon enough for whoever pressed Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// There will be no more answers.
pub(super) struct Gone;

/// Asks for what a triplet cannot do without. `wrong` says what is wrong with an answer, where that can be told at once.
pub(super) fn ask(proposal: &mut Proposal, wrong: &dyn Fn(&Proposal, Key) -> Option<String>) -> Result<(), Gone> {
    let guess = proposal.surface.join(", ");
    loop {
        let surface = required(proposal, Key::Surface, "which file may change? (several: a, b)", &guess)?;
        let paths = surface.split(',').map(|path| path.trim().to_owned()).filter(|path| !path.is_empty());
        proposal.surface = paths.collect();
        let Some(problem) = wrong(proposal, Key::Surface) else { break };
        ui::say(&problem);
    }
    proposal.run = required(proposal, Key::Run, "which command measures it?", &proposal.run.clone())?;
    proposal.metric = required(proposal, Key::Metric, "what is the number called?", &proposal.metric.clone())?;
    let guess = proposal.goal.or_else(|| metric::goal_of(&proposal.metric)).map_or("", goal_name);
    proposal.goal = loop {
        match required(proposal, Key::Goal, "which is better, min or max?", guess)?.as_str() {
            "min" => break Some(Goal::Min),
            "max" => break Some(Goal::Max),
            other => ui::say(&format!("`{}` is neither min nor max", ui::printable(other))),
        }
    };
    let guess = proposal.budget.clone();
    loop {
        proposal.budget = required(proposal, Key::Budget, "how long may one run take?", &guess)?;
        let Some(problem) = wrong(proposal, Key::Budget) else { return Ok(()) };
        ui::say(&problem);
    }
}

/// Whether a person agrees; Enter does.
pub(super) fn agrees(question: &str) -> Result<bool, Gone> {
    loop {
        match answer(&format!("{question} [Y/n] "))?.to_lowercase().as_str() {
            "" | "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => {}
        }
    }
}

/// Whether a person wants something that Enter alone does not say yes to; over with no answer where they stop it.
pub(super) fn wants(question: &str, is_over: &dyn Fn() -> bool) -> Result<bool, Gone> {
    loop {
        ui::ask(&format!("{question} [y/N] "));
        // Signals are listened for in a thread of their own: reading would wait on.
        while !is_over() && !ui::has_answer(LOOK) {}
        if is_over() {
            ui::say("");
            return Err(Gone);
        }
        match read_answer()?.to_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "" | "n" | "no" => return Ok(false),
            _ => {}
        }
    }
}

fn required(proposal: &mut Proposal, key: Key, question: &str, guess: &str) -> Result<String, Gone> {
    if let Some(reason) = proposal.reason(key).filter(|_| !guess.is_empty()) {
        ui::say(&format!("  {}: {}", key.name(), ui::one_line(reason)));
    }
    loop {
        let shown = if guess.is_empty() { String::new() } else { format!("[{}] ", ui::one_line(guess)) };
        let given = answer(&format!("{question} {shown}"))?;
        match (given.is_empty(), guess.is_empty()) {
            (false, _) => {
                if given != guess {
                    proposal.because(key, GIVEN);
                }
                return Ok(given);
            }
            (true, false) => return Ok(guess.to_owned()),
            (true, true) => {}
        }
    }
}

fn answer(question: &str) -> Result<String, Gone> {
    ui::ask(question);
    read_answer()
}

fn read_answer() -> Result<String, Gone> {
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(1..) => Ok(line.trim().to_owned()),
        Ok(0) | Err(_) => Err(Gone),
    }
}
