//! Files that come whole or not at all, and never in the place of another.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::error::{CliError, Exit, Outcome};

/// Writes a new file; false where there is one already, a link that leads nowhere among them.
pub(super) fn new_file(path: &Path, text: &str) -> Outcome<bool> {
    new_file_of(path, text.as_bytes(), false)
}

/// The same for any bytes, and for what is to be run.
pub(super) fn new_file_of(path: &Path, bytes: &[u8], runs: bool) -> Outcome<bool> {
    let failed =
        |error: io::Error| CliError::new(Exit::Fault, format!("could not write {}", path.display())).cause(&error);
    if fs::symlink_metadata(path).is_ok() {
        return Ok(false);
    }
    let folder = path.parent().expect("a file lies in a folder");
    fs::create_dir_all(folder).map_err(failed)?;
    let name = path.file_name().expect("it has a name").to_string_lossy();
    let draft = folder.join(format!(".{name}.{}", std::process::id()));
    let done = write_of(&draft, bytes, runs).and_then(|()| take_place(&draft, path));
    if !matches!(done, Ok(true)) {
        let _ = fs::remove_file(&draft);
    }
    done.map_err(failed)
}

pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    write_of(path, text.as_bytes(), false)
}

fn write_of(path: &Path, bytes: &[u8], runs: bool) -> io::Result<()> {
    let mode = if runs { 0o777 } else { 0o666 };
    let mut file = File::options().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Moves a file to a place that has to be free.
fn take_place(from: &Path, to: &Path) -> io::Result<bool> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        // Some network file systems cannot promise it; a second name can be given only once as well.
        Err(Errno::INVAL | Errno::NOSYS) => match fs::hard_link(from, to) {
            Ok(()) => fs::remove_file(from).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        },
        Err(error) => Err(error.into()),
    }
}
