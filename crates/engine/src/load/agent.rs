//! Who makes proposals, and by which instructions.

use overnight_model::spec::{AgentKind, AgentSpec, Coding, Network, Preset};
use overnight_model::units::Millis;
use toml::de::DeValue;

use super::api::{self, OF_API};
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

/// What only coding agents have.
const OF_CODING_AGENTS: [&str; 2] = ["args", "tools"];
/// Less would hardly hold the rules; more than any model reads.
const BRIEF_TOKENS: std::ops::RangeInclusive<u64> = 2_000..=2_000_000;

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
    let preset = Preset::from_name(&name);
    for key in OF_CODING_AGENTS.into_iter().filter(|key| preset.is_none() && section.get(key).is_some()) {
        let hint = match name.as_str() {
            "command" => "write it into `agent.command`",
            _ => "name a coding agent: `use = \"claude\"`, or remove the key",
        };
        problems.add(section.key_span(key), format!("`agent.{key}` is only for coding agents"), hint);
    }
    let is_api = name == "api";
    for key in OF_API.into_iter().filter(|key| !is_api && section.get(key).is_some()) {
        let hint = "name a model over its API: `use = \"api\"`, or remove the key";
        problems.add(section.key_span(key), format!("`agent.{key}` is only for `use = \"api\"`"), hint);
    }
    if !is_api && preset.is_none() && section.get("model").is_some() {
        let hint = match name.as_str() {
            "command" => "write it into `agent.command`",
            _ => "name who is to use it: `use = \"claude\"` or `use = \"api\"`, or remove the key",
        };
        problems.add(
            section.key_span("model"),
            "`agent.model` is only for coding agents and for `use = \"api\"`",
            hint,
        );
    }
    if is_api && network == Network::None {
        let hint = "remove the key: the engine itself asks the model, from outside of every sandbox";
        problems.add(section.key_span("network"), "a model over its API cannot be asked without a network", hint);
    }
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
        ("api", None) => AgentKind::Api(api::read(problems, &section)?),
        (_, None) => match preset {
            Some(preset) => AgentKind::Coding(coding(problems, &section, preset)?),
            None => AgentKind::Tuner,
        },
    };
    Some(AgentSpec { kind, timeout, network, ahead, brief_tokens })
}

fn coding(problems: &mut Collector<'_>, section: &Section<'_>, preset: Preset) -> Option<Coding> {
    let model = problems.string(section, "model");
    let args = strings(problems, section, "args")?;
    let tools = strings(problems, section, "tools")?;
    if !tools.is_empty() && !preset.has_tools() {
        let what = format!("the tools of `{}` cannot be chosen", preset.name());
        problems.add(section.key_span("tools"), what, "remove the key");
    }
    Some(Coding { preset, model, args, tools })
}

/// A list of strings; empty where there is none.
fn strings(problems: &mut Collector<'_>, section: &Section<'_>, key: &str) -> Option<Vec<String>> {
    let Some(item) = section.get(key) else { return Some(Vec::new()) };
    let texts = match item.get_ref() {
        DeValue::Array(items) => items.iter().map(|item| item.get_ref().as_str().map(ToOwned::to_owned)).collect(),
        _ => None,
    };
    if texts.is_none() {
        let hint = format!("write `{key} = [\"…\"]`");
        problems.wrong_type(&section.path(key), item, "a list of strings", &hint);
    }
    texts
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
        "tuner" | "command" | "api" => return Some(name.to_owned()),
        "mini-swe-agent" => return Some(Preset::Mini.name().to_owned()),
        name if Preset::from_name(name).is_some() => return Some(name.to_owned()),
        name => {
            let known = Preset::ALL.into_iter().map(Preset::name).chain(["tuner", "command", "api"]);
            let hint = match nearest(name, known) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "use \"tuner\", or \"command\" with `command = \"…\"`".to_owned(),
            };
            problems.add(one.span(), format!("unknown agent `{}`", name.escape_debug()), hint);
        }
    }
    None
}
