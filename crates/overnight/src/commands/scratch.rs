//! A folder for a moment, gone with the command that needed it.

use std::fs;
use std::path::{Path, PathBuf};

use overnight_engine::workspace;

use crate::error::{CliError, Exit, Outcome};

pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// An empty folder among the temporary ones, under a name that nobody can guess.
    pub(crate) fn make() -> Outcome<Scratch> {
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| CliError::new(Exit::Fault, "could not draw a random name").cause(&error))?;
        let path = std::env::temp_dir().join(format!("overnight-{:016x}", u64::from_ne_bytes(random)));
        let failed = |error| CliError::new(Exit::Fault, format!("could not make {}", path.display())).cause(&error);
        fs::create_dir(&path).map_err(failed)?;
        // Inside a sandbox the path of a study is what it is outside, so no link may be in it.
        let real = fs::canonicalize(&path).map_err(failed)?;
        Ok(Scratch(real))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = workspace::wipe(&self.0);
    }
}
