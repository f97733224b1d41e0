//! The results as a person reads them.

use std::fmt::Write;

use crate::scenario::Scenario;
use crate::score::{Figure, Score};

/// Where even the best rule gains less, in sd, a share of it is noise.
const WORTH_A_SHARE: f64 = 0.5;

/// One block per scenario, a line for each rule.
pub fn block(scenario: &Scenario, scores: &[&Score]) -> String {
    let mut text = format!("{}: {}\n", scenario.name, scenario.about);
    let heads = [
        "true gain",
        "ours ahead by",
        "reported-true",
        "keeps",
        "false keeps %",
        "missed wins %",
        "trials per win",
        "covered %",
    ];
    let _ = write!(text, "  {:<14}", "rule");
    for head in heads {
        let _ = write!(text, "{head:>15}");
    }
    text.push('\n');
    for score in scores {
        let percent = |figure: Option<Figure>| {
            figure.map(|Figure { value, low, high }| Figure {
                value: 100.0 * value,
                low: 100.0 * low,
                high: 100.0 * high,
            })
        };
        let cells = [
            cell(Some(score.gain), 2),
            cell(score.ours_ahead, 2),
            cell(Some(score.reported_minus_true), 2),
            cell(Some(score.kept_per_night), 1),
            cell(percent(score.false_keeps), 0),
            cell(percent(score.missed_wins), 0),
            cell(score.trials_per_win, 0),
            cell(percent(score.coverage), 0),
        ];
        let _ = write!(text, "  {:<14}", score.rule);
        for cell in cells {
            let _ = write!(text, "{cell:>15}");
        }
        text.push('\n');
    }
    text
}

/// True gains alone: scenarios down, rules across. What the best rule of a line gained is marked, together with what
/// cannot be told from it.
pub fn overview(scenarios: &[&Scenario], rules: &[&str], scores: &[Score]) -> String {
    let mut text = format!("  {:<21}", "true gain, sd");
    for rule in rules {
        let _ = write!(text, "{rule:>15}");
    }
    text.push('\n');
    for scenario in scenarios {
        let line: Vec<&Score> = scores.iter().filter(|score| score.scenario == scenario.name).collect();
        let best = line.iter().max_by(|a, b| a.gain.value.total_cmp(&b.gain.value));
        let _ = write!(text, "  {:<21}", scenario.name);
        for score in &line {
            let mark = if best.is_some_and(|best| score.gain.high >= best.gain.low) { "*" } else { "" };
            let _ = write!(text, "{:>15}", format!("{mark}{:.2}", score.gain.value));
        }
        text.push('\n');
    }
    let _ = write!(text, "  {:<21}", "share of best");
    for rule in rules {
        let shown = share_of_best(rule, scores).map_or("-".to_owned(), |share| format!("{share:.2}"));
        let _ = write!(text, "{shown:>15}");
    }
    text.push('\n');
    text.push_str("  * the best of its line, or an interval that meets the interval of the best\n");
    text
}

/// The mean over scenarios of a rule's gain, divided by that of the best rule there.
fn share_of_best(rule: &str, scores: &[Score]) -> Option<f64> {
    let shares: Vec<f64> = scores
        .iter()
        .filter(|score| score.rule == rule)
        .filter_map(|score| {
            let rivals = scores.iter().filter(|other| other.scenario == score.scenario);
            let best = rivals.map(|other| other.gain).max_by(|a, b| a.value.total_cmp(&b.value))?;
            (best.low >= WORTH_A_SHARE).then(|| score.gain.value / best.value)
        })
        .collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

fn cell(figure: Option<Figure>, decimals: usize) -> String {
    match figure {
        None => "-".to_owned(),
        Some(Figure { value, low, high }) => format!("{value:.decimals$} ±{:.decimals$}", (high - low) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::Night;
    use crate::scenario::SCENARIOS;
    use crate::score::score;

    #[test]
    fn the_best_of_a_line_is_marked_and_what_is_not_known_is_a_dash() {
        let name = SCENARIOS[0].name;
        let nights = |gain| [Night { gain, trials: 10, ..Night::default() }; 3];
        let scores = [score(name, "a", &nights(1.0), None), score(name, "b", &nights(2.0), None)];
        let shown = overview(&[&SCENARIOS[0]], &["a", "b"], &scores);
        assert!(shown.contains("  1.00") && shown.contains(" *2.00"), "{shown}");
        assert!(shown.contains(" 0.50 ") && shown.contains("           1.00\n"), "{shown}");
        let shown = block(&SCENARIOS[0], &[&scores[0]]);
        assert!(shown.contains("1.00 ±0.00") && shown.trim_end().ends_with('-'), "{shown}");
    }
}
