//! The key of a provider: out of the person's environment, or what a command prints. It is in no file of ours.

use std::path::Path;
use std::time::Duration;

use overnight_model::spec::KeySource;

use crate::load;
use crate::process::{Ending, Job, Keeper, Killer, Sandbox, Stdin, Stream};

/// A person may have to type a password.
const LIMIT: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(1);
/// No key is longer.
const MOST_BYTES: usize = 16 * 1024;

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
            let told = |what: String| format!("`{command}` gave no key: {what}");
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
            let mut printed = Vec::new();
            let report = child.wait(|stream, bytes| {
                if stream == Stream::Stdout && printed.len() < MOST_BYTES {
                    printed.extend_from_slice(&bytes[..bytes.len().min(MOST_BYTES - printed.len())]);
                }
            });
            let report = report.map_err(|error| told(error.to_string()))?;
            match report.ending {
                Ending::Exited { code: 0 } => {}
                Ending::Exited { code } => return Err(told(format!("exit code {code}"))),
                Ending::TimedOut => return Err(told(format!("no end within {} s", LIMIT.as_secs()))),
                ending => return Err(told(format!("{ending:?}"))),
            }
            let text = String::from_utf8_lossy(&printed).into_owned();
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

/// Whether a key is there, without running anything: a command says so only when it is asked.
pub fn is_there(source: &KeySource) -> bool {
    match source {
        KeySource::Variable(name) => load::named_environment(&[name]).iter().any(|(_, value)| !value.trim().is_empty()),
        KeySource::Command(_) | KeySource::None => true,
    }
}
