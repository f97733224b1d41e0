//! Calls: what a model was asked through the gateway, by whom, and what came of it.

pub mod account;
pub mod bill;
pub mod price;
pub mod usage;

use serde::{Deserialize, Serialize};

use crate::event::Trouble;
use crate::id::{BlobId, ExperimentId, TrialId};
use crate::units::Millis;

/// The number of a call within its study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub u64);

/// The language in which a provider is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Anthropic's `/v1/messages`.
    Messages,
    /// OpenAI's `/v1/chat/completions`, and what is compatible with it.
    Chat,
    /// OpenAI's `/v1/responses`.
    Responses,
    /// Google's `:generateContent` and `:streamGenerateContent`.
    Gemini,
}

impl Protocol {
    pub const ALL: [Protocol; 4] = [Protocol::Messages, Protocol::Chat, Protocol::Responses, Protocol::Gemini];

    /// The name in the triplet, in records and on screens.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Messages => "messages",
            Protocol::Chat => "chat",
            Protocol::Responses => "responses",
            Protocol::Gemini => "gemini",
        }
    }
}

/// Who asks. The listener that a call came in by says so, never the call itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Caller {
    /// An agent that makes a proposal; its attempt has the number of the experiment that it would be.
    Agent { name: String, experiment: ExperimentId },
    /// Candidate code that asks a model while it is evaluated.
    Task { trial: TrialId, experiment: ExperimentId },
    /// The scorer of a trial.
    Scorer { trial: TrialId, experiment: ExperimentId },
}

/// What is known of a call before it goes out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub id: CallId,
    pub caller: Caller,
    /// Which of the providers that a person set up, by its name.
    pub provider: String,
    pub protocol: Protocol,
    /// The model that was asked for.
    pub model: String,
    /// How long the request is: no more tokens than this can be in it.
    pub bytes: u64,
    /// The most tokens that it can be, where its provider has counted most of it before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_input: Option<u64>,
    /// The most that an answer may be long, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_output: Option<u64>,
    /// How many answers it wants at once: each is paid.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub answers: u64,
    /// It asks to be served otherwise than usual, at another price: `priority`, `flex`, `fast`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
}

fn one() -> u64 {
    1
}

fn is_one(count: &u64) -> bool {
    *count == 1
}

/// Tokens as the provider counts them. What it does not say is not known, and never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tokens {
    /// Read at the full price: those below are not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Read out of a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Written into a cache, where that has a price of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
    /// Those among them that stay for an hour, which is dearer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_hour: Option<u64>,
    /// Written, those of its reasoning among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    /// Answered to the end.
    Answered,
    /// The provider said no: its status says why.
    Refused,
    /// The provider said nothing for too long, or broke off.
    Broken,
    /// The provider was not reached: nothing of it went out.
    Unreached,
    /// The caller hung up, or its time was over.
    HungUp,
    /// A limit was reached: it never went out.
    Limited,
    /// Nothing like it was recorded: it never went out.
    NotRecorded,
    /// The engine died in the middle of it.
    Lost,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallOutcome {
    pub end: CallEnd,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Who answered, by the provider's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub tokens: Tokens,
    /// What was wrong at the provider, and when it wants to be asked again, where it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// Answered out of a recording: nobody was asked, and nothing was paid.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    pub wall: Millis,
    /// Until the first byte of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<Millis>,
    /// Its trace, in the store of traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<BlobId>,
}
