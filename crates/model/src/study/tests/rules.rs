//! What is kept, discarded, broken or refused.

use super::*;

#[test]
fn a_better_one_is_kept_after_the_same_value_twice_where_the_metric_is_deterministic() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let experiment = driver.propose("better");
    assert_eq!(driver.trial(0.9), Purpose::Screen);
    assert_eq!(driver.trial(0.9), Purpose::Confirm);
    assert_eq!(driver.verdict().0, Verdict::Kept);
    assert_eq!(driver.next(), Some(Step::AdvanceBranch { experiment }), "nothing comes before the branch");
    driver.advance();
    let champion = driver.study.state().champion().unwrap();
    assert_eq!((champion.id, champion.commit.clone()), (experiment, Some(CommitId("commit of 1".into()))));
}

#[test]
fn a_gain_of_many_sd_needs_no_ceremony_and_a_hopeless_one_no_second_look() {
    let mut driver = Driver::calibrated(spec(), [1.0, 1.01, 0.99]);
    for index in 0..6 {
        driver.propose(&format!("worse {index}"));
        let (verdict, reason, (own, _)) = driver.settle(&[1.4, 1.5], &[1.0, 1.01, 0.99]);
        assert_eq!((verdict, own), (Verdict::Discarded, 1), "{reason}");
        if index == 0 {
            driver.look(Purpose::Sentinel, 0.99);
        }
    }
    driver.propose("better");
    let (verdict, reason, (own, _)) = driver.settle(&[0.5], &[1.0, 1.01, 0.99]);
    assert_eq!((verdict, own), (Verdict::Kept, 1), "{reason}");
}

#[test]
fn a_close_one_gets_more_trials_and_its_gain_is_shrunk() {
    let mut driver = Driver::calibrated(spec(), [1.0, 1.01, 0.99]);
    for value in [0.985, 1.0, 1.01, 0.99, 1.015, 0.995] {
        driver.look(Purpose::Sentinel, value);
    }
    // Where good edits are rare, a trial is cheap.
    for index in 0..12 {
        driver.propose(&format!("nothing {index}"));
        let near = [1.0, 0.993, 1.006][index % 3] + index as f64 * 1e-4;
        driver.settle(&[near, 1.013, 1.008], &[0.991, 1.0, 1.008, 0.995]);
    }
    let experiment_of = driver.propose("a little better");
    let mut opinion = None;
    let (mut own, mut champion) = (0, 0);
    while opinion.is_none() {
        match driver.step() {
            Step::StartTrial { trial, experiment, purpose, aid, .. } => {
                let is_champion = experiment == ExperimentId::BASELINE;
                assert_eq!(is_champion && purpose == Purpose::Remeasure, aid == Some(experiment_of), "{purpose:?}");
                let off = if (own + champion) % 2 == 0 { -0.01 } else { 0.01 };
                *(if is_champion { &mut champion } else { &mut own }) += 1;
                let value = off + if is_champion { 1.0 } else { 0.988 };
                driver.finish((trial, experiment, purpose), measured(Some(value)));
            }
            Step::Judge(judged) => opinion = judged.opinion,
            other => panic!("{other:?}"),
        }
    }
    assert!(own > 1, "one look is not enough here");
    let opinion = opinion.unwrap();
    assert!(
        opinion.expected < 0.035 && opinion.low < opinion.expected && opinion.expected < opinion.high,
        "{opinion:?}"
    );
}

#[test]
fn the_first_unequal_repeat_makes_a_metric_noisy_and_luck_is_not_kept() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    assert_eq!(driver.study.state().noise(), crate::judge::Noise::Deterministic);
    driver.propose("lucky");
    assert_eq!(driver.trial(0.8), Purpose::Screen);
    assert_eq!(driver.trial(1.1), Purpose::Confirm);
    assert_eq!(driver.settle(&[1.1, 1.05], &[1.0]).0, Verdict::Discarded);
    driver.study.forget_judged();
    assert!(matches!(driver.study.state().noise(), crate::judge::Noise::Noisy { .. }), "and it stays so");
}

#[test]
fn what_is_on_another_scale_may_scatter_on_another_scale() {
    let mut driver = Driver::calibrated(spec(), [480.0, 500.0, 460.0]);
    driver.propose("ten times faster");
    assert_eq!(driver.settle(&[50.0, 51.0, 50.5], &[480.0, 500.0]).0, Verdict::Kept);
    driver.advance();
    for value in [50.2, 49.9, 50.1, 50.4, 49.8, 50.3, 50.0, 49.7] {
        driver.look(Purpose::Sentinel, value);
    }
    let crate::judge::Noise::Noisy { sd, .. } = driver.study.state().noise() else { panic!("noisy") };
    assert!(sd < 3.0, "{sd}");
}

