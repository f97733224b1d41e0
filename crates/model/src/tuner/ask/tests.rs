use proptest::prelude::*;

use super::*;
use crate::tuner::space::{Grain, Scale};

fn number(low: f64, high: f64) -> Domain {
    Domain::Number { low, high, scale: Scale::Linear, grain: Grain::Any }
}

fn mixed() -> Vec<Domain> {
    vec![
        Domain::Number { low: 1e-4, high: 1e-1, scale: Scale::Log, grain: Grain::Any },
        Domain::Number { low: 1.0, high: 12.0, scale: Scale::Linear, grain: Grain::Whole },
        Domain::Number { low: 8.0, high: 512.0, scale: Scale::Log, grain: Grain::PowerOfTwo },
        Domain::Choice { options: 3 },
        Domain::Choice { options: 2 },
    ]
}

fn far(space: &[Domain], point: &Point, goal: &Point) -> f64 {
    let off = |at: usize| match space[at] {
        Domain::Choice { .. } => f64::from(point[at] != goal[at]) * 0.3,
        _ => space[at].unit(point[at]) - space[at].unit(goal[at]),
    };
    (0..space.len()).map(|at| off(at).powi(2)).sum()
}

/// Without a memory of what was asked before.
fn ask(
    space: &[Domain],
    here: &Point,
    told: &[Told],
    seed: u64,
    known: &mut dyn FnMut(&Point) -> bool,
) -> Option<Asked> {
    super::ask(space, here, told, seed, known, &mut Memo::default())
}

fn best(space: &[Domain], told: &[Told]) -> Option<Point> {
    super::best(space, told, &mut Memo::default())
}

/// Plays a search; `None` is a failure. Gives everything told, in order.
fn play(space: &[Domain], start: &Point, turns: usize, score: impl Fn(&Point) -> Option<f64>) -> Vec<Told> {
    let tell = |point: &Point| Told {
        point: point.clone(),
        result: score(point).map_or(Result::Failed, |value| Result::Value { value, error: 0.0 }),
    };
    let mut told = vec![tell(start)];
    for _ in 1..turns {
        let here = best(space, &told).unwrap();
        let asked = ask(space, &here, &told, 7, &mut |point| told.iter().any(|told| told.point == *point));
        let Some(asked) = asked else { break };
        told.push(tell(&asked.point));
    }
    told
}

fn value(told: &Told) -> Option<f64> {
    match told.result {
        Result::Value { value, .. } => Some(value),
        _ => None,
    }
}

fn lowest(told: &[Told]) -> f64 {
    told.iter().filter_map(value).fold(f64::INFINITY, f64::min)
}

#[test]
fn every_literal_is_moved_alone_before_any_two_together() {
    let (space, start) = (mixed(), vec![1e-3, 6.0, 64.0, 0.0, 1.0]);
    let told = play(&space, &start, 6, |point| Some(far(&space, point, &start)));
    let moved = |told: &Told| (0..5).filter(|at| told.point[*at] != start[*at]).collect::<Vec<_>>();
    assert_eq!(told[1..].iter().map(moved).collect::<Vec<_>>(), [[0], [1], [2], [3], [4]]);
}

#[test]
fn mixed_literals_are_brought_to_where_they_are_best() {
    let space = mixed();
    let (start, goal) = (vec![1e-3, 6.0, 64.0, 0.0, 1.0], vec![6e-3, 9.0, 128.0, 2.0, 0.0]);
    let told = play(&space, &start, 45, |point| Some(far(&space, point, &goal)));
    let left = lowest(&told) / far(&space, &start, &goal);
    assert!(left < 0.01, "{left}");
    let found = best(&space, &told).unwrap();
    assert_eq!((found[1], found[3], found[4]), (9.0, 2.0, 0.0));
}

#[test]
fn twenty_literals_take_few_more_trials_than_there_are_literals() {
    let space = vec![number(0.0, 1.0); 20];
    let start = vec![0.5; 20];
    let goal: Point = (0..20).map(|at| [0.35, 0.7, 0.5, 0.6][at % 4]).collect();
    let told = play(&space, &start, 45, |point| Some(far(&space, point, &goal)));
    let left = lowest(&told) / far(&space, &start, &goal);
    assert!(left < 0.1, "{left}");
}

#[test]
fn failures_teach_where_not_to_go_and_nothing_else() {
    let space = vec![number(0.0, 1.0); 4];
    let (start, goal) = (vec![0.4; 4], vec![0.55, 0.3, 0.5, 0.6]);
    // The best is right before the cliff.
    let works = |point: &Point| point[0] <= 0.6 && point[0] + point[1] <= 1.0;
    let told = play(&space, &start, 60, |point| works(point).then(|| far(&space, point, &goal)));
    let left = lowest(&told) / far(&space, &start, &goal);
    assert!(left < 0.05, "{left}");
    let failed = |told: &[Told]| told.iter().filter(|told| told.result == Result::Failed).count();
    assert!(failed(&told) < 27, "{} of 60 failed", failed(&told));
}

