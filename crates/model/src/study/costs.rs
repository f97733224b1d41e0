//! What models were asked, and what that cost: sums alone, by study, night, agent and kind. Calls themselves are in the
//! ledger.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Study;
use super::state::State;
use crate::call::account::{Charge, Reached, Span, Unit};
use crate::call::bill::{Bill, Called, Kind};
use crate::call::price::is_same_model;
use crate::call::{CallEnd, CallId, Caller};
use crate::event::{ModelUse, RunFacts, StopReason};
use crate::id::{ExperimentId, TrialId};
use crate::units::Millis;

/// More pairs of names than any night has; a provider that makes up names is not to fill the memory.
const MOST_OTHERS: usize = 16;

/// What was asked and paid, as views show it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CostRow {
    /// Whether calls were counted in all runs of the study; else what it cost is not known.
    pub is_counted: bool,
    pub study: Bill,
    /// Of the last run.
    pub night: Bill,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentCost>,
    /// Candidates that ask models while they are evaluated.
    #[serde(default, skip_serializing_if = "Bill::is_empty")]
    pub task: Bill,
    #[serde(default, skip_serializing_if = "Bill::is_empty")]
    pub scorer: Bill,
    /// Models that answered for others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherModel>,
    /// What limits count of the study so far.
    #[serde(default)]
    pub charged: Charge,
    /// How long runs took in all.
    #[serde(default)]
    pub ran: Millis,
}

impl CostRow {
    /// At list price; `None` where a part of it is not known.
    pub fn cost_usd(&self) -> Option<f64> {
        self.study.cost_usd().filter(|_| self.is_counted)
    }
}

/// What one agent asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentCost {
    pub agent: String,
    pub bill: Bill,
    /// How many turns that was.
    pub turns: u64,
}

/// Another model answered than the one that was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherModel {
    pub asked: String,
    pub answered: String,
    pub calls: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Costs {
    /// Whether a run was begun that counts calls, and whether one was that does not.
    counts: bool,
    was_uncounted: bool,
    /// Agents of the present run that can ask a model through the gateway alone.
    metered: BTreeSet<String>,
    study: Bill,
    night: Bill,
    agents: BTreeMap<String, (Bill, u64)>,
    task: Bill,
    scorer: Bill,
    charged: Charge,
    night_charged: Charge,
    /// Of trials that are running.
    trials: BTreeMap<TrialId, (Bill, Option<Reached>)>,
    others: Vec<OtherModel>,
    settled: Settled,
}

/// Which calls are over: all below a number, and few beyond it.
#[derive(Debug, Clone, Default)]
struct Settled {
    below: u64,
    beyond: BTreeSet<u64>,
}

impl Settled {
    fn add(&mut self, CallId(id): CallId) {
        if id >= self.below {
            self.beyond.insert(id);
        }
        while self.beyond.remove(&self.below) {
            self.below += 1;
        }
    }

    /// Nothing of an earlier run is in flight any more: numbers that are missing were never given to a call that went out.
    fn close(&mut self) {
        self.below = self.next();
        self.beyond.clear();
    }

    fn next(&self) -> u64 {
        self.beyond.last().map_or(self.below, |last| last + 1)
    }
}

impl State {
    pub(super) fn cost_row(&self) -> CostRow {
        let Costs { counts, was_uncounted, study, night, agents, task, scorer, others, charged, .. } = &self.costs;
        let of = |(agent, (bill, turns)): (&String, &(Bill, u64))| AgentCost {
            agent: agent.clone(),
            bill: *bill,
            turns: *turns,
        };
        CostRow {
            is_counted: *counts && !*was_uncounted,
            study: *study,
            night: *night,
            agents: agents.iter().map(of).collect(),
            task: *task,
            scorer: *scorer,
            others: others.clone(),
            charged: *charged,
            ran: self.run_time(self.last_at),
        }
    }

    /// The number that the next call of a new run has.
    pub fn next_call(&self) -> CallId {
        CallId(self.costs.settled.next())
    }

    /// Whether what came of a call is recorded.
    pub fn is_settled(&self, CallId(id): CallId) -> bool {
        id < self.costs.settled.below || self.costs.settled.beyond.contains(&id)
    }

    /// What limits count of the study so far.
    pub fn charged(&self) -> Charge {
        self.costs.charged
    }

    /// What the calls of a trial that is running came to so far, and the limit that held one of them back.
    pub fn trial_calls(&self, trial: TrialId) -> (Bill, Option<Reached>) {
        self.costs.trials.get(&trial).copied().unwrap_or_default()
    }

    pub(super) fn start_counting(&mut self, facts: &RunFacts) {
        let costs = &mut self.costs;
        costs.settled.close();
        costs.counts = facts.metered.is_some();
        costs.was_uncounted |= !costs.counts;
        costs.metered = facts.metered.iter().flatten().cloned().collect();
        costs.trials.clear();
        (costs.night, costs.night_charged) = (Bill::default(), Charge::default());
    }

