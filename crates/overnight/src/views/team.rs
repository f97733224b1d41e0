//! Who makes proposals: whose turn it is and why, who is waited for, and a plateau. Lines for people.

use std::borrow::Cow;

use overnight_model::Timestamp;
use overnight_model::spec::AgentSpec;
use overnight_model::study::team::{described, shares};
use overnight_model::study::{AgentRow, Plateau, Row, State, Summary};
use serde::Serialize;

use super::json::rfc3339;
use super::term;
use crate::ui::printable;

/// What `status` and the end of a run say. Whoever is waited for is told of while a run goes on.
pub(crate) fn lines(summary: &Summary, agents: Option<&AgentSpec>, now: Option<Timestamp>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(agents) = agents.filter(|agents| agents.is_team()) {
        let told = described(&agents.members, &summary.team, summary.plateau);
        lines.push(format!("team       {}", printable(&told)));
    }
    if let Some(now) = now {
        let waiting = |agent: &str| summary.team.iter().any(|row| row.agent == agent && is_waited_for(row, now));
        for row in summary.team.iter().filter(|row| is_waited_for(row, now)) {
            let rest = others(agents, waiting);
            let until = row.waits_until.map(term::local_time).unwrap_or_default();
            lines.push(format!("waiting    for {} until {until}{rest}", printable(&row.agent)));
        }
    }
    lines.extend(summary.plateau.map(|plateau| format!("plateau    {}", described_plateau(plateau))));
    lines
}

/// What a run says when an agent's provider failed.
pub(crate) fn waiting(state: &State, agents: &AgentSpec, agent: &str, now: Timestamp) -> Option<String> {
    let until = state.waits_until(agent)?;
    let is_waited_for = |agent: &str| state.waits_until(agent).is_some_and(|until| now < until);
    let rest = others(Some(agents), is_waited_for);
    Some(format!("waiting for {} until {}{rest}", printable(agent), term::local_time(until)))
}

/// What a run says when it notices one.
pub(crate) fn plateau_noticed(plateau: Plateau, agents: &AgentSpec) -> String {
    let others = if agents.is_team() { ", those who were asked least are asked first" } else { "" };
    format!(
        "a plateau: {}; near-misses get slots that would wait{others}, and briefs name what was never touched",
        described_plateau(plateau)
    )
}

/// One experiment on one line; of a team with its agent.
pub(crate) fn row_line(row: &Row, is_team: bool) -> String {
    term::row_line(&with_agent(row, is_team))
}

/// The same with what it cost.
pub(crate) fn priced_line(row: &Row, is_team: bool) -> String {
    term::priced_line(&with_agent(row, is_team))
}

fn with_agent(row: &Row, is_team: bool) -> Cow<'_, Row> {
    if !is_team || row.agent.is_empty() || row.description.is_empty() {
        return Cow::Borrowed(row);
    }
    Cow::Owned(Row { description: format!("{}: {}", row.agent, row.description), ..row.clone() })
}

/// What an agent of a team did of late: ` (12 turns of late, 3 kept, 1 without a proposal)`.
pub(crate) fn record(summary: &Summary, agent: &str) -> String {
    let row = summary.team.iter().filter(|_| summary.team.len() > 1).find(|row| row.agent == agent);
    row.map_or_else(String::new, |AgentRow { turns, kept, failed, .. }| {
        format!(" ({turns} turns of late, {kept} kept, {failed} without a proposal)")
    })
}

/// An agent of `status --json`.
#[derive(Debug, Serialize)]
pub(crate) struct AgentJson {
    agent: String,
    /// Of the turns to come; unknown where it is no member any more.
    share: Option<f64>,
    turns: u64,
    kept: u64,
    failed: u64,
    gain_per_hour: Option<f64>,
    /// Where money was paid, and is known.
    gain_per_dollar: Option<f64>,
    waits_until: Option<String>,
}

pub(crate) fn json(summary: &Summary, agents: Option<&AgentSpec>) -> Vec<AgentJson> {
    let members = agents.map_or(&[][..], |agents| &agents.members);
    let shares = shares(members, &summary.team, summary.plateau);
    let of = |row: &AgentRow| AgentJson {
        agent: row.agent.clone(),
        share: members.iter().position(|member| member.name == row.agent).map(|at| shares[at]),
        turns: row.turns,
        kept: row.kept,
        failed: row.failed,
        gain_per_hour: row.per_hour(),
        gain_per_dollar: row.per_dollar(),
        waits_until: row.waits_until.map(rfc3339),
    };
    summary.team.iter().map(of).collect()
}

fn is_waited_for(row: &AgentRow, now: Timestamp) -> bool {
    row.waits_until.is_some_and(|until| now < until)
}

/// Who has the slot meanwhile.
fn others(agents: Option<&AgentSpec>, is_waited_for: impl Fn(&str) -> bool) -> String {
    let members = agents.filter(|agents| agents.is_team()).map_or(&[][..], |agents| &agents.members);
    let free: Vec<&str> =
        members.iter().map(|member| member.name.as_str()).filter(|member| !is_waited_for(member)).collect();
    match free.as_slice() {
        [] => String::new(),
        [one] => format!("; {one} has the slot"),
        more => format!("; {} have the slot", more.join(" and ")),
    }
}

fn described_plateau(Plateau { experiments, usual }: Plateau) -> String {
    let before = if usual == 1 { "every one".to_owned() } else { format!("one in {usual}") };
    format!("nothing was kept for {experiments} experiments, where {before} was before")
}

#[cfg(test)]
mod tests {
    use overnight_model::Millis;
    use overnight_model::spec::{AgentKind, Network};

    use super::*;

    fn agents(names: &[&str]) -> AgentSpec {
        let mut spec = AgentSpec::one(AgentKind::Tuner, Millis::seconds(1), Network::None);
        let one = spec.members[0].clone();
        spec.members =
            names.iter().map(|name| overnight_model::spec::Member { name: (*name).into(), ..one.clone() }).collect();
        spec
    }

    #[test]
    fn others_have_the_slot_while_one_is_waited_for() {
        let told = |names: &[&str]| others(Some(&agents(names)), |agent| agent == "claude");
        assert_eq!(told(&["claude"]), "");
        assert_eq!(told(&["claude", "tuner"]), "; tuner has the slot");
        assert_eq!(told(&["claude", "codex", "tuner"]), "; codex and tuner have the slot");
        assert_eq!(others(Some(&agents(&["a", "b"])), |_| true), "");
    }

    #[test]
    fn a_plateau_is_told_with_what_was_usual() {
        let told = plateau_noticed(Plateau { experiments: 30, usual: 10 }, &agents(&["tuner"]));
        assert_eq!(
            told,
            "a plateau: nothing was kept for 30 experiments, where one in 10 was before; near-misses get slots that would \
             wait, and briefs name what was never touched"
        );
    }
}
