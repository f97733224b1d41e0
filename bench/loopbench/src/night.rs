//! One night: a rule, a world, and so many trials.

use std::collections::VecDeque;
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
    /// Keeps that were taken back, and how many of them were better.
    pub retracted: u32,
    pub retracted_wrongly: u32,
}

impl Night {
    /// Keeps that stand in the morning, and those of them that are not better than what they replaced.
    pub fn standing(&self) -> (u32, u32) {
        let rightly = self.retracted - self.retracted_wrongly;
        (self.kept - self.retracted, self.false_kept.saturating_sub(rightly))
    }
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
    played(scenario, seed, size, rule).0
}

/// The same, with the world as it is in the morning.
pub(crate) fn played<'a>(scenario: &'a Scenario, seed: u64, size: Size, rule: &mut dyn Rule) -> (Night, World<'a>) {
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
            Some(Move::Measure { ticket, subject, seed }) => running.push_back((ticket, subject, seed)),
            Some(Move::Restack { candidate }) => {
                let stacked = world.restack(candidate);
                rule.restacked(candidate, stacked, world.content(stacked));
            }
            Some(Move::Retract) => {
                let worth = world.retract().expect("only a keep can be taken back");
                night.retracted += 1;
                night.retracted_wrongly += u32::from(worth > 0.0);
                night.missed += u32::from(worth >= REAL_WIN);
            }
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
                let Some((ticket, subject, seed)) = running.pop_front() else { break };
                let Some(score) = world.measure(subject, seed) else { break };
                night.trials += 1;
                rule.measured(ticket, score);
            }
        }
    }
    let Report { gain, interval } = rule.report();
    night.gain = world.gain();
    night.reported = gain;
    night.covered = interval.map(|(low, high)| (low - EXACT..=high + EXACT).contains(&night.gain));
    (night, world)
}

/// All nights of all pairs of scenario and rule, in that order, on every core.
pub fn nights(pairs: &[(&Scenario, &Entry)], count: usize, seed: u64, size: Size) -> Vec<Vec<Night>> {
    let one = |job: usize| {
        let ((scenario, entry), seed) = (pairs[job / count], seed.wrapping_add((job % count) as u64));
        night(scenario, seed, size, entry.start(seed, size).as_mut())
    };
    let found = on_every_core(pairs.len() * count, one);
    found.chunks(count).map(<[Night]>::to_vec).collect()
}

/// Does so many jobs side by side; the results are in the order of the jobs.
pub fn on_every_core<T: Send>(jobs: usize, one: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                return done;
            }
            done.push((job, one(job)));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut found: Vec<(usize, T)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores.min(jobs)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no night panics")).collect()
    });
    found.sort_by_key(|(job, _)| *job);
    found.into_iter().map(|(_, found)| found).collect()
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
                // A night that was closed begins nothing more, whatever is left of it.
                let least = if entry.name == crate::rules::OURS { 57 } else { 60 };
                assert!((least..=60).contains(&found.trials), "{found:?} {} on {}", entry.name, scenario.name);
            }
        }
    }

    /// Proposes twice, keeps the first, puts the second on top of it, keeps and takes back.
    struct Stacks<I> {
        moves: I,
        stacked: Option<(usize, usize)>,
    }

    impl<I: Iterator<Item = Move>> Rule for Stacks<I> {
        fn next(&mut self) -> Option<Move> {
            Some(match self.moves.next() {
                // What was restacked has a number that only the world knows.
                Some(Move::Keep(2)) => Move::Keep(self.stacked.unwrap().1),
                Some(found) => found,
                None => Move::Stop,
            })
        }
        fn proposed(&mut self, _candidate: usize, _content: u64) {}
        fn measured(&mut self, _ticket: u64, _score: f64) {}
        fn restacked(&mut self, candidate: usize, stacked: usize, _content: u64) {
            self.stacked = Some((candidate, stacked));
        }
        fn report(&self) -> Report {
            Report::default()
        }
    }

    #[test]
    fn what_is_stacked_and_taken_back_is_counted() {
        let (propose, restack) = (Move::Propose, Move::Restack { candidate: 2 });
        let all = [propose, propose, Move::Keep(1), restack, Move::Keep(2), Move::Retract];
        let play = |seed, count: usize| {
            let mut rule = Stacks { moves: all[..count].iter().copied(), stacked: None };
            let found = night(scenario("5sd"), seed, SIZE, &mut rule);
            assert!(count < 4 || rule.stacked == Some((2, 3)));
            found
        };
        for seed in 0..50 {
            let (one, two, back) = (play(seed, 3), play(seed, 5), play(seed, 6));
            assert_eq!((one.kept, two.kept, back.kept, back.retracted), (1, 2, 2, 1));
            assert_eq!(back.gain, one.gain);
            let is_good = two.gain > one.gain;
            assert_eq!((back.retracted_wrongly == 1, two.false_kept == one.false_kept), (is_good, is_good));
            assert_eq!(back.standing(), (1, one.false_kept));
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
