//! Who makes proposals: one agent, or several that take turns.

use super::{AgentKind, Network, Tier};
use crate::units::Millis;

/// Who makes proposals, and what they have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSpec {
    /// In the order in which they were named; there is at least one, and no two have the same name.
    pub members: Vec<Member>,
    /// How many proposals may be asked for while every slot is taken, so that one is ready when a slot is.
    pub ahead: u32,
    /// How long a brief may be as text, in tokens.
    pub brief_tokens: u64,
    /// How often a candidate that crashed at once goes back to whoever made it.
    pub repairs: u32,
    /// Files that agents may read though nobody tracks them and no evaluation needs them: patterns from the top of the
    /// repository.
    pub context: Vec<String>,
}

/// One agent of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// By which the ledger knows it. That of its kind, unless a person gave it another.
    pub name: String,
    pub kind: AgentKind,
    pub timeout: Millis,
    /// An agent talks to its model, so it has the network unless it is told otherwise.
    pub network: Network,
    /// Its share of the turns, beside those of the others; all have one, or none has.
    pub weight: Option<f64>,
}

impl AgentSpec {
    /// A surface of some size and a dozen full diffs, for the price of a short conversation.
    pub const BRIEF_TOKENS: u64 = 24_000;

    /// One agent alone, which is not asked ahead of time, nor to repair anything.
    pub fn one(kind: AgentKind, timeout: Millis, network: Network) -> AgentSpec {
        let member = Member { name: kind.name().to_owned(), kind, timeout, network, weight: None };
        let brief_tokens = AgentSpec::BRIEF_TOKENS;
        AgentSpec { members: vec![member], ahead: 0, brief_tokens, repairs: 0, context: Vec::new() }
    }

    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    pub fn is_team(&self) -> bool {
        self.members.len() > 1
    }

    pub fn has_tuner(&self) -> bool {
        self.members.iter().any(|member| member.kind == AgentKind::Tuner)
    }

    /// Whether anyone but the tuner writes what will run.
    pub fn has_model(&self) -> bool {
        self.members.iter().any(|member| member.kind != AgentKind::Tuner)
    }

    /// Those who can ask a model through the gateway alone, or none at all, at what a machine enforces.
    pub fn metered(&self, tier: Tier) -> Vec<String> {
        let is_walled = |member: &&Member| match (&member.kind, member.network) {
            (AgentKind::Tuner, _) => true,
            (_, Network::Full) => false,
            // The engine itself asks.
            (AgentKind::Api(_), Network::Models) => true,
            (_, Network::None | Network::Models) => tier >= Tier::Standard,
        };
        self.members.iter().filter(is_walled).map(|member| member.name.clone()).collect()
    }

    /// `claude, tuner`
    pub fn names(&self) -> String {
        self.members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// For the head of a screen: `agent tuner`, `agents claude, tuner`.
    pub fn titled(&self) -> String {
        format!("{} {}", if self.is_team() { "agents" } else { "agent" }, self.names())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_called_an_agent_and_two_are_agents() {
        let mut spec = AgentSpec::one(AgentKind::Tuner, Millis::seconds(1), Network::None);
        assert_eq!((spec.titled().as_str(), spec.has_tuner(), spec.has_model()), ("agent tuner", true, false));
        let other = AgentSpec::one(AgentKind::Command("x".into()), Millis::seconds(1), Network::None);
        spec.members.extend(other.members);
        assert_eq!((spec.titled().as_str(), spec.has_tuner(), spec.has_model()), ("agents tuner, command", true, true));
    }
}
