//! A model over its API, as far as it can be told without asking it: where it is, and whether its key is there.

use overnight_engine::agent::api::has_key;
use overnight_engine::agent::preset;
use overnight_engine::load;
use overnight_model::spec::{Api, Gateway, KeySource, Preset, Provider};
use serde_json::{Value, json};

use crate::error::{CliError, Outcome};
use crate::ui::printable;

/// Refuses one that cannot be asked, before anything is spent on it. A command for keys is not run here.
pub(super) fn refuse_without_key(api: &Api) -> Outcome<()> {
    let KeySource::Variable(name) = &api.key else { return Ok(()) };
    if has_key(&api.key) {
        return Ok(());
    }
    let what = format!("`{name}` is not set: {} would not answer without a key", api.provider.name());
    Err(CliError::usage(what)
        .hint(format!("export {name}=…, or name another source: `key_env` or `key_command` in [agent]")))
}

/// What is missed of a coding agent's keys, where not one of them is set, the triplet names no other place for any, and
/// somebody is to be asked at all. It is no refusal: a server of one's own may want none.
pub(crate) fn missed_keys(preset: Preset, gateway: &Gateway) -> Option<String> {
    let is_offline = gateway.tapes.replay.is_some();
    if is_offline || gateway.providers.iter().any(|provider| provider.key.is_some() || provider.url.is_some()) {
        return None;
    }
    let is_key = |name: &&str| ["_KEY", "_TOKEN"].iter().any(|end| name.ends_with(end));
    let keys: Vec<&str> = preset::variables(preset).into_iter().filter(is_key).collect();
    let is_set = load::named_environment(&keys).iter().any(|(_, value)| !value.is_empty());
    let name = preset.name();
    (!is_set).then(|| format!("{name} gets no key from your environment: none of {} is set", keys.join(", ")))
}

/// The lines of the list of agents, for those of the study by their names.
pub(super) fn lines(chosen: &[(&str, &Api)]) -> Vec<String> {
    if chosen.is_empty() {
        let here = keys_here();
        let here = if here.is_empty() { "no key of a known provider is set".to_owned() } else { here.join(", ") };
        return vec![
            "api       a model over its HTTP API: `use = \"api\"` with `provider` and `model` in [agent]".to_owned(),
            format!("{:10}keys here: {here}", ""),
        ];
    }
    let one = |(name, api): &(&str, &Api)| {
        [
            printable(&format!("{name:<9} {}, the agent of this study", api.described())),
            printable(&format!("{:10}{}", "", key_line(&api.key))),
            format!("{:10}answers with {}", "", api.edits.name()),
        ]
    };
    chosen.iter().flat_map(one).collect()
}

fn key_line(source: &KeySource) -> String {
    match source {
        KeySource::None => "is asked without a key".to_owned(),
        KeySource::Command(command) => format!("key from `{command}`, which is not run by this list"),
        KeySource::Variable(name) if has_key(source) => format!("key from {name}, which is set"),
        KeySource::Variable(name) => format!("key from {name}, which is NOT set"),
    }
}

/// The variables of known providers that are set.
fn keys_here() -> Vec<String> {
    let mut names: Vec<&str> = Provider::ALL.into_iter().filter_map(Provider::key_variable).collect();
    names.dedup();
    load::named_environment(&names).into_iter().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name).collect()
}

pub(super) fn as_json(chosen: &[(&str, &Api)]) -> Vec<Value> {
    if chosen.is_empty() {
        return vec![json!({ "name": "api", "chosen": false, "variables": keys_here() })];
    }
    let one = |(name, api): &(&str, &Api)| {
        let (variable, command) = match &api.key {
            KeySource::Variable(name) => (Some(name), None),
            KeySource::Command(command) => (None, Some(command)),
            KeySource::None => (None, None),
        };
        json!({
            "name": name,
            "chosen": true,
            "provider": api.provider.name(),
            "model": api.model,
            "base_url": api.base_url,
            "key_env": variable,
            "key_command": command,
            "has_key": variable.map(|_| has_key(&api.key)),
            "edits": api.edits.name(),
        })
    };
    chosen.iter().map(one).collect()
}
