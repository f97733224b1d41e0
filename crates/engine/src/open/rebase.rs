//! A study that goes on under a changed evaluation: the next segment, with the champion carried over.
//!
//! The branch only ever moves forward: the new baseline is a commit on top of the old champion that takes the new tree
//! and puts the baseline's surface back; the champion's surface follows as a proposal on top of it, and is judged there.

use std::path::PathBuf;

use overnight_model::event::{Judged, Proposed, SegmentFacts};
use overnight_model::proposal::{self, Contents};
use overnight_model::spec::{Part, Spec, Surface, Tier};
use overnight_model::study::Experiment;
use overnight_model::{CommitId, ExperimentId, Millis, Reason, State, Verdict, What};

use super::OpenError;
use super::facts::{Place, facts, same_evaluation, same_segment};
use crate::dispatch::{Fault, proposal_message};
use crate::ledger::Reader;
use crate::plans;
use crate::source;
use crate::workspace::{CommitPlan, ObjectId, Store, UserRepo, oid};

/// What a rebase stands on.
pub(super) struct Ground<'a> {
    pub(super) user: &'a UserRepo,
    pub(super) store: &'a Store,
    pub(super) reader: &'a Reader,
    pub(super) state: &'a State,
    pub(super) spec: &'a Spec,
}

/// What a rebase made.
pub(super) struct Rebased {
    pub(super) baseline: ObjectId,
    pub(super) events: Vec<What>,
    pub(super) contents: Vec<Vec<u8>>,
    pub(super) notes: Vec<String>,
}

