//! Claims on planted pairs: how often something false is said, how often something true is found, and for how much.

use std::fmt::Write;

use overnight_model::Goal;
use overnight_model::claim::{Claim, Decision, Draw, PAIRS, draw};
use serde::Serialize;

use crate::night::on_every_core;
use crate::scenario::{SCENARIOS, Scenario};
use crate::score::{Figure, binomial};
use crate::targets::{Promise, Verdict};
use crate::world::World;

/// How B differs from A, in sd of a trial. Nothing may be claimed of the first.
const EFFECTS: [f64; 4] = [0.0, 0.3, 1.0, 3.0];
/// The largest share of claims that may be false.
const FALSE_CLAIMS: f64 = 0.05;

/// Kinds of noise, by name, and the scenario that has it.
const NOISES: [(&str, &str); 12] = [
    ("gaussian", "1sd"),
    ("heavy tails", "heavy"),
    ("long tail to worse", "skewed"),
    ("long tail to better", "skewed-up"),
    ("outliers", "outliers"),
    ("own noise", "own-noise"),
    ("autocorrelated", "autocorrelated"),
    ("drift down", "drift-down"),
    ("drift up", "drift-up"),
    ("wandering level", "wander"),
    ("from the seed", "seeded"),
    ("none", "deterministic"),
];

/// A command that claims: what it says of one planted difference.
pub struct Claimant {
    pub name: &'static str,
    claim: fn(&Scenario, f64, u64) -> Claimed,
}

/// Every command whose claims are promised to hold.
pub const CLAIMANTS: &[Claimant] = &[Claimant { name: "compare", claim: compare }];

/// What a command said of B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Claimed {
    is_better: bool,
    is_worse: bool,
    /// Pairs of trials that it took.
    pairs: u32,
    /// Whether its interval holds the difference that was planted.
    is_covered: bool,
}

/// One command on one kind of noise and one difference.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub command: &'static str,
    pub noise: &'static str,
    pub effect: f64,
    pub claims: usize,
    /// Said better or worse where there is no difference; said worse where it is better.
    pub false_claims: Promise,
    /// Said better where it is better.
    pub found: Option<Figure>,
    pub pairs: f64,
    pub covered: Figure,
}

/// `count` claims of every kind.
pub fn rows(claimants: &[Claimant], count: usize, seed: u64) -> Vec<Row> {
    let planted = |name| SCENARIOS.iter().find(|scenario| scenario.name == name).expect("a test says so");
    let noises = NOISES.map(|(noise, name)| (noise, planted(name)));
    let cells = claimants.iter().flat_map(|claimant| noises.map(|noise| (claimant, noise)));
    let cells: Vec<_> = cells.flat_map(|cell| EFFECTS.map(|effect| (cell, effect))).collect();
    let one = |job: usize| {
        let ((claimant, (_, scenario)), effect) = cells[job / count];
        (claimant.claim)(scenario, effect, seed.wrapping_add((job % count) as u64))
    };
    let claimed = on_every_core(cells.len() * count, one);
    let row = |(index, claimed): (usize, &[Claimed])| {
        let ((claimant, (noise, _)), effect) = cells[index];
        row(claimant.name, noise, effect, claimed)
    };
    claimed.chunks(count).enumerate().map(row).collect()
}

fn row(command: &'static str, noise: &'static str, effect: f64, claimed: &[Claimed]) -> Row {
    let share = |is_so: &dyn Fn(&Claimed) -> bool| {
        binomial(claimed.iter().filter(|claimed| is_so(claimed)).count(), claimed.len())
    };
    let figure = share(&|claimed| claimed.is_worse || (claimed.is_better && effect == 0.0));
    let verdict = Verdict::of(figure.value <= FALSE_CLAIMS, figure.low <= FALSE_CLAIMS);
    Row {
        command,
        noise,
        effect,
        claims: claimed.len(),
        false_claims: Promise { figure, bound: FALSE_CLAIMS, verdict },
        found: (effect > 0.0).then(|| share(&|claimed| claimed.is_better)),
        pairs: claimed.iter().map(|claimed| f64::from(claimed.pairs)).sum::<f64>() / claimed.len() as f64,
        covered: share(&|claimed| claimed.is_covered),
    }
}

