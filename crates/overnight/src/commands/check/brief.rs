//! `overnight check --brief`: what the next agent would be told, to the letter.

use overnight_engine::brief::{self, Memory, Question, Source, read_program};
use overnight_engine::context;
use overnight_engine::inbox::Inbox;
use overnight_engine::ledger::Reader;
use overnight_engine::load::{Site, locate};
use overnight_engine::rehearse::Subject;
use overnight_engine::{plans, tune};
use overnight_model::brief::Brief;
use overnight_model::{ExperimentId, State};

use crate::args::{Check, Place};
use crate::error::{Exit, Outcome};
use crate::ui;

pub(super) fn check(place: &Place, args: &Check) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    let (brief, is_read) = brief_of(&site)?;
    if !is_read && !args.json {
        ui::say("note: the tuner reads the ledger and needs no brief; this is what another agent would be told");
    }
    match args.json {
        true => ui::data(&serde_json::to_string(&brief).unwrap_or_default()),
        false => ui::data(brief.text().trim_end()),
    };
    Ok(Exit::Done)
}

/// The brief of this moment, and whether anybody of the study reads one.
pub(crate) fn brief_of(site: &Site) -> Outcome<(Brief, bool)> {
    let subject = Subject::worktree(site)?;
    let reader = Reader::find(&site.state())?;
    let mut state = reader.as_ref().map(Reader::state).transpose()?.unwrap_or_default();
    // What waits to be taken up will have been by then.
    Inbox::of(&site.state()).preview(&mut state)?;
    let spec = &subject.spec;
    let champion = match (&reader, state.champion()) {
        (Some(reader), Some(champion)) => plans::contents(reader, &champion.surface)?,
        _ => subject.surface.clone(),
    };
    let tuning = match &reader {
        Some(reader) if state.tuned().next().is_some() => {
            tune::report(reader, &spec.surface)?.map(|(_, report)| report)
        }
        _ => None,
    };
    let recent = reader.as_ref().map(|reader| reader.last_rows(brief::RECENT)).transpose()?.unwrap_or_default();
    let source = Source { spec, state: &state, reader: reader.as_ref() };
    let question = Question { experiment: next(&state), champion: &champion, tuning, recent };
    let mut brief = Memory::default().brief(source, question)?;
    let context = context::find(spec, subject.user.workdir(), &site.dir);
    brief.set_context(context.told(&spec.evaluate.folder));
    brief.set_program(read_program(&site.dir.join(&spec.program)).as_deref());
    Ok((brief, spec.agent.has_model()))
}

/// The number of the next question: an agent that was stopped is asked again.
fn next(state: &State) -> ExperimentId {
    let again = state.open().find(|open| open.content.is_none() && open.failure.is_none() && !open.asked);
    ExperimentId(again.map_or(state.next_experiment(), |open| open.id).0.max(1))
}
