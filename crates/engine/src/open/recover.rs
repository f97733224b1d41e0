//! What a crash tore or lost in the store, made again from the ledger.

use overnight_model::event::SegmentFacts;
use overnight_model::{ExperimentId, State};

use super::OpenError;
use crate::ledger::Reader;
use crate::plans;
use crate::workspace::{CommitPlan, Store, oid};

/// Packing syncs what it packs. A proposal is three objects or more, so no more than this many experiments can lie
/// loose before the next pack.
const MOST_UNPACKED: usize = crate::worker::PACK_AT / 3 + 100;

/// Proposals are not synced when they are made: what a crash tore or lost is made again from the ledger. A power
/// loss does so long after a run that ended well, and may leave no trace of an object at all.
pub(crate) fn recover_store(store: &Store, reader: &Reader, state: &State) -> Result<(), OpenError> {
    store.sweep()?;
    let refs = store.refs()?;
    let segments = reader.segments()?;
    let mut rows = Vec::new();
    reader.each_row(ExperimentId::BASELINE, |row| {
        rows.extend(row.commit.map(|commit| (row.experiment, row.segment, commit)));
    })?;
    let without_contents = reader.without_contents()?;
    let synced = rows.len().saturating_sub(MOST_UNPACKED);
    for (index, (experiment, segment, commit)) in rows.into_iter().enumerate() {
        if without_contents.contains(&experiment) {
            continue;
        }
        let facts = plans::segment_of(&segments, segment)?;
        // A baseline is a commit of the user's repository. One that was never measured may have been collected there,
        // and what stood on it is made anew with it.
        if (experiment == facts.experiment && commit == facts.baseline)
            || (state.carried() == Some(experiment) && !state.begun())
        {
            continue;
        }
        let paths: Vec<String> = facts.surface.paths().map(ToOwned::to_owned).collect();
        let wanted = oid(&commit)?;
        if refs.get(&experiment.0) == Some(&wanted) && (index < synced || store.whole(wanted, &paths)) {
            continue;
        }
        for plan in made_of(reader, facts, experiment)? {
            store.write(&plan)?;
        }
        store.set_ref(experiment.0, wanted)?;
    }
    Ok(())
}

/// The commits of an experiment, as plans: its proposal, and its keep where there was one.
fn made_of(reader: &Reader, facts: &SegmentFacts, experiment: ExperimentId) -> Result<Vec<CommitPlan>, OpenError> {
    let mut made: Vec<_> = plans::proposal_plan(reader, experiment)?.into_iter().map(|(plan, _)| plan).collect();
    made.extend(plans::branch_plans(reader, facts, experiment)?);
    Ok(made)
}
