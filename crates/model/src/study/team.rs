//! Whose turn it is, where several agents work on one study.

use super::Study;
use crate::id::ExperimentId;
use crate::spec::{AgentKind, Member};

impl Study {
    /// Who is asked for an experiment.
    pub(super) fn whose_turn(&self, experiment: ExperimentId, slot_is_free: bool) -> Option<&Member> {
        // The tuner answers at once; asked ahead, it would only know less.
        let may = |member: &&Member| slot_is_free || member.kind != AgentKind::Tuner;
        let members: Vec<&Member> = self.spec.agent.members.iter().filter(may).collect();
        members.get(experiment.0 as usize % members.len().max(1)).copied()
    }
}
