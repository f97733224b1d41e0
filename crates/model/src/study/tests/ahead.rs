//! Proposals that are made while trials run.

use super::*;

/// A study with these many slots whose agent is asked ahead of time.
fn ahead(ahead: u32, slots: u32) -> Driver {
    let mut driver = Driver::calibrated(with(|spec| spec.agent.ahead = ahead), [1.0; 3]);
    driver.start(Driver::LOOP, slots);
    driver
}

#[test]
fn while_a_trial_runs_the_next_proposal_is_made_and_waits() {
    let mut driver = ahead(1, 1);
    driver.propose("a");
    let running = driver.start_trial();
    let next = driver.propose("b");
    assert_eq!(driver.next(), None, "one is enough");
    driver.finish(running, measured(Some(2.0)));
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    assert_eq!(driver.start_trial().1, next, "nobody has to think first");
    assert_eq!(driver.ask(), ExperimentId(3));
}

#[test]
fn nobody_is_asked_ahead_while_a_slot_is_free() {
    let mut driver = ahead(3, 2);
    driver.ask();
    driver.ask();
    assert_eq!(driver.next(), None, "two slots, two questions");
    driver.proposed(ExperimentId(1), "a");
    driver.start_trial();
    assert_eq!(driver.next(), None, "the other slot still waits for its own");
    driver.proposed(ExperimentId(2), "b");
    driver.start_trial();
    assert_eq!([driver.ask(), driver.ask(), driver.ask()], [3, 4, 5].map(ExperimentId));
    assert_eq!(driver.next(), None);
}

#[test]
fn without_ahead_an_agent_thinks_only_for_a_free_slot() {
    let mut driver = ahead(0, 1);
    driver.propose("a");
    driver.start_trial();
    assert_eq!(driver.next(), None);
}

#[test]
fn the_tuner_is_not_asked_ahead_of_what_it_could_learn() {
    let tuner = |spec: &mut Spec| {
        let alone = AgentSpec::one(AgentKind::Tuner, Millis::seconds(60), Network::Full);
        spec.agent = AgentSpec { ahead: 3, ..alone };
    };
    let mut driver = Driver::calibrated(with(tuner), [1.0; 3]);
    driver.propose("a");
    driver.start_trial();
    assert_eq!(driver.next(), None);
}

#[test]
fn no_more_is_asked_for_ahead_than_may_still_count() {
    for limit in [false, true] {
        let limits = |spec: &mut Spec| {
            spec.agent.ahead = 3;
            spec.limits.night.experiments = limit.then_some(2);
        };
        let mut driver = Driver::calibrated(with(limits), [1.0; 3]);
        driver.start(Scope::Loop { experiments: (!limit).then_some(2) }, 1);
        driver.propose("a");
        let running = driver.start_trial();
        driver.propose("b");
        assert_eq!(driver.next(), None, "the second of two is on its way");
        driver.finish(running, measured(Some(2.0)));
        driver.verdict();
        driver.trial(2.0);
        driver.verdict();
        assert_eq!(driver.stopped(), if limit { StopReason::NightExperiments } else { StopReason::Done });
    }
}

#[test]
fn no_more_is_asked_for_ahead_than_patience_allows() {
    let patience = |spec: &mut Spec| {
        spec.agent.ahead = 3;
        spec.limits.night.no_gain_for = Some(Patience::Experiments(2));
    };
    let mut driver = Driver::calibrated(with(patience), [1.0; 3]);
    driver.propose("a");
    let running = driver.start_trial();
    driver.propose("b");
    assert_eq!(driver.next(), None);
    driver.finish(running, measured(Some(2.0)));
    driver.verdict();
    driver.trial(2.0);
    driver.verdict();
    assert_eq!(driver.stopped(), StopReason::NoGain);
}

#[test]
fn nobody_is_asked_ahead_about_a_champion_that_may_be_replaced() {
    let mut driver = ahead(3, 1);
    driver.propose("better");
    let screen = driver.start_trial();
    let early = driver.ask();
    driver.happen(What::AttemptLost { experiment: early });
    driver.finish(screen, measured(Some(0.5)));
    let confirm = driver.start_trial();
    assert_eq!(driver.next(), None, "the champion may move");
    driver.finish(confirm, measured(Some(0.5)));
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    assert!(matches!(driver.next(), Some(Step::Ask { parent, .. }) if parent == CommitId("commit of 1".into())));
}

#[test]
fn a_proposal_that_waited_is_judged_against_the_champion_of_its_trial() {
    let mut driver = ahead(1, 1);
    driver.propose("better");
    let screen = driver.start_trial();
    let early = driver.propose("not as good");
    driver.finish(screen, measured(Some(0.5)));
    driver.trial(0.5);
    driver.verdict();
    driver.advance();
    assert_eq!(driver.restack("better and not as good"), early);
    let started = driver.start_trial();
    assert_eq!(started.1, early);
    driver.finish(started, measured(Some(0.75)));
    assert_eq!(driver.verdict(), (Verdict::Discarded, Reason::NotBetter { gain: -0.25 }));
}

