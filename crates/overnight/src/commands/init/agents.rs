//! Who makes proposals: a coding agent that is here, with the tuner as its partner. None is started to find out.

use overnight_engine::agent::preset;
use overnight_engine::load::allowed_environment;
use overnight_model::spec::Preset;

use super::Init;
use super::proposal::{GIVEN, Key, Proposal};

/// What `--agent` may say.
pub(super) fn names() -> Vec<&'static str> {
    Preset::ALL.into_iter().map(Preset::name).chain(["tuner"]).collect()
}

/// Puts in the agent that was named, else the first that is here.
pub(super) fn propose(proposal: &mut Proposal, args: &Init) {
    let here = here();
    let (coding, reason) = match (args.agent.as_deref(), here.first()) {
        (Some("tuner"), _) | (None, None) => return,
        (Some(named), _) => (named, GIVEN.to_owned()),
        (None, Some(first)) => (*first, format!("`{first}` is on the PATH; the tuner needs no model")),
    };
    proposal.agents = vec![coding.to_owned(), "tuner".to_owned()];
    proposal.because(Key::Agent, reason);
}

/// Which coding agents are here, and what to do with them.
pub(super) fn line(proposal: &Proposal) -> Option<String> {
    let here = here();
    let are = match here.as_slice() {
        [] => String::new(),
        [one] => format!("{one} is here"),
        more => format!("{} are here", more.join(", ")),
    };
    Some(match proposal.agents.first() {
        Some(chosen) if here.contains(&chosen.as_str()) => {
            let other = if here.len() > 1 { "`use` names the first; " } else { "" };
            format!("agents      {are}: {other}try it: overnight check --agent {chosen}")
        }
        Some(chosen) => {
            let install = Preset::from_name(chosen).map(Preset::install).unwrap_or_default();
            format!("note        `{chosen}` is not on the PATH yet: {install}")
        }
        None if here.is_empty() => return None,
        None => format!("agents      {are}; `use = [\"{}\", \"tuner\"]` under [agent] asks it too", here[0]),
    })
}

/// The coding agents on the PATH.
pub(super) fn here() -> Vec<&'static str> {
    let environment = allowed_environment();
    let here = Preset::ALL.into_iter().filter(|preset| preset::find(*preset, &environment).is_some());
    here.map(Preset::name).collect()
}
