use super::*;

/// Chance for simulations, with a fixed seed.
pub(super) struct Dice(pub(super) Random);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(Random::new(seed, 7))
    }

    pub(super) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.0.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.0.unit()).cos()
    }

    pub(super) fn exponential(&mut self) -> f64 {
        -(1.0 - self.0.unit()).ln()
    }

    /// Student's t with 2 degrees: no variance.
    pub(super) fn heavy(&mut self) -> f64 {
        self.normal() / self.exponential().sqrt()
    }

    fn cauchy(&mut self) -> f64 {
        (std::f64::consts::PI * (self.0.unit() - 0.5)).tan()
    }
}

/// The last word on values that a function makes, looked at after every pair.
fn told(most: u32, mut pair: impl FnMut(u32) -> (f64, f64)) -> Standing {
    let mut claim = Claim::new(Goal::Max, 0.0, most);
    for n in 0.. {
        let (a, b) = pair(n);
        claim.add(a, b);
        if claim.decision().is_some() {
            return claim.standing().unwrap();
        }
    }
    unreachable!()
}

/// How often sequences of one kind of pair end in a claim.
fn claims(runs: u64, most: u32, mut pair: impl FnMut(&mut Dice) -> (f64, f64)) -> f64 {
    let mut is_claim = |seed| {
        let mut dice = Dice::new(seed);
        let told = told(most, |_| pair(&mut dice));
        matches!(told.decision, Some(Decision::Better | Decision::Worse))
    };
    (0..runs).filter(|seed| is_claim(*seed)).count() as f64 / runs as f64
}

/// Whoever looks after each of 60 pairs, and stops when he likes what he sees, is still wrong at most one time in 20.
#[track_caller]
fn assert_rarely_wrong(runs: u64, pair: impl FnMut(&mut Dice) -> (f64, f64)) {
    let wrong = claims(runs, 60, pair);
    assert!(wrong <= 0.05, "{wrong} false claims");
    // Not because nothing is ever claimed.
    assert!(wrong > 0.0);
}

#[test]
fn equal_sides_with_normal_noise_are_rarely_told_apart() {
    assert_rarely_wrong(2000, |dice| (dice.normal(), dice.normal()));
}

#[test]
fn equal_sides_with_heavy_tails_are_rarely_told_apart() {
    assert_rarely_wrong(2000, |dice| (dice.heavy(), dice.heavy()));
}

#[test]
fn equal_sides_without_even_a_mean_are_rarely_told_apart() {
    assert_rarely_wrong(1000, |dice| (dice.cauchy(), dice.cauchy()));
}

#[test]
fn equal_sides_with_lopsided_noise_are_rarely_told_apart() {
    assert_rarely_wrong(2000, |dice| ((2.0 * dice.normal()).exp(), (2.0 * dice.normal()).exp()));
}

#[test]
fn sides_of_the_same_mean_with_lopsided_differences_are_rarely_told_apart() {
    assert_rarely_wrong(2000, |dice| (dice.normal(), dice.exponential() - 1.0));
}

#[test]
fn equal_sides_that_take_two_values_are_rarely_told_apart() {
    assert_rarely_wrong(2000, |dice| (dice.0.below(2) as f64, dice.0.below(2) as f64));
    assert_rarely_wrong(1000, |dice| (f64::from(dice.0.unit() < 0.1), f64::from(dice.0.unit() < 0.1)));
}

#[test]
fn equal_sides_on_a_machine_whose_noise_comes_and_goes_are_rarely_told_apart() {
    assert_rarely_wrong(1000, |dice| {
        let load = (2.0 * dice.normal()).exp();
        (load * dice.normal(), load * dice.normal())
    });
}

/// How often a difference of so many standard deviations of a pair is found in 20 pairs, and with how many.
fn power(effect: f64, noise: fn(&mut Dice) -> f64) -> (f64, f64) {
    let (mut found, mut pairs) = (0.0, 0.0);
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let told = told(PAIRS, |_| (0.0, effect + noise(&mut dice)));
        assert_ne!(told.decision, Some(Decision::Worse));
        if told.decision == Some(Decision::Better) {
            found += 1.0;
            pairs += f64::from(told.pairs);
        }
    }
    (found / 300.0, pairs / found)
}

