//! A model over its API: which one, where, and whose key. The key itself is never in the triplet.

use overnight_model::spec::{Api, Edits, KeySource, Provider};
use overnight_model::units::Score;
use ureq::http::Uri;

use super::document::Section;
use super::evaluate::holds_secret;
use super::problem::Collector;
use crate::agent::api::is_loopback;

/// What only a model over its API has.
pub(super) const OF_API: [&str; 7] =
    ["provider", "base_url", "key_env", "key_command", "edits", "max_tokens", "temperature"];

/// More than any model writes.
const MOST_TOKENS: u64 = 1_000_000;
const WARMEST: f64 = 2.0;
const NOT_HERE: &str = "this file is in git, for everyone to read: take the key out, and name the variable that holds it: `key_env = \"NAME\"`";

pub(super) fn read(problems: &mut Collector<'_>, section: &Section<'_>) -> Option<Api> {
    let providers = Provider::ALL.map(|provider| (provider.name(), provider));
    let provider = problems.word(section, "provider", &providers, |_| {
        Some("any other server that speaks OpenAI's chat completions is \"compatible\", with a `base_url`".to_owned())
    });
    if section.get("provider").is_none() {
        problems.missing(section, "provider", "provider = \"anthropic\"");
    }
    let model = problems.string(section, "model");
    if section.get("model").is_none() {
        problems.missing(section, "model", "model = \"…\"");
    }
    let edits = [Edits::Blocks, Edits::Whole, Edits::Values].map(|edits| (edits.name(), edits));
    let edits = problems.word(section, "edits", &edits, |_| None).unwrap_or(Edits::Blocks);
    let max_tokens = problems.count(section, "max_tokens", 1..=MOST_TOKENS);
    let temperature = temperature(problems, section);
    let source = key(problems, section);
    let base_url = provider.and_then(|provider| base_url(problems, section, provider));
    let (provider, model, base_url) = (provider?, model?, base_url?);
    let usual = || provider.key_variable().map(|name| KeySource::Variable(name.to_owned()));
    let key = source?.or_else(usual).unwrap_or(KeySource::None);
    if base_url.starts_with("http://") && !is_loopback(&base_url) && key != KeySource::None {
        let what = "`agent.base_url` would send the key over the network for everyone to read";
        problems.add(
            section.key_span("base_url"),
            what,
            "write `https://`; `http://` with a key is for this machine only",
        );
        return None;
    }
    Some(Api { provider, model, base_url, key, edits, max_tokens, temperature })
}

fn temperature(problems: &mut Collector<'_>, section: &Section<'_>) -> Option<Score> {
    let found = problems.number(section, "temperature")?;
    if !(0.0..=WARMEST).contains(&found.get()) {
        problems.add(section.key_span("temperature"), "`agent.temperature` must be from 0 to 2", "");
        return None;
    }
    Some(found)
}

/// Where the key is to come from, where anything is said of it; `None` where that is wrong.
fn key(problems: &mut Collector<'_>, section: &Section<'_>) -> Option<Option<KeySource>> {
    let text = |key: &str| section.get(key).and_then(|item| item.get_ref().as_str());
    for key in OF_API.into_iter().chain(["model"]) {
        let Some(value) = text(key) else { continue };
        let is_key = value.split(|c: char| c.is_whitespace() || "'\"=:/@?&".contains(c)).any(holds_secret);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_variable = value.chars().all(is_name) && !value.starts_with(|c: char| c.is_ascii_digit());
        if is_key || (key == "key_env" && !is_variable) {
            conceal(problems, section, key);
            let what = match key {
                "key_env" => "`agent.key_env` is the name of a variable; what stands there may be a key".to_owned(),
                key => format!("`agent.{key}` looks as if a key stood in it"),
            };
            problems.add(section.key_span(key), what, NOT_HERE);
            return None;
        }
    }
    let (variable, command) = (problems.string(section, "key_env"), problems.string(section, "key_command"));
    if variable.is_some() && command.is_some() {
        let what = "`agent.key_env` and `agent.key_command` cannot both be the source of the key";
        problems.add(section.key_span("key_command"), what, "remove one of them");
        return None;
    }
    Some(variable.map(KeySource::Variable).or(command.map(KeySource::Command)))
}

/// Where the server is, in the one form that everything else relies on.
fn base_url(problems: &mut Collector<'_>, section: &Section<'_>, provider: Provider) -> Option<String> {
    let Some(item) = section.get("base_url") else {
        let usual = provider.base_url().map(ToOwned::to_owned);
        if usual.is_none() {
            problems.missing(section, "base_url", "base_url = \"http://127.0.0.1:8080/v1\"");
        }
        return usual;
    };
    let text = problems.string(section, "base_url")?;
    let mut refuse = |what: &str, hint: &str| {
        problems.add(item.span(), format!("`agent.base_url` {what}"), hint.to_owned());
        None
    };
    let uri: Uri = match text.parse() {
        Ok(uri) => uri,
        Err(_) => return refuse("is no address", "write it as \"https://host/v1\""),
    };
    let (Some("http" | "https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return refuse("must begin with http:// or https://", "write it as \"https://host/v1\"");
    };
    if authority.as_str().contains('@') || uri.query().is_some() || text.contains('#') {
        conceal(problems, section, "base_url");
        let what = "`agent.base_url` must have no user, password, query or fragment";
        problems.add(section.key_span("base_url"), what, NOT_HERE);
        return None;
    }
    let path = uri.path().trim_end_matches('/');
    let version = match provider {
        Provider::Anthropic if !path.ends_with("/v1") => "/v1",
        Provider::Gemini if !path.ends_with("/v1beta") && !path.ends_with("/v1") => "/v1beta",
        Provider::Anthropic | Provider::Gemini => "",
        // Servers of one's own are named by host and port alone.
        _ if path.is_empty() => "/v1",
        _ => "",
    };
    Some(format!("{}://{authority}{path}{version}", uri.scheme_str().unwrap_or("https")))
}

fn conceal(problems: &mut Collector<'_>, section: &Section<'_>, key: &str) {
    if let Some(item) = section.get(key) {
        problems.conceal(item.span());
    }
}
