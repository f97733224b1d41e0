//! Running a program to its end as a person would from a shell: this one again, or git.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// How a program ended, and what it printed.
#[derive(Debug)]
pub struct Ended {
    /// None where a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a program in a folder, with this environment and no other, until it ends by itself.
///
/// It is not below a keeper: for trusted programs only, such as an engine that has a keeper of its own.
pub fn run_to_end(
    program: &Path,
    arguments: &[impl AsRef<OsStr>],
    folder: &Path,
    environment: &[(String, String)],
) -> io::Result<Ended> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env_clear().stdin(Stdio::null());
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let output = command.output()?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) })
}
