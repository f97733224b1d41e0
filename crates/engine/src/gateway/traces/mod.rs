//! What is kept of calls: traces for people, recordings for other runs. What must not be kept is taken out first.

mod normal;
mod recordings;
mod redact;
mod rewrite;
mod split;
mod store;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use overnight_model::call::{Call, CallEnd, CallId, Caller};
use overnight_model::spec::{Retention, TapeSpec};
use overnight_model::{BlobId, Timestamp};

pub use redact::Redactor;
pub(super) use redact::forms;
pub use store::{Found, MOST_BYTES, Store, Trace, TraceError, Which, experiment_of};

use self::normal::{Normal, Places, Told};
use self::recordings::{Asked as Name, Asker, Recordings, kind, who};
use super::{Answer, Exchange, Recorded, Tapes};
use crate::clock;
use crate::load::{self, Site};

/// More agents are never asked at the same time.
const MOST_TOLD: usize = 64;

/// Whether a text is a rule for what is not stored.
pub(crate) fn is_rule(text: &str) -> Result<(), String> {
    // The last line of the message says what is wrong; those above draw it.
    let last = |error: regex::Error| error.to_string().lines().last().unwrap_or_default().trim().to_owned();
    redact::compile(text).map(drop).map_err(last)
}

/// Where things are, and what a person wants kept of them.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    pub spec: &'a TapeSpec,
    /// The study's own folder.
    pub state: &'a Path,
    /// The triplet's folder, in which recordings are.
    pub dir: &'a Path,
    pub home: Option<&'a Path>,
    /// What the gateway and its callers hold and nobody may read: keys, tokens.
    pub keys: &'a [String],
}

/// What is kept of the calls of one run.
pub struct Tape {
    redactor: RwLock<Redactor>,
    store: Option<Mutex<Shelf>>,
    mode: Mode,
    places: Places,
    asked: Mutex<Asked>,
    told: Mutex<VecDeque<(String, Told)>>,
    trouble: Mutex<Option<String>>,
}

/// Where traces go. Most runs ask no model, and have nothing to put there.
struct Shelf {
    state: PathBuf,
    store: Option<Store>,
}

impl Shelf {
    fn store(&mut self) -> Result<&mut Store, TraceError> {
        match &mut self.store {
            Some(store) => Ok(store),
            none => Ok(none.insert(Store::open(&self.state)?)),
        }
    }
}

enum Mode {
    Off,
    Record(Recordings),
    Replay(Recordings),
}

/// Whose requests came how often, and which of them are on their way.
#[derive(Default)]
struct Asked {
    counts: HashMap<(String, BlobId), u32>,
    under_way: HashMap<CallId, (Name, Asker)>,
}

