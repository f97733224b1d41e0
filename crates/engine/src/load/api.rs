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

/// Where a setting stands: in the agent's own table, or among those of all.
#[derive(Clone, Copy)]
pub(super) struct Scope<'s, 'a> {
    pub(super) own: Option<&'s Section<'a>>,
    pub(super) common: &'s Section<'a>,
}

impl<'s, 'a> Scope<'s, 'a> {
    fn of(&self, key: &str) -> &'s Section<'a> {
        match self.own {
            Some(own) if own.get(key).is_some() || self.common.get(key).is_none() => own,
            _ => self.common,
        }
    }

    fn has(&self, key: &str) -> bool {
        self.of(key).get(key).is_some()
    }
}

pub(super) fn read(problems: &mut Collector<'_>, scope: Scope<'_, '_>) -> Option<Api> {
    let providers = Provider::ALL.map(|provider| (provider.name(), provider));
    let provider = problems.word(scope.of("provider"), "provider", &providers, |_| {
        Some("any other server that speaks OpenAI's chat completions is \"compatible\", with a `base_url`".to_owned())
    });
    if !scope.has("provider") {
        problems.missing(scope.of("provider"), "provider", "provider = \"anthropic\"");
    }
    let model = problems.string(scope.of("model"), "model");
    if !scope.has("model") {
        problems.missing(scope.of("model"), "model", "model = \"…\"");
    }
    let edits = [Edits::Blocks, Edits::Whole, Edits::Values].map(|edits| (edits.name(), edits));
    let edits = problems.word(scope.of("edits"), "edits", &edits, |_| None).unwrap_or(Edits::Blocks);
    let max_tokens = problems.count(scope.of("max_tokens"), "max_tokens", 1..=MOST_TOKENS);
    let temperature = temperature(problems, scope.of("temperature"));
    let source = key(problems, scope);
    let base_url = provider.and_then(|provider| base_url(problems, scope.of("base_url"), provider));
    let (provider, model, base_url) = (provider?, model?, base_url?);
    let usual = || provider.key_variable().map(|name| KeySource::Variable(name.to_owned()));
    let key = source?.or_else(usual).unwrap_or(KeySource::None);
    if base_url.starts_with("http://") && !is_loopback(&base_url) && key != KeySource::None {
        let section = scope.of("base_url");
        let what = format!("`{}` would send the key over the network for everyone to read", section.path("base_url"));
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
        let what = format!("`{}` must be from 0 to 2", section.path("temperature"));
        problems.add(section.key_span("temperature"), what, "");
        return None;
    }
    Some(found)
}

/// Where the key is to come from, where anything is said of it; `None` where that is wrong.
fn key(problems: &mut Collector<'_>, scope: Scope<'_, '_>) -> Option<Option<KeySource>> {
    for key in OF_API.into_iter().chain(["model"]) {
        let section = scope.of(key);
        if refuse_key(problems, section, key) {
            return None;
        }
    }
    // What an agent has of its own takes the place of whatever is said for all.
    let is_own = |key: &str| scope.own.is_some_and(|own| own.get(key).is_some());
    let (from, other) = (["key_env", "key_command"].map(is_own), ["key_env", "key_command"]);
    let counts = |at: usize| !from[1 - at] || from[at];
    let [variable, command] =
        [0, 1].map(|at| counts(at).then(|| problems.string(scope.of(other[at]), other[at])).flatten());
    if variable.is_some() && command.is_some() {
        let section = scope.of("key_command");
        let (one, other) = (section.path("key_env"), section.path("key_command"));
        let what = format!("`{one}` and `{other}` cannot both be the source of the key");
        problems.add(section.key_span("key_command"), what, "remove one of them");
        return None;
    }
    Some(variable.map(KeySource::Variable).or(command.map(KeySource::Command)))
}

/// Refuses a value in which a key may stand, without showing it; says whether it did.
pub(super) fn refuse_key(problems: &mut Collector<'_>, section: &Section<'_>, key: &str) -> bool {
    let Some(value) = section.get(key).and_then(|item| item.get_ref().as_str()) else { return false };
    let is_key = value.split(|c: char| c.is_whitespace() || "'\"=:/@?&".contains(c)).any(holds_secret);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_variable = value.chars().all(is_name) && !value.starts_with(|c: char| c.is_ascii_digit());
    if !is_key && (key != "key_env" || is_variable) {
        return false;
    }
    conceal(problems, section, key);
    let what = match key {
        "key_env" => format!("`{}` is the name of a variable; what stands there may be a key", section.path(key)),
        key => format!("`{}` looks as if a key stood in it", section.path(key)),
    };
    problems.add(section.key_span(key), what, NOT_HERE);
    true
}

/// Where the server is, in the one form that everything else relies on.
fn base_url(problems: &mut Collector<'_>, section: &Section<'_>, provider: Provider) -> Option<String> {
    if section.get("base_url").is_none() {
        let usual = provider.base_url().map(ToOwned::to_owned);
        if usual.is_none() {
            problems.missing(section, "base_url", "base_url = \"http://127.0.0.1:8080/v1\"");
        }
        return usual;
    }
    let address = address(problems, section, "base_url")?;
    Some(match provider {
        Provider::Anthropic => with_version(&address, &["/v1"]),
        Provider::Gemini => with_version(&address, &["/v1beta", "/v1"]),
        // Servers of one's own are named by host and port alone.
        _ if !has_path(&address) => format!("{address}/v1"),
        _ => address,
    })
}

/// An address without an oblique stroke at its end, and with nothing in it that is nobody else's business.
pub(super) fn address(problems: &mut Collector<'_>, section: &Section<'_>, key: &str) -> Option<String> {
    let item = section.get(key)?;
    let text = problems.string(section, key)?;
    let mut refuse = |what: &str, hint: &str| {
        problems.add(item.span(), format!("`{}` {what}", section.path(key)), hint.to_owned());
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
        conceal(problems, section, key);
        let what = format!("`{}` must have no user, password, query or fragment", section.path(key));
        problems.add(section.key_span(key), what, NOT_HERE);
        return None;
    }
    let path = uri.path().trim_end_matches('/');
    Some(format!("{}://{authority}{path}", uri.scheme_str().unwrap_or("https")))
}

/// Whether anything stands behind the host.
pub(crate) fn has_path(address: &str) -> bool {
    address.split_once("://").is_some_and(|(_, rest)| rest.contains('/'))
}

/// The address with the first of these versions at its end, where none of them is there.
pub(crate) fn with_version(address: &str, versions: &[&str]) -> String {
    match versions.iter().any(|version| address.ends_with(version)) {
        true => address.to_owned(),
        false => format!("{address}{}", versions.first().unwrap_or(&"")),
    }
}

pub(super) fn conceal(problems: &mut Collector<'_>, section: &Section<'_>, key: &str) {
    if let Some(item) = section.get(key) {
        problems.conceal(item.span());
    }
}
