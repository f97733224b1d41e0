//! A new segment, and what it takes over.

use super::*;
use crate::event::Carried;

/// How a run that only rebases is started.
const ASKED: Scope = Scope::Loop { experiments: Some(0) };

/// A study with a champion at 0.5, in a new segment that has measured nothing yet.
fn rebased(scope: Scope) -> Driver {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.propose("better");
    driver.trial(0.5);
    driver.trial(0.5);
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    driver.happen(What::RunStopped { reason: StopReason::Done });
    driver.open_segment();
    driver.start(scope, 1);
    driver
}

impl Driver {
    fn open_segment(&mut self) {
        let state = self.study.state();
        let old = state.segment.clone().unwrap();
        let experiment = state.next_experiment();
        let carried = ExperimentId(experiment.0 + 1);
        let facts = SegmentFacts {
            segment: Segment(old.segment.0 + 1),
            baseline: CommitId("new base".into()),
            experiment,
            carried: Some(Carried { changed: "`score.py`".into(), experiment: Some(carried) }),
            ..old
        };
        self.happen(What::SegmentOpened(facts.into()));
        self.proposed(carried, "better");
    }

    /// The baseline of the new segment, to its place on the branch.
    fn new_baseline(&mut self, scores: [f64; 3]) {
        for value in scores {
            assert_eq!(self.trial(value), Purpose::Baseline);
        }
        assert_eq!(self.verdict().0, Verdict::Baseline);
        self.advance();
    }
}

#[test]
fn a_new_segment_measures_the_baseline_then_the_champion_and_then_stops() {
    let mut driver = rebased(ASKED);
    driver.new_baseline([7.0; 3]);
    for _ in 0..3 {
        assert_eq!(driver.trial(6.0), Purpose::Remeasure);
    }
    let (verdict, reason) = driver.verdict();
    assert_eq!((verdict, reason), (Verdict::Kept, Reason::Carried { gain: 1.0, bound: 0.0, trials: 3 }));
    driver.advance();
    assert_eq!(driver.stopped(), StopReason::Done);
    let summary = driver.study.state().summary().unwrap();
    assert_eq!((summary.segment, summary.experiments, summary.kept), (2, 1, 1), "a champion is not kept twice");
    assert_eq!(summary.gain(), Some(1.0));
    assert_eq!((summary.past.len(), summary.past[0].gain()), (1, Some(0.5)));
}

#[test]
fn nothing_is_compared_across_segments() {
    let mut driver = rebased(Driver::LOOP);
    let summary = driver.study.state().summary().unwrap();
    assert_eq!(summary.champion.unwrap().metric, None, "its level is of another evaluation");
    // Far from anything the segment before has seen, and noisy where that was not.
    driver.new_baseline([70.0, 71.0, 72.0]);
    for value in [60.0, 61.0, 62.0] {
        driver.trial(value);
    }
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    let noise = driver.study.state().summary().unwrap().noise;
    let sd = noise.sd.unwrap();
    assert!((0.5..3.0).contains(&sd) && noise.trials == 6, "{noise:?}");
    driver.propose("base");
    assert_eq!(driver.verdict().0, Verdict::Duplicate);
}

#[test]
fn what_was_tried_in_another_segment_may_be_tried_again() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.propose("worse then");
    driver.trial(2.0);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    driver.happen(What::RunStopped { reason: StopReason::Done });
    driver.open_segment();
    driver.start(Driver::LOOP, 1);
    driver.new_baseline([7.0; 3]);
    for _ in 0..3 {
        driver.trial(6.0);
    }
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    driver.propose("worse then");
    assert_eq!(driver.trial(5.0), Purpose::Screen);
}

#[test]
fn a_champion_within_the_noise_of_the_baseline_stays() {
    let mut driver = rebased(ASKED);
    driver.new_baseline([7.0, 7.2, 6.8]);
    for value in [7.0, 7.3, 6.9] {
        driver.trial(value);
    }
    let (verdict, reason) = driver.verdict();
    assert_eq!(verdict, Verdict::Kept);
    assert!(reason.to_string().contains("within the noise"), "{reason}");
}

#[test]
fn a_champion_that_is_worse_here_makes_room_for_the_baseline() {
    let mut driver = rebased(ASKED);
    driver.new_baseline([7.0, 7.2, 6.8]);
    for value in [9.0, 9.1, 9.2] {
        driver.trial(value);
    }
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    assert_eq!(driver.stopped(), StopReason::Done);
    assert_eq!(driver.study.state().champion, Some(driver.study.state().baseline()));
    assert_eq!(driver.study.state().summary().unwrap().not_better, 0, "it was no idea of this segment");
}

