//! One turn of a model: its questions and answers, the time that it has for them, and what is kept of them.

use std::time::Duration;

use overnight_model::Millis;
use overnight_model::brief::Brief;
use overnight_model::call::Caller;
use overnight_model::event::{AttemptFailure, ModelUse, Trouble as Kind};
use overnight_model::proposal::one_line;
use overnight_model::spec::Api;
use serde_json::Value;

use super::call::{self, Nothing};
use super::trouble::{Wrong, wrong};
use super::values::Values;
use super::way::Way;
use super::wire::{self, Question, Reply};
use super::{is_own_server, key, millis, prompt, spent};
use crate::agent::preset::is_other_model;
use crate::agent::secrets::Secrets;
use crate::clock::{self, Stopwatch};
use crate::dispatch::Captured;
use crate::load;
use crate::worker::{Capture, HINT_MARK, Kind as Work, Place, Room};

/// Words of servers that have no answers by a schema.
const SCHEMA_WORDS: [&str; 6] =
    ["response_format", "json_schema", "responsejsonschema", "response_schema", "structured output", "tool_choice"];

/// What stands between us and a provider may have a password of its own.
const PROXIES: [&str; 6] = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"];

pub(super) struct Turn<'a> {
    pub(super) api: &'a Api,
    pub(super) room: &'a Room,
    limit: Duration,
    caller: Option<Caller>,
    way: Option<Way>,
    secrets: Secrets,
    watch: Stopwatch,
    used: ModelUse,
    capture: Capture,
    /// The server said that it does not keep to schemas.
    is_free: bool,
}

/// Why a turn gives nothing.
pub(super) enum Gone {
    Interrupted,
    Failure(AttemptFailure),
}

