//! What comes by letter: proposals, and a wish to pause.

use super::*;
use crate::spec::Limit;

fn deliver(driver: &mut Driver, text: &str) -> ExperimentId {
    let id = driver.study.state().next_experiment();
    let parent = driver.study.state().champion().unwrap().commit.clone().unwrap();
    driver.happen(What::Delivered { becomes: id, letter: format!("letter of {text}") });
    driver.happen(What::Proposed(proposal(id, parent, text, None)));
    id
}

#[test]
fn a_letter_joins_while_an_agent_thinks_and_not_while_every_slot_has_its_work() {
    let mut driver = Driver::new(spec());
    assert!(!driver.study.takes_letter(true, Timestamp(driver.now)), "nothing to compare it with");
    driver = Driver::calibrated(spec(), [10.0, 10.1, 9.9]);
    assert!(matches!(driver.step(), Step::Ask { .. }));
    assert!(driver.study.takes_letter(false, Timestamp(driver.now)), "who thinks takes no slot");
    let id = deliver(&mut driver, "by letter");
    assert!(driver.study.state().has_read("letter of by letter"));
    assert!(
        !driver.study.takes_letter(false, Timestamp(driver.now))
            && driver.study.takes_letter(true, Timestamp(driver.now))
    );
    assert!(matches!(driver.step(), Step::StartTrial { experiment, .. } if experiment == id));
    driver.happen(What::StopRequested { hurry: false });
    assert!(!driver.study.takes_letter(true, Timestamp(driver.now)));
}

#[test]
fn a_run_for_letters_asks_nobody_and_ends_when_each_has_its_verdict() {
    let mut driver = Driver::calibrated(spec(), [10.0, 10.1, 9.9]);
    assert!(matches!(driver.step(), Step::Ask { .. }));
    driver.happen(What::RunStopped { reason: StopReason::Interrupted });
    driver.start(Scope::Letters, 1);
    assert!(driver.study.is_for_letters() && !driver.study.is_for_one());
    let id = deliver(&mut driver, "by letter");
    let trial = driver.start_trial();
    assert_eq!(trial.1, id);
    // Whoever made it go on is gone; the next run for letters goes on with it, and with nothing else.
    driver.happen(What::StopRequested { hurry: true });
    driver.lose(trial, Loss::Interrupted);
    assert_eq!(driver.next(), Some(Step::Stop(StopReason::Interrupted)), "no verdict for want of a witness");
    driver.step();
    driver.start(Scope::Letters, 1);
    assert!(driver.study.state().owes_a_verdict());
    let trial = driver.start_trial();
    assert_eq!(trial.1, id);
    driver.finish(trial, measured(None));
    driver.verdict();
    assert!(!driver.study.state().owes_a_verdict());
    assert_eq!(driver.next(), Some(Step::Stop(StopReason::Done)));
}

#[test]
fn nothing_new_begins_while_paused_and_what_runs_is_judged() {
    let mut driver = Driver::calibrated(spec(), [10.0, 10.1, 9.9]);
    driver.propose("slow");
    let trial = driver.start_trial();
    driver.happen(What::Paused { letter: "a".into() });
    assert!(driver.study.state().summary().unwrap().paused);
    assert_eq!(driver.next(), None);
    driver.finish(trial, measured(None));
    assert_eq!(driver.verdict().0, Verdict::InvalidMetric);
    assert_eq!(driver.next(), None, "nobody is asked");
    assert!(!driver.study.takes_letter(true, Timestamp(driver.now)));
    // It outlasts the run.
    driver.happen(What::StopRequested { hurry: false });
    assert_eq!(driver.step(), Step::Stop(StopReason::Interrupted));
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.next(), None);
    driver.happen(What::Resumed { letter: "b".into() });
    assert!(driver.next().is_some());
    assert!(driver.study.state().has_read("a") && driver.study.state().has_read("b"));
}

#[test]
fn a_letter_stays_in_the_box_once_the_night_is_over() {
    let night = Limit { wall: Some(Millis::seconds(60)), ..Limit::default() };
    let mut driver =
        Driver::calibrated(Spec { limits: Limits { night, ..Limits::default() }, ..spec() }, [10.0, 10.1, 9.9]);
    assert!(matches!(driver.step(), Step::Ask { .. }));
    assert!(driver.study.takes_letter(false, Timestamp(driver.now)));
    driver.now += 61_000;
    assert!(!driver.study.takes_letter(false, Timestamp(driver.now)), "it would have no verdict");
}

#[test]
fn what_somebody_outside_sends_is_no_fault_of_an_agent_of_that_name() {
    let mut driver = Driver::calibrated(spec(), [10.0, 10.1, 9.9]);
    let parent = driver.study.state().champion().unwrap().commit.clone().unwrap();
    for n in 0..12 {
        let id = driver.study.state().next_experiment();
        driver.happen(What::Delivered { becomes: id, letter: n.to_string() });
        driver.happen(What::Asked {
            experiment: id,
            agent: "command".into(),
            parent: parent.clone(),
            why: String::new(),
        });
        let failure = AttemptFailure::NoChange;
        driver.happen(What::AttemptFailed { experiment: id, failure, output: None, used: None });
        assert_eq!(driver.verdict().0, Verdict::NoChange);
    }
    assert!(matches!(driver.next(), Some(Step::Ask { agent, .. }) if agent == "command"));
}
