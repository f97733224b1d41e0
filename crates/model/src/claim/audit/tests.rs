use super::super::tests::Dice;
use super::Verdict::*;
use super::*;

type Noise = fn(&mut Dice) -> f64;

/// Deviations of about 1: normal, with tails so heavy that there is no variance, and lopsided.
const NOISES: [(&str, Noise); 3] =
    [("normal", Dice::normal), ("heavy", |dice| dice.heavy() / 2.0), ("skewed", |dice| dice.normal().exp() / 2.0)];

/// An audit of commits with these effects, to its end; higher is better.
fn audited(effects: &[f64], most: u32, seed: u64, mut noise: impl FnMut() -> f64) -> Audit {
    let mut audit = Audit::new(Goal::Max, 0.0, most, seed, &vec![false; effects.len()]);
    let total: f64 = effects.iter().sum();
    while let Some(turn) = audit.next_turn() {
        let level = |who: &Who| match who {
            Who::Head => total,
            Who::Without(piece) => total - effects[*piece],
            Who::Start => 0.0,
        };
        let values: Vec<_> = turn.order.iter().map(|who| (*who, level(who) + noise())).collect();
        audit.add(&values);
    }
    audit
}

/// Of what audits call with such effects: the share that is false, on average; and the share of the real that is found.
fn shares(effects: &[f64], most: u32, runs: u64, noise: Noise) -> (f64, f64) {
    let (mut wrong, mut found) = (0.0, 0.0);
    let real = effects.iter().filter(|effect| **effect != 0.0).count();
    for seed in 0..runs {
        let mut dice = Dice::new(seed);
        let verdicts = audited(effects, most, seed, || noise(&mut dice)).verdicts();
        let (mut called, mut right) = (0, 0);
        for (verdict, effect) in verdicts.iter().zip(effects) {
            called += u32::from(matches!(verdict, Holds | Hurts));
            right += u32::from((*verdict == Holds && *effect > 0.0) || (*verdict == Hurts && *effect < 0.0));
        }
        wrong += f64::from(called - right) / f64::from(called.max(1));
        found += f64::from(right) / real.max(1) as f64;
    }
    (wrong / runs as f64, found / runs as f64)
}

#[test]
fn of_commits_that_do_nothing_hardly_any_is_called() {
    for (name, noise) in NOISES {
        // Twelve nulls: whatever is called is false.
        let (wrong, _) = shares(&[0.0; 12], AUDIT_PAIRS, 100, noise);
        assert!(wrong <= 0.05, "{name}: {wrong}");
    }
}

#[test]
fn false_discoveries_among_real_ones_are_rare_and_real_ones_are_found() {
    let effects = [3.0, 0.0, 0.0, 4.0, 0.0, 0.0, -3.0, 0.0, 0.0, 0.0, 3.0, 0.0];
    for ((name, noise), least) in NOISES.into_iter().zip([0.9, 0.8, 0.8]) {
        let (wrong, found) = shares(&effects, AUDIT_PAIRS, 80, noise);
        assert!(wrong <= 0.05, "{name}: {wrong} of what was called is false");
        assert!(found >= least, "{name}: {found} of what is real was found");
    }
}

