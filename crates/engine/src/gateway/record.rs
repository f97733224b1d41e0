//! One call from its first byte to its last: what is learned of it on the way, and handed to the clerk when it is over,
//! whatever ended it.

use std::sync::{Arc, mpsc};

use bytes::Bytes;
use overnight_model::Millis;
use overnight_model::call::price::is_same_model;
use overnight_model::call::usage::{Meter, Metered};
use overnight_model::call::{Call, CallEnd, CallOutcome};
use tokio::sync::OwnedSemaphorePermit;

use super::busy::Busy;
use super::counted::{Counted, Sketch};
use super::{Accounts, Exchange, Tapes};
use crate::clock::Stopwatch;

/// What is kept of an answer: more than any model writes in one.
pub(super) const KEPT: usize = 16 * 1024 * 1024;
/// What a piece costs beside its bytes.
const PIECE: usize = 64;

/// A call under way. Dropped before its end is known, its caller has hung up.
pub(super) struct Record {
    pub(super) call: Call,
    pub(super) end: Option<CallEnd>,
    /// Whether anybody knows of it: one that nobody was told of leaves nothing.
    pub(super) is_known: bool,
    pub(super) is_replayed: bool,
    /// What its provider counts is worth knowing for the calls after it.
    pub(super) counted: Option<(Arc<Counted>, Sketch)>,
    path: String,
    request: Bytes,
    status: Option<u16>,
    content_type: String,
    is_stream: bool,
    meter: Option<Meter>,
    chunks: Vec<(Millis, Vec<u8>)>,
    kept: usize,
    cut: bool,
    watch: Stopwatch,
    clerk: mpsc::Sender<Closed>,
    /// Gone when the call is settled, and not before.
    hold: Option<Hold>,
}

/// What is given back once a call is settled.
pub(super) struct Hold {
    pub(super) _busy: Busy,
    pub(super) _memory: Option<OwnedSemaphorePermit>,
}

/// A call that is over.
pub(super) struct Closed {
    call: Call,
    outcome: CallOutcome,
    exchange: Exchange,
    _hold: Option<Hold>,
}

impl Record {
    pub(super) fn new(call: Call, path: String, request: Bytes, clerk: mpsc::Sender<Closed>, hold: Hold) -> Record {
        Record {
            call,
            end: None,
            is_known: false,
            is_replayed: false,
            counted: None,
            path,
            request,
            status: None,
            content_type: String::new(),
            is_stream: false,
            meter: None,
            chunks: Vec::new(),
            kept: 0,
            cut: false,
            watch: Stopwatch::start(),
            clerk,
            hold: Some(hold),
        }
    }

    /// The path that was asked for, with its query.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn request(&self) -> &Bytes {
        &self.request
    }

    /// The head of the answer.
    pub(super) fn begins(&mut self, status: u16, content_type: &str) {
        self.status = Some(status);
        self.content_type = content_type.to_owned();
        self.is_stream = content_type.starts_with("text/event-stream");
        self.meter = Some(Meter::new(self.call.protocol, self.is_stream));
    }

    /// A piece of the answer.
    pub(super) fn hears(&mut self, piece: &[u8]) {
        if let Some(meter) = &mut self.meter {
            meter.feed(piece);
        }
        if self.kept + piece.len() + PIECE > KEPT {
            self.cut = true;
        }
        if !self.cut {
            self.kept += piece.len() + PIECE;
            self.chunks.push((self.elapsed(), piece.to_vec()));
        }
    }

    /// The answer is over.
    pub(super) fn ends(&mut self, end: CallEnd) {
        self.end.get_or_insert(end);
    }

    /// The provider has said all that it wanted to say.
    pub(super) fn is_answered(&mut self) {
        let is_good = self.status.is_some_and(|status| (200..300).contains(&status));
        self.ends(if is_good { CallEnd::Answered } else { CallEnd::Refused });
    }

    fn elapsed(&self) -> Millis {
        Millis(u64::try_from(self.watch.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if !self.is_known {
            return;
        }
        let mut end = self.end.unwrap_or(CallEnd::HungUp);
        let Metered { tokens, model, is_whole, .. } = self.meter.take().map(Meter::finish).unwrap_or_default();
        // A connection that is simply closed looks like an end to whoever counts no bytes.
        if end == CallEnd::Answered && self.is_stream && !is_whole {
            end = CallEnd::Broken;
        }
        // Another model counts in another way.
        let is_as_asked = model.as_ref().is_none_or(|model| is_same_model(&self.call.model, model));
        if let Some((counted, sketch)) = self.counted.take().filter(|_| end == CallEnd::Answered && is_as_asked) {
            counted.learn(sketch, &tokens);
        }
        let outcome = CallOutcome {
            end,
            status: self.status,
            model,
            tokens,
            replayed: self.is_replayed,
            wall: self.elapsed(),
            first_byte: self.chunks.first().map(|(at, _)| *at),
            trace: None,
        };
        let exchange = Exchange {
            path: std::mem::take(&mut self.path),
            request: std::mem::take(&mut self.request).into(),
            status: self.status,
            content_type: std::mem::take(&mut self.content_type),
            chunks: std::mem::take(&mut self.chunks),
            cut: self.cut,
            end,
            replayed: self.is_replayed,
        };
        let closed = Closed { call: self.call.clone(), outcome, exchange, _hold: self.hold.take() };
        // The clerk outlives every call.
        let _ = self.clerk.send(closed);
    }
}

/// The clerk's work: one call after another, off every stream.
pub(super) fn settle_all(calls: mpsc::Receiver<Closed>, accounts: &Arc<dyn Accounts>, tapes: &Arc<dyn Tapes>) {
    for Closed { call, mut outcome, exchange, _hold } in calls {
        outcome.trace = tapes.keep(&call, &exchange);
        accounts.settle(&call, &outcome);
    }
}
