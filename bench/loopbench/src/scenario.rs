//! The studies that are planted: each says what edits are worth, and how they are measured.

use serde::Serialize;

use crate::noise::{Drift, Shape};

pub use crate::studies::SCENARIOS;

/// One kind of study, in units of the noise sd of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scenario {
    pub name: &'static str,
    pub about: &'static str,
    pub target: Target,
    /// The mean size of a good edit, and of a harmful one; sizes are exponential.
    pub effect: f64,
    /// Shares of proposals; the others change nothing.
    pub good: f64,
    pub harmful: f64,
    pub shape: Shape,
    pub drift: Drift,
    /// The sd of the logarithm of a candidate's own noise: 0 where all scatter alike.
    pub own_noise: f64,
    pub fading: Fading,
    /// Edits belong to so many families; of one family only the first good edit is worth its full size.
    pub families: Option<usize>,
    /// The share of edits without effect that fix a seed: every repeat gives the same luck again.
    pub seed_tricks: f64,
    /// The share of proposals that offer once more what was discarded.
    pub rerolls: f64,
    /// The share of the noise's variance that the seed of a trial determines.
    pub paired: f64,
    /// Of that, the share which is another one for every candidate.
    pub own_luck: f64,
}

/// Whether good edits get rarer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fading {
    Steady,
    /// To a twentieth by the end of the night, however it went.
    WithTime,
    /// By a tenth with every real win that was kept.
    WithWins,
}

/// Which promise about true gain a study belongs to. The others, about what is reported, are the same for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Effects of 1 sd or less: at least what the best peer gains.
    SmallEffects,
    /// Effects of more than 1 sd, or no noise: within 5 % of it.
    LargeEffects,
    /// Lopsided noise, whatever the effects: within 10 %.
    Skewed,
    /// No edit is good: doing nothing is best, and what is lost must be next to nothing.
    Harmless,
    /// Nothing is promised.
    None,
}

impl Target {
    /// The share of the best peer's gain that is promised.
    pub fn share(self) -> Option<f64> {
        match self {
            Target::SmallEffects => Some(1.0),
            Target::LargeEffects => Some(0.95),
            Target::Skewed => Some(0.90),
            Target::Harmless | Target::None => None,
        }
    }

    /// What may be lost in a night, in sd, where there is nothing to gain and so no peer to be measured by.
    pub fn loss(self) -> Option<f64> {
        (self == Target::Harmless).then_some(0.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_shares_are_shares() {
        for (index, scenario) in SCENARIOS.iter().enumerate() {
            assert!(SCENARIOS[..index].iter().all(|other| other.name != scenario.name), "{}", scenario.name);
            assert!(scenario.good + scenario.harmful <= 1.0, "{}", scenario.name);
        }
    }

    #[test]
    fn the_target_follows_from_effects_and_noise() {
        for scenario in SCENARIOS {
            let target = match scenario.shape {
                _ if scenario.good == 0.0 && scenario.harmful == 0.0 => Target::None,
                _ if scenario.good == 0.0 => Target::Harmless,
                Shape::SkewedToWorse | Shape::SkewedToBetter => Target::Skewed,
                Shape::None => Target::LargeEffects,
                _ if scenario.effect > 1.0 => Target::LargeEffects,
                _ => Target::SmallEffects,
            };
            assert_eq!(scenario.target, target, "{}", scenario.name);
        }
    }

    #[test]
    fn the_size_in_the_name_is_the_size_that_is_planted() {
        for scenario in SCENARIOS.iter().filter(|scenario| scenario.name.contains("sd")) {
            let size = scenario.name.split('-').find_map(|word| word.strip_suffix("sd")).unwrap();
            assert_eq!(size.parse(), Ok(scenario.effect), "{}", scenario.name);
            assert!(scenario.about.starts_with(&format!("{size} sd")), "{}", scenario.name);
        }
    }
}
