//! `overnight check --agent`: the coding agents that are here, and one proposal that nobody records.

use overnight_engine::agent::preset;
use overnight_engine::dispatch::Fault;
use overnight_engine::load::{self, locate};
use overnight_engine::process::Keeper;
use overnight_engine::rehearse::{Bench, Dry, Subject};
use overnight_model::event::AttemptFailure;
use overnight_model::proposal::{Contents, hypothesis};
use overnight_model::spec::{AgentKind, Api, Coding, Gateway, Member, Preset, Spec};
use serde_json::{Value, json};

use super::api;
use crate::args::{Check, Place};
use crate::commands::interrupt::Interrupt;
use crate::commands::scratch::Scratch;
use crate::error::{CliError, Exit, Outcome};
use crate::ui::{self, Live, printable};

/// What was printed last is what matters of a failure.
const LINES: usize = 20;

pub(super) fn check(place: &Place, args: &Check, name: &str) -> Outcome<Exit> {
    let keeper = Keeper::fork().map_err(|error| CliError::from(Fault::from(error)))?;
    match name {
        "" => list(place, args, &keeper),
        name => propose(place, args, name, keeper),
    }
}

/// Refuses what cannot be started, before anything is spent on it.
pub(crate) fn refuse_missing(spec: &Spec) -> Outcome<()> {
    spec.agent.members.iter().try_for_each(|member| refuse_missing_of(&member.kind, &spec.gateway))
}

pub(super) fn refuse_missing_of(kind: &AgentKind, gateway: &Gateway) -> Outcome<()> {
    let preset = match kind {
        AgentKind::Coding(Coding { preset, .. }) => preset,
        // Who is answered out of a recording wants no key.
        AgentKind::Api(_) if gateway.tapes.replay.is_some() => return Ok(()),
        AgentKind::Api(api) => return api::refuse_without_key(api),
        AgentKind::Tuner | AgentKind::Command(_) => return Ok(()),
    };
    match preset::find(*preset, &load::allowed_environment()) {
        Some(_) => Ok(()),
        None => {
            let what =
                format!("there is no program `{}` on the PATH: {} is not installed", preset.name(), preset.title());
            Err(CliError::usage(what).hint(format!("install it: {}", preset.install())))
        }
    }
}

fn list(place: &Place, args: &Check, keeper: &Keeper) -> Outcome<Exit> {
    let environment = load::allowed_environment();
    let scratch = Scratch::make()?;
    // Outside of a study it is what each would do with nothing chosen.
    let spec =
        locate(&place.dir, place.study.as_deref()).ok().and_then(|site| Some(Subject::worktree(&site).ok()?.spec));
    let surface: Vec<String> = match &spec {
        Some(spec) => spec.surface.paths().map(|path| load::within(&spec.evaluate.folder, path)).collect(),
        None => vec!["FILE".to_owned()],
    };
    let mut rows = Vec::new();
    for preset in Preset::ALL {
        let members = spec.iter().flat_map(|spec| &spec.agent.members);
        let mut chosen = members.filter_map(|member| match &member.kind {
            AgentKind::Coding(coding) if coding.preset == preset => Some(coding.clone()),
            _ => None,
        });
        let chosen = chosen.next();
        let coding = chosen.clone().unwrap_or(Coding::new(preset));
        let found = preset::find(preset, &environment);
        let version = found.as_ref().and_then(|found| preset::version(keeper, found, &environment, scratch.path()));
        let passed = load::named_environment(&preset::variables(preset));
        let command = preset::described(&coding, &surface, &passed);
        rows.push(Row { preset, is_chosen: chosen.is_some(), found, version, command, passed });
    }
    let models: Vec<(&str, &Api)> = (spec.iter().flat_map(|spec| &spec.agent.members))
        .filter_map(|member| match &member.kind {
            AgentKind::Api(api) => Some((member.name.as_str(), api)),
            _ => None,
        })
        .collect();
    match args.json {
        true => {
            let agents = rows.iter().map(Row::as_json).chain(api::as_json(&models));
            ui::data(&json!({ "agents": agents.collect::<Vec<_>>() }).to_string())
        }
        false => {
            rows.iter().flat_map(Row::lines).chain(api::lines(&models)).for_each(|line| {
                ui::data(&line);
            });
            ui::data("one proposal that is shown and not recorded: overnight check --agent NAME")
        }
    };
    Ok(Exit::Done)
}

struct Row {
    preset: Preset,
    is_chosen: bool,
    found: Option<preset::Found>,
    version: Option<String>,
    command: String,
    passed: Vec<(String, String)>,
}

impl Row {
    fn lines(&self) -> Vec<String> {
        let name = format!("{:<9}", self.preset.name());
        let Some(found) = &self.found else {
            return vec![format!("{name} not here; {}", self.preset.install())];
        };
        let version = self.version.as_deref().unwrap_or("says no version");
        let chosen = if self.is_chosen { ", the agent of this study" } else { "" };
        let keys: Vec<&str> = self.passed.iter().map(|(name, _)| name.as_str()).collect();
        let keys = if keys.is_empty() { "none is set".to_owned() } else { keys.join(", ") };
        vec![
            format!("{name} {version} at {}{chosen}", found.program.display()),
            format!("{:10}the gateway gets {keys}", ""),
            format!("{:10}runs {}", "", printable(&self.command)),
        ]
    }

