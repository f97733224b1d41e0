//! Which requests are known. Whatever is not, goes nowhere: the host is never the client's to choose, and of the path only
//! what is listed here goes on.

use hyper::Method;
use overnight_model::call::Protocol;

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    /// A model is asked.
    Call(Target),
    /// Something that costs nothing: which models there are, how many tokens a text has.
    Aside(Target),
    /// Whether anybody is there.
    Alive,
}

/// What goes on of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The name of a provider, where the path begins with one.
    pub(super) provider: Option<String>,
    /// In which language; a list of models is the same in all.
    pub(super) protocol: Option<Protocol>,
    /// What follows the version, which is the provider's own.
    pub(super) rest: String,
    /// The model, where the path names it.
    pub(super) model: Option<String>,
}

const GENERATE: [&str; 2] = ["generateContent", "streamGenerateContent"];

/// What is asked for; `None` where it is nothing that is known.
pub(super) fn route(method: &Method, path: &str) -> Option<Route> {
    let (provider, path) = split(path);
    let target = |protocol, rest: &str, model: Option<&str>| Target {
        provider: provider.clone(),
        protocol,
        rest: rest.to_owned(),
        model: model.map(ToOwned::to_owned),
    };
    let (is_get, is_post) = (method == Method::GET, method == Method::POST);
    if matches!(path, "" | "/") && (is_get || method == Method::HEAD) {
        return Some(Route::Alive);
    }
    let (version, rest) = ["/v1beta", "/v1"].into_iter().find_map(|it| Some((it, path.strip_prefix(it)?)))?;
    Some(match rest {
        "/messages" if is_post => Route::Call(target(Some(Protocol::Messages), rest, None)),
        "/messages/count_tokens" if is_post => Route::Aside(target(Some(Protocol::Messages), rest, None)),
        "/chat/completions" if is_post => Route::Call(target(Some(Protocol::Chat), rest, None)),
        "/responses" if is_post => Route::Call(target(Some(Protocol::Responses), rest, None)),
        "/models" if is_get => Route::Aside(target(listing(version), rest, None)),
        _ => {
            let named = rest.strip_prefix("/models/")?;
            match named.rsplit_once(':') {
                Some((model, verb)) if is_post && is_model(model, "") => match verb {
                    verb if GENERATE.contains(&verb) => Route::Call(target(Some(Protocol::Gemini), rest, Some(model))),
                    "countTokens" => Route::Aside(target(Some(Protocol::Gemini), rest, Some(model))),
                    _ => return None,
                },
                _ if is_get && is_model(named, ":/@") => Route::Aside(target(listing(version), rest, None)),
                _ => return None,
            }
        }
    })
}

/// A query without the keys that may stand in it.
pub(super) fn without_key(query: &str) -> String {
    let is_secret = |pair: &&str| {
        let name = decoded(pair.split('=').next().unwrap_or_default()).to_lowercase();
        ["key", "api_key", "access_token", "oauth_token"].contains(&name.as_str())
    };
    query.split('&').filter(|pair| !is_secret(pair)).collect::<Vec<_>>().join("&")
}

/// The key in a query.
pub(super) fn key_in(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("key="))
}

/// The name of a provider at the beginning, and the rest.
fn split(path: &str) -> (Option<String>, &str) {
    let Some(inner) = path.strip_prefix('/') else { return (None, path) };
    let first = inner.split('/').next().unwrap_or_default();
    match first {
        "" | "v1" | "v1beta" => (None, path),
        name => (Some(name.to_owned()), &inner[name.len()..]),
    }
}

/// Only one protocol has another version.
fn listing(version: &str) -> Option<Protocol> {
    (version == "/v1beta").then_some(Protocol::Gemini)
}

/// Whether this can be the name of a model, and nothing that leads elsewhere.
fn is_model(name: &str, besides: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c) || besides.contains(c);
    !name.is_empty() && name.chars().all(is_plain) && !name.contains("..") && !name.contains("//")
}

/// The text with `%xx` read, as a server may read it.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.filter(|_| *first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => (bytes.push(byte), rest = &after[2..]).1,
            None => (bytes.push(*first), rest = after).1,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(path: &str) -> Option<(Option<String>, Protocol, String, Option<String>)> {
        match route(&Method::POST, path)? {
            Route::Call(Target { provider, protocol, rest, model }) => Some((provider, protocol?, rest, model)),
            Route::Aside(_) | Route::Alive => None,
        }
    }

    #[test]
    fn every_protocol_has_its_path_with_or_without_the_name_of_a_provider() {
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(call("/v1/messages"), Some((None, Protocol::Messages, "/messages".into(), None)));
        let chat = Some((named("groq"), Protocol::Chat, "/chat/completions".into(), None));
        assert_eq!(call("/groq/v1/chat/completions"), chat);
        assert_eq!(call("/v1/responses"), Some((None, Protocol::Responses, "/responses".into(), None)));
        let path = "/models/gemini-2.5-pro:streamGenerateContent";
        let gemini = Some((None, Protocol::Gemini, path.into(), named("gemini-2.5-pro")));
        assert_eq!(call(&format!("/v1beta{path}")), gemini);
        assert_eq!(route(&Method::HEAD, "/"), Some(Route::Alive));
        assert_eq!(route(&Method::HEAD, "/anthropic"), Some(Route::Alive));
        for (method, path) in [
            (Method::POST, "/v1/messages/count_tokens"),
            (Method::GET, "/v1/models"),
            (Method::GET, "/v1/models/org/name:free"),
            (Method::GET, "/openai/v1/models"),
            (Method::POST, "/v1beta/models/m:countTokens"),
        ] {
            assert!(matches!(route(&method, path), Some(Route::Aside(_))), "{method} {path}");
        }
    }

    #[test]
    fn whatever_is_not_known_goes_nowhere() {
        for path in [
            "/v1/messages/",
            "/v1/messages/batches",
            "/v1/files",
            "/v1//messages",
            "//v1/messages",
            "/v1/../v1/messages",
            "/v1/chat/completions/../../admin",
            "/v1beta/models/../files:generateContent",
            "/v1beta/models/a%2f..%2fb:generateContent",
            "/v1beta/models/:generateContent",
            "/v1beta/models/m:predict",
            "/V1/messages",
            "*",
            "host:443",
        ] {
            assert_eq!(route(&Method::POST, path), None, "{path}");
        }
        for path in ["/v1/messages", "/v1/models/..", "/v1/models/a%2e", "/v1/models/a//b", "/v1/files"] {
            assert_eq!(route(&Method::GET, path), None, "{path}");
        }
        assert_eq!(route(&Method::CONNECT, "/v1/messages"), None);
        assert_eq!(route(&Method::DELETE, "/v1/models/m"), None);
    }

    #[test]
    fn a_key_in_a_query_stays_behind_however_it_is_written() {
        assert_eq!(without_key("alt=sse&key=abc&beta=true"), "alt=sse&beta=true");
        assert_eq!(without_key("%6bey=abc&KEY=x&access_token=y"), "");
        assert_eq!(without_key("monkey=1"), "monkey=1");
        assert_eq!(key_in("alt=sse&key=abc"), Some("abc"));
    }
}
