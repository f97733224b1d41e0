//! The baseline comes first.

use super::*;

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
    let slots: Vec<Slot> = (0..3)
        .map(|_| match driver.step() {
            Step::StartTrial { slot, .. } => slot,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(slots, [Slot(0), Slot(1), Slot(2)]);
    assert_eq!(driver.next(), None, "three are enough");
}

#[test]
fn every_trial_gets_a_seed_of_its_own() {
    let mut driver = Driver::slots(spec(), 3);
    let mut seeds: Vec<_> = (0..3)
        .map(|_| match driver.step() {
            Step::StartTrial { seed, .. } => seed,
            other => panic!("{other:?}"),
        })
        .collect();
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
