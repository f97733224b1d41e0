//! The account: what calls came to so far, what those in flight may come to, and whether another may go out.
//!
//! A limit is held by reserving: a call goes out only if it and everything in flight, at their most, would stay within every
//! limit. So nothing overshoots but by what a provider adds to a prompt on its own.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::bill::Called;
use super::price::{MOST_OUTPUT, Price, Prices};
use super::{Call, CallEnd, CallId, CallOutcome, Caller, Tokens};
use crate::id::{ExperimentId, TrialId};
use crate::units::Millis;

/// What limits count.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Charge {
    pub usd: f64,
    pub tokens: u64,
}

impl Charge {
    pub fn add(&mut self, other: Charge) {
        self.usd += other.usd;
        self.tokens = self.tokens.saturating_add(other.tokens);
    }
}

/// What may be spent; nothing is limited where nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Allowance {
    pub cost_usd: Option<f64>,
    pub tokens: Option<u64>,
}

/// What may be spent on each proposal, on each trial, in a night and on the study.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Allowances {
    pub proposal: Allowance,
    pub trial: Allowance,
    pub night: Allowance,
    pub study: Allowance,
}

/// What a limit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    Proposal,
    Trial,
    Night,
    Study,
}

/// What it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Usd,
    Tokens,
}

/// The limit that holds a call back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reached {
    pub span: Span,
    pub unit: Unit,
}

impl Reached {
    /// The key of the triplet.
    pub fn key(self) -> &'static str {
        match (self.span, self.unit) {
            (Span::Proposal, Unit::Usd) => "limits.proposal.cost_usd",
            (Span::Proposal, Unit::Tokens) => "limits.proposal.tokens",
            (Span::Trial, Unit::Usd) => "limits.trial.cost_usd",
            (Span::Trial, Unit::Tokens) => "limits.trial.tokens",
            (Span::Night, Unit::Usd) => "limits.cost_usd",
            (Span::Night, Unit::Tokens) => "limits.tokens",
            (Span::Study, Unit::Usd) => "limits.total.cost_usd",
            (Span::Study, Unit::Tokens) => "limits.total.tokens",
        }
    }

    /// Whether it leaves nothing for anybody else either.
    pub fn is_for_all(self) -> bool {
        matches!(self.span, Span::Night | Span::Study)
    }
}

/// Whether a call may go out.
#[derive(Debug, Clone, PartialEq)]
pub enum Admission {
    /// So much is reserved for it.
    Go(Charge),
    /// Not while so many others are in flight: they may come to less than what is reserved for them.
    Wait,
    Refuse {
        reached: Reached,
        what: String,
    },
}

/// The account of one run.
#[derive(Debug, Clone, Default)]
pub struct Account {
    prices: Prices,
    allowances: Allowances,
    /// Providers that a subscription pays for.
    subscriptions: BTreeSet<String>,
    night: Charge,
    study: Charge,
    proposals: BTreeMap<ExperimentId, Charge>,
    trials: BTreeMap<TrialId, Charge>,
    in_flight: BTreeMap<CallId, (Caller, Charge)>,
    /// Calls that were refused and are not settled yet.
    refused: BTreeMap<CallId, Reached>,
}

impl Account {
    pub fn new(prices: Prices, allowances: Allowances, subscriptions: BTreeSet<String>) -> Account {
        Account { prices, allowances, subscriptions, ..Account::default() }
    }

    /// A subscription pays for what this provider is asked.
    pub fn subscribe(&mut self, provider: &str) {
        if !self.subscriptions.contains(provider) {
            self.subscriptions.insert(provider.to_owned());
        }
    }

    pub fn is_subscribed(&self, provider: &str) -> bool {
        self.subscriptions.contains(provider)
    }

    /// Whether there is any limit.
    pub fn is_limited(&self) -> bool {
        let Allowances { proposal, trial, night, study } = self.allowances;
        [proposal, trial, night, study].iter().any(|of| of.cost_usd.is_some() || of.tokens.is_some())
    }

