//! A section of ours in a file of somebody else's: between two marks, and nothing but that is ever changed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::write;
use crate::error::{CliError, Exit, Outcome};

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    Wrote,
    Added,
    Replaced,
    UpToDate,
}

/// Puts a section into a file, at its end or in the place of the one that is there.
pub(super) fn put(path: &Path, name: &str, text: &str) -> Outcome<Put> {
    let (begin, end) = marks(name);
    let section = format!("{begin}\n{}\n{end}\n", text.trim_end());
    // Of a link, what it leads to is meant.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let failed = |what: &str, error: &io::Error| {
        CliError::new(Exit::Fault, format!("could not {what} {}", path.display())).cause(error)
    };
    let old = match fs::read_to_string(&path) {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match write::new_file(&path, &section)? {
                true => Ok(Put::Wrote),
                false => Err(CliError::new(Exit::Refused, format!("{} leads nowhere", path.display()))),
            };
        }
        Err(error) => return Err(failed("read", &error)),
    };
    let (new, put) = match (old.find(&begin), old.find(&end)) {
        (None, None) if old.is_empty() => (section, Put::Wrote),
        (None, None) => (format!("{}\n\n{section}", old.trim_end_matches('\n')), Put::Added),
        (Some(from), Some(to)) if from < to && old.matches(&begin).count() == 1 && old.matches(&end).count() == 1 => {
            let rest = &old[to + end.len()..];
            let rest = rest.strip_prefix('\n').unwrap_or(rest);
            (format!("{}{section}{rest}", &old[..from]), Put::Replaced)
        }
        _ => {
            let message = format!("{} does not have `{begin}` and `{end}` once each, in this order", path.display());
            return Err(
                CliError::new(Exit::Refused, message).hint("take out what is left of the section, and try again")
            );
        }
    };
    if new == old {
        return Ok(Put::UpToDate);
    }
    replace(&path, &new).map_err(|error| failed("write", &error))?;
    Ok(put)
}

/// Whether a file is the same as another, or says that the other is to be read.
pub(super) fn leads_to(path: &Path, other: &Path) -> bool {
    let same = |a: PathBuf, b: PathBuf| fs::canonicalize(a).ok().is_some_and(|a| fs::canonicalize(b).ok() == Some(a));
    let name = other.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let imports = |text: String| text.lines().any(|line| line.trim() == format!("@{name}"));
    same(path.to_owned(), other.to_owned()) || fs::read_to_string(path).is_ok_and(imports)
}

fn marks(name: &str) -> (String, String) {
    (format!("<!-- overnight {name}: begin -->"), format!("<!-- overnight {name}: end -->"))
}

/// Whole or not at all, with the rights that the file had.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let done = write::write(&draft, text)
        .and_then(|()| fs::set_permissions(&draft, fs::metadata(path)?.permissions()))
        .and_then(|()| fs::rename(&draft, path));
    if done.is_err() {
        let _ = fs::remove_file(&draft);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_the_section_is_ever_changed() {
        let dir = std::env::temp_dir().join(format!("overnight-section-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("AGENTS.md");
        fs::write(&path, "# Ours\n\nUse tabs.\n").unwrap();
        assert_eq!(put(&path, "main", "one").unwrap(), Put::Added);
        let added = "# Ours\n\nUse tabs.\n\n<!-- overnight main: begin -->\none\n<!-- overnight main: end -->\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), added);
        assert_eq!(put(&path, "main", "one").unwrap(), Put::UpToDate);
        fs::write(&path, format!("{added}After.\n")).unwrap();
        assert_eq!(put(&path, "main", "two").unwrap(), Put::Replaced);
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{}After.\n", added.replace("one", "two")));
        assert_eq!(put(&path, "other", "three").unwrap(), Put::Added, "each study has its own");
        fs::write(&path, "<!-- overnight main: end -->\n<!-- overnight main: begin -->\n").unwrap();
        assert!(put(&path, "main", "two").is_err());
        fs::remove_file(&path).unwrap();
        assert_eq!(put(&path, "main", "one").unwrap(), Put::Wrote);
        fs::remove_dir_all(&dir).unwrap();
    }
}
