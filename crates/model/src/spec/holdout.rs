//! What no trial sees: a second opinion on data that nothing was chosen by.

use super::{Scorer, Spec};

/// A scorer with files of its own, opened a counted number of times, and for people only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holdout {
    /// Where the evaluation is separated it reads what `run` left; else it is run in place of `run`.
    pub score: Scorer,
    /// As they were written: absolute, `~/…`, or relative to the folder of the triplet.
    pub files: Vec<String>,
    /// The tracked ones among them, or below them; relative to the repository.
    pub tracked: Vec<String>,
    /// How often it may be opened.
    pub budget: u32,
}

impl Holdout {
    /// Each look tells a little of what is in it; after some twenty it is one more set that things were chosen by.
    pub const BUDGET: u32 = 20;
}

impl Spec {
    /// Tracked files that neither candidates, guards nor agents see.
    pub fn hidden_from_candidates(&self) -> Vec<String> {
        self.evaluate.hidden.iter().chain(self.held_out()).cloned().collect()
    }

    /// Tracked files that the scorer does not see: candidate code, and what is held out.
    pub fn hidden_from_scorers(&self) -> Vec<String> {
        self.surface.paths().map(ToOwned::to_owned).chain(self.held_out().cloned()).collect()
    }

    fn held_out(&self) -> impl Iterator<Item = &String> {
        self.holdout.iter().flat_map(|holdout| &holdout.tracked)
    }
}
