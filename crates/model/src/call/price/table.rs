//! List prices, without discounts for batches or other ways of serving. Few models, those that are on offer now: whoever uses
//! another one, or pays something else, writes it down in the triplet. Names that wander from model to model (`-latest`) are
//! left out: the provider's answer says which one it was.
//!
//! Facts out of the list of prices that the Python package litellm keeps (1.108.4).

use super::{Price, Rates};

/// When the list was made.
pub const DATED: &str = "2026-11-09";

/// By the name of a model without its date, of models that one maker alone has: whoever else passes calls on to them takes
/// its price.
pub(super) const LIST: &[(&str, Price)] = &[
    ("claude-fable-5-1", anthropic(10.0, 0.25, 50.0, 128_000)),
    ("claude-fable-5", anthropic(10.0, 1.0, 50.0, 128_000)),
    ("claude-mythos-5-1", anthropic(10.0, 0.25, 50.0, 128_000)),
    ("claude-mythos-5", anthropic(10.0, 1.0, 50.0, 128_000)),
    ("claude-opus-5-5", anthropic(4.0, 0.2, 20.0, 128_000)),
    ("claude-opus-5", anthropic(5.0, 0.5, 25.0, 128_000)),
    ("claude-opus-4-8", anthropic(5.0, 0.5, 25.0, 128_000)),
    ("claude-opus-4-7", anthropic(5.0, 0.5, 25.0, 128_000)),
    ("claude-opus-4-6", anthropic(5.0, 0.5, 25.0, 128_000)),
    ("claude-opus-4-5", anthropic(5.0, 0.5, 25.0, 64_000)),
    ("claude-sonnet-5-5", anthropic(2.0, 0.1, 10.0, 128_000)),
    ("claude-sonnet-5", anthropic(2.0, 0.2, 10.0, 128_000)),
    ("claude-sonnet-4-6", anthropic(3.0, 0.3, 15.0, 128_000)),
    ("claude-sonnet-4-5", anthropic(3.0, 0.3, 15.0, 64_000)),
    ("claude-haiku-5-5", beyond(100_000, anthropic(0.1, 0.01, 0.5, 128_000), anthropic(0.5, 0.05, 2.5, 128_000))),
    ("claude-haiku-4-5", anthropic(1.0, 0.1, 5.0, 64_000)),
    ("gpt-6-astra", beyond(272_000, writing(10.0, 1.0, 50.0, 128_000), writing(20.0, 2.0, 75.0, 128_000))),
    ("gpt-6-sol", beyond(272_000, writing(2.0, 0.2, 10.0, 128_000), writing(4.0, 0.4, 15.0, 128_000))),
    ("gpt-6-luna", beyond(272_000, writing(0.1, 0.01, 0.5, 128_000), writing(0.2, 0.02, 0.75, 128_000))),
    ("gpt-5.6", beyond(272_000, writing(4.0, 0.4, 20.0, 128_000), writing(8.0, 0.8, 30.0, 128_000))),
    ("gpt-5.6-sol", beyond(272_000, writing(4.0, 0.4, 20.0, 128_000), writing(8.0, 0.8, 30.0, 128_000))),
    ("gpt-5.6-terra", beyond(272_000, writing(2.0, 0.2, 12.0, 128_000), writing(4.0, 0.4, 18.0, 128_000))),
    ("gpt-5.6-luna", beyond(272_000, writing(0.2, 0.02, 1.2, 128_000), writing(0.4, 0.04, 1.8, 128_000))),
    ("gpt-5.5", beyond(272_000, cached(5.0, 0.5, 30.0, 128_000), cached(10.0, 1.0, 45.0, 128_000))),
    ("gpt-5.5-pro", beyond(272_000, plain(30.0, 180.0, 128_000), plain(60.0, 270.0, 128_000))),
    ("gpt-5.4", beyond(272_000, cached(2.5, 0.25, 15.0, 128_000), cached(5.0, 0.5, 22.5, 128_000))),
    ("gpt-5.4-pro", beyond(272_000, plain(30.0, 180.0, 128_000), plain(60.0, 270.0, 128_000))),
    ("gpt-5.4-mini", cached(0.75, 0.075, 4.5, 128_000)),
    ("gpt-5.4-nano", cached(0.2, 0.02, 1.25, 128_000)),
    ("gpt-5.3-codex", cached(1.75, 0.175, 14.0, 128_000)),
    ("gpt-5.2", cached(1.75, 0.175, 14.0, 128_000)),
    ("gpt-5.2-pro", plain(21.0, 168.0, 128_000)),
    ("gpt-5.1", cached(1.25, 0.125, 10.0, 128_000)),
    ("gpt-5", cached(1.25, 0.125, 10.0, 128_000)),
    ("gpt-5-pro", plain(15.0, 120.0, 272_000)),
    ("gpt-5-mini", cached(0.25, 0.025, 2.0, 128_000)),
    ("gpt-5-nano", cached(0.05, 0.005, 0.4, 128_000)),
    ("gpt-4.1", cached(2.0, 0.5, 8.0, 32_768)),
    ("gpt-4.1-mini", cached(0.4, 0.1, 1.6, 32_768)),
    ("gpt-4o", cached(2.5, 1.25, 10.0, 16_384)),
    // The one date that has a price of its own.
    ("gpt-4o-2024-05-13", plain(5.0, 15.0, 4096)),
    ("gpt-4o-mini", cached(0.15, 0.075, 0.6, 16_384)),
    ("o3", cached(2.0, 0.5, 8.0, 100_000)),
    ("o3-pro", plain(20.0, 80.0, 100_000)),
    ("gemini-4-argon", cached(2.0, 0.1, 10.0, 1_048_576)),
    ("gemini-3.8-flash", cached(0.75, 0.075, 3.75, 65_536)),
    ("gemini-3.7-flash", cached(0.75, 0.075, 3.75, 65_536)),
    ("gemini-3.6-flash", cached(0.75, 0.075, 3.75, 65_536)),
    ("gemini-3.5-flash", cached(1.5, 0.15, 9.0, 65_536)),
    ("gemini-3.5-flash-lite", cached(0.3, 0.03, 2.5, 65_536)),
    ("gemini-3.1-pro-preview", beyond(200_000, cached(2.0, 0.2, 12.0, 65_536), cached(4.0, 0.4, 18.0, 65_536))),
    ("gemini-3.1-flash-lite", cached(0.25, 0.025, 1.5, 65_536)),
    ("gemini-3-flash-preview", cached(0.5, 0.05, 3.0, 65_536)),
    ("gemini-2.5-pro", beyond(200_000, cached(1.25, 0.125, 10.0, 65_536), cached(2.5, 0.25, 15.0, 65_536))),
    ("gemini-2.5-flash", cached(0.3, 0.03, 2.5, 65_536)),
    ("gemini-2.5-flash-lite", cached(0.1, 0.01, 0.4, 65_536)),
    ("grok-4.7", beyond(200_000, cached(2.0, 0.5, 6.0, 500_000), cached(4.0, 1.0, 12.0, 500_000))),
    ("grok-4.6", beyond(200_000, cached(2.0, 0.5, 6.0, 500_000), cached(4.0, 1.0, 12.0, 500_000))),
    ("grok-4.5", beyond(200_000, cached(2.0, 0.3, 6.0, 500_000), cached(4.0, 0.6, 12.0, 500_000))),
    ("grok-4.3", beyond(200_000, cached(1.25, 0.2, 2.5, 1_000_000), cached(2.5, 0.4, 5.0, 1_000_000))),
    ("grok-4.20", beyond(200_000, cached(1.25, 0.2, 2.5, 1_000_000), cached(2.5, 0.4, 5.0, 1_000_000))),
    ("grok-code-fast-1", beyond(200_000, cached(1.0, 0.2, 2.0, 256_000), cached(2.0, 0.4, 4.0, 256_000))),
];