#[test]
fn a_proposal_that_waits_does_not_keep_the_champion_from_being_watched() {
    let mut driver = Driver::calibrated(with(|spec| spec.agent.ahead = 1), [1.0, 1.01, 0.99]);
    driver.propose("worse 0");
    for index in 1..40 {
        let started = driver.start_trial();
        if started.2 == Purpose::Sentinel {
            assert_eq!(started.1, ExperimentId::BASELINE);
            return;
        }
        driver.propose(&format!("worse {index}"));
        driver.finish(started, measured(Some(1.5)));
        assert_eq!(driver.verdict().0, Verdict::Discarded);
    }
    panic!("nobody looked at the champion");
}

#[test]
fn an_agent_that_fails_ahead_is_asked_again_once_a_slot_is_free() {
    let mut driver = ahead(3, 1);
    driver.propose("a");
    let running = driver.start_trial();
    driver.ask();
    driver.ask();
    driver.ask();
    let experiment = ExperimentId(2);
    driver.happen(What::AttemptFailed { experiment, failure: AttemptFailure::NoChange, output: None, used: None });
    driver.verdict();
    assert_eq!(driver.next(), None, "ten in a row would end the run while its trial runs");
    driver.finish(running, measured(Some(2.0)));
    driver.verdict();
    driver.proposed(ExperimentId(3), "c");
    driver.start_trial();
    assert_eq!(driver.ask(), ExperimentId(5));
}

#[test]
fn what_waited_when_a_run_was_stopped_comes_first_in_the_next_and_no_more_than_that() {
    let mut driver = ahead(1, 1);
    driver.propose("a");
    let running = driver.start_trial();
    let waiting = driver.propose("b");
    driver.happen(What::StopRequested { hurry: false });
    driver.finish(running, measured(Some(2.0)));
    driver.verdict();
    assert_eq!(driver.stopped(), StopReason::Interrupted);
    assert_eq!(driver.study.state().open().map(|open| open.id).collect::<Vec<_>>(), [waiting]);
    driver.start(Scope::Loop { experiments: Some(1) }, 1);
    let started = driver.start_trial();
    assert_eq!(started.1, waiting);
    assert_eq!(driver.next(), None, "one experiment was wanted, and it runs");
    driver.finish(started, measured(Some(2.0)));
    driver.verdict();
    assert_eq!(driver.stopped(), StopReason::Done);
}

#[test]
fn a_run_of_one_experiment_begins_one_whatever_waits() {
    let mut driver = ahead(2, 1);
    driver.propose("a");
    driver.start_trial();
    driver.propose("b");
    let asked = driver.ask();
    // Killed: a trial and an attempt are lost, and three experiments are open.
    driver.start(Scope::Loop { experiments: Some(1) }, 1);
    assert_eq!(driver.trial(2.0), Purpose::Screen);
    driver.verdict();
    assert_eq!(driver.stopped(), StopReason::Done);
    assert_eq!(driver.study.state().open().map(|open| open.id).collect::<Vec<_>>(), [ExperimentId(2), asked]);
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.start_trial().1, ExperimentId(2));
    assert_eq!(driver.ask(), asked, "the same experiment, asked for again");
}

#[test]
fn a_target_leaves_for_later_what_waits() {
    let target = |spec: &mut Spec| (spec.agent.ahead, spec.metric.target) = (1, Some(score(0.5)));
    let mut driver = Driver::calibrated(with(target), [1.0; 3]);
    driver.propose("there");
    let screen = driver.start_trial();
    driver.propose("too late");
    driver.finish(screen, measured(Some(0.4)));
    driver.trial(0.4);
    driver.verdict();
    driver.advance();
    assert_eq!(driver.stopped(), StopReason::Target { level: 0.4 });
}

#[test]
fn a_wall_waits_for_the_agent_and_leaves_its_proposal_for_the_next_night() {
    let wall = |spec: &mut Spec| {
        spec.agent.ahead = 1;
        spec.limits.night.wall = Some(Millis::seconds(60));
    };
    let mut driver = Driver::calibrated(with(wall), [1.0; 3]);
    driver.propose("a");
    let running = driver.start_trial();
    let thinking = driver.ask();
    driver.now += 60_000;
    driver.finish(running, measured(Some(2.0)));
    driver.verdict();
    assert_eq!(driver.next(), None, "an agent is still at work");
    driver.proposed(thinking, "b");
    assert_eq!(driver.stopped(), StopReason::NightWall);
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.start_trial().1, thinking);
}
