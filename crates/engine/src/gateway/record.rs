//! One call from its first byte to its last: what is learned of it on the way, and handed to the clerk when it is over,
//! whatever ended it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use bytes::Bytes;
use hyper::header::HeaderMap;
use overnight_model::Millis;
use overnight_model::call::price::is_same_model;
use overnight_model::call::usage::{Meter, Metered};
use overnight_model::call::{Call, CallEnd, CallOutcome};
use overnight_model::event::Trouble;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::busy::Busy;
use super::counted::{Counted, Sketch};
use super::{Accounts, Exchange, Tapes};
use crate::agent::api::{Answered, trouble_of};
use crate::clock::{self, Stopwatch};

/// What is kept of an answer: more than any model writes in one.
pub(super) const KEPT: usize = 16 * 1024 * 1024;
/// What is kept of all answers together, from their first byte until they are settled, in KiB: of what comes when that is
/// taken, the rest is passed on and not kept.
const KEPT_IN_ALL: usize = 256 * 1024;
/// What a piece costs beside its bytes.
const PIECE: usize = 64;
/// So many KiB are taken at once, so that not every piece has to ask.
const STEP: usize = 64;
/// What an error says of itself is short.
const ERROR: usize = 64 * 1024;

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
    /// Of an answer that is none.
    headers: Vec<(String, String)>,
    meter: Option<Meter>,
    chunks: Vec<(Millis, Vec<u8>)>,
    kept: usize,
    cut: bool,
    /// Room for what is kept, and what was taken of it.
    shelf: Arc<Semaphore>,
    room: Option<OwnedSemaphorePermit>,
    watch: Stopwatch,
    clerk: mpsc::Sender<Closed>,
    /// Gone when the call is settled, and not before.
    hold: Option<Hold>,
}

/// What is given back once a call is settled.
pub(super) struct Hold {
    pub(super) _busy: Busy,
    pub(super) _memory: Option<OwnedSemaphorePermit>,
    /// How many calls of the job came to nothing so far.
    pub(super) in_vain: Arc<AtomicU64>,
}

/// Room for all answers that are kept at the same time.
pub(super) fn shelf() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(KEPT_IN_ALL))
}

