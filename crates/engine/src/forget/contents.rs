//! What an experiment left: its surface as it was proposed, what was printed, and its commits in the store.
//!
//! Nothing that is decided depends on these of an experiment that is over and was not kept. What named them stays: hashes,
//! numbers, the verdict and the one line of its hypothesis are part of the chain.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use overnight_model::proposal::SurfaceBlob;
use overnight_model::{BlobId, CommitId, ExperimentId, Verdict};

use super::ForgetError;
use crate::ledger::{Ledger, Reader};
use crate::load::Site;
use crate::workspace::{GitError, Store, oid, overwrite, wipe};

/// Folders in which candidates were laid out or left something: all of it is made again when it is needed.
const SCRATCH: [&str; 7] = ["slots", "desks", "scorers", "smokes", "check", "artifacts", "holdouts"];
/// The index holds lines of every proposal, and is made anew by whoever searches.
const INDEX: [&str; 3] = ["search.db", "search.db-wal", "search.db-shm"];

/// What can go of some experiments.
#[derive(Debug, Default)]
pub(super) struct Doomed {
    /// Named by them alone, and still there.
    pub(super) blobs: Vec<BlobId>,
    /// Those that lose something.
    pub(super) experiments: Vec<ExperimentId>,
    /// Others that are not kept, and proposed some of it too: it stays for them.
    pub(super) shared_with: Vec<ExperimentId>,
    /// Their commits in the store, with the files in them that go.
    commits: Vec<(CommitId, Vec<String>)>,
}

impl Doomed {
    pub(super) fn of(reader: &Reader, ids: &[ExperimentId]) -> Result<Doomed, ForgetError> {
        for id in ids {
            may_go(reader, *id)?;
        }
        let mut own: BTreeMap<BlobId, BTreeSet<ExperimentId>> = BTreeMap::new();
        let mut others: BTreeMap<BlobId, Option<ExperimentId>> = BTreeMap::new();
        let mut made: Vec<(CommitId, Vec<SurfaceBlob>)> = Vec::new();
        reader.each_unchecked(|stored| {
            let what = &stored.event.what;
            match what.experiment().filter(|id| ids.contains(id)) {
                Some(id) => {
                    for blob in what.blobs() {
                        own.entry(blob.clone()).or_default().insert(id);
                    }
                    made.extend(what.made().map(|made| (made.commit.clone(), made.surface.clone())));
                }
                None => {
                    for blob in what.blobs() {
                        // A segment's baseline counts for more than whoever proposed the same.
                        let holder = others.entry(blob.clone()).or_insert_with(|| what.experiment());
                        *holder = holder.and(what.experiment());
                    }
                }
            }
        })?;
        let surfaces: BTreeSet<&BlobId> = made.iter().flat_map(|(_, surface)| surface).map(|file| &file.blob).collect();
        let mut doomed = Doomed::default();
        let (mut experiments, mut shared) = (BTreeSet::new(), BTreeSet::new());
        for (blob, whose) in &own {
            match others.get(blob) {
                None if reader.holds(blob)? => {
                    doomed.blobs.push(blob.clone());
                    experiments.extend(whose);
                }
                None => {}
                Some(holder) => shared.extend(holder.filter(|_| surfaces.contains(blob))),
            }
        }
        let is_left = |id: &ExperimentId| match reader.row(*id) {
            Ok(row) => row.is_some_and(|row| !is_on_branch(row.verdict)),
            Err(_) => false,
        };
        doomed.shared_with = shared.into_iter().filter(is_left).collect();
        doomed.experiments = experiments.into_iter().collect();
        // Also what is gone from the ledger already: an engine may have been killed in the middle of this.
        let goes = |file: &&SurfaceBlob| !others.contains_key(&file.blob);
        for (commit, surface) in made {
            let paths: Vec<String> = surface.iter().filter(goes).map(|file| file.path.clone()).collect();
            if !paths.is_empty() {
                doomed.commits.push((commit, paths));
            }
        }
        Ok(doomed)
    }

    /// Erases it. The ledger's own are the last: as long as they are there, the same wish finds everything again.
    pub(super) fn erase(&self, site: &Site, ledger: &mut Ledger) -> Result<(), ForgetError> {
        let state = site.state();
        if state.join("store.git").exists() {
            let store = Store::open(&state.join("store.git"))?;
            let commits: Vec<_> = self
                .commits
                .iter()
                .map(|(commit, paths)| Ok((oid(commit)?, paths.clone())))
                .collect::<Result<_, GitError>>()?;
            let refs: Vec<u64> = self.experiments.iter().map(|id| id.0).collect();
            store.erase(&refs, &commits)?;
        }
        for name in INDEX {
            gone(&state.join(name), overwrite)?;
        }
        for name in SCRATCH {
            let folder = state.join(name);
            if folder.exists() {
                wipe(&folder)?;
            }
        }
        Ok(ledger.erase(&self.blobs)?)
    }
}

fn gone(path: &Path, erase: impl Fn(&Path) -> std::io::Result<()>) -> Result<(), ForgetError> {
    match erase(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(ForgetError::Erase { path: PathBuf::from(path), source })
        }
        _ => Ok(()),
    }
}

fn is_on_branch(verdict: Option<Verdict>) -> bool {
    matches!(verdict, Some(Verdict::Baseline | Verdict::Kept | Verdict::Retracted))
}

/// Refuses what something that is decided, or will be, stands on.
fn may_go(reader: &Reader, experiment: ExperimentId) -> Result<(), ForgetError> {
    let Some(row) = reader.row(experiment)? else { return Err(ForgetError::Unknown { experiment }) };
    let why = match row.verdict {
        None => "has no verdict yet",
        Some(Verdict::Baseline) => "is the baseline, a commit of your own repository",
        Some(Verdict::Kept) => "was kept, and the champion stands on it",
        Some(Verdict::Retracted) => "was kept once, and is part of the branch's history",
        Some(Verdict::Suspect) => "waits for a person's word",
        Some(_) => return Ok(()),
    };
    Err(ForgetError::Needed { experiment, why, verdict: row.verdict })
}
