//! Claims on planted pairs: how often something false is said, how often something true is found, and for how much.

use std::fmt::Write;

use overnight_model::Goal;
use overnight_model::claim::audit::{AUDIT_PAIRS, Audit, Turn, Verdict as Called, Who};
use overnight_model::claim::{Claim, Decision, Draw, PAIRS, Standing, draw};
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

/// The branch that an audit is asked about, in planted differences: some of its commits are good, one hurts, most do
/// nothing. Where the difference is 0, nothing may be claimed of any.
const BRANCH: [f64; 12] = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0, 0.0];

/// A command that claims: what it says of one planted difference.
pub struct Claimant {
    pub name: &'static str,
    /// How many things it is asked about at once.
    asks: usize,
    claim: fn(&Scenario, f64, u64) -> Claimed,
}

/// Every command whose claims are promised to hold.
pub const CLAIMANTS: &[Claimant] = &[
    Claimant { name: "compare", asks: 1, claim: compare },
    Claimant {
        name: "audit",
        asks: BRANCH.len(),
        claim: |scenario, effect, seed| audit(scenario, &BRANCH.map(|share| share * effect), seed),
    },
];

/// What a command said, as shares: a comparison says one thing, an audit something of each commit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Claimed {
    /// Of what it claims, what is not so: better or worse where there is no difference, or the wrong way round.
    pub(crate) wrong: f64,
    /// Of what is so, what it claims.
    pub(crate) found: f64,
    /// Pairs of trials that it took for each.
    pub(crate) pairs: f64,
    /// Of its intervals, those that hold the difference that was planted.
    pub(crate) covered: f64,
}

