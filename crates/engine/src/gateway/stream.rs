//! The body of an answer on its way through: each piece goes on as it comes, and is looked at in passing.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use overnight_model::call::CallEnd;
use tokio::time::{Instant, Sleep};

use super::mask::Mask;
use super::record::Record;

/// What a client is answered.
pub(super) enum Body {
    /// All at once.
    Whole(Option<Bytes>),
    /// As it comes.
    Passing(Box<Passing>),
    /// Out of a recording, without waiting.
    Recorded(VecDeque<Bytes>, Box<Record>),
}

/// An answer that is under way.
pub(super) struct Passing {
    from: Incoming,
    mask: Mask,
    /// `None` for what is no call.
    record: Option<Record>,
    /// How long the provider may be silent.
    patience: Duration,
    /// Rings while it is waited for, and not while a client is slow to take what has come.
    alarm: Pin<Box<Sleep>>,
    is_waited_for: bool,
    is_over: bool,
}

/// Why a stream breaks off; the client sees a connection that is cut.
#[derive(Debug)]
pub(super) struct Broken(&'static str);

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Broken {}

impl Body {
    pub(super) fn whole(bytes: Bytes) -> Body {
        Body::Whole(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }

    pub(super) fn passing(from: Incoming, mask: Mask, record: Option<Record>, patience: Duration) -> Body {
        let alarm = Box::pin(tokio::time::sleep(patience));
        Body::Passing(Box::new(Passing { from, mask, record, patience, alarm, is_waited_for: true, is_over: false }))
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut *self {
            Body::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Body::Passing(passing) => passing.poll(context),
            Body::Recorded(pieces, record) => Poll::Ready(match pieces.pop_front() {
                Some(piece) => {
                    record.hears(&piece);
                    if pieces.is_empty() {
                        record.is_answered();
                    }
                    Some(Ok(Frame::data(piece)))
                }
                None => {
                    record.is_answered();
                    None
                }
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Body::Passing(_) | Body::Recorded(..) => SizeHint::default(),
        }
    }
}

impl Passing {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        loop {
            let Poll::Ready(next) = Pin::new(&mut self.from).poll_frame(context) else {
                if !std::mem::replace(&mut self.is_waited_for, true) {
                    self.alarm.as_mut().reset(Instant::now() + self.patience);
                }
                ready!(self.alarm.as_mut().poll(context));
                return self.breaks("the provider was silent for too long");
            };
            let piece = match next {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.mask.pass(&data),
                    Err(_) => continue,
                },
                Some(Err(_)) => return self.breaks("the provider broke off"),
                None => {
                    self.is_over = true;
                    let rest = self.mask.rest();
                    let record = self.record.as_mut();
                    if let Some(record) = record {
                        if !rest.is_empty() {
                            record.hears(&rest);
                        }
                        record.is_answered();
                    }
                    let last = (!rest.is_empty()).then(|| Ok(Frame::data(rest.into())));
                    return Poll::Ready(last);
                }
            };
            self.is_waited_for = false;
            if !piece.is_empty() {
                if let Some(record) = &mut self.record {
                    record.hears(&piece);
                }
                return Poll::Ready(Some(Ok(Frame::data(piece.into()))));
            }
        }
    }

    fn breaks(&mut self, what: &'static str) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.is_over = true;
        if let Some(record) = &mut self.record {
            record.ends(CallEnd::Broken);
        }
        Poll::Ready(Some(Err(Broken(what))))
    }
}
