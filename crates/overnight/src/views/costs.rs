//! What models were asked, and what that cost: lines for people, and for machines. What is not known is said to be.

use overnight_model::call::account::dollars;
use overnight_model::call::bill::Bill;
use overnight_model::study::{AgentCost, CostRow, OtherModel, Row, Summary};
use serde::Serialize;

use super::night::count;
use crate::ui::printable;

/// What `status`, `log` and the end of a run say; nothing where no call was seen.
pub(crate) fn lines(summary: &Summary) -> Vec<String> {
    let costs = &summary.costs;
    let mut lines = Vec::new();
    if costs.study.calls > 0 {
        let night = match (costs.night.cost_usd(), costs.study.usd > costs.night.usd) {
            (Some(night), true) => format!(", {} of it in the last run", dollars(night)),
            _ => String::new(),
        };
        lines.push(format!("cost       {}{night} · {}", money(costs), asked(&costs.study)));
        let more: Vec<String> = each(costs, summary.kept).into_iter().chain(payers(costs)).collect();
        lines.extend((!more.is_empty()).then(|| format!("           {}", more.join(" · "))));
    }
    lines.extend(costs.others.iter().map(|other| format!("models     {}", other_model(other))));
    lines
}

/// `$1.20`, `at least $1.20, and what 3 calls cost is unknown`.
pub(crate) fn money(costs: &CostRow) -> String {
    let bill = &costs.study;
    let listed = match bill.listed_usd {
        0.0 => String::new(),
        all if all == bill.usd => " at list price, which a subscription pays".to_owned(),
        part => format!(" ({} of it at list price, which a subscription pays)", dollars(part)),
    };
    let told = match (bill.unpriced, bill.usd) {
        (0, usd) => format!("{}{listed}", dollars(usd)),
        (_, 0.0) => "unknown".to_owned(),
        (1, usd) => format!("at least {}{listed}, and what 1 call or turn cost is unknown", dollars(usd)),
        (many, usd) => {
            format!("at least {}{listed}, and what {} calls or turns cost is unknown", dollars(usd), count(many))
        }
    };
    match costs.is_counted {
        true => told,
        false => format!("{told}, since calls are counted"),
    }
}

/// `41 calls, 120,000 tokens (90,000 of them out of a cache)`
pub(crate) fn asked(bill: &Bill) -> String {
    let calls = if bill.calls == 1 { "1 call".to_owned() } else { format!("{} calls", count(bill.calls)) };
    let cached = match bill.cached {
        0 => String::new(),
        cached => format!(" ({} of them out of a cache)", count(cached)),
    };
    match bill.tokens() {
        Some(tokens) => format!("{calls}, {} tokens{cached}", count(tokens)),
        None => format!("{calls}, tokens unknown"),
    }
}

/// What one bill came to: `$1.20`, or `unknown`.
pub(crate) fn sum(bill: &Bill) -> String {
    bill.cost_usd().map_or_else(|| "unknown".to_owned(), dollars)
}

pub(crate) fn other_model(OtherModel { asked, answered, calls }: &OtherModel) -> String {
    let times = if *calls == 1 { "once".to_owned() } else { format!("{} times", count(*calls)) };
    format!("{} was asked and {} answered, {times}", printable(asked), printable(answered))
}

/// What a report says of money: all of it, by whom, and what that means for each keep and hour.
pub(crate) fn facts(summary: Option<&Summary>) -> Vec<(&'static str, String)> {
    let Some(Summary { costs, kept, .. }) = summary else { return vec![("money", nobody())] };
    if costs.study.calls == 0 && costs.study.usd == 0.0 {
        let is_nothing = costs.cost_usd() == Some(0.0);
        return vec![("money", if is_nothing { "nothing: no model was asked".to_owned() } else { nobody() })];
    }
    let mut facts = vec![("money", format!("{} · {}", money(costs), asked(&costs.study)))];
    facts.extend(each(costs, *kept).map(|each| ("each", each)));
    facts.extend(payers(costs).map(|payers| ("for", payers)));
    facts
}

/// What a keep and an hour cost: `$0.11 for each keep, $1.20 an hour`. Unknown where the sum is.
fn each(costs: &CostRow, kept: u64) -> Option<String> {
    let hours = costs.ran.as_secs() / 3600.0;
    let of = |many: f64, of: &str| match costs.cost_usd() {
        Some(usd) => format!("{} {of}", dollars(usd / many)),
        None => format!("unknown {of}"),
    };
    let keep = (kept > 0).then(|| of(kept as f64, "for each keep"));
    let hour = (hours > 0.0).then(|| of(hours, "an hour"));
    let each: Vec<String> = keep.into_iter().chain(hour).collect();
    (!each.is_empty()).then(|| each.join(", "))
}