#[test]
fn a_point_from_outside_does_no_harm_even_where_it_fails() {
    let space = vec![number(0.0, 1.0); 3];
    let (start, goal) = (vec![0.4; 3], vec![0.6, 0.3, 0.5]);
    let mut told = play(&space, &start, 15, |point| Some(far(&space, point, &goal)));
    let before = best(&space, &told);
    // Outside of the range too, and absurd.
    for (point, result) in [
        (vec![3.0, -2.0, 0.5], Result::Failed),
        (vec![0.9, 0.9, 0.9], Result::Value { value: 1e12, error: 0.0 }),
        (vec![0.0, 1.0, 0.0], Result::Failed),
    ] {
        told.push(Told { point, result });
    }
    assert_eq!(best(&space, &told), before);
    for _ in 0..10 {
        let here = best(&space, &told).unwrap();
        let asked = ask(&space, &here, &told, 3, &mut |point| told.iter().any(|told| told.point == *point)).unwrap();
        let result = Result::Value { value: far(&space, &asked.point, &goal), error: 0.0 };
        told.push(Told { point: asked.point, result });
    }
    assert!(lowest(&told) < 3e-3, "{}", lowest(&told));
}

#[test]
fn what_is_being_tried_is_not_proposed_again() {
    let space = vec![number(0.0, 1.0); 3];
    let (start, goal) = (vec![0.4; 3], vec![0.6, 0.3, 0.5]);
    let mut told = play(&space, &start, 12, |point| Some(far(&space, point, &goal)));
    let here = best(&space, &told).unwrap();
    let mut pending: Vec<Point> = Vec::new();
    for turn in 0..4 {
        // Nobody says what is known: what is pending must be enough.
        let asked = ask(&space, &here, &told, turn, &mut |_| false).unwrap().point;
        let nearest = pending.iter().map(|other| far(&space, &asked, other)).fold(f64::INFINITY, f64::min);
        assert!(nearest > 1e-6, "{asked:?} is as good as one of {pending:?}");
        told.push(Told { point: asked.clone(), result: Result::Pending });
        pending.push(asked);
    }
}

#[test]
fn under_noise_the_luckiest_point_is_not_taken_for_the_best() {
    let space = vec![number(0.0, 1.0); 2];
    let mut told = Vec::new();
    for at in 0..30 {
        let x = f64::from(at) / 30.0;
        let truth = (x - 0.5).powi(2);
        told.push(Told { point: vec![x, 0.5], result: Result::Value { value: truth, error: 0.05 } });
    }
    // One at the edge was lucky by four standard errors.
    told[1].result = Result::Value { value: -0.1, error: 0.05 };
    let found = best(&space, &told).unwrap();
    assert!((found[0] - 0.5).abs() < 0.15, "{found:?}");
}

#[test]
fn a_literal_that_does_nothing_is_said_to_do_nothing() {
    let space = vec![number(0.0, 1.0); 2];
    let told = play(&space, &vec![0.3, 0.5], 25, |point| Some((point[0] - 0.7).powi(2)));
    let here = best(&space, &told).unwrap();
    let profiles = sensitivity(&space, &here, &told);
    assert!(profiles[0].matters() && !profiles[1].matters(), "{profiles:?}");
    assert!((profiles[0].best().unwrap().value - 0.7).abs() < 0.1, "{:?}", profiles[0]);
    assert!(profiles[1].difference() < 0.1 * profiles[0].difference(), "{:?}", profiles[1]);
}

#[test]
fn an_edit_moves_nothing_for_nothing() {
    let space = vec![number(0.0, 1.0); 8];
    let goal = |point: &Point| (point[2] - 0.8).powi(2) + (point[5] - 0.2).powi(2);
    let told = play(&space, &vec![0.5; 8], 25, |point| Some(goal(point)));
    let found = best(&space, &told).unwrap();
    let moved: Vec<usize> = (0..8).filter(|at| found[*at] != 0.5).collect();
    assert!(lowest(&told) < 1e-3);
    assert!(moved.len() <= 4, "{moved:?}");
}

