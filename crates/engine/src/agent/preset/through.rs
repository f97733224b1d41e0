//! An agent that asks its model through the gateway: which provider that is, and what the agent is told in the place of
//! keys and addresses.

use overnight_model::call::Protocol;
use overnight_model::spec::{Coding, Preset};

use super::NETWORK;
use crate::gateway::{Upstream, known};

/// What a person may set for an agent that is nobody's secret.
const HARMLESS: [&str; 3] = ["ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "MAX_THINKING_TOKENS"];

/// The gateway in the place of a provider.
pub(crate) struct Through {
    upstream: Upstream,
    /// What the agent itself calls the provider.
    called: String,
    /// Where the gateway stands for it, without a version.
    base: String,
    key: String,
}

/// What the gateway does not speak, where a person has set an agent up for it.
pub(crate) fn refusal(preset: Preset, set: &[(String, String)]) -> Option<String> {
    let is_on = |name: &str| set.iter().any(|(known, value)| known == name && !matches!(value.as_str(), "" | "0"));
    let asked = match preset {
        Preset::Claude => ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"].as_slice(),
        Preset::Gemini => ["GOOGLE_GENAI_USE_VERTEXAI"].as_slice(),
        _ => &[],
    };
    let name = asked.iter().find(|name| is_on(name))?;
    Some(format!("`{name}` is set, and the gateway speaks with the provider itself alone"))
}

impl Through {
    /// The provider that an agent asks, among those that are set up; an error says what to do where it is none of them.
    pub(crate) fn new(coding: &Coding, upstreams: Vec<Upstream>, url: &str, key: &str) -> Result<Through, String> {
        let (called, name, protocol) = wanted(coding);
        let speaks = |upstream: &&Upstream| upstream.protocols.contains(&protocol);
        let is_bound = matches!(coding.preset, Preset::Claude | Preset::Codex | Preset::Gemini);
        let by_name = upstreams.iter().filter(speaks).find(|upstream| upstream.name == name);
        let found = by_name.or_else(|| upstreams.iter().find(speaks).filter(|_| is_bound));
        let upstream = found.cloned().ok_or_else(|| missing(coding.preset, &name))?;
        if let Some(why) = &upstream.no_key {
            return Err(why.clone());
        }
        Ok(Through { upstream, called, base: String::new(), key: String::new() }.at(url, key))
    }

    /// The same with the gateway at this address.
    pub(crate) fn at(self, url: &str, key: &str) -> Through {
        let base = format!("{url}/{}", self.upstream.name);
        Through { base, key: key.to_owned(), ..self }
    }

    pub(crate) fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// The variables that an agent gets.
    pub(crate) fn told(&self, coding: &Coding, set: &[(String, String)]) -> Vec<(String, String)> {
        let Through { upstream, base, key, .. } = self;
        let is_subscription = upstream.key.as_ref().is_some_and(|key| key.is_subscription);
        let versioned = format!("{base}/v1");
        let upper = upstream.name.to_uppercase().replace('-', "_");
        let mut told: Vec<(String, String)> = match (coding.preset, upstream.name.as_str()) {
            (Preset::Claude, _) => {
                // It has other ways with a subscription.
                let name = if is_subscription { "CLAUDE_CODE_OAUTH_TOKEN" } else { "ANTHROPIC_API_KEY" };
                vec![("ANTHROPIC_BASE_URL".into(), base.clone()), (name.into(), key.clone())]
            }
            (Preset::Codex, _) => {
                vec![("OPENAI_BASE_URL".into(), versioned), ("OPENAI_API_KEY".into(), key.clone())]
            }
            (Preset::Gemini, _) => {
                vec![("GOOGLE_GEMINI_BASE_URL".into(), base.clone()), ("GEMINI_API_KEY".into(), key.clone())]
            }
            (_, "openai") => {
                let mut told = vec![("OPENAI_API_KEY".into(), key.clone())];
                // With an address they take it for a server of one's own, which speaks chat completions.
                if self.is_own_server() || matches!(coding.preset, Preset::Aider | Preset::Mini) {
                    told.push(("OPENAI_BASE_URL".into(), versioned.clone()));
                    told.push(("OPENAI_API_BASE".into(), versioned));
                }
                told
            }
            (_, "anthropic") => ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"]
                .map(|name| (name.to_owned(), base.clone()))
                .into_iter()
                .chain([("ANTHROPIC_API_KEY".into(), key.clone())])
                .collect(),
            (_, "gemini") => ["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"]
                .map(|name| (name.to_owned(), key.clone()))
                .into_iter()
                .chain([("GEMINI_API_BASE".into(), base.clone())])
                .collect(),
            _ => vec![(format!("{upper}_API_KEY"), key.clone()), (format!("{upper}_API_BASE"), versioned)],
        };
        let harmless = set.iter().filter(|(name, _)| HARMLESS.contains(&name.as_str()));
        told.extend(harmless.cloned());
        told
    }

    /// What an agent with the whole network needs to leave it, past the gateway.
    pub(crate) fn around(&self, set: &[(String, String)]) -> Vec<(String, String)> {
        let is_no_proxy = |name: &str| name.eq_ignore_ascii_case("no_proxy");
        let network = set.iter().filter(|(name, _)| NETWORK.contains(&name.as_str()) && !is_no_proxy(name)).cloned();
        let others = set.iter().find(|(name, _)| is_no_proxy(name)).map(|(_, value)| format!(",{value}"));
        let not_for = format!("127.0.0.1,localhost{}", others.unwrap_or_default());
        network.chain(["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), not_for.clone()))).collect()
    }

    /// The provider by the agent's own name for it, and the address that takes the place of its own.
    pub(super) fn override_of(&self) -> Option<(&str, String)> {
        let version = if self.upstream.name == "gemini" { "v1beta" } else { "v1" };
        Some((self.called.as_str(), format!("{}/{version}", self.base))).filter(|(called, _)| !called.is_empty())
    }

    fn is_own_server(&self) -> bool {
        known(&self.upstream.name).is_none_or(|known| known.url != self.upstream.url)
    }
}

/// What an agent calls the provider that it asks, what it is called here, and in which language it is asked.
fn wanted(coding: &Coding) -> (String, String, Protocol) {
    let called = coding.model.as_deref().and_then(|model| model.split_once('/')).map_or("", |(provider, _)| provider);
    let (name, protocol) = match (coding.preset, called) {
        (Preset::Claude, _) | (_, "anthropic") => ("anthropic", Protocol::Messages),
        (Preset::Codex, _) => ("openai", Protocol::Responses),
        (Preset::Gemini, _) | (_, "gemini" | "google") => ("gemini", Protocol::Gemini),
        (_, "" | "openai") => ("openai", Protocol::Chat),
        (_, other) => (other, Protocol::Chat),
    };
    (called.to_owned(), name.to_owned(), protocol)
}

fn missing(preset: Preset, name: &str) -> String {
    let agent = preset.name();
    let usual = known(name).and_then(|known| known.keys.first());
    match (preset, usual) {
        (Preset::Claude, _) => "claude has no key: set ANTHROPIC_API_KEY; or, for a subscription, type `claude setup-token` \
                                and set CLAUDE_CODE_OAUTH_TOKEN to what it prints (a login by browser is not used: your home \
                                is not shown to agents)"
            .to_owned(),
        (_, Some(variable)) => {
            format!("{agent} has no key: set {variable} (a login by browser is not used: your home is not shown to agents)")
        }
        (_, None) => format!("{agent} asks `{name}`, which is not set up: add [gateway.{name}] with `url` and `protocol`"),
    }
}
