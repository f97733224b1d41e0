//! The key of a provider: out of the person's environment, or what a command prints. It is in no file of ours.

use std::path::Path;
use std::time::Duration;

use overnight_model::spec::KeySource;

use crate::agent::secrets::Secrets;
use crate::load;
use crate::process::{Ending, Job, Keeper, Killer, Sandbox, Stdin, Stream};

/// A person may have to type a password.
const LIMIT: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(1);
/// No key is longer.
const MOST_BYTES: usize = 16 * 1024;
/// What is told of what a command complained of.
const MOST_SAID: usize = 200;

/// The key, or why there is none; `None` where none is needed. A command runs as the person's own, outside of any sandbox
/// and with all of the environment: it has to reach the person's secrets, and no candidate has a part in it.
pub fn find(
    source: &KeySource,
    keeper: &Keeper,
    folder: &Path,
    started: impl FnOnce(Killer),
) -> Result<Option<String>, String> {
    let key = match source {
        KeySource::None => return Ok(None),
        KeySource::Variable(name) => {
            let found = load::named_environment(&[name]).into_iter().next();
            found
                .map(|(_, value)| value)
                .filter(|value| !value.trim().is_empty())
                .ok_or(format!("`{name}` is not set"))?
        }
        KeySource::Command(command) => {
            let next = format!("type it yourself in {}, or name another source", folder.display());
            let told = |what: String| format!("`{command}` gave no key: {what}; {next}");
            let job = Job {
                command: command.clone(),
                cwd: folder.to_owned(),
                env: load::whole_environment(),
                stdin: Stdin::Null,
                deadline: LIMIT,
                grace: GRACE,
                sandbox: Sandbox::None,
            };
            let child = keeper.start(&job).map_err(|error| told(error.to_string()))?;
            started(child.killer());
            let (mut printed, mut complained) = (Vec::new(), Vec::new());
            let report = child.wait(|stream, bytes| {
                let into = if stream == Stream::Stdout { &mut printed } else { &mut complained };
                into.extend_from_slice(&bytes[..bytes.len().min(MOST_BYTES.saturating_sub(into.len()))]);
            });
            let report = report.map_err(|error| told(error.to_string()))?;
            let text = String::from_utf8_lossy(&printed).into_owned();
            let said = said(&String::from_utf8_lossy(&complained), &text);
            match report.ending {
                Ending::Exited { code: 0 } => {}
                Ending::Exited { code } => return Err(told(format!("exit code {code}{said}"))),
                Ending::Signaled { signal } => return Err(told(format!("it was ended by signal {signal}{said}"))),
                Ending::TimedOut => return Err(told(format!("no end within {} s{said}", LIMIT.as_secs()))),
                Ending::Stopped => return Err(told("it was stopped".to_owned())),
                ending => return Err(told(format!("{ending:?}{said}"))),
            }
            // Password stores keep notes below.
            text.lines()
                .next()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .map(ToOwned::to_owned)
                .ok_or_else(|| told("its first line is empty".to_owned()))?
        }
    };
    let key = key.trim().to_owned();
    match key.chars().all(|c| c.is_ascii_graphic()) {
        true => Ok(Some(key)),
        false => Err("the key has signs in it that no key has".to_owned()),
    }
}

/// The last thing that a command complained of, without what it printed as a key and without secrets of the person's own.
fn said(complained: &str, printed: &str) -> String {
    let Some(line) = complained.lines().map(str::trim).rfind(|line| !line.is_empty()) else { return String::new() };
    let printed = printed.lines().map(|line| line.trim().to_owned());
    let secrets = Secrets::of(&load::whole_environment()).and(printed);
    let line: String = secrets.mask(line).chars().filter(|c| !c.is_control()).take(MOST_SAID).collect();
    format!(", and said: {line}")
}

/// Whether a key is there, without running anything: a command says so only when it is asked.
pub fn is_there(source: &KeySource) -> bool {
    match source {
        KeySource::Variable(name) => load::named_environment(&[name]).iter().any(|(_, value)| !value.trim().is_empty()),
        KeySource::Command(_) | KeySource::None => true,
    }
}
