//! A proposal whose champion has moved on, put on the new one.

use overnight_model::event::What;
use overnight_model::proposal::{self, Contents};
use overnight_model::{ExperimentId, Timestamp};

use super::{Arrival, Dispatch, Draft, Fault, Machine, Made};
use crate::workspace::merged;

impl<M: Machine> Dispatch<M> {
    /// What the proposal changed, done to the present champion; nothing where both changed the same lines, where it is
    /// there already, or where it would break a rule there.
    pub(super) fn restack(&self, experiment: ExperimentId) -> Result<Arrival, Fault> {
        let state = self.study.state();
        let found = state.find(experiment).ok_or_else(|| Fault::lost("the experiment to restack"))?;
        let parent = found.parent.as_ref().ok_or_else(|| Fault::lost("the parent of a proposal"))?;
        let champion = self.contents_of(state.champion.ok_or_else(|| Fault::lost("the champion"))?)?;
        let made_from = state.standing().find(|standing| standing.is(parent));
        let contents = match made_from {
            Some(made_from) => merged(&self.contents_of(made_from.id)?, &champion, &self.contents_of(experiment)?),
            None => None,
        };
        // Values have names: two that stand on one line do not clash.
        let contents = contents.or_else(|| self.with_edits(&champion, &found.edits));
        let is_allowed = |contents: &Contents| {
            *contents != champion && proposal::breach(&self.study.spec().surface, &champion, contents).is_none()
        };
        Ok(Arrival::Restacked { experiment, contents: contents.filter(is_allowed) })
    }

    pub(super) fn learn_restacked(
        &mut self,
        draft: &mut Draft,
        now: Timestamp,
        experiment: ExperimentId,
        contents: Option<Contents>,
    ) -> Result<(), Fault> {
        let Some(contents) = contents else {
            self.note(draft, now, What::NotRestacked { experiment });
            return Ok(());
        };
        let state = self.study.state();
        let champion = state.champion().ok_or_else(|| Fault::lost("the champion"))?;
        let parent = champion.commit.clone().ok_or_else(|| Fault::lost("the champion's commit"))?;
        let found = state.find(experiment).ok_or_else(|| Fault::lost("the experiment to restack"))?;
        let (agent, description, edits) = (found.agent.clone(), found.description.clone(), found.edits.clone());
        let original = (self.contents_of(champion.id)?, champion.tokens);
        let made = Made { experiment, agent, parent, description, contents, original, edits };
        let proposed = self.make(draft, now, made)?;
        self.note(draft, now, What::Restacked(proposed));
        Ok(())
    }
}
