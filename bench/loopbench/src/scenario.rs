//! The studies that are planted: each says what edits are worth, and how they are measured.

use crate::noise::{Drift, Shape};

/// One kind of study, in units of the noise sd of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scenario {
    pub name: &'static str,
    pub about: &'static str,
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

const PLAIN: Scenario = Scenario {
    name: "1sd",
    about: "1 sd, 10 % good, 45 % harmful",
    effect: 1.0,
    good: 0.10,
    harmful: 0.45,
    shape: Shape::Gaussian,
    drift: Drift::None,
    own_noise: 0.0,
    fading: Fading::Steady,
    families: None,
    seed_tricks: 0.0,
    rerolls: 0.0,
};

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "0.1sd", about: "0.1 sd, 10 % good, 45 % harmful", effect: 0.1, ..PLAIN },
    Scenario { name: "0.3sd", about: "0.3 sd, 10 % good, 45 % harmful", effect: 0.3, ..PLAIN },
    PLAIN,
    Scenario { name: "3sd", about: "3 sd, 10 % good, 45 % harmful", effect: 3.0, ..PLAIN },
    Scenario { name: "5sd", about: "5 sd, 10 % good, 45 % harmful", effect: 5.0, ..PLAIN },
    Scenario {
        name: "0.3sd-poor",
        about: "0.3 sd, 5 % good, 60 % harmful",
        effect: 0.3,
        good: 0.05,
        harmful: 0.60,
        ..PLAIN
    },
    Scenario {
        name: "0.3sd-rich",
        about: "0.3 sd, 20 % good, 30 % harmful",
        effect: 0.3,
        good: 0.20,
        harmful: 0.30,
        ..PLAIN
    },
    Scenario { name: "1sd-poor", about: "1 sd, 5 % good, 60 % harmful", good: 0.05, harmful: 0.60, ..PLAIN },
    Scenario { name: "1sd-rich", about: "1 sd, 20 % good, 30 % harmful", good: 0.20, harmful: 0.30, ..PLAIN },
    Scenario { name: "nothing", about: "no edit has any effect", good: 0.0, harmful: 0.0, ..PLAIN },
    Scenario {
        name: "only-harm",
        about: "0.3 sd, none good, 50 % harmful",
        effect: 0.3,
        good: 0.0,
        harmful: 0.5,
        ..PLAIN
    },
    Scenario { name: "heavy", about: "1 sd, heavy tails (t3)", shape: Shape::Heavy, ..PLAIN },
    Scenario { name: "skewed", about: "1 sd, log-normal, long tail to worse", shape: Shape::SkewedToWorse, ..PLAIN },
    Scenario {
        name: "skewed-up",
        about: "1 sd, log-normal, long tail to better",
        shape: Shape::SkewedToBetter,
        ..PLAIN
    },
    Scenario {
        name: "autocorrelated",
        about: "1 sd, AR(1) noise with 0.8",
        shape: Shape::Autocorrelated(0.8),
        ..PLAIN
    },
    Scenario {
        name: "own-noise",
        about: "1 sd, each candidate has its own noise sd (0.4 to 2.5)",
        own_noise: 0.45,
        ..PLAIN
    },
    Scenario {
        name: "outliers",
        about: "1 sd, 3 % of trials ten times as wide",
        shape: Shape::Outliers(0.03),
        ..PLAIN
    },
    Scenario { name: "drift-down", about: "1 sd, the machine gets worse by 3 sd", drift: Drift::Linear(-3.0), ..PLAIN },
    Scenario { name: "drift-up", about: "1 sd, the machine gets better by 3 sd", drift: Drift::Linear(3.0), ..PLAIN },
    Scenario { name: "wander", about: "1 sd, the level walks by 0.2 sd a trial", drift: Drift::Walk(0.2), ..PLAIN },
    Scenario {
        name: "interactions",
        about: "1 sd, six families of edits that overlap or clash",
        families: Some(6),
        ..PLAIN
    },
    Scenario {
        name: "rarer",
        about: "1 sd, 20 % good at first, 1 % at the end",
        good: 0.20,
        fading: Fading::WithTime,
        ..PLAIN
    },
    Scenario {
        name: "used-up",
        about: "1 sd, 20 % good, a tenth fewer with each win",
        good: 0.20,
        fading: Fading::WithWins,
        ..PLAIN
    },
    Scenario { name: "deterministic", about: "size 1, no noise at all", shape: Shape::None, ..PLAIN },
    Scenario { name: "seed-tricks", about: "1 sd, a third of the empty edits fix a seed", seed_tricks: 0.33, ..PLAIN },
    Scenario { name: "re-rolls", about: "1 sd, 40 % of proposals were discarded before", rerolls: 0.40, ..PLAIN },
];

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
}
