//! How a command at a place reaches models: through a door of the gateway that is its own.

use std::io;

use overnight_model::call::Caller;
use overnight_model::event::Loss;
use overnight_model::spec;

use super::{Kind, Place, Room, Trouble};
use crate::agent::api;
use crate::gateway::{self, Guest, Pass, Upstream};
use crate::load;

/// What one command has of the gateway.
pub(crate) struct Models {
    pub(crate) pass: Pass,
    pub(super) guest: Guest,
    /// Whether it finds the gateway on a loopback of its own.
    pub(super) is_inside: bool,
}

impl Models {
    /// What a program is told that asks any of the providers by itself, under the names that their own clients know. The
    /// key is made up: the real one is added on the way.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let (url, key) = (self.pass.url(), &self.pass.key);
        [
            ("OPENAI_BASE_URL", format!("{url}/v1")),
            ("OPENAI_API_BASE", format!("{url}/v1")),
            ("OPENAI_API_KEY", key.clone()),
            ("ANTHROPIC_BASE_URL", url.clone()),
            ("ANTHROPIC_API_KEY", key.clone()),
            ("GOOGLE_GEMINI_BASE_URL", url),
            ("GEMINI_API_KEY", key.clone()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}

impl Place {
    /// Who asks models here from now on.
    pub(crate) fn calls_as(&mut self, caller: Caller) {
        self.caller = Some(caller);
    }

    pub(crate) fn caller(&self) -> Option<Caller> {
        self.caller.clone()
    }

    /// Which networks a command here reaches.
    pub(crate) fn reached(&self, room: &Room) -> spec::Network {
        self.network.unwrap_or(room.shop.spec.evaluate.network)
    }

    /// A way to these providers; `None` for one whose calls would be nobody's.
    pub(crate) fn models(&self, room: &Room, upstreams: Vec<Upstream>) -> Result<Option<Models>, Trouble> {
        let Some(caller) = self.caller.clone() else { return Ok(None) };
        let is_inside = room.shop.sandbox.standard().is_some() && self.reached(room) == spec::Network::Models;
        let pass = match is_inside {
            true => room.shop.gateway.pass_inside(),
            false => room.shop.gateway.pass_beside().map_err(|error| fault(&error))?,
        };
        Ok(Some(Models { pass, guest: Guest { caller, upstreams }, is_inside }))
    }

    /// A way to all providers that are set up, for a command that reaches models and nothing else.
    pub(super) fn all_models(&self, room: &Room, kind: Kind) -> Result<Option<Models>, Trouble> {
        if self.reached(room) != spec::Network::Models || self.caller.is_none() {
            return Ok(None);
        }
        self.models(room, upstreams(room, kind, None))
    }
}

/// The providers that are set up, with their keys, or with that of the `only` one that is asked. Those that a command prints
/// are asked for anew: they may be short-lived.
pub(crate) fn upstreams(room: &Room, kind: Kind, only: Option<&str>) -> Vec<Upstream> {
    let shop = &room.shop;
    if shop.spec.gateway.tapes.replay.is_some() {
        return gateway::offline(&shop.spec.gateway);
    }
    let environment = load::named_environment(&gateway::variables());
    gateway::resolve(&shop.spec.gateway, &environment, |name, source| {
        if only.is_some_and(|only| only != name) {
            return Ok(None);
        }
        let mut registered = None;
        let started = |killer| registered = Some(room.stops.register(kind, killer));
        let found = api::find_key(source, &shop.keeper, &shop.triplet_dir, started);
        drop(registered);
        found
    })
}

pub(super) fn fault(error: &io::Error) -> Trouble {
    Trouble::Loss(Loss::Fault { what: format!("the gateway could not open a door: {error}") })
}
