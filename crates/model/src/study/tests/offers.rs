//! Proposals that nobody was asked for, and what is said of the champion in the end.

use super::*;

#[test]
fn an_offer_waits_for_its_verdicts_and_for_a_champion_that_stays() {
    let mut driver = Driver::new(spec());
    assert!(!driver.study.takes_offer(0), "nothing to compare it with");
    driver = Driver::calibrated(spec(), [10.0, 10.1, 9.9]);
    assert!(driver.study.takes_offer(0) && !driver.study.takes_offer(1));
    driver.propose("better");
    driver.trial(9.8);
    assert!(!driver.study.takes_offer(0), "what is measured now may be champion next");
    assert_eq!(driver.settle(&[11.0], &[10.0, 10.1]).0, Verdict::Discarded);
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
    assert_eq!(driver.settle(&[5.0, 5.2], &[10.0, 10.1]).0, Verdict::Kept);
    driver.advance();
    let before = driver.study.state().gain_over_baseline().unwrap();
    assert!(before.gain < 5.05 && before.low.unwrap() < before.gain, "what chose it is shrunk: {before:?}");
    let level = driver.study.state().find(ExperimentId::BASELINE).unwrap().level().mean().unwrap();
    driver.look(Purpose::Sentinel, 6.0);
    let after = driver.study.state().gain_over_baseline().unwrap();
    assert!((after.gain - (level - 6.0)).abs() < 1e-9, "the runs that chose it do not count: {after:?}");
    assert!(after.low.unwrap() < after.gain && after.gain < after.high.unwrap());
}
