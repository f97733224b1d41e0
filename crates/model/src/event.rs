//! Everything that can happen to a study: one closed list, the same in the ledger, in the fold and in the views.

mod trouble;

pub use trouble::{ModelUse, Trouble};

use serde::{Deserialize, Serialize};

use crate::call::account::{Charge, Reached};
use crate::call::bill::Called;
use crate::ending::Ending;
use crate::id::{BlobId, CommitId, ContentId, ExperimentId, Seed, Segment, Slot, TrialId};
use crate::judge::{Estimate, Opinion};
use crate::measure::{Measurement, Output, Usage};
use crate::proposal::SurfaceBlob;
use crate::spec::{Evaluate, Guard, Metric, Surface};
use crate::tuner::Edit;
use crate::units::{Millis, Score, Timestamp};
use crate::verdict::{Reason, Verdict};

/// Something that happened, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub at: Timestamp,
    pub what: What,
}

/// What happened. Names are stored: a changed one needs a new major format, a new one a minor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    StudyOpened {
        study: String,
        seed: u64,
    },
    SegmentOpened(Box<SegmentFacts>),
    RunStarted(RunFacts),
    RunStopped {
        reason: StopReason,
    },
    /// A person asked the run to end: gently, or at once.
    StopRequested {
        hurry: bool,
    },
    /// An agent was asked for a proposal against the champion of this moment.
    Asked {
        experiment: ExperimentId,
        agent: String,
        parent: CommitId,
        /// Why it was its turn, where several could have had it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// The agent was stopped through no fault of its own; it will be asked again.
    AttemptLost {
        experiment: ExperimentId,
    },
    AttemptFailed {
        experiment: ExperimentId,
        failure: AttemptFailure,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Output>,
        /// What a model was asked for it, where its provider says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<ModelUse>,
    },
    Proposed(Proposed),
    /// A model was asked, through the gateway: one for each call, at its end.
    Called(Box<Called>),
    TrialStarted {
        trial: TrialId,
        experiment: ExperimentId,
        purpose: Purpose,
        seed: Seed,
        slot: Slot,
        /// The candidate for whose sake another commit is measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        aid: Option<ExperimentId>,
    },
    TrialFinished {
        trial: TrialId,
        experiment: ExperimentId,
        measurement: Measurement,
    },
    /// The trial says nothing about the candidate and is run again.
    TrialLost {
        trial: TrialId,
        experiment: ExperimentId,
        loss: Loss,
    },
    GuardStarted {
        experiment: ExperimentId,
        guard: u32,
        slot: Slot,
        /// The champion that it is tried on; none where it runs on the experiment itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<ExperimentId>,
        /// Guards may be others in the next run: what was run.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        command: String,
    },
    GuardFinished {
        experiment: ExperimentId,
        guard: u32,
        ending: Ending,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Output>,
    },
    GuardLost {
        experiment: ExperimentId,
        guard: u32,
        loss: Loss,
    },
    /// A quick look whether it can run at all, outside of any slot.
    SmokeStarted {
        experiment: ExperimentId,
        /// The champion that it is tried on; none where it runs on the experiment itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<ExperimentId>,
        command: String,
    },
    SmokeFinished {
        experiment: ExperimentId,
        ending: Ending,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Output>,
    },
    SmokeLost {
        experiment: ExperimentId,
        loss: Loss,
    },
    Judged(Judged),
    /// It crashed at once: whoever made it was asked to repair it.
    RepairAsked {
        experiment: ExperimentId,
        agent: String,
    },
    /// It was repaired, and is measured as it is now.
    Repaired(Proposed),
    /// It was not: the crash stands.
    NotRepaired {
        experiment: ExperimentId,
        failure: AttemptFailure,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Output>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<ModelUse>,
    },
    /// The champion had moved: the proposal was put on the new one, and is measured there.
    Restacked(Proposed),
    /// It could not be: both change the same lines, or the change is already there.
    NotRestacked {
        experiment: ExperimentId,
    },
    /// The champion did not hold what it was kept for: the one before it takes its place again.
    Retracted(Retracted),
    BranchAdvanced {
        experiment: ExperimentId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<CommitId>,
        to: CommitId,
        /// The keep that was taken back by it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retracted: Option<ExperimentId>,
    },
    /// A person's word on a suspect.
    Reviewed(Reviewed),
    /// What another tool recorded was taken in. It is no experiment of this study.
    Imported(Imported),
    /// A person's word to the agents, until it is taken back.
    Said(Said),
    /// A person takes a word back: agents are no longer told.
    TakenBack {
        word: u64,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        letter: String,
    },
    /// A proposal came by letter, and is this experiment.
    Delivered {
        becomes: ExperimentId,
        letter: String,
    },
    /// A proposal came by letter and could not become an experiment.
    Returned {
        letter: String,
        why: String,
    },
    /// Nothing new begins until it is resumed.
    Paused {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        letter: String,
    },
    Resumed {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        letter: String,
    },
    /// Contents were erased on a person's word. What named them stays, and so does the chain.
    Forgotten(Forgotten),
    /// A kind that a later minor format added; readers pass over it.
    #[serde(other)]
    Unknown,
}

