//! The gateway: every call that an agent, a candidate or a scorer makes of a model passes through here. It alone holds the
//! keys; whose call one is, is said by the listener that it came in by, and never by the call.

pub mod account;
mod busy;
mod counted;
mod door;
mod known;
mod line;
mod mask;
mod peek;
mod plain;
mod record;
mod refuse;
mod resolve;
mod route;
mod serve;
mod stream;
pub mod traces;
mod upstream;

pub use door::{Door, Gateway, Guest, PROXIES, Pass};
pub use known::{Known, known};
pub use plain::Plain;
pub use resolve::{offline, resolve, variables};
pub use serve::{MOST_BODY, Patience};
pub use upstream::{Key, Upstream};

use overnight_model::call::{Call, CallEnd, CallId, CallOutcome, Caller};
use overnight_model::{BlobId, Millis};

/// Where a job with a loopback of its own finds the gateway; it is alone there, so that it is the same for all.
pub const PORT: u16 = 8217;

/// Whether a call may go out, and what it came to.
pub trait Accounts: Send + Sync {
    /// The number of the next call; none is given out twice in a study.
    fn next_id(&self) -> CallId;

    /// Durable before it returns `Ok`: a call that went out is never forgotten. May block; it is called off the streams.
    fn admit(&self, call: &Call) -> Result<(), Refusal>;

    /// Once for every call: those that were admitted, and those that never went out because they were refused, answered out
    /// of a recording, or not recorded. Comes before the job is over whose call it was. May block.
    fn settle(&self, call: &Call, outcome: &CallOutcome);

    /// Whether anything is held back here at all: then it matters how much a call can come to.
    fn is_limited(&self) -> bool {
        false
    }

    /// The key of a provider turned out to be the token of a subscription: what is asked with it is not paid by the call.
    fn subscribed(&self, _provider: &str) {}
}

/// Why a call does not go out: words for the caller, sent in the shape of an error that its client does not try again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub what: String,
    /// The key of the triplet that holds it back, such as `limits.proposal.cost_usd`.
    pub limit: String,
}

/// What is kept of calls.
pub trait Tapes: Send + Sync {
    /// What to do with a call that may go out. `path` is the one that was asked for, with its query and without a key.
    /// May block.
    fn recorded(&self, call: &Call, path: &str, request: &[u8]) -> Recorded;

    /// Whether nothing may go out at all: what is no call, such as a list of models, is refused then.
    fn is_offline(&self) -> bool {
        false
    }

    /// What this caller is told is one run's own: another run is told something else there, and asks the same all the same.
    fn tells(&self, _caller: &Caller, _text: &str, _instead: &str) {}

    /// A key that is used from now on: nothing that is kept may hold it.
    fn hide(&self, _key: &str) {}

    /// Takes a call that is over and gives the name of its trace. Called off the stream, and may block; what is handed to it
    /// is bounded (`Exchange::cut`).
    fn keep(&self, call: &Call, exchange: &Exchange) -> Option<BlobId>;
}

/// Who answers a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// The provider.
    Live,
    /// A recording.
    Answer(Answer),
    /// Nobody: it should have been recorded and was not. The words say what differs from the nearest recording.
    Miss { what: String },
}

/// An answer out of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub content_type: String,
    pub chunks: Vec<Vec<u8>>,
}

/// A call from its first byte to its last, as it was seen from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// With its query, without a key.
    pub path: String,
    pub request: Vec<u8>,
    pub status: Option<u16>,
    pub content_type: String,
    /// The body of the answer as it came, each piece with the time since the call was made.
    pub chunks: Vec<(Millis, Vec<u8>)>,
    /// Whether the answer went on for longer than what is kept of it.
    pub cut: bool,
    pub end: CallEnd,
    /// Whether it was answered out of a recording.
    pub replayed: bool,
}
