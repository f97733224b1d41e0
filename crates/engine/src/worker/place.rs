//! A place where one command at a time may run: a working copy, a folder for artifacts, a temporary folder.

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use overnight_model::event::Loss;
use overnight_model::measure::Usage;
use overnight_model::proposal::Contents;
use overnight_model::{Ending, Millis};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{Kept, Kind, Shop, StopHandle, Trouble};
use crate::dispatch::Fault;
use crate::process::{self, Job, KeeperError, Stdin, Stream};
use crate::workspace::{self, Copy, GitError};

/// Below this much free space an evaluation would fail for our reasons, not for its own.
pub const DISK_FLOOR: u64 = 16 * 1024 * 1024;

/// How long a tree may take to end by itself when it is told to.
const GRACE: Duration = Duration::from_secs(2);

/// What a worker has around it.
pub struct Room {
    pub(crate) shop: Shop,
    pub(crate) stops: StopHandle,
    pub(crate) kept: Arc<Kept>,
}

/// One folder of the engine's own, used by one command after another; nothing of one is there for the next.
pub(crate) struct Place {
    dir: PathBuf,
    /// Files of the baseline that are not for whoever runs here.
    left_out: Vec<String>,
    copy: Option<Copy>,
    /// Nothing has run here since it was made as new.
    is_tidy: bool,
}

/// How a command in a place ended, and what it used.
pub(crate) struct Ran {
    pub(crate) ending: Ending,
    pub(crate) usage: Usage,
}

impl Place {
    pub(crate) fn new(dir: PathBuf, left_out: Vec<String>) -> Place {
        Place { dir, left_out, copy: None, is_tidy: false }
    }

    /// Makes the place as new, with these contents in the surface.
    pub(crate) fn fresh(&mut self, room: &Room, contents: &Contents) -> Result<(), Trouble> {
        enough_room(&self.dir)?;
        let was_tidy = std::mem::take(&mut self.is_tidy);
        let mut made = if was_tidy { self.put(contents) } else { self.lay_out(room, contents) };
        if made.is_err() {
            // The command before may have done anything to its copy, down to removing it.
            self.copy = None;
            made = self.lay_out(room, contents);
        }
        made.map_err(|error| match enough_room(&self.dir) {
            Err(full) => full,
            Ok(()) => Trouble::Loss(Loss::Fault { what: describe(&error) }),
        })
    }

    /// Takes away what a command left, so that the next one need not wait for it. What cannot be done here is done,
    /// and said, when the place is needed.
    pub(crate) fn tidy(&mut self, room: &Room) {
        let mut surface: Vec<String> = room.shop.spec.surface.paths().map(ToOwned::to_owned).collect();
        surface.retain(|path| !self.left_out.contains(path));
        let restored = self.copy.as_mut().map(|copy| copy.restore(&surface));
        self.is_tidy = matches!(restored, Some(Ok(_))) && self.empty_folders().is_ok();
    }

    fn empty_folders(&self) -> Result<(), GitError> {
        workspace::empty(&self.out())?;
        workspace::empty(&self.tmp())
    }

    fn put(&mut self, contents: &Contents) -> Result<(), GitError> {
        match &mut self.copy {
            Some(copy) => copy.put(&contents.0),
            None => Ok(()),
        }
    }

    fn lay_out(&mut self, room: &Room, contents: &Contents) -> Result<(), GitError> {
        if self.copy.is_none() {
            workspace::wipe(&self.dir)?;
            self.copy = Some(Copy::lay_out_without(&self.tree(), &room.shop.user, room.shop.baseline, &self.left_out)?);
        }
        self.empty_folders()?;
        if let Some(copy) = &mut self.copy {
            copy.reset(&contents.0)?;
        }
        Ok(())
    }

    /// The working copy; there is one after `fresh`.
    pub(crate) fn copy(&self) -> Option<&Copy> {
        self.copy.as_ref()
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.dir.join("tree")
    }

    /// The artifact folder.
    pub(crate) fn out(&self) -> PathBuf {
        self.dir.join("out")
    }

