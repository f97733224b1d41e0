//! An agent outside the loop: whether it is there, and one answer that nobody records.

use std::sync::Arc;

use overnight_model::Millis;
use overnight_model::brief::Brief;
use overnight_model::event::{AttemptFailure, Loss};
use overnight_model::proposal::Contents;
use overnight_model::spec::{AgentKind, Member, Spec};
use overnight_model::{ExperimentId, State};

use super::{Kept, Place, Role, Room, Shop, StopHandle, Trouble, describe};
use crate::agent::{self, Answer};
use crate::brief::{self, Question, Source};

/// One answer of an agent.
pub enum Dry {
    Proposal { contents: Contents, description: String, took: Millis },
    Failed(AttemptFailure),
}

impl Shop {
    pub(crate) fn desk(&self) -> Place {
        self.place(Role::Agent, 0)
    }

    /// The version of a coding agent, as it says it inside its sandbox; `None` for any other agent. An error says why
    /// it could not be started there.
    pub fn greet(&self, member: &Member, contents: &Contents) -> Result<Option<String>, String> {
        let AgentKind::Coding(coding) = &member.kind else { return Ok(None) };
        let kept = Arc::new(Kept::new(self.dir.join("artifacts")));
        let room = Room { shop: self.clone(), stops: StopHandle::default(), kept };
        let mut desk = self.desk();
        desk.reach(member.network);
        let greeted = agent::coding::greet(coding, &mut desk, &room, contents);
        desk.tidy(&room);
        greeted.map(Some).map_err(|trouble| match trouble {
            Trouble::Loss(Loss::Fault { what }) => what,
            Trouble::Loss(Loss::Interrupted | Loss::Suspended) => "it was interrupted".to_owned(),
            Trouble::Fault(fault) => describe(&fault),
        })
    }
}

/// Asks one agent for one proposal on these contents, as if the study had just begun.
pub(crate) fn propose(
    member: &Member,
    desk: &mut Place,
    room: &Room,
    contents: &Contents,
) -> Result<(Dry, String), Trouble> {
    let brief = first_brief(&room.shop.spec, contents)?;
    let answer = agent::ask(member, desk, room, brief, contents)?;
    let text = |output: Option<crate::dispatch::Captured>| {
        output.map(|output| String::from_utf8_lossy(&output.kept).into_owned()).unwrap_or_default()
    };
    Ok(match answer {
        Answer::Proposal { contents: edited, output, .. } if edited == *contents => {
            (Dry::Failed(AttemptFailure::NoChange), text(output))
        }
        Answer::Proposal { contents, description, took, output, .. } => {
            (Dry::Proposal { contents, description, took }, text(output))
        }
        Answer::Failed { failure, output, .. } => (Dry::Failed(failure), text(output)),
    })
}

/// What an agent is told before anything was measured.
fn first_brief(spec: &Spec, contents: &Contents) -> Result<Brief, Trouble> {
    let source = Source { spec, state: &State::default(), reader: None };
    let question = Question { experiment: ExperimentId(1), champion: contents, tuning: None, recent: Vec::new() };
    brief::Memory::default().brief(source, question).map_err(Trouble::Fault)
}
