//! Sums of calls, as people are told them. What is not known is counted apart, and makes no sum look whole.

use serde::{Deserialize, Serialize};

use super::{Call, CallEnd, CallOutcome, Caller, Tokens};
use crate::call::account::{Charge, Reached};

/// A call that is over, and what it came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Called {
    pub call: Call,
    pub outcome: CallOutcome,
    /// At list price; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// A subscription pays for it, whatever its list price.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subscription: bool,
    /// What it may have come to at most, where what it came to is not known: limits count that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Charge>,
    /// The limit that held it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Reached>,
}

/// Who calls are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Agent,
    Task,
    Scorer,
}

/// What calls came to, or turns of agents whose calls were not seen.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Bill {
    /// Those that a model was asked by.
    pub calls: u64,
    /// Tokens, as far as they are known.
    pub input: u64,
    pub cached: u64,
    pub written: u64,
    pub output: u64,
    pub reasoning: u64,
    /// Calls and turns of which it is not known how many tokens they took.
    pub uncounted: u64,
    /// At list price, of all whose cost is known.
    pub usd: f64,
    /// The part of it that a subscription pays for.
    pub listed_usd: f64,
    /// Calls and turns whose cost is not known.
    pub unpriced: u64,
}

impl Caller {
    pub fn kind(&self) -> Kind {
        match self {
            Caller::Agent { .. } => Kind::Agent,
            Caller::Task { .. } => Kind::Task,
            Caller::Scorer { .. } => Kind::Scorer,
        }
    }

    pub fn experiment(&self) -> crate::id::ExperimentId {
        match self {
            Caller::Agent { experiment, .. } | Caller::Task { experiment, .. } | Caller::Scorer { experiment, .. } => {
                *experiment
            }
        }
    }

    pub fn trial(&self) -> Option<crate::id::TrialId> {
        match self {
            Caller::Agent { .. } => None,
            Caller::Task { trial, .. } | Caller::Scorer { trial, .. } => Some(*trial),
        }
    }
}

impl CallOutcome {
    /// Whether a model may have worked for it, and its provider been paid.
    pub fn may_cost(&self) -> bool {
        let went_out = match self.end {
            CallEnd::Answered | CallEnd::Broken | CallEnd::HungUp | CallEnd::Lost => true,
            CallEnd::Refused | CallEnd::Limited | CallEnd::NotRecorded | CallEnd::Unreached => false,
        };
        went_out && !self.replayed
    }
}

impl Tokens {
    /// All of them, where what was read and what was written is known.
    pub fn all(&self) -> Option<u64> {
        let Tokens { input, cached, written, written_hour: _, output, reasoning: _ } = *self;
        let more = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
        Some(input?.saturating_add(output?).saturating_add(more))
    }
}

impl Called {
    pub fn bill(&self) -> Bill {
        let Tokens { input, cached, written, written_hour: _, output, reasoning } = self.outcome.tokens;
        let never_asked = matches!(self.outcome.end, CallEnd::Limited | CallEnd::NotRecorded | CallEnd::Unreached);
        let usd = self.cost_usd.unwrap_or(0.0);
        let is_open = self.outcome.may_cost();
        Bill {
            calls: u64::from(!never_asked),
            input: input.unwrap_or(0),
            cached: cached.unwrap_or(0),
            written: written.unwrap_or(0),
            output: output.unwrap_or(0),
            reasoning: reasoning.unwrap_or(0),
            uncounted: u64::from(is_open && self.outcome.tokens.all().is_none()),
            usd,
            listed_usd: if self.subscription { usd } else { 0.0 },
            unpriced: u64::from(is_open && self.cost_usd.is_none()),
        }
    }

    /// What limits count of it.
    pub fn charge(&self) -> Charge {
        if !self.outcome.may_cost() {
            return Charge::default();
        }
        let at_most = self.at_most.unwrap_or_default();
        let usd = if self.subscription { 0.0 } else { self.cost_usd.unwrap_or(at_most.usd) };
        Charge { usd, tokens: self.outcome.tokens.all().unwrap_or(at_most.tokens) }
    }
}

impl Bill {
    /// Of a turn whose calls nobody saw.
    pub fn unknown() -> Bill {
        Bill { uncounted: 1, unpriced: 1, ..Bill::default() }
    }

    /// At list price; `None` where a part of it is not known.
    pub fn cost_usd(&self) -> Option<f64> {
        (self.unpriced == 0).then_some(self.usd)
    }

    /// What has to be paid: without what a subscription pays for.
    pub fn billed_usd(&self) -> Option<f64> {
        self.cost_usd().map(|usd| usd - self.listed_usd)
    }

    /// `None` where a part of them is not known.
    pub fn tokens(&self) -> Option<u64> {
        let all = [self.input, self.cached, self.written, self.output];
        (self.uncounted == 0).then(|| all.into_iter().fold(0, u64::saturating_add))
    }

    pub fn is_empty(&self) -> bool {
        *self == Bill::default()
    }

    pub fn add(&mut self, other: &Bill) {
        let Bill { calls, input, cached, written, output, reasoning, uncounted, usd, listed_usd, unpriced } = *other;
        let sums = [
            (&mut self.calls, calls),
            (&mut self.input, input),
            (&mut self.cached, cached),
            (&mut self.written, written),
            (&mut self.output, output),
            (&mut self.reasoning, reasoning),
            (&mut self.uncounted, uncounted),
            (&mut self.unpriced, unpriced),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
        self.usd += usd;
        self.listed_usd += listed_usd;
    }
}