/// A call that is over.
pub(super) struct Closed {
    call: Call,
    outcome: CallOutcome,
    exchange: Exchange,
    _hold: Option<Hold>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Record {
    pub(super) fn new(
        call: Call,
        (path, request): (String, Bytes),
        clerk: mpsc::Sender<Closed>,
        shelf: Arc<Semaphore>,
        hold: Hold,
    ) -> Record {
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
            headers: Vec::new(),
            meter: None,
            chunks: Vec::new(),
            kept: 0,
            cut: false,
            shelf,
            room: None,
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
    pub(super) fn begins(&mut self, status: u16, content_type: &str, headers: &HeaderMap) {
        self.status = Some(status);
        if !(200..300).contains(&status) {
            let text =
                headers.iter().filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
            self.headers = text.collect();
        }
        self.content_type = content_type.to_owned();
        self.is_stream = content_type.starts_with("text/event-stream");
        self.meter = Some(Meter::new(self.call.protocol, self.is_stream));
    }

    /// A piece of the answer.
    pub(super) fn hears(&mut self, piece: &[u8]) {
        if let Some(meter) = &mut self.meter {
            meter.feed(piece);
        }
        let needed = self.kept + piece.len() + PIECE;
        if !self.cut && (needed > KEPT || !self.has_room(needed)) {
            self.cut = true;
        }
        if !self.cut {
            self.kept = needed;
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

    /// Whether so many bytes may be kept of this one. Nobody waits for it.
    fn has_room(&mut self, needed: usize) -> bool {
        let had = self.room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = needed.div_ceil(1024).saturating_sub(had);
        if more == 0 {
            return true;
        }
        let Ok(permit) = self.shelf.clone().try_acquire_many_owned(more.max(STEP) as u32) else { return false };
        match &mut self.room {
            Some(room) => room.merge(permit),
            none => *none = Some(permit),
        }
        true
    }

    /// What was wrong at the provider, as far as that is known from here.
    fn trouble(&mut self, end: CallEnd) -> Option<Trouble> {
        match end {
            CallEnd::Unreached | CallEnd::Broken => Some(Trouble::Outage),
            CallEnd::Refused => {
                let body = self.chunks.iter().flat_map(|(_, bytes)| bytes).copied().take(ERROR).collect();
                let (status, headers) = (self.status?, std::mem::take(&mut self.headers));
                let found = trouble_of(&Answered { status, headers, body }, clock::now());
                found.filter(|trouble| *trouble != Trouble::Other)
            }
            _ => None,
        }
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
        let Metered { tokens, model, is_whole, .. } = self.meter.take().map(Meter::finish).unwrap_or_default();
        let is_well = self.status.is_some_and(|status| (200..300).contains(&status));
        let mut end = match self.end {
            Some(end) => end,
            // Who has heard the last word of an answer may leave before its connection is closed.
            None if self.is_stream && is_whole && is_well => CallEnd::Answered,
            None => CallEnd::HungUp,
        };
        // A connection that is simply closed looks like an end to whoever counts no bytes.
        if end == CallEnd::Answered && self.is_stream && !is_whole {
            end = CallEnd::Broken;
        }
        if let Some(hold) = self.hold.as_ref().filter(|_| end != CallEnd::Answered) {
            hold.in_vain.fetch_add(1, Ordering::Relaxed);
        }
        let trouble = self.trouble(end);
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
            trouble,
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
        let (_hold, _room) = (self.hold.take(), self.room.take());
        let closed = Closed { call: self.call.clone(), outcome, exchange, _hold, _room };
        // The clerk outlives every call.
        let _ = self.clerk.send(closed);
    }
}

/// The clerk's work: one call after another, off every stream.
pub(super) fn settle_all(calls: mpsc::Receiver<Closed>, accounts: &Arc<dyn Accounts>, tapes: &Arc<dyn Tapes>) {
    for Closed { call, mut outcome, exchange, _hold, _room } in calls {
        outcome.trace = tapes.keep(&call, &exchange);
        accounts.settle(&call, &outcome);
    }
}

#[cfg(test)]
mod tests {
    use overnight_model::ExperimentId;
    use overnight_model::call::{CallId, Caller, Protocol};

    use super::*;
    use crate::gateway::busy::Count;

    fn record(clerk: &mpsc::Sender<Closed>, shelf: &Arc<Semaphore>) -> Record {
        let call = Call {
            id: CallId(1),
            caller: Caller::Agent { name: "a".into(), experiment: ExperimentId(1) },
            provider: "p".into(),
            protocol: Protocol::Chat,
            model: "m".into(),
            bytes: 1,
            most_output: None,
            most_input: None,
            tier: None,
            answers: 1,
        };
        let hold = Hold { _busy: Count::default().begin(), _memory: None, in_vain: Arc::default() };
        let mut record = Record::new(call, (String::new(), Bytes::new()), clerk.clone(), shelf.clone(), hold);
        record.is_known = true;
        record
    }

    #[test]
    fn who_leaves_after_the_last_word_was_answered_and_who_leaves_before_it_has_hung_up() {
        let (clerk, closed) = mpsc::channel();
        let end = |status: u16, pieces: &[&str]| {
            let mut record = record(&clerk, &shelf());
            record.begins(status, "text/event-stream", &HeaderMap::new());
            pieces.iter().for_each(|piece| record.hears(piece.as_bytes()));
            drop(record);
            closed.recv().unwrap().outcome.end
        };
        let (said, done) = ("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", "data: [DONE]\n\n");
        assert_eq!(end(200, &[said, done]), CallEnd::Answered);
        assert_eq!(end(200, &[said]), CallEnd::HungUp);
        assert_eq!(end(500, &[said, done]), CallEnd::HungUp);
    }

    #[test]
    fn what_is_kept_of_all_answers_together_has_a_limit_and_is_free_again_when_they_are_settled() {
        let (clerk, closed) = mpsc::channel();
        let room = 4 * STEP;
        let shelf = Arc::new(Semaphore::new(room));
        let (mut one, mut two, mut three) = (record(&clerk, &shelf), record(&clerk, &shelf), record(&clerk, &shelf));
        let piece = [b'x'; 1000];
        // A hundred and seventy-seven KiB of two hundred and fifty-six.
        (0..170).for_each(|_| one.hears(&piece));
        two.hears(&piece);
        three.hears(&piece);
        assert!(!one.cut && !two.cut && three.cut, "the third came too late");
        (0..1000).for_each(|_| one.hears(&piece));
        assert!(one.cut, "there is no room for more");
        drop((one, two, three));
        let closed: Vec<Closed> = closed.try_iter().collect();
        let bytes = |closed: &Closed| closed.exchange.chunks.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        assert!(closed.iter().map(bytes).sum::<usize>() <= room * 1024);
        assert!(bytes(&closed[0]) >= 170_000 && closed[0].exchange.cut);
        assert!(shelf.available_permits() < room, "it is taken until it is settled");
        drop(closed);
        assert_eq!(shelf.available_permits(), room);
    }
}