#[test]
fn a_trial_of_the_head_serves_four_and_the_hopeless_are_given_up() {
    let mut dice = Dice::new(4);
    let effects = [6.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let mut trials = 0;
    let audit = audited(&effects, AUDIT_PAIRS, 4, || {
        trials += 1;
        dice.normal()
    });
    assert_eq!(audit.verdicts(), [Holds, Noise, Noise, Noise, Noise, Noise, Noise]);
    let pairs: Vec<u32> = (0..effects.len()).map(|piece| audit.standing(piece).unwrap().pairs).collect();
    assert!(pairs.iter().all(|pairs| *pairs >= HOPE && *pairs < AUDIT_PAIRS), "{pairs:?}");
    assert_eq!(audit.whole().unwrap().decision, Some(Decision::Better));
    let all: u32 = pairs.iter().sum::<u32>() + audit.whole().unwrap().pairs;
    assert!(trials < all * 3 / 2, "{trials} trials for {all} pairs");
}

#[test]
fn a_metric_without_noise_takes_a_few_pairs() {
    let audit = audited(&[2.0, 0.0, -1.0], AUDIT_PAIRS, 1, || 0.0);
    assert_eq!(audit.verdicts(), [Holds, Nothing, Hurts]);
    let standing = audit.standing(0).unwrap();
    assert_eq!((standing.difference, standing.low, standing.high), (2.0, Some(2.0), Some(2.0)));
    assert!(standing.is_deterministic && standing.pairs <= DETERMINISTIC_PAIRS);
    // Many repeats without any difference make two pairs enough.
    let many = audited(&[1.0; 20], AUDIT_PAIRS, 1, || 0.0);
    assert!(many.verdicts().iter().all(|verdict| *verdict == Holds));
    assert!((0..20).all(|piece| many.standing(piece).unwrap().pairs == 2));
}

#[test]
fn noise_in_one_surface_makes_a_metric_noisy_for_all() {
    let mut audit = Audit::new(Goal::Min, 0.0, AUDIT_PAIRS, 1, &[false, false]);
    let turn = |audit: &mut Audit, other: f64| {
        audit.add(&[(Who::Head, 1.0), (Who::Without(0), 2.0), (Who::Without(1), other), (Who::Start, 5.0)]);
    };
    (0..4).for_each(|_| turn(&mut audit, 1.0));
    assert_eq!(audit.verdicts(), [Holds, Nothing]);
    turn(&mut audit, 1.1);
    assert_eq!(audit.verdicts(), [Noise, Noise]);
    assert!(audit.is_open(0));
}

#[test]
fn what_gives_the_same_number_with_every_seed_makes_no_difference() {
    // Both sides share the noise of a seed: a commit without effect shows none at all.
    let mut audit = Audit::new(Goal::Max, 0.0, AUDIT_PAIRS, 1, &[false, true]);
    let mut turns = 0.0;
    while let Some(turn) = audit.next_turn() {
        turns += 1.0;
        audit.add(&turn.order.iter().map(|who| (*who, turns)).collect::<Vec<_>>());
        if turns > 6.0 {
            assert!(!turn.order.contains(&Who::Without(0)));
        }
        assert!(!turn.order.contains(&Who::Without(1)), "it is the head");
    }
    assert_eq!(audit.verdicts(), [Nothing, Nothing]);
}

#[test]
fn differences_within_the_margin_are_none() {
    let mut dice = Dice::new(1);
    let mut audit = Audit::new(Goal::Max, 1.0, 60, 1, &[false]);
    while let Some(turn) = audit.next_turn() {
        audit.add(&turn.order.iter().map(|who| (*who, 0.1 * dice.normal())).collect::<Vec<_>>());
    }
    assert_eq!(audit.verdicts(), [Nothing]);
    assert!(audit.standing(0).unwrap().pairs < 12);
}

#[test]
fn what_does_not_run_without_a_commit_needs_it() {
    let mut audit = Audit::new(Goal::Max, 0.0, AUDIT_PAIRS, 1, &[false, false]);
    audit.does_not_run(Who::Without(1));
    audit.does_not_run(Who::Start);
    while let Some(turn) = audit.next_turn() {
        assert!(!turn.order.contains(&Who::Without(1)) && !turn.order.contains(&Who::Start));
        audit.add(&turn.order.iter().map(|who| (*who, if *who == Who::Head { 3.0 } else { 1.0 })).collect::<Vec<_>>());
    }
    assert_eq!(audit.verdicts(), [Holds, Needed]);
    assert!(audit.start_does_not_run() && audit.whole().is_none());
}

#[test]
fn turns_follow_from_the_seed_and_favour_no_place() {
    let firsts = (0..400).filter(|seed| {
        let turn = Audit::new(Goal::Max, 0.0, 8, *seed, &[false; 4]).next_turn().unwrap();
        assert_eq!(turn.order.len(), 5);
        turn.order[0] == Who::Head
    });
    let firsts = firsts.count();
    assert!((50..110).contains(&firsts), "{firsts}");
    let first = |seed| Audit::new(Goal::Max, 0.0, 8, seed, &[false; 4]).next_turn();
    assert_eq!(first(3), first(3));
    assert_ne!(first(3).unwrap().seed, first(4).unwrap().seed);
}
