//! What the judge does beyond one candidate: taking back, putting on top, watching, closing.

use super::*;
use crate::spec::{Mode, StepGain};

const QUIET: [f64; 8] = [1.0, 1.012, 0.991, 1.004, 0.987, 1.009, 0.996, 1.001];

/// A study whose noise is known: an sd of about 0.01 at a level of 1.
fn known(spec: Spec, slots: u32) -> Driver {
    let mut driver = Driver::calibrated(spec, [1.005, 0.995, 1.0]);
    driver.start(Driver::LOOP, slots);
    for value in QUIET {
        driver.look(Purpose::Sentinel, value);
    }
    driver
}

fn spec_of(mode: Mode) -> Spec {
    with(|spec| spec.judge.mode = mode)
}

/// Keeps a candidate of this level.
fn keep(driver: &mut Driver, text: &str, level: f64) -> ExperimentId {
    let experiment = driver.propose(text);
    let scores = [level, level + 0.004, level - 0.004];
    let (verdict, reason, _) = driver.settle(&scores, &QUIET);
    assert_eq!(verdict, Verdict::Kept, "{reason}");
    driver.advance();
    experiment
}

#[test]
fn a_keep_that_does_not_hold_is_taken_back_and_the_one_before_has_its_place_again() {
    let mut driver = known(spec(), 1);
    let lucky = driver.propose("lucky");
    let (verdict, reason, (own, _)) = driver.settle(&[0.90, 1.0, 1.01], &QUIET);
    assert_eq!((verdict, own), (Verdict::Kept, 1), "{reason}");
    driver.advance();
    for value in QUIET {
        if matches!(driver.next(), Some(Step::Retract(_))) {
            break;
        }
        driver.look(Purpose::Sentinel, value + 0.012);
    }
    let Step::Retract(retracted) = driver.step() else { panic!("it stands: {:?}", driver.next()) };
    assert_eq!(retracted.experiment, lucky);
    assert!(matches!(retracted.reason, Reason::NotReplicated { .. }), "{:?}", retracted.reason);
    assert_eq!(driver.next(), Some(Step::AdvanceBranch { experiment: ExperimentId::BASELINE }));
    driver.advance();
    let state = driver.study.state();
    assert_eq!((state.champion, state.retreating), (Some(ExperimentId::BASELINE), None));
    assert_eq!(state.champion().unwrap().commit, Some(CommitId("commit of 0".into())), "a commit of its own");
    let summary = state.summary().unwrap();
    assert_eq!((summary.kept, summary.not_better, summary.experiments), (0, 1, 1));
    assert_eq!(state.row(lucky).unwrap().verdict, Some(Verdict::Retracted));
    driver.propose("next");
    driver.trial(1.5);
    assert_eq!(driver.verdict().0, Verdict::Discarded, "and the study goes on");
}

/// Keeps a candidate for one lucky trial.
fn keep_for_luck(driver: &mut Driver, text: &str, lucky: f64, champion: f64) -> ExperimentId {
    let experiment = driver.propose(text);
    let scores = QUIET.map(|value| champion + value - 1.0);
    let (verdict, reason, (own, _)) = driver.settle(&[lucky], &scores);
    assert_eq!((verdict, own), (Verdict::Kept, 1), "{reason}");
    driver.advance();
    experiment
}

/// Plays on, with hopeless candidates, for so many steps or until a keep is taken back.
fn taken_back(driver: &mut Driver, steps: usize, level: impl Fn(ExperimentId) -> Option<f64>) -> Option<ExperimentId> {
    for turn in 0..steps {
        match driver.step() {
            Step::StartTrial { trial, experiment, purpose, .. } => {
                let value = level(experiment).unwrap_or(1.4) + QUIET[turn % 8] - 1.0;
                driver.finish((trial, experiment, purpose), measured(Some(value)));
            }
            Step::Ask { experiment, .. } => driver.proposed(experiment, &format!("idea {experiment}")),
            Step::Judge(judged) => assert_eq!(judged.verdict, Verdict::Discarded, "{}", judged.reason),
            Step::Again(again) => {
                let experiment = driver.study.state().next_experiment();
                let parent = driver.study.state().champion().unwrap().commit.clone().unwrap();
                driver.happen(What::Proposed(proposal(experiment, parent, &again.description, None)));
            }
            Step::Retract(retracted) => {
                driver.advance();
                return Some(retracted.experiment);
            }
            other => panic!("{other:?}"),
        }
    }
    None
}

