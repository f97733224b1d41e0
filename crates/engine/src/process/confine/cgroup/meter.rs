//! The counters of a job's groups.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Failure, Hierarchy, Version, cannot};

/// Open counters: they can be read where the files themselves are out of sight.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    oom: Option<File>,
    pids: Option<File>,
    cpu: Option<(Version, File)>,
}

/// What the processes of a group used together since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GroupUsage {
    /// Of all that ever were in the group, waited for or not.
    pub cpu: Option<Duration>,
    /// Processes that the kernel ended because the group had no memory left.
    pub oom_kills: u64,
    /// Processes and threads that were not made because the group was full.
    pub pids_refused: u64,
}

impl Meter {
    pub(super) fn open(places: &[(Hierarchy, PathBuf)]) -> Result<Meter, Failure> {
        let mut meter = Meter::default();
        for (hierarchy, place) in places {
            let (oom, cpu) = match hierarchy.version {
                Version::V1 => ("memory.oom_control", "cpuacct.usage"),
                Version::V2 => ("memory.events", "cpu.stat"),
            };
            if hierarchy.memory {
                meter.oom = open_if_there(&place.join(oom))?;
            }
            if hierarchy.pids {
                meter.pids = open_if_there(&place.join("pids.events"))?;
            }
            if hierarchy.cpu {
                meter.cpu = open_if_there(&place.join(cpu))?.map(|file| (hierarchy.version, file));
            }
        }
        Ok(meter)
    }

    /// Whether it tells that a process was refused.
    pub(crate) fn counts_processes(&self) -> bool {
        self.pids.is_some()
    }

    pub(crate) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        let Meter { oom, pids, cpu } = self;
        oom.iter().chain(pids).chain(cpu.iter().map(|(_, file)| file)).map(AsRawFd::as_raw_fd)
    }

    pub(crate) fn usage(&self) -> GroupUsage {
        let cpu = self.cpu.as_ref().and_then(|(version, file)| {
            let text = read(file)?;
            match version {
                Version::V1 => text.trim().parse().ok().map(Duration::from_nanos),
                Version::V2 => field(&text, "usage_usec").map(Duration::from_micros),
            }
        });
        let count = |file: &Option<File>, name| file.as_ref().and_then(|file| field(&read(file)?, name)).unwrap_or(0);
        GroupUsage { cpu, oom_kills: count(&self.oom, "oom_kill"), pids_refused: count(&self.pids, "max") }
    }
}

impl GroupUsage {
    /// What came after an earlier reading: a group may have had another job before.
    pub(crate) fn since(self, earlier: GroupUsage) -> GroupUsage {
        GroupUsage {
            cpu: self.cpu.map(|cpu| cpu.saturating_sub(earlier.cpu.unwrap_or_default())),
            oom_kills: self.oom_kills.saturating_sub(earlier.oom_kills),
            pids_refused: self.pids_refused.saturating_sub(earlier.pids_refused),
        }
    }
}

/// Some counters are younger than the controllers: pids.events came half a year after pids.max.
fn open_if_there(path: &Path) -> Result<Option<File>, Failure> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("open", path)(error)),
    }
}

/// From the start each time: that is what makes the kernel count anew.
fn read(file: &File) -> Option<String> {
    let mut text = [0; 4096];
    let length = file.read_at(&mut text, 0).ok()?;
    String::from_utf8(text[..length].to_vec()).ok()
}

/// The number after a name in lines of `name number`.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}