impl What {
    /// The experiment it belongs to, where it belongs to one.
    pub fn experiment(&self) -> Option<ExperimentId> {
        match self {
            What::Asked { experiment, .. }
            | What::AttemptLost { experiment }
            | What::AttemptFailed { experiment, .. }
            | What::Proposed(Proposed { experiment, .. })
            | What::Restacked(Proposed { experiment, .. })
            | What::RepairAsked { experiment, .. }
            | What::Repaired(Proposed { experiment, .. })
            | What::NotRepaired { experiment, .. }
            | What::NotRestacked { experiment }
            | What::Retracted(Retracted { experiment, .. })
            | What::TrialStarted { experiment, .. }
            | What::TrialFinished { experiment, .. }
            | What::TrialLost { experiment, .. }
            | What::GuardStarted { experiment, .. }
            | What::GuardFinished { experiment, .. }
            | What::GuardLost { experiment, .. }
            | What::SmokeStarted { experiment, .. }
            | What::SmokeFinished { experiment, .. }
            | What::SmokeLost { experiment, .. }
            | What::Judged(Judged { experiment, .. })
            | What::Reviewed(Reviewed { experiment, .. })
            | What::BranchAdvanced { experiment, .. } => Some(*experiment),
            What::Called(called) => Some(called.call.caller.experiment()),
            What::StudyOpened { .. }
            | What::SegmentOpened(_)
            | What::RunStarted(_)
            | What::RunStopped { .. }
            | What::StopRequested { .. }
            | What::Imported(_)
            | What::Said(_)
            | What::TakenBack { .. }
            // Filed with what belongs to no experiment, where it is found by its letter.
            | What::Delivered { .. }
            | What::Returned { .. }
            | What::Paused { .. }
            | What::Resumed { .. }
            | What::Forgotten(_)
            | What::Unknown => None,
        }
    }

    /// What an experiment became: as it was proposed, repaired or put on another champion.
    pub fn made(&self) -> Option<&Proposed> {
        match self {
            What::Proposed(proposed) | What::Restacked(proposed) | What::Repaired(proposed) => Some(proposed),
            _ => None,
        }
    }

    /// Every blob it names.
    pub fn blobs(&self) -> Vec<&BlobId> {
        match self {
            What::SegmentOpened(facts) => facts.contents.iter().map(|file| &file.blob).collect(),
            What::Proposed(proposed) | What::Restacked(proposed) | What::Repaired(proposed) => {
                let mut blobs: Vec<_> = proposed.surface.iter().map(|file| &file.blob).collect();
                blobs.extend(output_blob(&proposed.output));
                blobs
            }
            What::AttemptFailed { output: found, .. }
            | What::NotRepaired { output: found, .. }
            | What::GuardFinished { output: found, .. }
            | What::SmokeFinished { output: found, .. } => output_blob(found),
            What::TrialFinished { measurement, .. } => {
                let mut blobs = output_blob(&measurement.output);
                blobs.extend(measurement.scorer.iter().flat_map(|scorer| output_blob(&scorer.output)));
                blobs
            }
            What::Imported(imported) => vec![&imported.entries],
            _ => Vec::new(),
        }
    }
}