    /// A call is over.
    pub(super) fn call(&mut self, called: &Called) {
        let (bill, charge, caller) = (called.bill(), called.charge(), &called.call.caller);
        let costs = &mut self.costs;
        costs.settled.add(called.call.id);
        costs.take(&bill, charge);
        match caller.kind() {
            Kind::Agent => {}
            Kind::Task => costs.task.add(&bill),
            Kind::Scorer => costs.scorer.add(&bill),
        }
        if let Caller::Agent { name, .. } = caller {
            costs.agents.entry(name.clone()).or_default().0.add(&bill);
        }
        if let Some(trial) = caller.trial() {
            let (sum, limited) = costs.trials.entry(trial).or_default();
            sum.add(&bill);
            *limited = limited.or(called.limit);
        }
        self.note_model(called);
        if let Some(run) = &mut self.run {
            run.limited = run.limited.or(called.limit.filter(|reached| reached.is_for_all()));
        }
        let id = caller.experiment();
        self.with_billed(id, |found| {
            found.bill.add(&bill);
            found.is_counted = found.is_counted.or(Some(true));
            if caller.trial().is_none() {
                found.charged.add(charge);
                found.agent_calls += bill.calls;
                found.limited = found.limited.or(called.limit);
                match called.outcome.end {
                    // Whoever hung up, or never got through to anybody, has learned nothing of a provider.
                    CallEnd::HungUp | CallEnd::Lost | CallEnd::Limited | CallEnd::NotRecorded => {}
                    _ => found.trouble = called.outcome.trouble,
                }
            }
        });
        if self.open.contains_key(&id) {
            self.turns.pay(id, bill.cost_usd());
        }
    }

    /// An agent's turn is over. Where the gateway saw calls of it they were counted; else what it says itself is all there
    /// is, and one that could have asked anybody is not known to have asked nobody.
    pub(super) fn bill_turn(&mut self, id: ExperimentId, used: Option<&ModelUse>) {
        let is_counted = self.costs.counts;
        let Some(open) = self.open.get(&id).filter(|open| open.asked && !self.delivered.contains(&id)) else { return };
        let (agent, was_seen) = (open.agent.clone(), open.agent_calls > 0);
        let bill = match used {
            _ if was_seen => Bill::default(),
            Some(used) => used.bill(),
            None if self.costs.metered.contains(&agent) => Bill::default(),
            None => Bill::unknown(),
        };
        if is_counted {
            let charge = Charge { usd: bill.usd, tokens: bill.tokens().unwrap_or(0) };
            self.costs.take(&bill, charge);
            let (sum, turns) = self.costs.agents.entry(agent).or_default();
            sum.add(&bill);
            *turns += 1;
        }
        self.with_billed(id, |found| {
            found.bill.add(&bill);
            found.is_counted = Some(found.is_counted.unwrap_or(true) && is_counted);
        });
        self.turns.pay(id, bill.cost_usd().filter(|_| is_counted));
    }

    /// A trial is over.
    pub(super) fn bill_trial(&mut self, trial: TrialId, id: ExperimentId) {
        self.costs.trials.remove(&trial);
        let is_counted = self.costs.counts;
        self.with_billed(id, |found| {
            // What somebody outside made was paid elsewhere, and nobody said what.
            let is_foreign = found.is_counted.is_none() && !found.was_asked && !super::is_by_hand(&found.agent);
            found.is_counted = Some(found.is_counted.unwrap_or(!is_foreign) && is_counted);
        });
    }

    fn note_model(&mut self, called: &Called) {
        let Some(answered) = called.outcome.model.as_deref() else { return };
        let asked = &called.call.model;
        if is_same_model(asked, answered) {
            return;
        }
        if let Some(run) = &mut self.run {
            run.other_model.get_or_insert_with(|| (asked.clone(), answered.to_owned()));
        }
        let others = &mut self.costs.others;
        if let Some(known) = others.iter_mut().find(|known| known.asked == *asked && known.answered == answered) {
            known.calls += 1;
        } else if others.len() < MOST_OTHERS {
            others.push(OtherModel { asked: asked.clone(), answered: answered.to_owned(), calls: 1 });
        }
    }

    fn with_billed(&mut self, id: ExperimentId, change: impl FnOnce(&mut super::Experiment)) {
        let State { open, standing, suspects, leaving, .. } = self;
        let found = open.get_mut(&id).or_else(|| standing.get_mut(&id));
        if let Some(found) = found.or_else(|| suspects.get_mut(&id)).or_else(|| leaving.get_mut(&id)) {
            change(found);
            self.touched.insert(id);
        }
    }
}

impl Costs {
    fn take(&mut self, bill: &Bill, charge: Charge) {
        self.study.add(bill);
        self.night.add(bill);
        self.charged.add(charge);
        self.night_charged.add(charge);
    }
}

impl Study {
    /// Why nothing more may be spent, if so: a call was refused for it, or what was paid elsewhere reached a limit.
    pub(super) fn spent_all(&self) -> Option<StopReason> {
        let run = self.state.run.as_ref()?;
        let allowances = self.spec.limits.allowances();
        let (night, study) = (self.state.costs.night_charged, self.state.costs.charged);
        let of = |span| if span == Span::Study { study } else { night };
        let limits = [(Span::Night, allowances.night), (Span::Study, allowances.study)];
        let reached = limits.into_iter().find_map(|(span, allowance)| {
            let dollars = allowance.cost_usd.filter(|limit| of(span).usd > 0.0 && of(span).usd >= *limit);
            let tokens = allowance.tokens.filter(|limit| of(span).tokens >= *limit);
            let unit = dollars.map(|_| Unit::Usd).or(tokens.map(|_| Unit::Tokens))?;
            Some(Reached { span, unit })
        });
        let reached = run.limited.or(reached)?;
        Some(StopReason::Spent { reached, spent: of(reached.span) })
    }
}
