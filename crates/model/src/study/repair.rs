//! What crashed at once goes back to whoever made it, within the same experiment.
//!
//! A slip of the pen says nothing about an idea, and the agent that made it mends it for a fraction of what a new idea
//! costs. What took a while to fail, ran out of time or of memory is no slip.

use super::Study;
use super::experiment::Experiment;
use super::need::Need;
use super::state::State;
use super::step::Step;
use crate::event::{Judged, Proposed, Scope};
use crate::spec::AgentKind;
use crate::units::Millis;
use crate::verdict::{Reason, Verdict};

/// The share of its budget within which a candidate crashes at once.
const AT_ONCE: u64 = 10;
/// A tenth of a short budget is over before an interpreter has read the file.
const LEAST: Millis = Millis::seconds(1);

impl State {
    /// The surface is another one; nothing that was measured counts for it.
    pub(super) fn repair(&mut self, proposed: &Proposed) {
        let id = proposed.experiment;
        // Layout may be what broke it: the form is free for others, as after any crash. The bytes are not.
        self.forms.retain(|_, known| *known != id);
        self.contents.entry(proposed.content.clone()).or_insert(id);
        self.forms.extend(proposed.form.clone().filter(|form| !self.forms.contains_key(form)).map(|form| (form, id)));
        self.with_open(id, |open| {
            (open.asked, open.repairs) = (false, open.repairs + 1);
            (open.surface_from, open.fresh_from) = (open.trials.len(), open.trials.len());
            open.commit = Some(proposed.commit.clone());
            open.commit_time = proposed.commit_time;
            open.description = proposed.description.clone();
            open.content = Some(proposed.content.clone());
            open.surface = proposed.surface.clone();
            (open.form, open.tokens) = (proposed.form.clone(), proposed.tokens);
            (open.reseeds, open.edits) = (proposed.reseeds, proposed.edits.clone());
            open.guards.clear();
            open.smokes.clear();
        });
        self.tuning.end(id, None);
        if let Some(parent) = self.standing_at(&proposed.parent) {
            self.tuning.propose(id, parent, &proposed.edits);
        }
        if let Some(mind) = self.judging.mind.as_mut().filter(|mind| mind.knows(id)) {
            mind.start_over(id);
        }
    }
}

impl Study {
    /// A verdict, unless whoever made it may still repair it.
    pub(super) fn repair_or(&self, experiment: &Experiment, judged: Judged) -> Need {
        match self.repairer(experiment).filter(|_| judged.verdict == Verdict::Crashed) {
            Some(agent) if self.crashed_at_once(experiment, &judged.reason) => Need::Repair { agent, judged },
            _ => Need::Verdict(judged),
        }
    }

    /// A question about what crashed at once; where nobody is to be asked any more, its verdict.
    pub(super) fn next_repair(&self, asks: bool) -> Option<Step> {
        self.candidates().find_map(|open| match self.need(open) {
            Need::Repair { agent, .. } if asks => Some(Step::Repair { experiment: open.id, agent }),
            Need::Repair { judged, .. } => Some(Step::Judge(judged)),
            _ => None,
        })
    }

    /// Who may repair it: whoever was asked for it, while that one can be asked at all. Nobody waits for a provider.
    fn repairer(&self, experiment: &Experiment) -> Option<String> {
        let run = self.state.run.as_ref().filter(|run| run.facts.scope != Scope::One)?;
        let member = self.spec.agent.member(&experiment.agent).filter(|member| member.kind != AgentKind::Tuner)?;
        let is_free = experiment.was_asked && !experiment.is_beyond_repair;
        let may_be = experiment.repairs < self.spec.agent.repairs && !run.waiting.contains_key(&member.name);
        (is_free && may_be).then(|| member.name.clone())
    }

    /// Whether it never gave a number and broke at the beginning of its first run, or before.
    fn crashed_at_once(&self, experiment: &Experiment, reason: &Reason) -> bool {
        if experiment.trials.iter().any(|trial| trial.score().is_some()) {
            return false;
        }
        let soon = Millis(self.spec.evaluate.budget.0 / AT_ONCE).max(LEAST);
        match (reason, experiment.fresh()) {
            (Reason::Smoke { .. }, []) => true,
            (Reason::Ended { .. }, [only]) => only.measurement.usage.wall <= soon,
            _ => false,
        }
    }
}
