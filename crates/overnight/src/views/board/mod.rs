//! The board: everything that a view shows of a study, gathered once out of events, rows and summary.
//!
//! Nothing in a view computes a fact of its own. Here is no I/O and no clock: what is running, what is held out and what
//! time it is are arguments. Foreign text stays as it is; whoever draws it makes it safe.

mod causes;
mod doing;
mod fold;
mod gather;
mod glance;
mod headline;
mod nights;
mod plot;
#[cfg(test)]
pub(crate) mod tests;

use overnight_engine::holdout::Openings;
use overnight_model::forecast::Sure;
use overnight_model::spec::Network;
use overnight_model::study::{Row, Summary};
use overnight_model::{ExperimentId, Timestamp};

pub(crate) use self::causes::Cause;
pub(crate) use self::doing::{Job, Task, Turn};
pub(crate) use self::fold::Fold;
pub(crate) use self::gather::Gather;
pub(crate) use self::glance::{Glance, Terms};
pub(crate) use self::headline::{Gained, Headline, Surety};
pub(crate) use self::nights::{Night, Spending};
pub(crate) use self::plot::{Plot, Point, Step};

use super::night::Asked;

/// What the ledger does not know of a study.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) study: String,
    /// What a command needs so that it means this study.
    pub(crate) flag: String,
    pub(crate) is_running: bool,
    pub(crate) asked: Asked,
    pub(crate) holdout: Option<Openings>,
    pub(crate) now: Timestamp,
}

/// A study at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Board {
    pub(crate) setting: Setting,
    /// None before its first segment.
    pub(crate) summary: Option<Summary>,
    pub(crate) headline: Headline,
    /// The smallest gain that it would be sure of.
    pub(crate) sure: Option<Sure>,
    /// The last run of the loop.
    pub(crate) night: Option<Night>,
    /// All of them together.
    pub(crate) total: Spending,
    pub(crate) runs: usize,
    pub(crate) plot: Plot,
    /// What stands on the branch, oldest first, of every segment.
    pub(crate) kept: Vec<Row>,
    /// What looked better in one run and did not hold, the most tempting first.
    pub(crate) faded: Vec<Faded>,
    /// What failed, by cause, the most frequent first.
    pub(crate) causes: Vec<Cause>,
    /// What noise hides, the most promising first.
    pub(crate) near: Vec<Row>,
    /// Ideas that won against a champion that had moved on.
    pub(crate) redo: Vec<(ExperimentId, String)>,
    /// What waits for a person's word.
    pub(crate) suspects: Vec<Row>,
    pub(crate) health: Health,
}

/// A candidate that one run spoke for, and everything together against.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Faded {
    pub(crate) row: Row,
    /// The gain of its best single run over the champion it stood on. Never a result: it was selected for being high.
    pub(crate) once: Option<f64>,
    /// It had been kept, and was taken back.
    pub(crate) is_retracted: bool,
}

/// How well the machine and the evaluation behaved, and what nobody looked at.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Health {
    pub(crate) retracted: u64,
    /// Experiments that were run again because the machine had become another one.
    pub(crate) tried_again: u64,
    /// Near-misses that got more trials while nothing better was found.
    pub(crate) second_looks: u64,
    /// Trials that ended with the engine or with a sleep of the machine, and count for nothing.
    pub(crate) lost: u64,
    /// Trials that were lost through our own fault.
    pub(crate) faults: u64,
    pub(crate) network: Network,
    pub(crate) has_guards: bool,
    /// Whether a night was closed, by champion and baseline in turns.
    pub(crate) closing_trials: u64,
}
