//! The way to a model: through a door of the gateway, which alone has the key from here on.

use std::io;

use overnight_model::call::Protocol;
use overnight_model::spec::{Api, Provider};

use super::wire::protocol;
use crate::gateway::{Door, Gateway, Guest, Key, Upstream};

/// An open way, until it is dropped.
pub(super) struct Way {
    /// The model as it is asked from here.
    pub(super) api: Api,
    /// Made up, and good for this door alone.
    pub(super) key: String,
    _door: Door,
}

impl Way {
    pub(super) fn open(
        gateway: &Gateway,
        api: &Api,
        key: Option<String>,
        caller: overnight_model::call::Caller,
    ) -> io::Result<Way> {
        let protocol = protocol(api.provider);
        let upstream = Upstream {
            name: name(api.provider).to_owned(),
            url: api.base_url.clone(),
            protocols: vec![protocol],
            key: key.map(Key::new),
            headers: Vec::new(),
            no_key: None,
        };
        let pass = gateway.pass_beside()?;
        let door = gateway.open(&pass, None, Guest { caller, upstreams: vec![upstream] })?;
        let version = if protocol == Protocol::Gemini { "v1beta" } else { "v1" };
        let base_url = format!("{}/{version}", pass.url());
        Ok(Way { api: Api { base_url, ..api.clone() }, key: pass.key.clone(), _door: door })
    }
}

/// Two ways to ask are one provider.
fn name(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenaiResponses => Provider::Openai.name(),
        other => other.name(),
    }
}