    fn as_json(&self) -> Value {
        json!({
            "name": self.preset.name(),
            "program": self.found.as_ref().map(|found| found.program.to_string_lossy()),
            "version": self.version,
            "install": self.preset.install(),
            "chosen": self.is_chosen,
            "command": self.command,
            "variables": self.passed.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        })
    }
}

fn propose(place: &Place, args: &Check, name: &str, keeper: Keeper) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    let interrupt = Interrupt::watch(keeper.ender())?;
    let mut subject = Subject::worktree(&site)?;
    let spec = &mut subject.spec;
    let member = match (spec.agent.member(name), Preset::from_name(name)) {
        (Some(member), _) => member.clone(),
        // Any other is tried with what the study has for its agents.
        (None, Some(preset)) => {
            let kind = AgentKind::Coding(Coding::new(preset));
            Member { name: name.to_owned(), kind, weight: None, ..spec.agent.members[0].clone() }
        }
        (None, None) => {
            let known: Vec<_> = Preset::ALL.into_iter().map(Preset::name).collect();
            let error = CliError::usage(format!("there is no agent `{}` to try", name.escape_debug()));
            let hint = match name {
                "api" => "say which model: `use = \"api\"` with `provider` and `model` in [agent]".to_owned(),
                _ => format!("one of {}, or an agent of the triplet", known.join(", ")),
            };
            return Err(error.hint(hint));
        }
    };
    // What is mounted for an agent is mounted for those of the study.
    spec.agent.members = vec![member.clone()];
    refuse_missing(spec)?;
    let min = spec.sandbox.min;
    let found = subject.find(&keeper, args.sandbox);
    if found.tier < min && args.sandbox != Some(found.tier) {
        let (tier, min) = (found.tier.name(), min.name());
        let error =
            CliError::new(Exit::Refused, format!("this machine gives the sandbox `{tier}`, and agents need `{min}`"));
        return Err(error.hint(format!("to accept it: overnight check --agent {name} --sandbox {tier}")));
    }
    let live = Live::new(true);
    let before = subject.surface.clone();
    let say = |text: &str| live.now(&printable(text));
    let mut bench = Bench::open(subject, keeper, &found, &say).map_err(|error| failed(&error))?;
    interrupt.kills(bench.stopper());
    live.now(&format!("{name} is thinking"));
    let answered = bench.propose(&member, &before);
    live.end();
    let (dry, output) = answered.map_err(|error| match interrupt.is_asked() {
        true => CliError::new(Exit::Interrupted, "stopped"),
        false => failed(&error),
    })?;
    if args.json {
        let (object, exit) = as_json(name, &before, &dry, &output);
        ui::data(&object.to_string());
        return Ok(exit);
    }
    Ok(match dry {
        Dry::Proposal { contents, description, took } => {
            ui::data(&format!("{name} proposes, after {took}: {}", printable(&hypothesis(&description))));
            ui::data(printable_lines(&diff(&before, &contents)).trim_end());
            ui::data("nothing was measured or recorded");
            Exit::Done
        }
        Dry::Failed(failure) => {
            ui::data(&format!("{name} made no proposal: {}", printable(&describe(&failure))));
            let lines: Vec<&str> = output.lines().collect();
            lines[lines.len().saturating_sub(LINES)..].iter().for_each(|line| {
                ui::data(&format!("  | {}", printable(line)));
            });
            Exit::Usage
        }
    })
}

fn as_json(name: &str, before: &Contents, dry: &Dry, output: &str) -> (Value, Exit) {
    match dry {
        Dry::Proposal { contents, description, took } => {
            let (description, diff) = (hypothesis(description), diff(before, contents));
            let object = json!({
                "agent": name, "description": description, "diff": diff, "seconds": took.as_secs(), "failed": null,
            });
            (object, Exit::Done)
        }
        Dry::Failed(failure) => {
            let lines: Vec<&str> = output.lines().collect();
            let last = &lines[lines.len().saturating_sub(LINES)..];
            let object = json!({
                "agent": name, "description": null, "diff": null, "seconds": null, "failed": describe(failure), "output": last,
            });
            (object, Exit::Usage)
        }
    }
}

/// Why an attempt came to nothing, in words.
pub(crate) fn describe(failure: &AttemptFailure) -> String {
    match failure {
        AttemptFailure::NoChange => "it changed nothing".to_owned(),
        AttemptFailure::Error { what, .. } | AttemptFailure::Policy { what } | AttemptFailure::Exhausted { what } => {
            what.clone()
        }
    }
}

fn failed(error: &overnight_engine::rehearse::RehearseError) -> CliError {
    CliError::new(Exit::Fault, "the agent could not be started").cause(error)
}

fn printable_lines(text: &str) -> String {
    text.lines().map(|line| printable(line) + "\n").collect()
}

fn diff(before: &Contents, after: &Contents) -> String {
    let changed = after.0.iter().filter(|(path, bytes)| before.get(path) != Some(bytes.as_slice()));
    let one = |(path, bytes): &(String, Vec<u8>)| {
        let mut options = diffy::DiffOptions::new();
        options.set_original_filename(format!("a/{path}")).set_modified_filename(format!("b/{path}"));
        let old = String::from_utf8_lossy(before.get(path).unwrap_or_default()).into_owned();
        options.create_patch(&old, &String::from_utf8_lossy(bytes)).to_string()
    };
    changed.map(one).collect()
}
