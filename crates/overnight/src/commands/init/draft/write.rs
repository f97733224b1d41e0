//! A draft in the checkout: every file or none, and never in the place of another.

use std::fs;
use std::path::PathBuf;

use overnight_engine::rehearse::NewFile;

use crate::commands::init::look::Look;
use crate::commands::init::place::Found;
use crate::commands::init::{PROGRAM, write};
use crate::error::{CliError, Exit, Outcome};
use crate::ui;

/// Refuses a draft that would take the place of something that git does not track.
pub(super) fn refuse_taken(look: &Look, files: &[NewFile]) -> Outcome<()> {
    for file in files {
        let path = look.at_top(&file.path);
        look.refuse_outside(&path)?;
        if !is_program(look, file) && fs::symlink_metadata(&path).is_ok() {
            return Err(taken(&file.path));
        }
    }
    Ok(())
}

/// Writes the files and last the triplet, and tells which; paths are from the folder of the triplet where they are in it.
pub(super) fn write(place: &Found, look: &Look, files: &[NewFile], triplet: &str) -> Outcome<Vec<String>> {
    refuse_taken(look, files)?;
    look.refuse_outside(&place.site.triplet)?;
    let mut written: Vec<PathBuf> = Vec::new();
    let mut put = |path: PathBuf, bytes: &[u8], runs: bool| -> Outcome<bool> {
        let done = write::new_file_of(&path, bytes, runs)?;
        if done {
            written.push(path);
        }
        Ok(done)
    };
    let mut all = || -> Outcome<()> {
        for file in files {
            let is_new = put(look.at_top(&file.path), &file.bytes, file.runs)?;
            match is_new {
                true => {}
                false if is_program(look, file) => ui::say(&format!("left        {PROGRAM} as it is")),
                false => return Err(taken(&file.path)),
            }
        }
        // A study is there once its triplet is.
        match put(place.site.triplet.clone(), triplet.as_bytes(), false)? {
            true => Ok(()),
            false => Err(place.taken()),
        }
    };
    let outcome = all();
    if let Err(error) = outcome {
        for path in written {
            let _ = fs::remove_file(path);
        }
        return Err(error);
    }
    Ok(written.iter().map(|path| look.shown(path)).collect())
}

/// A person's own words stay.
fn is_program(look: &Look, file: &NewFile) -> bool {
    file.path == look.top_path(PROGRAM)
}

fn taken(path: &str) -> CliError {
    let message = format!("the draft has `{}`, and there is one already that git does not track", ui::one_line(path));
    CliError::new(Exit::Refused, message).hint("nothing was written; move it away or commit it, and try again")
}
