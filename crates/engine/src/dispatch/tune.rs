//! Asking the tuner: it is a pure function of the champion and of what was tried, and answers at once.

use overnight_model::event::AttemptFailure;
use overnight_model::proposal::{Contents, breach};
use overnight_model::tuner::ask::{self, Told};
use overnight_model::tuner::report::Report;
use overnight_model::tuner::{self, Edit, Moved};
use overnight_model::{ExperimentId, Millis};

use super::{Arrival, Dispatch, Fault, Machine};
use crate::source::Tunable;
use crate::tune::{Memory, moved};

impl<M: Machine> Dispatch<M> {
    pub(super) fn ask_tuner(
        &mut self,
        experiment: ExperimentId,
        champion: &Contents,
        arrived: &[Arrival],
    ) -> Result<Arrival, Fault> {
        let tunable = Tunable::of(&self.study.spec().surface, champion);
        let mut told = self.told(&tunable)?;
        // Ideas of this very turn are not in the state yet, and two slots must not get the same one.
        let (surface, mut given) = (tunable.surface(), Vec::new());
        for arrival in arrived {
            if let Arrival::Proposal { contents, edits, .. } = arrival {
                let moves: Vec<Moved> = edits.iter().map(moved_to).collect();
                let point = moved(&surface, surface.here(), &moves);
                told.extend(point.map(|point| Told { point, result: ask::Result::Pending }));
                given.push(contents.id());
            }
        }
        let (spec, state) = (self.study.spec(), self.study.state());
        // What the rules of the surface would refuse cannot be tried either: `max_lines_changed`.
        let mut known = |files: &[(String, String)]| {
            let contents = tunable.with(champion, files);
            let id = contents.id();
            state.tried(&id).is_some() || given.contains(&id) || breach(&spec.surface, champion, &contents).is_some()
        };
        let seed = state.seed ^ experiment.0;
        Ok(match tuner::propose(&surface, &told, seed, &mut known, &mut self.tuned.memo) {
            Some(idea) => Arrival::Proposal {
                experiment,
                contents: tunable.with(champion, &idea.files),
                description: idea.description,
                edits: idea.edits,
                took: Millis(0),
                output: None,
                used: None,
            },
            None => {
                let what = "the tuner finds nothing left to try in the surface".to_owned();
                Arrival::AttemptFailed {
                    experiment,
                    failure: AttemptFailure::Exhausted { what },
                    output: None,
                    used: None,
                }
            }
        })
    }

    /// What the search knows, for another agent.
    pub(super) fn tuning(&mut self, champion: &Contents) -> Result<Option<Report>, Fault> {
        if self.study.state().tuned().next().is_none() {
            return Ok(None);
        }
        let tunable = Tunable::of(&self.study.spec().surface, champion);
        let told = self.told(&tunable)?;
        Ok(Some(Report::of(&tunable.surface(), &told)))
    }

    /// The edits of a proposal that changed values alone: the tuner learns from those of others too.
    pub(super) fn edits_between(&self, before: &Contents, after: &Contents) -> Vec<Edit> {
        let surface = &self.study.spec().surface;
        Tunable::of(surface, before).edits_to(&Tunable::of(surface, after)).unwrap_or_default()
    }

    /// Another champion with the same values changed; `None` where something else than values was to be changed, or where
    /// one of them is not what it was.
    pub(super) fn with_edits(&self, champion: &Contents, edits: &[Edit]) -> Option<Contents> {
        let tunable = Tunable::of(&self.study.spec().surface, champion);
        let surface = tunable.surface();
        let moves: Vec<Moved> = edits.iter().map(moved_to).collect();
        // What the champion has changed as well is not for us to decide.
        let before: Vec<Moved> = edits.iter().map(|edit| Moved { to: edit.from.clone(), ..moved_to(edit) }).collect();
        let is_as_it_was = moved(&surface, surface.here(), &before).is_some_and(|point| point == surface.here());
        let point = moved(&surface, surface.here(), &moves).filter(|_| is_as_it_was && !edits.is_empty())?;
        Some(tunable.with(champion, &surface.with(&point)))
    }

    fn told(&mut self, tunable: &Tunable) -> Result<Vec<Told>, Fault> {
        let mut memory: Memory = std::mem::take(&mut self.tuned);
        let spec = self.study.spec();
        let told = memory.told(self.study.state(), &spec.surface, tunable, |id| self.contents_of(id));
        self.tuned = memory;
        told
    }
}

fn moved_to(edit: &Edit) -> Moved {
    Moved { path: edit.path.clone(), name: edit.name.clone(), to: edit.to.clone() }
}
