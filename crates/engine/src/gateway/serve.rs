//! One request after another at a door: looked into, admitted, passed on, and its answer passed back.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use overnight_model::call::{Call, CallEnd, Caller, Protocol};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::busy::Count;
use super::counted::{Counted, Sketch};
use super::line::Line;
use super::mask::Mask;
use super::peek::{Peek, peek};
use super::record::{Closed, Hold, Record};
use super::refuse::refuse;
use super::route::{Route, Target, key_in, route, without_key};
use super::stream::Body;
use super::{Accounts, Recorded, Tapes, Upstream};

/// No request of an agent is larger: it would be eight million tokens.
pub const MOST_BODY: usize = 32 * 1024 * 1024;
/// What all requests at one door may take of memory until they are settled, in KiB.
const MEMORY: u32 = 128 * 1024;
/// How long to wait before a connection is tried again that was not made.
const AGAIN: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];
/// Calls of one job that came to nothing and are written down all the same. One that is refused costs its caller no time:
/// without an end to it, a job would fill the ledger.
pub(super) const MOST_IN_VAIN: u64 = 10_000;

/// How long anybody is waited for.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For the head of a request.
    pub head: Duration,
    /// For all of its body.
    pub body: Duration,
    /// For the head of an answer: a model may think before it says the first word.
    pub first_byte: Duration,
    /// For the next piece of it.
    pub idle: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            head: Duration::from_secs(30),
            body: Duration::from_secs(60),
            first_byte: Duration::from_secs(600),
            idle: Duration::from_secs(300),
        }
    }
}

/// What all doors have in common.
pub(super) struct Hall {
    pub(super) line: Line,
    pub(super) accounts: Arc<dyn Accounts>,
    pub(super) tapes: Arc<dyn Tapes>,
    pub(super) clerk: mpsc::Sender<Closed>,
    /// Room for what is kept of answers until they are settled.
    pub(super) shelf: Arc<Semaphore>,
    /// Calls that may wait to be admitted, each in a thread of its own. Fewer than there are threads: those that were admitted
    /// need some to look up a name, and the others wait for them.
    pub(super) waiting: Arc<Semaphore>,
    pub(super) patience: Patience,
    pub(super) counted: Arc<Counted>,
}

impl Hall {
    /// The call, with how many tokens it can be, where that is of use.
    fn bounded<'a>(&self, record: &'a mut Record) -> &'a Call {
        if self.accounts.is_limited()
            && let Some(sketch) = Sketch::of(&record.call.provider, &record.call.model, record.request())
        {
            record.call.most_input = self.counted.most(&sketch);
            record.counted = Some((self.counted.clone(), sketch));
        }
        &record.call
    }
}

/// One door: whose calls come in by it, and whom they may go to.
pub(super) struct Entry {
    pub(super) hall: Arc<Hall>,
    pub(super) caller: Caller,
    pub(super) upstreams: Vec<Upstream>,
    /// What a client has to know where others could knock as well.
    pub(super) password: Option<String>,
    pub(super) memory: Arc<Semaphore>,
    pub(super) count: Count,
    /// How many calls came to nothing.
    pub(super) in_vain: Arc<AtomicU64>,
    /// Why a call did not go out for want of a key, the first time.
    pub(super) missed: Arc<Mutex<Option<String>>>,
    /// Why a call of this job did not go out, the first time that it was so.
    pub(super) held_back: Arc<OnceLock<String>>,
}

