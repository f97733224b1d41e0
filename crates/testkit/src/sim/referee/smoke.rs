//! Quick looks: before the first trial of every surface, and never in a slot.

use std::collections::BTreeMap;

use overnight_model::ExperimentId;
use overnight_model::event::Purpose;

use super::Referee;
use crate::sim::setup::Setup;

/// Quick looks of this run.
#[derive(Debug, Default)]
pub struct Smokes {
    running: BTreeMap<ExperimentId, Option<ExperimentId>>,
    /// Whether they passed, on themselves and on champions.
    ended: BTreeMap<(ExperimentId, Option<ExperimentId>), bool>,
}

impl Smokes {
    pub fn start_run(&mut self) {
        assert!(self.running.is_empty(), "quick looks of an earlier run were not recorded as lost");
        self.ended.clear();
    }

    /// The surface is another one.
    pub fn forget(&mut self, id: ExperimentId) {
        self.ended.retain(|(experiment, _), _| *experiment != id);
    }

    pub fn lose(&mut self, id: ExperimentId) {
        assert!(self.running.remove(&id).is_some(), "a lost quick look at {id} was not running");
    }

    pub fn is_running(&self, id: ExperimentId) -> bool {
        self.running.contains_key(&id)
    }

    pub fn fails_on_champion(&self) -> bool {
        self.ended.iter().any(|((_, on), passed)| on.is_some() && !passed)
    }

    fn own(&self, id: ExperimentId) -> Option<bool> {
        self.ended.get(&(id, None)).copied()
    }

    /// Whether the candidate did not pass, and a champion did.
    pub fn blames(&self, id: ExperimentId) -> bool {
        let champion_passes = self.ended.iter().any(|((of, on), passed)| *of == id && on.is_some() && *passed);
        self.own(id) == Some(false) && champion_passes
    }
}

impl Referee {
    pub(super) fn start_smoke(&mut self, setup: &Setup, id: ExperimentId, on: Option<ExperimentId>, command: &str) {
        assert!(setup.smoke && command == "look", "`{command}` is no quick look of this study");
        assert_eq!(self.unadvanced, None, "something is run before the branch is where the last verdict wants it");
        assert!(!self.closing, "a quick look while the night was closed");
        assert!(!self.carried.contains(&id), "what was carried over has run before");
        assert!(self.running.values().all(|(owner, ..)| *owner != id), "{id} is looked at while it runs");
        self.check_doubt(Purpose::Screen);
        let is_baseline = id == self.baseline;
        let done = self.wanted.is_some_and(|wanted| self.counted() >= wanted);
        assert!(is_baseline || !done, "something is run although as many count as were wanted");
        let life = self.open_life(id);
        assert!(life.content.is_some() && !life.clashes, "a quick look at nothing");
        match on {
            None => assert_eq!(self.smokes.own(id), None, "{id} is looked at twice"),
            Some(_) => {
                assert_eq!(on, self.champion, "the quick look is tried on another than the champion");
                assert_eq!(self.smokes.own(id), Some(false), "the champion is asked although {id} did not fail");
            }
        }
        assert_eq!(self.smokes.running.insert(id, on), None, "{id} is looked at twice at once");
    }

    pub(super) fn end_smoke(&mut self, id: ExperimentId, passed: bool) {
        let on = self.smokes.running.remove(&id).unwrap_or_else(|| panic!("no quick look at {id} was running"));
        self.smokes.ended.insert((id, on), passed);
    }

    /// The first trial of a surface comes after its quick look.
    pub(super) fn check_smoked(&self, setup: &Setup, id: ExperimentId, purpose: Purpose) {
        let is_first = self.lives[&id].fresh().is_empty() && purpose == Purpose::Screen;
        if setup.smoke && is_first && !self.carried.contains(&id) {
            assert_eq!(self.smokes.own(id), Some(true), "{id} took a slot without a quick look");
        }
    }

    pub(super) fn check_smoked_out(&mut self, id: ExperimentId) {
        assert!(self.smokes.blames(id), "{id} was refused by a quick look that blames nobody");
        assert!(self.lives[&id].fresh().is_empty(), "{id} was refused by a quick look after a trial");
        self.seen.smoked_out += 1;
    }
}