    /// What was spent before this run: on the study, and on proposals that are still open.
    pub fn carry(&mut self, study: Charge, proposals: impl IntoIterator<Item = (ExperimentId, Charge)>) {
        self.study.add(study);
        self.proposals.extend(proposals);
    }

    /// What was spent in this run on a turn whose calls did not come by here.
    pub fn spend(&mut self, charge: Charge) {
        self.night.add(charge);
        self.study.add(charge);
    }

    /// Whether a call may go out; what it may come to at most is reserved until it is settled.
    pub fn admit(&mut self, call: &Call) -> Admission {
        let price = self.prices.before(call);
        let is_subscription = self.subscriptions.contains(&call.provider);
        let most = most(call, price, is_subscription);
        let mut waits = false;
        for (span, allowance, spent) in self.spans(&call.caller) {
            let refuse = |unit, what: String| Admission::Refuse { reached: Reached { span, unit }, what };
            let reserved = self.reserved(span, &call.caller);
            if let Some(limit) = allowance.cost_usd.filter(|_| !is_subscription) {
                if price.is_none() {
                    let served = call.tier.as_ref().map_or_else(String::new, |tier| format!(" served as `{tier}`"));
                    let what = format!(
                        "no price is known for the model `{model}`{served}, so that no limit in dollars could hold: write its price into the \
                         triplet, as [gateway.prices.\"{model}\"] with input = … and output = … in dollars for a million tokens",
                        model = call.model
                    );
                    return self.refuse(call, refuse(Unit::Usd, what));
                }
                if spent.usd + most.usd > limit {
                    let what = format!(
                        "the limit of {} for {} is reached: {} spent, and this call may cost up to {}",
                        dollars(limit),
                        span.name(),
                        dollars(spent.usd),
                        dollars(most.usd)
                    );
                    return self.refuse(call, refuse(Unit::Usd, what));
                }
                waits |= spent.usd + reserved.usd + most.usd > limit;
            }
            if let Some(limit) = allowance.tokens {
                if spent.tokens.saturating_add(most.tokens) > limit {
                    let what = format!(
                        "the limit of {limit} tokens for {} is reached: {} spent, and this call may take up to {}",
                        span.name(),
                        spent.tokens,
                        most.tokens
                    );
                    return self.refuse(call, refuse(Unit::Tokens, what));
                }
                waits |= spent.tokens.saturating_add(reserved.tokens).saturating_add(most.tokens) > limit;
            }
        }
        if waits {
            return Admission::Wait;
        }
        self.in_flight.insert(call.id, (call.caller.clone(), most));
        Admission::Go(most)
    }

    /// A call is over: what was reserved for it becomes what it came to. One that never went out came to nothing.
    pub fn settle(&mut self, call: &Call, outcome: &CallOutcome) -> Called {
        let reserved = self.in_flight.remove(&call.id).map(|(_, most)| most);
        let limit = self.refused.remove(&call.id);
        let subscription = self.subscriptions.contains(&call.provider);
        let called = settled(&self.prices, subscription, call, outcome, reserved, limit);
        let charge = called.charge();
        match &call.caller {
            Caller::Agent { experiment, .. } => self.proposals.entry(*experiment).or_default().add(charge),
            Caller::Task { trial, .. } | Caller::Scorer { trial, .. } => {
                self.trials.entry(*trial).or_default().add(charge);
            }
        }
        self.spend(charge);
        called
    }

    /// A call that was admitted did not go out after all.
    pub fn release(&mut self, id: CallId) {
        self.in_flight.remove(&id);
    }

    /// How many calls are in flight, and what is reserved for them.
    pub fn in_flight(&self) -> (usize, Charge) {
        let mut sum = Charge::default();
        self.in_flight.values().for_each(|(_, most)| sum.add(*most));
        (self.in_flight.len(), sum)
    }

    pub fn night(&self) -> Charge {
        self.night
    }

    pub fn study(&self) -> Charge {
        self.study
    }

