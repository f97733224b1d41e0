//! What more slots bring: equal hours, so that four slots have four times the trials.

use std::fmt::Write;

use serde::Serialize;

use crate::night::{self, Size};
use crate::rules::Entry;
use crate::scenario::Scenario;
use crate::score::{self, Figure};
use crate::targets::{Promise, Verdict};

/// How many slots are compared with one.
const SLOTS: [u32; 4] = [1, 2, 4, 8];
/// What is promised of so many slots, as a multiple of the gain of one.
const PROMISED: (u32, f64) = (4, 3.0);
/// Studies whose improvements do not depend on each other, which is where more slots can help.
pub const INDEPENDENT: [&str; 5] = ["0.3sd", "1sd", "1sd-rich", "3sd", "5sd"];

/// One scenario with so many slots.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub scenario: &'static str,
    pub slots: u32,
    pub trials: usize,
    /// True gain of the night.
    pub gain: Figure,
    /// Divided by the gain of one slot in the same hours, over the same nights.
    pub ratio: Option<Figure>,
    pub promise: Option<Promise>,
}

/// `trials` are those of one slot.
pub fn rows(scenarios: &[&Scenario], entry: &Entry, count: usize, seed: u64, trials: usize) -> Vec<Row> {
    let pairs: Vec<(&Scenario, &Entry)> = scenarios.iter().map(|scenario| (*scenario, entry)).collect();
    let sizes = SLOTS.map(|slots| Size { trials: trials * slots as usize, slots });
    let nights = sizes.map(|size| night::nights(&pairs, count, seed, size));
    let row = |index: usize, at: usize| {
        let (one, these) = (&nights[0][index], &nights[at][index]);
        let gains = these.iter().zip(one).map(|(these, one)| (these.gain, one.gain));
        let ratio = score::figure(gains.collect());
        let Size { trials, slots } = sizes[at];
        let (_, bound) = PROMISED;
        let promise = ratio.filter(|_| slots == PROMISED.0).map(|figure| Promise {
            figure,
            bound,
            verdict: Verdict::of(figure.value >= bound, figure.high >= bound),
        });
        let gain = score::mean(these, |night| night.gain);
        Row { scenario: scenarios[index].name, slots, trials, gain, ratio, promise }
    };
    (0..scenarios.len())
        .flat_map(|index| (0..SLOTS.len()).map(move |at| (index, at)))
        .map(|(i, at)| row(i, at))
        .collect()
}

pub fn table(rows: &[Row]) -> String {
    let mut text = format!("  {:<21}{:>8}{:>12}{:>24}\n", "scenario", "slots", "true gain", "times that of one slot");
    for Row { scenario, slots, trials: _, gain, ratio, promise } in rows {
        let ratio =
            ratio.map_or("-".to_owned(), |Figure { value, low, high }| format!("{value:.2} [{low:.2},{high:.2}]"));
        let verdict = promise.as_ref().map_or(String::new(), |promise| {
            format!("  {}: at least {:.0} wanted", promise.verdict.name(), promise.bound)
        });
        let gain = format!("{:.2}", gain.value);
        let _ = writeln!(text, "  {scenario:<21}{slots:>8}{gain:>12}{ratio:>24}{verdict}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RULES;
    use crate::scenario::SCENARIOS;

    #[test]
    fn one_slot_is_compared_with_itself_and_four_with_the_promise() {
        let scenario = SCENARIOS.iter().find(|scenario| scenario.name == "5sd").unwrap();
        let found = rows(&[scenario], &RULES[0], 5, 1, 40);
        assert_eq!(
            found.iter().map(|row| (row.slots, row.trials)).collect::<Vec<_>>(),
            [(1, 40), (2, 80), (4, 160), (8, 320)]
        );
        assert_eq!(found[0].ratio, Some(Figure { value: 1.0, low: 1.0, high: 1.0 }));
        assert!(found[2].ratio.unwrap().value > 1.0, "{:?}", found[2]);
        assert_eq!(found.iter().filter(|row| row.promise.is_some()).count(), 1);
        assert!(table(&found).contains("at least 3 wanted"));
    }

    #[test]
    fn the_studies_that_are_compared_exist() {
        assert!(INDEPENDENT.iter().all(|name| SCENARIOS.iter().any(|scenario| scenario.name == *name)));
    }
}
