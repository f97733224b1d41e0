//! Who is set up: the providers of the triplet, and those known ones whose key lies where it usually does.

use hyper::header::{HeaderName, HeaderValue};
use overnight_model::spec::{self, KeySource, ProviderSpec};

use super::known::{self, Known};
use super::{Key, Upstream};

/// What a person may have set for the providers that are known, beyond keys and addresses.
const BESIDES: [(&str, &str, &str); 2] =
    [("openai", "OPENAI_ORGANIZATION", "openai-organization"), ("openai", "OPENAI_PROJECT", "openai-project")];
/// Headers of a person's own, one to a line, for whatever stands between them and Anthropic.
const CUSTOM: &str = "ANTHROPIC_CUSTOM_HEADERS";
/// Sent as a bearer's.
const BEARER: &str = "ANTHROPIC_AUTH_TOKEN";
/// What `claude setup-token` prints.
const SUBSCRIPTION: &str = "CLAUDE_CODE_OAUTH_TOKEN";

/// Every variable that matters here.
pub fn variables() -> Vec<&'static str> {
    let known = known::ALL.iter().flat_map(|known| known.keys.iter().chain(known.urls)).copied();
    known.chain(BESIDES.map(|(_, variable, _)| variable)).chain([CUSTOM]).collect()
}

/// The providers that can be asked, those of the triplet first. `environment` holds the variables above, as far as they are
/// set; `find` looks for the key of a provider of that name where
/// it is somewhere else. One whose key cannot be had stays in its place and says why: others
/// are asked all the same.
pub fn resolve(
    gateway: &spec::Gateway,
    environment: &[(String, String)],
    mut find: impl FnMut(&str, &KeySource) -> Result<Option<String>, String>,
) -> Vec<Upstream> {
    let mut found = Vec::new();
    for provider in &gateway.providers {
        found.extend(named(provider, environment, &mut find));
    }
    for known in known::ALL.iter().filter(|known| gateway.providers.iter().all(|own| own.name != known.name)) {
        let is_set = |names: &[&str]| names.iter().any(|name| variable(environment, name).is_some());
        if is_set(known.keys) || is_set(known.urls) {
            found.extend(named(&usual(known.name), environment, &mut find));
        }
    }
    found
}

/// Everybody who could have been asked, for a run in which nobody is: no key is looked for.
pub fn offline(gateway: &spec::Gateway) -> Vec<Upstream> {
    let is_known = |name: &str| gateway.providers.iter().any(|own| own.name == name);
    let usual = known::ALL.iter().filter(|known| !is_known(known.name)).map(|known| usual(known.name));
    let all: Vec<ProviderSpec> = gateway.providers.iter().cloned().chain(usual).collect();
    all.iter().filter_map(|provider| named(provider, &[], &mut |_, _| Ok(None))).collect()
}

/// A provider of which nothing is said.
fn usual(name: &str) -> ProviderSpec {
    ProviderSpec { name: name.to_owned(), url: None, protocols: Vec::new(), key: None, subscription: false }
}

fn named(
    provider: &ProviderSpec,
    environment: &[(String, String)],
    find: &mut impl FnMut(&str, &KeySource) -> Result<Option<String>, String>,
) -> Option<Upstream> {
    let ProviderSpec { name, url, protocols, key, subscription } = provider;
    let known = known::known(name);
    let elsewhere = || known?.urls.iter().find_map(|name| variable(environment, name));
    let url = url.as_deref().or_else(elsewhere).or(known.map(|known| known.url))?;
    let protocols = match known {
        Some(known) if protocols.is_empty() => known.protocols.to_vec(),
        _ => protocols.clone(),
    };
    let (key, no_key) = match key {
        Some(source) => match find(name, source) {
            Ok(key) => (key.map(Key::new), None),
            Err(what) => (None, Some(format!("there is no key for `{name}`: {what}"))),
        },
        None => (known.and_then(|known| usual_key(known, environment)), None),
    };
    let key = key.map(|key| match subscription {
        true => Key { is_bearer: true, is_subscription: true, ..key },
        false => key,
    });
    let mut headers = Vec::new();
    for (_, variable_name, header) in BESIDES.iter().filter(|(whose, ..)| whose == name) {
        headers.extend(variable(environment, variable_name).and_then(|value| pair(header, value)));
    }
    if name == "anthropic" {
        let lines = variable(environment, CUSTOM).into_iter().flat_map(str::lines);
        headers.extend(lines.filter_map(|line| line.split_once(':')).filter_map(|(name, value)| pair(name, value)));
    }
    let url = url.trim_end_matches('/').to_owned();
    Some(Upstream { name: name.clone(), url, protocols, key, headers, no_key })
}