/// As the command does it: pairs with a seed for both sides, in random order, looked at after each.
fn compare(scenario: &Scenario, effect: f64, seed: u64) -> Claimed {
    let mut world = World::new(scenario, seed, 2 * PAIRS as usize);
    let b = world.plant(effect);
    let mut claim = Claim::new(Goal::Max, 0.0, PAIRS);
    for pair in 0.. {
        let Draw { seed, b_first } = draw(seed, pair);
        let order = if b_first { [b, 0] } else { [0, b] };
        let Some([first, second]) = both(order.map(|subject| world.measure(subject, seed.0.into()))) else { break };
        let (of_a, of_b) = if b_first { (second, first) } else { (first, second) };
        claim.add(of_a, of_b);
        if claim.decision().is_some() {
            break;
        }
    }
    let standing = claim.standing().expect("there was a pair");
    // Without noise the interval is a point, and differences are rounded.
    let is_covered =
        standing.low.is_none_or(|low| low <= effect + 1e-9) && standing.high.is_none_or(|high| high >= effect - 1e-9);
    let said = |decision| standing.decision == Some(decision);
    Claimed { is_better: said(Decision::Better), is_worse: said(Decision::Worse), pairs: standing.pairs, is_covered }
}

fn both([first, second]: [Option<f64>; 2]) -> Option<[f64; 2]> {
    Some([first?, second?])
}

pub fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "  {:<9}{:<21}{:>10}{:>20}{:>8}{:>22}{:>8}{:>12}\n",
        "command", "noise", "effect", "false claims %", "", "found %", "pairs", "covered %"
    );
    let percent =
        |Figure { value, low, high }: Figure| format!("{:.1} [{:.1},{:.1}]", 100.0 * value, 100.0 * low, 100.0 * high);
    for Row { command, noise, effect, claims: _, false_claims, found, pairs, covered } in rows {
        let found = found.map_or("-".to_owned(), percent);
        let (wrong, verdict) = (percent(false_claims.figure), false_claims.verdict.name());
        let covered = format!("{:.1}", 100.0 * covered.value);
        let effect = format!("{effect} sd");
        let _ = writeln!(
            text,
            "  {command:<9}{noise:<21}{effect:>10}{wrong:>20}{verdict:>8}{found:>22}{pairs:>8.1}{covered:>12}"
        );
    }
    text.push_str("  at most 5 % of claims may be false; found: said better where it is better, within 20 pairs\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planted_large_is_found_and_what_is_not_there_is_rarely_claimed() {
        let found = rows(CLAIMANTS, 100, 1);
        assert_eq!(found.len(), NOISES.len() * EFFECTS.len());
        let of =
            |noise: &str, effect: f64| found.iter().find(|row| row.noise == noise && row.effect == effect).unwrap();
        assert!(of("gaussian", 3.0).found.unwrap().value > 0.95);
        assert!(of("gaussian", 0.3).found.unwrap().value < of("gaussian", 1.0).found.unwrap().value);
        assert!(of("from the seed", 1.0).found.unwrap().value > of("gaussian", 1.0).found.unwrap().value);
        assert!(found.iter().all(|row| row.false_claims.verdict != Verdict::Missed), "{}", table(&found));
        assert_eq!((of("none", 0.3).found.unwrap().value, of("none", 0.3).pairs), (1.0, 4.0));
    }

    #[test]
    fn a_command_that_says_what_the_first_pair_says_is_seen() {
        fn first_pair(scenario: &Scenario, effect: f64, seed: u64) -> Claimed {
            let mut world = World::new(scenario, seed, 2);
            let b = world.plant(effect);
            let (of_a, of_b) = (world.measure(0, 1).unwrap(), world.measure(b, 1).unwrap());
            Claimed { is_better: of_b > of_a, is_worse: of_b < of_a, pairs: 1, is_covered: false }
        }
        let found = rows(&[Claimant { name: "first pair", claim: first_pair }], 100, 1);
        let of = |effect: f64| found.iter().find(|row| row.effect == effect).unwrap();
        assert_eq!((of(0.0).false_claims.figure.value, of(0.0).false_claims.verdict), (1.0, Verdict::Missed));
        assert_eq!(of(0.3).false_claims.verdict, Verdict::Missed);
    }
}
