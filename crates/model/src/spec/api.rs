//! A model that is asked over its HTTP API, without a program in between.

use crate::units::Score;

/// Which model, where, with whose key, and how it is to say what it changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Api {
    pub provider: Provider,
    pub model: String,
    /// Where it is, without user, query or an oblique stroke at the end.
    pub base_url: String,
    pub key: KeySource,
    pub edits: Edits,
    /// How long an answer may be, in the model's own tokens; the provider's limit where none is said.
    pub max_tokens: Option<u64>,
    /// The provider's own where none is said.
    pub temperature: Option<Score>,
}

impl Api {
    /// `openai gpt-x at https://api.openai.com/v1`
    pub fn described(&self) -> String {
        format!("{} {} at {}", self.provider.name(), self.model, self.base_url)
    }
}

/// Where the key comes from; never out of the triplet itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A variable of the person's environment.
    Variable(String),
    /// What a command prints, asked anew for every question: keys may be short-lived.
    Command(String),
    None,
}

/// How a model says what it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edits {
    /// Lines that are to be replaced, each with its file.
    Blocks,
    /// Whole files.
    Whole,
    /// Values of literals alone, as JSON by a schema.
    Values,
}

impl Edits {
    pub fn name(self) -> &'static str {
        match self {
            Edits::Blocks => "blocks",
            Edits::Whole => "whole",
            Edits::Values => "values",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Anthropic,
    Openai,
    OpenaiResponses,
    Gemini,
    Ollama,
    Openrouter,
    /// Any server that speaks OpenAI's chat completions.
    Compatible,
}

impl Provider {
    pub const ALL: [Provider; 7] = [
        Provider::Anthropic,
        Provider::Openai,
        Provider::OpenaiResponses,
        Provider::Gemini,
        Provider::Ollama,
        Provider::Openrouter,
        Provider::Compatible,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Provider::Anthropic => "anthropic",
            Provider::Openai => "openai",
            Provider::OpenaiResponses => "openai-responses",
            Provider::Gemini => "gemini",
            Provider::Ollama => "ollama",
            Provider::Openrouter => "openrouter",
            Provider::Compatible => "compatible",
        }
    }

    /// Where it is; a compatible server can be anywhere.
    pub fn base_url(self) -> Option<&'static str> {
        match self {
            Provider::Anthropic => Some("https://api.anthropic.com/v1"),
            Provider::Openai | Provider::OpenaiResponses => Some("https://api.openai.com/v1"),
            Provider::Gemini => Some("https://generativelanguage.googleapis.com/v1beta"),
            Provider::Ollama => Some("http://127.0.0.1:11434/v1"),
            Provider::Openrouter => Some("https://openrouter.ai/api/v1"),
            Provider::Compatible => None,
        }
    }

    /// The variable that its key is usually in; none where a key is not usual.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Provider::Anthropic => Some("ANTHROPIC_API_KEY"),
            Provider::Openai | Provider::OpenaiResponses => Some("OPENAI_API_KEY"),
            Provider::Gemini => Some("GEMINI_API_KEY"),
            Provider::Openrouter => Some("OPENROUTER_API_KEY"),
            Provider::Ollama | Provider::Compatible => None,
        }
    }
}