fn usual_key(known: &Known, environment: &[(String, String)]) -> Option<Key> {
    known.keys.iter().find_map(|name| {
        let value = variable(environment, name)?.trim();
        Some(match *name {
            BEARER => Key::bearer(value),
            SUBSCRIPTION => Key { is_bearer: true, is_subscription: true, ..Key::new(value) },
            _ => Key::new(value),
        })
    })
}

fn variable<'a>(environment: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = environment.iter().find(|(known, _)| known == name)?;
    Some(found.1.as_str()).filter(|value| !value.trim().is_empty())
}

fn pair(name: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
    Some((name.trim().parse().ok()?, HeaderValue::from_str(value.trim()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use overnight_model::call::Protocol;

    fn set(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn usual(environment: &[(&str, &str)]) -> Vec<Upstream> {
        resolve(&spec::Gateway::default(), &set(environment), |_, _| unreachable!())
    }

    #[test]
    fn a_key_in_its_usual_variable_is_all_that_is_needed() {
        assert!(usual(&[]).is_empty());
        let found = usual(&[("GROQ_API_KEY", "k1"), ("OPENAI_API_KEY", "k2"), ("ANTHROPIC_API_KEY", " ")]);
        let names: Vec<_> = found.iter().map(|upstream| (upstream.name.as_str(), upstream.url.as_str())).collect();
        assert_eq!(names, [("openai", "https://api.openai.com/v1"), ("groq", "https://api.groq.com/openai/v1")]);
        assert!(found[1].key == Some(Key::new("k1")));
        let own = usual(&[("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1/"), ("OPENAI_PROJECT", "p")]);
        assert_eq!((own[0].url.as_str(), own[0].key.is_none()), ("http://127.0.0.1:8080/v1", true));
        assert_eq!(own[0].headers[0].0, "openai-project");
    }

    #[test]
    fn a_subscription_and_a_bearer_are_known_by_their_variables() {
        let key = |name: &str| usual(&[(name, "word")]).remove(0).key.unwrap();
        let Key { is_bearer, is_subscription, .. } = key("ANTHROPIC_AUTH_TOKEN");
        assert_eq!((is_bearer, is_subscription), (true, false));
        let Key { is_bearer, is_subscription, .. } = key("CLAUDE_CODE_OAUTH_TOKEN");
        assert_eq!((is_bearer, is_subscription), (true, true));
        assert!(!key("ANTHROPIC_API_KEY").is_bearer);
        let custom = usual(&[("ANTHROPIC_API_KEY", "k"), (CUSTOM, "X-Team: a b\nbad line\nX-Other:c")]);
        assert_eq!(custom[0].headers.len(), 2);
    }

    #[test]
    fn what_the_triplet_says_comes_first_and_its_key_is_looked_for() {
        let local = ProviderSpec {
            name: "local".into(),
            url: Some("http://127.0.0.1:1".into()),
            protocols: vec![Protocol::Chat],
            key: None,
            subscription: false,
        };
        let command = Some(KeySource::Command("pass".into()));
        let anthropic =
            ProviderSpec { name: "anthropic".into(), url: None, protocols: vec![], key: command, subscription: true };
        let gateway = spec::Gateway { providers: vec![local, anthropic], ..spec::Gateway::default() };
        let environment = set(&[("ANTHROPIC_API_KEY", "other"), ("GEMINI_API_KEY", "g")]);
        let found = resolve(&gateway, &environment, |_, _| Ok(Some("told".into())));
        let names: Vec<_> = found.iter().map(|upstream| upstream.name.as_str()).collect();
        assert_eq!(names, ["local", "anthropic", "gemini"]);
        let key = found[1].key.clone().unwrap();
        assert_eq!((key.value.as_str(), key.is_bearer, key.is_subscription), ("told", true, true));
    }

    #[test]
    fn a_key_that_cannot_be_had_is_missed_by_its_own_provider_alone() {
        let own = |name: &str, command: &str| ProviderSpec {
            name: name.into(),
            url: None,
            protocols: vec![],
            key: Some(KeySource::Command(command.into())),
            subscription: false,
        };
        let providers = vec![own("anthropic", "locked"), own("openai", "open")];
        let gateway = spec::Gateway { providers, ..spec::Gateway::default() };
        let found = resolve(&gateway, &set(&[("GEMINI_API_KEY", "g")]), |_, source| match source {
            KeySource::Command(command) if command == "open" => Ok(Some("told".into())),
            _ => Err("no such file".into()),
        });
        let seen: Vec<_> =
            found.iter().map(|it| (it.name.as_str(), it.key.is_some(), it.no_key.as_deref().unwrap_or(""))).collect();
        let missed = "there is no key for `anthropic`: no such file";
        assert_eq!(seen, [("anthropic", false, missed), ("openai", true, ""), ("gemini", true, "")]);
    }
}