impl Tape {
    /// Opens what is kept, and erases what is older than a person wants it.
    pub fn open(setup: Setup<'_>, now: Timestamp) -> Result<Tape, TraceError> {
        let Setup { spec, state, dir, home, keys } = setup;
        // The triplet's rules were checked when it was read.
        let redactor = Redactor::new(&spec.redact, keys).unwrap_or_default();
        if let Some(mut store) = Store::find_to_write(state)? {
            if let Retention::For(span) = spec.keep {
                store.forget(&Which::Before(Timestamp(now.0 - span.0 as i64)))?;
            }
            store.shrink(MOST_BYTES)?;
        }
        let shelf = Shelf { state: state.to_owned(), store: None };
        let store = (spec.keep != Retention::Not).then(|| Mutex::new(shelf));
        let mode = match (&spec.record, &spec.replay) {
            (_, Some(folder)) => Mode::Replay(Recordings::at(dir.join(folder))),
            (Some(folder), None) => Mode::Record(Recordings::at(dir.join(folder))),
            (None, None) => Mode::Off,
        };
        let named = |path: &Path, name| (path.to_string_lossy().into_owned(), name);
        let places = [
            Some(named(state, "<overnight:state>")),
            Some(named(dir, "<overnight:project>")),
            home.map(|home| named(home, "<overnight:home>")),
        ];
        let (asked, told, trouble) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Tape {
            redactor: RwLock::new(redactor),
            store,
            mode,
            places: Places::new(places.into_iter().flatten()),
            asked,
            told,
            trouble,
        })
    }

    fn redactor(&self) -> RwLockReadGuard<'_, Redactor> {
        self.redactor.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a study keeps.
    pub fn of(site: &Site, spec: &TapeSpec, now: Timestamp) -> Result<Tape, TraceError> {
        let (state, home) = (site.state(), load::home());
        Tape::open(Setup { spec, state: &state, dir: &site.dir, home: home.as_deref(), keys: &[] }, now)
    }

    /// Serves what was recorded and keeps nothing, for what is no part of a study; `None` where nothing is to be served.
    pub fn offline(site: &Site, spec: &TapeSpec) -> Option<Tape> {
        let spec = TapeSpec { keep: Retention::Not, record: None, ..spec.clone() };
        spec.replay.as_ref()?;
        Tape::of(site, &spec, Timestamp(0)).ok()
    }

    /// Why something could not be kept, the first time that it was so. A call is not held up for it.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_in_trouble(&self, what: String) {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
    }

    /// The request's key and whose it is; the same question of the same asker is its next one.
    fn ask(&self, call: &Call, normal: &Normal, request: &[u8]) -> (Name, Asker) {
        let who = who(&call.caller);
        // What a candidate was answered is never served to a scorer.
        let key = BlobId::of(format!("{} {}", kind(&who), normal.key()).as_bytes());
        let exact = BlobId::of(&self.redactor().body(request).0);
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let count = asked.counts.entry((who.clone(), key.clone())).or_default();
        let asker = Asker { who, nth: *count };
        *count += 1;
        (Name { key, exact }, asker)
    }

    fn normal(&self, call: &Call, path: &str, request: &[u8]) -> Normal {
        let (request, _) = self.redactor().body(request);
        let who = who(&call.caller);
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let told: Vec<Told> = told.iter().filter(|(whose, _)| *whose == who).map(|(_, told)| told.clone()).collect();
        Normal::of(call.protocol, path, &request, &self.places, &told)
    }

    fn record(&self, recordings: &Recordings, call: &Call, exchange: &Exchange) {
        let under_way = self.asked.lock().unwrap_or_else(PoisonError::into_inner).under_way.remove(&call.id);
        // Half an answer is none: a replay that served it would not be what happened.
        let is_whole = matches!(exchange.end, CallEnd::Answered | CallEnd::Refused) && !exchange.cut;
        let (Some((name, asker)), Some(status), true) = (under_way, exchange.status, is_whole) else { return };
        let whole: Vec<u8> = exchange.chunks.iter().flat_map(|(_, bytes)| bytes).copied().collect();
        let (body, _) = self.redactor().body(&whole);
        let (body, _) = rewrite::rewrite(&body, &self.places);
        let answer = Answer { status, content_type: exchange.content_type.clone(), chunks: vec![body] };
        let normal = self.normal(call, &exchange.path, &exchange.request);
        if let Err(error) = recordings.add(&name, &normal, &asker, &answer) {
            self.is_in_trouble(format!("could not record an answer in {}: {error}", recordings.folder().display()));
        }
    }
}

impl Tapes for Tape {
    fn recorded(&self, call: &Call, path: &str, request: &[u8]) -> Recorded {
        match &self.mode {
            Mode::Off => Recorded::Live,
            Mode::Record(_) => {
                let asked = self.ask(call, &self.normal(call, path, request), request);
                self.asked.lock().unwrap_or_else(PoisonError::into_inner).under_way.insert(call.id, asked);
                Recorded::Live
            }
            Mode::Replay(recordings) => {
                let normal = self.normal(call, path, request);
                let (name, asker) = self.ask(call, &normal, request);
                match recordings.find(&name, &normal, &asker) {
                    Recorded::Answer(answer) => {
                        let chunks = answer.chunks.iter().map(|chunk| self.places.back(chunk)).collect();
                        Recorded::Answer(Answer { chunks, ..answer })
                    }
                    other => other,
                }
            }
        }
    }

    fn is_offline(&self) -> bool {
        matches!(self.mode, Mode::Replay(_))
    }

    fn tells(&self, caller: &Caller, text: &str, instead: &str) {
        if matches!(self.mode, Mode::Off) {
            return;
        }
        // As it will be found in a request: without what is taken out of that.
        let told = {
            let redactor = self.redactor();
            Told { text: redactor.text(text), instead: redactor.text(instead) }
        };
        let mut all = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_back((who(caller), told));
        if all.len() > MOST_TOLD {
            all.pop_front();
        }
    }

    fn hide(&self, key: &str) {
        if !self.redactor().holds(key) {
            self.redactor.write().unwrap_or_else(PoisonError::into_inner).hide(key);
        }
    }

    fn keep(&self, call: &Call, exchange: &Exchange) -> Option<BlobId> {
        if let Mode::Record(recordings) = &self.mode {
            self.record(recordings, call, exchange);
        }
        let mut shelf = self.store.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        match shelf.store().and_then(|store| store.put(call, exchange, clock::now(), &self.redactor())) {
            Ok(id) => Some(id),
            Err(error) => {
                let cause = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
                self.is_in_trouble(format!("{error}{cause}"));
                None
            }
        }
    }
}
