//! When the champion itself may no longer run.

use super::*;

fn crashed() -> Measurement {
    Measurement { ending: Ending::Exited { code: 1 }, ..measured(None) }
}

impl Driver {
    /// An experiment whose own run breaks.
    fn breaks(&mut self, text: &str) {
        self.propose(text);
        let started = self.start_trial();
        self.finish(started, crashed());
        assert_eq!(self.verdict().0, Verdict::Crashed);
    }
}

#[test]
fn after_five_broken_experiments_in_a_row_the_champion_is_run_once_more() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    for text in ["a", "b", "c", "d"] {
        driver.breaks(text);
    }
    driver.fails(AttemptFailure::NoChange);
    driver.fails(AttemptFailure::Policy { what: "locked".into() });
    driver.breaks("e");
    let check = driver.start_trial();
    assert_eq!((check.1, check.2), (ExperimentId::BASELINE, Purpose::Check));
    assert_eq!(driver.next(), None, "nothing else until it is known");
    driver.finish(check, measured(Some(7.0)));
    let level = driver.study.state().champion().unwrap().level();
    assert_eq!((level.n(), level.mean()), (3, Some(1.0)), "a machine in doubt does not move a level");
    for text in ["f", "g", "h", "i", "j"] {
        driver.breaks(text);
    }
    assert_eq!(driver.start_trial().2, Purpose::Check, "it counts anew");
}

#[test]
fn a_champion_that_no_longer_runs_ends_the_run_and_is_tried_first_in_the_next() {
    let failed = || StopReason::ChampionFailed {
        verdict: Verdict::Crashed,
        reason: Reason::Ended { ending: Ending::Exited { code: 1 } },
    };
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    for text in ["a", "b", "c", "d", "e"] {
        driver.breaks(text);
    }
    let check = driver.start_trial();
    driver.finish(check, crashed());
    assert_eq!(driver.stopped(), failed());
    driver.start(Driver::LOOP, 1);
    let check = driver.start_trial();
    assert_eq!(check.2, Purpose::Check);
    driver.finish(check, crashed());
    assert_eq!(driver.stopped(), failed());
    driver.start(Driver::LOOP, 1);
    let check = driver.start_trial();
    driver.finish(check, measured(Some(1.0)));
    driver.propose("c");
    assert_eq!(driver.trial(2.0), Purpose::Screen, "what broke with the champion is no duplicate");
}

#[test]
fn a_number_between_broken_experiments_starts_the_count_again() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    for text in ["a", "b", "c", "d"] {
        driver.breaks(text);
    }
    driver.propose("worse");
    driver.trial(2.0);
    driver.verdict();
    driver.breaks("e");
    driver.ask();
}

#[test]
fn what_else_runs_may_finish_before_the_champion_is_blamed() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.start(Driver::LOOP, 2);
    let slow = driver.propose("slow");
    let slow = (driver.start_trial(), slow);
    for text in ["a", "b", "c", "d", "e"] {
        driver.breaks(text);
    }
    let check = driver.start_trial();
    driver.finish(check, crashed());
    assert_eq!(driver.next(), None, "the slow one still runs");
    driver.finish(slow.0, measured(Some(0.5)));
    assert!(matches!(driver.stopped(), StopReason::ChampionFailed { .. }));
    let open = driver.study.state().find(slow.1).unwrap();
    assert_eq!((open.trials.len(), &open.verdict), (1, &None), "it stays open, and its trial counts");
}

#[test]
fn a_run_that_has_all_it_wanted_does_not_look_back() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.start(Scope::Loop { experiments: Some(5) }, 1);
    for text in ["a", "b", "c", "d", "e"] {
        driver.breaks(text);
    }
    assert_eq!(driver.stopped(), StopReason::Done);
}

#[test]
fn a_champion_whose_check_is_lost_again_and_again_does_not_hold_up_the_night() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    for text in ["a", "b", "c", "d", "e"] {
        driver.breaks(text);
    }
    for _ in 0..3 {
        driver.fault();
    }
    driver.ask();
}
