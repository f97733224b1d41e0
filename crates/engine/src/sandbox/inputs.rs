//! Inputs are watched: a change in the night would make numbers from before and after it look comparable.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// One input, and how it is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Watched {
    pub path: PathBuf,
    pub by_content: bool,
}

/// A short name for everything the inputs hold: sizes, times and kinds of all files, their contents on request. Each
/// input has its own part of it, so that a change can be told by name.
pub(super) fn fingerprint(inputs: &[Watched]) -> io::Result<Option<String>> {
    let one = |input: &Watched| -> io::Result<String> {
        let real = fs::canonicalize(&input.path).map_err(|error| named(&input.path, error))?;
        let mut hash = Sha256::new();
        walk(&mut hash, &real, input.by_content)?;
        let digest: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("{} {digest}", input.path.display()))
    };
    let parts = inputs.iter().map(one).collect::<io::Result<Vec<_>>>()?;
    Ok((!parts.is_empty()).then(|| parts.join(", ")))
}

fn walk(hash: &mut Sha256, path: &Path, by_content: bool) -> io::Result<()> {
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = fs::symlink_metadata(&path).map_err(|error| named(&path, error))?;
        let kind = metadata.file_type();
        note(hash, &[path.as_os_str().as_bytes(), &metadata.mode().to_le_bytes()]);
        if kind.is_dir() {
            // Its own time is left out: a cache that comes and goes beside the data changes nothing that is read.
            let entries = fs::read_dir(&path).map_err(|error| named(&path, error))?;
            let mut names: Vec<_> = entries
                .map(|entry| Ok(entry?.file_name()))
                .collect::<io::Result<_>>()
                .map_err(|error| named(&path, error))?;
            // Written by whoever imports first, and no part of what an input is.
            names.retain(|name| name != "__pycache__");
            names.sort();
            waiting.extend(names.into_iter().rev().map(|name| path.join(name)));
        } else if kind.is_symlink() {
            note(hash, &[fs::read_link(&path).map_err(|error| named(&path, error))?.as_os_str().as_bytes()]);
        } else if kind.is_file() && by_content {
            let mut file = File::open(&path).map_err(|error| named(&path, error))?;
            let mut buffer = vec![0; 1 << 16];
            loop {
                match file.read(&mut buffer).map_err(|error| named(&path, error))? {
                    0 => break,
                    length => hash.update(&buffer[..length]),
                }
            }
        } else {
            let (size, second, part) = (metadata.size(), metadata.mtime(), metadata.mtime_nsec());
            note(hash, &[&size.to_le_bytes(), &second.to_le_bytes(), &part.to_le_bytes()]);
        }
    }
    Ok(())
}

/// With lengths, so that no two lists of fields look alike.
fn note(hash: &mut Sha256, fields: &[&[u8]]) {
    for field in fields {
        hash.update((field.len() as u64).to_le_bytes());
        hash.update(field);
    }
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    fn of(path: &Path, by_content: bool) -> Option<String> {
        fingerprint(&[Watched { path: path.to_owned(), by_content }]).unwrap()
    }

    #[test]
    fn a_change_shows_and_a_look_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let (file, cache) = (dir.path().join("a/data"), dir.path().join("a/__pycache__"));
        fs::create_dir_all(dir.path().join("a")).unwrap();
        fs::write(&file, "one").unwrap();
        let before = (of(dir.path(), false), of(dir.path(), true));
        fs::create_dir(&cache).unwrap();
        fs::write(cache.join("x.pyc"), "").unwrap();
        assert_eq!((of(dir.path(), false), of(dir.path(), true)), before);
        let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        File::options().append(true).open(&file).unwrap().set_modified(time).unwrap();
        assert_ne!(of(dir.path(), false), before.0, "a new time is a change");
        assert_eq!(of(dir.path(), true), before.1, "and the same content is none");
        fs::write(&file, "two").unwrap();
        assert_ne!(of(dir.path(), true), before.1);
    }

    #[test]
    fn an_input_that_is_gone_is_named() {
        let gone = PathBuf::from("/nonexistent/data");
        let error = fingerprint(&[Watched { path: gone, by_content: false }]).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/data"), "{error}");
    }
}
