//! The pure model of `overnight`: what to do next, and what follows from what happened.
//!
//! Nothing here reads a clock, a file, a process or a source of chance, and nothing prints.
//! Time and chance are arguments, so the whole loop can be replayed and simulated.

pub mod brief;
pub mod call;
pub mod claim;
pub mod ending;
pub mod event;
pub mod forecast;
pub mod history;
pub mod id;
pub mod judge;
pub mod meaning;
pub mod measure;
pub mod metric;
pub mod proposal;
pub mod scoring;
pub mod spec;
pub mod stats;
pub mod study;
pub mod trace;
pub mod tuner;
pub mod units;
pub mod verdict;

pub use ending::Ending;
pub use event::{Event, What};
pub use id::{BlobId, CommitId, ContentId, ExperimentId, Seed, Segment, Slot, TrialId};
pub use measure::Measurement;
pub use spec::Spec;
pub use study::{State, Step, Study};
pub use units::{Goal, Millis, Score, Timestamp};
pub use verdict::{Reason, Verdict};