    /// The artifact folder as it was left, wherever its name leads by now.
    pub(crate) fn open_out(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::open(self.out(), flags, Mode::empty())
    }

    /// Where a scorer finds the artifacts of others.
    pub(crate) fn artifacts(&self) -> PathBuf {
        self.dir.join("artifacts")
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.dir.join("tmp")
    }

    /// Runs a command in the triplet's folder of the copy, with nothing alive of it when this returns.
    pub(crate) fn run(
        &self,
        room: &Room,
        kind: Kind,
        order: Order,
        mut sink: impl FnMut(Stream, &[u8]),
    ) -> Result<Ran, Trouble> {
        let Order { command, environment, stdin, limit } = order;
        let mut env = room.shop.environment.clone();
        env.push(("TMPDIR".to_owned(), self.tmp().to_string_lossy().into_owned()));
        env.extend(environment);
        // The copy lies inside the person's checkout and has no repository of its own: without this, a `git` in it
        // would find theirs, and `git reset --hard` is what agents do.
        env.push(("GIT_CEILING_DIRECTORIES".to_owned(), self.dir.to_string_lossy().into_owned()));
        let cwd = self.tree().join(&room.shop.spec.evaluate.folder);
        let job = Job { command, cwd, env, stdin, deadline: limit.into(), grace: GRACE };
        let fault = |error: KeeperError| Trouble::Fault(error.into());
        let child = room.shop.keeper.start(&job).map_err(fault)?;
        let registered = room.stops.register(kind, child.killer());
        let report = match child.wait(&mut sink) {
            // Something killed its init alone, a candidate perhaps: this work is lost, and the night goes on.
            Err(KeeperError::Gone) if room.shop.keeper.is_alive() => {
                let what = "the process that watches over the command was killed".to_owned();
                return Err(Trouble::Loss(Loss::Fault { what }));
            }
            report => report.map_err(fault)?,
        };
        drop(registered);
        if report.suspended {
            return Err(Trouble::Loss(Loss::Suspended));
        }
        let mut ending = match report.ending {
            process::Ending::Exited { code } => Ending::Exited { code },
            process::Ending::Signaled { signal } => Ending::Signaled { signal },
            process::Ending::TimedOut => Ending::TimedOut { after: limit },
            process::Ending::Stopped => return Err(Trouble::Loss(Loss::Interrupted)),
            process::Ending::NotStarted { errno, what } => {
                let cause = std::io::Error::from_raw_os_error(errno);
                return Err(Trouble::Loss(Loss::Fault { what: format!("{what}: {cause}") }));
            }
        };
        // A full disk makes programs fail in ways that look like their own fault.
        if let Err(full) = enough_room(&self.dir) {
            let _ = workspace::wipe(&self.dir);
            // Where what it left was all that took the room, it is its own fault, and the night goes on without it.
            enough_room(&self.dir).map_err(|_| full)?;
            ending = Ending::DiskFilled;
        }
        let usage = Usage { wall: report.wall.into(), cpu: report.cpu.into(), peak_bytes: report.peak_bytes };
        Ok(Ran { ending, usage })
    }
}

/// A command to run in a place.
pub(crate) struct Order {
    pub(crate) command: String,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) stdin: Stdin,
    pub(crate) limit: Millis,
}

/// Reads a file that a child may have left: never through a link, never a device, never more than `max` bytes.
pub(crate) fn read_left(path: &Path, max: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Free space for the engine's folder, or for the nearest folder above it that exists.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    let there = dir.ancestors().find(|folder| folder.exists())?;
    let stat = rustix::fs::statvfs(there).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

pub(super) fn enough_room(dir: &Path) -> Result<(), Trouble> {
    match free_bytes(dir) {
        Some(free) if free < DISK_FLOOR => {
            Err(Trouble::Fault(Fault::Full { path: dir.to_owned(), free, needed: DISK_FLOOR }))
        }
        _ => Ok(()),
    }
}

/// An error with its causes, on one line.
pub(crate) fn describe(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
