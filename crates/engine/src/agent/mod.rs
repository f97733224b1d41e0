//! Whoever makes proposals: an agent gets a brief and a private copy, and gives back the surface and one line.

pub mod api;
pub(crate) mod coding;
pub(crate) mod command;
pub(crate) mod draft;
pub mod preset;
mod prompt;
mod secrets;

pub(crate) use secrets::Secrets;

use overnight_model::Millis;
use overnight_model::brief::Brief;
use overnight_model::call::Caller;
use overnight_model::event::{AttemptFailure, ModelUse};
use overnight_model::proposal::Contents;
use overnight_model::spec::{AgentKind, Member};

use crate::context;
use crate::dispatch::Captured;
use crate::worker::{Place, Room, Trouble};

/// What came of an agent's turn.
pub(crate) enum Answer {
    Proposal { contents: Contents, description: String, took: Millis, output: Option<Captured>, used: Option<ModelUse> },
    Failed { failure: AttemptFailure, output: Option<Captured>, used: Option<ModelUse> },
}

/// Asks one agent of the study once, at a desk.
pub(crate) fn ask(
    member: &Member,
    desk: &mut Place,
    room: &Room,
    mut brief: Brief,
    contents: &Contents,
) -> Result<Answer, Trouble> {
    desk.reach(member.network);
    desk.calls_as(Caller::Agent { name: member.name.clone(), experiment: brief.experiment });
    let shop = &room.shop;
    let context = context::find(&shop.spec, shop.user.workdir(), &shop.triplet_dir);
    brief.set_context(context.told(&shop.spec.evaluate.folder));
    desk.show(context.files);
    match &member.kind {
        AgentKind::Coding(coding) => coding::ask(coding, member.timeout, desk, room, brief, contents),
        AgentKind::Command(command) => command::ask(command, member.timeout, desk, room, brief, contents),
        AgentKind::Api(api) => api::ask(api, member.timeout, desk, room, brief, contents),
        // It is asked where the ledger is.
        AgentKind::Tuner => {
            let failure = AttemptFailure::error("the tuner has no program that could be asked");
            Ok(Answer::Failed { failure, output: None, used: None })
        }
    }
}
