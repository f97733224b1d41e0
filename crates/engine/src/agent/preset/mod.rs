//! Coding agents that are known by name: how each is started without a terminal, and how its output is read.
//!
//! Every one gets the prompt on its standard input, a home of its own, and of the person's environment only the variables
//! named here. None is trusted: what counts is the difference that it leaves.

mod aider;
mod claude;
mod codex;
mod find;
mod gemini;
mod mini;
mod opencode;
mod pi;
mod said;
mod through;
mod trouble;

pub use find::{Found, find, version};
pub(crate) use find::{GREETING_LIMIT, folders, greeting, version_in};
pub(crate) use said::{Listener, Said, is_other_model, title};
pub(crate) use through::{Through, refusal};
pub(crate) use trouble::{classify, complains_of, wait_in};

use overnight_model::spec::{self, Coding, Preset};
use serde_json::Value;

use crate::gateway;

/// What a company's network may ask of every program that leaves it.
pub(super) const NETWORK: [&str; 8] = [
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "https_proxy",
    "http_proxy",
    "no_proxy",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
];

/// What a command line is made of.
pub(crate) struct Call<'a> {
    pub(crate) coding: &'a Coding,
    /// The files that may be edited, from the folder that the agent works in.
    pub(crate) surface: &'a [String],
    /// The variables that are passed on to it.
    pub(crate) environment: &'a [(String, String)],
    /// Whether there is a sandbox around it.
    pub(crate) is_kept_in: bool,
    /// Where the gateway stands for the provider that it asks.
    pub(crate) through: Option<&'a Through>,
}

impl Call<'_> {
    /// A variable that has a value.
    fn variable(&self, name: &str) -> Option<&str> {
        let found = self.environment.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    fn model(&self) -> Option<&str> {
        self.coding.model.as_deref()
    }

    /// A command line of words, each as it is, with the person's own arguments at the end.
    fn line<'b>(&'b self, words: impl IntoIterator<Item = &'b str>) -> String {
        let own = self.coding.args.iter().map(String::as_str);
        words.into_iter().chain(own).map(quoted).collect::<Vec<_>>().join(" ")
    }
}

/// The variables of the person's environment that an agent gets beyond those of every command.
pub fn variables(preset: Preset) -> Vec<&'static str> {
    let own: &[&str] = match preset {
        Preset::Claude => &claude::VARIABLES,
        Preset::Codex => &codex::VARIABLES,
        Preset::Gemini => &gemini::VARIABLES,
        Preset::Opencode | Preset::Pi => &opencode::VARIABLES,
        Preset::Aider | Preset::Mini => &aider::VARIABLES,
    };
    own.iter().chain(&NETWORK).copied().collect()
}

/// What a shell runs, with the prompt on its standard input.
pub(crate) fn command(call: &Call<'_>) -> String {
    match call.coding.preset {
        Preset::Claude => claude::command(call),
        Preset::Codex => codex::command(call),
        Preset::Gemini => gemini::command(call),
        Preset::Opencode => opencode::command(call),
        Preset::Aider => aider::command(call),
        Preset::Pi => pi::command(call),
        Preset::Mini => mini::command(call),
    }
}

/// The command that an agent would be started with, for people to read. `set` is what of its variables a person has set.
pub fn described(coding: &Coding, surface: &[String], set: &[(String, String)]) -> String {
    let upstreams = gateway::resolve(&spec::Gateway::default(), set, |_, _| Ok(None));
    let url = format!("http://127.0.0.1:{}", gateway::PORT);
    let through = Through::new(coding, upstreams, &url, "made-up").ok();
    let environment = through.as_ref().map(|through| through.told(coding, set)).unwrap_or_default();
    let call = Call { coding, surface, environment: &environment, is_kept_in: true, through: through.as_ref() };
    without_passwords(&command(&call))
}

/// The text with who logs in where taken out of every address: `https://name:word@host` is a key like any other.
fn without_passwords(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let end = after.find(|c: char| c.is_whitespace() || "/?#'\"".contains(c)).unwrap_or(after.len());
        let host = after[..end].rfind('@').map_or(0, |at| at + 1);
        shown += before;
        shown += if host > 0 { "://***@" } else { "://" };
        shown += &after[host..end];
        rest = &after[end..];
    }
    shown + rest
}

/// Learns from one event of an agent's stream.
fn hear(preset: Preset, said: &mut Said, event: &Value) {
    match preset {
        Preset::Claude => claude::hear(said, event),
        Preset::Codex => codex::hear(said, event),
        Preset::Gemini => gemini::hear(said, event),
        Preset::Opencode => opencode::hear(said, event),
        Preset::Pi => pi::hear(said, event),
        Preset::Aider | Preset::Mini => {}
    }
}

/// Learns from one line that is no event.
fn hear_line(preset: Preset, said: &mut Said, line: &str) {
    match preset {
        Preset::Aider => aider::hear_line(said, line),
        Preset::Mini => mini::hear_line(said, line),
        _ => {}
    }
}

/// A word as a shell takes it, whatever is in it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests;