#[test]
fn of_two_lucky_keeps_in_a_row_each_is_taken_back_by_its_own_trials() {
    let mut driver = known(spec(), 1);
    let first = keep_for_luck(&mut driver, "first", 0.90, 1.0);
    let second = keep_for_luck(&mut driver, "second", 0.80, 0.90);
    let level = |id| [(ExperimentId::BASELINE, 1.0), (first, 1.03), (second, 1.06)].into_iter().find(|it| it.0 == id);
    let level = |id| level(id).map(|(_, level)| level);
    assert_eq!(taken_back(&mut driver, 400, level), Some(second));
    assert_eq!(driver.study.state().champion, Some(first));
    assert_eq!(taken_back(&mut driver, 400, level), Some(first));
    let state = driver.study.state();
    assert_eq!(state.champion, Some(ExperimentId::BASELINE));
    let verdict = |id| state.row(id).unwrap().verdict;
    assert_eq!((verdict(first), verdict(second)), (Some(Verdict::Retracted), Some(Verdict::Retracted)));
    assert_eq!(state.summary().unwrap().kept, 0);
    assert_eq!(taken_back(&mut driver, 400, level), None, "the baseline is nobody's keep");
}

#[test]
fn a_keep_that_holds_stands_when_the_one_on_top_of_it_is_taken_back() {
    let mut driver = known(spec(), 1);
    let good = keep(&mut driver, "good", 0.90);
    QUIET.into_iter().for_each(|value| driver.look(Purpose::Sentinel, value - 0.1));
    assert_eq!(driver.trial(1.002), Purpose::Sentinel, "the baseline's probe is due");
    let lucky = keep_for_luck(&mut driver, "lucky", 0.80, 0.90);
    let level = |id| [(ExperimentId::BASELINE, 1.0), (good, 0.9), (lucky, 0.93)].into_iter().find(|it| it.0 == id);
    let level = |id| level(id).map(|(_, level)| level);
    assert_eq!(taken_back(&mut driver, 400, level), Some(lucky));
    assert_eq!(taken_back(&mut driver, 400, level), None);
    assert_eq!(driver.study.state().champion, Some(good));
}

#[test]
fn a_keep_that_holds_is_never_taken_back() {
    let mut driver = known(spec(), 1);
    keep(&mut driver, "better", 0.95);
    for value in QUIET {
        driver.look(Purpose::Sentinel, value - 0.05);
        assert!(!matches!(driver.next(), Some(Step::Retract(_))));
    }
}

#[test]
fn a_winner_whose_champion_moved_is_judged_again_on_top_of_the_new_one() {
    let mut driver = known(spec(), 2);
    let first = driver.propose("first");
    let of_first = driver.start_trial();
    let second = driver.propose("second");
    let of_second = driver.start_trial();
    driver.finish(of_first, measured(Some(0.8)));
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    driver.finish(of_second, measured(Some(0.7)));
    assert_eq!(driver.restack("first and second"), second);
    let open = driver.study.state().find(second).unwrap();
    assert!(open.fresh().is_empty() && open.trials.len() == 1, "what was measured was another surface");
    assert_eq!(open.parent, Some(CommitId(format!("commit of {first}"))));
    let (verdict, reason, (own, _)) = driver.settle(&[0.5, 0.51], &[0.8, 0.81]);
    assert!(verdict == Verdict::Kept && own > 0, "{reason}");
    driver.advance();
    assert_eq!(driver.study.state().champion, Some(second));
}

#[test]
fn what_does_not_merge_with_the_new_champion_is_given_back() {
    let mut driver = known(spec(), 2);
    driver.propose("first");
    let of_first = driver.start_trial();
    driver.propose("second");
    let of_second = driver.start_trial();
    driver.finish(of_first, measured(Some(0.8)));
    driver.verdict();
    driver.advance();
    driver.finish(of_second, measured(Some(0.7)));
    let Step::Restack { experiment } = driver.step() else { panic!("not restacked") };
    driver.happen(What::NotRestacked { experiment });
    let (verdict, reason) = driver.verdict();
    assert!(verdict == Verdict::Discarded && matches!(reason, Reason::Moved { gain: Some(_) }), "{reason}");
    driver.propose("second");
    assert_eq!(driver.start_trial().2, Purpose::Screen, "done again, it is no duplicate");
}

