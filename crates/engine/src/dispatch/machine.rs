//! What the loop needs of a machine: the real one, and the simulator's.

use overnight_model::brief::Brief;
use overnight_model::call::bill::Called;
use overnight_model::event::{AttemptFailure, Loss, ModelUse};
use overnight_model::measure::Usage;
use overnight_model::proposal::Contents;
use overnight_model::spec::Member;
use overnight_model::tuner::Edit;
use overnight_model::{CommitId, ContentId, Ending, ExperimentId, Measurement, Millis, Seed, Slot, Timestamp, TrialId};
use thiserror::Error;

use crate::ledger::LedgerError;
use crate::process::KeeperError;
use crate::workspace::{CommitPlan, GitError};

/// Time, work and git, as the loop sees them.
pub trait Machine {
    fn now(&self) -> Timestamp;

    /// Waits until something arrives, or until the given moment.
    fn wait(&mut self, until: Option<Timestamp>) -> Result<Vec<Arrival>, Fault>;

    /// Starts something that will arrive later. Its event is durable already.
    fn act(&mut self, action: Action) -> Result<(), Fault>;

    /// Ends what need not finish: the agents, or in a hurry everything.
    fn stop(&mut self, hurry: bool);

    /// The commit that a plan makes, without making it.
    fn commit_id(&self, plan: &CommitPlan) -> Result<CommitId, Fault>;

    /// Writes an experiment's commit to the store, and gives it its ref. The ledger can make it again, so this may
    /// wait until the work it belongs to has begun.
    fn write_proposal(&mut self, experiment: ExperimentId, plan: &CommitPlan) -> Result<CommitId, Fault>;

    /// Makes a keep last in the user's repository: commit, then branch. Doing it twice is doing it once.
    fn keep(&mut self, experiment: ExperimentId, from: Option<&CommitId>, keep: &Keep) -> Result<CommitId, Fault>;
}

/// Work to start.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one is made at a time and moved once")]
pub enum Action {
    Ask {
        experiment: ExperimentId,
        member: Member,
        brief: Brief,
        contents: Contents,
    },
    Trial {
        trial: TrialId,
        experiment: ExperimentId,
        seed: Seed,
        slot: Slot,
        contents: Contents,
        stakes: Stakes,
    },
    Guard {
        experiment: ExperimentId,
        guard: u32,
        slot: Slot,
        command: String,
        contents: Contents,
    },
    /// A quick look at these contents, outside of any slot.
    Smoke {
        experiment: ExperimentId,
        command: String,
        contents: Contents,
    },
}

/// Whose artifacts matter, where a scorer reads them; nobody's where there is none.
#[derive(Debug, Default)]
pub struct Stakes {
    /// Who tells a scorer that is broken from a candidate that breaks it.
    pub champion: Option<Contents>,
    /// Who may still be champion.
    pub open: Vec<ContentId>,
}

/// What the branch becomes.
#[derive(Debug)]
pub enum Keep {
    Baseline(CommitId),
    Commit(CommitPlan),
}

/// Something that happened outside the loop.
#[derive(Debug)]
pub enum Arrival {
    Proposal {
        experiment: ExperimentId,
        contents: Contents,
        description: String,
        edits: Vec<Edit>,
        took: Millis,
        output: Option<Captured>,
        used: Option<ModelUse>,
    },
    /// A proposal that nobody was asked for.
    Offered {
        experiment: ExperimentId,
        agent: String,
        contents: Contents,
        description: String,
    },
    AttemptFailed {
        experiment: ExperimentId,
        failure: AttemptFailure,
        output: Option<Captured>,
        used: Option<ModelUse>,
    },
    AttemptLost {
        experiment: ExperimentId,
    },
    /// A call to a model is over. It comes before the end of the turn or trial that it belongs to.
    Called(Box<Called>),
    TrialFinished {
        trial: TrialId,
        experiment: ExperimentId,
        measurement: Measurement,
        output: Option<Captured>,
        scorer_output: Option<Captured>,
    },
    TrialLost {
        trial: TrialId,
        experiment: ExperimentId,
        loss: Loss,
    },
    GuardFinished {
        experiment: ExperimentId,
        guard: u32,
        ending: Ending,
        usage: Usage,
        output: Option<Captured>,
    },
    GuardLost {
        experiment: ExperimentId,
        guard: u32,
        loss: Loss,
    },
    SmokeFinished {
        experiment: ExperimentId,
        ending: Ending,
        usage: Usage,
        output: Option<Captured>,
    },
    SmokeLost {
        experiment: ExperimentId,
        loss: Loss,
    },
    BranchAdvanced {
        experiment: ExperimentId,
        from: Option<CommitId>,
        to: CommitId,
    },
    /// A proposal as it is on top of the present champion; nothing where it cannot be put there.
    Restacked {
        experiment: ExperimentId,
        contents: Option<Contents>,
    },
    StopRequested {
        hurry: bool,
    },
    /// A letter lies in the inbox, which is looked into at every turn.
    Letter,
}

/// What was kept of an output, and how long it was in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    pub kept: Vec<u8>,
    pub bytes: u64,
}

/// The engine itself cannot go on. Never counted against a candidate.
#[derive(Debug, Error)]
pub enum Fault {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Keeper(#[from] KeeperError),
    #[error("no room left on the disk that holds {path}: {} MB free, {} MB needed", free / 1_000_000, needed / 1_000_000)]
    Full { path: std::path::PathBuf, free: u64, needed: u64 },
    #[error("{what} changed while the study ran: nothing measured after that can be compared with what was before")]
    Changed { what: String },
    #[error("{what} is missing from the study's state; run `overnight verify`")]
    Lost { what: &'static str },
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl Fault {
    pub(crate) fn lost(what: &'static str) -> Fault {
        Fault::Lost { what }
    }

    pub fn is_full(&self) -> bool {
        match self {
            Fault::Full { .. } => true,
            Fault::Ledger(error) => error.is_full(),
            _ => false,
        }
    }
}
