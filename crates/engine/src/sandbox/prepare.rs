//! What `prepare` leaves, frozen: the layer that every trial of a study starts from.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::process::{Mount, View};

/// What is kept of one prepared layer, beside its folders.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The place inside, and the folder that lies on it.
    pub layers: Vec<(PathBuf, PathBuf)>,
    /// The newest file, in seconds: a surface file must be newer, or `make` and others take the old one.
    pub newest: i64,
}

const MANIFEST: &str = "manifest.json";

/// Folders that are every command's own, whatever prepare wrote there.
const NOT_KEPT: [&str; 5] = ["/tmp", "/var/tmp", "/run", super::OUT, super::SAID];

/// The name of a layer: the same command on the same locked tree and inputs gives the same one.
pub(super) fn key(fields: &[&str]) -> String {
    let mut hash = Sha256::new();
    for field in fields {
        hash.update((field.len() as u64).to_le_bytes());
        hash.update(field.as_bytes());
    }
    hash.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

/// A layer that was finished before.
pub(super) fn read(folder: &Path) -> Option<Manifest> {
    serde_json::from_slice(&fs::read(folder.join(MANIFEST)).ok()?).ok()
}

/// Takes what a command wrote into its disk layer `from`, and makes it the layer `into`.
pub(super) fn freeze(view: &View, surface: &[PathBuf], from: &Path, into: &Path) -> io::Result<Manifest> {
    let privates = view.mounts.iter().filter_map(|mount| match mount {
        Mount::Private { at, .. } => Some(at),
        Mount::Shared { .. } | Mount::File { .. } | Mount::Link { .. } => None,
    });
    let mut manifest = Manifest::default();
    for (number, at) in privates.enumerate() {
        let upper = from.join(format!("upper{number}"));
        if NOT_KEPT.iter().any(|path| at == Path::new(path)) {
            continue;
        }
        for file in surface.iter().filter_map(|file| file.strip_prefix(at).ok()) {
            forget(&upper, file)?;
        }
        if fs::read_dir(&upper)?.next().is_none() {
            continue;
        }
        manifest.newest = manifest.newest.max(settle(&upper, view.user)?);
        manifest.layers.push((at.clone(), into.join(format!("upper{number}"))));
    }
    fs::write(from.join(MANIFEST), serde_json::to_vec(&manifest)?)?;
    fs::rename(from, into)?;
    Ok(manifest)
}

/// Removes a surface file and its bytecode: each candidate brings its own.
fn forget(upper: &Path, file: &Path) -> io::Result<()> {
    let gone = |path: &Path| match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    let place = upper.join(file);
    gone(&place)?;
    let (Some(folder), Some(stem)) = (place.parent(), file.file_stem()) else { return Ok(()) };
    let prefix = format!("{}.", stem.to_string_lossy());
    for entry in fs::read_dir(folder.join("__pycache__")).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            gone(&entry.path())?;
        }
    }
    Ok(())
}

/// Hands what a job's user wrote to root, whose files belong to every job's user; says how new the newest is.
fn settle(folder: &Path, user: Option<u32>) -> io::Result<i64> {
    let mut newest = 0;
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = fs::symlink_metadata(&path)?;
        if user.is_some_and(|user| metadata.uid() == user) {
            lchown(&path, Some(0), Some(0))?;
        }
        if metadata.is_dir() {
            for entry in fs::read_dir(&path)? {
                waiting.push(entry?.path());
            }
        } else {
            newest = newest.max(metadata.mtime());
        }
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_run_into_each_other() {
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
    }
}
