//! The tier `landlock`: the host as it is, with everything but a few paths out of reach.
//!
//! For machines without namespaces, or with a masked /proc: most containers. Commands run in copies of the tree.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::plan::{SeatId, Wanted, agent_programs, first_user, inputs, limits, network};
use super::{devices, host, toolchains};
use crate::process::{Fenced, Limits, Mount, Network};

/// What every program reads that is in no toolchain.
const ALSO: [&str; 4] = ["/etc", "/run/systemd/resolve", "/var/lib/ca-certificates", "/sys/fs/cgroup"];

/// What every command of a run has in common.
pub struct Fences {
    read: Vec<PathBuf>,
    limits: Limits,
    network: Network,
    first_user: Option<u32>,
    /// The person's home, whose toolchains are readable; commands get a home of their own.
    home: Option<PathBuf>,
    devices: Vec<PathBuf>,
}

impl Fences {
    pub fn plan(wanted: &Wanted<'_>) -> Fences {
        let Wanted { spec, dir, home, environment, slots, .. } = *wanted;
        let system = host::system().into_iter().filter_map(|mount| match mount {
            Mount::Shared { at, .. } => Some(at),
            // The system's own links lead to its folders.
            Mount::Private { .. } | Mount::File { .. } | Mount::Link { .. } => None,
        });
        let mut read: Vec<PathBuf> = system.chain(ALSO.map(PathBuf::from)).collect();
        let inputs = inputs(wanted);
        if let Some(home) = home {
            read.extend(toolchains::toolchains(home, environment, &inputs));
        }
        read.extend(inputs.into_iter().filter_map(|path| path.canonicalize().ok()));
        read.extend(agent_programs(wanted.spec, wanted.triplet_dir, wanted.checkout, wanted.home));
        let is_root = rustix::process::getuid().is_root();
        Fences {
            read,
            limits: limits(spec, slots),
            network: network(spec.evaluate.network),
            first_user: is_root.then(|| first_user(dir)),
            home: home.map(Path::to_owned),
            devices: devices::wanted(&spec.sandbox.devices),
        }
    }

    /// Whether every command may read a path.
    pub(super) fn shows(&self, path: &Path) -> bool {
        self.read.iter().any(|open| path.starts_with(open))
    }

    /// Who runs at a seat, where that is not the person.
    pub fn user(&self, seat: SeatId) -> Option<u32> {
        self.first_user.map(|first| first + seat.offset())
    }

    /// What one command may reach, with its own folders.
    pub fn fenced(&self, seat: SeatId, write: Vec<PathBuf>, also_read: Vec<PathBuf>) -> Fenced {
        let mut read = self.read.clone();
        read.extend(also_read);
        Fenced {
            read,
            write,
            devices: self.devices.clone(),
            network: self.network,
            user: self.user(seat),
            limits: self.limits,
        }
    }

    /// Where tools that keep themselves at home are, for a command whose home is another.
    pub fn environment(&self) -> Vec<(String, String)> {
        let Some(home) = &self.home else { return Vec::new() };
        let roots =
            [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv"), ("NVM_DIR", ".nvm")];
        let there = roots.into_iter().filter(|(_, folder)| home.join(folder).is_dir());
        there.map(|(name, folder)| (name.to_owned(), home.join(folder).to_string_lossy().into_owned())).collect()
    }
}

/// Removes what a user of ours left in the memory that all share: the next trial may be the same user.
pub fn sweep_shared_memory(user: u32) {
    for entry in std::fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
        if entry.metadata().is_ok_and(|metadata| metadata.uid() == user) {
            let _ = crate::workspace::wipe(&entry.path());
        }
    }
}

/// Whether any user gets to a folder.
pub(super) fn all_may_pass(folder: &Path) -> bool {
    folder.ancestors().all(|folder| match std::fs::metadata(folder) {
        Ok(metadata) => metadata.permissions().mode() & 0o001 != 0,
        // Not made yet: it will be open to all.
        Err(_) => true,
    })
}
