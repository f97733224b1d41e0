//! What a night will cost, said before it is spent.

use overnight_engine::ledger::Reader;
use overnight_engine::load::Site;
use overnight_model::call::account::dollars;
use overnight_model::call::price::DATED;
use overnight_model::spec::{AgentKind, Member, Network, Spec, Tier};
use overnight_model::study::Summary;

use super::report::{Finding, Level};
use super::study::Sequence;

/// How few turns tell what the next one costs.
const FEW: u64 = 3;

pub(super) fn cost(sequence: &mut Sequence, site: &Site) {
    let summary = Reader::open(&site.state()).ok().and_then(|reader| reader.summary().ok().flatten());
    let experiments = sequence.report.night.map_or(0, |(_, forecast)| forecast.experiments);
    let found = described(&sequence.spec, sequence.found.tier, summary.as_ref(), experiments);
    found.into_iter().for_each(|finding| sequence.add(finding));
}

fn described(spec: &Spec, tier: Tier, summary: Option<&Summary>, experiments: u64) -> Option<Finding> {
    let asks = |member: &&Member| match member.kind {
        AgentKind::Tuner => false,
        AgentKind::Coding(_) | AgentKind::Api(_) => true,
        AgentKind::Command(_) => member.network == Network::Models,
    };
    let limit = spec.limits.night.spend.cost_usd;
    let is_asked = spec.agent.members.iter().any(|member| asks(&member)) || spec.evaluate.network == Network::Models;
    if !is_asked && limit.is_none() {
        return None;
    }
    let metered = spec.agent.metered(tier);
    if let Some(member) = spec.agent.members.iter().find(|member| !metered.contains(&member.name))
        && limit.is_some()
    {
        let what = format!(
            "`limits.cost_usd` cannot hold back {}, which may ask its model without the gateway: what it says that it used \
             is counted afterwards",
            member.name
        );
        let next = "give it `network = \"models\"`, so that it asks through the gateway alone";
        return Some(Finding::new("cost", Level::Warn, what).next(next));
    }
    let models = spec.agent.members.iter().filter_map(|member| named(spec, member));
    let models: Vec<(&str, &str)> = models.filter(|(provider, _)| !is_subscribed(spec, provider)).collect();
    let prices = &spec.gateway.prices;
    if let Some((_, model)) = models.iter().find(|(provider, model)| prices.of(provider, model).is_none()) {
        let next = format!(
            "write it down: [gateway.prices.\"{model}\"] with input = … and output = …, in dollars for a million tokens"
        );
        let what = format!("unknown: no price is known for the model `{model}`");
        return Some(
            match limit {
                Some(_) => Finding::new(
                    "cost",
                    Level::Warn,
                    format!("{what}, so that `limits.cost_usd` refuses every call of it"),
                ),
                None => Finding::new("cost", Level::Note, what),
            }
            .next(&next),
        );
    }
    let is_listed = models.iter().any(|(provider, model)| prices.is_from_list(provider, model));
    let most = limit.map(|limit| format!("at most {} by `limits.cost_usd`", dollars(limit)));
    let told = match summary.and_then(mean_cost) {
        Some(mean) => {
            let about =
                format!("about {} a night, at {} a proposal so far", dollars(mean * experiments as f64), dollars(mean));
            about + &most.as_ref().map_or_else(String::new, |most| format!("; {most}"))
        }
        None => {
            let most = most.clone().unwrap_or_else(|| "nothing limits it".to_owned());
            format!("unknown until the first proposal: {most}")
        }
    };
    let told = told + &if is_listed { format!("; list prices of {DATED}") } else { String::new() };
    let finding = match most {
        Some(_) => Finding::ok("cost", told),
        None => Finding::new("cost", Level::Note, told).next("limit it: `cost_usd = 5` in [limits]"),
    };
    Some(finding)
}

/// The model that a member is told to ask, and of whom; none where it takes its own.
fn named<'a>(spec: &'a Spec, member: &'a Member) -> Option<(&'a str, &'a str)> {
    match &member.kind {
        AgentKind::Api(api) => Some((api.provider.name(), api.model.as_str())),
        // Prices of the list that depend on who serves a model are not known here.
        AgentKind::Coding(coding) => {
            let model = coding.model.as_deref()?;
            spec.gateway.prices.of("", model).map(|_| ("", model))
        }
        AgentKind::Tuner | AgentKind::Command(_) => None,
    }
}

fn is_subscribed(spec: &Spec, provider: &str) -> bool {
    spec.gateway.providers.iter().any(|known| known.name == provider && known.subscription)
}

/// What a proposal cost so far, with everything that was asked for it.
fn mean_cost(summary: &Summary) -> Option<f64> {
    let turns: u64 = summary.costs.agents.iter().map(|agent| agent.turns).sum();
    let usd = summary.costs.cost_usd()?;
    (turns >= FEW).then(|| usd / turns as f64)
}
