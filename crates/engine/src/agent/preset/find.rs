//! Where an agent's program is, which version it has, and what it needs to see of itself.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use overnight_model::Millis;
use overnight_model::spec::Preset;

use super::quoted;
use crate::process::{Job, Keeper, Sandbox, Stdin};

/// A program that only says its version takes seconds on a machine that is busy, not minutes.
pub(crate) const GREETING_LIMIT: Millis = Millis::seconds(60);

/// An agent that is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub preset: Preset,
    /// As the PATH names it.
    pub program: PathBuf,
}

/// Looks for an agent's program on the PATH.
pub fn find(preset: Preset, environment: &[(String, String)]) -> Option<Found> {
    let (_, path) = environment.iter().rfind(|(name, _)| name == "PATH")?;
    let is_program = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let places = path.split(':').map(|folder| Path::new(folder).join(preset.name()));
    places.filter(|path| path.is_absolute()).find(is_program).map(|program| Found { preset, program })
}

/// What belongs to a program: the package that it is part of, or the file alone.
pub(crate) fn folders(program: &Path) -> Vec<PathBuf> {
    let Ok(real) = program.canonicalize() else { return Vec::new() };
    let above = |is: &dyn Fn(&Path) -> bool| real.ancestors().filter(|folder| is(folder)).last().map(Path::to_owned);
    // With what it depends on: packages beside it.
    let modules = above(&|folder| folder.file_name().is_some_and(|name| name == "node_modules"));
    let environment = real.ancestors().find(|folder| folder.join("pyvenv.cfg").is_file()).map(Path::to_owned);
    let whole = modules.or(environment);
    let mut found = vec![program.to_owned()];
    found.push(whole.unwrap_or(real));
    found.dedup();
    found
}

/// What makes an agent say its version, and nothing else.
pub(crate) fn greeting(preset: Preset) -> String {
    let option = match preset {
        // It has no option for that, and says it on top of its help.
        Preset::Mini => "--help",
        _ => "--version",
    };
    format!("MSWEA_CONFIGURED=true LITELLM_LOCAL_MODEL_COST_MAP=True {} {option} < /dev/null", quoted(preset.name()))
}

/// The first thing that looks like a version: `codex-cli 0.166.0`.
pub(crate) fn version_in(text: &str) -> Option<String> {
    let words = text.split(|c: char| c.is_whitespace() || "(),'\"".contains(c));
    let stripped = words.map(|word| word.trim_start_matches('v').trim_end_matches('.'));
    let is_version = |word: &&str| {
        let parts: Vec<&str> = word.split('.').collect();
        parts.len() >= 2 && parts[..2].iter().all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
    };
    stripped.into_iter().find(is_version).map(ToOwned::to_owned)
}

/// Asks a program for its version as the person would, but for a home of its own.
pub fn version(keeper: &Keeper, found: &Found, environment: &[(String, String)], home: &Path) -> Option<String> {
    let mut env: Vec<_> = environment.iter().filter(|(name, _)| name != "HOME").cloned().collect();
    env.push(("HOME".to_owned(), home.to_string_lossy().into_owned()));
    let job = Job {
        command: greeting(found.preset),
        cwd: home.to_owned(),
        env,
        stdin: Stdin::Null,
        deadline: GREETING_LIMIT.into(),
        grace: Duration::from_secs(1),
        sandbox: Sandbox::None,
    };
    let mut said = Vec::new();
    let mut hear = |bytes: &[u8]| {
        let room = 4096_usize.saturating_sub(said.len());
        said.extend_from_slice(&bytes[..bytes.len().min(room)]);
    };
    keeper.start(&job).ok()?.finish(|_, bytes| hear(bytes)).ok()?;
    version_in(&String::from_utf8_lossy(&said))
}
