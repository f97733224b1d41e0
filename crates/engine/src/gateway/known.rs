//! Providers that are known by name: where they are, what they speak, and where a person usually keeps their keys.

use overnight_model::call::Protocol::{self, Chat, Gemini, Messages, Responses};

/// What is usual for a provider.
#[derive(Debug)]
pub struct Known {
    pub name: &'static str,
    pub url: &'static str,
    pub protocols: &'static [Protocol],
    /// Variables that its key may be in, the first one that is set counts.
    pub keys: &'static [&'static str],
    /// Variables that say that it is somewhere else.
    pub urls: &'static [&'static str],
}

pub const ALL: &[Known] = &[
    Known {
        name: "anthropic",
        url: "https://api.anthropic.com",
        protocols: &[Messages],
        keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
        urls: &["ANTHROPIC_BASE_URL"],
    },
    Known {
        name: "openai",
        url: "https://api.openai.com/v1",
        protocols: &[Chat, Responses],
        keys: &["OPENAI_API_KEY", "CODEX_API_KEY"],
        urls: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
    },
    Known {
        name: "gemini",
        url: "https://generativelanguage.googleapis.com/v1beta",
        protocols: &[Gemini],
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
        urls: &["GOOGLE_GEMINI_BASE_URL"],
    },
    chat("openrouter", "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"]),
    chat("deepseek", "https://api.deepseek.com/v1", &["DEEPSEEK_API_KEY"]),
    chat("groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"]),
    chat("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"]),
    chat("xai", "https://api.x.ai/v1", &["XAI_API_KEY"]),
    chat("cerebras", "https://api.cerebras.ai/v1", &["CEREBRAS_API_KEY"]),
    chat("moonshot", "https://api.moonshot.ai/v1", &["MOONSHOT_API_KEY"]),
    chat("ollama", "http://127.0.0.1:11434/v1", &[]),
];

/// The provider of that name.
pub fn known(name: &str) -> Option<&'static Known> {
    ALL.iter().find(|known| known.name == name)
}

const fn chat(name: &'static str, url: &'static str, keys: &'static [&'static str]) -> Known {
    Known { name, url, protocols: &[Chat], keys, urls: &[] }
}
