//! The version of the stored format.

use std::fmt;

/// `major.minor` of what is stored.
///
/// A minor version may add kinds of events and fields, which older readers pass over. A major one is
/// read by nobody older and never written by them; old shapes are lifted on reading.
///
/// - 1.0: events as tagged JSON, chained by SHA-256; rows and summary as projections.
/// - 1.1: `evaluate` may hold `score`, `hidden`, `inputs`, `prepare`, `network` and `warm`; a measurement `claim` and
///   `scorer`, and the problems `artifacts` and `scorer`; more ways for a command to end. A trial may be a `check` of
///   the champion, and a run may end with `champion_failed`.
/// - 1.2: a segment may follow another: it has a baseline of its own, and may carry the champion over.
/// - 1.2: `imported`, with the rows it brought in the summary; an index of the events that belong to no experiment.
/// - 1.3: a guard says what was run, and may be tried on the champion; a run may end with `guard_broken`; `flaky` in the
///   summary. `reviewed`, a person's word on a suspect, with the reason `person`.
/// - 1.3: a proposal may hold `form`, `tokens` and `reseeds`, a segment `form` and `tokens`; the reasons
///   `same_as_champion` and `same_as` may be `in_form`.
/// - 1.4: a proposal may hold `edits`; one of them may choose among texts, and not among numbers alone.
/// - 1.5: a failed attempt may say what kind of `trouble` it was, a run which version of its `agent` it had. `said` and
///   `taken_back`: a person's words to the agents.
/// - 1.6: `delivered` and `returned`: what became of proposals that came by letter; a run may be for `letters`. `paused`
///   and `resumed`, with `paused` in the summary. A proposal and a failed attempt may say what a model was `used` for them;
///   `malformed` is a kind of trouble. `evaluate` may hold `smoke`; `smoke_started`, `smoke_finished` and `smoke_lost`, with
///   the reason `smoke`. `repair_asked`, `repaired` and `not_repaired`.
/// - 1.7: `called`, one for each call to a model; a row has its cost, the summary its `costs`. A run says which agents are
///   `metered`, `asked` may say `why` it was somebody's turn, and what a model was `used` for may have a cost. A run may end
///   with `spent` or `other_model`; `limit` is a kind of trouble. What came of a call may say what `trouble` its provider had.
///   `forgotten`: what was erased on request. A measurement may be `replayed`, and so may a segment's `assurance`.
/// - 1.8: `forgotten` may name `experiments` whose contents are no longer there. A call may say how many tokens it can be at
///   most, and how it wants to be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FormatVersion {
    pub major: u32,
    pub minor: u32,
}

impl FormatVersion {
    pub const CURRENT: FormatVersion = FormatVersion { major: 1, minor: 8 };

    pub(super) fn parse(text: &str) -> Option<FormatVersion> {
        let (major, minor) = text.split_once('.')?;
        Some(FormatVersion { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }

    /// Whether this version of the engine may add events to a ledger of that format.
    pub fn is_writable(self) -> bool {
        // A newer minor may hold events that this version passes over; what it folded would be wrong to build on.
        self.major == Self::CURRENT.major && self <= Self::CURRENT
    }
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
