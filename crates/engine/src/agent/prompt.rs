//! The brief as a coding agent reads it.

use std::fmt::Write;

use overnight_model::Goal;
use overnight_model::brief::{Brief, Past};

/// The brief in words, with what is expected of the answer.
pub(crate) fn prompt(brief: &Brief) -> String {
    let mut text = String::new();
    let better = match brief.goal {
        Goal::Min => "lower",
        Goal::Max => "higher",
    };
    let Brief { study, experiment, metric, budget_seconds, .. } = brief;
    let _ = writeln!(
        text,
        "You are the agent of the study `{study}`, and this is experiment {experiment}. Make `{metric}` {better}: change \
         the code so that it gets better, by one idea at a time.\n\n\
         Edit only: {}. Everything else is locked, and an edit of it is refused.\n\
         You need not run or measure anything: each proposal is measured for {budget_seconds} seconds after you are done, \
         and kept if it is better. There is no git here, and no log to keep.\n",
        brief.surface.join(", ")
    );
    if let Some(program) = &brief.program {
        let _ = writeln!(text, "# Instructions\n\n{}\n", program.trim());
    }
    let _ = writeln!(text, "# Where it stands\n");
    let level = |metric: Option<f64>| metric.map_or("not measured".to_owned(), |metric| metric.to_string());
    let _ = writeln!(text, "- baseline: {}", level(brief.baseline.metric));
    let _ = writeln!(text, "- champion, which your copy holds: {}", level(brief.champion.metric));
    if let Some(noise) = brief.noise_sd {
        let _ = writeln!(text, "- one measurement scatters by {noise} (standard deviation)");
    }
    if !brief.recent.is_empty() {
        let _ = writeln!(text, "\n# What was tried, the latest last\n");
        brief.recent.iter().for_each(|past| text += &tried(past));
    }
    for (title, ideas) in [("Do again on the present champion", &brief.redo), ("Being measured now", &brief.open)] {
        if !ideas.is_empty() {
            let _ = writeln!(text, "\n# {title}\n");
            ideas.iter().for_each(|idea| text += &format!("- {}: {}\n", idea.experiment, idea.description));
        }
    }
    text + "\nMake the edit now. Then answer with a single line: what you changed and why it should help. It is the title of \
            the experiment.\n"
}

fn tried(past: &Past) -> String {
    let Past { experiment, description, verdict, reason, undecided, .. } = past;
    let undecided = if *undecided { " (undecided: it may be better all the same)" } else { "" };
    format!("- {experiment}: {description}: {verdict}, {reason}{undecided}\n")
}
