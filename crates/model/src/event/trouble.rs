//! What was wrong when an agent's turn gave nothing, as far as it can be told.

use serde::{Deserialize, Serialize};

use super::AttemptFailure;
use crate::call::Tokens;
use crate::call::account::Reached;
use crate::call::bill::Bill;
use crate::units::Timestamp;

/// The kind of a failed attempt. Names are stored; a reader passes over one that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Trouble {
    /// The provider has had enough for now.
    RateLimit {
        /// When it may be asked again, where it said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
    },
    /// The provider cannot be reached, or fails.
    Outage,
    /// The key, or what is left to be spent with it, is not good enough.
    Denied,
    /// The provider knows no model of that name (any more).
    UnknownModel,
    /// What was to be read is longer than the model can take.
    ContextOverflow,
    /// The model would not.
    Refusal,
    /// A complete answer with nothing in it.
    Empty,
    /// An answer, but none that an edit could be made of.
    Malformed,
    /// Still at it when its time was up.
    Hung,
    /// It ended itself, without a word that is known here.
    Crashed,
    /// It spent what one proposal, or a night, may cost.
    Limit { reached: Reached },
    #[serde(other)]
    Other,
}

impl Trouble {
    /// Whether the agent may do better when it is asked later, whatever it is asked.
    pub fn is_providers(&self) -> bool {
        matches!(self, Trouble::RateLimit { .. } | Trouble::Outage)
    }

    /// Whether it says nothing against the agent.
    pub fn is_excused(&self) -> bool {
        self.is_providers() || matches!(self, Trouble::Limit { .. })
    }

    pub fn retry_at(&self) -> Option<Timestamp> {
        match self {
            Trouble::RateLimit { retry_at } => *retry_at,
            _ => None,
        }
    }

    /// What it is, in the words of screens.
    pub fn name(&self) -> &'static str {
        match self {
            Trouble::RateLimit { .. } => "rate limit",
            Trouble::Outage => "provider outage",
            Trouble::Denied => "access denied",
            Trouble::UnknownModel => "unknown model",
            Trouble::ContextOverflow => "context overflow",
            Trouble::Refusal => "refusal",
            Trouble::Empty => "empty answer",
            Trouble::Malformed => "malformed answer",
            Trouble::Hung => "out of time",
            Trouble::Crashed => "crash",
            Trouble::Limit { .. } => "limit reached",
            Trouble::Other => "failure",
        }
    }
}

/// What a model was asked for one proposal, as its provider counts it. What it does not say is not known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelUse {
    /// Who answered, by the provider's name for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// How often it was asked.
    pub calls: u32,
    /// Tokens that it read, those out of a cache among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Tokens that it wrote, those of its reasoning among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// At list price, where that is known and the calls were not counted one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl ModelUse {
    /// Takes in what another call cost.
    pub fn add(&mut self, other: &ModelUse) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        let ModelUse { model, calls, input, output, cached, reasoning, cost_usd } = other;
        if !model.is_empty() {
            self.model.clone_from(model);
        }
        self.calls = self.calls.saturating_add(*calls);
        self.input = sum(self.input, *input);
        self.output = sum(self.output, *output);
        self.cached = sum(self.cached, *cached);
        self.reasoning = sum(self.reasoning, *reasoning);
        self.cost_usd = self.cost_usd.zip(*cost_usd).map(|(a, b)| a + b);
    }

    /// The same as tokens that are each counted once.
    pub fn tokens(&self) -> Tokens {
        let input = self.input.and_then(|input| input.checked_sub(self.cached.unwrap_or(0)));
        Tokens { input, cached: self.cached, output: self.output, reasoning: self.reasoning, ..Tokens::default() }
    }

    /// What it came to, where the calls themselves were not seen.
    pub fn bill(&self) -> Bill {
        let tokens = self.tokens();
        Bill {
            calls: u64::from(self.calls),
            input: tokens.input.unwrap_or(0),
            cached: tokens.cached.unwrap_or(0),
            written: 0,
            output: tokens.output.unwrap_or(0),
            reasoning: tokens.reasoning.unwrap_or(0),
            uncounted: u64::from(tokens.all().is_none()),
            usd: self.cost_usd.unwrap_or(0.0),
            listed_usd: 0.0,
            unpriced: u64::from(self.cost_usd.is_none()),
        }
    }
}

impl AttemptFailure {
    /// A failure of which no more is known than a sentence.
    pub fn error(what: impl Into<String>) -> AttemptFailure {
        AttemptFailure::Error { what: what.into(), trouble: None }
    }

    pub fn trouble(&self) -> Option<Trouble> {
        match self {
            AttemptFailure::Error { trouble, .. } => *trouble,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_a_kind_is_stored_and_read_as_ever() {
        let error = AttemptFailure::error("exit code 1");
        let stored = serde_json::to_value(&error).unwrap();
        assert_eq!(stored, serde_json::json!({ "error": { "what": "exit code 1" } }));
        assert_eq!(serde_json::from_value::<AttemptFailure>(stored).unwrap(), error);
    }

    #[test]
    fn a_kind_of_a_later_version_is_passed_over() {
        let stored = serde_json::json!({ "error": { "what": "x", "trouble": { "is": "earthquake", "since": 3 } } });
        let read: AttemptFailure = serde_json::from_value(stored).unwrap();
        assert_eq!(read.trouble(), Some(Trouble::Other));
        let limit = Trouble::RateLimit { retry_at: Some(Timestamp(5)) };
        let stored = serde_json::to_value(limit).unwrap();
        assert_eq!(stored, serde_json::json!({ "is": "rate_limit", "retry_at": 5 }));
        assert_eq!(serde_json::from_value::<Trouble>(stored).unwrap(), limit);
    }
}