impl Entry {
    pub(super) fn memory() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(MEMORY as usize))
    }

    /// Answers one request.
    pub(super) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        Ok(self.handle(request).await.unwrap_or_else(|refused| *refused))
    }

    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Body>, Box<Response<Body>>> {
        let (head, body) = request.into_parts();
        // Whoever takes us for a proxy names another host; it is fetched from nobody.
        let is_elsewhere = head.uri.authority().is_some() || head.method == Method::CONNECT;
        let found = if is_elsewhere { None } else { route(&head.method, head.uri.path()) };
        let Some(found) = found else {
            let what = "there is nothing here: known are /v1/messages, /v1/chat/completions, /v1/responses, \
                        /v1beta/models/NAME:generateContent and lists of models";
            return Err(refuse(None, StatusCode::NOT_FOUND, what));
        };
        let (target, is_call) = match found {
            Route::Alive => return Ok(Response::new(Body::whole(Bytes::new()))),
            Route::Call(target) => (target, true),
            Route::Aside(target) => (target, false),
        };
        let query = head.uri.query().unwrap_or_default();
        if !self.knows(&head.headers, query) {
            let what = "this door is for one job alone, and its key is another one";
            return Err(refuse(target.protocol, StatusCode::UNAUTHORIZED, what));
        }
        let upstream = self.upstream(&target)?;
        let query = without_key(query);
        let (bytes, memory) = self.read(body, target.protocol).await?;
        let mut headers = passed_on(&head.headers, !bytes.is_empty());
        upstream.authorize(target.protocol, &mut headers);
        let address = upstream.address(target.protocol, &target.rest, &query);
        let letter = Letter { method: head.method, address, headers, body: bytes.clone() };
        let mask = Mask::of(upstream.secrets());
        let Some(protocol) = target.protocol.filter(|_| is_call) else {
            return self.pass_aside(&target, letter, mask).await;
        };
        if self.in_vain.load(Ordering::Relaxed) >= MOST_IN_VAIN {
            let what = format!("{MOST_IN_VAIN} calls of this job came to nothing: no more are passed on");
            return Err(refuse(Some(protocol), StatusCode::BAD_REQUEST, &what));
        }
        let Peek { model, most_output, answers, tier } = peek(protocol, target.model.as_deref(), &bytes)
            .map_err(|what| refuse(Some(protocol), StatusCode::BAD_REQUEST, &what))?;
        let path = match query.as_str() {
            "" => head.uri.path().to_owned(),
            query => format!("{}?{query}", head.uri.path()),
        };
        if upstream.key.as_ref().is_some_and(|key| key.is_subscription) {
            self.hall.accounts.subscribed(&upstream.name);
        }
        let call = Call {
            id: self.hall.accounts.next_id(),
            caller: self.caller.clone(),
            provider: upstream.name.clone(),
            protocol,
            model,
            bytes: bytes.len() as u64,
            most_input: None,
            most_output,
            answers,
            tier,
        };
        let hold = Hold { _busy: self.count.begin(), _memory: memory, in_vain: self.in_vain.clone() };
        let Hall { clerk, shelf, .. } = &*self.hall;
        let record = Record::new(call, (path, bytes), clerk.clone(), shelf.clone(), hold);
        let record = self.admit(record).await?;
        self.forward(letter, mask, record).await
    }

    /// Whether a client may come in here.
    fn knows(&self, headers: &HeaderMap, query: &str) -> bool {
        let Some(password) = &self.password else { return true };
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let bearer = text("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let given = [text("x-api-key"), text("x-goog-api-key"), bearer, key_in(query)];
        given.into_iter().flatten().any(|given| is_same(given.as_bytes(), password.as_bytes()))
    }

    fn upstream(&self, target: &Target) -> Result<&Upstream, Box<Response<Body>>> {
        let can = |upstream: &&Upstream| {
            upstream.speaks(target.protocol) && target.provider.as_ref().is_none_or(|name| *name == upstream.name)
        };
        let found = self.upstreams.iter().find(can).ok_or_else(|| {
            let what = match (&target.provider, target.protocol) {
                (Some(name), _) => format!("there is no provider `{name}` here that is asked like this"),
                (None, Some(protocol)) => format!("no provider is set up that speaks {}", protocol.name()),
                (None, None) => "no provider is set up".to_owned(),
            };
            refuse(target.protocol, StatusCode::NOT_FOUND, &what)
        })?;
        // Nobody else is asked in its place: that would be another model, and another's money.
        match &found.no_key {
            None => Ok(found),
            Some(why) => {
                self.missed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| why.clone());
                // What the person's own command said is not for whoever asks here.
                let what = format!("there is no key for `{}`: whoever runs this study is told why", found.name);
                Err(refuse(target.protocol, StatusCode::UNAUTHORIZED, &what))
            }
        }
    }

    /// All of a body, as far as there is room and time for it.
    async fn read(
        &self,
        body: Incoming,
        protocol: Option<Protocol>,
    ) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Box<Response<Body>>> {
        let too_long = || refuse(protocol, StatusCode::PAYLOAD_TOO_LARGE, "the request is longer than 32 MiB");
        if body.size_hint().lower() > MOST_BODY as u64 {
            return Err(too_long());
        }
        let reading = async {
            let (mut body, mut bytes) = (body, BytesMut::new());
            let mut permits: Option<OwnedSemaphorePermit> = None;
            while let Some(frame) = body.frame().await {
                let Ok(Ok(data)) = frame.map(hyper::body::Frame::into_data) else {
                    return Err(refuse(protocol, StatusCode::BAD_REQUEST, "the request broke off"));
                };
                if bytes.len() + data.len() > MOST_BODY {
                    return Err(too_long());
                }
                let more = (data.len().div_ceil(1024)) as u32;
                let Ok(permit) = self.memory.clone().acquire_many_owned(more).await else { break };
                match &mut permits {
                    Some(permits) => permits.merge(permit),
                    None => permits = Some(permit),
                }
                bytes.extend_from_slice(&data);
            }
            Ok((bytes.freeze(), permits))
        };
        let late = |_| refuse(protocol, StatusCode::REQUEST_TIMEOUT, "the request took too long to come");
        timeout(self.hall.patience.body, reading).await.map_err(late)?
    }

    /// Asks whether a call may go out, and remembers that it did. Not to be interrupted: whoever hangs up meanwhile has made
    /// a call all the same.
    async fn admit(&self, mut record: Record) -> Result<Record, Box<Response<Body>>> {
        let (hall, held_back) = (self.hall.clone(), self.held_back.clone());
        let protocol = record.call.protocol;
        // Never closed.
        let place = hall.waiting.clone().acquire_owned().await.ok();
        let asked = tokio::task::spawn_blocking(move || {
            let _place = place;
            record.is_known = true;
            match hall.tapes.recorded(&record.call, record.path(), record.request()) {
                Recorded::Live => match hall.accounts.admit(hall.bounded(&mut record)) {
                    Ok(()) => Ok(record),
                    Err(refusal) => {
                        record.ends(CallEnd::Limited);
                        let what = format!("{} ({})", refusal.what, refusal.limit);
                        held_back.get_or_init(|| what.clone());
                        Err(refuse(Some(protocol), StatusCode::BAD_REQUEST, &what))
                    }
                },
                Recorded::Answer(answer) => Err(Box::new(recorded(answer, record))),
                Recorded::Miss { what } => {
                    record.ends(CallEnd::NotRecorded);
                    held_back.get_or_init(|| what.clone());
                    Err(refuse(Some(protocol), StatusCode::BAD_REQUEST, &what))
                }
            }
        });
        let ending = |_| refuse(Some(protocol), StatusCode::SERVICE_UNAVAILABLE, "the engine is about to end");
        asked.await.map_err(ending)?
    }

    async fn forward(
        &self,
        letter: Letter,
        mask: Mask,
        mut record: Record,
    ) -> Result<Response<Body>, Box<Response<Body>>> {
        let protocol = record.call.protocol;
        let provider = record.call.provider.clone();
        match self.send(&letter, &provider).await {
            Ok(answer) => Ok(self.pass_back(answer, mask, Some(record))),
            Err(NoAnswer { status, what, end }) => {
                record.ends(end);
                Err(refuse(Some(protocol), status, &what))
            }
        }
    }

    async fn pass_aside(
        &self,
        target: &Target,
        letter: Letter,
        mask: Mask,
    ) -> Result<Response<Body>, Box<Response<Body>>> {
        if self.hall.tapes.is_offline() {
            let what = "nobody is asked while answers come out of a recording";
            return Err(refuse(target.protocol, StatusCode::NOT_FOUND, what));
        }
        match self.send(&letter, "the provider").await {
            Ok(answer) => Ok(self.pass_back(answer, mask, None)),
            Err(NoAnswer { status, what, .. }) => Err(refuse(target.protocol, status, &what)),
        }
    }

    /// Sends a letter, and once more where nobody was reached: nothing was sent then.
    async fn send(&self, letter: &Letter, provider: &str) -> Result<Response<Incoming>, NoAnswer> {
        let no = |status, what, end| NoAnswer { status, what, end };
        let patience = self.hall.patience.first_byte;
        let mut again = AGAIN.into_iter();
        loop {
            let request = letter.request().map_err(|what| no(StatusCode::BAD_REQUEST, what, CallEnd::Unreached))?;
            match timeout(patience, self.hall.line.send(request)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) if error.is_connect() => match again.next() {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => {
                        let what = format!("{provider} cannot be reached: {}", deepest(&error));
                        return Err(no(StatusCode::BAD_GATEWAY, what, CallEnd::Unreached));
                    }
                },
                Ok(Err(error)) => {
                    let what = format!("{provider} broke off: {}", deepest(&error));
                    return Err(no(StatusCode::BAD_GATEWAY, what, CallEnd::Broken));
                }
                Err(_) => {
                    let what = format!("{provider} said nothing for {} s", patience.as_secs_f64());
                    return Err(no(StatusCode::GATEWAY_TIMEOUT, what, CallEnd::Broken));
                }
            }
        }
    }

    fn pass_back(&self, answer: Response<Incoming>, mask: Mask, mut record: Option<Record>) -> Response<Body> {
        let (head, from) = answer.into_parts();
        if let Some(record) = &mut record {
            let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
            record.begins(head.status.as_u16(), content_type.unwrap_or_default(), &head.headers);
        }
        let headers = passed_back(&head.headers, &mask);
        let mut response = Response::new(Body::passing(from, mask, record, self.hall.patience.idle));
        *response.status_mut() = head.status;
        *response.headers_mut() = headers;
        response
    }
}

