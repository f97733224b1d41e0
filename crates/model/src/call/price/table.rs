//! List prices, without discounts for batches or other tiers. Few models, all of them sure: whoever uses another one, or pays
//! something else, writes it down in the triplet.

use super::{Price, Rates};

/// When the list was made.
pub const DATED: &str = "2025-11";

/// By the name of a model without its date.
pub(super) const LIST: &[(&str, Price)] = &[
    ("claude-opus-4-5", anthropic(5.0, 25.0, 64_000)),
    ("claude-opus-4-1", anthropic(15.0, 75.0, 32_000)),
    ("claude-opus-4", anthropic(15.0, 75.0, 32_000)),
    ("claude-opus-4-0", anthropic(15.0, 75.0, 32_000)),
    ("claude-sonnet-4-5", long(anthropic(3.0, 15.0, 64_000), anthropic(6.0, 22.5, 64_000))),
    ("claude-sonnet-4", long(anthropic(3.0, 15.0, 64_000), anthropic(6.0, 22.5, 64_000))),
    ("claude-sonnet-4-0", long(anthropic(3.0, 15.0, 64_000), anthropic(6.0, 22.5, 64_000))),
    ("claude-haiku-4-5", anthropic(1.0, 5.0, 64_000)),
    ("claude-3-7-sonnet", anthropic(3.0, 15.0, 128_000)),
    ("claude-3-5-sonnet", anthropic(3.0, 15.0, 8192)),
    ("claude-3-5-haiku", anthropic(0.8, 4.0, 8192)),
    ("gpt-5", openai(1.25, 0.125, 10.0, 128_000)),
    ("gpt-5-codex", openai(1.25, 0.125, 10.0, 128_000)),
    ("gpt-5-mini", openai(0.25, 0.025, 2.0, 128_000)),
    ("gpt-5-nano", openai(0.05, 0.005, 0.4, 128_000)),
    ("gpt-5.1", openai(1.25, 0.125, 10.0, 128_000)),
    ("gpt-4.1", openai(2.0, 0.5, 8.0, 32_768)),
    ("gpt-4.1-mini", openai(0.4, 0.1, 1.6, 32_768)),
    ("gpt-4.1-nano", openai(0.1, 0.025, 0.4, 32_768)),
    ("gpt-4o", openai(2.5, 1.25, 10.0, 16_384)),
    ("gpt-4o-mini", openai(0.15, 0.075, 0.6, 16_384)),
    ("o3", openai(2.0, 0.5, 8.0, 100_000)),
    ("o4-mini", openai(1.1, 0.275, 4.4, 100_000)),
    // What Gemini's cache costs has changed too often to be sure of it.
    ("gemini-2.5-pro", long(plain(1.25, 10.0, 65_536), plain(2.5, 15.0, 65_536))),
    ("gemini-2.5-flash", plain(0.3, 2.5, 65_536)),
];

/// Reading from the cache is a tenth, writing into it a quarter more, and twice the price where it stays for an hour.
const fn anthropic(input: f64, output: f64, most_output: u64) -> Price {
    let (cached, written) = (Some(input / 10.0), Some(input * 1.25));
    let rates = Rates { input, cached, written, written_hour: Some(input * 2.0), output };
    Price { rates, long: None, most_output: Some(most_output) }
}

const fn openai(input: f64, cached: f64, output: f64, most_output: u64) -> Price {
    let rates = Rates { input, cached: Some(cached), written: None, written_hour: None, output };
    Price { rates, long: None, most_output: Some(most_output) }
}

const fn plain(input: f64, output: f64, most_output: u64) -> Price {
    let rates = Rates { input, cached: None, written: None, written_hour: None, output };
    Price { rates, long: None, most_output: Some(most_output) }
}

/// Another price for prompts of more than 200,000 tokens.
const fn long(price: Price, beyond: Price) -> Price {
    Price { long: Some((200_000, beyond.rates)), ..price }
}
