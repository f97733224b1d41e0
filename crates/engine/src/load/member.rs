//! One agent: what kind it is, and its settings, which are its own or those of all.

use std::ops::Range;

use overnight_model::spec::{AgentKind, Coding, Member, Network, Preset};
use overnight_model::study::UNASKED;
use overnight_model::units::Millis;
use toml::de::DeValue;

use super::api::{self, OF_API};
use super::document::Section;
use super::keys::{self, nearest};
use super::problem::Collector;

/// Long enough for a coding agent to think, short enough that one that hangs costs little of a night.
pub(super) const DEFAULT_TIMEOUT: Millis = Millis::seconds(600);

/// What only coding agents have.
const OF_CODING_AGENTS: [&str; 2] = ["args", "tools"];
/// No name in a line of `log` is longer.
const LONGEST_NAME: usize = 24;

/// What may be said for one agent or for all.
#[derive(Default)]
pub(super) struct Settings {
    timeout: Option<Millis>,
    network: Option<Network>,
    command: Option<String>,
    model: Option<String>,
    args: Option<Vec<String>>,
    tools: Option<Vec<String>>,
}

impl Settings {
    pub(super) fn read(problems: &mut Collector<'_>, section: &Section<'_>) -> Settings {
        // `[agent.command]` holds the settings of the agent of that name.
        let is_text =
            |key: &str| !(section.whose.is_none() && section.get(key).is_some_and(|item| item.get_ref().is_table()));
        Settings {
            timeout: problems.duration(section, "timeout", "a timeout"),
            network: problems.network(section, "network"),
            command: is_text("command").then(|| problems.string(section, "command")).flatten(),
            model: problems.string(section, "model"),
            args: strings(problems, section, "args"),
            tools: strings(problems, section, "tools"),
        }
    }

    /// Its own where it has one, else what is said for all.
    fn or(self, common: &Settings) -> Settings {
        Settings {
            timeout: self.timeout.or(common.timeout),
            network: self.network.or(common.network),
            command: self.command.or_else(|| common.command.clone()),
            model: self.model.or_else(|| common.model.clone()),
            args: self.args.or_else(|| common.args.clone()),
            tools: self.tools.or_else(|| common.tools.clone()),
        }
    }
}

/// What an agent is called here.
pub(super) fn full_name(name: &str) -> &str {
    if name == "mini-swe-agent" { Preset::Mini.name() } else { name }
}

/// One agent that `use` names, at its place.
pub(super) fn read(
    problems: &mut Collector<'_>,
    section: &Section<'_>,
    common: &Settings,
    name: &str,
    place: Range<usize>,
) -> Option<Member> {
    let own = match section.get(name) {
        Some(table) if table.get_ref().is_table() => problems.section_of(section, name, "agent.NAME"),
        _ => None,
    };
    let kind = kind(problems, section, own.as_ref(), name, place)?;
    let settings = match &own {
        Some(own) => Settings::read(problems, own).or(common),
        None => Settings::default().or(common),
    };
    if let Some(own) = &own {
        refuse_keys_of_others(problems, own, &kind);
    }
    let Settings { timeout, network, command, model, args, tools } = settings;
    let kind = match kind.as_str() {
        "tuner" => AgentKind::Tuner,
        "command" => match command {
            Some(command) => AgentKind::Command(command),
            None => {
                let place = own.as_ref().unwrap_or(section);
                if place.get("command").is_none_or(|item| item.get_ref().is_table()) {
                    problems.missing(place, "command", "command = \"./propose.sh\"");
                }
                return None;
            }
        },
        "api" => {
            let api = api::read(problems, api::Scope { own: own.as_ref(), common: section });
            if network == Some(Network::None) {
                let place = own.as_ref().filter(|own| own.get("network").is_some()).unwrap_or(section);
                let hint = "remove the key: the engine itself asks the model, from outside of every sandbox";
                let what = "a model over its API cannot be asked without a network";
                problems.add(place.key_span("network"), what, hint);
            }
            AgentKind::Api(api?)
        }
        kind => {
            let (args, tools) = (args.unwrap_or_default(), tools.unwrap_or_default());
            let preset = Preset::from_name(kind)?;
            if !tools.is_empty() && !preset.has_tools() {
                let place = own.as_ref().filter(|own| own.get("tools").is_some()).unwrap_or(section);
                let what = format!("the tools of `{}` cannot be chosen", preset.name());
                problems.add(place.key_span("tools"), what, "remove the key");
            }
            AgentKind::Coding(Coding { preset, model, args, tools })
        }
    };
    let usual = match &kind {
        AgentKind::Coding(_) | AgentKind::Api(_) => Network::Models,
        AgentKind::Tuner | AgentKind::Command(_) => Network::Full,
    };
    let (timeout, network) = (timeout.unwrap_or(DEFAULT_TIMEOUT), network.unwrap_or(usual));
    Some(Member { name: name.to_owned(), kind, timeout, network, weight: None })
}

