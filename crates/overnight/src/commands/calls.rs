//! The calls of an experiment: their traces, and what the ledger knows of them.

use overnight_engine::gateway::traces::{Found, Store};
use overnight_engine::ledger::Reader;
use overnight_engine::load::Site;
use overnight_model::call::bill::Called;
use overnight_model::call::{CallEnd, CallId, Tokens};
use overnight_model::{BlobId, ExperimentId, What};

use crate::error::Outcome;

/// A call, as far as it is known.
pub(crate) struct Known {
    pub(crate) call: CallId,
    /// Its trace; none where nothing was kept of it.
    pub(crate) id: Option<BlobId>,
    pub(crate) found: Found,
    /// What came of it; none where the ledger does not know it.
    pub(crate) called: Option<Called>,
    /// Which turn of its agent it belongs to, counted from 1: one that is stopped, or whose candidate crashes, has another.
    pub(crate) turn: usize,
}

impl Known {
    pub(crate) fn tokens(&self) -> Option<&Tokens> {
        self.called.as_ref().map(|called| &called.outcome.tokens)
    }

    pub(crate) fn cost_usd(&self) -> Option<f64> {
        self.called.as_ref().and_then(|called| called.cost_usd)
    }
}

/// Every call of an experiment, in their order: those that the ledger knows, and those that it does not, because the engine
/// was killed before it had written them down.
pub(crate) fn of(site: &Site, reader: &Reader, experiment: ExperimentId) -> Outcome<Vec<Known>> {
    let store = Store::find(&site.state())?;
    let get = |id: &BlobId| match &store {
        Some(store) => store.get(id),
        None => Ok(Found::Gone),
    };
    let mut known: Vec<Known> = Vec::new();
    let mut turns = Vec::new();
    for stored in reader.events_of(experiment)? {
        let called = match stored.event.what {
            What::Called(called) => called,
            What::Asked { .. } | What::RepairAsked { .. } => {
                turns.push(stored.event.at);
                continue;
            }
            _ => continue,
        };
        let id = called.outcome.trace.clone();
        let found = id.as_ref().map_or(Ok(Found::Gone), get)?;
        known.push(Known { call: called.call.id, id, found, called: Some(*called), turn: turns.len().max(1) });
    }
    for id in store.iter().map(|store| store.of(experiment)).collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
        if known.iter().any(|call| call.id.as_ref() == Some(&id)) {
            continue;
        }
        match get(&id)? {
            Found::Whole(trace) => {
                let turn = turns.iter().filter(|asked| **asked <= trace.at).count().max(1);
                let call = trace.call.id;
                known.push(Known { call, id: Some(id), found: Found::Whole(trace), called: None, turn });
            }
            found => known.push(Known { call: CallId(0), id: Some(id), found, called: None, turn: 1 }),
        }
    }
    known.sort_by_key(|call| call.call);
    Ok(known)
}

/// `100 tokens read (90 cached), 10 written · $0.0012`
pub(crate) fn spent(tokens: Option<&Tokens>, cost_usd: Option<f64>) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(tokens) = tokens {
        let read = tokens.input.map(|input| input + tokens.cached.unwrap_or(0) + tokens.written.unwrap_or(0));
        let of = |count: Option<u64>, what: &str| {
            count.filter(|count| *count > 0).map_or_else(String::new, |count| format!(" ({count} {what})"))
        };
        let read = read.map(|read| format!("{read} tokens read{}", of(tokens.cached, "cached")));
        let written = tokens.output.map(|written| format!("{written} written{}", of(tokens.reasoning, "reasoning")));
        let both: Vec<String> = read.into_iter().chain(written).collect();
        parts.extend((!both.is_empty()).then(|| both.join(", ")));
    }
    parts.extend(cost_usd.map(|cost| format!("${cost:.4}")));
    parts
}

pub(crate) fn trouble(end: CallEnd) -> Option<&'static str> {
    match end {
        CallEnd::Answered | CallEnd::Refused => None,
        CallEnd::Unreached => Some("the provider was not reached"),
        CallEnd::Broken => Some("broken off by the provider"),
        CallEnd::HungUp => Some("the caller hung up"),
        CallEnd::Limited => Some("held back by a limit"),
        CallEnd::NotRecorded => Some("not recorded"),
        CallEnd::Lost => Some("the engine died in the middle of it"),
    }
}
