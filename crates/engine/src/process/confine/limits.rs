//! What a payload cannot have more of, and the privileges it does not keep.

use std::fs;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::set_no_new_privs;

use super::super::ground::Failure;
use super::last;

/// Enough for any loader of data; so few that a program which closes them all does not notice, and
/// the same on every machine, so that a result does not hang on who started the engine.
const OPEN_FILES: u64 = 65_536;

/// Too small for any core file, and the one value with which the kernel also does not start the
/// machine's own crash handler, which 0 would not prevent.
const NO_CORE: u64 = 1;

/// Limits of each process of a payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rlimits {
    /// Counted over all processes of the user in this user namespace and those inside it; not
    /// held against the host's root.
    pub processes: Option<u64>,
    pub file_bytes: Option<u64>,
}

impl Rlimits {
    /// Sets them for the calling process and all that come of it.
    pub(crate) fn set(&self) -> Result<(), Failure> {
        let Rlimits { processes, file_bytes } = *self;
        lower(Resource::Core, "core files", NO_CORE)?;
        lower(Resource::Nofile, "open files", OPEN_FILES)?;
        if let Some(processes) = processes {
            lower(Resource::Nproc, "processes", processes)?;
        }
        if let Some(bytes) = file_bytes {
            lower(Resource::Fsize, "file sizes", bytes)?;
        }
        Ok(())
    }
}

/// Empties every set of capabilities and forgoes new ones for good.
///
/// An ordinary user cannot empty the bounding set and need not: without new privileges nothing
/// comes out of it.
pub(crate) fn drop_capabilities() -> Result<(), Failure> {
    set_no_new_privs(true).map_err(|errno| Failure::new("forgo new privileges", errno))?;
    // The securebits and the bounding set first: to change them is a capability.
    const NO_ROOT: libc::c_ulong = 0b11;
    const NO_SETUID_FIXUP: libc::c_ulong = 0b1100;
    const NO_KEEP_CAPS_LOCKED: libc::c_ulong = 0b10_0000;
    const NO_AMBIENT_RAISE: libc::c_ulong = 0b1100_0000;
    let bits = NO_ROOT | NO_SETUID_FIXUP | NO_KEEP_CAPS_LOCKED | NO_AMBIENT_RAISE;
    allowed_to_fail(prctl(libc::PR_SET_SECUREBITS, bits, 0), "lock the secure bits")?;
    for capability in 0..64 {
        // To read costs a tenth of dropping, and a payload's init has dropped them already.
        // SAFETY: takes a number and touches no memory of ours.
        match unsafe { libc::prctl(libc::PR_CAPBSET_READ, capability, 0, 0, 0) } {
            0 => {}
            1 => {
                let dropped = prctl(libc::PR_CAPBSET_DROP, capability, 0);
                allowed_to_fail(dropped, "empty the bounding set of capabilities")?;
            }
            // Past the last one that this kernel knows.
            _ => break,
        }
    }
    prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong, 0)
        .map_err(|error| Failure::io("clear the ambient capabilities", &error))?;
    // Version 3: two structures for 64 capabilities, effective, permitted and inheritable.
    let header = [0x2008_0522_u32, 0];
    let empty = [0_u32; 6];
    // SAFETY: header and data are laid out as the kernel's structures of this version, and are
    // only read.
    match unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), empty.as_ptr()) } {
        0 => Ok(()),
        _ => Err(last("drop the capabilities")),
    }
}

/// Has the calling process, and what comes of it, leave no core file unless somebody wants one: it may hold keys, as a
/// command does that prints one.
pub(crate) fn leave_no_core() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    let current = Some(maximum.map_or(NO_CORE, |hard| hard.min(NO_CORE)));
    // It only takes from itself, which cannot fail.
    let _ = setrlimit(Resource::Core, Rlimit { current, maximum });
}

/// Keeps processes of the same user away from the memory and the descriptors of the calling one.
///
/// Inherited by a fork, until the exec. Afterwards its files in /proc belong to root.
pub(crate) fn hide_from_tracing() -> Result<(), Failure> {
    prctl(libc::PR_SET_DUMPABLE, 0, 0).map_err(|error| Failure::io("hide from tracing", &error))
}

/// Has the kernel end the calling process before the engine when memory runs out.
pub(crate) fn prefer_as_victim() -> Result<(), Failure> {
    let write = || fs::write("/proc/self/oom_score_adj", "1000");
    let hidden = || -> io::Result<()> {
        // An ordinary user's hidden process may not write to its own files. Nobody is there yet
        // to use the moment.
        prctl(libc::PR_SET_DUMPABLE, 1, 0)?;
        let written = write();
        prctl(libc::PR_SET_DUMPABLE, 0, 0)?;
        written
    };
    match write() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => hidden(),
        other => other,
    }
    .map_err(|error| Failure::io("become the first to go when memory runs out", &error))
}

/// Sets both limits to this, or to the hard one where that is lower.
fn lower(resource: Resource, name: &str, wanted: u64) -> Result<(), Failure> {
    let limit = getrlimit(resource).maximum.map_or(wanted, |hard| hard.min(wanted));
    setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })
        .map_err(|errno| Failure::new(format!("limit {name} to {limit}"), errno))
}

fn prctl(operation: libc::c_int, first: libc::c_ulong, second: libc::c_ulong) -> io::Result<()> {
    // SAFETY: each operation used here takes numbers and touches no memory of ours.
    match unsafe { libc::prctl(operation, first, second, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn allowed_to_fail(result: io::Result<()>, what: &str) -> Result<(), Failure> {
    match result {
        Err(error) if error.raw_os_error() != Some(libc::EPERM) => Err(Failure::io(what, &error)),
        _ => Ok(()),
    }
}
