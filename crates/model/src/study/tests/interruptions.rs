//! Stops, losses and what a killed run leaves.

use super::*;

#[test]
fn a_stop_lets_what_runs_finish_and_leaves_open_what_needs_more() {
    let mut driver = Driver::calibrated(spec(), [1.0, 1.01, 0.99]);
    driver.propose("promising");
    let started = driver.start_trial();
    driver.happen(What::StopRequested { hurry: false });
    assert_eq!(driver.next(), None, "the trial still runs");
    driver.finish(started, measured(Some(0.96)));
    assert_eq!(driver.stopped(), StopReason::Interrupted);
    driver.start(Driver::LOOP, 1);
    let next = driver.study.state().find(started.1).unwrap();
    assert_eq!(next.scores(), [0.96], "the first trial still counts");
    assert_eq!(driver.settle(&[1.2], &[1.0]).0, Verdict::Discarded);
}

#[test]
fn a_keep_reaches_the_branch_even_when_the_run_is_being_stopped() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.propose("better");
    driver.trial(0.5);
    let started = driver.start_trial();
    driver.happen(What::StopRequested { hurry: false });
    driver.finish(started, measured(Some(0.5)));
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    assert_eq!(driver.stopped(), StopReason::Interrupted);
}

#[test]
fn a_try_judges_one_proposal_and_leaves_others_alone() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let open = driver.ask();
    driver.start(Scope::One, 1);
    assert_eq!(driver.next(), None, "the loop's own experiment is not its business, and it waits for the proposal");
    driver.proposed(ExperimentId(2), "mine");
    assert_eq!(driver.trial(2.0), Purpose::Screen);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    assert_eq!(driver.stopped(), StopReason::Done);
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.ask(), open);
}

#[test]
fn a_try_that_is_stopped_is_interrupted_and_may_be_tried_again() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.start(Scope::One, 1);
    driver.proposed(ExperimentId(1), "mine");
    let started = driver.start_trial();
    driver.happen(What::StopRequested { hurry: true });
    driver.lose(started, Loss::Interrupted);
    assert_eq!(driver.verdict().0, Verdict::Interrupted);
    assert_eq!(driver.stopped(), StopReason::Interrupted);
    assert_eq!(driver.study.state().tried(&content_id(&surface("mine"))), None);
}

#[test]
fn a_lost_trial_is_run_again_with_another_seed_and_says_nothing() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let experiment = driver.propose("new");
    for _ in 0..5 {
        let started = driver.start_trial();
        driver.lose(started, Loss::Suspended);
    }
    assert_eq!(driver.study.state().find(experiment).unwrap().trials.len(), 0);
    assert_eq!(driver.trial(0.5), Purpose::Screen);
    driver.trial(0.5);
    assert_eq!(driver.verdict().0, Verdict::Kept);
}

#[test]
fn our_own_fault_ends_an_experiment_only_three_times_in_a_row() {
    let guard = Guard { check: Check::Run("check".into()), when: When::First };
    let mut driver = Driver::calibrated(with(|spec| spec.guards = vec![guard]), [1.0, 1.01, 0.99]);
    let experiment = driver.propose("new");
    for _ in 0..2 {
        let Step::RunGuard { guard, .. } = driver.step() else { panic!("no guard") };
        driver.happen(What::GuardLost { experiment, guard, loss: Loss::Fault { what: "no slot".into() } });
    }
    driver.guard(0);
    driver.fault();
    driver.fault();
    driver.trial(0.96);
    driver.fault();
    driver.fault();
    driver.fault();
    assert_eq!(driver.verdict(), (Verdict::EngineError, Reason::Engine { what: "no slot".into() }));
}

#[test]
fn three_engine_errors_in_a_row_end_the_run() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    for text in ["a", "b", "c"] {
        driver.propose(text);
        for _ in 0..3 {
            driver.fault();
        }
        driver.verdict();
    }
    assert_eq!(driver.stopped(), StopReason::EngineErrors { last: "no slot".into() });
}

#[test]
fn a_champion_that_cannot_be_measured_again_does_not_hold_up_the_night() {
    let mut driver = Driver::calibrated(spec(), [1.0, 1.01, 0.99]);
    driver.start(Driver::LOOP, 1);
    for _ in 0..3 {
        assert!(matches!(driver.next(), Some(Step::StartTrial { purpose: Purpose::Sentinel, .. })));
        driver.fault();
    }
    driver.ask();
}

#[test]
fn a_new_run_loses_what_was_in_flight_and_goes_on_with_what_was_open() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.start(Driver::LOOP, 2);
    driver.propose("running");
    driver.start_trial();
    let asked = driver.ask();
    driver.start(Driver::LOOP, 2);
    assert!(driver.study.state().summary().unwrap().running.is_empty());
    assert_eq!(driver.trial(2.0), Purpose::Screen);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    assert_eq!(driver.ask(), asked, "the same experiment, asked for again");
}

#[test]
fn what_a_killed_run_left_in_flight_is_recorded_as_lost_and_nothing_else() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    assert_eq!(driver.study.state().losses(), Vec::new());
    driver.start(Driver::LOOP, 2);
    driver.propose("running");
    let (trial, experiment, _) = driver.start_trial();
    let asked = driver.ask();
    let losses = driver.study.state().losses();
    let lost = What::TrialLost { trial, experiment, loss: Loss::Interrupted };
    assert_eq!(losses, vec![lost, What::AttemptLost { experiment: asked }]);
    losses.into_iter().for_each(|what| driver.happen(what));
    assert_eq!(driver.study.state().losses(), Vec::new());
}

#[test]
fn a_keep_whose_branch_is_not_recorded_comes_first_in_a_new_run() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let experiment = driver.propose("better");
    driver.trial(0.5);
    driver.trial(0.5);
    driver.verdict();
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.next(), Some(Step::AdvanceBranch { experiment }));
}

#[test]
fn a_slot_holds_one_trial_or_guard_at_a_time() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.start(Driver::LOOP, 2);
    driver.propose("a");
    let Step::StartTrial { slot: first, .. } = driver.step() else { panic!("no trial") };
    driver.propose("b");
    let Step::StartTrial { slot: second, .. } = driver.step() else { panic!("no trial") };
    assert_eq!([first, second], [Slot(0), Slot(1)]);
    assert_eq!(driver.next(), None, "both slots are taken");
}