#[test]
fn a_champion_that_does_not_run_here_makes_room_for_the_baseline() {
    let mut driver = rebased(ASKED);
    driver.new_baseline([7.0; 3]);
    for _ in 0..2 {
        let started = driver.start_trial();
        driver.finish(started, measured(None));
    }
    assert_eq!(driver.verdict().0, Verdict::InvalidMetric);
    assert_eq!(driver.stopped(), StopReason::Done);
}

#[test]
fn one_bad_run_is_not_the_end_of_a_champion() {
    let mut driver = rebased(ASKED);
    driver.new_baseline([7.0; 3]);
    let started = driver.start_trial();
    driver.finish(started, measured(None));
    for _ in 0..3 {
        assert_eq!(driver.trial(6.0), Purpose::Remeasure);
    }
    assert_eq!(driver.verdict().0, Verdict::Kept);
}

#[test]
fn a_champion_is_not_held_to_what_each_keep_was_held_to_over_its_own_champion() {
    let check = Check::Number { metric: "mem".into(), max: None, max_regression: Some(score(0.1)) };
    let guard = Guard { check, when: When::First };
    let spec = with(|spec| spec.guards = vec![guard]);
    let with_mem = |value: f64, mem: f64| {
        let mut measurement = measured(Some(value));
        measurement.numbers.insert("mem".into(), score(mem));
        measurement
    };
    let mut driver = Driver::new(spec);
    let give = |driver: &mut Driver, value: f64, mem: f64| {
        let started = driver.start_trial();
        driver.finish(started, with_mem(value, mem));
    };
    for _ in 0..3 {
        give(&mut driver, 1.0, 100.0);
    }
    assert_eq!(driver.verdict().0, Verdict::Baseline);
    driver.advance();
    driver.happen(What::RunStopped { reason: StopReason::Done });
    driver.open_segment();
    driver.start(ASKED, 1);
    for _ in 0..3 {
        give(&mut driver, 1.0, 100.0);
    }
    assert_eq!(driver.verdict().0, Verdict::Baseline);
    driver.advance();
    for _ in 0..3 {
        give(&mut driver, 0.5, 140.0);
    }
    assert_eq!(driver.verdict().0, Verdict::Kept);
}

#[test]
fn nobody_is_asked_and_no_try_begins_before_the_champion_has_its_verdict() {
    for scope in [Driver::LOOP, Scope::One] {
        let mut driver = rebased(scope);
        driver.new_baseline([7.0; 3]);
        assert!(!driver.study.state().calibrated());
        for _ in 0..3 {
            assert_eq!(driver.trial(6.0), Purpose::Remeasure);
        }
        driver.verdict();
        driver.advance();
        assert!(driver.study.state().calibrated());
    }
}

#[test]
fn a_champion_that_we_lose_three_times_ends_the_run_and_is_not_lost() {
    let mut driver = rebased(ASKED);
    driver.new_baseline([7.0; 3]);
    for _ in 0..3 {
        driver.fault();
    }
    assert_eq!(driver.stopped(), StopReason::EngineErrors { last: "no slot".into() });
    driver.start(ASKED, 1);
    assert_eq!(driver.trial(6.0), Purpose::Remeasure);
}

#[test]
fn a_segment_without_numbers_is_opened_again_under_the_same_names() {
    let mut driver = rebased(ASKED);
    let started = driver.start_trial();
    driver.finish(started, measured(None));
    assert!(matches!(driver.stopped(), StopReason::BaselineFailed { .. }));
    let state = driver.study.state();
    let (baseline, carried) = (state.baseline(), state.carried().unwrap());
    assert_eq!(state.to_carry().unwrap().id, carried, "the champion is still on trial");
    let facts = SegmentFacts { segment: Segment(3), ..state.segment.clone().unwrap() };
    driver.happen(What::SegmentOpened(facts.into()));
    driver.proposed(carried, "better");
    driver.start(ASKED, 1);
    driver.new_baseline([7.0; 3]);
    for _ in 0..3 {
        driver.trial(6.0);
    }
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    let state = driver.study.state();
    assert_eq!((state.baseline(), state.champion, state.segment_number()), (baseline, Some(carried), Segment(3)));
    assert_eq!(state.summary().unwrap().past.len(), 1, "a segment without numbers is nothing to show");
}
