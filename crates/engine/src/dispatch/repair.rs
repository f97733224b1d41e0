//! What crashed at once, sent back to whoever made it.

use overnight_model::event::{AttemptFailure, Proposed, What};
use overnight_model::proposal::{self, Contents, DESCRIPTION_LIMIT, hypothesis, one_line};
use overnight_model::{ExperimentId, Timestamp};

use super::{Action, Answer, Dispatch, Draft, Fault, Machine, Made};
use crate::brief::{Question, Source};
use crate::source;

impl<M: Machine> Dispatch<M> {
    /// Whether an answer is about something that was proposed before.
    pub(super) fn is_proposed(&self, experiment: ExperimentId) -> bool {
        self.study.state().find(experiment).is_some_and(|found| found.content.is_some())
    }

    /// Asks with its own edit to begin with, and how that ended.
    pub(super) fn ask_repair(&mut self, experiment: ExperimentId, agent: &str) -> Result<(), Fault> {
        let member = self.study.spec().agent.member(agent).cloned().ok_or_else(|| Fault::lost("the agent"))?;
        let contents = self.contents_of(experiment)?;
        let source = Source { spec: self.study.spec(), state: self.study.state(), reader: Some(self.ledger.reader()) };
        let recent = self.recent.iter().cloned().collect();
        let question = Question { experiment, champion: &contents, tuning: None, recent };
        let brief = self.briefed.repair(source, question)?;
        self.machine.act(Action::Ask { experiment, member, brief, contents })
    }

    pub(super) fn learn_repair(&mut self, draft: &mut Draft, now: Timestamp, answer: Answer) -> Result<(), Fault> {
        let Answer { experiment, contents, description, took, output, used, .. } = answer;
        let output = draft.keep(output);
        let state = self.study.state();
        let found = state.find(experiment).ok_or_else(|| Fault::lost("the experiment to repair"))?;
        let parent = found.parent.clone().ok_or_else(|| Fault::lost("the parent of a proposal"))?;
        let made_from = state.standing().find(|standing| standing.is(&parent));
        let made_from = made_from.or_else(|| state.champion()).ok_or_else(|| Fault::lost("the champion"))?;
        let original = (self.contents_of(made_from.id)?, made_from.tokens);
        let (agent, before) = (found.agent.clone(), found.description.clone());
        if let Some(failure) = self.no_repair(experiment, &original.0, &contents)? {
            self.note(draft, now, What::NotRepaired { experiment, failure, output, used });
            return Ok(());
        }
        let before = shortened(&before);
        let description = match hypothesis(&description) {
            nothing if nothing.is_empty() => format!("{before} (repaired)"),
            line => format!("{before} (repaired: {line})"),
        };
        let edits = self.edits_between(&original.0, &contents);
        let description = one_line(&description);
        let made = Made { experiment, agent, parent, description, contents, original, edits };
        let proposed = Proposed { took, output, used, ..self.make(draft, now, made)? };
        self.note(draft, now, What::Repaired(proposed));
        Ok(())
    }

    /// Why an answer is no repair, if it is none: nothing was changed, everything was taken back, a rule was broken, or it
    /// is what another experiment was.
    fn no_repair(
        &self,
        experiment: ExperimentId,
        original: &Contents,
        contents: &Contents,
    ) -> Result<Option<AttemptFailure>, Fault> {
        if *contents == self.contents_of(experiment)? || contents == original {
            return Ok(Some(AttemptFailure::NoChange));
        }
        if let Some(what) = proposal::breach(&self.study.spec().surface, original, contents) {
            return Ok(Some(AttemptFailure::Policy { what }));
        }
        let state = self.study.state();
        let by_form = || source::forms(contents, Some(original)).and_then(|form| state.tried_form(&form.id));
        let other = state.tried(&contents.id()).or_else(by_form).filter(|other| *other != experiment);
        Ok(other.map(|other| AttemptFailure::error(format!("what it made of it is what experiment {other} was"))))
    }
}

/// Leaves room for what was mended in what is kept of a hypothesis.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(DESCRIPTION_LIMIT / 2) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
