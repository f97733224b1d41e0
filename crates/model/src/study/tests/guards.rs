//! Guards.

use super::*;

#[test]
fn a_guard_that_the_baseline_does_not_pass_ends_the_run() {
    let guard = Guard { check: Check::Run("check".into()), when: When::BeforeKeep };
    let mut driver = Driver::new(with(|spec| spec.guards = vec![guard]));
    for _ in 0..3 {
        driver.trial(1.0);
    }
    driver.guard(1);
    let StopReason::BaselineFailed { verdict, .. } = driver.stopped() else { panic!("goes on") };
    assert_eq!(verdict, Verdict::GuardFailed);
    driver.start(Driver::LOOP, 1);
    driver.guard(0);
    assert_eq!(driver.verdict().0, Verdict::Baseline);
}

#[test]
fn a_guard_is_run_again_by_a_new_run_which_may_have_others() {
    let guard = Guard { check: Check::Run("check".into()), when: When::First };
    let mut driver = Driver::calibrated(with(|spec| spec.guards = vec![guard]), [1.0; 3]);
    driver.propose("new");
    driver.guard(0);
    driver.start_trial();
    driver.start(Driver::LOOP, 1);
    driver.guard(0);
    assert_eq!(driver.trial(2.0), Purpose::Screen);
}

#[test]
fn a_first_guard_runs_before_any_trial_and_its_failure_is_the_verdict() {
    let guard = |when| Guard { check: Check::Run("check".into()), when };
    let spec = || with(|spec| spec.guards = vec![guard(When::First)]);
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.propose("bad");
    assert_eq!(driver.guard(1), 0);
    assert!(matches!(driver.verdict(), (Verdict::GuardFailed, Reason::GuardCommand { .. })));
    driver.propose("good");
    driver.guard(0);
    assert_eq!(driver.trial(0.5), Purpose::Screen);
    driver.trial(0.5);
    assert_eq!(driver.verdict().0, Verdict::Kept);
}

#[test]
fn a_guard_before_keep_runs_only_for_what_would_be_kept() {
    let guard = Guard { check: Check::Run("check".into()), when: When::BeforeKeep };
    let mut driver = Driver::calibrated(with(|spec| spec.guards = vec![guard]), [1.0; 3]);
    driver.propose("worse");
    driver.trial(2.0);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    driver.propose("better");
    driver.trial(0.5);
    driver.trial(0.5);
    driver.guard(1);
    assert_eq!(driver.verdict().0, Verdict::GuardFailed);
}

#[test]
fn a_number_guard_holds_an_absolute_and_a_relative_limit() {
    let check = |max: Option<f64>, regression: Option<f64>| Check::Number {
        metric: "peak_mb".into(),
        max: max.map(score),
        max_regression: regression.map(score),
    };
    let using = |mb: u64| {
        let usage = Usage { peak_bytes: mb * 1_000_000, ..Usage::default() };
        Measurement { usage, ..measured(Some(0.5)) }
    };
    for (check, mb, passes) in [
        (check(Some(100.0), None), 101, false),
        (check(Some(100.0), None), 100, true),
        (check(None, Some(0.5)), 151, false),
        (check(None, Some(0.5)), 150, true),
    ] {
        for when in [When::First, When::BeforeKeep] {
            let guards = vec![Guard { check: check.clone(), when }];
            let mut driver = Driver::new(with(|spec| spec.guards = guards));
            for _ in 0..3 {
                let started = driver.start_trial();
                driver.finish(started, Measurement { metric: Some(score(1.0)), ..using(100) });
            }
            driver.verdict();
            driver.advance();
            driver.propose("new");
            let started = driver.start_trial();
            driver.finish(started, using(mb));
            if passes || when == When::BeforeKeep {
                let started = driver.start_trial();
                driver.finish(started, using(mb));
            }
            let expected = if passes { Verdict::Kept } else { Verdict::GuardFailed };
            assert_eq!(driver.verdict().0, expected, "{check:?} {mb} {when:?}");
        }
    }
}

#[test]
fn a_guard_without_its_number_fails() {
    let check = Check::Number { metric: "accuracy".into(), max: Some(score(1.0)), max_regression: None };
    let with_accuracy =
        |value: f64| Measurement { numbers: [("accuracy".to_owned(), score(0.9))].into(), ..measured(Some(value)) };
    let mut driver = Driver::new(with(|spec| spec.guards = vec![Guard { check, when: When::First }]));
    for _ in 0..3 {
        let started = driver.start_trial();
        driver.finish(started, with_accuracy(1.0));
    }
    driver.verdict();
    driver.advance();
    driver.propose("new");
    driver.trial(0.5);
    assert_eq!(driver.verdict(), (Verdict::GuardFailed, Reason::GuardMissing { metric: "accuracy".into() }));
}
