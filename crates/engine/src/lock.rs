//! One engine per study: a lock in git's common directory, so linked worktrees share it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::clock::Stopwatch;

/// How long the children of a killed engine may take to be gone; its keeper holds the lock until they are.
const HANDOVER: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// Held from before the ledger is opened until the engine, its keeper and everything they started are gone.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Who holds a lock, for the one who is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub what: String,
    pub dir: PathBuf,
}

#[derive(Debug, Error)]
pub enum LockError {
    #[error("this study is being run by process {} (`{}` in {})", holder.pid, holder.what, holder.dir.display())]
    Held { holder: Holder },
    #[error("this study is locked at {path}")]
    HeldByUnknown { path: PathBuf },
    #[error("could not lock {path}")]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

impl Lock {
    /// Takes the lock, or says who has it. A lock whose engine is dead is waited for: its keeper is still killing.
    pub fn take(common_dir: &Path, study: &str, me: &Holder) -> Result<Lock, LockError> {
        let path = path(common_dir, study);
        let io = |source| LockError::Io { path: path.clone(), source };
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        let watch = Stopwatch::start();
        while let Err(error) = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if error != rustix::io::Errno::WOULDBLOCK {
                return Err(io(error.into()));
            }
            match read(&mut file) {
                Some(holder) if is_alive(holder.pid) => return Err(LockError::Held { holder }),
                _ if watch.elapsed() > HANDOVER => return Err(LockError::HeldByUnknown { path }),
                _ => std::thread::sleep(POLL),
            }
        }
        let text = serde_json::to_vec(me).map_err(|error| io(error.into()))?;
        file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&text)).map_err(io)?;
        Ok(Lock { file })
    }

    /// The descriptor whose copies keep the lock.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Who runs a study right now, without waiting or taking anything.
    pub fn holder(common_dir: &Path, study: &str) -> Option<Holder> {
        let mut file = File::open(path(common_dir, study)).ok()?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(rustix::io::Errno::WOULDBLOCK) => read(&mut file).filter(|holder| is_alive(holder.pid)),
            _ => None,
        }
    }
}

fn path(common_dir: &Path, study: &str) -> PathBuf {
    common_dir.join(format!("overnight-{study}.lock"))
}

fn read(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn is_alive(pid: u32) -> bool {
    // A zombie keeps its entry, but it is not going to let go of anything by itself.
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    state.and_then(|stat| stat.rsplit_once(") ").map(|(_, rest)| !rest.starts_with(['Z', 'X']))).unwrap_or(false)
}
