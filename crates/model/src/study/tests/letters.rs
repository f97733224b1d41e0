//! What comes by letter: proposals, and a wish to pause.

use super::*;

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
    assert!(!driver.study.takes_letter(true), "nothing to compare it with");
    driver = Driver::calibrated(spec(), [10.0, 10.1, 9.9]);
    assert!(matches!(driver.step(), Step::Ask { .. }));
    assert!(driver.study.takes_letter(false), "who thinks takes no slot");
    let id = deliver(&mut driver, "by letter");
    assert!(driver.study.state().has_read("letter of by letter"));
    assert!(!driver.study.takes_letter(false) && driver.study.takes_letter(true));
    assert!(matches!(driver.step(), Step::StartTrial { experiment, .. } if experiment == id));
    driver.happen(What::StopRequested { hurry: false });
    assert!(!driver.study.takes_letter(true));
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
    assert!(!driver.study.takes_letter(true));
    // It outlasts the run.
    driver.happen(What::StopRequested { hurry: false });
    assert_eq!(driver.step(), Step::Stop(StopReason::Interrupted));
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.next(), None);
    driver.happen(What::Resumed { letter: "b".into() });
    assert!(driver.next().is_some());
    assert!(driver.study.state().has_read("a") && driver.study.state().has_read("b"));
}
