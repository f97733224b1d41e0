//! Where a proposal came from: the champion that it was made from, and what it changed there.

use overnight_engine::ledger::{Reader, StoredEvent};
use overnight_engine::plans;
use overnight_model::event::Proposed;
use overnight_model::proposal::{Contents, SurfaceBlob};
use overnight_model::{CommitId, ExperimentId, Verdict, What};

use crate::error::Outcome;

/// What the proposal changed, against the surface of the champion that it stands on.
pub(crate) fn diff(reader: &Reader, events: &[StoredEvent]) -> Outcome<String> {
    let Some(proposed) = latest(events) else { return Ok(String::new()) };
    // Forgotten on request: `show` says so.
    let Some(new) = plans::contents_if_there(reader, &proposed.surface)? else { return Ok(String::new()) };
    let Some(old) = parent_surface(reader, proposed)? else { return Ok(String::new()) };
    let Contents(old) = plans::contents(reader, &old)?;
    let mut text = String::new();
    for (path, before) in old {
        let after = new.get(&path).unwrap_or_default();
        if before == after {
            continue;
        }
        let (before, after) = (String::from_utf8_lossy(&before), String::from_utf8_lossy(after));
        let mut options = diffy::DiffOptions::new();
        options.set_original_filename(format!("a/{path}")).set_modified_filename(format!("b/{path}"));
        text += &options.create_patch(&before, &after).to_string();
    }
    Ok(text)
}

/// The experiment that a commit of the branch is, or was before something was taken back.
pub(crate) fn experiment_of(reader: &Reader, commit: &CommitId) -> Outcome<Option<ExperimentId>> {
    let kept = reader.kept_rows()?;
    if let Some(row) = kept.iter().find(|row| row.commit.as_ref() == Some(commit)) {
        return Ok(Some(row.experiment));
    }
    if let Some(facts) = reader.segments()?.iter().rfind(|facts| facts.baseline == *commit) {
        return Ok(Some(facts.experiment));
    }
    // Rarely: its champion was taken back since, or became the branch's head a second time.
    let mut once: Vec<ExperimentId> = kept.iter().map(|row| row.experiment).collect();
    reader.each_row(ExperimentId::BASELINE, |row| {
        once.extend(matches!(row.verdict, Some(Verdict::Retracted | Verdict::Baseline)).then_some(row.experiment));
    })?;
    for id in once {
        let is_it =
            |stored: &StoredEvent| matches!(&stored.event.what, What::BranchAdvanced { to, .. } if to == commit);
        if reader.events_of(id)?.iter().any(is_it) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// What it is now: as it was proposed, or as it was put on another champion.
fn latest(events: &[StoredEvent]) -> Option<&Proposed> {
    events.iter().rev().find_map(|stored| stored.event.what.made())
}

fn parent_surface(reader: &Reader, proposed: &Proposed) -> Outcome<Option<Vec<SurfaceBlob>>> {
    let Some(parent) = experiment_of(reader, &proposed.parent)? else { return Ok(None) };
    surface_of(reader, parent)
}

/// The surface of an experiment as it is now; none where it never had one.
pub(crate) fn surface_of(reader: &Reader, id: ExperimentId) -> Outcome<Option<Vec<SurfaceBlob>>> {
    if let Some(proposed) = latest(&reader.events_of(id)?) {
        return Ok(Some(proposed.surface.clone()));
    }
    let mut segments = reader.segments()?;
    let baseline = segments.iter().rposition(|facts| facts.experiment == id);
    Ok(baseline.map(|index| segments.swap_remove(index).contents))
}