fn output_blob(output: &Option<Output>) -> Vec<&BlobId> {
    output.iter().map(|output| &output.blob).collect()
}

/// What stays the same for a whole segment; nothing is compared across a change of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SegmentFacts {
    pub segment: Segment,
    pub baseline: CommitId,
    pub surface: Surface,
    pub contents: Vec<SurfaceBlob>,
    pub metric: Metric,
    pub evaluate: Evaluate,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<Guard>,
    /// How far the number can be trusted.
    pub assurance: String,
    /// What the machine enforces while the number is made.
    pub sandbox: String,
    /// What the inputs held, in one short name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<String>,
    /// The experiment that is its baseline; that of the first segment is 0.
    #[serde(default = "first_baseline", skip_serializing_if = "is_first_baseline")]
    pub experiment: ExperimentId,
    /// What came over from the segment before, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<Carried>,
    /// What the surface is, layout and comments aside, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<ContentId>,
    /// The tokens of its code, comments aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl SegmentFacts {
    /// What is said of a level of trust where calls of the evaluation were answered out of a recording.
    pub const REPLAYED: &str = ", replayed";

    /// Whether its numbers come of recorded answers: no measurements, and equal ones are equal for that reason.
    pub fn is_replayed(&self) -> bool {
        self.assurance.ends_with(SegmentFacts::REPLAYED)
    }
}

/// What a segment takes over from the one before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// What changed, in words.
    pub changed: String,
    /// The champion's surface as an experiment of this segment; none where the champion was the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<ExperimentId>,
}

fn first_baseline() -> ExperimentId {
    ExperimentId::BASELINE
}

fn is_first_baseline(id: &ExperimentId) -> bool {
    id.is_baseline()
}

/// The start of one run of the engine. Whatever was in flight before it is lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    pub run: u64,
    pub scope: Scope,
    pub slots: u32,
    pub version: String,
    pub pid: u32,
    /// Which boot of the machine this was: monotonic times mean nothing across two.
    pub boot: String,
    pub containment: String,
    /// The tier that this run had.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sandbox: String,
    /// The agent's program with its version, where it is one that is known by name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The agents that can ask a model through the gateway alone, or none at all; `None` where nobody counted calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metered: Option<Vec<String>>,
}

/// How much a run is meant to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The loop, until a limit or so many verdicts.
    Loop { experiments: Option<u64> },
    /// One proposal of a person, to its verdict.
    One,
    /// Proposals that came by letter, each to its verdict, until none is left. Nobody is asked.
    Letters,
}

/// A proposal that was taken: what the surface becomes, and whose idea it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposed {
    pub experiment: ExperimentId,
    pub agent: String,
    pub parent: CommitId,
    pub commit: CommitId,
    /// The commit's own time in seconds, so that it can be made again bit for bit.
    pub commit_time: i64,
    pub description: String,
    pub content: ContentId,
    pub surface: Vec<SurfaceBlob>,
    /// What the surface is, layout and comments aside, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<ContentId>,
    /// The tokens of its code, comments aside; unknown where something that is no code was changed too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Nothing but numbers that seed something was changed: another draw, and no other program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reseeds: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edit>,
    #[serde(default)]
    pub took: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// What a model was asked for it, where its provider says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<ModelUse>,
}

/// Why an agent's turn gave nothing to try.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptFailure {
    NoChange,
    Error {
        what: String,
        /// What kind of error, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trouble: Option<Trouble>,
    },
    /// It broke a rule: this one counts, and nothing of it is run.
    Policy {
        what: String,
    },
    /// It has no further idea, and asking again would give the same answer.
    Exhausted {
        what: String,
    },
}

