//! What crashed at once and goes back to whoever made it.

use super::*;
use crate::event::Trouble;
use crate::spec::Smoke;

fn repairing() -> Spec {
    with(|spec| {
        spec.agent.repairs = 1;
        spec.evaluate.budget = Millis::seconds(100);
    })
}

fn crashed(after: Millis) -> Measurement {
    let usage = Usage { wall: after, ..Usage::default() };
    Measurement { ending: Ending::Exited { code: 1 }, usage, ..measured(None) }
}

impl Driver {
    /// The next step is a trial; it crashes after so long.
    fn crash(&mut self, after: Millis) {
        let started = self.start_trial();
        self.finish(started, crashed(after));
    }

    fn ask_repair(&mut self) -> ExperimentId {
        match self.step() {
            Step::Repair { experiment, agent } => {
                assert_eq!(agent, "command");
                experiment
            }
            other => panic!("{other:?}"),
        }
    }

    fn repaired(&mut self, experiment: ExperimentId, text: &str) {
        let parent = self.study.state().find(experiment).and_then(|open| open.parent.clone()).unwrap();
        self.happen(What::Repaired(proposal(experiment, parent, text, None)));
    }

    fn not_repaired(&mut self, experiment: ExperimentId, failure: AttemptFailure) {
        self.happen(What::NotRepaired { experiment, failure, output: None, used: None });
    }
}

#[test]
fn a_crash_at_once_goes_back_and_the_repair_is_measured_within_the_same_experiment() {
    let mut driver = Driver::calibrated(repairing(), [1.0; 3]);
    let id = driver.propose("slip");
    driver.crash(Millis::seconds(10));
    assert_eq!(driver.ask_repair(), id);
    assert_eq!(driver.next(), None, "nothing is judged while it is repaired");
    driver.repaired(id, "mended");
    assert_eq!(driver.trial(0.5), Purpose::Screen);
    driver.trial(0.5);
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    assert_eq!(driver.study.state().summary().unwrap().experiments, 1);
    driver.propose("slip");
    assert_eq!(driver.verdict().0, Verdict::Duplicate, "what crashed is known");
}

#[test]
fn a_second_crash_is_the_verdict_and_so_is_the_first_where_nobody_repairs_it() {
    let mut driver = Driver::calibrated(repairing(), [1.0; 3]);
    let id = driver.propose("slip");
    driver.crash(Millis(1));
    driver.ask_repair();
    driver.repaired(id, "another slip");
    driver.crash(Millis(1));
    assert_eq!(driver.verdict().0, Verdict::Crashed);
    let id = driver.propose("third");
    driver.crash(Millis(1));
    driver.ask_repair();
    driver.not_repaired(id, AttemptFailure::NoChange);
    assert_eq!(driver.verdict().0, Verdict::Crashed);
}

#[test]
fn what_took_a_while_or_ended_otherwise_is_no_slip() {
    let late = crashed(Millis(10_001));
    let hung = Measurement { ending: Ending::TimedOut { after: Millis(1) }, ..crashed(Millis(1)) };
    let hungry = Measurement { ending: Ending::OutOfMemory { limit: 1 }, ..crashed(Millis(1)) };
    for (measurement, expected) in [
        (late, Verdict::Crashed),
        (hung, Verdict::TimedOut),
        (hungry, Verdict::OutOfMemory),
        (measured(None), Verdict::InvalidMetric),
    ] {
        let mut driver = Driver::calibrated(repairing(), [1.0; 3]);
        driver.propose("new");
        let started = driver.start_trial();
        driver.finish(started, measurement);
        assert_eq!(driver.verdict().0, expected);
    }
}

#[test]
fn what_ran_before_is_not_repaired() {
    let mut driver = Driver::calibrated(repairing(), [1.0, 1.1, 1.0]);
    driver.propose("flaky");
    assert_eq!(driver.trial(0.9), Purpose::Screen);
    while matches!(driver.next(), Some(Step::StartTrial { purpose: Purpose::Remeasure | Purpose::Sentinel, .. })) {
        driver.trial(1.0);
    }
    driver.crash(Millis(1));
    assert_eq!(driver.verdict().0, Verdict::Crashed);
}

#[test]
fn a_tenth_of_a_short_budget_is_a_second() {
    let mut driver = Driver::calibrated(with(|spec| spec.agent.repairs = 1), [1.0; 3]);
    driver.propose("slip");
    driver.crash(Millis(900));
    driver.ask_repair();
}

#[test]
fn without_repairs_a_crash_is_a_crash() {
    let mut driver = Driver::calibrated(with(|spec| spec.agent.repairs = 0), [1.0; 3]);
    driver.propose("slip");
    driver.crash(Millis(1));
    assert_eq!(driver.verdict().0, Verdict::Crashed);
}

