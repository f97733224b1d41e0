//! One night: a rule, a world, and so many trials.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::rules::{Entry, Move, Report, Rule};
use crate::scenario::Scenario;
use crate::world::World;

/// An edit of this size or more is one that nobody would want to lose.
pub const REAL_WIN: f64 = 1.0;

/// What a night came to, in sd of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Night {
    pub gain: f64,
    pub reported: f64,
    /// Whether the reported interval holds the true gain, where there is one.
    pub covered: Option<bool>,
    pub trials: u32,
    /// Candidates that got a verdict.
    pub judged: u32,
    pub kept: u32,
    /// Kept, and not better than the champion of that moment.
    pub false_kept: u32,
    /// Of the real wins among those judged, how many there were, and how many were discarded.
    pub wins: u32,
    pub missed: u32,
}

/// How long and how wide a night is.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub trials: usize,
    pub slots: u32,
}

/// Without noise an interval is a point, and scores are rounded on their way through a metric of a thousand.
const EXACT: f64 = 1e-9;

/// A rule that asks for so many proposals per trial would never end the night.
const PROPOSALS_PER_TRIAL: usize = 50;

/// Lets a rule run a night. The same seed is the same night for every rule.
pub fn night(scenario: &Scenario, seed: u64, size: Size, rule: &mut dyn Rule) -> Night {
    let mut world = World::new(scenario, seed, size.trials);
    let mut night = Night::default();
    let mut running = VecDeque::new();
    let mut proposals = 0;
    loop {
        match rule.next() {
            Some(Move::Propose) => {
                proposals += 1;
                if proposals > PROPOSALS_PER_TRIAL * size.trials {
                    break;
                }
                let candidate = world.propose();
                rule.proposed(candidate, world.content(candidate));
            }
            Some(Move::Measure { ticket, subject }) => running.push_back((ticket, subject)),
            Some(Move::Keep(candidate)) => {
                let effect = world.effect(candidate);
                night.judged += 1;
                night.kept += 1;
                night.false_kept += u32::from(effect <= 0.0);
                night.wins += u32::from(effect >= REAL_WIN);
                world.keep(candidate);
            }
            Some(Move::Discard(candidate)) => {
                let is_win = u32::from(world.effect(candidate) >= REAL_WIN);
                night.judged += 1;
                night.wins += is_win;
                night.missed += is_win;
                world.discard(candidate);
            }
            Some(Move::Refuse(_)) => {}
            Some(Move::Stop) => break,
            None => {
                let Some((ticket, subject)) = running.pop_front() else { break };
                let Some(score) = world.measure(subject) else { break };
                night.trials += 1;
                rule.measured(ticket, score);
            }
        }
    }
    let Report { gain, interval } = rule.report();
    night.gain = world.gain();
    night.reported = gain;
    night.covered = interval.map(|(low, high)| (low - EXACT..=high + EXACT).contains(&night.gain));
    night
}

/// All nights of all pairs of scenario and rule, in that order, on every core.
pub fn nights(pairs: &[(&Scenario, &Entry)], count: usize, seed: u64, size: Size) -> Vec<Vec<Night>> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![vec![Night::default(); count]; pairs.len()]);
    let work = || {
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            let Some((scenario, entry)) = pairs.get(job) else { return };
            let one = |index: usize| {
                let seed = seed.wrapping_add(index as u64);
                night(scenario, seed, size, entry.start(seed, size).as_mut())
            };
            let done = (0..count).map(one).collect();
            found.lock().expect("no thread panics")[job] = done;
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores.min(pairs.len()) {
            scope.spawn(work);
        }
    });
    found.into_inner().expect("no thread panics")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RULES;
    use crate::scenario::SCENARIOS;

    const SIZE: Size = Size { trials: 60, slots: 1 };

    fn scenario(name: &str) -> &'static Scenario {
        SCENARIOS.iter().find(|scenario| scenario.name == name).unwrap()
    }

    #[test]
    fn a_night_without_real_improvements_gains_nothing_whatever_is_kept() {
        for entry in RULES {
            for seed in 0..20 {
                let found = night(scenario("nothing"), seed, SIZE, entry.start(seed, SIZE).as_mut());
                assert_eq!((found.gain, found.wins), (0.0, 0), "{}", entry.name);
                assert_eq!(found.kept, found.false_kept, "{}", entry.name);
            }
        }
    }

    #[test]
    fn the_same_seed_is_the_same_night_and_another_is_not() {
        for entry in RULES {
            let play = |seed| night(scenario("1sd-rich"), seed, SIZE, entry.start(seed, SIZE).as_mut());
            assert_eq!(play(3), play(3), "{}", entry.name);
            assert!((0..10).any(|seed| play(seed) != play(seed + 10)), "{}", entry.name);
        }
        let pairs: Vec<_> = RULES.iter().map(|entry| (scenario("1sd"), entry)).collect();
        assert_eq!(nights(&pairs, 5, 1, SIZE), nights(&pairs, 5, 1, SIZE));
    }

    #[test]
    fn every_rule_spends_the_whole_budget_and_no_more() {
        for scenario in SCENARIOS {
            for entry in RULES {
                let found = night(scenario, 9, SIZE, entry.start(9, SIZE).as_mut());
                assert_eq!(found.trials, 60, "{} on {}", entry.name, scenario.name);
            }
        }
    }

    #[test]
    fn several_slots_spend_the_same_budget() {
        let size = Size { trials: 60, slots: 4 };
        let found = night(scenario("5sd"), 2, size, RULES[0].start(2, size).as_mut());
        assert_eq!(found.trials, 60);
        assert!(found.judged > 10, "{found:?}");
    }

    #[test]
    fn without_noise_our_interval_is_a_point_and_holds_the_truth() {
        let found = night(scenario("deterministic"), 4, SIZE, RULES[0].start(4, SIZE).as_mut());
        assert!(found.kept > 0 && found.covered == Some(true), "{found:?}");
    }

    #[test]
    fn without_noise_greedy_keeps_every_improvement_and_nothing_else() {
        let greedy = RULES.iter().find(|entry| entry.name == "greedy").unwrap();
        let size = Size { trials: 500, slots: 1 };
        let found = night(scenario("deterministic"), 4, size, greedy.start(4, size).as_mut());
        assert_eq!((found.false_kept, found.missed), (0, 0));
        assert!(found.kept > 20 && (found.gain - found.reported).abs() < 1e-9, "{found:?}");
    }
}
