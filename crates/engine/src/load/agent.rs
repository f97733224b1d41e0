//! Who makes proposals, and by which instructions.

use overnight_model::spec::{AgentKind, AgentSpec, Network};
use overnight_model::units::Millis;
use toml::de::DeValue;

use super::document::Section;
use super::keys::nearest;
use super::problem::Collector;
use super::{DEFAULT_PROGRAM, Tree};

/// Long enough for a coding agent to think, short enough that one that hangs costs little of a night.
const DEFAULT_AGENT_TIMEOUT: Millis = Millis::seconds(600);

/// A proposal is ready when a trial ends.
const DEFAULT_AHEAD: u64 = 1;
/// More would be answers to questions of long ago.
const MOST_AHEAD: u64 = 64;

/// Less would hardly hold the rules; more than any model reads.
const BRIEF_TOKENS: std::ops::RangeInclusive<u64> = 2_000..=2_000_000;

/// Agents by the name of their program, for the day they work.
const LATER_AGENTS: [&str; 8] = ["claude", "codex", "gemini", "opencode", "aider", "pi", "mini-swe-agent", "api"];

pub(super) fn read(problems: &mut Collector<'_>, top: &Section<'_>) -> Option<AgentSpec> {
    let tuner = AgentSpec {
        kind: AgentKind::Tuner,
        timeout: DEFAULT_AGENT_TIMEOUT,
        network: Network::Full,
        ahead: DEFAULT_AHEAD as u32,
        brief_tokens: AgentSpec::BRIEF_TOKENS,
    };
    if top.get("agent").is_none() {
        return Some(tuner);
    }
    let section = problems.section(top, "agent", "agent")?;
    let timeout = problems.duration(&section, "timeout", "a timeout").unwrap_or(DEFAULT_AGENT_TIMEOUT);
    let network = problems.network(&section, "network").unwrap_or(Network::Full);
    let ahead = problems.count(&section, "ahead", 0..=MOST_AHEAD).unwrap_or(DEFAULT_AHEAD) as u32;
    let brief_tokens = problems.count(&section, "brief_tokens", BRIEF_TOKENS).unwrap_or(AgentSpec::BRIEF_TOKENS);
    let command = problems.string(&section, "command");
    let name = name(problems, &section)?;
    let kind = match (name.as_str(), command) {
        ("command", Some(command)) => AgentKind::Command(command),
        ("command", None) => {
            if section.get("command").is_none() {
                problems.missing(&section, "command", "command = \"./propose.sh\"");
            }
            return None;
        }
        (_, Some(_)) => {
            let hint = "add `use = \"command\"`, or remove the command";
            problems.add(section.key_span("command"), "`agent.command` is only for `use = \"command\"`", hint);
            return None;
        }
        (_, None) => AgentKind::Tuner,
    };
    Some(AgentSpec { kind, timeout, network, ahead, brief_tokens })
}

/// Where the instructions are; a path that is written down must exist.
pub(super) fn program(problems: &mut Collector<'_>, top: &Section<'_>, tree: &Tree<'_>) -> Option<String> {
    let Some(item) = top.get("program") else {
        return Some(DEFAULT_PROGRAM.to_owned());
    };
    let path = problems.string(top, "program")?;
    let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
    if !tree.tracked.contains(&path) && !(tree.exists)(&path) {
        let near = nearest(&path, tree.tracked.iter().map(String::as_str));
        let hint = near.map_or("write it, or leave the key out".to_owned(), |near| format!("did you mean `{near}`?"));
        problems.add(item.span(), format!("program `{path}` does not exist"), hint);
    }
    Some(path)
}

/// The one agent that is named, `tuner` where none is.
fn name(problems: &mut Collector<'_>, section: &Section<'_>) -> Option<String> {
    let Some(item) = section.get("use") else {
        return Some("tuner".to_owned());
    };
    let one = match item.get_ref() {
        DeValue::Array(items) => match items.as_ref() {
            [one] => one,
            [] => {
                problems.add(item.span(), "`agent.use` names no agent", "write `use = \"tuner\"`");
                return None;
            }
            _ => {
                let hint = "name one: `use = \"tuner\"` or `use = \"command\"`";
                problems.add(item.span(), "more than one agent is not yet supported", hint);
                return None;
            }
        },
        _ => item,
    };
    let Some(name) = one.get_ref().as_str() else {
        problems.wrong_type("agent.use", one, "a string", "write `use = \"tuner\"`");
        return None;
    };
    match name {
        "tuner" | "command" => return Some(name.to_owned()),
        name if LATER_AGENTS.contains(&name) => {
            let hint = "meanwhile `use = \"command\"` with `command = \"…\"` starts any program";
            problems.add(one.span(), format!("agent `{name}` is not yet supported"), hint);
        }
        name => {
            let hint = match nearest(name, LATER_AGENTS.into_iter().chain(["tuner", "command"])) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "use \"tuner\", or \"command\" with `command = \"…\"`".to_owned(),
            };
            problems.add(one.span(), format!("unknown agent `{}`", name.escape_debug()), hint);
        }
    }
    None
}