#[test]
fn a_smoke_that_failed_goes_back_too_and_is_looked_at_again() {
    let smoke = Some(Smoke { run: "compile".into(), kill: Smoke::KILL });
    let mut driver = Driver::calibrated(with(|spec| (*spec = repairing(), spec.evaluate.smoke = smoke).1), [1.0; 3]);
    let id = driver.propose("slip");
    driver.smoke(1);
    driver.smoke(0);
    assert_eq!(driver.ask_repair(), id);
    driver.repaired(id, "mended");
    driver.smoke(0);
    assert_eq!(driver.trial(2.0), Purpose::Screen);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
}

#[test]
fn neither_the_tuner_nor_a_person_is_asked_to_repair() {
    let tuner = |spec: &mut Spec| {
        spec.agent.repairs = 1;
        spec.agent.members[0].kind = AgentKind::Tuner;
    };
    let mut driver = Driver::calibrated(with(tuner), [1.0; 3]);
    driver.propose("slip");
    driver.crash(Millis(1));
    assert_eq!(driver.verdict().0, Verdict::Crashed);
    let mut driver = Driver::calibrated(repairing(), [1.0; 3]);
    driver.start(Scope::One, 1);
    driver.proposed(ExperimentId(1), "by hand");
    driver.crash(Millis(1));
    assert_eq!(driver.verdict().0, Verdict::Crashed);
}

#[test]
fn nobody_waits_for_a_provider_to_repair_something() {
    let mut driver = Driver::calibrated(repairing(), [1.0; 3]);
    let id = driver.propose("slip");
    driver.crash(Millis(1));
    driver.ask_repair();
    let failure = AttemptFailure::Error { what: "down".into(), trouble: Some(Trouble::Outage) };
    driver.not_repaired(id, failure);
    assert_eq!(driver.verdict().0, Verdict::Crashed);
    assert_eq!(driver.next(), None, "the next question waits for it");
    assert!(driver.study.state().waiting().next().is_some());
}

#[test]
fn a_killed_engine_asks_for_the_repair_again() {
    let mut driver = Driver::calibrated(repairing(), [1.0; 3]);
    let id = driver.propose("slip");
    driver.crash(Millis(1));
    driver.ask_repair();
    assert_eq!(driver.study.state().losses(), [What::AttemptLost { experiment: id }]);
    driver.happen(What::AttemptLost { experiment: id });
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.ask_repair(), id);
}

#[test]
fn a_run_that_asks_nobody_any_more_gives_the_crash_its_verdict() {
    let patience = |spec: &mut Spec| {
        *spec = repairing();
        spec.limits.night.no_gain_for = Some(Patience::Time(Millis(50)));
    };
    let mut driver = Driver::calibrated(with(patience), [1.0; 3]);
    driver.propose("slip");
    let started = driver.start_trial();
    driver.now += 1000;
    driver.finish(started, crashed(Millis(1)));
    assert_eq!(driver.verdict().0, Verdict::Crashed);
    assert_eq!(driver.stopped(), StopReason::NoGain);
}

#[test]
fn a_stop_leaves_it_to_the_next_run() {
    let mut driver = Driver::calibrated(repairing(), [1.0; 3]);
    let id = driver.propose("slip");
    let started = driver.start_trial();
    driver.happen(What::StopRequested { hurry: false });
    driver.finish(started, crashed(Millis(1)));
    assert_eq!(driver.stopped(), StopReason::Interrupted);
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.ask_repair(), id);
}

#[test]
fn what_is_in_repair_counts_as_one_of_those_that_were_asked_for() {
    let mut driver = Driver::calibrated(with(|spec| (*spec = repairing(), spec.agent.ahead = 1).1), [1.0; 3]);
    let id = driver.propose("slip");
    let started = driver.start_trial();
    driver.propose("second");
    driver.finish(started, crashed(Millis(1)));
    driver.start(Scope::Loop { experiments: Some(1) }, 1);
    assert_eq!(driver.ask_repair(), id);
    assert_eq!(driver.next(), None, "a failed repair would be one verdict too many");
    driver.not_repaired(id, AttemptFailure::NoChange);
    driver.verdict();
    assert_eq!(driver.stopped(), StopReason::Done);
}

#[test]
fn a_repair_for_a_champion_that_has_moved_is_put_on_the_new_one() {
    let mut driver = Driver::calibrated(repairing(), [1.0; 3]);
    driver.start(Driver::LOOP, 2);
    let slip = driver.propose("slip");
    let first = driver.start_trial();
    driver.propose("better");
    driver.finish(first, crashed(Millis(1)));
    assert_eq!(driver.ask_repair(), slip);
    driver.trial(0.5);
    driver.trial(0.5);
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    driver.repaired(slip, "mended");
    assert_eq!(driver.restack("mended on better"), slip);
    driver.start_trial();
}