#[test]
fn what_is_open_is_judged_before_a_run_ends_for_want_of_a_gain() {
    let patience = |spec: &mut Spec| spec.limits.night.no_gain_for = Some(Patience::Experiments(1));
    let mut driver = Driver::calibrated(with(patience), [1.0, 1.01, 0.99]);
    driver.start(Driver::LOOP, 2);
    assert_eq!(driver.trial(1.0), Purpose::Sentinel, "a new run looks at the champion first");
    driver.propose("winner");
    let winner = driver.start_trial();
    driver.propose("loser");
    let loser = driver.start_trial();
    driver.finish(loser, measured(Some(2.0)));
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    driver.finish(winner, measured(Some(0.5)));
    assert_eq!(driver.settle(&[0.5, 0.51], &[1.0, 1.01]).0, Verdict::Kept);
    driver.advance();
    driver.ask();
}

#[test]
fn a_gain_that_does_not_come_again_is_discarded() {
    let mut driver = Driver::calibrated(spec(), [1.0, 1.01, 0.99]);
    driver.propose("lucky");
    let (verdict, reason, (own, _)) = driver.settle(&[0.96, 1.01, 1.005], &[1.0, 1.01, 0.99]);
    assert!(verdict == Verdict::Discarded && own > 1, "{reason} after {own}");
    assert!(matches!(reason, Reason::Unlikely { .. }), "{reason:?}");
}

#[test]
fn a_worse_one_is_discarded_after_one_trial_and_forgotten() {
    let mut driver = Driver::calibrated(spec(), [1.0, 1.01, 0.99]);
    let experiment = driver.propose("worse");
    driver.trial(1.5);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    assert!(driver.study.state().row(experiment).is_some());
    driver.study.forget_judged();
    assert!(driver.study.state().find(experiment).is_none());
    assert_eq!(driver.study.state().tried(&content_id(&surface("worse"))), Some(experiment));
}

#[test]
fn a_gain_below_min_gain_is_discarded() {
    let mut driver = Driver::calibrated(with(|spec| spec.metric.min_gain = Some(score(0.1))), [1.0; 3]);
    driver.propose("a little better");
    driver.trial(0.95);
    assert!(matches!(driver.verdict(), (Verdict::Discarded, Reason::BelowMinGain { .. })));
}

#[test]
fn a_failed_trial_is_broken_whatever_it_printed() {
    let endings = [
        (Ending::Exited { code: 3 }, Verdict::Crashed),
        (Ending::Signaled { signal: 9 }, Verdict::Crashed),
        (Ending::TimedOut { after: Millis(1) }, Verdict::TimedOut),
        (Ending::Exited { code: 0 }, Verdict::InvalidMetric),
    ];
    for (ending, expected) in endings {
        let mut driver = Driver::calibrated(spec(), [1.0; 3]);
        driver.propose("broken");
        let started = driver.start_trial();
        driver.finish(started, Measurement { ending, ..measured(None) });
        assert_eq!(driver.verdict().0, expected);
    }
}

#[test]
fn a_claim_is_shown_and_never_compared() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.propose("it says that it is wonderful");
    let started = driver.start_trial();
    driver.finish(started, Measurement { claim: Some(score(-100.0)), ..measured(Some(2.0)) });
    assert_eq!(driver.verdict(), (Verdict::Discarded, Reason::NotBetter { gain: -1.0 }));

    driver.propose("it says so and leaves nothing to score");
    let started = driver.start_trial();
    let error = MetricError::Artifacts { what: "artifact `x` is a symbolic link".into() };
    let measurement = Measurement { claim: Some(score(-100.0)), problem: Some(error.clone()), ..measured(None) };
    assert_eq!(measurement.number("loss"), None);
    driver.finish(started, measurement);
    assert_eq!(driver.verdict(), (Verdict::InvalidMetric, Reason::Metric { error }));
}

#[test]
fn an_implausible_number_is_suspect_and_never_kept() {
    let mut driver = Driver::calibrated(with(|spec| spec.metric.plausible = Some((score(0.5), score(2.0)))), [1.0; 3]);
    driver.propose("too good");
    driver.trial(0.0);
    assert!(matches!(driver.verdict(), (Verdict::Suspect, Reason::Implausible { .. })));
}

