//! One question and one answer in the words of each protocol.

mod chat;
mod gemini;
mod messages;
mod responses;

use overnight_model::call::Protocol;
use overnight_model::event::ModelUse;
use overnight_model::spec::{Api, Provider};
use serde_json::Value;

/// What a model is asked.
pub(super) struct Question<'a> {
    pub(super) api: &'a Api,
    /// What it is and how it has to answer: the same for all questions of a study.
    pub(super) system: &'a str,
    /// What changes seldom comes first, so that a provider finds it in its cache.
    pub(super) parts: &'a [String],
    /// What its answer has to keep to, where it is JSON.
    pub(super) schema: Option<&'a Value>,
}

/// A question as it is sent.
pub(crate) struct Sheet {
    pub(crate) url: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Value,
}

/// An answer as it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Reply {
    pub(super) text: String,
    /// The model, or somebody between us, would not.
    pub(super) refused: bool,
    /// It was not at its end when it had to stop.
    pub(super) is_cut: bool,
    pub(super) used: ModelUse,
}

/// The language of a provider.
pub(super) fn protocol(provider: Provider) -> Protocol {
    match provider {
        Provider::Anthropic => Protocol::Messages,
        Provider::OpenaiResponses => Protocol::Responses,
        Provider::Gemini => Protocol::Gemini,
        Provider::Openai | Provider::Ollama | Provider::Openrouter | Provider::Compatible => Protocol::Chat,
    }
}

/// Writes a question, with the key where there is one.
pub(super) fn write(question: &Question<'_>, key: Option<&str>) -> Sheet {
    match protocol(question.api.provider) {
        Protocol::Chat => chat::write(question, key),
        Protocol::Responses => responses::write(question, key),
        Protocol::Messages => messages::write(question, key),
        Protocol::Gemini => gemini::write(question, key),
    }
}

/// Reads an answer; `None` where it is none of this protocol.
pub(super) fn read(provider: Provider, body: &Value) -> Option<Reply> {
    match protocol(provider) {
        Protocol::Chat => chat::read(body),
        Protocol::Responses => responses::read(body),
        Protocol::Messages => messages::read(body),
        Protocol::Gemini => gemini::read(body),
    }
}

fn bearer(key: Option<&str>) -> Vec<(&'static str, String)> {
    key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
}

/// The texts of a list of parts that are of a kind, one after the other.
fn texts(parts: &Value, kind: &str, field: &str) -> String {
    let parts = parts.as_array().map(Vec::as_slice).unwrap_or_default();
    parts.iter().filter(|part| part["type"] == kind).filter_map(|part| part[field].as_str()).collect()
}

fn model_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
