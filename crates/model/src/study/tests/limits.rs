//! Why a run ends.

use super::*;

#[test]
fn ten_failed_attempts_in_a_row_end_the_run_and_a_counted_one_starts_again() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let nothing = || AttemptFailure::error("exit code 1");
    for _ in 0..9 {
        assert_eq!(driver.fails(nothing()).0, Verdict::AgentError);
    }
    assert_eq!(driver.fails(AttemptFailure::Policy { what: "locked".into() }).0, Verdict::Policy);
    for _ in 0..9 {
        driver.fails(AttemptFailure::NoChange);
    }
    driver.fails(nothing());
    assert_eq!(driver.stopped(), StopReason::FailedAttempts { in_a_row: 10, last: "exit code 1".into() });
}

#[test]
fn an_exhausted_agent_ends_the_run() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.fails(AttemptFailure::Exhausted { what: "nothing left".into() });
    assert_eq!(driver.stopped(), StopReason::NothingToTry { what: "nothing left".into() });
}

#[test]
fn a_run_of_two_experiments_counts_verdicts_and_not_attempts() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.start(Scope::Loop { experiments: Some(2) }, 1);
    driver.propose("a");
    driver.trial(2.0);
    driver.verdict();
    driver.fails(AttemptFailure::NoChange);
    driver.propose("b");
    driver.trial(2.0);
    driver.verdict();
    assert_eq!(driver.stopped(), StopReason::Done);
}

#[test]
fn limits_on_experiments_end_the_night_and_the_study() {
    let worse = |driver: &mut Driver, text: &str| {
        driver.propose(text);
        driver.trial(2.0);
        driver.verdict();
    };
    let limits = |spec: &mut Spec| {
        spec.limits.night.experiments = Some(1);
        spec.limits.total.experiments = Some(2);
    };
    let mut driver = Driver::calibrated(with(limits), [1.0; 3]);
    worse(&mut driver, "a");
    assert_eq!(driver.stopped(), StopReason::NightExperiments);
    driver.start(Driver::LOOP, 1);
    worse(&mut driver, "b");
    assert_eq!(driver.stopped(), StopReason::NightExperiments);
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.stopped(), StopReason::TotalExperiments);
}

#[test]
fn the_wall_of_the_night_lets_what_runs_finish_and_starts_nothing_new() {
    let mut driver = Driver::calibrated(with(|spec| spec.limits.night.wall = Some(Millis::seconds(60))), [1.0; 3]);
    driver.propose("slow");
    let started = driver.start_trial();
    driver.now += 60_000;
    assert_eq!(driver.next(), None);
    driver.finish(started, measured(Some(2.0)));
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    assert_eq!(driver.stopped(), StopReason::NightWall);
}

#[test]
fn a_deadline_that_has_passed_is_not_waited_for() {
    let mut driver = Driver::calibrated(with(|spec| spec.limits.night.wall = Some(Millis::seconds(60))), [1.0; 3]);
    let deadline = |driver: &Driver| driver.study.next_deadline(Timestamp(driver.now));
    assert_eq!(deadline(&driver), Some(Timestamp(61_000)));
    driver.now += 60_000;
    assert_eq!(deadline(&driver), None, "a loop that waits for the past burns a processor");
}

#[test]
fn the_wall_of_the_study_counts_earlier_runs() {
    let mut driver = Driver::calibrated(with(|spec| spec.limits.total.wall = Some(Millis::seconds(60))), [1.0; 3]);
    driver.now += 40_000;
    driver.happen(What::RunStopped { reason: StopReason::Interrupted });
    driver.now += 3_600_000;
    driver.start(Driver::LOOP, 1);
    driver.now += 19_000;
    driver.ask();
    driver.now += 1_000;
    driver.happen(What::AttemptLost { experiment: ExperimentId(1) });
    assert_eq!(driver.stopped(), StopReason::TotalWall);
}

#[test]
fn what_is_imported_between_runs_changes_nothing_but_its_own_count() {
    let total = |spec: &mut Spec| spec.limits.total.wall = Some(Millis::seconds(60));
    let mut driver = Driver::calibrated(with(total), [1.0; 3]);
    driver.now += 30_000;
    driver.happen(What::RunStopped { reason: StopReason::Interrupted });
    let before = driver.study.state().summary().unwrap();
    driver.now += 3_600_000;
    driver.happen(What::Imported(crate::event::Imported {
        source: "results.tsv".into(),
        format: "results-tsv".into(),
        sha256: String::new(),
        entries: BlobId::of(b""),
        rows: 126,
        metric: None,
    }));
    let after = driver.study.state().summary().unwrap();
    assert_eq!(after, crate::study::Summary { imported: 126, ..before });
    // An hour that nothing ran does not count to the wall of the study.
    driver.start(Driver::LOOP, 1);
    driver.now += 20_000;
    driver.ask();
}

#[test]
fn no_gain_for_so_many_experiments_ends_the_run() {
    let patience = |spec: &mut Spec| spec.limits.night.no_gain_for = Some(Patience::Experiments(2));
    let mut driver = Driver::calibrated(with(patience), [1.0; 3]);
    for (text, value) in [("a", 2.0), ("b", 0.5), ("c", 2.0), ("d", 2.0)] {
        driver.propose(text);
        driver.trial(value);
        if value < 1.0 {
            driver.trial(value);
        }
        if driver.verdict().0 == Verdict::Kept {
            driver.advance();
        }
    }
    assert_eq!(driver.stopped(), StopReason::NoGain);
}

#[test]
fn a_target_that_is_reached_ends_the_run() {
    let mut driver = Driver::calibrated(with(|spec| spec.metric.target = Some(score(0.5))), [1.0; 3]);
    driver.propose("there");
    driver.trial(0.4);
    driver.trial(0.4);
    driver.verdict();
    driver.advance();
    assert_eq!(driver.stopped(), StopReason::Target { level: 0.4 });
}
