//! A program of the person's own, with the facts on its standard input. What it leaves running ends with it.

use std::path::Path;
use std::time::Duration;

use super::super::{Notice, shape};
use super::{Again, Miss};
use crate::load;
use crate::process::{Ending, Job, Keeper, Killer, Sandbox, Stdin, Stream};

/// Long enough for a script that sends mail; one that hangs must not keep the others waiting for ever.
const LIMIT: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(1);
/// Enough for what a program says of its own failure.
const MOST_BYTES: usize = 4096;

/// Shows a notice on a desktop; the texts are no part of the command line, so none is read as one.
pub(super) const NOTIFY_SEND: &str =
    r#"exec notify-send --app-name=overnight -- "$OVERNIGHT_TITLE" "$OVERNIGHT_MARKUP""#;

pub(super) fn run(
    keeper: &Keeper,
    folder: &Path,
    command: &str,
    notice: &Notice,
    started: &dyn Fn(Killer),
) -> Result<(), Miss> {
    let own = [
        ("OVERNIGHT_EVENT", notice.event.to_owned()),
        ("OVERNIGHT_STUDY", notice.study.clone()),
        ("OVERNIGHT_TITLE", shape::clean(&notice.title)),
        ("OVERNIGHT_TEXT", shape::clean(&notice.text)),
        ("OVERNIGHT_MARKUP", shape::markup(&notice.text)),
        ("OVERNIGHT_EXPERIMENT", notice.facts.get("experiment").map(ToString::to_string).unwrap_or_default()),
    ];
    let mut environment = load::whole_environment();
    environment.retain(|(name, _)| !own.iter().any(|(known, _)| known == name));
    environment.extend(own.map(|(name, value)| (name.to_owned(), value)));
    let job = Job {
        command: command.to_owned(),
        cwd: folder.to_owned(),
        env: environment,
        stdin: Stdin::Bytes(format!("{}\n", notice.as_json()).into_bytes()),
        deadline: LIMIT,
        grace: GRACE,
        sandbox: Sandbox::None,
    };
    let broken = |error: String| Miss::new(error, Again::Never);
    let child = keeper.start(&job).map_err(|error| broken(error.to_string()))?;
    started(child.killer());
    let mut said = Vec::new();
    let report = child.wait(|stream, bytes| {
        if stream == Stream::Stderr && said.len() < MOST_BYTES {
            said.extend_from_slice(&bytes[..bytes.len().min(MOST_BYTES - said.len())]);
        }
    });
    match report.map_err(|error| broken(error.to_string()))?.ending {
        Ending::Exited { code: 0 } => Ok(()),
        Ending::Exited { code } => {
            let said = String::from_utf8_lossy(&said).into_owned();
            let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
            let last = last.map(|line| format!(": {}", shape::clean(line))).unwrap_or_default();
            // 126 and 127 are the shell's own: there is no such program.
            let again = if [126, 127].contains(&code) { Again::Never } else { Again::Soon };
            Err(Miss::new(format!("exit code {code}{last}"), again))
        }
        // It may have told them before it hung.
        Ending::TimedOut => Err(broken(format!("no end within {} s", LIMIT.as_secs()))),
        ending => Err(broken(format!("{ending:?}"))),
    }
}