/// Who spent it: `api $0.22 for 2 turns, scorers $0.01 for 3 calls`.
fn payers(costs: &CostRow) -> Option<String> {
    let who = costs.agents.iter().map(|AgentCost { agent, bill, turns }| {
        let turns = if *turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
        format!("{} {} for {turns}", printable(agent), sum(bill))
    });
    let kinds = [("candidates", &costs.task), ("scorers", &costs.scorer)];
    let kinds = kinds.into_iter().filter(|(_, bill)| !bill.is_empty());
    let kinds = kinds.map(|(name, bill)| format!("{name} {} for {} calls", sum(bill), count(bill.calls)));
    let who: Vec<String> = who.chain(kinds).collect();
    (!who.is_empty()).then(|| who.join(", "))
}

/// What one experiment cost, in a column: `-` where it is not over.
pub(crate) fn of_row(row: &Row) -> String {
    match (row.cost_usd, row.verdict) {
        (Some(usd), _) => dollars(usd),
        (None, Some(_)) => "unknown".to_owned(),
        (None, None) => "-".to_owned(),
    }
}

/// Whether a model was ever asked for money: else a column of costs would say nothing.
pub(crate) fn has_any(summary: &Summary) -> bool {
    summary.costs.study.calls > 0 || summary.costs.study.usd > 0.0
}

fn nobody() -> String {
    "unknown: nobody counted what models cost".to_owned()
}

/// The `costs` of `status --json`.
#[derive(Debug, Serialize)]
pub(crate) struct CostsJson {
    /// Without what a subscription pays for.
    billed_usd: Option<f64>,
    /// Of the last run.
    night_usd: Option<f64>,
    calls: u64,
    tokens: Option<u64>,
    /// Calls and turns whose cost is not known.
    unpriced: u64,
    usd_per_keep: Option<f64>,
    usd_per_hour: Option<f64>,
    agents: Vec<PartJson>,
    task: Option<PartJson>,
    scorer: Option<PartJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_models: Vec<OtherModel>,
}

#[derive(Debug, Serialize)]
struct PartJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<u64>,
    cost_usd: Option<f64>,
    calls: u64,
    tokens: Option<u64>,
}

fn part(bill: &Bill) -> PartJson {
    PartJson { agent: None, turns: None, cost_usd: bill.cost_usd(), calls: bill.calls, tokens: bill.tokens() }
}

pub(crate) fn json(summary: &Summary) -> Option<CostsJson> {
    let costs = &summary.costs;
    let agent = |AgentCost { agent, bill, turns }: &AgentCost| PartJson {
        agent: Some(agent.clone()),
        turns: Some(*turns),
        ..part(bill)
    };
    let some = |bill: &Bill| (!bill.is_empty()).then(|| part(bill));
    let per = |many: f64| (many > 0.0).then(|| costs.cost_usd().map(|usd| usd / many)).flatten();
    has_any(summary).then(|| CostsJson {
        billed_usd: costs.study.billed_usd().filter(|_| costs.is_counted),
        night_usd: costs.night.cost_usd(),
        calls: costs.study.calls,
        tokens: costs.study.tokens(),
        unpriced: costs.study.unpriced,
        usd_per_keep: per(summary.kept as f64),
        usd_per_hour: per(costs.ran.as_secs() / 3600.0),
        agents: costs.agents.iter().map(agent).collect(),
        task: some(&costs.task),
        scorer: some(&costs.scorer),
        other_models: costs.others.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bill(calls: u64, usd: f64, unpriced: u64) -> Bill {
        Bill { calls, input: 1000 * calls, usd, unpriced, ..Bill::default() }
    }

    #[test]
    fn a_sum_that_is_not_whole_says_so() {
        let of = |study| money(&CostRow { is_counted: true, study, ..CostRow::default() });
        assert_eq!(of(bill(3, 1.2, 0)), "$1.20");
        assert_eq!(of(bill(3, 1.2, 2)), "at least $1.20, and what 2 calls or turns cost is unknown");
        assert_eq!(of(bill(3, 0.0, 3)), "unknown");
        let listed = Bill { listed_usd: 0.5, ..bill(3, 1.2, 0) };
        assert_eq!(of(listed), "$1.20 ($0.50 of it at list price, which a subscription pays)");
        let all = Bill { listed_usd: 1.2, ..bill(3, 1.2, 0) };
        assert_eq!(of(all), "$1.20 at list price, which a subscription pays");
        let partly = CostRow { is_counted: false, study: bill(3, 1.2, 0), ..CostRow::default() };
        assert_eq!(money(&partly), "$1.20, since calls are counted");
    }

    #[test]
    fn calls_are_told_with_their_tokens() {
        assert_eq!(asked(&bill(1, 0.0, 0)), "1 call, 1,000 tokens");
        let cached = Bill { cached: 500, ..bill(2, 0.0, 0) };
        assert_eq!(asked(&cached), "2 calls, 2,500 tokens (500 of them out of a cache)");
        assert_eq!(asked(&Bill { uncounted: 1, ..bill(2, 0.0, 0) }), "2 calls, tokens unknown");
    }
}
