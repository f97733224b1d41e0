//! Why an agent had the turn that an experiment came of, and what models were asked for it.

use overnight_engine::ledger::StoredEvent;
use overnight_model::What;
use overnight_model::call::bill::{Bill, Called, Kind};

use super::Fact;
use crate::ui::printable;
use crate::views::costs;

/// Why it was its agent's turn, where several could have had it.
pub(super) fn why(events: &[StoredEvent]) -> Option<Fact<'static>> {
    let why = events.iter().rev().find_map(|stored| match &stored.event.what {
        What::Asked { why, .. } if !why.is_empty() => Some(why),
        _ => None,
    })?;
    Some(("its turn", printable(why)))
}

/// The calls that were made for it, by whom: `$0.12: agent $0.10 (3 calls, 900 tokens), candidate …`.
pub(super) fn calls(events: &[StoredEvent]) -> Option<Fact<'static>> {
    let calls = || {
        events.iter().filter_map(|stored| match &stored.event.what {
            What::Called(called) => Some(called),
            _ => None,
        })
    };
    let sum = |wanted: &dyn Fn(&Called) -> bool| {
        let mut bill = Bill::default();
        calls().filter(|called| wanted(called)).for_each(|called| bill.add(&called.bill()));
        bill
    };
    let all = sum(&|_| true);
    let kinds = [(Kind::Agent, "agent"), (Kind::Task, "candidate"), (Kind::Scorer, "scorer")];
    let parts: Vec<String> = kinds
        .into_iter()
        .map(|(kind, name)| (name, sum(&|called| called.call.caller.kind() == kind)))
        .filter(|(_, bill)| !bill.is_empty())
        .map(|(name, bill)| format!("{name} {} ({})", costs::sum(&bill), costs::asked(&bill)))
        .collect();
    let held_back = calls().filter_map(|called| called.limit).next_back();
    let held_back = held_back.map_or_else(String::new, |reached| format!("; {} held a call back", reached.key()));
    (!parts.is_empty() || !held_back.is_empty())
        .then(|| ("cost", format!("{}: {}{held_back}", costs::sum(&all), parts.join(", "))))
}