/// Refuses what is said for all and means nobody, or two who would not mean the same by it.
pub(super) fn refuse_misplaced(problems: &mut Collector<'_>, section: &Section<'_>, members: &[Member]) {
    if section.get("command").is_some_and(|item| !item.get_ref().is_table())
        && !members.iter().any(|member| matches!(member.kind, AgentKind::Command(_)))
    {
        let hint = "add `use = \"command\"`, or remove the command";
        problems.add(section.key_span("command"), "`agent.command` is only for `use = \"command\"`", hint);
    }
    for key in OF_CODING_AGENTS.into_iter().chain(["model"]).chain(OF_API).filter(|key| section.get(key).is_some()) {
        let users = members.iter().filter(|member| uses(member.kind.name(), key));
        let has_own = |member: &&Member| {
            section
                .get(&member.name)
                .is_some_and(|own| own.get_ref().as_table().is_some_and(|table| table.contains_key(key)))
        };
        let mut meant: Vec<&Member> = users.clone().filter(|member| !has_own(member)).collect();
        meant.dedup_by_key(|member| member.kind.name());
        match meant.as_slice() {
            [] if users.count() == 0 => {
                let is_command = members.iter().any(|member| matches!(member.kind, AgentKind::Command(_)));
                let hint = match key {
                    key if OF_API.contains(&key) => "name a model over its API: `use = \"api\"`, or remove the key",
                    _ if is_command => "write it into `agent.command`",
                    "model" => "name who is to use it: `use = \"claude\"` or `use = \"api\"`, or remove the key",
                    _ => "name a coding agent: `use = \"claude\"`, or remove the key",
                };
                problems.add(section.key_span(key), format!("`agent.{key}` is only for {}", whose(key)), hint);
            }
            [one, other, ..] => {
                let what = format!("`agent.{key}` would be for `{}` and for `{}`", one.name, other.name);
                let hint = format!("write it into [agent.{}] or [agent.{}]", one.name, other.name);
                problems.add(section.key_span(key), what, hint);
            }
            _ => {}
        }
    }
}

/// The name of the kind: that of the agent itself, or what `use` says in its own table.
fn kind(
    problems: &mut Collector<'_>,
    section: &Section<'_>,
    own: Option<&Section<'_>>,
    name: &str,
    place: Range<usize>,
) -> Option<String> {
    let Some(own) = own.filter(|own| own.get("use").is_some()) else {
        return known(problems, section, name, place);
    };
    let place = own.get("use")?.span();
    let text = problems.string(own, "use")?;
    let kind = known(problems, section, full_name(&text), place)?;
    let is_plain = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || "-_".contains(sign);
    let is_name = name.starts_with(|sign: char| sign.is_ascii_lowercase())
        && name.chars().all(is_plain)
        && name.len() <= LONGEST_NAME;
    let is_key = keys::of("agent").iter().any(|(key, _)| *key == name);
    let shown = name.escape_debug();
    let refusal = match () {
        () if kind == name => return Some(kind),
        () if kind == "tuner" => ("the tuner has no other name".to_owned(), "write `use = [\"tuner\", …]`"),
        () if is_kind(name) => (format!("`{shown}` is an agent of its own"), "give this one another name"),
        () if is_key || UNASKED.contains(&name) => {
            (format!("`{shown}` cannot be the name of an agent: it means something else"), "give it another name")
        }
        () if !is_name => (
            format!("`{shown}` cannot be the name of an agent"),
            "a name is a small letter, then small letters, digits, `-` and `_`, 24 at most",
        ),
        () => return Some(kind),
    };
    problems.add(section.key_span(name), refusal.0, refusal.1);
    None
}

fn is_kind(name: &str) -> bool {
    ["tuner", "command", "api"].contains(&name) || Preset::from_name(name).is_some()
}

/// A kind of agent that works.
fn known(problems: &mut Collector<'_>, section: &Section<'_>, name: &str, place: Range<usize>) -> Option<String> {
    if is_kind(name) {
        return Some(name.to_owned());
    }
    let known = Preset::ALL.into_iter().map(Preset::name).chain(["tuner", "command", "api"]);
    let has_table = section.get(name).is_some_and(|item| item.get_ref().is_table());
    let hint = match nearest(name, known) {
        _ if has_table => format!("say in [agent.{}] which agent it is: `use = \"claude\"`", name.escape_debug()),
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "use \"tuner\", or \"command\" with `command = \"…\"`".to_owned(),
    };
    problems.add(place, format!("unknown agent `{}`", name.escape_debug()), hint);
    None
}

/// Refuses what an agent's own table says and its kind does not have.
fn refuse_keys_of_others(problems: &mut Collector<'_>, own: &Section<'_>, kind: &str) {
    let keys = OF_CODING_AGENTS.into_iter().chain(["model"]).chain(OF_API);
    for key in keys.filter(|key| !uses(kind, key) && own.get(key).is_some()) {
        let hint = if kind == "command" { "write it into its `command`" } else { "remove the key" };
        problems.add(own.key_span(key), format!("`{}` is only for {}", own.path(key), whose(key)), hint);
    }
    if kind != "command" && own.get("command").is_some() {
        let what = format!("`{}` is only for `use = \"command\"`", own.path("command"));
        problems.add(own.key_span("command"), what, "remove the command");
    }
}

/// Whether a kind of agent has a key.
fn uses(kind: &str, key: &str) -> bool {
    let is_coding = Preset::from_name(kind).is_some();
    match key {
        "model" => is_coding || kind == "api",
        key if OF_API.contains(&key) => kind == "api",
        _ => is_coding,
    }
}

fn whose(key: &str) -> &'static str {
    match key {
        "model" => "coding agents and for `use = \"api\"`",
        key if OF_API.contains(&key) => "`use = \"api\"`",
        _ => "coding agents",
    }
}

/// A list of strings.
fn strings(problems: &mut Collector<'_>, section: &Section<'_>, key: &str) -> Option<Vec<String>> {
    let item = section.get(key)?;
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
