//! What the tiers have in common: what has to be known, who runs, what a command may use.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use overnight_model::spec::{self, AgentKind, Spec};

use super::inputs::{Watched, fingerprint};
use crate::agent::preset;
use crate::gateway;
use crate::process::{Limits, Network};

/// Threads count too. A training run with many loaders stays far below.
const PROCESSES: u64 = 8192;
/// Users that no host has: each study has a thousand of them, one for each of its places.
pub(super) const FIRST_USER: u32 = 1_900_000_000;

/// What has to be known to plan a sandbox.
pub struct Wanted<'a> {
    pub spec: &'a Spec,
    /// The study's own folder.
    pub dir: &'a Path,
    /// The checkout, whose place the tree takes.
    pub checkout: &'a Path,
    /// The folder of the triplet, which relative inputs start from.
    pub triplet_dir: &'a Path,
    pub home: Option<&'a Path>,
    pub environment: &'a [(String, String)],
    pub slots: u32,
    /// Files of the surface that are programs.
    pub executables: Vec<String>,
    /// What the inputs held when the run began.
    pub inputs_fingerprint: Option<String>,
}

/// Who runs: a slot or a desk, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeatId {
    pub is_desk: bool,
    pub number: u32,
}

impl SeatId {
    /// Each study has a thousand users: half for slots, half for desks.
    pub(super) fn offset(self) -> u32 {
        self.number.min(499) + if self.is_desk { 500 } else { 0 }
    }
}

/// What the inputs of a study hold at this moment, in one short name; `None` without any.
pub fn fingerprint_inputs(spec: &Spec, triplet_dir: &Path, home: Option<&Path>) -> io::Result<Option<String>> {
    let home = home.unwrap_or(Path::new("/"));
    let watched = spec
        .evaluate
        .inputs
        .iter()
        .map(|input| Watched { path: resolve(&input.path, triplet_dir, home), by_content: input.content });
    fingerprint(&watched.collect::<Vec<_>>())
}

/// Files that an agent's command names, or the package of a coding agent: their own programs, as they are now, wherever
/// they lie. Neither the surface nor what is held out is among them.
pub fn agent_programs(spec: &Spec, triplet_dir: &Path, checkout: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = spec
        .agent
        .members
        .iter()
        .flat_map(|member| programs_of(&member.kind, spec, triplet_dir, checkout, home.unwrap_or(Path::new("/"))))
        .collect();
    found.sort();
    found.dedup();
    found
}

fn programs_of(kind: &AgentKind, spec: &Spec, triplet_dir: &Path, checkout: &Path, home: &Path) -> Vec<PathBuf> {
    let command = match kind {
        AgentKind::Tuner | AgentKind::Api(_) => return Vec::new(),
        AgentKind::Coding(coding) => {
            let found = preset::find(coding.preset, &crate::load::allowed_environment());
            let mut folders = found.map(|found| preset::folders(&found.program)).unwrap_or_default();
            let held_out = held_out(spec, triplet_dir, home);
            // A program that lives in the checkout, or a folder that holds it, would show what is hidden there.
            folders.retain(|path| {
                let is_held_out = held_out.iter().any(|held| held.starts_with(path) || path.starts_with(held));
                let is_too_much = checkout.starts_with(path) || home.starts_with(path);
                !super::is_secret(path, home) && !is_held_out && !is_too_much
            });
            return folders;
        }
        AgentKind::Command(command) => command,
    };
    let words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'', ';', '&', '|', '(', ')']));
    let is_surface = |path: &Path| spec.surface.paths().any(|file| checkout.join(file) == path);
    let held_out = held_out(spec, triplet_dir, home);
    let is_held_out = |path: &Path| held_out.iter().any(|held| path.starts_with(held));
    words
        .filter(|word| !word.is_empty())
        .map(|word| resolve(word, triplet_dir, home))
        .filter(|path| path.is_file() && !is_surface(path) && !is_held_out(path) && !super::is_secret(path, home))
        .map(|path| path.components().collect())
        .collect()
}

/// Where the files of the holdout are on the host.
pub fn held_out(spec: &Spec, triplet_dir: &Path, home: &Path) -> Vec<PathBuf> {
    let files = spec.holdout.iter().flat_map(|holdout| &holdout.files);
    files.map(|file| plain(&resolve(file, triplet_dir, home))).collect()
}

/// A path without `.` and `..`, by its letters alone.
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// What the holdout's files hold at this moment, by content; `None` without any.
pub fn fingerprint_holdout(spec: &Spec, triplet_dir: &Path, home: Option<&Path>) -> io::Result<Option<String>> {
    let files = held_out(spec, triplet_dir, home.unwrap_or(Path::new("/")));
    fingerprint(&files.into_iter().map(|path| Watched { path, by_content: true }).collect::<Vec<_>>())
}

/// Where the inputs are on the host.
pub fn inputs(wanted: &Wanted<'_>) -> Vec<PathBuf> {
    let named = wanted.spec.evaluate.inputs.iter();
    named.map(|input| resolve(&input.path, wanted.triplet_dir, wanted.home.unwrap_or(Path::new("/")))).collect()
}

/// Where a path of the triplet leads.
pub fn resolve(path: &str, triplet_dir: &Path, home: &Path) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => triplet_dir.join(path),
    }
}

pub(crate) fn network(wanted: spec::Network) -> Network {
    match wanted {
        spec::Network::None => Network::None,
        spec::Network::Models => Network::Models { port: gateway::PORT },
        spec::Network::Full => Network::Full,
    }
}

/// What was asked for, else a fair share of the machine.
pub(super) fn limits(spec: &Spec, slots: u32) -> Limits {
    let share = |whole: u64, part: f64| (whole as f64 * part / f64::from(slots.max(1))) as u64;
    let total = memory_of_the_machine();
    Limits {
        memory: spec.sandbox.memory.or_else(|| total.map(|total| share(total, 0.9))),
        processes: Some(spec.sandbox.pids.map_or(PROCESSES, u64::from)),
        disk: spec.sandbox.disk.or_else(|| total.map(|total| share(total, 0.5))),
    }
}

fn memory_of_the_machine() -> Option<u64> {
    let table = fs::read_to_string("/proc/meminfo").ok()?;
    let line = table.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Two studies on one machine have different users, so that neither can touch what the other left.
pub(super) fn first_user(dir: &Path) -> u32 {
    let hash = dir
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(*byte)));
    FIRST_USER + hash % 100_000 * 1000
}