/// What a trial is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Baseline,
    Screen,
    Confirm,
    Remeasure,
    /// The champion once more: whether its level is still what it was.
    Sentinel,
    /// Champion and baseline in turns, at the end of a night: how large the gain really is.
    Close,
    /// Whether the champion still runs, after many in a row did not. It says nothing about a level.
    Check,
}

/// Why a trial says nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Ended with the engine, or stopped by a person.
    Interrupted,
    /// The machine slept in the middle of it.
    Suspended,
    /// Our own fault; three in a row end the experiment as `engine_error`.
    Fault { what: String },
}

/// The end of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    pub experiment: ExperimentId,
    pub verdict: Verdict,
    pub reason: Reason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Score>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// What the judge thought of it in the end, where the metric is noisy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opinion: Option<Opinion>,
}

/// A keep that is taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Retracted {
    pub experiment: ExperimentId,
    pub reason: Reason,
    /// Its gain over the champion before it, as it is known by now.
    pub estimate: Estimate,
}

/// What a person said of a suspect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    pub experiment: ExperimentId,
    /// `kept` or `discarded`.
    pub verdict: Verdict,
    /// In the person's own words, where there are any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// What a person said to whoever makes proposals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The number by which it is taken back, counted from 1.
    pub word: u64,
    pub text: String,
    /// The letter that brought it: one that is found again after a crash is not a second one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub letter: String,
}

/// A history that another tool kept: claims, none of which was measured here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// The name of the file.
    pub source: String,
    pub format: String,
    /// The SHA-256 of the file, so that it is not taken in twice.
    pub sha256: String,
    /// Its entries, one to a line: see `history::Entry`.
    pub entries: BlobId,
    pub rows: u64,
    /// What it calls its metric, where it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
}

/// What was erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    /// In words: `the traces of experiment 3`.
    pub what: String,
    /// How many traces there were of it.
    #[serde(default)]
    pub traces: u64,
    /// Contents that earlier events name and that are no longer there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blobs: Vec<BlobId>,
    /// The experiments whose contents those are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub experiments: Vec<ExperimentId>,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum StopReason {
    /// It did what it was asked to do.
    Done,
    Target {
        level: f64,
    },
    NightWall,
    NightExperiments,
    TotalWall,
    TotalExperiments,
    NoGain,
    /// What calls to models may come to is spent, or not enough is left for another one.
    Spent {
        reached: Reached,
        spent: Charge,
    },
    /// Another model answered than the one that was asked.
    OtherModel {
        asked: String,
        answered: String,
    },
    FailedAttempts {
        in_a_row: u32,
        last: String,
    },
    NothingToTry {
        what: String,
    },
    BaselineFailed {
        verdict: Verdict,
        reason: Reason,
    },
    EngineErrors {
        last: String,
    },
    /// What ran before no longer does: something broke around the study, and every idea would be lost on it.
    ChampionFailed {
        verdict: Verdict,
        reason: Reason,
    },
    /// A guard fails on the champion too: something broke around the study, and every idea would be refused for it.
    GuardBroken {
        command: String,
        ending: Ending,
    },
    Interrupted,
    /// The engine itself could not go on.
    Fault {
        what: String,
    },
}

impl StopReason {
    /// Whether it did what it was asked to do, or came to a limit that a person set.
    pub fn is_planned(&self) -> bool {
        match self {
            StopReason::Done
            | StopReason::Target { .. }
            | StopReason::NightWall
            | StopReason::NightExperiments
            | StopReason::TotalWall
            | StopReason::TotalExperiments
            | StopReason::NoGain
            | StopReason::Spent { .. } => true,
            StopReason::FailedAttempts { .. }
            | StopReason::NothingToTry { .. }
            | StopReason::OtherModel { .. }
            | StopReason::BaselineFailed { .. }
            | StopReason::EngineErrors { .. }
            | StopReason::ChampionFailed { .. }
            | StopReason::GuardBroken { .. }
            | StopReason::Interrupted
            | StopReason::Fault { .. } => false,
        }
    }
}