#[test]
fn a_loser_whose_champion_moved_is_discarded_without_a_merge() {
    let mut driver = known(spec(), 2);
    driver.propose("first");
    let of_first = driver.start_trial();
    driver.propose("second");
    let of_second = driver.start_trial();
    driver.finish(of_first, measured(Some(0.8)));
    driver.verdict();
    driver.advance();
    driver.finish(of_second, measured(Some(1.3)));
    assert_eq!(driver.verdict().0, Verdict::Discarded);
}

#[test]
fn a_machine_that_shifts_is_noticed_and_what_it_spoiled_is_tried_again() {
    let mut driver = known(spec(), 1);
    let spoiled = driver.propose("good on a bad machine");
    driver.trial(1.45);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    driver.propose("next");
    driver.look(Purpose::Sentinel, 1.5);
    let waiting = driver.start_trial();
    assert_eq!(waiting.1, ExperimentId::BASELINE, "the champion has to tell: {:?}", waiting.2);
    driver.finish(waiting, measured(Some(1.51)));
    assert_eq!(driver.trial(1.49), Purpose::Sentinel);
    // The candidate that was open is judged by the machine as it is now.
    assert_eq!(driver.settle(&[1.9], &[1.5, 1.51]).0, Verdict::Discarded);
    let Some(Step::Again(again)) = driver.next() else { panic!("{:?}", driver.next()) };
    assert_eq!((again.experiment, again.description.as_str()), (spoiled, "good on a bad machine"));
    let experiment = driver.study.state().next_experiment();
    driver.happen(What::Proposed(proposal(experiment, CommitId("base".into()), "good on a bad machine", None)));
    assert_eq!(driver.settle(&[1.3], &[1.5, 1.51]).0, Verdict::Kept, "it is no duplicate, and better");
}

#[test]
fn one_score_far_off_is_not_a_machine_that_shifted() {
    let mut driver = known(spec(), 1);
    driver.propose("worse");
    driver.trial(1.2);
    driver.verdict();
    driver.look(Purpose::Sentinel, 1.5);
    assert_eq!(driver.trial(1.0), Purpose::Sentinel);
    assert_eq!(driver.trial(1.01), Purpose::Sentinel);
    assert!(matches!(driver.next(), Some(Step::Ask { .. })), "nothing to try again: {:?}", driver.next());
    let (level, _) = driver.study.state().mind().unwrap().level();
    assert!((level + 1.0).abs() < 0.05, "{level}");
}

#[test]
fn the_first_unequal_repeat_opens_again_what_one_trial_decided() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.propose("by one trial");
    driver.trial(1.1);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    driver.propose("scatters");
    driver.trial(0.9);
    driver.trial(1.2);
    driver.settle(&[1.4], &[1.0]);
    assert!(matches!(driver.next(), Some(Step::Again(_))), "{:?}", driver.next());
}

#[test]
fn what_is_equal_and_simpler_is_kept_and_what_is_equal_and_longer_is_not() {
    let tokens = |driver: &mut Driver, text: &str, tokens: u64| {
        let experiment = driver.ask();
        let parent = driver.study.state().champion().unwrap().commit.clone().unwrap();
        driver.happen(What::Proposed(Proposed {
            tokens: Some(tokens),
            form: Some(ContentId(text.into())),
            ..proposal(experiment, parent, text, None)
        }));
    };
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let before = driver.study.state().champion().unwrap().tokens.unwrap();
    tokens(&mut driver, "longer", before + 5);
    driver.trial(1.0);
    assert_eq!(driver.verdict(), (Verdict::Discarded, Reason::NotBetter { gain: 0.0 }));
    tokens(&mut driver, "shorter", before - 1);
    driver.trial(1.0);
    driver.trial(1.0);
    let (verdict, reason) = driver.verdict();
    assert_eq!((verdict, &reason), (Verdict::Kept, &Reason::Simpler { gain: 0.0, tokens: before - 1, before }));
    driver.advance();
    tokens(&mut driver, "shorter and worse", before - 2);
    driver.trial(1.001);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
}

