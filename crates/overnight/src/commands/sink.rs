//! Where exported lines go: standard output, or a file that is there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use crate::error::{CliError, Exit, Outcome};
use crate::ui;

/// Takes lines; the first failure is told at the end.
pub(crate) struct Sink {
    to: To,
    failed: Option<io::Error>,
}

enum To {
    Output {
        is_read: bool,
    },
    /// A device or a pipe: it cannot be replaced, only written to.
    Direct {
        path: PathBuf,
        file: BufWriter<File>,
    },
    Beside(Beside),
}

/// A file that takes the place of another when it is complete, and is gone when it does not.
struct Beside {
    path: PathBuf,
    temporary: PathBuf,
    file: BufWriter<File>,
    replaces: bool,
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.temporary);
    }
}

impl Sink {
    /// Standard output, or a file that must not be there unless it may be replaced.
    pub(crate) fn open(path: Option<&Path>, replaces: bool) -> Outcome<Sink> {
        let to = match path {
            None => To::Output { is_read: true },
            Some(path) => open(path, replaces)?,
        };
        Ok(Sink { to, failed: None })
    }

    /// A whole file at once, in the place of one that was there.
    pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Outcome<()> {
        let mut sink = Sink::open(Some(path), true)?;
        if let To::Direct { file, .. } | To::Beside(Beside { file, .. }) = &mut sink.to {
            sink.failed = file.write_all(bytes).err();
        }
        sink.end()
    }

    /// Adds whole lines.
    pub(crate) fn put(&mut self, text: &str) {
        if text.is_empty() || self.failed.is_some() {
            return;
        }
        let written = match &mut self.to {
            To::Output { is_read } => {
                *is_read = *is_read && ui::data(text.trim_end_matches('\n'));
                Ok(())
            }
            To::Direct { file, .. } | To::Beside(Beside { file, .. }) => file.write_all(text.as_bytes()),
        };
        self.failed = written.err();
    }

    /// Makes it last.
    pub(crate) fn end(self) -> Outcome<()> {
        let Sink { to, failed } = self;
        let (path, ended) = match to {
            To::Output { .. } => return Ok(()),
            To::Direct { path, mut file } => (path, failed.map_or_else(|| file.flush(), Err)),
            To::Beside(mut beside) => (beside.path.clone(), failed.map_or_else(|| beside.finish(), Err)),
        };
        match ended {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists(&path)),
            Err(error) => Err(could_not_write(&path, &error)),
        }
    }
}

impl Beside {
    fn finish(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        if self.replaces {
            return fs::rename(&self.temporary, &self.path);
        }
        match rustix::fs::renameat_with(CWD, &self.temporary, CWD, &self.path, RenameFlags::NOREPLACE) {
            // Not every file system can: that nothing was there is then as of a moment ago.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => fs::rename(&self.temporary, &self.path),
            other => Ok(other?),
        }
    }
}

fn open(path: &Path, replaces: bool) -> Outcome<To> {
    let failed = |error: io::Error| could_not_write(path, &error);
    match fs::metadata(path) {
        Ok(known) if !known.is_file() => {
            let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
            return Ok(To::Direct { path: path.to_owned(), file: BufWriter::new(file) });
        }
        Ok(_) if !replaces => return Err(exists(path)),
        _ => {}
    }
    // A link stays what it is; what it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let temporary = target.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let file = File::create_new(&temporary).map_err(failed)?;
    Ok(To::Beside(Beside { path: target, temporary, file: BufWriter::new(file), replaces }))
}

fn exists(path: &Path) -> CliError {
    CliError::new(Exit::Refused, format!("{} exists already", path.display())).hint("--force replaces it")
}

fn could_not_write(path: &Path, error: &io::Error) -> CliError {
    CliError::new(Exit::Fault, format!("could not write {}", path.display())).cause(error)
}