/// One command on one kind of noise and one difference.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub command: &'static str,
    pub noise: &'static str,
    pub effect: f64,
    pub claims: usize,
    pub false_claims: Promise,
    /// Said better where it is better; of an audit, also worse where it is worse.
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
    let times = |cell: usize| count.div_ceil(cells[cell].0.0.asks);
    let jobs: Vec<(usize, u64)> =
        (0..cells.len()).flat_map(|cell| (0..times(cell) as u64).map(move |job| (cell, job))).collect();
    let claimed = on_every_core(jobs.len(), |job| {
        let (cell, job) = jobs[job];
        let ((claimant, (_, scenario)), effect) = cells[cell];
        (claimant.claim)(scenario, effect, seed.wrapping_add(job))
    });
    let mut claimed = claimed.into_iter();
    let row = |(index, ((claimant, (noise, _)), effect)): (usize, &((&Claimant, (&'static str, _)), f64))| {
        let claimed: Vec<Claimed> = claimed.by_ref().take(times(index)).collect();
        Row {
            command: claimant.name,
            noise,
            effect: *effect,
            claims: claimed.len() * claimant.asks,
            false_claims: false_claims(&claimed),
            found: (*effect > 0.0).then(|| mean(&claimed, |claimed| claimed.found)),
            pairs: claimed.iter().map(|claimed| claimed.pairs).sum::<f64>() / claimed.len() as f64,
            covered: mean(&claimed, |claimed| claimed.covered),
        }
    };
    cells.iter().enumerate().map(row).collect()
}

pub(crate) fn false_claims(claimed: &[Claimed]) -> Promise {
    let figure = mean(claimed, |claimed| claimed.wrong);
    let verdict = Verdict::of(figure.value <= FALSE_CLAIMS, figure.low <= FALSE_CLAIMS);
    Promise { figure, bound: FALSE_CLAIMS, verdict }
}

/// The mean of shares: none of them scatters more than what is true or false.
pub(crate) fn mean(claimed: &[Claimed], of: impl Fn(&Claimed) -> f64) -> Figure {
    binomial(claimed.iter().map(of).sum(), claimed.len())
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
    let said = |decision| standing.decision == Some(decision);
    let is_wrong = said(Decision::Worse) || (said(Decision::Better) && effect == 0.0);
    Claimed {
        wrong: f64::from(is_wrong),
        found: f64::from(said(Decision::Better)),
        pairs: standing.pairs.into(),
        covered: f64::from(holds(&standing, effect)),
    }
}

/// As the command does it: commits of these effects, each left out of the head in turn.
pub(crate) fn audit(scenario: &Scenario, effects: &[f64], seed: u64) -> Claimed {
    let head: f64 = effects.iter().sum();
    let mut world = World::new(scenario, seed, 2 * (effects.len() + 1) * AUDIT_PAIRS as usize);
    let whole = world.plant(head);
    let without: Vec<_> = effects.iter().map(|effect| world.plant(head - effect)).collect();
    let mut audit = Audit::new(Goal::Max, 0.0, AUDIT_PAIRS, seed, &vec![false; effects.len()]);
    while let Some(Turn { seed, order }) = audit.next_turn() {
        let mut value = |who: &Who| {
            let subject = match who {
                Who::Head => whole,
                Who::Without(piece) => without[*piece],
                Who::Start => 0,
            };
            Some((*who, world.measure(subject, seed.0.into())?))
        };
        let Some(values) = order.iter().map(&mut value).collect::<Option<Vec<_>>>() else { break };
        audit.add(&values);
    }
    let (mut called, mut right, mut real, mut pairs, mut covered) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (piece, (verdict, effect)) in audit.verdicts().into_iter().zip(effects).enumerate() {
        let (holds_up, hurts) = (verdict == Called::Holds, verdict == Called::Hurts);
        called += f64::from(holds_up || hurts);
        right += f64::from((holds_up && *effect > 0.0) || (hurts && *effect < 0.0));
        real += f64::from(*effect != 0.0);
        let standing = audit.standing(piece);
        pairs += standing.as_ref().map_or(0.0, |standing| standing.pairs.into());
        covered += f64::from(standing.is_none_or(|standing| holds(&standing, *effect)));
    }
    let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
    let all = effects.len() as f64;
    Claimed {
        wrong: share(called - right, called),
        found: share(right, real),
        pairs: share(pairs, all),
        covered: share(covered, all),
    }
}

/// Whether an interval holds this. Without noise it is a point, and differences are rounded.
fn holds(standing: &Standing, effect: f64) -> bool {
    standing.low.is_none_or(|low| low <= effect + 1e-9) && standing.high.is_none_or(|high| high >= effect - 1e-9)
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
    text.push_str(
        "  at most 5 % of claims may be false; found: said better where it is better, within 20 pairs;\n  \
         of an audit: of twelve commits, of which three are better and one is worse by so much, within 30 pairs each\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planted_large_is_found_and_what_is_not_there_is_rarely_claimed() {
        let found = rows(CLAIMANTS, 100, 1);
        assert_eq!(found.len(), CLAIMANTS.len() * NOISES.len() * EFFECTS.len());
        let by = |command: &str, noise: &str, effect: f64| {
            found.iter().find(|row| row.command == command && row.noise == noise && row.effect == effect).unwrap()
        };
        let of = |noise: &str, effect: f64| by("compare", noise, effect);
        assert!(of("gaussian", 3.0).found.unwrap().value > 0.95);
        assert!(of("gaussian", 0.3).found.unwrap().value < of("gaussian", 1.0).found.unwrap().value);
        assert!(of("from the seed", 1.0).found.unwrap().value > of("gaussian", 1.0).found.unwrap().value);
        assert!(found.iter().all(|row| row.false_claims.verdict != Verdict::Missed), "{}", table(&found));
        assert_eq!((of("none", 0.3).found.unwrap().value, of("none", 0.3).pairs), (1.0, 4.0));
        assert!(by("audit", "gaussian", 3.0).found.unwrap().value > 0.8, "{}", table(&found));
        assert_eq!(by("audit", "none", 0.3).found.unwrap().value, 1.0);
    }

    #[test]
    fn a_command_that_says_what_the_first_pair_says_is_seen() {
        fn first_pair(scenario: &Scenario, effect: f64, seed: u64) -> Claimed {
            let mut world = World::new(scenario, seed, 2);
            let b = world.plant(effect);
            let (of_a, of_b) = (world.measure(0, 1).unwrap(), world.measure(b, 1).unwrap());
            let wrong = f64::from(of_b < of_a || effect == 0.0);
            Claimed { wrong, found: f64::from(of_b > of_a), pairs: 1.0, covered: 0.0 }
        }
        let found = rows(&[Claimant { name: "first pair", asks: 1, claim: first_pair }], 100, 1);
        let of = |effect: f64| found.iter().find(|row| row.effect == effect).unwrap();
        assert_eq!((of(0.0).false_claims.figure.value, of(0.0).false_claims.verdict), (1.0, Verdict::Missed));
        assert_eq!(of(0.3).false_claims.verdict, Verdict::Missed);
    }
}