/// Why there is no answer to pass back.
struct NoAnswer {
    status: StatusCode,
    what: String,
    end: CallEnd,
}

/// What goes on to a provider.
struct Letter {
    method: Method,
    address: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Letter {
    fn request(&self) -> Result<Request<Full<Bytes>>, String> {
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(&self.address)
            .body(Full::new(self.body.clone()))
            .map_err(|error| format!("the address of the provider cannot be read: {error}"))?;
        *request.headers_mut() = self.headers.clone();
        Ok(request)
    }
}

/// Hop by hop, about this connection, or about who asks: nobody else's business.
const KEPT_HERE: [&str; 19] = [
    "host",
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "cookie",
    "x-api-key",
    "x-goog-api-key",
    "x-goog-user-project",
    "forwarded",
    "via",
    "x-real-ip",
    "set-cookie",
];

/// Whose money it is, another method or path than the one that was looked at, or another way to read the body: none of
/// these is the client's to say.
const NOT_ITS_OWN: [&str; 9] = [
    "authorization",
    "content-length",
    "content-encoding",
    "openai-organization",
    "openai-project",
    "x-http-method",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
];
const NOT_ITS_OWN_BEGIN: [&str; 2] = ["x-forwarded-", "x-http-method-"];

/// What of a client's headers a provider sees.
fn passed_on(headers: &HeaderMap, has_body: bool) -> HeaderMap {
    let mut on = without(headers, |name| {
        NOT_ITS_OWN.contains(&name) || NOT_ITS_OWN_BEGIN.iter().any(|begin| name.starts_with(begin))
    });
    // It was read as such, so it goes on as such: another name for it may be another text to somebody.
    if has_body {
        on.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    // What is compressed could neither be counted nor searched for keys.
    on.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    on
}

/// What of a provider's headers a client sees.
fn passed_back(headers: &HeaderMap, mask: &Mask) -> HeaderMap {
    let mut back = without(headers, |name| name == CONTENT_LENGTH.as_str() || name == "alt-svc");
    let echoing: Vec<_> =
        back.iter().filter(|(_, value)| mask.is_in(value.as_bytes())).map(|(name, _)| name.clone()).collect();
    for name in echoing {
        back.remove(name);
    }
    back
}

fn without(headers: &HeaderMap, is_left_out: impl Fn(&str) -> bool) -> HeaderMap {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<String> = named.flat_map(|value| value.split(',')).map(|name| name.trim().to_lowercase()).collect();
    let stays = |name: &str| KEPT_HERE.contains(&name) || named.iter().any(|known| known == name) || is_left_out(name);
    let rest = headers.iter().filter(|(name, _)| !stays(name.as_str()));
    rest.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn recorded(answer: super::Answer, mut record: Record) -> Response<Body> {
    record.is_replayed = true;
    record.begins(answer.status, &answer.content_type, &HeaderMap::new());
    let pieces = answer.chunks.into_iter().filter(|piece| !piece.is_empty()).map(Bytes::from).collect();
    let mut response = Response::new(Body::Recorded(pieces, Box::new(record)));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    if let Ok(value) = HeaderValue::from_str(&answer.content_type) {
        response.headers_mut().insert(CONTENT_TYPE, value);
    }
    response
}

/// Whether two texts are the same, in a time that does not tell how far they are.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

/// The first cause of an error: the others only say that there is one.
fn deepest(error: &dyn std::error::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
