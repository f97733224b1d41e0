//! The files a payload can reach, by Landlock: the only wall of its tier, a second one in a namespace.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, PathFd, PathFdError,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, make_bitflags,
};

use super::super::ground::Failure;

/// What stands alone needs: files (1), renames (2), truncation (3), TCP (4), device commands (5),
/// and signals and abstract sockets (6). Linux 6.12.
pub(crate) const NEEDED_ABI: u32 = 6;

/// From here on a named local socket is reached only beneath a path where that is granted.
pub(crate) const LOCAL_SOCKETS_ABI: u32 = 9;

/// What can be reached; all else cannot be opened, and nobody outside can be signalled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fence {
    /// Read and executed, with all beneath. One that does not exist is passed over.
    pub read: Vec<PathBuf>,
    /// Everything, with all beneath.
    pub write: Vec<PathBuf>,
    /// Device nodes, or directories of them: read, written and commanded.
    pub devices: Vec<PathBuf>,
    /// Whether TCP may be used at all. No other protocol is seen here: they are the business of
    /// the system call filter.
    pub tcp: bool,
    /// A port to which TCP may connect all the same.
    pub port: Option<u16>,
    /// Whether /dev/shm is this payload's alone. Where it is not, what one trial leaves there is
    /// read by the next, so it is out of reach; semaphores of the system go with it.
    pub own_memory: bool,
    /// Whether the kernel itself keeps this user from what matters in /proc. CUDA does not start where a program
    /// cannot write the names of its own threads, and no rule can name the folders of processes to come.
    pub writes_proc: bool,
}

/// What to do where the kernel lacks a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hard {
    /// The fence is the only wall: fail.
    Required,
    /// The fence stands inside namespaces: raise what there is.
    Best,
}

/// The version of Landlock that the kernel speaks; 0 where there is none.
pub(crate) fn abi() -> u32 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: asked for its version, the call reads no memory.
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, VERSION) };
    u32::try_from(abi).unwrap_or(0)
}

impl Fence {
    /// Shuts the calling thread, and all that come of it, in for good.
    pub(crate) fn raise(&self, hard: Hard) -> Result<(), Failure> {
        let abi = abi();
        if hard == Hard::Required && abi < NEEDED_ABI {
            let what =
                format!("fence files and signals: Landlock {NEEDED_ABI} is needed (Linux 6.12), this kernel has {abi}");
            return Err(Failure { errno: libc::EOPNOTSUPP, what });
        }
        let mut ruleset = self.ruleset(hard).map_err(|error| landlock_failure(&error))?;
        for path in &self.read {
            ruleset = allow(ruleset, path, READ, Missing::PassOver)?;
        }
        for path in &self.write {
            ruleset = allow(ruleset, path, AccessFs::from_all(KNOWN), Missing::Fail)?;
        }
        for path in &self.devices {
            ruleset = allow(ruleset, path, DEVICE, Missing::Fail)?;
        }
        if self.own_memory {
            ruleset = allow(ruleset, Path::new("/dev/shm"), SHARED_MEMORY, Missing::PassOver)?;
        }
        if self.writes_proc {
            ruleset = allow(ruleset, Path::new("/proc"), SEE | PROC_WRITE, Missing::PassOver)?;
        }
        if let Some(port) = self.port {
            ruleset = (ruleset.add_rule(NetPort::new(port, AccessNet::ConnectTcp)))
                .map_err(|error| landlock_failure(&error))?;
        }
        for (path, access) in ALWAYS {
            ruleset = allow(ruleset, Path::new(path), *access, Missing::PassOver)?;
        }
        ruleset.restrict_self().map_err(|error| landlock_failure(&error))?;
        Ok(())
    }

    fn ruleset(&self, hard: Hard) -> Result<RulesetCreated, RulesetError> {
        let level = match hard {
            Hard::Required => CompatLevel::HardRequirement,
            Hard::Best => CompatLevel::BestEffort,
        };
        let mut ruleset = Ruleset::default()
            .set_compatibility(level)
            .handle_access(AccessFs::from_all(ABI::V6))?
            .scope(Scope::from_all(ABI::V6))?;
        if !self.tcp {
            ruleset = ruleset.handle_access(AccessNet::from_all(ABI::V6))?;
        }
        // What newer kernels add is taken where it is there. Rules are trimmed to what the kernel
        // handles and to what fits a file, which `HardRequirement` would call an error.
        ruleset
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(KNOWN))?
            .create()
            .map(|ruleset| ruleset.set_compatibility(CompatLevel::BestEffort))
    }
}

/// The newest version whose rights are known here.
const KNOWN: ABI = ABI::V9;

const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{Execute | ReadFile | ReadDir});
const SEE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});
const PROC_WRITE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{WriteFile | Truncate});
const DEVICE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | WriteFile | ReadDir | Truncate | IoctlDev});
const SHARED_MEMORY: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | WriteFile | ReadDir | RemoveFile | RemoveDir | MakeReg | MakeDir | Truncate | Execute});

/// What every program expects. /dev/fd leads to /proc, and what stands behind a descriptor is
/// asked for by its own path.
const ALWAYS: &[(&str, BitFlags<AccessFs>)] = &[
    ("/dev/null", DEVICE),
    ("/dev/zero", DEVICE),
    ("/dev/full", DEVICE),
    ("/dev/random", DEVICE),
    ("/dev/urandom", DEVICE),
    ("/dev/tty", DEVICE),
    ("/dev/ptmx", DEVICE),
    ("/dev/pts", DEVICE),
    // Whole, since a rule for /proc/self would hold for this process and for no child of it.
    // Landlock itself hides the memory, environment and descriptors of processes outside.
    ("/proc", SEE),
    // Threads are named by writing here.
    ("/proc/self/task", make_bitflags!(AccessFs::{ReadFile | ReadDir | WriteFile})),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    PassOver,
    Fail,
}

fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
    missing: Missing,
) -> Result<RulesetCreated, Failure> {
    let place = match PathFd::new(path) {
        Ok(place) => place,
        // Where this process cannot get, the payload cannot either.
        Err(PathFdError::OpenCall { source, .. })
            if missing == Missing::PassOver
                && matches!(
                    source.kind(),
                    ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
                ) =>
        {
            return Ok(ruleset);
        }
        Err(PathFdError::OpenCall { source, .. }) => {
            return Err(Failure::io(&format!("fence in {}", path.display()), &source));
        }
        Err(error) => return Err(landlock_failure(&error)),
    };
    ruleset.add_rule(PathBeneath::new(place, access)).map_err(|error| landlock_failure(&error))
}

fn landlock_failure(error: &(dyn std::error::Error + 'static)) -> Failure {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let errno = deepest.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
    Failure { errno: errno.unwrap_or(libc::EINVAL), what: format!("raise the Landlock fence: {error}") }
}
