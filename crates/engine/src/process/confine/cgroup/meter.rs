//! The counters of a job's groups.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Failure, Hierarchy, Version, cannot};

/// Open counters: they can be read where the files themselves are out of sight.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    peak: Option<File>,
    oom: Option<File>,
    pids: Option<File>,
    cpu: Option<(Version, File)>,
}

/// What the processes of a group used together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GroupUsage {
    /// With the page cache that the job was the first to fill.
    pub peak_bytes: Option<u64>,
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
            let (peak, oom, cpu) = match hierarchy.version {
                Version::V1 => ("memory.max_usage_in_bytes", "memory.oom_control", "cpuacct.usage"),
                Version::V2 => ("memory.peak", "memory.events", "cpu.stat"),
            };
            if hierarchy.memory {
                meter.peak = open_if_there(&place.join(peak))?;
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

    pub(crate) fn usage(&self) -> GroupUsage {
        let cpu = self.cpu.as_ref().and_then(|(version, file)| {
            let text = read(file)?;
            match version {
                Version::V1 => text.trim().parse().ok().map(Duration::from_nanos),
                Version::V2 => field(&text, "usage_usec").map(Duration::from_micros),
            }
        });
        let count = |file: &Option<File>, name| file.as_ref().and_then(|file| field(&read(file)?, name)).unwrap_or(0);
        GroupUsage {
            peak_bytes: self.peak.as_ref().and_then(|file| read(file)?.trim().parse().ok()),
            cpu,
            oom_kills: count(&self.oom, "oom_kill"),
            pids_refused: count(&self.pids, "max"),
        }
    }
}

/// Some counters are younger than the controllers: memory.peak came with Linux 5.19.
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
