//! The baseline comes first.

use super::*;
use crate::id::Seed;

#[test]
fn the_baseline_is_measured_three_times_before_anybody_is_asked() {
    let mut driver = Driver::new(spec());
    for _ in 0..3 {
        assert_eq!(driver.trial(1.0), Purpose::Baseline);
    }
    assert_eq!(driver.verdict(), (Verdict::Baseline, Reason::Measured { trials: 3 }));
    driver.advance();
    assert_eq!(driver.ask(), ExperimentId(1));
}

#[test]
fn baseline_trials_run_side_by_side_in_different_slots() {
    let mut driver = Driver::slots(spec(), 4);
    let started = [driver.start_trial(), driver.start_trial()];
    let slots: Vec<Slot> = driver.study.state().running.values().map(|(_, (slot, _))| *slot).collect();
    assert_eq!(slots, [Slot(0), Slot(1)]);
    assert_eq!(driver.next(), None, "two tell whether there is noise");
    driver.finish(started[0], measured(Some(1.0)));
    driver.finish(started[1], measured(Some(1.0)));
    assert_eq!(driver.trial(1.0), Purpose::Baseline, "equal twice is not yet deterministic");
    assert_eq!(driver.verdict().0, Verdict::Baseline);
}

#[test]
fn two_unequal_scores_are_enough_to_begin_with() {
    let mut driver = Driver::new(spec());
    driver.trial(1.0);
    driver.trial(1.1);
    assert_eq!(driver.verdict(), (Verdict::Baseline, Reason::Measured { trials: 2 }));
    driver.advance();
    assert_eq!(driver.ask(), ExperimentId(1));
}

#[test]
fn every_trial_gets_a_seed_of_its_own() {
    let mut driver = Driver::new(spec());
    let mut seed = || match driver.step() {
        Step::StartTrial { trial, experiment, purpose, seed, .. } => {
            driver.finish((trial, experiment, purpose), measured(Some(1.0)));
            seed
        }
        other => panic!("{other:?}"),
    };
    let mut seeds: Vec<_> = (0..3).map(|_| seed()).collect();
    seeds.sort();
    seeds.dedup();
    assert_eq!(seeds.len(), 3);
}

#[test]
fn a_broken_baseline_ends_the_run_and_is_measured_again_by_the_next() {
    let mut driver = Driver::new(spec());
    let started = driver.start_trial();
    driver.finish(started, measured(None));
    assert!(matches!(driver.stopped(), StopReason::BaselineFailed { verdict: Verdict::InvalidMetric, .. }));
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.trial(1.0), Purpose::Baseline);
}

#[test]
fn an_implausible_baseline_is_measured_again_too() {
    let mut driver = Driver::new(with(|spec| spec.metric.plausible = Some((score(0.5), score(2.0)))));
    driver.trial(9.0);
    assert!(matches!(driver.stopped(), StopReason::BaselineFailed { verdict: Verdict::Suspect, .. }));
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.trial(1.0), Purpose::Baseline);
}

#[test]
fn a_baseline_that_we_lose_three_times_ends_the_run_and_not_the_baseline() {
    let mut driver = Driver::new(spec());
    for _ in 0..3 {
        driver.fault();
    }
    assert_eq!(driver.stopped(), StopReason::EngineErrors { last: "no slot".into() });
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.trial(1.0), Purpose::Baseline);
}

/// What a seed does to whatever runs with it.
fn settled(Seed(seed): Seed) -> f64 {
    f64::from(seed.wrapping_mul(2_654_435_761) >> 16) / 65_536.0 - 0.5
}

/// The first so many trials of a night in which the seed settles every number of the baseline.
fn settled_night(trials: usize, level: impl Fn(ExperimentId, Seed) -> f64) -> (Driver, Vec<(ExperimentId, Seed)>) {
    let mut driver = Driver::new(spec());
    let mut seen = Vec::new();
    while seen.len() < trials {
        match driver.step() {
            Step::StartTrial { trial, experiment, purpose, seed, .. } => {
                seen.push((experiment, seed));
                let value = if experiment.is_baseline() { 10.0 + settled(seed) } else { level(experiment, seed) };
                driver.finish((trial, experiment, purpose), measured(Some(value)));
            }
            Step::Ask { experiment, .. } => driver.proposed(experiment, &format!("idea {experiment}")),
            Step::Judge(judged) if matches!(judged.verdict, Verdict::Kept | Verdict::Baseline) => driver.advance(),
            Step::Judge(_) => driver.study.forget_judged(),
            other => panic!("{other:?}"),
        }
    }
    (driver, seen)
}

#[test]
fn the_baselines_third_trial_has_its_first_seed_and_a_fourth_comes_soon_where_that_settles_the_number() {
    for level in [10.0, 5.0] {
        let (_, seen) = settled_night(24, |_, seed| level + settled(seed));
        let seeds: Vec<Seed> = seen.iter().filter(|(id, _)| id.is_baseline()).map(|(_, seed)| *seed).collect();
        assert!(seeds.len() >= 4, "{seeds:?}");
        assert_eq!(seeds[2], seeds[0], "{seeds:?}");
        assert!(!seeds[..3].contains(&seeds[3]) && seeds[0] != seeds[1], "{seeds:?}");
    }
}

#[test]
fn where_the_seed_settles_the_number_a_candidate_that_fixes_its_luck_is_known_for_it() {
    let lucky = ExperimentId(12);
    let (driver, seen) = settled_night(60, |id, seed| if id == lucky { 9.6 } else { 10.2 + settled(seed) });
    assert!(seen.iter().filter(|(id, _)| *id == lucky).count() > 1, "it looked better");
    let found = driver.study.state().find(lucky);
    assert!(found.is_none_or(|found| driver.study.state().is_frozen(found)), "it was kept for its luck");
}
