use super::*;
use crate::spec::Mode;

const NOISY: Noise = Noise::Noisy { sd: 0.01, degrees: 2 };
const NIGHT: Prospect = Prospect {
    wall: Millis::seconds(8 * 3600),
    trial: Millis::seconds(320),
    slots: 1,
    experiments: None,
    noise: Noise::Deterministic,
    min_gain: 0.0,
    judge: JudgeSpec { mode: Mode::Balanced, max_share: 0.1, max_step_gain: None },
};

#[test]
fn without_noise_every_idea_takes_one_trial_and_the_first_better_ones_two() {
    let bought = NIGHT.forecast();
    assert_eq!((bought.trials, bought.spent.trials(), bought.spent.calibrate), (90, 90, 3));
    assert_eq!((bought.spent.remeasure, bought.spent.sentinel), (0, 0));
    assert!((1..=10).contains(&bought.spent.confirm), "{bought:?}");
    assert_eq!(bought.sure, Some(Sure { gain: 0.0, trials: 2.0 }));
    let coarse = Prospect { min_gain: 0.5, ..NIGHT }.forecast();
    assert_eq!(coarse.sure.map(|sure| sure.gain), Some(0.5));
}

#[test]
fn noise_costs_trials_and_the_forecast_says_where_they_go() {
    let bought = Prospect { noise: NOISY, ..NIGHT }.forecast();
    assert_eq!((bought.trials, bought.spent.trials(), bought.spent.calibrate), (90, 90, 2));
    assert_eq!(bought.experiments, bought.spent.screen);
    assert!((40..88).contains(&bought.experiments), "{bought:?}");
    assert!(bought.spent.sentinel > 0 && bought.spent.confirm + bought.spent.remeasure > 0, "{bought:?}");
}

#[test]
fn a_longer_night_and_more_slots_have_more_of_everything_and_a_limit_less() {
    let night = Prospect { noise: NOISY, ..NIGHT };
    let (one, two) = (night.forecast(), Prospect { slots: 20, ..night }.forecast());
    assert_eq!(two.trials, 1800);
    assert!(two.experiments > 15 * one.experiments && two.spent.trials() > 1790, "{two:?}");
    let few = Prospect { experiments: Some(10), ..night }.forecast();
    assert_eq!((few.trials, few.experiments), (90, 10));
    assert!(few.spent.trials() < 30, "{few:?}");
}

#[test]
fn the_smallest_sure_gain_grows_with_the_noise_and_with_what_is_asked_for() {
    let of = |noise, min_gain| smallest_sure_gain(noise, min_gain, NIGHT.judge).unwrap().gain;
    let small = of(NOISY, 0.0);
    assert!((0.01..0.06).contains(&small), "{small}");
    let large = of(Noise::Noisy { sd: 1.0, degrees: 2 }, 0.0);
    assert!((large / small - 100.0).abs() < 1e-6, "{large}");
    let asked = of(NOISY, 0.5);
    assert!(asked > 0.5 && asked < 0.5 + 4.0 * small, "{asked}");
}

/// Fresh luck for every trial, and many candidates: what was found with twenty holds.
#[test]
fn the_smallest_sure_gain_is_kept_about_nine_times_in_ten_and_a_third_of_it_is_not() {
    let gain = smallest_sure_gain(Noise::Noisy { sd: 1.0, degrees: 2 }, 0.0, NIGHT.judge).unwrap().gain;
    let begun = warm(0.0, NIGHT.judge).unwrap();
    let share = |gain: f64| {
        let mut random = Random::new(9, 9);
        let kept = (0..200).filter(|turn| one(begun.clone(), gain, luck(&mut random), 1000 + turn).unwrap().0);
        kept.count() as f64 / 200.0
    };
    let (sure, third) = (share(gain), share(gain / 3.0));
    assert!((0.84..0.98).contains(&sure) && third < 0.5, "{gain}: {sure}, {third}");
}

#[test]
fn a_stricter_judge_asks_for_more_trials() {
    let of = |mode| {
        smallest_sure_gain(NOISY, 0.0, JudgeSpec { mode, ..NIGHT.judge }).map(|sure| sure.gain * sure.trials).unwrap()
    };
    assert!(of(Mode::Strict) > of(Mode::Explore));
}

#[test]
fn what_is_not_known_is_not_promised() {
    let unknown = Prospect { noise: Noise::Unknown, ..NIGHT }.forecast();
    assert_eq!(unknown.sure, None);
    let short = Prospect { wall: Millis::seconds(600), ..NIGHT }.forecast();
    assert_eq!((short.trials, short.experiments), (1, 0));
}

#[test]
fn the_same_question_has_the_same_answer() {
    let night = Prospect { noise: NOISY, ..NIGHT };
    assert_eq!(night.forecast(), night.forecast());
}
