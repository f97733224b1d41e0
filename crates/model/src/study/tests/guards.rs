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
    driver.guard(1);
    driver.guard_on_champion(0);
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
    driver.guard(1);
    driver.guard_on_champion(0);
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
            let started = driver.start_trial();
            driver.finish(started, using(mb));
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

fn before_keep() -> Spec {
    with(|spec| spec.guards = vec![Guard { check: Check::Run("check".into()), when: When::BeforeKeep }])
}

impl Driver {
    /// The next step is a guard on the champion, not on the candidate.
    fn guard_on_champion(&mut self, code: i32) {
        let Step::RunGuard { experiment, guard, on, .. } = self.step() else { panic!("no guard") };
        assert_eq!(on, self.study.state().champion);
        let (ending, usage) = (Ending::Exited { code }, Usage::default());
        self.happen(What::GuardFinished { experiment, guard, ending, usage, output: None });
    }

    /// A candidate that is better, as far as the metric goes.
    fn better(&mut self, text: &str, value: f64) {
        self.propose(text);
        self.trial(value);
        self.trial(value);
    }
}

#[test]
fn a_guard_that_fails_and_then_passes_is_flaky_and_refuses_nobody() {
    let mut driver = Driver::calibrated(before_keep(), [1.0; 3]);
    driver.better("better", 0.5);
    driver.guard(1);
    driver.guard(0);
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    let flaky = driver.study.state().summary().unwrap().flaky;
    assert_eq!(flaky, [FlakyGuard { command: "check".into(), failed: 1, runs: 3 }], "the baseline's run counts");
}

#[test]
fn a_flaky_guard_does_not_end_a_study_at_its_baseline() {
    let mut driver = Driver::new(before_keep());
    for _ in 0..3 {
        driver.trial(1.0);
    }
    driver.guard(1);
    driver.guard(0);
    assert_eq!(driver.verdict().0, Verdict::Baseline);
}

#[test]
fn a_guard_that_the_champion_does_not_pass_either_ends_the_run_and_is_held_against_nobody() {
    let broken = || StopReason::GuardBroken { command: "check".into(), ending: Ending::Exited { code: 2 } };
    let mut driver = Driver::calibrated(before_keep(), [1.0; 3]);
    driver.better("better", 0.5);
    driver.guard(1);
    driver.guard(1);
    driver.guard_on_champion(2);
    driver.guard_on_champion(2);
    assert_eq!(driver.stopped(), broken());
    driver.start(Driver::LOOP, 1);
    driver.guard(0);
    assert_eq!(driver.verdict().0, Verdict::Kept, "it is tried again once a person has mended what broke");
}

#[test]
fn a_guard_that_is_flaky_on_the_champion_still_tells_a_candidate_that_never_passes_it() {
    let mut driver = Driver::calibrated(before_keep(), [1.0; 3]);
    driver.better("bad", 0.5);
    driver.guard(1);
    driver.guard(1);
    driver.guard_on_champion(1);
    driver.guard_on_champion(0);
    assert_eq!(driver.verdict().0, Verdict::GuardFailed);
    assert_eq!(driver.study.state().flaky_guards()[0].failed, 1);
}

#[test]
fn a_guard_is_tried_on_the_champion_while_other_slots_go_on() {
    let mut driver = Driver::calibrated(before_keep(), [1.0; 3]);
    driver.start(Driver::LOOP, 2);
    driver.better("bad", 0.5);
    driver.guard(1);
    driver.guard(1);
    driver.step();
    driver.propose("next");
    let other = driver.start_trial();
    assert_eq!(driver.next(), None, "both slots are taken");
    driver.finish(other, measured(Some(2.0)));
    assert_eq!(driver.verdict().0, Verdict::Discarded);
}

fn memory(when: When) -> Guard {
    Guard {
        check: Check::Number { metric: "peak_mb".into(), max: Some(score(100.0)), max_regression: Some(score(0.2)) },
        when,
    }
}

impl Driver {
    fn trial_using(&mut self, value: f64, mb: u64) {
        let started = self.start_trial();
        let usage = Usage { peak_bytes: mb * 1_000_000, ..Usage::default() };
        self.finish(started, Measurement { usage, ..measured(Some(value)) });
    }
}

#[test]
fn one_trial_past_a_limit_is_chance_and_two_are_not() {
    for (when, second, expected) in [
        (When::First, 101, Verdict::GuardFailed),
        (When::BeforeKeep, 101, Verdict::GuardFailed),
        (When::First, 80, Verdict::Kept),
        (When::BeforeKeep, 80, Verdict::Kept),
    ] {
        let mut driver = Driver::new(with(|spec| spec.guards = vec![memory(when)]));
        (0..3).for_each(|_| driver.trial_using(1.0, 90));
        driver.verdict();
        driver.advance();
        driver.propose("new");
        driver.trial_using(0.5, 101);
        driver.trial_using(0.5, second);
        assert_eq!(driver.verdict().0, expected, "{when:?} {second}");
    }
}

#[test]
fn a_share_of_the_champions_level_is_held_against_the_mean() {
    // The limit is 72, a fifth more than the champion's 60.
    for (numbers, expected) in [([80, 61], Verdict::Kept), ([74, 73], Verdict::GuardFailed), ([200, 60], Verdict::Kept)]
    {
        let guard = Guard {
            check: Check::Number { metric: "peak_mb".into(), max: None, max_regression: Some(score(0.2)) },
            when: When::First,
        };
        let mut driver = Driver::new(with(|spec| spec.guards = vec![guard]));
        (0..3).for_each(|_| driver.trial_using(1.0, 60));
        driver.verdict();
        driver.advance();
        driver.propose("new");
        numbers.into_iter().for_each(|mb| driver.trial_using(0.5, mb));
        assert_eq!(driver.verdict().0, expected, "{numbers:?}");
    }
}

#[test]
fn a_candidate_that_is_no_better_gets_no_second_trial_for_its_guard() {
    let mut driver = Driver::new(with(|spec| spec.guards = vec![memory(When::First)]));
    (0..3).for_each(|_| driver.trial_using(1.0, 90));
    driver.verdict();
    driver.advance();
    driver.propose("worse");
    driver.trial_using(2.0, 101);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
}
