//! Audits of what a night kept: of its keeps, which are said to hold, and whether they do.

use std::fmt::Write;

use serde::Serialize;

use crate::claims::{self, Claimed};
use crate::night::{self, Size};
use crate::rules::Entry;
use crate::scenario::Scenario;
use crate::score::Figure;
use crate::targets::Promise;

/// So many claims cost what a night and its audit do.
const ASKS: usize = 20;
/// The luck of an audit is not that of its night.
const FRESH: u64 = 1 << 40;

/// The nights of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub scenario: &'static str,
    pub nights: usize,
    /// Keeps that stood in the morning, and those of them that are better than what they replaced.
    pub keeps: f64,
    pub real: f64,
    /// Of the keeps of a night that are said to hold or to hurt, the share of which that is not so.
    pub false_claims: Promise,
    /// Of the keeps that make a difference, the share of which it is said.
    pub found: Figure,
    /// Nights of which anything was claimed.
    pub claimed: Figure,
    pub pairs: f64,
}

/// What one night kept, and what was claimed of it.
struct Audited {
    steps: Vec<f64>,
    claimed: Claimed,
}

/// As many nights of each scenario as cost about what `count` claims do.
pub fn rows(scenarios: &[&'static Scenario], judge: &Entry, count: usize, seed: u64, size: Size) -> Vec<Row> {
    let count = count.div_ceil(ASKS);
    let found = night::on_every_core(scenarios.len() * count, |job| {
        let (scenario, seed) = (scenarios[job / count], seed.wrapping_add((job % count) as u64));
        let (_, world) = night::played(scenario, seed, size, judge.start(seed, size).as_mut());
        let steps = world.steps();
        Audited { claimed: claims::audit(scenario, &steps, seed ^ FRESH), steps }
    });
    let row = |(scenario, nights): (&&'static Scenario, &[Audited])| {
        let claimed: Vec<Claimed> = nights.iter().map(|night| night.claimed).collect();
        let mean = |of: &dyn Fn(&Audited) -> f64| nights.iter().map(of).sum::<f64>() / nights.len() as f64;
        Row {
            scenario: scenario.name,
            nights: nights.len(),
            keeps: mean(&|night| night.steps.len() as f64),
            real: mean(&|night| night.steps.iter().filter(|step| **step > 0.0).count() as f64),
            false_claims: claims::false_claims(&claimed),
            found: claims::mean(&claimed, |claimed| claimed.found),
            claimed: claims::mean(&claimed, |claimed| f64::from(claimed.wrong > 0.0 || claimed.found > 0.0)),
            pairs: mean(&|night| night.claimed.pairs),
        }
    };
    scenarios.iter().zip(found.chunks(count)).map(row).collect()
}

pub fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "  {:<21}{:>8}{:>8}{:>20}{:>8}{:>20}{:>20}{:>8}\n",
        "audit of a night", "keeps", "real", "false claims %", "", "found %", "nights claimed %", "pairs"
    );
    let percent =
        |Figure { value, low, high }: Figure| format!("{:.1} [{:.1},{:.1}]", 100.0 * value, 100.0 * low, 100.0 * high);
    for Row { scenario, nights: _, keeps, real, false_claims, found, claimed, pairs } in rows {
        let (wrong, verdict) = (percent(false_claims.figure), false_claims.verdict.name());
        let (found, claimed) = (percent(*found), percent(*claimed));
        let _ = writeln!(
            text,
            "  {scenario:<21}{keeps:>8.1}{real:>8.1}{wrong:>20}{verdict:>8}{found:>20}{claimed:>20}{pairs:>8.1}"
        );
    }
    text.push_str("  of what was claimed of a night's keeps, at most 5 % may be false; keeps are taken to add up\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RULES;
    use crate::scenario::SCENARIOS;
    use crate::targets::Verdict;

    #[test]
    fn a_night_without_real_improvements_claims_next_to_nothing_and_one_of_large_ones_does() {
        let wanted = ["nothing", "5sd"];
        let scenarios: Vec<&Scenario> = SCENARIOS.iter().filter(|found| wanted.contains(&found.name)).collect();
        let found = rows(&scenarios, &RULES[0], 200, 1, Size { trials: 100, slots: 1 });
        let of = |name: &str| found.iter().find(|row| row.scenario == name).unwrap();
        assert_eq!(of("nothing").real, 0.0);
        assert!(found.iter().all(|row| row.false_claims.verdict != Verdict::Missed), "{}", table(&found));
        assert!(of("5sd").real > 3.0 && of("5sd").found.value > 0.5, "{}", table(&found));
        assert!(of("nothing").claimed.value <= 0.2, "{}", table(&found));
    }
}
