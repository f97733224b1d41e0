//! What `judge.mode` changes: the same nights with each.

use std::fmt::Write;

use serde::Serialize;

use crate::night::{self, Size};
use crate::rules::{Entry, MODES};
use crate::scenario::Scenario;
use crate::score::{self, Figure};

/// Studies that differ in what a mode can bring: effects of every size, one where nothing is good, other noise, a moving
/// machine, edits that meet.
pub const TELLING: [&str; 10] =
    ["0.3sd", "1sd", "3sd", "5sd", "only-harm", "heavy", "skewed-0.3sd", "drift-down", "interactions", "rarer"];

/// One scenario in one mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub scenario: &'static str,
    pub mode: &'static str,
    /// True gain of the night.
    pub gain: Figure,
    pub kept_per_night: Figure,
    /// Of the keeps that stand, the share that is not better than what they replaced.
    pub false_keeps: Option<Figure>,
}

pub fn rows(scenarios: &[&Scenario], count: usize, seed: u64, size: Size) -> Vec<Row> {
    let pairs: Vec<(&Scenario, &Entry)> =
        scenarios.iter().flat_map(|scenario| MODES.iter().map(|mode| (*scenario, mode))).collect();
    let nights = night::nights(&pairs, count, seed, size);
    let row = |((scenario, mode), nights): (&(&Scenario, &Entry), &Vec<night::Night>)| {
        let found = score::score(scenario.name, mode.name, nights, None);
        let score::Score { scenario, rule: mode, gain, kept_per_night, false_keeps, .. } = found;
        Row { scenario, mode, gain, kept_per_night, false_keeps }
    };
    pairs.iter().zip(&nights).map(row).collect()
}

pub fn table(rows: &[Row]) -> String {
    let mut text =
        format!("  {:<21}{:>10}{:>16}{:>8}{:>15}\n", "scenario", "mode", "true gain", "keeps", "false keeps %");
    for Row { scenario, mode, gain, kept_per_night, false_keeps } in rows {
        let gain = format!("{:.2} ±{:.2}", gain.value, (gain.high - gain.low) / 2.0);
        let wrong = false_keeps.map_or("-".to_owned(), |share| format!("{:.0}", 100.0 * share.value));
        let _ = writeln!(text, "  {scenario:<21}{mode:>10}{gain:>16}{:>8.1}{wrong:>15}", kept_per_night.value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::SCENARIOS;

    #[test]
    fn every_mode_plays_the_same_nights_and_a_strict_one_keeps_less() {
        let scenario = SCENARIOS.iter().find(|scenario| scenario.name == "1sd").unwrap();
        let found = rows(&[scenario], 10, 1, Size { trials: 100, slots: 1 });
        assert_eq!(found.iter().map(|row| row.mode).collect::<Vec<_>>(), ["explore", "balanced", "strict"]);
        let keeps: Vec<f64> = found.iter().map(|row| row.kept_per_night.value).collect();
        assert!(keeps[0] > keeps[1] && keeps[1] > keeps[2], "{keeps:?}");
        assert_eq!(table(&found).lines().count(), 4);
    }

    #[test]
    fn the_studies_that_are_compared_exist() {
        assert!(TELLING.iter().all(|name| SCENARIOS.iter().any(|scenario| scenario.name == *name)));
    }
}