#[test]
fn ranges_of_any_width_have_values_between_their_ends() {
    let log = Domain::Number { low: 1e-300, high: 1e300, scale: Scale::Log, grain: Grain::Any };
    let halves = number(-1.7e308, 1.7e308);
    for domain in [log, halves, number(1000.0, 1009.0)] {
        let mut values: Vec<f64> = (0..=1000).map(|at| domain.at(f64::from(at) / 1000.0)).collect();
        assert!(values.iter().all(|value| value.is_finite()), "{domain:?}");
        values.dedup();
        assert!(values.len() > 100 && values.is_sorted(), "{domain:?} has {} values", values.len());
    }
    assert_eq!(number(0.0, 1.0).at(0.123456), 0.123);
    assert_eq!(number(1000.0, 1009.0).at(0.3678), 1003.31);
}

#[test]
fn a_search_is_not_over_before_every_value_was_tried() {
    let space = vec![Domain::Number { low: 1.0, high: 100.0, scale: Scale::Linear, grain: Grain::Whole }];
    let told = play(&space, &vec![50.0], 200, |point| Some((point[0] - 20.0).abs()));
    assert_eq!(told.len(), 100);
}

fn domain() -> impl Strategy<Value = Domain> {
    prop_oneof![
        (-50.0..50.0, 0.1..100.0).prop_map(|(low, wide)| number(low, low + wide)),
        (1e-6..1.0, 1.5..1e4).prop_map(|(low, by)| Domain::Number {
            low,
            high: low * by,
            scale: Scale::Log,
            grain: Grain::Any
        }),
        (1..40_u32, 1..60_u32).prop_map(|(low, wide)| Domain::Number {
            low: f64::from(low),
            high: f64::from(low + wide),
            scale: Scale::Linear,
            grain: Grain::Whole
        }),
        (0..6_i32, 1..6_i32).prop_map(|(low, wide)| Domain::Number {
            low: 2_f64.powi(low),
            high: 2_f64.powi(low + wide),
            scale: Scale::Log,
            grain: Grain::PowerOfTwo
        }),
        (2..5_usize).prop_map(|options| Domain::Choice { options }),
    ]
}

#[test]
fn a_memory_of_earlier_questions_changes_no_answer() {
    let space = vec![number(0.0, 1.0), number(0.0, 1.0), number(0.0, 1.0)];
    let score = |point: &Point| far(&space, point, &vec![0.2, 0.7, 0.5]);
    let start = vec![0.5, 0.5, 0.5];
    let (mut told, mut memo) = (Vec::new(), Memo::default());
    for turn in 0..130_u64 {
        let point = match told.is_empty() {
            true => start.clone(),
            false => {
                let mut known = |point: &Point| told.iter().any(|told: &Told| told.point == *point);
                let asked = super::ask(&space, &start, &told, turn, &mut known, &mut memo).unwrap();
                // Now and then: the answer without a memory takes a while to be found.
                if turn % 13 == 0 {
                    assert_eq!(ask(&space, &start, &told, turn, &mut known).as_ref(), Some(&asked), "turn {turn}");
                }
                asked.point
            }
        };
        let result = Result::Value { value: score(&point), error: 0.01 };
        told.push(Told { point, result });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_point_is_new_within_its_range_and_on_its_grain(
        space in prop::collection::vec(domain(), 1..6),
        units in prop::collection::vec(0.0..1.0_f64, 6),
        values in prop::collection::vec(prop_oneof![4 => (-1e3..1e3).prop_map(Some), 1 => Just(None), 1 => Just(Some(0.0))], 18),
        noise in prop_oneof![Just(0.0), 0.0..10.0_f64],
        seed in any::<u64>(),
    ) {
        let place = |domain: &Domain, unit: f64| match domain {
            Domain::Choice { options } => (unit * *options as f64).floor(),
            _ => domain.at(unit),
        };
        let start: Point = space.iter().zip(&units).map(|(domain, unit)| place(domain, *unit)).collect();
        let mut told = vec![Told { point: start.clone(), result: Result::Value { value: 1.0, error: noise } }];
        let mut memo = Memo::default();
        for value in values {
            let mut known = |point: &Point| told.iter().any(|told| told.point == *point);
            let Some(asked) = super::ask(&space, &start, &told, seed, &mut known, &mut memo) else { break };
            prop_assert_eq!(&Some(asked.clone()), &ask(&space, &start, &told, seed, &mut known), "without a memory");
            prop_assert!(told.iter().all(|told| told.point != asked.point));
            for (domain, value) in space.iter().zip(&asked.point) {
                prop_assert_eq!(domain.settle(*value), *value, "{:?}", domain);
                if let Domain::Number { low, high, .. } = domain {
                    prop_assert!(low <= value && value <= high, "{} in {:?}", value, domain);
                }
            }
            let result = value.map_or(Result::Failed, |value| Result::Value { value, error: noise });
            told.push(Told { point: asked.point, result });
        }
        sensitivity(&space, &start, &told);
    }
}
