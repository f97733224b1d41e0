//! Asking an agent: what it is told, and the one that answers at once.

use overnight_model::ExperimentId;
use overnight_model::spec::AgentKind;

use super::{Action, Arrival, Dispatch, Fault, Machine};
use crate::brief::{Question, Source};

impl<M: Machine> Dispatch<M> {
    pub(super) fn ask(
        &mut self,
        experiment: ExperimentId,
        agent: &str,
        arrived: &[Arrival],
    ) -> Result<Option<Arrival>, Fault> {
        let member = self.study.spec().agent.member(agent).cloned().ok_or_else(|| Fault::lost("the agent"))?;
        let champion = self.study.state().champion.unwrap_or(self.study.state().baseline());
        let contents = self.contents_of(champion)?;
        match member.kind {
            AgentKind::Tuner => Ok(Some(self.ask_tuner(experiment, &contents, arrived)?)),
            AgentKind::Command(_) | AgentKind::Coding(_) | AgentKind::Api(_) => {
                let tuning = match self.briefed.tuning(champion, experiment) {
                    Some(known) => known,
                    None => {
                        let found = self.tuning(&contents)?;
                        self.briefed.learn_tuning(champion, experiment, found.clone());
                        found
                    }
                };
                let source =
                    Source { spec: self.study.spec(), state: self.study.state(), reader: Some(self.ledger.reader()) };
                let recent = self.recent.iter().cloned().collect();
                let question = Question { experiment, champion: &contents, tuning, recent };
                let brief = self.briefed.brief(source, question)?;
                self.machine.act(Action::Ask { experiment, member, brief, contents })?;
                Ok(None)
            }
        }
    }
}