#[test]
fn a_number_too_large_to_be_squared_is_suspect_and_spoils_nothing() {
    let mut driver = Driver::calibrated(spec(), [1.0, 1.01, 0.99]);
    for text in ["-1e200", "-1.7e308", "1.7e308"] {
        driver.propose(text);
        driver.trial(text.parse().unwrap());
        assert_eq!(driver.verdict().0, Verdict::Suspect);
        if text == "-1e200" {
            driver.look(Purpose::Sentinel, 0.99);
        }
    }
    // A liar that waits for its re-measurement.
    driver.propose("patient");
    assert_eq!(driver.settle(&[0.5], &[1.0, 1.01]).0, Verdict::Kept);
    driver.advance();
    driver.look(Purpose::Sentinel, 1e300);
    let summary = driver.study.state().summary().unwrap();
    assert!(summary.noise.sd.unwrap() < 1.0);
    assert!((summary.champion.unwrap().metric.unwrap() - 0.5).abs() < 0.1);
}

#[test]
fn the_surface_of_the_champion_is_no_change_and_one_tried_before_a_duplicate() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.propose("base");
    assert_eq!(driver.verdict(), (Verdict::NoChange, Reason::SameAsChampion { in_form: false }));
    driver.propose("worse");
    driver.trial(2.0);
    driver.verdict();
    driver.propose("worse");
    assert_eq!(driver.verdict(), (Verdict::Duplicate, Reason::SameAs { experiment: 2, in_form: false }));
}

#[test]
fn what_differs_in_whitespace_and_comments_alone_is_not_run_again() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let propose = |driver: &mut Driver, text: &str, form: &str| {
        let experiment = driver.ask();
        driver.proposed_as(experiment, text, Some(form));
    };
    propose(&mut driver, "base, with a comment", "form of base");
    assert_eq!(driver.verdict(), (Verdict::NoChange, Reason::SameAsChampion { in_form: true }));
    propose(&mut driver, "worse", "form of worse");
    driver.trial(2.0);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    propose(&mut driver, "worse, with a comment", "form of worse");
    let (verdict, reason) = driver.verdict();
    assert_eq!((verdict, &reason), (Verdict::Duplicate, &Reason::SameAs { experiment: 2, in_form: true }));
    assert_eq!(reason.to_string(), "the same surface as experiment 2, whitespace and comments aside");
    propose(&mut driver, "worse", "form of worse");
    assert_eq!(driver.verdict().1, Reason::SameAs { experiment: 2, in_form: false }, "the bytes say it more exactly");
}

#[test]
fn what_broke_may_be_laid_out_anew() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let experiment = driver.ask();
    driver.proposed_as(experiment, "tabs and blanks", Some("form"));
    let started = driver.start_trial();
    driver.finish(started, Measurement { ending: Ending::Exited { code: 1 }, ..measured(None) });
    assert_eq!(driver.verdict().0, Verdict::Crashed);
    let experiment = driver.ask();
    driver.proposed_as(experiment, "blanks", Some("form"));
    assert_eq!(driver.trial(0.5), Purpose::Screen);
}

#[test]
fn what_a_form_said_of_contents_that_we_failed_to_measure_is_forgotten() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let experiment = driver.ask();
    driver.proposed_as(experiment, "unlucky", Some("form"));
    for _ in 0..3 {
        driver.fault();
    }
    assert_eq!(driver.verdict().0, Verdict::EngineError);
    let experiment = driver.ask();
    driver.proposed_as(experiment, "unlucky # again", Some("form"));
    assert_eq!(driver.trial(0.5), Purpose::Screen);
}

#[test]
fn contents_that_we_failed_to_measure_may_be_tried_again() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.propose("unlucky");
    for _ in 0..3 {
        driver.fault();
    }
    assert_eq!(driver.verdict().0, Verdict::EngineError);
    driver.propose("unlucky");
    assert_eq!(driver.trial(0.5), Purpose::Screen);
}

#[test]
fn equal_numbers_out_of_recorded_answers_make_no_metric_deterministic() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    assert_eq!(driver.study.state().noise(), crate::judge::Noise::Deterministic);
    let mut facts = driver.study.state().segment.clone().unwrap();
    facts.assurance = format!("separated{}", SegmentFacts::REPLAYED);
    driver = Driver::new(spec());
    driver.happen(What::SegmentOpened(facts.into()));
    for _ in 0..3 {
        driver.trial(1.0);
    }
    let state = driver.study.state();
    assert_eq!((state.noise(), state.summary().unwrap().noise.sd), (crate::judge::Noise::Unknown, None));
    assert_eq!(state.summary().unwrap().assurance, "separated, replayed");
}
