//! Reads `overnight.toml`, and says everything that is wrong with it at once, each thing in its place.

mod agent;
mod api;
mod document;
mod duration;
mod environment;
mod evaluate;
mod gateway;
mod glob;
mod guard;
mod hidden;
mod holdout;
mod inputs;
mod judge;
mod keys;
mod limits;
mod member;
mod metric;
mod notify;
mod problem;
mod sandbox;
mod site;
mod size;
mod surface;
mod syntax;
mod tapes;
#[cfg(test)]
mod tests;
mod values;

use std::path::Path;

use overnight_model::spec::Spec;
use toml::de::DeTable;

use document::Section;
use problem::Collector;

pub(crate) use api::{has_path, with_version};
pub use duration::span;
pub use environment::{
    allowed_environment, home, named_environment, wants_colour, wants_plain_lines, whole_environment,
};
pub(crate) use glob::{is_pattern, matches};
pub(crate) use inputs::is_secret_name;
pub use problem::{Problem, Problems, render};
pub use site::{STATE, Site, SiteError, is_study_name, locate, triplet_of, triplets_in};

const DEFAULT_PROGRAM: &str = "program.md";

/// A triplet as it lies on disk.
#[derive(Debug, Clone, Copy)]
pub struct Triplet<'a> {
    /// Its name within its folder, as problems show it.
    pub file: &'a str,
    pub text: &'a str,
    pub study: &'a str,
    /// Its folder within the repository; empty at the top.
    pub folder: &'a str,
}

/// The files around a triplet, by paths relative to its folder.
#[derive(Clone, Copy)]
pub struct Tree<'a> {
    pub tracked: &'a [String],
    /// Whether there is a file at a path, tracked or not; inputs are asked for by their absolute path.
    pub exists: &'a dyn Fn(&str) -> bool,
    /// What lies in a folder, by name, for the slip of a keyboard.
    pub names: &'a dyn Fn(&str) -> Vec<String>,
    /// The folder of the triplet on this machine.
    pub dir: &'a Path,
    pub home: Option<&'a Path>,
}

/// Reads and checks a triplet. A key that this version cannot honour is a problem, never ignored.
pub fn parse(triplet: &Triplet<'_>, tree: &Tree<'_>) -> Result<Spec, Problems> {
    let mut problems = Collector::new(triplet.text);
    match read(&mut problems, triplet, tree) {
        Some(spec) if problems.is_empty() => Ok(spec),
        _ => Err(problems.finish(triplet.file)),
    }
}

fn read(problems: &mut Collector<'_>, triplet: &Triplet<'_>, tree: &Tree<'_>) -> Option<Spec> {
    let (document, errors) = DeTable::parse_recoverable(triplet.text);
    if !errors.is_empty() {
        // What stands after a slip in the syntax may be read wrongly: say nothing of it.
        syntax::report(problems, errors);
        return None;
    }
    let top = Section::top(document.get_ref());
    problems.check_keys(&top);
    let program = agent::program(problems, &top, tree);
    let reserved = [triplet.file, program.as_deref().unwrap_or(DEFAULT_PROGRAM)];
    let surface = surface::read(problems, &top, tree, &reserved);
    let metric = metric::read(problems, &top);
    let evaluate = evaluate::read(problems, &top, (triplet, tree), surface.as_ref());
    let mut holdout = holdout::read(problems, &top, (triplet, tree), (surface.as_ref(), evaluate.as_ref()), &reserved);
    let guards = guard::read(problems, &top);
    let judge = judge::read(problems, &top);
    let agent = agent::read(problems, &top);
    let sandbox = sandbox::read(problems, &top);
    let gateway = gateway::read(problems, &top, surface.as_ref());
    let slots = limits::slots(problems, &top);
    let limits = limits::read(problems, &top);
    let notify = notify::read(problems, &top);

    let within = |path: &str| match triplet.folder {
        "" => path.to_owned(),
        folder => format!("{}/{path}", folder.trim_end_matches('/')),
    };
    let reserved = reserved.map(within);
    let mut surface = surface?;
    for file in &mut surface.files {
        file.path = within(&file.path);
    }
    let mut evaluate = evaluate?;
    for path in &mut evaluate.hidden {
        *path = within(path);
    }
    for path in holdout.iter_mut().flat_map(|holdout| &mut holdout.tracked) {
        *path = within(path);
    }
    let spec = Spec {
        study: triplet.study.to_owned(),
        surface,
        program: program?,
        metric: metric?,
        evaluate,
        holdout,
        guards,
        judge,
        agent: agent?,
        sandbox,
        gateway,
        slots,
        limits,
        notify,
    };
    if !problems.is_empty() {
        return None;
    }
    // Each overlap has been reported in its place; this is the type's own promise.
    Spec::new(spec, &reserved).map_err(|error| problems.add(0..0, error.to_string(), "")).ok()
}

/// A repository path as it looks from the triplet's folder.
pub fn within(folder: &str, path: &str) -> String {
    let inside = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    inside.filter(|_| !folder.is_empty()).unwrap_or(path).to_owned()
}
