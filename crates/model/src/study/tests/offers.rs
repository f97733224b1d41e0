//! Proposals that nobody was asked for, and what is said of the champion in the end.

use super::*;

#[test]
fn an_offer_waits_for_its_verdicts_and_for_a_champion_that_stays() {
    let mut driver = Driver::new(spec());
    assert!(!driver.study.takes_offer(0), "nothing to compare it with");
    driver = Driver::calibrated(spec(), [10.0, 10.1, 9.9]);
    assert!(driver.study.takes_offer(0) && !driver.study.takes_offer(1));
    driver.propose("better");
    driver.trial(5.0);
    assert!(!driver.study.takes_offer(0), "what is confirmed now may be champion next");
    driver.trial(20.0);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    assert!(driver.study.takes_offer(1) && !driver.study.takes_offer(2));
    driver.happen(What::StopRequested { hurry: false });
    assert!(!driver.study.takes_offer(0));
}

#[test]
fn a_persons_offer_joins_whatever_else_is_open() {
    let mut driver = Driver::calibrated(spec(), [10.0, 10.1, 9.9]);
    driver.propose("better");
    driver.trial(5.0);
    driver.happen(What::RunStopped { reason: StopReason::Interrupted });
    driver.start(Scope::One, 1);
    assert!(driver.study.is_for_one() && driver.study.takes_offer(0));
}

#[test]
fn the_gain_over_the_baseline_is_that_of_fresh_trials_on_both_sides() {
    let mut driver = Driver::calibrated(spec(), [10.0, 10.1, 9.9]);
    assert_eq!(driver.study.state().gain_over_baseline(), None);
    driver.propose("better");
    for value in [5.0, 5.2, 6.0] {
        driver.trial(value);
    }
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    let gain = driver.study.state().gain_over_baseline().unwrap();
    assert!((gain.gain - 4.0).abs() < 1e-9 && gain.low.unwrap() < 4.0, "{gain:?}");
}
