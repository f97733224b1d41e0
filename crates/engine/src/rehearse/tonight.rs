//! Whether a study that has begun would go on from what lies in the checkout.

use std::path::{Path, PathBuf};

use overnight_model::event::SegmentFacts;

use super::Subject;
use crate::load;
use crate::open::{OpenError, assurance, is_as_in, locked_changes, same_evaluation, unlocked};
use crate::sandbox::fingerprint_inputs;
use crate::workspace::{Dirty, oid};

impl Subject {
    /// Files that differ from the last commit, but for the triplet and the program, which are never locked.
    pub fn dirty(&self) -> impl Iterator<Item = &Dirty> {
        let unlocked = unlocked(&self.user, &self.site, &self.spec);
        self.dirty.iter().filter(move |file| !unlocked.contains(&file.path))
    }

    /// Locked files that were measured here and would not be tonight: a study goes on with its baseline's.
    pub fn left_behind(&self, known: &SegmentFacts) -> Result<Vec<PathBuf>, OpenError> {
        let baseline = oid(&known.baseline)?;
        let unlocked = unlocked(&self.user, &self.site, &self.spec);
        let mut changed = locked_changes(&self.user, &unlocked, (baseline, self.user.head()?), known)?;
        changed.retain(|path| !is_as_in(&self.user, baseline, path));
        Ok(changed)
    }

    /// Refuses as `run` would, where the evaluation is not the one that the study began with.
    pub fn refuse_for(&self, known: &SegmentFacts) -> Result<(), OpenError> {
        let inputs = fingerprint_inputs(&self.spec, &self.site.dir, load::home().as_deref());
        let now = SegmentFacts {
            surface: self.spec.surface.clone(),
            metric: self.spec.metric.clone(),
            evaluate: self.spec.evaluate.clone(),
            assurance: assurance(&self.spec),
            inputs: inputs.map_err(OpenError::Inputs)?,
            ..known.clone()
        };
        same_evaluation(known, &now)?;
        let baseline = oid(&known.baseline)?;
        let is_surface = |path: &Path| self.spec.surface.paths().any(|surface| path == Path::new(surface));
        let locked = self.dirty().filter(|file| !is_surface(&file.path) && !is_as_in(&self.user, baseline, &file.path));
        let files: Vec<Dirty> = locked.cloned().collect();
        if files.is_empty() { Ok(()) } else { Err(OpenError::Dirty { files, begun: true }) }
    }
}
