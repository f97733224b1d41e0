//! Quick looks before a slot is taken.

use super::*;
use crate::spec::Smoke;

fn smoking() -> Spec {
    with(|spec| spec.evaluate.smoke = Some(Smoke { run: "compile".into(), kill: Smoke::KILL }))
}

#[test]
fn a_smoke_that_the_baseline_does_not_pass_ends_the_run_before_any_trial() {
    let mut driver = Driver::new(smoking());
    assert_eq!(driver.smoke(1), None);
    let StopReason::BaselineFailed { verdict, reason } = driver.stopped() else { panic!("goes on") };
    assert_eq!(verdict, Verdict::Crashed);
    assert_eq!(reason.to_string(), "smoke failed: `compile`: exit code 1");
    driver.start(Driver::LOOP, 1);
    driver.smoke(0);
    assert_eq!(driver.trial(1.0), Purpose::Baseline);
}

#[test]
fn a_candidate_that_does_not_pass_has_its_verdict_without_a_trial_once_the_champion_passes() {
    let mut driver = Driver::calibrated(smoking(), [1.0; 3]);
    driver.propose("bad");
    assert_eq!(driver.smoke(2), None);
    assert_eq!(driver.smoke(0), Some(ExperimentId::BASELINE));
    assert!(matches!(driver.verdict(), (Verdict::Crashed, Reason::Smoke { .. })));
    assert_eq!(driver.study.state().spent().screen, 0);
    driver.propose("good");
    driver.smoke(0);
    assert_eq!(driver.trial(2.0), Purpose::Screen);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
}

#[test]
fn a_smoke_that_the_champion_does_not_pass_either_ends_the_run_and_blames_nobody() {
    let mut driver = Driver::calibrated(smoking(), [1.0; 3]);
    driver.propose("innocent");
    driver.smoke(127);
    driver.smoke(127);
    assert!(matches!(driver.stopped(), StopReason::GuardBroken { .. }));
    driver.start(Driver::LOOP, 1);
    driver.smoke(0);
    assert_eq!(driver.trial(2.0), Purpose::Screen);
}

#[test]
fn the_verdict_says_how_it_ended() {
    let mut driver = Driver::calibrated(smoking(), [1.0; 3]);
    driver.propose("slow");
    let Step::Smoke { experiment, .. } = driver.step() else { panic!("no quick look") };
    let ending = Ending::TimedOut { after: Smoke::KILL };
    driver.happen(What::SmokeFinished { experiment, ending, usage: Usage::default(), output: None });
    driver.smoke(0);
    assert_eq!(driver.verdict().0, Verdict::TimedOut);
}

#[test]
fn a_smoke_takes_no_slot() {
    let mut driver = Driver::calibrated(with(|spec| (*spec = smoking(), spec.agent.ahead = 1).1), [1.0; 3]);
    driver.propose("first");
    driver.smoke(0);
    let started = driver.start_trial();
    driver.propose("second");
    let Step::Smoke { experiment, .. } = driver.step() else { panic!("no quick look while a trial runs") };
    assert_eq!(driver.next(), None, "one is asked for ahead, and not two");
    let (ending, usage) = (Ending::Exited { code: 0 }, Usage::default());
    driver.happen(What::SmokeFinished { experiment, ending, usage, output: None });
    driver.finish(started, measured(Some(2.0)));
    driver.verdict();
    assert_eq!(driver.start_trial().1, experiment);
}

#[test]
fn a_smoke_that_was_lost_is_run_again_and_by_a_new_run_too() {
    let mut driver = Driver::calibrated(smoking(), [1.0; 3]);
    let id = driver.propose("new");
    driver.step();
    driver.happen(What::SmokeLost { experiment: id, loss: Loss::Suspended });
    driver.step();
    assert!(driver.study.state().losses().contains(&What::SmokeLost { experiment: id, loss: Loss::Interrupted }));
    driver.start(Driver::LOOP, 1);
    driver.smoke(0);
    driver.start_trial();
}

#[test]
fn no_more_are_looked_at_than_may_count() {
    let mut driver = Driver::calibrated(with(|spec| (*spec = smoking(), spec.agent.ahead = 1).1), [1.0; 3]);
    driver.propose("first");
    driver.smoke(0);
    driver.start_trial();
    driver.propose("second");
    driver.start(Scope::Loop { experiments: Some(1) }, 2);
    driver.smoke(0);
    driver.start_trial();
    assert_eq!(driver.next(), None, "the second could fail, and count");
}
