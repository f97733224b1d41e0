//! What stays the same for a whole segment, and the first thing that does not.

use overnight_model::event::{Carried, SegmentFacts};
use overnight_model::proposal::{self, Contents, SurfaceBlob};
use overnight_model::spec::{Network, Part, Spec, Surface, SurfaceFile, Tier};
use overnight_model::{CommitId, ExperimentId, Segment, State};

use super::OpenError;
use crate::source;
use crate::workspace::{ObjectId, UserRepo};

/// Where a segment stands in its study.
pub(super) struct Place {
    segment: Segment,
    experiment: ExperimentId,
    carried: Option<Carried>,
}

impl Place {
    /// That of the present segment, or of the first one; one that was never measured may be opened anew.
    pub(super) fn present(state: &State) -> Place {
        let (segment, experiment) = match &state.segment {
            Some(known) if state.begun() => (known.segment, known.experiment),
            Some(known) => (Segment(known.segment.0 + 1), known.experiment),
            None => (Segment(1), ExperimentId::BASELINE),
        };
        let carried = state.segment.as_ref().and_then(|known| known.carried.clone());
        Place { segment, experiment, carried }
    }

    /// That of a segment which takes over what the present one found.
    pub(super) fn next(state: &State, carries: bool) -> Place {
        let present = Place::present(state);
        let (segment, experiment) = match state.begun() {
            true => (Segment(present.segment.0 + 1), state.next_experiment()),
            false => (present.segment, present.experiment),
        };
        let carried = carries.then_some(ExperimentId(experiment.0 + 1));
        Place { segment, experiment, carried: Some(Carried { changed: String::new(), experiment: carried }) }
    }
}

pub(super) fn facts(
    user: &UserRepo,
    spec: &Spec,
    baseline: ObjectId,
    (tier, inputs): (Tier, Option<String>),
    place: Place,
    contents: &mut Vec<Vec<u8>>,
) -> Result<SegmentFacts, OpenError> {
    let mut files = Vec::new();
    for SurfaceFile { path, part } in &spec.surface.files {
        let bytes = user.read(baseline, path)?;
        if let (Part::Above(marker) | Part::Below(marker), None) = (part, proposal::editable(part, &bytes)) {
            return Err(OpenError::Marker { path: path.clone(), marker: marker.clone() });
        }
        files.push((path.clone(), bytes));
    }
    let files = Contents(files);
    let blobs: Vec<SurfaceBlob> = files.blobs();
    let (form, tokens) = source::forms(&files, None).map_or((None, None), |found| (Some(found.id), found.tokens));
    contents.extend(files.0.into_iter().map(|(_, bytes)| bytes));
    Ok(SegmentFacts {
        segment: place.segment,
        experiment: place.experiment,
        carried: place.carried,
        baseline: CommitId(baseline.to_string()),
        surface: spec.surface.clone(),
        contents: blobs,
        metric: spec.metric.clone(),
        evaluate: spec.evaluate.clone(),
        guards: spec.guards.clone(),
        assurance: assurance(spec),
        sandbox: tier.name().to_owned(),
        inputs,
        form,
        tokens,
    })
}

/// How far numbers can be trusted. Those that are made of recorded answers are no measurements.
pub(crate) fn assurance(spec: &Spec) -> String {
    let level = spec.evaluate.assurance().name();
    format!("{level}{}", if is_replayed(spec) { SegmentFacts::REPLAYED } else { "" })
}

/// Whether models that an evaluation asks answer out of a recording.
pub(crate) fn is_replayed(spec: &Spec) -> bool {
    spec.gateway.tapes.replay.is_some() && spec.evaluate.network == Network::Models
}

/// Which file of a surface lacks its marker.
pub(super) fn marker(surface: &Surface, here: &Contents, there: &Contents) -> OpenError {
    let lacks = |file: &&SurfaceFile| {
        let without = |contents: &Contents| {
            contents.get(&file.path).is_some_and(|bytes| proposal::editable(&file.part, bytes).is_none())
        };
        without(here) || without(there)
    };
    let file = surface.files.iter().find(lacks).or(surface.files.first());
    let marker = match file.map(|file| &file.part) {
        Some(Part::Above(marker) | Part::Below(marker)) => marker.clone(),
        _ => String::new(),
    };
    OpenError::Marker { path: file.map(|file| file.path.clone()).unwrap_or_default(), marker }
}

pub(super) fn same_segment(known: &SegmentFacts, now: &SegmentFacts) -> bool {
    // Grammars get better: what an earlier version made of the same contents is no difference.
    let (form, tokens) = (now.form.clone(), now.tokens);
    SegmentFacts { segment: now.segment, form, tokens, ..known.clone() } == *now
}

/// Names the first thing whose change would make old and new numbers incomparable.
pub(crate) fn same_evaluation(known: &SegmentFacts, now: &SegmentFacts) -> Result<(), OpenError> {
    if known.is_replayed() != now.is_replayed() {
        return Err(OpenError::Replay { is_replayed: now.is_replayed() });
    }
    let part = |file: &SurfaceFile| match &file.part {
        Part::Whole => file.path.clone(),
        Part::Above(marker) => format!("{} above {marker}", file.path),
        Part::Below(marker) => format!("{} below {marker}", file.path),
    };
    let paths = |facts: &SegmentFacts| facts.surface.files.iter().map(part).collect::<Vec<_>>().join(", ");
    let env = |facts: &SegmentFacts| format!("{:?}", facts.evaluate.env);
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
    let score = |facts: &SegmentFacts| or_none(facts.evaluate.score.as_ref().map(|score| score.run.clone()));
    let hidden = |facts: &SegmentFacts| facts.evaluate.hidden.join(", ");
    let inputs = |facts: &SegmentFacts| {
        facts.evaluate.inputs.iter().map(|input| input.path.as_str()).collect::<Vec<_>>().join(", ")
    };
    let prepare = |facts: &SegmentFacts| {
        or_none(facts.evaluate.prepare.as_ref().map(|step| format!("{} (network {})", step.run, step.network.name())))
    };
    let network = |facts: &SegmentFacts| facts.evaluate.network.name().to_owned();
    let pairs = [
        ("surface", paths(known), paths(now)),
        ("metric.name", known.metric.name.clone(), now.metric.name.clone()),
        ("metric.goal", known.metric.goal.to_string(), now.metric.goal.to_string()),
        ("metric.pick", format!("{:?}", known.metric.pick), format!("{:?}", now.metric.pick)),
        ("evaluate.run", known.evaluate.run.clone(), now.evaluate.run.clone()),
        ("evaluate.budget", known.evaluate.budget.to_string(), now.evaluate.budget.to_string()),
        ("evaluate.env", env(known), env(now)),
        ("evaluate.score", score(known), score(now)),
        ("evaluate.hidden", hidden(known), hidden(now)),
        ("evaluate.inputs", inputs(known), inputs(now)),
        ("what the inputs hold", or_none(known.inputs.clone()), or_none(now.inputs.clone())),
        ("evaluate.prepare", prepare(known), prepare(now)),
        ("evaluate.network", network(known), network(now)),
        ("evaluate.warm", known.evaluate.warm.to_string(), now.evaluate.warm.to_string()),
    ];
    match pairs.into_iter().find(|(_, old, new)| old != new) {
        Some((what, old, new)) => Err(OpenError::Changed { what, old: format!("`{old}`"), new: format!("`{new}`") }),
        None => Ok(()),
    }
}
