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
