//! What a name says of its number.

use super::LeftOut;

const SEED: &str = "seed seeds rng prng";
const LABEL: &str = "version port date year month day id uuid pid";
const ADDRESS: &str = "path paths dir directory folder file filename url uri host";
const LIMIT: &str = "budget budgets timeout timeouts deadline deadlines sleep";
const EVALUATION: &str = "eval evals evaluate evaluation val valid validate validation test tests testing trials runs \
    repeats benchmark bench timer holdout heldout unseen cv fold folds kfold splits";
const OPERATION: &str = "verbose verbosity debug quiet silent logging inplace dry exist daemon parents";

/// Fractions of something: never 1 or more.
const FRACTION: &str = "dropout drop momentum beta betas beta1 beta2 frac fraction ratio decay prob probability ema \
    quantile smoothing discount gamma sparsity";
/// A decay that is subtracted and not multiplied with.
const PENALTY: &str = "wd l1 l2 reg penalty";
const SIZE: &str = "size batch dim dims width hidden block blocks channels embed embd embedding tile chunk buffer \
    capacity threads units";

/// The words of a name in lower case: `max_seed`, `maxSeed`, `MAX-SEED` and `MaxSeed` have two each.
pub fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let is_part = c.is_alphanumeric();
        if !is_part || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
        if let Some(word) = words.last_mut().filter(|_| is_part) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// What a name means, as far as it can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Fraction,
    Penalty,
    Size,
    Other,
}

pub(super) fn meaning(key: &str) -> Meaning {
    let words = words(key);
    let has = |known: &str| words.iter().any(|word| known.split(' ').any(|known| known == word));
    match () {
        _ if has(PENALTY) || has("weight") && has("decay") => Meaning::Penalty,
        _ if has(FRACTION) => Meaning::Fraction,
        _ if has(SIZE) => Meaning::Size,
        _ => Meaning::Other,
    }
}

/// Why a number of this name is not the search's to choose.
pub fn left_alone(key: &str) -> Option<LeftOut> {
    let words = words(key);
    let has = |known: &str| words.iter().any(|word| known.split(' ').any(|known| known == word));
    let both = |first: &str, second: &str| has(first) && has(second);
    let together = words.concat();
    Some(match () {
        _ if has(SEED) || both("random", "state") || together.ends_with("seed") => LeftOut::Seed,
        _ if has(EVALUATION) => LeftOut::Evaluation,
        _ if has(LIMIT) || both("time", "limit") || both("max", "seconds minutes") => LeftOut::Limit,
        _ if has(LABEL) => LeftOut::Label,
        _ if has(ADDRESS) => LeftOut::Address,
        _ if has(OPERATION) || both("log", "every interval level freq steps") => LeftOut::Operation,
        _ => return None,
    })
}
