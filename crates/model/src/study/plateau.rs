//! A plateau: nothing was kept for much longer than this study is used to.
//!
//! It follows from the ledger and is no event of its own: whoever reads the same ledger sees the same plateau.

use serde::{Deserialize, Serialize};

use super::state::State;

/// One idea in ten is better, before a study has shown what it is used to.
const USUAL: u64 = 10;
/// Three times as long as usual without a keep: by chance that is so one time in twenty.
const TIMES: u64 = 3;
/// Fewer say nothing, however quickly a study began.
const FEWEST: u64 = 20;

/// How long nothing was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plateau {
    /// Experiments since the last keep.
    pub experiments: u64,
    /// How many it took for a keep until then.
    pub usual: u64,
}

impl Plateau {
    fn of(counted: u64, kept: u64, since: u64) -> Option<Plateau> {
        let until_then = counted.saturating_sub(since);
        let usual = until_then.checked_div(kept).map_or(USUAL, |usual| usual.max(1));
        (since >= Plateau::patience(usual)).then_some(Plateau { experiments: since, usual })
    }

    fn patience(usual: u64) -> u64 {
        (usual * TIMES).max(FEWEST)
    }

    /// Whether it was noticed with the latest verdict.
    pub fn is_new(&self) -> bool {
        self.experiments == Plateau::patience(self.usual)
    }
}

impl State {
    /// Whether the study has come to a plateau. The next keep ends it.
    pub fn plateau(&self) -> Option<Plateau> {
        Plateau::of(self.counts.counted, self.counts.kept, self.total_since_keep.experiments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_that_never_kept_anything_has_a_plateau_after_thirty() {
        assert_eq!(Plateau::of(29, 0, 29), None);
        assert_eq!(Plateau::of(30, 0, 30), Some(Plateau { experiments: 30, usual: 10 }));
        assert!(Plateau::of(30, 0, 30).unwrap().is_new());
        assert!(!Plateau::of(31, 0, 31).unwrap().is_new());
    }

    #[test]
    fn it_is_measured_by_what_the_study_is_used_to() {
        assert_eq!(Plateau::of(10 + 19, 5, 19), None, "a keep in two, and still twenty is the least");
        assert_eq!(Plateau::of(10 + 20, 5, 20), Some(Plateau { experiments: 20, usual: 2 }));
        assert_eq!(Plateau::of(100 + 74, 4, 74), None);
        assert_eq!(Plateau::of(100 + 75, 4, 75), Some(Plateau { experiments: 75, usual: 25 }));
    }

    #[test]
    fn a_keep_ends_it() {
        assert_eq!(Plateau::of(176, 5, 0), None);
    }
}
