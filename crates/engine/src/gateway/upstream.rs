//! A provider as one job may reach it: where it is, what it speaks, and the key that is added on the way.

use std::fmt;

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use overnight_model::call::Protocol;

use crate::load::{has_path, with_version};

/// How the long-lived tokens of a subscription begin (`claude setup-token`).
const SUBSCRIPTION: &str = "sk-ant-oat";
/// What their bearer has to say beside it.
const OAUTH: &str = "oauth-2025-04-20";
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const X_GOOG_API_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
const VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// Whom calls go to. Its key is shown nowhere.
#[derive(Clone)]
pub struct Upstream {
    pub name: String,
    /// As a person would give it to a client, with or without its version.
    pub url: String,
    pub protocols: Vec<Protocol>,
    pub key: Option<Key>,
    /// Headers of the person's own, which may hold secrets as well.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Why its key cannot be had, in words for the person: it is not asked without one.
    pub no_key: Option<String>,
}

/// What a provider knows a person by.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    pub value: String,
    /// Whether it is sent as that of a bearer, where its protocol has another way.
    pub is_bearer: bool,
    /// Whether it is the token of a subscription.
    pub is_subscription: bool,
}

impl Key {
    pub fn new(value: impl Into<String>) -> Key {
        let value = value.into();
        let is_subscription = value.starts_with(SUBSCRIPTION);
        Key { value, is_bearer: is_subscription, is_subscription }
    }

    pub fn bearer(value: impl Into<String>) -> Key {
        Key { is_bearer: true, ..Key::new(value) }
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.name, self.url)
    }
}

impl Upstream {
    /// What nobody may read: the key, and those headers of the person's own that are there to open something.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        let opens = |name: &HeaderName| {
            ["auth", "key", "token", "secret", "cookie", "passw", "credential"]
                .iter()
                .any(|it| name.as_str().contains(it))
        };
        let headers = self.headers.iter().filter(move |(name, _)| opens(name));
        // The scheme before it says nothing, and an answer may repeat the rest alone.
        let values = headers.filter_map(|(_, value)| value.to_str().ok()?.rsplit(' ').next());
        self.key.iter().map(|key| key.value.as_str()).chain(values)
    }

    /// Whether it can be asked in this language; a list of models can be asked of all.
    pub(super) fn speaks(&self, protocol: Option<Protocol>) -> bool {
        protocol.is_none_or(|protocol| self.protocols.contains(&protocol))
    }

    /// The address of what follows the version.
    pub(super) fn address(&self, protocol: Option<Protocol>, rest: &str, query: &str) -> String {
        let protocol = protocol.or(self.protocols.first().copied());
        let base = match protocol {
            Some(Protocol::Messages) => with_version(&self.url, &["/v1"]),
            Some(Protocol::Gemini) => with_version(&self.url, &["/v1beta", "/v1"]),
            // Servers of one's own are named by host and port alone.
            _ if !has_path(&self.url) => format!("{}/v1", self.url),
            _ => self.url.clone(),
        };
        match query {
            "" => format!("{base}{rest}"),
            query => format!("{base}{rest}?{query}"),
        }
    }

    /// Adds what the provider knows the person by.
    pub(super) fn authorize(&self, protocol: Option<Protocol>, headers: &mut HeaderMap) {
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        let protocol = protocol.or(self.protocols.first().copied());
        if protocol == Some(Protocol::Messages) && !headers.contains_key(VERSION) {
            headers.insert(VERSION, HeaderValue::from_static("2023-06-01"));
        }
        let Some(key) = &self.key else { return };
        let secret = |text: &str| {
            let mut value = HeaderValue::from_str(text).ok()?;
            value.set_sensitive(true);
            Some(value)
        };
        let (name, value) = match protocol {
            Some(Protocol::Messages) if !key.is_bearer => (X_API_KEY, secret(&key.value)),
            Some(Protocol::Gemini) if !key.is_bearer => (X_GOOG_API_KEY, secret(&key.value)),
            _ => (AUTHORIZATION, secret(&format!("Bearer {}", key.value))),
        };
        headers.extend(value.map(|value| (name, value)));
        let has_beta = headers
            .get_all(BETA)
            .iter()
            .any(|value| value.to_str().is_ok_and(|value| value.split(',').any(|word| word.trim() == OAUTH)));
        if protocol == Some(Protocol::Messages) && key.is_subscription && !has_beta {
            headers.append(BETA, HeaderValue::from_static(OAUTH));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(url: &str, protocol: Protocol, key: Key) -> Upstream {
        let (name, url) = ("p".to_owned(), url.to_owned());
        Upstream { name, url, protocols: vec![protocol], key: Some(key), headers: Vec::new(), no_key: None }
    }

    #[test]
    fn an_address_is_what_a_client_of_that_protocol_would_make_of_it() {
        for (url, protocol, rest, expected) in [
            ("https://a.example", Protocol::Messages, "/messages", "https://a.example/v1/messages"),
            ("https://a.example/x/v1", Protocol::Messages, "/messages", "https://a.example/x/v1/messages"),
            ("http://127.0.0.1:8080", Protocol::Chat, "/chat/completions", "http://127.0.0.1:8080/v1/chat/completions"),
            ("https://a.example/openai", Protocol::Responses, "/responses", "https://a.example/openai/responses"),
            ("https://g.example", Protocol::Gemini, "/models/m:x", "https://g.example/v1beta/models/m:x"),
        ] {
            assert_eq!(upstream(url, protocol, Key::new("k")).address(Some(protocol), rest, ""), expected);
        }
        let gemini = upstream("https://g.example/v1beta", Protocol::Gemini, Key::new("k"));
        assert_eq!(gemini.address(None, "/models", "alt=sse"), "https://g.example/v1beta/models?alt=sse");
    }

    fn sent(protocol: Protocol, key: Key) -> Vec<(String, String)> {
        let mut headers = HeaderMap::new();
        upstream("https://a.example", protocol, key).authorize(Some(protocol), &mut headers);
        headers.remove(VERSION);
        let mut sent: Vec<_> =
            headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
        sent.sort();
        sent
    }

    #[test]
    fn headers_that_open_something_are_as_secret_as_the_key() {
        let own =
            |name: &'static str, value: &'static str| (HeaderName::from_static(name), HeaderValue::from_static(value));
        let headers = vec![own("x-gateway-auth", "Bearer a-secret-word"), own("x-team", "research")];
        let upstream = Upstream { headers, ..upstream("https://a.example", Protocol::Chat, Key::new("sk-1")) };
        assert_eq!(upstream.secrets().collect::<Vec<_>>(), ["sk-1", "a-secret-word"]);
    }

    #[test]
    fn a_key_is_sent_as_its_provider_wants_it() {
        let one = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        assert_eq!(sent(Protocol::Messages, Key::new("k")), one("x-api-key", "k"));
        assert_eq!(sent(Protocol::Messages, Key::bearer("k")), one("authorization", "Bearer k"));
        assert_eq!(sent(Protocol::Chat, Key::new("k")), one("authorization", "Bearer k"));
        assert_eq!(sent(Protocol::Gemini, Key::new("k")), one("x-goog-api-key", "k"));
        let token = sent(Protocol::Messages, Key::new("sk-ant-oat01-x"));
        let expected = [("anthropic-beta", OAUTH), ("authorization", "Bearer sk-ant-oat01-x")];
        assert_eq!(token, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(format!("{:?}", upstream("https://a", Protocol::Chat, Key::new("sk-secret"))), "p at https://a");
    }
}
