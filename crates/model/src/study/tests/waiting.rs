//! What becomes of a night whose provider is down.

use super::*;
use crate::event::Trouble;

const MINUTE: i64 = 60_000;

fn outage() -> AttemptFailure {
    AttemptFailure::Error { what: "503".into(), trouble: Some(Trouble::Outage) }
}

/// Goes to the moment that the loop would wait for.
fn wait(driver: &mut Driver) -> i64 {
    assert_eq!(driver.next(), None, "nobody is asked while it is waited for");
    let until = driver.study.next_deadline(Timestamp(driver.now)).expect("there is an end to it");
    let waited = until.0 - driver.now;
    driver.now = until.0;
    waited
}

#[test]
fn an_outage_of_an_hour_does_not_end_the_night_and_costs_ten_minutes_at_its_end_at_most() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let (begin, mut waits) = (driver.now, Vec::new());
    while driver.now < begin + 60 * MINUTE {
        assert_eq!(driver.fails(outage()).0, Verdict::AgentError);
        waits.push(wait(&mut driver) / 1000);
    }
    assert_eq!(waits[..8], [15, 30, 60, 120, 240, 480, 600, 600]);
    assert!(driver.now <= begin + 70 * MINUTE);
    driver.propose("a");
    assert_eq!(driver.study.state().waits_until(), None);
    driver.trial(2.0);
    driver.verdict();
    driver.fails(outage());
    assert_eq!(wait(&mut driver), 15_000, "it starts again from the beginning");
}

#[test]
fn a_rate_limit_is_waited_for_as_long_as_the_provider_says() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let limit = |at| AttemptFailure::Error {
        what: "429".into(),
        trouble: Some(Trouble::RateLimit { retry_at: Some(Timestamp(at)) }),
    };
    driver.fails(limit(driver.now + 3 * 60 * MINUTE));
    assert_eq!(wait(&mut driver), 3 * 60 * MINUTE);
    driver.fails(limit(driver.now + 1));
    assert_eq!(wait(&mut driver), 30_000, "one that says a moment for ever is not asked every moment");
    driver.fails(limit(i64::MAX));
    assert_eq!(wait(&mut driver), 24 * 60 * MINUTE, "a day is the longest");
}

#[test]
fn other_failures_count_as_ever_and_are_not_waited_for() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let denied = || AttemptFailure::Error { what: "401".into(), trouble: Some(Trouble::Denied) };
    for _ in 0..5 {
        driver.fails(denied());
    }
    driver.fails(outage());
    wait(&mut driver);
    for _ in 0..5 {
        driver.fails(denied());
    }
    assert_eq!(driver.stopped(), StopReason::FailedAttempts { in_a_row: 10, last: "401".into() });
}

#[test]
fn what_is_open_goes_on_and_a_request_to_stop_ends_the_wait_at_once() {
    let mut driver = Driver::calibrated(with(|spec| spec.agent.ahead = 1), [1.0; 3]);
    driver.propose("a");
    let trial = driver.start_trial();
    let experiment = driver.ask();
    driver.happen(What::AttemptFailed { experiment, failure: outage(), output: None, used: None });
    driver.verdict();
    assert_eq!(driver.next(), None);
    driver.finish(trial, measured(Some(2.0)));
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    assert_eq!(driver.next(), None);
    driver.happen(What::StopRequested { hurry: false });
    assert_eq!(driver.stopped(), StopReason::Interrupted);
}

#[test]
fn the_end_of_the_night_comes_before_the_end_of_a_wait() {
    let night = |spec: &mut Spec| spec.limits.night.wall = Some(Millis::seconds(60));
    let mut driver = Driver::calibrated(with(night), [1.0; 3]);
    for _ in 0..3 {
        driver.fails(outage());
        wait(&mut driver);
    }
    assert_eq!(driver.stopped(), StopReason::NightWall);
}