impl<'a> Turn<'a> {
    pub(super) fn begin(api: &'a Api, limit: Millis, (desk, room): (&Place, &'a Room)) -> Turn<'a> {
        let mut turn = Turn {
            api,
            room,
            limit: limit.into(),
            caller: desk.caller(),
            way: None,
            secrets: Secrets::of(&load::named_environment(&PROXIES)),
            watch: Stopwatch::start(),
            used: ModelUse::default(),
            capture: Capture::new(),
            is_free: false,
        };
        turn.note(&format!("asked {}", api.described()));
        turn
    }

    /// Looks for the key, and hands it to the gateway; one that may be short-lived is asked for anew each time.
    pub(super) fn find_way(&mut self) -> Result<(), Gone> {
        let shop = &self.room.shop;
        let mut registered = None;
        let started = |killer| registered = Some(self.room.stops.register(Work::Agent, killer));
        let found = match shop.spec.gateway.tapes.replay {
            // Nobody is asked, and nobody wants a key.
            Some(_) => Ok(None),
            None => key::find(&self.api.key, &shop.keeper, &shop.triplet_dir, started),
        };
        drop(registered);
        let key = match found {
            Ok(key) => key,
            Err(_) if self.room.stops.agents_are_stopped() => return Err(Gone::Interrupted),
            Err(what) => return Err(self.fails(Kind::Denied, &what)),
        };
        let secret = key.iter().map(|key| ("KEY".to_owned(), key.clone()));
        self.secrets = Secrets::of(&load::named_environment(&PROXIES).into_iter().chain(secret).collect::<Vec<_>>());
        let caller = self.caller.clone().ok_or_else(|| self.fails(Kind::Other, "nobody asks"))?;
        let way = Way::open(&shop.gateway, self.api, key, caller);
        self.way = Some(way.map_err(|error| self.fails(Kind::Other, &format!("the gateway opens no door: {error}")))?);
        Ok(())
    }

    /// A recording of this turn is to be found by another run, whose numbers are other ones.
    pub(super) fn tells(&self, brief: &Brief) {
        if let Some(caller) = &self.caller {
            let (text, instead) = brief.of_this_run();
            self.room.shop.gateway.tells(caller, &text, &instead);
        }
    }

    /// One question, and an answer that has something in it.
    pub(super) fn ask(&mut self, parts: &[String], values: Option<&Values>) -> Result<Reply, Gone> {
        let schema = values.map(|values| values.schema(is_own_server(self.api.provider)));
        let reply = match self.exchange(parts, schema.as_ref().filter(|_| !self.is_free)) {
            Err(Missed::Schema(_)) => {
                self.note("the server keeps to no schema: asked again without one");
                self.is_free = true;
                self.exchange(parts, None)
            }
            answered => answered,
        };
        let reply = reply.map_err(|missed| match missed {
            Missed::Interrupted => Gone::Interrupted,
            Missed::Schema(Wrong { trouble, what }) | Missed::Wrong(Wrong { trouble, what }) => {
                self.fails(trouble, &what)
            }
        })?;
        self.used.add(&reply.used);
        self.note(&reply.text);
        self.note_use(&reply.used);
        if reply.refused {
            return Err(self.fails(Kind::Refusal, &crate::agent::preset::title(&reply.text)));
        }
        if reply.text.trim().is_empty() {
            let what = match reply.is_cut {
                true => "all of its tokens went before it said anything: raise `agent.max_tokens`",
                false => "it ended well and said nothing",
            };
            return Err(self.fails(Kind::Empty, what));
        }
        Ok(reply)
    }

    fn exchange(&mut self, parts: &[String], schema: Option<&Value>) -> Result<Reply, Missed> {
        let system = prompt::system(self.api.edits);
        let (api, key) = match &self.way {
            Some(way) => (&way.api, Some(way.key.as_str())),
            None => (self.api, None),
        };
        let question = Question { api, system: &system, parts, schema };
        let sheet = wire::write(&question, key);
        let answered = call::call(sheet, self.left(), &self.room.stops).map_err(|nothing| match nothing {
            Nothing::Interrupted => Missed::Interrupted,
            Nothing::Wrong(wrong) => Missed::Wrong(wrong),
        })?;
        let body: Option<Value> = serde_json::from_slice(&answered.body).ok();
        if let Some(wrong) = wrong(&answered, body.as_ref(), clock::now()) {
            let words = wrong.what.to_lowercase();
            let is_schema = schema.is_some() && SCHEMA_WORDS.iter().any(|word| words.contains(word));
            let is_refused = matches!(answered.status, 400 | 422 | 501) && wrong.trouble == Kind::Other;
            return Err(if is_schema && is_refused { Missed::Schema(wrong) } else { Missed::Wrong(wrong) });
        }
        let unreadable = || Wrong::new(Kind::Outage, "an answer that cannot be read".to_owned());
        body.and_then(|body| wire::read(self.api.provider, &body)).ok_or_else(|| Missed::Wrong(unreadable()))
    }

    /// What is left of the time that an agent has.
    fn left(&self) -> Duration {
        self.limit.saturating_sub(self.watch.elapsed()).max(Duration::from_millis(1))
    }

    pub(super) fn fails(&self, trouble: Kind, what: &str) -> Gone {
        let what = self.secrets.mask(&format!("{}: {what}", trouble.name()));
        Gone::Failure(AttemptFailure::Error { what: one_line(&flat(&what)), trouble: Some(trouble) })
    }

    pub(super) fn note(&mut self, text: &str) {
        // Before anything is left out: half a key would not be known for one.
        self.capture.feed(self.secrets.mask(text.trim_end()).as_bytes());
        self.capture.feed(b"\n");
    }

    fn note_use(&mut self, used: &ModelUse) {
        let count = |count: Option<u64>| count.map_or("?".to_owned(), |count| count.to_string());
        let cached = used.cached.map_or(String::new(), |cached| format!(" ({cached} of them out of its cache)"));
        self.note(&format!("[read {} tokens{cached}, wrote {}]", count(used.input), count(used.output)));
        let asked = &self.api.model;
        if !used.model.is_empty() && is_other_model(asked, &used.model) {
            let answered = one_line(&used.model);
            self.note(&format!("{HINT_MARK}asked for the model `{asked}`, answered by `{answered}`"));
        }
    }

    /// How long it took, what was used, and what is kept of it.
    pub(super) fn end(mut self) -> (Millis, Option<ModelUse>, Captured, Secrets) {
        let took = millis(self.watch.elapsed());
        self.used.model = one_line(&self.secrets.mask(&self.used.model));
        let mut output = self.capture.finish();
        self.secrets.mask_output(&mut output);
        (took, spent(self.used), output, self.secrets)
    }
}

/// Why there is no answer.
enum Missed {
    Interrupted,
    /// The server does not take a schema.
    Schema(Wrong),
    Wrong(Wrong),
}

/// A text of several lines on one.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