/// By provider and name, of models whose weights anybody may serve, at any price.
pub(super) const SERVED: &[(&str, &str, Price)] = &[
    ("mistral", "mistral-large-2512", cached(0.5, 0.05, 1.5, 262_144)),
    ("mistral", "mistral-medium-3-5", cached(1.5, 0.15, 7.5, 262_144)),
    ("mistral", "mistral-medium-2604", cached(1.5, 0.15, 7.5, 262_144)),
    ("mistral", "mistral-small-2603", cached(0.15, 0.015, 0.6, 262_144)),
    ("mistral", "ministral-14b-2512", cached(0.2, 0.02, 0.2, 262_144)),
    ("mistral", "codestral-2508", cached(0.3, 0.03, 0.9, 128_000)),
    ("mistral", "ministral-8b-2512", cached(0.15, 0.015, 0.15, 262_144)),
    ("deepseek", "deepseek-v4-pro", cached(1.32, 0.044, 3.96, 393_216)),
    ("deepseek", "deepseek-v4-flash", cached(0.3, 0.006, 1.2, 393_216)),
    ("moonshot", "kimi-k3", cached(3.0, 0.3, 15.0, 1_048_576)),
    ("moonshot", "kimi-k2.7-code", cached(0.95, 0.19, 4.0, 262_144)),
    ("moonshot", "kimi-k2.6", cached(0.95, 0.16, 4.0, 262_144)),
    ("moonshot", "kimi-k2.5", cached(0.6, 0.1, 3.0, 262_144)),
    ("groq", "openai/gpt-oss-120b", cached(0.15, 0.075, 0.6, 65_536)),
    ("groq", "openai/gpt-oss-20b", cached(0.075, 0.0375, 0.3, 65_536)),
    ("groq", "qwen/qwen3.8-27b", plain(0.8, 4.0, 16_384)),
    ("cerebras", "gpt-oss-120b", plain(0.35, 0.75, 32_768)),
    ("cerebras", "qwen-3.8-27b", plain(0.99, 1.49, 32_768)),
    ("cerebras", "gemma-4-31b", plain(0.99, 1.49, 40_960)),
];

/// Writing into the cache is a quarter more than reading, and twice the price where it stays for an hour.
const fn anthropic(input: f64, cached: f64, output: f64, most_output: u64) -> Price {
    let rates =
        Rates { input, cached: Some(cached), written: Some(input * 1.25), written_hour: Some(input * 2.0), output };
    Price { rates, long: None, most_output: Some(most_output) }
}

/// The same without an hour.
const fn writing(input: f64, cached: f64, output: f64, most_output: u64) -> Price {
    let rates = Rates { input, cached: Some(cached), written: Some(input * 1.25), written_hour: None, output };
    Price { rates, long: None, most_output: Some(most_output) }
}

/// Nothing is paid for writing into the cache.
const fn cached(input: f64, cached: f64, output: f64, most_output: u64) -> Price {
    let rates = Rates { input, cached: Some(cached), written: None, written_hour: None, output };
    Price { rates, long: None, most_output: Some(most_output) }
}

/// What is read out of a cache has no price that is known.
const fn plain(input: f64, output: f64, most_output: u64) -> Price {
    let rates = Rates { input, cached: None, written: None, written_hour: None, output };
    Price { rates, long: None, most_output: Some(most_output) }
}

/// Another price for prompts of more than so many tokens.
const fn beyond(tokens: u64, price: Price, beyond: Price) -> Price {
    Price { long: Some((tokens, beyond.rates)), ..price }
}
