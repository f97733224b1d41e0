//! What repeats say: whether the number is the same twice, how noisy it is, and whether the seed governs it.

use overnight_model::Seed;
use overnight_model::judge::Noise;
use overnight_model::stats::Tally;

/// Up to here a trial is cheap, and up to there affordable.
const CHEAP_SECONDS: f64 = 15.0;
const FAIR_SECONDS: f64 = 60.0;

/// How often to measure the tree as it is, by how long a trial takes.
pub(super) fn wanted(seconds: f64) -> u32 {
    match seconds {
        s if s <= CHEAP_SECONDS => 5,
        s if s <= FAIR_SECONDS => 4,
        _ => 3,
    }
}

/// Whether answers that only check the evaluation may take a trial each.
pub(super) fn is_affordable(seconds: f64) -> bool {
    seconds <= FAIR_SECONDS
}

/// The first two have the same seed, the others one each.
pub(super) fn seed(trial: u32) -> Seed {
    Seed(trial.max(1))
}

/// What governs the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chance {
    /// All equal, with more than one seed.
    None,
    /// Equal for equal seeds, different for others.
    Seeded,
    /// Different for equal seeds.
    Unseeded,
    /// Equal for the one seed that was tried.
    Untold,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Repeats {
    pub(super) chance: Chance,
    pub(super) noise: Noise,
    /// What noise was learned from, one value for each seed where the seed governs it.
    pub(super) tally: Tally,
    pub(super) seeds: u32,
}

/// Reads values by the seed of each, the first two of which are the same.
pub(super) fn read(values: &[(Seed, f64)]) -> Repeats {
    let all = Tally::of(values.iter().map(|(_, value)| *value));
    let mut seeds: Vec<Seed> = values.iter().map(|(seed, _)| *seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let seeds = seeds.len() as u32;
    let all_equal = values.windows(2).all(|pair| pair[0].1 == pair[1].1);
    let same_twice = values.len() > 1 && values[0].1 == values[1].1;
    let chance = match (all_equal, same_twice) {
        (true, _) if seeds > 1 => Chance::None,
        (true, _) => Chance::Untold,
        (false, true) => Chance::Seeded,
        (false, false) => Chance::Unseeded,
    };
    let tally = match chance {
        Chance::Seeded => Tally::of(values.iter().skip(1).map(|(_, value)| *value)),
        Chance::None | Chance::Unseeded | Chance::Untold => all,
    };
    let noise = match chance {
        Chance::None => Noise::Deterministic,
        Chance::Untold => Noise::Unknown,
        Chance::Seeded | Chance::Unseeded => Noise::from_repeats([&tally]),
    };
    Repeats { chance, noise, tally, seeds }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(values: &[f64]) -> Repeats {
        let seeded: Vec<(Seed, f64)> = values.iter().enumerate().map(|(n, value)| (seed(n as u32), *value)).collect();
        read(&seeded)
    }

    #[test]
    fn the_first_two_trials_have_the_same_seed_and_no_others_do() {
        assert_eq!([0, 1, 2, 3].map(seed), [Seed(1), Seed(1), Seed(2), Seed(3)]);
    }

    #[test]
    fn chance_is_told_by_what_changes_with_the_seed() {
        assert_eq!(told(&[1.0, 1.0, 1.0]).chance, Chance::None);
        assert_eq!(told(&[1.0, 1.0, 1.5]).chance, Chance::Seeded);
        assert_eq!(told(&[1.0, 1.1, 1.5]).chance, Chance::Unseeded);
        assert_eq!(told(&[1.0, 1.0]).chance, Chance::Untold);
        assert_eq!(told(&[1.0]).noise, Noise::Unknown);
    }

    #[test]
    fn a_value_that_its_seed_repeats_says_nothing_new_about_the_noise() {
        assert_eq!(told(&[1.0, 1.0, 3.0]).noise, Noise::Noisy { sd: 2f64.sqrt(), degrees: 1 });
        assert_eq!(told(&[1.0, 3.0]).noise, Noise::Noisy { sd: 2f64.sqrt(), degrees: 1 });
        assert_eq!(told(&[1.0, 1.0, 1.0]).noise, Noise::Deterministic);
    }
}