    fn refuse(&mut self, call: &Call, admission: Admission) -> Admission {
        if let Admission::Refuse { reached, .. } = &admission {
            self.refused.insert(call.id, *reached);
        }
        admission
    }

    /// The limits that a call is under, the narrowest first, and what was spent of each.
    fn spans(&self, caller: &Caller) -> [(Span, Allowance, Charge); 3] {
        let Allowances { proposal, trial, night, study } = self.allowances;
        let own = match caller {
            Caller::Agent { experiment, .. } => {
                (Span::Proposal, proposal, self.proposals.get(experiment).copied().unwrap_or_default())
            }
            Caller::Task { trial: id, .. } | Caller::Scorer { trial: id, .. } => {
                (Span::Trial, trial, self.trials.get(id).copied().unwrap_or_default())
            }
        };
        [own, (Span::Night, night, self.night), (Span::Study, study, self.study)]
    }

    fn reserved(&self, span: Span, caller: &Caller) -> Charge {
        let is_same = |other: &Caller| match span {
            Span::Proposal => other.trial().is_none() && other.experiment() == caller.experiment(),
            Span::Trial => other.trial().is_some() && other.trial() == caller.trial(),
            Span::Night | Span::Study => true,
        };
        let mut sum = Charge::default();
        self.in_flight.values().filter(|(other, _)| is_same(other)).for_each(|(_, most)| sum.add(*most));
        sum
    }
}

impl Span {
    fn name(self) -> &'static str {
        match self {
            Span::Proposal => "one proposal",
            Span::Trial => "one trial",
            Span::Night => "one night",
            Span::Study => "the study",
        }
    }
}

/// A call that went out with an engine that is gone: nobody knows what came of it.
pub fn lost(call: &Call, reserved: Charge, subscription: bool) -> Called {
    let outcome = CallOutcome {
        end: CallEnd::Lost,
        status: None,
        model: None,
        tokens: Tokens::default(),
        trouble: None,
        replayed: false,
        wall: Millis(0),
        first_byte: None,
        trace: None,
    };
    Called { call: call.clone(), outcome, cost_usd: None, subscription, at_most: Some(reserved), limit: None }
}

/// Dollars for people: whole cents, or what there is of one.
pub fn dollars(usd: f64) -> String {
    let cents = usd * 100.0;
    match usd {
        0.0 => "$0".to_owned(),
        usd if cents >= 1.0 => format!("${usd:.2}"),
        usd if usd >= 0.0001 => format!("${usd:.4}"),
        _ => "less than $0.0001".to_owned(),
    }
}

/// No more tokens can be in a request than it has bytes, and often it is known that there are far fewer.
fn most(call: &Call, price: Option<Price>, is_subscription: bool) -> Charge {
    let models = price.and_then(|price| price.most_output);
    let each = match (call.most_output, models) {
        (Some(said), Some(most)) => said.min(most),
        (said, most) => said.or(most).unwrap_or(MOST_OUTPUT),
    };
    let output = each.saturating_mul(call.answers.max(1));
    let input = call.most_input.map_or(call.bytes, |most| most.min(call.bytes));
    let usd = price.filter(|_| !is_subscription).map_or(0.0, |price| price.most(input, output));
    Charge { usd, tokens: input.saturating_add(output) }
}

fn settled(
    prices: &Prices,
    subscription: bool,
    call: &Call,
    outcome: &CallOutcome,
    reserved: Option<Charge>,
    limit: Option<Reached>,
) -> Called {
    let tokens = &outcome.tokens;
    let cost_usd = match outcome.may_cost() {
        true => prices.cost(call, outcome.model.as_deref(), tokens),
        false => Some(0.0),
    };
    let is_known = cost_usd.is_some() && tokens.all().is_some();
    let at_most = reserved.filter(|_| outcome.may_cost() && !is_known);
    let (call, outcome) = (call.clone(), outcome.clone());
    Called { call, outcome, cost_usd, subscription, at_most, limit }
}

#[cfg(test)]
mod tests;