#[test]
fn real_differences_are_found() {
    // 0.73 in 11 pairs, and 1.00 in 7.
    let (one, two) = (power(1.0, Dice::normal), power(2.0, Dice::normal));
    assert!(one.0 > 0.7 && one.1 < 12.0, "{one:?}");
    assert!(two.0 > 0.99 && two.1 < 8.0, "{two:?}");
    // 0.89: noise without a variance hides more.
    let wild = power(2.0, Dice::heavy);
    assert!(wild.0 > 0.8, "{wild:?}");
}

#[test]
fn the_interval_holds_the_truth_whenever_somebody_stops() {
    let missed = |noise: fn(&mut Dice) -> f64| {
        let misses = |seed: u64| {
            let mut dice = Dice::new(seed);
            let told = told(30, |_| (noise(&mut dice), 0.9 + noise(&mut dice)));
            told.low.is_some_and(|low| low > 0.9) || told.high.is_some_and(|high| high < 0.9)
        };
        (0..300).filter(|seed| misses(*seed)).count()
    };
    for (name, noise) in [("normal", Dice::normal as fn(&mut Dice) -> f64), ("exponential", Dice::exponential)] {
        let missed = missed(noise);
        assert!(missed <= 15, "{name}: {missed} of 300");
    }
}

#[test]
fn a_metric_without_noise_is_decided_after_four_pairs() {
    let told = |a: f64, b: f64| told(PAIRS, |_| (a, b));
    let better = told(0.1, 0.3);
    assert_eq!((better.decision, better.pairs), (Some(Decision::Better), 4));
    assert_eq!((better.low, better.high), (Some(better.difference), Some(better.difference)));
    assert_eq!((told(0.3, 0.1).decision, told(0.3, 0.1).pairs), (Some(Decision::Worse), 4));
    let equal = told(0.1, 0.1);
    assert_eq!((equal.decision, equal.odds, equal.ruled_out()), (Some(Decision::Equal), 1.0, Some(0.0)));
}

#[test]
fn lower_is_better_where_the_goal_says_so() {
    let mut claim = Claim::new(Goal::Min, 0.0, PAIRS);
    (0..4).for_each(|_| claim.add(5.0, 3.0));
    let standing = claim.standing().unwrap();
    assert_eq!((standing.decision, standing.difference), (Some(Decision::Better), 2.0));
    assert_eq!((standing.a, standing.b), (5.0, 3.0));
}

#[test]
fn a_shift_under_noise_that_both_sides_share_takes_six_pairs() {
    // The same seed gives the same noise: differences do not vary, levels do.
    let told = told(PAIRS, |n| (f64::from(n), f64::from(n) + 1.0));
    assert_eq!((told.decision, told.pairs), (Some(Decision::Better), FEWEST_PAIRS));
    assert!(told.low.unwrap() > 0.9 && told.high.unwrap() < 1.1, "{told:?}");
}

#[test]
fn a_difference_within_the_margin_is_none() {
    let mut claim = Claim::new(Goal::Max, 1.0, 60);
    let mut dice = Dice::new(1);
    while claim.decision().is_none() {
        claim.add(dice.normal() * 0.1, dice.normal() * 0.1 + 0.05);
    }
    let standing = claim.standing().unwrap();
    assert_eq!(standing.decision, Some(Decision::Equal), "{standing:?}");
    assert!(standing.ruled_out().unwrap() <= 1.0 && standing.pairs < 12, "{standing:?}");
    let mut claim = Claim::new(Goal::Max, 0.5, 60);
    (0..4).for_each(|_| claim.add(1.0, 1.4));
    assert_eq!(claim.decision(), Some(Decision::Equal));
}

#[test]
fn what_is_known_before_the_end_has_open_ends() {
    let mut claim = Claim::new(Goal::Max, 0.0, PAIRS);
    assert_eq!(claim.standing(), None);
    claim.add(1.0, 2.0);
    claim.add(1.5, 2.0);
    let standing = claim.standing().unwrap();
    assert_eq!((standing.low, standing.high, standing.decision), (None, None, None));
    assert!(standing.odds > 1.0 && standing.odds < 2.0);
}

#[test]
fn draws_follow_from_the_seed_and_favour_neither_side() {
    let draws: Vec<Draw> = (0..1000).map(|pair| draw(5, pair)).collect();
    assert_eq!(draws[7], draw(5, 7));
    assert_ne!(draws[7].seed, draw(6, 7).seed);
    let b_first = draws.iter().filter(|draw| draw.b_first).count();
    assert!((430..570).contains(&b_first), "{b_first}");
    let mut seeds: Vec<_> = draws.iter().map(|draw| draw.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 1000);
}