#[test]
fn the_margin_of_what_is_simpler_is_spent_once() {
    let allows = |spec: &mut Spec| spec.metric.min_gain = Some(score(0.01));
    let mut driver = Driver::calibrated(with(allows), [1.0; 3]);
    let mut level = 1.0;
    let mut kept = 0;
    for step in 1..4 {
        let experiment = driver.ask();
        let champion = driver.study.state().champion().unwrap();
        let (parent, tokens) = (champion.commit.clone().unwrap(), champion.tokens.map(|tokens| tokens - 1));
        let text = format!("shorter {step}");
        let form = Some(ContentId(text.clone()));
        driver.happen(What::Proposed(Proposed { tokens, form, ..proposal(experiment, parent, &text, None) }));
        let worse = level + 0.006;
        if driver.settle(&[worse], &[level]).0 == Verdict::Kept {
            driver.advance();
            (level, kept) = (worse, kept + 1);
        }
    }
    assert_eq!(kept, 1, "a little worse each time would be much worse in the end");
}

#[test]
fn a_night_is_closed_by_champion_and_baseline_in_turns() {
    let night = |spec: &mut Spec| spec.limits.night.wall = Some(Millis::seconds(200));
    let mut driver = known(with(night), 1);
    let champion = keep(&mut driver, "better", 0.9);
    let mut closing = Vec::new();
    for index in 0..2000 {
        match driver.step() {
            Step::StartTrial { trial, experiment, purpose, seed, .. } => {
                driver.now += 1000;
                let level = if experiment == champion {
                    0.9
                } else if experiment.is_baseline() {
                    1.0
                } else {
                    1.4
                };
                let usage = Usage { wall: Millis(1100), ..Usage::default() };
                let value = level + QUIET[index % 8] - 1.0;
                driver.finish((trial, experiment, purpose), Measurement { usage, ..measured(Some(value)) });
                if purpose == Purpose::Close {
                    closing.push((experiment, seed));
                } else {
                    assert!(closing.len() % 2 == 0, "{purpose:?} in the middle of a pair");
                }
            }
            Step::Ask { experiment, .. } => driver.proposed(experiment, &format!("worse {index}")),
            Step::Judge(judged) => assert_eq!(judged.verdict, Verdict::Discarded),
            Step::Stop(reason) => {
                assert_eq!(reason, StopReason::NightWall);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(closing.len() >= 4 && closing.len() % 2 == 0, "{closing:?}");
    for pair in closing.chunks(2) {
        assert!(pair[0].0 != pair[1].0 && pair[0].1 == pair[1].1, "a pair is one of each with the same seed: {pair:?}");
    }
    let gain = driver.study.state().gain_over_baseline().unwrap();
    assert!((gain.gain - 0.1).abs() < 0.02 && gain.low.unwrap() < 0.1 && gain.high.unwrap() > 0.1, "{gain:?}");
}

#[test]
fn a_gain_beyond_all_sizes_is_believed_as_it_is_and_a_wreck_moves_nothing() {
    let mut driver = known(spec(), 1);
    for (index, wreck) in [40.0, 3.0, 900.0, 1.7, 5.0, 40.0, 2.2, 1.6, 1.8, 2.5].into_iter().enumerate() {
        driver.propose(&format!("wreck {index}"));
        assert_eq!(driver.settle(&[wreck], &QUIET).0, Verdict::Discarded);
    }
    let (level, sd) = driver.study.state().mind().unwrap().level();
    assert!((level + 1.0).abs() < 0.02 && sd < 0.02, "{level} {sd}");
    driver.propose("the loop is gone");
    let step = driver.step();
    let Step::StartTrial { trial, experiment, purpose, .. } = step else { panic!("{step:?}") };
    driver.finish((trial, experiment, purpose), measured(Some(-80.0)));
    loop {
        match driver.step() {
            Step::StartTrial { trial, experiment, purpose, .. } => {
                let value = if experiment.is_baseline() { 1.0 } else { -80.0 };
                driver.finish((trial, experiment, purpose), measured(Some(value)));
            }
            Step::Judge(judged) => {
                let gain = judged.estimate.unwrap();
                assert!(judged.verdict == Verdict::Kept && (gain.gain - 81.0).abs() < 1.0, "{gain:?}");
                break;
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_step_too_large_to_be_believed_is_suspect() {
    let step = |spec: &mut Spec| spec.judge.max_step_gain = Some(StepGain::Absolute(score(0.2)));
    let mut driver = known(with(step), 1);
    driver.propose("unbelievable");
    let (verdict, reason, _) = driver.settle(&[0.5], &QUIET);
    assert!(verdict == Verdict::Suspect && matches!(reason, Reason::TooGood { limit: 0.2, .. }), "{reason}");
}

#[test]
fn strict_wants_to_be_sure_and_explore_does_not() {
    let trials = |mode: Mode| {
        let mut driver = known(spec_of(mode), 1);
        driver.propose("a little better");
        driver.settle(&[0.979, 0.974, 0.984, 0.977], &QUIET)
    };
    let (verdict, reason, strict) = trials(Mode::Strict);
    assert_eq!(verdict, Verdict::Kept, "{reason}");
    let Reason::Expected { chance, .. } = reason else { panic!("{reason}") };
    assert!(chance >= 0.95);
    let (_, _, explore) = trials(Mode::Explore);
    assert!(strict.0 + strict.1 > explore.0 + explore.1, "{strict:?} {explore:?}");
}

#[test]
fn one_candidate_never_gets_more_than_its_share_of_a_night() {
    let night = |spec: &mut Spec| {
        spec.judge.mode = Mode::Strict;
        spec.judge.max_share = 0.05;
        spec.limits.night.wall = Some(Millis::seconds(100_000));
    };
    let mut driver = known(with(night), 1);
    // A trial takes 1000 s: a night has 100 of them.
    let experiment = driver.propose("hardly to be told");
    let mut spent = 0;
    loop {
        match driver.step() {
            Step::StartTrial { trial, experiment, purpose, .. } => {
                spent += 1;
                let value = if experiment.is_baseline() { 1.0 } else { 0.994 } + QUIET[spent % 8] - 1.0;
                let usage = Usage { wall: Millis::seconds(11_000), ..Usage::default() };
                driver.finish((trial, experiment, purpose), Measurement { usage, ..measured(Some(value)) });
            }
            Step::Judge(_) => break,
            other => panic!("{other:?}"),
        }
    }
    let row = driver.study.state().row(experiment).unwrap();
    assert!(spent <= 5 && row.trials as usize <= spent, "{spent} trials for one candidate");
}

#[test]
fn a_near_miss_that_comes_again_adds_to_what_is_known_of_it() {
    let mut driver = known(spec(), 1);
    driver.propose("near");
    let mut rounds = 0;
    loop {
        rounds += 1;
        let (verdict, reason, (own, _)) = driver.settle(&[0.996, 0.999], &QUIET);
        assert!(verdict != Verdict::Kept, "{reason}");
        if verdict == Verdict::Duplicate || own == 0 || rounds > 20 {
            break;
        }
        driver.propose("near");
    }
    assert!(rounds <= 20, "the same surface cannot be rolled until it wins");
}

#[test]
fn a_candidate_that_fixes_its_luck_is_not_kept_for_it() {
    let mut driver = known(spec(), 1);
    driver.propose("seed = 42");
    let others: Vec<f64> = QUIET.iter().zip(1..).map(|(score, index)| score + 1e-4 * f64::from(index)).collect();
    let (verdict, reason, (own, _)) = driver.settle(&[0.975], &others);
    assert!(own <= 4, "{own} looks at one number");
    if verdict == Verdict::Discarded {
        assert!(matches!(reason, Reason::FixedLuck { .. }), "{reason}");
        return;
    }
    driver.advance();
    driver.look(Purpose::Sentinel, 0.975);
    driver.look(Purpose::Sentinel, 0.975);
    let Step::Retract(retracted) = driver.step() else { panic!("its luck was believed") };
    assert!(matches!(retracted.reason, Reason::FixedLuck { .. }), "{}", retracted.reason);
}

/// Plays a night of candidates that are no better, until so many trials were made; whose each was, with its seed.
fn played(
    driver: &mut Driver,
    trials: usize,
    mut level: impl FnMut(ExperimentId) -> f64,
) -> Vec<(ExperimentId, Purpose, u32)> {
    let mut seen = Vec::new();
    while seen.len() < trials {
        match driver.step() {
            Step::StartTrial { trial, experiment, purpose, seed, .. } => {
                let noise = QUIET[seen.len() % 8] - 1.0 + 1e-5 * seen.len() as f64;
                seen.push((experiment, purpose, seed.0));
                driver.finish((trial, experiment, purpose), measured(Some(level(experiment) + noise)));
            }
            Step::Ask { experiment, .. } => driver.proposed(experiment, &format!("idea {experiment}")),
            Step::Judge(judged) if judged.verdict == Verdict::Kept => driver.advance(),
            Step::Judge(_) => driver.study.forget_judged(),
            other => panic!("{other:?}"),
        }
    }
    seen
}

#[test]
fn the_seed_is_probed_and_the_baseline_measured_on_though_the_first_idea_was_kept() {
    let mut driver = Driver::calibrated(spec(), [1.005, 0.995, 1.0]);
    let first = keep(&mut driver, "better", 0.5);
    let seen = played(&mut driver, 400, |id| match id {
        _ if id.is_baseline() => 1.0,
        _ if id == first => 0.5,
        _ => 0.6,
    });
    assert_eq!(driver.study.state().seed_use(), SeedUse::NotAlone, "its number did not come again");
    let of_baseline: Vec<_> = seen.iter().filter(|(id, ..)| id.is_baseline()).collect();
    assert!((3..=6).contains(&of_baseline.len()), "{of_baseline:?}");
    assert!(of_baseline.iter().all(|(_, purpose, _)| *purpose == Purpose::Sentinel));
    let fresh: std::collections::BTreeSet<u32> = of_baseline.iter().map(|(.., seed)| *seed).collect();
    assert_eq!(fresh.len(), of_baseline.len(), "one of them has the first seed, the others have new ones");
    let when = seen.iter().position(|(id, ..)| id.is_baseline()).unwrap();
    assert!(when < 24, "a short night has it, too: {when}");
}

#[test]
fn where_no_seed_moves_the_baseline_a_champion_that_scatters_is_probed() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let level = move |id: ExperimentId, turn: usize| match id {
        _ if id.is_baseline() => 1.0,
        ExperimentId(1) => 0.5 + 0.01 * QUIET[turn % 8],
        _ => 0.9,
    };
    let mut turn = 0;
    while turn < 200 {
        match driver.step() {
            Step::StartTrial { trial, experiment, purpose, .. } => {
                turn += 1;
                driver.finish((trial, experiment, purpose), measured(Some(level(experiment, turn))));
            }
            Step::Ask { experiment, .. } => driver.proposed(experiment, &format!("idea {experiment}")),
            Step::Judge(judged) if judged.verdict == Verdict::Kept => driver.advance(),
            Step::Judge(_) => driver.study.forget_judged(),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(driver.study.state().champion, Some(ExperimentId(1)));
    assert_eq!(driver.study.state().seed_use(), SeedUse::NotAlone);
}

/// A keep that was lucky in every trial that chose it, and then gives what the baseline gives, or moves with the machine.
fn after_three_lucky_trials(machine: f64) -> (Driver, ExperimentId) {
    let mut driver = known(spec(), 1);
    let lucky = driver.propose("lucky");
    driver.trial(0.8);
    for value in [0.801, 0.799] {
        let (trial, experiment, purpose) = (TrialId(driver.study.state().next_trial), lucky, Purpose::Confirm);
        let (slot, seed, aid) = (Slot(0), crate::id::Seed(trial.0 as u32), None);
        driver.happen(What::TrialStarted { trial, experiment, purpose, seed, slot, aid });
        driver.finish((trial, experiment, purpose), measured(Some(value)));
    }
    let (verdict, reason, _) = driver.settle(&[0.8], &QUIET);
    assert_eq!(verdict, Verdict::Kept, "{reason}");
    driver.advance();
    let mut turn = 0;
    while turn < 240 {
        turn += 1;
        match driver.step() {
            Step::StartTrial { trial, experiment, purpose, .. } => {
                let level = match experiment {
                    _ if experiment == lucky => 1.0,
                    _ if experiment.is_baseline() => 1.0 + machine,
                    _ => 1.4,
                };
                driver.finish((trial, experiment, purpose), measured(Some(level + QUIET[turn % 8] - 1.0)));
            }
            Step::Ask { experiment, .. } => driver.proposed(experiment, &format!("idea {turn}")),
            Step::Judge(judged) => assert_eq!(judged.verdict, Verdict::Discarded, "{}", judged.reason),
            Step::Again(again) => {
                let experiment = driver.study.state().next_experiment();
                let parent = driver.study.state().champion().unwrap().commit.clone().unwrap();
                driver.happen(What::Proposed(proposal(experiment, parent, &again.description, None)));
            }
            Step::Retract(_) => driver.advance(),
            other => panic!("{other:?}"),
        }
    }
    (driver, lucky)
}

#[test]
fn a_keep_that_was_lucky_in_every_trial_that_chose_it_is_taken_back_once_the_one_before_is_what_it_was() {
    let (driver, lucky) = after_three_lucky_trials(0.0);
    let state = driver.study.state();
    assert_eq!(state.champion, Some(ExperimentId::BASELINE));
    assert_eq!(state.row(lucky).unwrap().verdict, Some(Verdict::Retracted));
    let (level, _) = state.mind().unwrap().level();
    assert!((level + 1.0).abs() < 0.02, "{level}");
}

#[test]
fn a_keep_stands_where_the_one_before_moved_with_it() {
    let (driver, kept) = after_three_lucky_trials(0.2);
    let state = driver.study.state();
    assert_eq!(state.champion, Some(kept));
    let (level, _) = state.mind().unwrap().level();
    assert!((level + 1.0).abs() < 0.02, "{level}");
    let chance = state.mind().unwrap().second_thoughts().unwrap().1;
    assert!(chance > 0.9, "{chance}");
}

#[test]
fn scores_of_a_baseline_long_left_behind_still_teach_how_much_trials_scatter() {
    // The first two were close to each other by chance, and the champion is another one.
    let mut mind = crate::judge::Mind::begin(&[1.0, 1.001], &[]).unwrap();
    let id = ExperimentId(1);
    mind.open(id);
    mind.candidate(id, 2.0);
    mind.keep(id);
    let before = mind.noise();
    let known = crate::stats::Tally::of([1.0, 1.001]);
    mind.repeat(0.95, &known, 3);
    assert!(mind.noise() > 5.0 * before, "{before} and then {}", mind.noise());
    assert!((mind.level().0 - 2.0).abs() < 0.2, "and nothing about the champion: {:?}", mind.level());
}

#[test]
fn the_baseline_gets_a_third_score_soon_whoever_is_champion() {
    let mut driver = Driver::calibrated(spec(), [1.005, 0.995, 1.0]);
    let first = keep(&mut driver, "better", 0.5);
    let seen = played(&mut driver, 12, |id| if id == first { 0.5 } else { 0.6 + f64::from(id.is_baseline()) * 0.4 });
    assert!(seen.iter().any(|(id, ..)| id.is_baseline()), "{seen:?}");
}

#[test]
fn candidates_get_seeds_of_the_champion_while_that_may_help_and_no_commit_gets_one_twice() {
    let mut driver = Driver::calibrated(spec(), [1.005, 0.995, 1.0]);
    let had: Vec<u32> = driver.study.state().champion().unwrap().trials.iter().map(|trial| trial.seed.0).collect();
    let seen = played(&mut driver, 12, |id| if id.is_baseline() { 1.0 } else { 1.005 });
    let of_candidates: Vec<_> = seen.iter().filter(|(id, ..)| !id.is_baseline()).collect();
    let (_, purpose, seed) = of_candidates[0];
    assert!(*purpose == Purpose::Screen && had.contains(seed), "{had:?} {seen:?}");
    let pairs: std::collections::BTreeSet<_> = seen.iter().map(|(id, _, seed)| (*id, *seed)).collect();
    assert_eq!(pairs.len(), seen.len(), "{seen:?}");
}