impl Ground<'_> {
    /// Puts baseline and champion of the present segment on another tree.
    pub(super) fn rebase(
        &self,
        base: ObjectId,
        enforced: (Tier, Option<String>),
        unlocked: &[PathBuf],
    ) -> Result<Rebased, OpenError> {
        let state = self.state;
        let old = state.segment.as_ref().ok_or(OpenError::NotBegun)?;
        let before = state.champion().and_then(|champion| champion.commit.as_ref()).ok_or(OpenError::NotBegun)?;
        let found = self.at(base)?;
        let baseline = self.carry(&old.surface, state.find(state.baseline()), &found)?;
        // Before a carried champion had its turn, the champion is still that of the segment before.
        let champion = state.to_carry().filter(|found| found.segment == old.segment);
        let champion = match champion {
            Some(champion) => self.carry(&old.surface, Some(champion), &found)?,
            None => baseline.clone(),
        };
        // What changed since there were numbers: a segment that was never measured may be gone from git by now.
        let before = oid(before)?;
        let mut locked = self.user.changed(before, base, &self.spec.surface)?;
        locked.extend(self.locked_parts(before, &found)?);
        let new = self.write_baseline(before, base, &baseline, locked.is_empty())?;
        locked.retain(|path| !unlocked.contains(path));
        let mut contents = Vec::new();
        let place = Place::next(state, champion != baseline);
        let mut facts = facts(self.user, self.spec, new, enforced, place, &mut contents)?;
        let evaluation = match same_evaluation(old, &facts) {
            Err(OpenError::Changed { what, .. }) => Some(what),
            // No champion is carried from what was measured to what is replayed, or back.
            Err(error @ OpenError::Replay { .. }) => return Err(error),
            _ => None,
        };
        let changed = described(&locked, evaluation);
        if changed.is_empty() && state.begun() {
            return Err(OpenError::Unchanged { segment: old.segment.0 });
        }
        // What a segment that was never measured had changed in the triplet is known to nobody else.
        let known = old.carried.as_ref().filter(|_| !state.begun() && changed.is_empty());
        if let Some(carried) = &mut facts.carried {
            carried.changed = known.map_or(changed, |known| known.changed.clone());
        }
        let mut notes = self.notes(&found, &baseline, &champion);
        notes.extend(self.left_behind(old, &baseline, &champion)?);
        if !state.begun() && same_segment(old, &facts) {
            self.write_again(state.carried())?;
            return Ok(Rebased { baseline: new, events: Vec::new(), contents: Vec::new(), notes });
        }
        let carried = facts.carried.as_ref().and_then(|carried| carried.experiment);
        let mut events = self.ended(carried);
        events.push(What::SegmentOpened(facts.into()));
        if let Some(carried) = carried {
            let (proposed, files) = self.propose(carried, new, (&baseline, champion))?;
            events.push(What::Proposed(proposed));
            contents.extend(files);
        }
        Ok(Rebased { baseline: new, events, contents, notes })
    }

    /// The surface as it is in a commit.
    fn at(&self, commit: ObjectId) -> Result<Contents, OpenError> {
        let read = |path: &str| Ok((path.to_owned(), self.user.read(commit, path)?));
        Ok(Contents(self.spec.surface.paths().map(read).collect::<Result<_, OpenError>>()?))
    }

    fn carry(&self, from: &Surface, of: Option<&Experiment>, onto: &Contents) -> Result<Contents, OpenError> {
        let of = of.ok_or_else(|| Fault::lost("the experiment to carry over"))?;
        let old = plans::contents(self.reader, &of.surface)?;
        let surface = &self.spec.surface;
        proposal::carry_over((from, &old), (surface, onto)).ok_or_else(|| super::facts::marker(surface, onto, &old))
    }

    /// Files of which only a part may change, where the rest of them did.
    fn locked_parts(&self, before: ObjectId, found: &Contents) -> Result<Vec<PathBuf>, OpenError> {
        let mut changed = Vec::new();
        for file in self.spec.surface.files.iter().filter(|file| file.part != Part::Whole) {
            let (old, new) = (self.user.read(before, &file.path), found.get(&file.path));
            if let (Ok(old), Some(new)) = (old, new)
                && proposal::part_breach(&file.part, &old, new).is_some()
            {
                changed.push(file.path.clone().into());
            }
        }
        Ok(changed)
    }

    /// The same every time for the same commits, so that a rebase which was killed finds its own work.
    fn write_baseline(
        &self,
        before: ObjectId,
        base: ObjectId,
        files: &Contents,
        same_tree: bool,
    ) -> Result<ObjectId, OpenError> {
        let message = "baseline of a new segment: the study's own surface, evaluated anew".to_owned();
        let at = self.user.committed_at(base)?.max(self.user.committed_at(before)?);
        let plan = |parent| CommitPlan { parent, files: files.0.clone(), message, at };
        Ok(match same_tree {
            true => self.user.write_kept(&plan(before))?,
            false => self.user.write_rebased(before, &plan(base))?,
        })
    }

    /// Makes sure of a proposal that stands on a baseline which was just made again.
    fn write_again(&self, carried: Option<ExperimentId>) -> Result<(), OpenError> {
        let Some(carried) = carried else { return Ok(()) };
        if let Some((plan, _)) = plans::proposal_plan(self.reader, carried)? {
            let commit = self.store.write(&plan)?;
            self.store.set_ref(carried.0, commit)?;
        }
        Ok(())
    }

    /// What was open has no verdict to hope for; what a segment without numbers had begun is begun again.
    fn ended(&self, carried: Option<ExperimentId>) -> Vec<What> {
        let state = self.state;
        let again = |id: ExperimentId| !state.begun() && (id == state.baseline() || Some(id) == carried);
        let interrupted = |open: &Experiment| {
            let reason = Reason::NewSegment;
            let (experiment, verdict) = (open.id, Verdict::Interrupted);
            What::Judged(Judged { experiment, verdict, reason, metric: None, estimate: None, opinion: None })
        };
        state.open().filter(|open| !again(open.id)).map(interrupted).collect()
    }

    /// The champion's surface as a proposal on the new baseline.
    fn propose(
        &self,
        experiment: ExperimentId,
        parent: ObjectId,
        (baseline, champion): (&Contents, Contents),
    ) -> Result<(Proposed, Vec<Vec<u8>>), OpenError> {
        let from = self.state.to_carry().ok_or(OpenError::NotBegun)?;
        let description = match self.state.carried() == Some(from.id) {
            true => from.description.clone(),
            false => format!("champion of segment {} (experiment {}) carried over", from.segment.0, from.id),
        };
        let commit_time = self.user.committed_at(parent)?;
        let (content, surface) = (champion.id(), champion.blobs());
        let form = source::forms(&champion, Some(baseline));
        let message = proposal_message(experiment, &description);
        let plan = CommitPlan { parent, files: champion.0, message, at: commit_time };
        let commit = self.store.write(&plan)?;
        self.store.set_ref(experiment.0, commit)?;
        let proposed = Proposed {
            experiment,
            // Whoever wrote it, wrote it still.
            agent: from.agent.clone(),
            parent: CommitId(parent.to_string()),
            commit: CommitId(commit.to_string()),
            commit_time,
            description,
            content,
            surface,
            tokens: form.as_ref().and_then(|form| form.tokens),
            form: form.map(|form| form.id),
            reseeds: false,
            edits: Vec::new(),
            took: Millis(0),
            output: None,
            used: None,
        };
        Ok((proposed, plan.files.into_iter().map(|(_, bytes)| bytes).collect()))
    }

    /// What the champion had changed in files or parts that are locked now.
    fn left_behind(
        &self,
        old: &SegmentFacts,
        baseline: &Contents,
        champion: &Contents,
    ) -> Result<Vec<String>, OpenError> {
        let Some(from) = self.state.to_carry().filter(|found| found.segment == old.segment) else {
            return Ok(Vec::new());
        };
        let before = plans::contents(self.reader, &old.contents)?;
        let kept = plans::contents(self.reader, &from.surface)?;
        let is_lost = |(path, bytes): &&(String, Vec<u8>)| {
            let was_changed = before.get(path) != Some(bytes.as_slice());
            was_changed && baseline.get(path) == champion.get(path)
        };
        let note = |(path, _): &(String, Vec<u8>)| {
            format!(
                "what the champion had changed in `{path}` is locked now and does not come along; it stays in \
                 experiment {}",
                from.id
            )
        };
        Ok(kept.0.iter().filter(is_lost).map(note).collect())
    }

    /// A person's own version of the surface is nobody's proposal: it is said, not taken.
    fn notes(&self, found: &Contents, baseline: &Contents, champion: &Contents) -> Vec<String> {
        let differs = |(path, bytes): &&(String, Vec<u8>)| {
            [baseline, champion].iter().all(|known| known.get(path) != Some(bytes.as_slice()))
        };
        let own = found.0.iter().find(differs);
        let note = |(path, _): &(String, Vec<u8>)| {
            format!(
                "`{path}` in the commit is neither the baseline's nor the champion's, and is not taken: \
                 `overnight try --from-worktree` has it judged"
            )
        };
        own.map(note).into_iter().collect()
    }
}

/// What changed, in words; empty where nothing did.
fn described(locked: &[PathBuf], evaluation: Option<&'static str>) -> String {
    let files = locked.first().map(|first| match locked.len() {
        1 => format!("`{}`", first.display()),
        n => format!("`{}` and {} more", first.display(), n - 1),
    });
    files.into_iter().chain(evaluation.map(ToOwned::to_owned)).collect::<Vec<_>>().join(", ")
}
