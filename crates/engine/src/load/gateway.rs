//! The gateway: whom calls to models go to, and whose key they get. The key itself is never in the triplet.

use overnight_model::call::Protocol;
use overnight_model::call::price::{Price, Prices};
use overnight_model::spec::{ExpectModel, Gateway, KeySource, ProviderSpec, Surface};
use toml::de::DeValue;

use super::api::{address, refuse_key};
use super::document::Section;
use super::problem::Collector;
use crate::agent::api::is_loopback;
use crate::gateway::known;

const PROTOCOL_HINT: &str = "write \"messages\", \"chat\", \"responses\" or \"gemini\", or a list of them";

pub(super) fn read(problems: &mut Collector<'_>, top: &Section<'_>, surface: Option<&Surface>) -> Gateway {
    let Some(section) = problems.section(top, "gateway", "gateway") else { return Gateway::default() };
    let tables = section.entries().filter(|(_, item)| item.get_ref().is_table());
    let names = tables.map(|(name, _)| name.get_ref().as_ref()).filter(|name| *name != "prices");
    let names: Vec<&str> = names.collect();
    let providers = names.into_iter().filter_map(|name| provider(problems, &section, name)).collect();
    let words = [("record", ExpectModel::Record), ("stop", ExpectModel::Stop)];
    let expect_model = problems.word(&section, "expect_model", &words, |_| None).unwrap_or_default();
    let tapes = super::tapes::read(problems, &section, surface);
    Gateway { providers, tapes, prices: prices(problems, &section), expect_model }
}

/// What a person pays for models, in dollars for a million tokens.
fn prices(problems: &mut Collector<'_>, section: &Section<'_>) -> Prices {
    let Some(prices) = problems.section(section, "prices", "gateway.prices") else { return Prices::default() };
    let names: Vec<&str> = prices.entries().map(|(name, _)| name.get_ref().as_ref()).collect();
    Prices::new(names.into_iter().filter_map(|model| Some((model.to_owned(), price(problems, &prices, model)?))))
}

fn price(problems: &mut Collector<'_>, prices: &Section<'_>, model: &str) -> Option<Price> {
    let own = problems.section_of(prices, model, "gateway.prices.MODEL")?;
    let mut rate = |key: &str| problems.share(&own, key).map(|rate| rate.get());
    let (input, cached, written, output) = (rate("input"), rate("cached"), rate("written"), rate("output"));
    for (key, line) in [("input", "input = 3.0"), ("output", "output = 15.0")] {
        if own.get(key).is_none() {
            problems.missing(&own, key, line);
        }
    }
    let most_output = problems.count(&own, "most_output", 1..=u64::MAX);
    Some(Price { most_output, ..Price::own(input?, cached, written, output?) })
}

fn provider(problems: &mut Collector<'_>, section: &Section<'_>, name: &str) -> Option<ProviderSpec> {
    let own = problems.section_of(section, name, "gateway.NAME")?;
    // It becomes a part of an address.
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    if name.is_empty() || !name.chars().all(is_plain) || matches!(name, "v1" | "v1beta") {
        let what = format!("`{}` cannot be the name of a provider", name.escape_debug());
        problems.add(section.key_span(name), what, "a name is small letters, digits, `-` and `_`");
        return None;
    }
    let known = known(name);
    for key in ["url", "key_env", "key_command"] {
        if refuse_key(problems, &own, key) {
            return None;
        }
    }
    let protocols = protocols(problems, &own);
    let variable = problems.string(&own, "key_env");
    let command = problems.string(&own, "key_command");
    if variable.is_some() && command.is_some() {
        let (one, other) = (own.path("key_env"), own.path("key_command"));
        let what = format!("`{one}` and `{other}` cannot both be the source of the key");
        problems.add(own.key_span("key_command"), what, "remove one of them");
        return None;
    }
    let key = variable.map(KeySource::Variable).or(command.map(KeySource::Command));
    if known.is_none() {
        for (key, line) in [("url", "url = \"http://127.0.0.1:8080/v1\""), ("protocol", "protocol = \"chat\"")] {
            if own.get(key).is_none() {
                problems.missing(&own, key, line);
            }
        }
    }
    let url = address(problems, &own, "url");
    let has_key = key.is_some() || known.is_some_and(|known| !known.keys.is_empty());
    if let Some(url) = &url
        && url.starts_with("http://")
        && !is_loopback(url)
        && has_key
    {
        let what = format!("`{}` would send the key over the network for everyone to read", own.path("url"));
        problems.add(own.key_span("url"), what, "write `https://`; `http://` with a key is for this machine only");
        return None;
    }
    let subscription = problems.boolean(&own, "subscription").unwrap_or(false);
    Some(ProviderSpec { name: name.to_owned(), url, protocols, key, subscription })
}

/// One or several; none where nothing is said.
fn protocols(problems: &mut Collector<'_>, section: &Section<'_>) -> Vec<Protocol> {
    let Some(item) = section.get("protocol") else { return Vec::new() };
    let words = Protocol::ALL.map(|protocol| (protocol.name(), protocol));
    match item.get_ref() {
        DeValue::Array(items) => {
            let mut found = Vec::new();
            for item in items.iter() {
                match words.iter().find(|(word, _)| item.get_ref().as_str() == Some(word)) {
                    Some((_, protocol)) => found.push(*protocol),
                    None => {
                        let what = format!("`{}` names a protocol that is not known", section.path("protocol"));
                        problems.add(item.span(), what, PROTOCOL_HINT);
                    }
                }
            }
            found
        }
        _ => problems.word(section, "protocol", &words, |_| Some(PROTOCOL_HINT.to_owned())).into_iter().collect(),
    }
}
