//! Repairs: once, of what crashed at once, by whoever made it, and within the same experiment.

use overnight_model::ExperimentId;
use overnight_model::event::{Proposed, Purpose};
use overnight_model::spec::AgentKind;

use super::Referee;
use crate::sim::setup::Setup;

impl Referee {
    pub(super) fn ask_repair(&mut self, setup: &Setup, id: ExperimentId, agent: &str) {
        assert_ne!(agent, AgentKind::Tuner.name(), "the tuner is asked to repair something");
        assert_eq!(self.unadvanced, None, "a repair is asked for before the branch is where the last verdict wants it");
        assert!(!self.closing, "a repair is asked for while the night was closed");
        assert!(self.running.values().all(|(owner, ..)| *owner != id), "{id} is repaired while it runs");
        self.check_doubt(Purpose::Screen);
        let is_smoked_out = self.smokes.blames(id);
        let done = self.wanted.is_some_and(|wanted| self.counted() >= wanted);
        assert!(!done, "a repair is asked for although as many count as were wanted");
        let life = self.open_life(id);
        assert!(!life.asked && life.content.is_some() && !life.failed, "there is nothing of {id} to repair");
        assert!(life.repairs < setup.repairs && !life.beyond_repair, "{id} is repaired too often");
        let crashed =
            life.fresh().len() == 1 && life.crashed_at_once && life.trials.iter().all(|(_, score)| score.is_none());
        assert!(crashed || (is_smoked_out && life.fresh().is_empty()), "{id} did not crash at once: {:?}", life.trials);
        life.asked = true;
    }

    pub(super) fn repair(&mut self, proposed: &Proposed) {
        let id = proposed.experiment;
        assert!(proposed.description.contains("(repaired"), "{:?}", proposed.description);
        let life = self.open_life(id);
        assert!(std::mem::take(&mut life.asked), "nobody was asked to repair {id}");
        assert_ne!(life.content.as_ref(), Some(&proposed.content), "{id} was repaired with what it was");
        assert_eq!(life.parent.as_ref(), Some(&proposed.parent.0), "a repair of {id} is put elsewhere");
        life.content = Some(proposed.content.clone());
        life.becomes(&proposed.commit.0);
        (life.fresh_from, life.repairs, life.crashed_at_once) = (life.trials.len(), life.repairs + 1, false);
        self.guarded.retain(|(experiment, ..), _| *experiment != id);
        self.smokes.forget(id);
        self.seen.repaired += 1;
    }

    pub(super) fn give_up_repair(&mut self, id: ExperimentId) {
        let life = self.open_life(id);
        assert!(std::mem::take(&mut life.asked), "nobody was asked to repair {id}");
        life.beyond_repair = true;
        self.seen.not_repaired += 1;
    }
}
