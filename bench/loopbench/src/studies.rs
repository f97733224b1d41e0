//! The list of what is planted.

use crate::noise::{Drift, Shape};
use crate::scenario::{Fading, Scenario, Target};

const PLAIN: Scenario = Scenario {
    name: "1sd",
    about: "1 sd, 10 % good, 45 % harmful",
    target: Target::SmallEffects,
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
    paired: 0.0,
    own_luck: 0.0,
};

const HEAVY: Scenario = Scenario { name: "heavy", about: "1 sd, heavy tails (t3)", shape: Shape::Heavy, ..PLAIN };
const SKEWED: Scenario = Scenario {
    name: "skewed",
    about: "1 sd, log-normal, long tail to worse",
    target: Target::Skewed,
    shape: Shape::SkewedToWorse,
    ..PLAIN
};
const AUTOCORRELATED: Scenario = Scenario {
    name: "autocorrelated",
    about: "1 sd, AR(1) noise with 0.8",
    shape: Shape::Autocorrelated(0.8),
    ..PLAIN
};
const SEEDED: Scenario =
    Scenario { name: "seeded", about: "1 sd, four fifths of the variance come from the seed", paired: 0.8, ..PLAIN };
const DOWN: Scenario =
    Scenario { name: "drift-down", about: "1 sd, the machine gets worse by 3 sd", drift: Drift::Linear(-3.0), ..PLAIN };
const UP: Scenario =
    Scenario { name: "drift-up", about: "1 sd, the machine gets better by 3 sd", drift: Drift::Linear(3.0), ..PLAIN };

/// The same study with edits of another size.
const fn sized(study: Scenario, effect: f64, name: &'static str, about: &'static str) -> Scenario {
    let target = match study.target {
        Target::SmallEffects if effect > 1.0 => Target::LargeEffects,
        target => target,
    };
    Scenario { name, about, effect, target, ..study }
}

pub const SCENARIOS: &[Scenario] = &[
    sized(PLAIN, 0.1, "0.1sd", "0.1 sd, 10 % good, 45 % harmful"),
    sized(PLAIN, 0.3, "0.3sd", "0.3 sd, 10 % good, 45 % harmful"),
    PLAIN,
    sized(PLAIN, 2.2, "2.2sd", "2.2 sd, 10 % good, 45 % harmful"),
    sized(PLAIN, 3.0, "3sd", "3 sd, 10 % good, 45 % harmful"),
    sized(PLAIN, 5.0, "5sd", "5 sd, 10 % good, 45 % harmful"),
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
    Scenario {
        name: "nothing",
        about: "no edit has any effect",
        target: Target::None,
        good: 0.0,
        harmful: 0.0,
        ..PLAIN
    },
    Scenario {
        name: "only-harm",
        about: "0.3 sd, none good, 50 % harmful",
        target: Target::Harmless,
        effect: 0.3,
        good: 0.0,
        harmful: 0.5,
        ..PLAIN
    },
    sized(HEAVY, 0.3, "heavy-0.3sd", "0.3 sd, heavy tails (t3)"),
    HEAVY,
    sized(HEAVY, 3.0, "heavy-3sd", "3 sd, heavy tails (t3)"),
    sized(HEAVY, 5.0, "heavy-5sd", "5 sd, heavy tails (t3)"),
    sized(SKEWED, 0.3, "skewed-0.3sd", "0.3 sd, log-normal, long tail to worse"),
    SKEWED,
    sized(SKEWED, 3.0, "skewed-3sd", "3 sd, log-normal, long tail to worse"),
    sized(SKEWED, 5.0, "skewed-5sd", "5 sd, log-normal, long tail to worse"),
    Scenario {
        name: "skewed-up",
        about: "1 sd, log-normal, long tail to better",
        shape: Shape::SkewedToBetter,
        ..SKEWED
    },
    sized(AUTOCORRELATED, 0.3, "autocorrelated-0.3sd", "0.3 sd, AR(1) noise with 0.8"),
    AUTOCORRELATED,
    sized(AUTOCORRELATED, 3.0, "autocorrelated-3sd", "3 sd, AR(1) noise with 0.8"),
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
    sized(DOWN, 0.3, "drift-down-0.3sd", "0.3 sd, the machine gets worse by 3 sd"),
    DOWN,
    sized(DOWN, 3.0, "drift-down-3sd", "3 sd, the machine gets worse by 3 sd"),
    sized(DOWN, 5.0, "drift-down-5sd", "5 sd, the machine gets worse by 3 sd"),
    sized(UP, 0.3, "drift-up-0.3sd", "0.3 sd, the machine gets better by 3 sd"),
    UP,
    sized(UP, 3.0, "drift-up-3sd", "3 sd, the machine gets better by 3 sd"),
    sized(UP, 5.0, "drift-up-5sd", "5 sd, the machine gets better by 3 sd"),
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
    Scenario {
        name: "deterministic",
        about: "size 1, no noise at all",
        target: Target::LargeEffects,
        shape: Shape::None,
        ..PLAIN
    },
    Scenario { name: "seed-tricks", about: "1 sd, a third of the empty edits fix a seed", seed_tricks: 0.33, ..PLAIN },
    SEEDED,
    Scenario {
        name: "seeded-0.4sd",
        about: "0.4 sd, the same: 0.9 sd of the noise with one seed",
        effect: 0.4,
        ..SEEDED
    },
    Scenario {
        name: "seeded-own",
        about: "1 sd, the same, and half of that luck is the candidate's own",
        own_luck: 0.5,
        ..SEEDED
    },
    Scenario { name: "re-rolls", about: "1 sd, 40 % of proposals were discarded before", rerolls: 0.40, ..PLAIN },
];
