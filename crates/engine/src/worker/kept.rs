//! Artifacts that a scorer took: of the champion, and of those that may become it.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use overnight_model::ContentId;

use super::artifacts::{self, Limits};
use crate::workspace;

/// A folder for each surface whose artifacts were scored.
///
/// Only what this very engine put there counts: artifacts are not synced, and what a power loss left of them could
/// make every scorer look broken. Whatever is missing can be made again.
pub(crate) struct Kept {
    dir: PathBuf,
    stored: Mutex<HashSet<ContentId>>,
}

impl Kept {
    pub(crate) fn new(dir: PathBuf) -> Kept {
        Kept { dir, stored: Mutex::default() }
    }

    /// Moves a folder of artifacts in; the latest of a surface stays.
    pub(crate) fn put(&self, id: &ContentId, from: &Path) -> io::Result<()> {
        let mut stored = self.lock();
        let to = self.dir.join(&id.0);
        stored.remove(id);
        workspace::wipe(&to).map_err(io::Error::other)?;
        fs::create_dir_all(&self.dir)?;
        fs::rename(from, &to)?;
        stored.insert(id.clone());
        Ok(())
    }

    /// Copies what is kept of a surface into an empty folder; false when nothing is.
    pub(crate) fn copy_to(&self, id: &ContentId, into: &Path) -> bool {
        let stored = self.lock();
        stored.contains(id)
            && File::open(self.dir.join(&id.0))
                .is_ok_and(|from| artifacts::collect(from.as_fd(), into, Limits::NONE).is_ok())
    }

    /// Lets go of all but these.
    pub(crate) fn retain(&self, wanted: impl Fn(&ContentId) -> bool) {
        let mut stored = self.lock();
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let id = ContentId(entry.file_name().to_string_lossy().into_owned());
            if !stored.contains(&id) || !wanted(&id) {
                stored.remove(&id);
                // What cannot be removed now is in nobody's way.
                let _ = workspace::wipe(&entry.path());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<ContentId>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_copied_out_until_it_is_let_go() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (ContentId("a".into()), ContentId("b".into()));
        let kept = Kept::new(dir.path().join("kept"));
        for (id, text) in [(&a, "1"), (&b, "2"), (&a, "3")] {
            let from = dir.path().join("from");
            fs::create_dir(&from).unwrap();
            fs::write(from.join("x"), text).unwrap();
            kept.put(id, &from).unwrap();
        }
        let copied = |name: &str, id: &ContentId| {
            let into = dir.path().join(name);
            fs::create_dir(&into).unwrap();
            kept.copy_to(id, &into).then(|| fs::read_to_string(into.join("x")).unwrap())
        };
        assert_eq!(copied("1", &a).as_deref(), Some("3"));
        kept.retain(|id| *id == a);
        assert_eq!((copied("2", &a).as_deref(), copied("3", &b)), (Some("3"), None));
        assert!(!dir.path().join("kept/b").exists());
    }

    #[test]
    fn what_an_earlier_engine_left_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let id = ContentId("a".into());
        fs::create_dir(dir.path().join("a")).unwrap();
        let kept = Kept::new(dir.path().to_owned());
        let into = tempfile::tempdir().unwrap();
        assert!(!kept.copy_to(&id, into.path()));
        kept.retain(|_| true);
        assert!(!dir.path().join("a").exists());
    }
}
