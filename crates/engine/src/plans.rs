//! Commits as pure data out of the ledger: whatever git lost can be made again, bit for bit.

use overnight_model::event::{Judged, Proposed, Reviewed, SegmentFacts};
use overnight_model::proposal::{Contents, SurfaceBlob};
use overnight_model::spec::Metric;
use overnight_model::{CommitId, ExperimentId, Reason, State, Verdict, What};

use crate::dispatch::{Fault, Keep, kept_message, proposal_message, retreat_message};
use crate::ledger::{LedgerError, Reader, StoredEvent};
use crate::workspace::{CommitPlan, oid};

/// The commit of a proposal as it was made; `None` when the experiment never had one.
pub fn proposal_plan(reader: &Reader, experiment: ExperimentId) -> Result<Option<(CommitPlan, CommitId)>, Fault> {
    let events = reader.events_of(experiment)?;
    let Some(proposed) = find_proposed(&events) else { return Ok(None) };
    let message = proposal_message(experiment, &proposed.description);
    let Contents(files) = contents(reader, &proposed.surface)?;
    let plan = CommitPlan { parent: oid(&proposed.parent)?, files, message, at: proposed.commit_time };
    Ok(Some((plan, proposed.commit.clone())))
}

/// What the branch becomes with a keep, and where it has to be before.
pub fn keep(reader: &Reader, state: &State, experiment: ExperimentId) -> Result<(Keep, Option<CommitId>), Fault> {
    let found = state.find(experiment).ok_or_else(|| Fault::lost("the experiment that was kept"))?;
    let commit = found.commit.clone().ok_or_else(|| Fault::lost("the commit that was kept"))?;
    let champion = state.champion().and_then(|champion| champion.commit.clone());
    if let Some((retracted, from)) = state.retreating.zip(champion.clone()) {
        return Ok((Keep::Commit(retreat_plan(reader, &found.surface, retracted, &from)?), champion));
    }
    let keep = match found.verdict {
        Some((Verdict::Baseline, _)) => Keep::Baseline(commit),
        _ => {
            let from = champion.clone().ok_or_else(|| Fault::lost("the champion"))?;
            let facts = state.segment.as_ref().ok_or_else(|| Fault::lost("the segment"))?;
            Keep::Commit(kept_plan(reader, &facts.metric, experiment, &from)?)
        }
    };
    Ok((keep, champion))
}

/// The commit of a keep, on top of the champion it replaced. Everything in it comes from the recorded verdict.
pub fn kept_plan(
    reader: &Reader,
    metric: &Metric,
    experiment: ExperimentId,
    parent: &CommitId,
) -> Result<CommitPlan, Fault> {
    let events = reader.events_of(experiment)?;
    let (stored, judged) = kept_verdict(&events).ok_or_else(|| Fault::lost("the verdict of a keep"))?;
    let proposed = find_proposed(&events).ok_or_else(|| Fault::lost("the proposal of a keep"))?;
    let message = kept_message(metric, &proposed.description, &judged, &stored.hash);
    let Contents(files) = contents(reader, &proposed.surface)?;
    Ok(CommitPlan { parent: oid(parent)?, files, message, at: stored.event.at.0 / 1000 })
}

/// The commit that takes a keep back: on top of it, with the surface that was before.
pub fn retreat_plan(
    reader: &Reader,
    surface: &[SurfaceBlob],
    retracted: ExperimentId,
    parent: &CommitId,
) -> Result<CommitPlan, Fault> {
    let events = reader.events_of(retracted)?;
    let found = events.iter().rev().find_map(|stored| match &stored.event.what {
        What::Retracted(retracted) => Some((stored, retracted)),
        _ => None,
    });
    let (stored, retracted) = found.ok_or_else(|| Fault::lost("the record of what was taken back"))?;
    let proposed = find_proposed(&events).ok_or_else(|| Fault::lost("the proposal of what was taken back"))?;
    let message = retreat_message(&proposed.description, retracted, &stored.hash);
    let Contents(files) = contents(reader, surface)?;
    Ok(CommitPlan { parent: oid(parent)?, files, message, at: stored.event.at.0 / 1000 })
}

/// Every commit that the branch was moved to for an experiment, as plans: its keep, and what led back to it.
pub fn branch_plans(reader: &Reader, facts: &SegmentFacts, experiment: ExperimentId) -> Result<Vec<CommitPlan>, Fault> {
    let events = reader.events_of(experiment)?;
    let surface = find_proposed(&events).map_or(&facts.contents, |proposed| &proposed.surface);
    let moves = events.iter().filter_map(|stored| match &stored.event.what {
        What::BranchAdvanced { from: Some(from), retracted, .. } => Some((from, *retracted)),
        _ => None,
    });
    let plan = |(from, retracted): (&CommitId, Option<ExperimentId>)| match retracted {
        Some(retracted) => retreat_plan(reader, surface, retracted, from),
        None => kept_plan(reader, &facts.metric, experiment, from),
    };
    // The baseline is a commit of the user's own: only what led back to it was made here.
    moves.filter(|(_, retracted)| retracted.is_some() || experiment != facts.experiment).map(plan).collect()
}

/// What made it a keep: the judge's verdict, or a person's word on what the judge held back.
fn kept_verdict(events: &[StoredEvent]) -> Option<(&StoredEvent, Judged)> {
    let judged = events.iter().rev().find_map(|stored| match &stored.event.what {
        What::Judged(judged) => Some((stored, judged.clone())),
        _ => None,
    })?;
    let word = events.iter().rev().find_map(|stored| match &stored.event.what {
        What::Reviewed(Reviewed { verdict, why, .. }) => Some((stored, *verdict, why.clone())),
        _ => None,
    });
    Some(match word {
        None => judged,
        Some((stored, verdict, why)) => {
            let reason = Reason::Person { said: why, was: judged.1.reason.to_string() };
            (stored, Judged { verdict, reason, ..judged.1 })
        }
    })
}

/// What the segment of an experiment was opened with. One that was opened again before its baseline had a verdict
/// counts as it was last.
pub fn segment_of(segments: &[SegmentFacts], segment: u32) -> Result<&SegmentFacts, Fault> {
    let found = segments.iter().rev().find(|facts| facts.segment.0 == segment);
    found.ok_or_else(|| Fault::lost("the segment of an experiment"))
}

/// Recorded contents of a surface, where all of them are still there.
pub fn contents_if_there(reader: &Reader, surface: &[SurfaceBlob]) -> Result<Option<Contents>, LedgerError> {
    let read = |file: &SurfaceBlob| Ok(reader.blob(&file.blob)?.map(|bytes| (file.path.clone(), bytes)));
    let files: Result<Option<_>, LedgerError> = surface.iter().map(read).collect();
    Ok(files?.map(Contents))
}

/// Recorded contents of a surface.
pub fn contents(reader: &Reader, surface: &[SurfaceBlob]) -> Result<Contents, Fault> {
    let read = |file: &SurfaceBlob| match reader.blob(&file.blob)? {
        Some(bytes) => Ok((file.path.clone(), bytes)),
        None => Err(Fault::Ledger(LedgerError::NoBlob { id: file.blob.0.clone() })),
    };
    Ok(Contents(surface.iter().map(read).collect::<Result<_, Fault>>()?))
}

fn find_proposed(events: &[StoredEvent]) -> Option<&Proposed> {
    events.iter().rev().find_map(|stored| stored.event.what.made())
}
